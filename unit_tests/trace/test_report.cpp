// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/report.hpp>

#include "kinds.hpp"

#include <semcache/trace/recorder.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using semcache::ConfigurationError;
using semcache::Counters;
using semcache::Statistics;
using nlohmann::json;
using namespace semcache::trace;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Statistics busy_statistics() {
  Recorder recorder;
  const LabelId a = recorder.intern("A"), mirror = recorder.intern("A_mirror");
  recorder.moved(Kind::h2d, a, 3ull << 30, 3);
  recorder.moved(Kind::d2h, mirror, 8192, 2);
  recorder.moved(Kind::saved_link, a, 4096);
  recorder.moved(Kind::avoided, mirror, 1024);
  recorder.count(Event::evictions, a);
  recorder.count(Event::host_faults, mirror);
  recorder.count(Event::opened, mirror);
  recorder.count(Event::opened, mirror);
  recorder.count(Event::exposed, mirror);
  recorder.count(Event::unannounced, a);
  recorder.count(Event::unannounced, a);
  recorder.count(Event::uncaptured, a);
  recorder.count(Event::changed, a);
  recorder.launch();
  EXPECT_TRUE(recorder.unknown_launch("some functor"));
  recorder.explain_unknown_launch("some functor", "it points to the stack");
  recorder.native_capture();
  recorder.device_wait();
  Statistics s = recorder.snapshot();
  semcache::NamedCounters site{"cg.cpp:42 in solve", {}};
  site.counters.d2h = {8192, 2};
  site.counters.unknown_launches = 6;
  s.call_sites.push_back(site);
  s.device_kind = "emulated";
  s.device_name = "host memory";
  s.device_ordinal = 3;
  s.device_count = 2;
  s.tracker = "mprotect";
  s.device_tracker = "pages";
  s.protocol = "write-back";
  s.live_device_bytes = 11;
  s.live_host_bytes = 22;
  s.mapped_device_bytes = 33;
  s.device_budget_bytes = 66;
  s.snapshot_bytes = 44;
  s.derived_bytes = 77;
  s.directory_bytes = 55;
  return s;
}

/// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "semcache-report-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] fs::path path() const { return path_; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

const ReportPlace place{4711, "node7", 3};

TEST(ReportPath, LettersAreExpanded) {
  EXPECT_EQ(expand_report_path("r-%h-%r-%p.json", place), "r-node7-3-4711.json");
  EXPECT_EQ(expand_report_path("100%%%r", place), "100%3");
  EXPECT_EQ(expand_report_path("%r%r", ReportPlace{1, "h", -1}), "00");
  EXPECT_EQ(expand_report_path("plain", place), "plain");
  EXPECT_EQ(expand_report_path("", place), "");
}

/// Who reads the variable adds its name, the path, and the forms.
TEST(ReportPath, AnUnknownOrLonePercentIsAnErrorThatNamesIt) {
  for (const auto& [path, named] : {std::pair("%", "lone %"), std::pair("a%", "lone %"), std::pair("%d", "%d"), std::pair("%P", "%P"),
                                    std::pair("%%%", "lone %"), std::pair("% p", "% ")}) {
    try {
      (void)expand_report_path(path, place);
      ADD_FAILURE() << path;
    } catch (const ConfigurationError& e) {
      EXPECT_TRUE(contains(e.what(), named)) << e.what();
    }
  }
}

TEST(ReportPath, ThisProcessNamesItselfAndItsHost) {
  const ReportPlace here = this_process(5);

  EXPECT_EQ(here.process, static_cast<long>(::getpid()));
  EXPECT_FALSE(here.host.empty());
  EXPECT_EQ(here.rank, 5);
}

TEST(JsonReport, HasEveryFigureUnderItsDocumentedKey) {
  const json j = json::parse(json_report(busy_statistics(), place));

  EXPECT_EQ(j.at("schema_version"), 1);
  EXPECT_EQ(j.at("process"), 4711);
  EXPECT_EQ(j.at("host"), "node7");
  EXPECT_EQ(j.at("rank"), 3);
  EXPECT_EQ(j.at("device"), json({{"kind", "emulated"}, {"name", "host memory"}, {"count", 2}, {"ordinal", 3}}));
  EXPECT_EQ(j.at("tracker"), "mprotect");
  EXPECT_EQ(j.at("device_tracker"), "pages");
  EXPECT_EQ(j.at("protocol"), "write-back");
  EXPECT_EQ(j.at("memory"), json({{"live_device_bytes", 11}, {"live_host_bytes", 22}, {"mapped_device_bytes", 33},
                                  {"device_budget_bytes", 66}, {"snapshot_bytes", 44}, {"derived_bytes", 77}, {"directory_bytes", 55}}));
  const json& total = j.at("total");
  EXPECT_EQ(total.at("h2d"), json({{"bytes", 3ull << 30}, {"count", 3}}));
  EXPECT_EQ(total.at("d2h"), json({{"bytes", 8192}, {"count", 2}}));
  EXPECT_EQ(total.at("saved_link"), json({{"bytes", 4096}, {"count", 1}}));
  EXPECT_EQ(total.at("avoided"), json({{"bytes", 1024}, {"count", 1}}));
  for (const auto& kind : all_traffic) EXPECT_TRUE(total.contains(kind.name));
  for (const char* key : {"opened", "unannounced"}) EXPECT_EQ(total.at(key), 2) << key;
  for (const char* key : {"host_faults", "evictions", "exposed", "uncaptured", "changed", "launches", "unknown_launches",
                          "native_captures", "native_launches", "device_waits"}) {
    EXPECT_EQ(total.at(key), 1) << key;
  }
  ASSERT_EQ(j.at("labels").size(), 2u);
  EXPECT_EQ(j.at("labels")[0].at("name"), "A");
  EXPECT_EQ(j.at("labels")[0].at("h2d").at("bytes"), 3ull << 30);
  EXPECT_EQ(j.at("labels")[0].at("evictions"), 1);
  EXPECT_EQ(j.at("labels")[1].at("host_faults"), 1);
  ASSERT_EQ(j.at("call_sites").size(), 1u);
  EXPECT_EQ(j.at("call_sites")[0].at("name"), "cg.cpp:42 in solve");
  EXPECT_EQ(j.at("call_sites")[0].at("unknown_launches"), 6);
  EXPECT_EQ(j.at("call_sites")[0].at("d2h").at("count"), 2);
  EXPECT_EQ(j.at("unknown_launches"), json::array({{{"name", "some functor"}, {"count", 1}, {"reason", "it points to the stack"}}}));
}

TEST(JsonReport, EmptyStatisticsAndOddLabelsAreStillJson) {
  EXPECT_EQ(json::parse(json_report(Statistics{}, ReportPlace{})).at("labels").size(), 0u);

  Statistics s;
  s.labels.push_back({"not \xff utf-8 \"\n\x01", {}});
  const json j = json::parse(json_report(s, place));
  EXPECT_TRUE(contains(j.at("labels")[0].at("name"), "utf-8 \"\n\x01"));
}

TEST(TextReport, NamesFiguresLabelsCallSitesAndUnknownLaunches) {
  const std::string text = text_report(busy_statistics(), place);

  for (const char* part : {"process 4711 on node7, rank 3", "2 devices, the first host memory, protocol write-back, tracker mprotect",
                           "3221225472", "3.00 GiB", "A_mirror", "call site", "cg.cpp:42 in solve", "some functor (it points to the stack)",
                           "launches 1 (unknown 1), captures outside semcache::Exec 1,", "device memory in use 33 B of 66 B, of it preserved copies 44 B",
                           "open mirrors 2, unannounced uses 2 (in kernels of semcache::Exec 1)"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
}

TEST(Reports, TellVirtualTimeWhereThereIsOne) {
  Statistics s;
  const json without = json::parse(json_report(s, place));
  for (const char* const key : {"virtual_seconds", "virtual_devices", "virtual_links"}) EXPECT_FALSE(without.contains(key)) << key;
  EXPECT_FALSE(contains(text_report(s, place), "virtual"));

  s.virtual_time = semcache::VirtualTimes{0.125, {{"device 0", 0.0625}, {"device 1", 0}}, {{"host to device 0", 3e-7}, {"device 0 to host", 0}}};
  const json j = json::parse(json_report(s, place));
  EXPECT_EQ(j.at("virtual_seconds"), 0.125);
  EXPECT_EQ(j.at("virtual_devices"), json::parse(R"([{"name": "device 0", "busy_seconds": 0.0625}, {"name": "device 1", "busy_seconds": 0}])"));
  EXPECT_EQ(j.at("virtual_links"), json::parse(R"([{"name": "host to device 0", "busy_seconds": 3e-7}, {"name": "device 0 to host", "busy_seconds": 0}])"));
  const std::string text = text_report(s, place);
  for (const char* const line : {"virtual_seconds                             0.125\n", "busy: device 0                             0.0625\n",
                                 "busy: device 1                                  0\n", "busy: host to device 0                      3e-07\n"}) {
    EXPECT_TRUE(contains(text, line)) << text;
  }
  EXPECT_FALSE(contains(text, "device 0 to host")) << text;
}

TEST(Advice, IsTheSameInBothReports) {
  const Statistics s = busy_statistics();
  std::vector<std::string> sentences;
  for (const Advice& a : advice(s)) sentences.push_back(a.text);

  EXPECT_EQ(json::parse(json_report(s, place)).at("advice"), json(sentences));
  EXPECT_EQ(json::parse(json_report(Statistics{}, place)).at("advice"), json::array());
  ASSERT_GE(sentences.size(), 6u);
  std::string lines = "\n  what to do\n";
  for (const std::string& sentence : sentences) lines += "  - " + sentence + "\n";
  EXPECT_TRUE(contains(text_report(s, place), lines)) << lines;
}

/// The sentence that begins with `about`.
std::string advice_about(const Statistics& s, const std::string& about) {
  for (const Advice& a : advice(s)) {
    if (a.text.rfind(about, 0) == 0) return a.text;
  }
  return {};
}

/// The entry of a kind in the JSON report.
json advice_item(const Statistics& s, const std::string& kind) {
  const json report = json::parse(json_report(s, place));
  for (const json& item : report.at("advice_items")) {
    if (item.at("kind") == kind) return item;
  }
  return {};
}

/// One label's counters, which are the totals too.
Statistics with(const Counters& counters, const std::string& label = "x") {
  Statistics s;
  s.total = counters;
  s.labels.push_back({label, counters});
  s.protocol = "write-back";
  return s;
}
/// Another label, whose counters add to the totals' bytes over the link.
void add(Statistics& s, const std::string& label, const Counters& counters) {
  s.total.h2d += counters.h2d;
  s.total.d2h += counters.d2h;
  s.labels.push_back({label, counters});
}

TEST(Advice, IsSilentWhereNothingCostAnything) {
  EXPECT_TRUE(advice(Statistics{}).empty());
  EXPECT_FALSE(contains(text_report(Statistics{}, place), "what to do"));
  Counters c;
  c.h2d = c.d2h = c.d2d = c.h2h = c.filled = c.saved_device = c.saved_host = c.avoided = c.deferred = c.dropped = {1 << 20, 9};
  c.launches = 1000;
  c.host_faults = 63;
  Statistics s = with(c);
  s.labels.clear();  // sums of the framework's own transfers belong to no label
  EXPECT_TRUE(advice(s).empty()) << advice(s).front().text;
}

TEST(Advice, IsStructuredAndItsFiguresAreThoseOfTheCounters) {
  EXPECT_EQ(json::parse(json_report(Statistics{}, place)).at("advice_items"), json::array());
  Statistics s = with({});
  for (int i = 1; i <= 14; ++i) {  // more than the text names
    Counters c;
    c.h2d.bytes = c.d2h.bytes = static_cast<std::uint64_t>(1000 * i);
    add(s, "x" + std::to_string(i), c);
  }
  const json back = advice_item(s, "came back");
  EXPECT_EQ(back.at("text"), advice_about(s, "Came back from a device"));
  EXPECT_EQ(back.at("bytes"), 105'000);  // of all of them
  EXPECT_EQ(back.at("direction"), "d2h");
  EXPECT_EQ(back.at("condition"), "where kernels only read these arrays");
  ASSERT_EQ(back.at("labels").size(), 12u);
  EXPECT_EQ(back.at("labels")[0], json({{"name", "x14"}, {"bytes", 14'000}}));

  Counters c;
  c.d2h = c.saved_link = {5000, 5};
  c.h2d = {1, 1};
  c.written_back = {2000, 2};
  c.read_ahead = c.read_ahead_lost = {70'000, 7};
  c.peer_launches = 3;
  s = with(c, "not \xff utf-8 \"\n");
  EXPECT_EQ(advice_item(s, "preserved").at("bytes"), 3000);
  EXPECT_FALSE(advice_item(s, "preserved").contains("direction"));  // over the link, either way
  EXPECT_EQ(advice_item(s, "read ahead").at("bytes"), 70'000);
  const json other = advice_item(s, "other device");
  EXPECT_EQ(other.at("labels")[0].at("count"), 3);
  EXPECT_FALSE(other.contains("bytes"));  // nobody knows
}

TEST(TextReport, SaysWhatCopiesAsWrittenWouldHaveMoved) {
  Statistics s;
  EXPECT_FALSE(contains(text_report(s, place), "as written"));
  s.total.avoided = {3 << 20, 3};
  s.total.deferred = {1 << 20, 1};
  EXPECT_TRUE(contains(text_report(s, place), "as written, deep_copy would have moved at least   4194304  4.00 MiB           4\n")) << text_report(s, place);
}

TEST(TextReport, AGpuHasItsNumberAndAnEmulatedDeviceItsName) {
  Statistics s;
  s.device_kind = "emulated";
  s.device_name = "emulated device 0";
  s.device_count = 1;
  EXPECT_TRUE(contains(text_report(s, place), "\n  on emulated device 0, protocol"));
  s.device_kind = "cuda";
  s.device_name = "NVIDIA H200";
  s.device_ordinal = 3;
  EXPECT_TRUE(contains(text_report(s, place), "\n  on NVIDIA H200 (cuda, number 3), protocol"));
}

TEST(Advice, OffSaysThatNothingWasSaved) {
  Statistics s = with({});
  s.protocol = "off";
  EXPECT_TRUE(contains(advice_about(s, "SEMCACHE_PROTOCOL=off"), "Unset it"));
  s.protocol = "write-back";
  EXPECT_EQ(advice_about(s, "SEMCACHE_PROTOCOL=off"), "");
}

TEST(Advice, UnknownAndNativeLaunches) {
  Counters c;
  c.launches = 5;
  c.unknown_launches = 1;
  EXPECT_TRUE(contains(advice_about(with(c), "Unknown launches may read"), "hold Views"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
  c = {};
  c.native_captures = 1;
  EXPECT_TRUE(contains(advice_about(with(c), "Arrays were captured by kernels outside"), "semcache::Device"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
}

TEST(Advice, ArraysThatLaunchesUseFromAnotherDeviceAreNamed) {
  Counters c;
  c.peer_launches = 3;
  Statistics s = with(c, "near");
  c.peer_launches = 40;
  s.total.peer_launches += 40;
  s.labels.push_back({"far", c});
  const std::string found = advice_about(s, "Launches used arrays of another device");
  EXPECT_TRUE(contains(found, "far (40), near (3). Allocate")) << found;
  EXPECT_TRUE(contains(found, "semcache::on(device)), or deep_copy it once to a view there")) << found;
  EXPECT_EQ(advice(s).size(), 1u);
}

TEST(Advice, WaitsForADeviceAreCounted) {
  Counters c;
  c.device_waits = 1;
  EXPECT_TRUE(contains(advice_about(with(c), "A whole device"), "(once)"));
  c.device_waits = 2;
  EXPECT_TRUE(contains(advice_about(with(c), "A whole device"), "(2 times)"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
}

TEST(Advice, AnEvictionIsNoCopyThatIsOwed) {
  Counters c;
  c.evictions = 3;
  c.h2d = {8 << 20, 2};
  c.d2h = c.saved_link = c.written_back = {12 << 20, 3};
  Statistics s = with(c);
  s.device_budget_bytes = 64 << 20;
  const std::string found = advice_about(s, "Device memory was short");
  EXPECT_TRUE(contains(found, "64.0 MiB may be used. Evicted most often: x (3). Raise SEMCACHE_DEVICE_MEMORY")) << found;
  EXPECT_EQ(advice(s).size(), 1u);
}

TEST(Advice, ACopyThatIsOwedIsNamedWithItsBytesAlone) {
  Counters c;
  c.d2h = c.saved_link = {5 << 20, 5};
  c.written_back = {3 << 20, 3};
  const std::string found = advice_about(with(c), "Content was preserved over the link");
  EXPECT_TRUE(contains(found, "still pending: x (2.00 MiB). ")) << found;
  EXPECT_TRUE(contains(found, "SEMCACHE_SNAPSHOT_SHARE")) << found;
  EXPECT_EQ(advice(with(c)).size(), 1u);
  c.written_back = c.saved_link;  // one side of an array freed
  EXPECT_TRUE(advice(with(c)).empty());
}

// Kernels that only read y captured it as writable. It is among the smallest of many arrays that came back, but the others had
// no content of the host's.
TEST(Advice, WhatWasSentAndCameBackMayBeOnlyRead) {
  Statistics s = with({});
  const auto label = [&](const std::string& name, std::uint64_t h2d, std::uint64_t d2h) {
    Counters c;
    c.h2d.bytes = h2d;
    c.d2h.bytes = d2h;
    add(s, name, c);
  };
  for (int i = 0; i < 20; ++i) {
    label("result " + std::to_string(i), 0, 0);
    label("result " + std::to_string(i) + "_mirror", 0, 1024 * (2 + i));
  }
  label("y", 1024, 0);
  EXPECT_EQ(advice_about(s, "Came back"), "") << "what kernels make comes back, and what is sent stays";
  label("y_mirror", 0, 1024);
  label("both ways", 512, 512);
  label("mirror", 0, 256);

  const std::string found = advice_about(s, "Came back");
  EXPECT_EQ(found.rfind("Came back from a device: y_mirror (1.00 KiB), both ways (512 B), because", 0), 0u) << found;
  EXPECT_FALSE(contains(found, "result")) << found;
  EXPECT_TRUE(contains(found, "SEMCACHE_CHECK_WRITES=1 finds")) << found;
  for (const char* protocol : {"off", "write-through"}) {  // everything comes back
    s.protocol = protocol;
    EXPECT_EQ(advice_about(s, "Came back"), "");
  }
  s.protocol = "write-back";
  s.check_writes = true;  // it was looked for
  EXPECT_EQ(advice_about(s, "Came back"), "");
}

TEST(Advice, WhatWasEvictedOrSavedDidNotComeBackBecauseItWasCaptured) {
  Counters c;
  c.h2d = {1024, 1};
  c.d2h = c.saved_link = {1024, 1};
  EXPECT_EQ(advice_about(with(c), "Came back"), "");
  c.d2h = {3072, 2};
  EXPECT_TRUE(contains(advice_about(with(c), "Came back"), "x (2.00 KiB)"));
  c.evictions = 1;  // what was sent may be what had been evicted
  EXPECT_EQ(advice_about(with(c), "Came back"), "");
}

TEST(Advice, NamesArraysWhoseForecastLost) {
  constexpr std::uint64_t kib = 1024;
  Statistics s;
  const auto label = [&](const std::string& name, std::uint64_t ahead, std::uint64_t lost) {
    Counters c;
    c.read_ahead.bytes = ahead;
    c.read_ahead_lost.bytes = lost;
    s.total.read_ahead.bytes += ahead;
    s.total.read_ahead_lost.bytes += lost;
    s.labels.push_back({name, c});
  };
  label("swept", 1024 * kib, 0);
  label("swept with an end in the dark", 1024 * kib, 512 * kib);  // not more than a half
  label("too little to mention", 60 * kib, 60 * kib);
  EXPECT_EQ(advice_about(s, "Read ahead"), "");

  label("probed", 96 * kib, 96 * kib);
  label("mostly probed", 1024 * kib, 513 * kib);

  EXPECT_EQ(advice_about(s, "Read ahead").rfind("Read ahead of host faults, mostly without any sign of use: mostly probed "
                                                "(513.0 KiB), probed (96.0 KiB). ", 0), 0u) << advice_about(s, "Read ahead");
}

TEST(Advice, NamesTwelveArraysThatNeverChangedAndSaysHowManyMore) {
  Statistics s = with({});
  s.check_writes = true;
  for (int i = 1; i <= 13; ++i) {
    s.labels.push_back({"x" + std::to_string(i), {}});
    s.labels.back().counters.unchanged = {static_cast<std::uint64_t>(i), 1};
    s.total.unchanged += {static_cast<std::uint64_t>(i), 1};
  }
  const std::string found = advice_about(s, "Captured as writable, but never changed");
  EXPECT_TRUE(contains(found, ": x13 (13 B), x12 (12 B), ")) << found;
  EXPECT_TRUE(contains(found, "x2 (2 B) and 1 more. ")) << found;
}

TEST(Advice, WhatChangedOnceIsNotToBeCapturedAsConst) {
  Counters c;
  c.unchanged = {4096, 4};
  Statistics s = with(c);
  s.check_writes = true;
  EXPECT_TRUE(contains(advice_about(s, "Captured as writable"), "x (4.00 KiB)"));
  s.labels[0].counters.changed = s.total.changed = 1;
  EXPECT_TRUE(advice(s).empty());
}

TEST(Advice, OnlyLabelsWithManyFaultsOfFewBytesAreNamed) {
  Counters many;
  many.host_faults = 64;
  many.d2h = {64 * 4096, 64};
  Counters few;
  few.host_faults = 2;
  Counters large;
  large.host_faults = 100;
  large.d2h = {100ull << 20, 100};
  Statistics s = with(many, "many");
  add(s, "few", few);
  add(s, "large", large);
  const std::string found = advice_about(s, "Many host faults");
  EXPECT_TRUE(contains(found, ": many (64). Before a pass over a whole array")) << found;
  for (const char* mode : {"semcache::Access::read", "write", "overwrite"}) EXPECT_TRUE(contains(found, mode)) << found;

  Statistics others;
  others.total.host_faults = 1000;  // a few of each array
  for (int i = 0; i < 20; ++i) add(others, "few", few);
  add(others, "large", large);
  EXPECT_TRUE(advice(others).empty());
}

TEST(Advice, MirrorsAreOpenForTwoReasons) {
  Counters c;
  c.opened = 3;
  EXPECT_TRUE(contains(advice_about(with(c), "Mirrors became open near"), "x (3). Use fewer"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
  c.exposed = 1;
  EXPECT_TRUE(contains(advice_about(with(c), "Mirrors became open near"), "x (2). Use fewer"));
  EXPECT_TRUE(contains(advice_about(with(c), "Mirrors became open because a kernel"), "x (1). Let kernels"));
  c.exposed = 3;
  EXPECT_FALSE(contains(advice(with(c)).front().text, "max_map_count"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
}

TEST(Advice, UsesThatNobodyAnnouncedAreOutsideOrWithinOurKernels) {
  Counters c;
  c.unannounced = 3;
  EXPECT_TRUE(contains(advice_about(with(c), "Used outside semcache::Exec"), "x (3). Announce"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
  c.uncaptured = 1;
  EXPECT_TRUE(contains(advice_about(with(c), "Used outside semcache::Exec"), "x (2). Announce"));
  EXPECT_TRUE(contains(advice_about(with(c), "Used while a kernel of semcache::Exec"), "x (1). Let the kernel capture"));
  c.uncaptured = 3;
  EXPECT_FALSE(contains(advice(with(c)).front().text, "outside semcache::Exec"));
  EXPECT_EQ(advice(with(c)).size(), 1u);
}

TEST(TextReport, ManyLabelsAndLongOnesStayReadable) {
  Statistics s;
  for (int i = 0; i < 1000; ++i) s.labels.push_back({"label\n" + std::to_string(i) + std::string(500, 'x'), {}});

  const std::string text = text_report(s, place);

  EXPECT_TRUE(contains(text, "and 976 more"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 60);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 200u) << line;
}

TEST(WriteReport, AnEmptyTargetWritesNothing) { EXPECT_TRUE(write_report(busy_statistics(), "", 0)); }

TEST(WriteReport, StderrGetsTheText) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(write_report(busy_statistics(), "stderr", 0));
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "SemCache report: process "));
}

TEST(WriteReport, StdoutGetsTheTextBehindWhatTheProgramPrinted) {
  for (const char* target : {"stdout", "-"}) {
    testing::internal::CaptureStdout();
    std::printf("the program's last words");
    EXPECT_TRUE(write_report(busy_statistics(), target, 0));
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_EQ(text.rfind("the program's last wordsSemCache report: process ", 0), 0u) << text;
    EXPECT_FALSE(fs::exists(target));
  }
}

TEST(WriteReport, TheExtensionChoosesTheFormatAndLettersTheName) {
  const Folder folder;

  EXPECT_TRUE(write_report(busy_statistics(), (folder.path() / "r%r-%p.json").string(), 2));
  EXPECT_TRUE(write_report(busy_statistics(), (folder.path() / "r.txt").string(), 2));

  EXPECT_EQ(json::parse(content(folder.path() / ("r2-" + std::to_string(::getpid()) + ".json"))).at("rank"), 2);
  EXPECT_TRUE(contains(content(folder.path() / "r.txt"), "SemCache report"));
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(WriteReport, AnExistingFileIsReplacedAsAWhole) {
  const Folder folder;
  const fs::path file = folder.path() / "r.json";
  std::ofstream(file) << std::string(100000, 'x');
  std::ifstream reader(file);  // who has the old file open keeps the old content

  EXPECT_TRUE(write_report(busy_statistics(), file.string(), 0));

  EXPECT_EQ(json::parse(content(file)).at("schema_version"), 1);
  std::string old;
  reader >> old;
  EXPECT_EQ(old.size(), 100000u);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(WriteReport, ASymbolicLinkIsRefusedAndLeadsNowhere) {
  const Folder folder;
  const fs::path file = folder.path() / "somebody's", link = folder.path() / "r.json", dangling = folder.path() / "d.json";
  std::ofstream(file) << "mine";
  fs::create_symlink(file, link);
  fs::create_symlink(folder.path() / "not there", dangling);
  for (const fs::path& path : {link, dangling}) {
    testing::internal::CaptureStderr();
    EXPECT_FALSE(write_report(busy_statistics(), path.string(), 0));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(contains(text, "symbolic link") && contains(text, path.string())) << text;
    EXPECT_TRUE(fs::is_symlink(path));
  }
  EXPECT_EQ(content(file), "mine");
  EXPECT_EQ(folder.entries(), 3u);
}

TEST(WriteReport, AReplacedFilePermitsNobodyMore) {
  const Folder folder;
  const fs::path file = folder.path() / "r.txt";
  for (const unsigned mode : {0600U, 0640U, 0604U, 0200U}) {
    std::ofstream(file) << "old";
    fs::permissions(file, fs::perms(mode));
    ASSERT_TRUE(write_report(busy_statistics(), file.string(), 0));
    struct stat now {};
    ASSERT_EQ(::stat(file.c_str(), &now), 0);
    EXPECT_EQ(now.st_mode & 07777U, mode);
    EXPECT_GT(now.st_size, 100);
    fs::remove(file);
  }
}

TEST(WriteReport, WhatIsNotARegularFileIsWrittenToAndNotReplaced) {
  EXPECT_TRUE(write_report(busy_statistics(), "/dev/null", 0));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WriteReport, AFailureIsOneLineOnStderrThatNamesFileAndReason) {
  const Folder folder;
  const auto stderr_of = [](const std::string& target) {
    testing::internal::CaptureStderr();
    EXPECT_FALSE(write_report(busy_statistics(), target, 0)) << target;
    return testing::internal::GetCapturedStderr();
  };

  const std::string missing = stderr_of((folder.path() / "none" / "r.json").string());
  EXPECT_TRUE(contains(missing, "No such file or directory: ") && contains(missing, "none/r.json")) << missing;
  EXPECT_EQ(std::count(missing.begin(), missing.end(), '\n'), 1) << missing;

  EXPECT_TRUE(contains(stderr_of(folder.path().string()), "Is a directory"));
  EXPECT_TRUE(contains(stderr_of("%x.json"), "%x stands for nothing"));
  EXPECT_TRUE(contains(stderr_of(std::string(5000, 'n')), "File name too long"));
  if (fs::exists("/dev/full")) {
    EXPECT_TRUE(contains(stderr_of("/dev/full"), "No space left on device"));
  }
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Report, SaysWhatEachLinkCarriedAndHowCallsWereCut) {
  RecorderOptions options;
  options.call_sites = true;
  options.max_calls = 2;
  Recorder recorder(options);
  recorder.crossed(0, 1, 100);
  recorder.crossed(0, 1, 20);
  recorder.crossed(2, 1, 7);
  ASSERT_TRUE(recorder.counts_library_calls());
  recorder.library_call("gemm d, 4 x 4 x 4: 2 tasks on 2 devices, spread always");
  for (int i = 0; i < 3; ++i) recorder.library_call("dot d, 4 elements: 1 task on device 0, spread never");
  recorder.library_call("one more");
  Statistics s = recorder.snapshot();
  s.device_count = 2;
  const json j = json::parse(json_report(s, ReportPlace{}));
  EXPECT_EQ(j.at("links"), json::parse(R"([{"from": "host", "to": 0, "bytes": 120, "count": 2}, {"from": 1, "to": 0, "bytes": 7, "count": 1}])"));
  ASSERT_EQ(j.at("library_calls").size(), 3u);
  EXPECT_EQ(j.at("library_calls")[0].at("what"), "dot d, 4 elements: 1 task on device 0, spread never");
  EXPECT_EQ(j.at("library_calls")[0].at("count"), 3);
  EXPECT_EQ(j.at("library_calls")[2].at("what"), "(other calls)");
  const std::string text = text_report(s, ReportPlace{});
  EXPECT_TRUE(contains(text, "host to device 0"));
  EXPECT_TRUE(contains(text, "device 1 to device 0"));
  EXPECT_TRUE(contains(text, "3  dot d, 4 elements: 1 task on device 0, spread never"));
}

}  // namespace
