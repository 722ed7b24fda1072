// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/report.hpp>

#include <semcache/trace/recorder.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
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
  recorder.eviction(a);
  recorder.host_fault(mirror);
  recorder.opened(mirror);
  recorder.unannounced(a);
  recorder.launch();
  EXPECT_TRUE(recorder.unknown_launch("some functor"));
  recorder.explain_unknown_launch("some functor", "it points to the stack");
  recorder.native_launch();
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
  s.snapshot_bytes = 44;
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

TEST(ReportPath, AnUnknownOrLonePercentIsAnErrorThatNamesTheForms) {
  for (const char* path : {"%", "a%", "%d", "%P", "%%%", "% p"}) {
    try {
      (void)expand_report_path(path, place);
      ADD_FAILURE() << path;
    } catch (const ConfigurationError& e) {
      EXPECT_TRUE(contains(e.what(), "SEMCACHE_REPORT")) << e.what();
      EXPECT_TRUE(contains(e.what(), path)) << e.what();
      EXPECT_TRUE(contains(e.what(), "%p process, %h host, %r MPI rank, %% percent")) << e.what();
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
                                  {"snapshot_bytes", 44}, {"directory_bytes", 55}}));
  const json& total = j.at("total");
  EXPECT_EQ(total.at("h2d"), json({{"bytes", 3ull << 30}, {"count", 3}}));
  EXPECT_EQ(total.at("d2h"), json({{"bytes", 8192}, {"count", 2}}));
  EXPECT_EQ(total.at("saved_link"), json({{"bytes", 4096}, {"count", 1}}));
  EXPECT_EQ(total.at("avoided"), json({{"bytes", 1024}, {"count", 1}}));
  for (std::size_t k = 0; k < traffic_kinds; ++k) EXPECT_TRUE(total.contains(to_string(static_cast<Kind>(k))));
  for (const char* key : {"host_faults", "evictions", "opened", "unannounced", "launches", "unknown_launches", "native_launches", "device_waits"}) {
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

  for (const char* part : {"process 4711 on node7, rank 3", "2 x emulated (host memory), number 3, protocol write-back, tracker mprotect",
                           "3221225472", "3.00 GiB", "A_mirror", "call site", "cg.cpp:42 in solve", "some functor (it points to the stack)",
                           "launches 1 (unknown 1, outside semcache::Exec 1)"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
}

TEST(TextReport, SaysWhatToDoAboutEachThingThatCostSomethingAndNothingElse) {
  const std::string busy = text_report(busy_statistics(), place);
  for (const char* part : {"Unknown launches may read", "outside semcache::Exec: use it", "Raise SEMCACHE_DEVICE_MEMORY",
                           "SEMCACHE_SNAPSHOT_SHARE", "vm.max_map_count", "Came back from a device: A_mirror (8.00 KiB)"}) {
    EXPECT_TRUE(contains(busy, part)) << part << "\n" << busy;
  }

  EXPECT_FALSE(contains(text_report(Statistics{}, place), "what to do"));

  Statistics checked = busy_statistics();
  checked.total.unchanged = {64, 1};
  checked.labels[0].counters.unchanged = {64, 1};
  const std::string text = text_report(checked, place);
  EXPECT_TRUE(contains(text, "Captured as writable, but never changed: A (64 B)")) << text;
  EXPECT_FALSE(contains(text, "Came back from a device"));

  Statistics off;
  off.protocol = "off";
  EXPECT_TRUE(contains(text_report(off, place), "SEMCACHE_PROTOCOL=off"));

  Statistics faults;
  faults.total.host_faults = 100;
  faults.total.d2h = {100 * 4096, 100};
  EXPECT_TRUE(contains(text_report(faults, place), "semcache::Access::read"));
  faults.total.d2h = {100 << 20, 100};
  EXPECT_FALSE(contains(text_report(faults, place), "semcache::Access::read"));
}

TEST(Advice, IsTheSameInBothReports) {
  const Statistics s = busy_statistics();
  const std::vector<std::string> sentences = advice(s);

  EXPECT_EQ(json::parse(json_report(s, place)).at("advice"), json(sentences));
  EXPECT_EQ(json::parse(json_report(Statistics{}, place)).at("advice"), json::array());
  ASSERT_GE(sentences.size(), 6u);
  std::string lines = "\n  what to do\n";
  for (const std::string& sentence : sentences) lines += "  - " + sentence + "\n";
  EXPECT_TRUE(contains(text_report(s, place), lines)) << lines;
}

/// The sentence that begins with `about`.
std::string advice_about(const Statistics& s, const std::string& about) {
  for (const std::string& sentence : advice(s)) {
    if (sentence.rfind(about, 0) == 0) return sentence;
  }
  return {};
}

// Kernels that only read y captured it as writable. It is among the smallest of many arrays that came back, but few others
// had content of the host's.
TEST(Advice, WhatTheHostHadSentIsNotLostBehindWhatKernelsMade) {
  Statistics s;
  const auto label = [&](const std::string& name, std::uint64_t h2d, std::uint64_t d2h) {
    Counters c;
    c.h2d.bytes = h2d;
    c.d2h.bytes = d2h;
    s.total.h2d.bytes += h2d;
    s.total.d2h.bytes += d2h;
    s.labels.push_back({name, c});
  };
  for (int i = 0; i < 20; ++i) {
    label("result " + std::to_string(i), 0, 0);
    label("result " + std::to_string(i) + "_mirror", 0, 1024 * (2 + i));
  }
  label("y", 1024, 0);
  label("y_mirror", 0, 1024);
  label("both ways", 512, 512);
  label("mirror", 0, 256);

  const std::string found = advice_about(s, "Came back");

  EXPECT_EQ(found.rfind("Came back from a device: y_mirror (1.00 KiB), both ways (512 B), result 19_mirror (21.0 KiB), "
                        "result 18_mirror (20.0 KiB), ", 0), 0u) << found;
  EXPECT_TRUE(contains(found, "result 10_mirror (12.0 KiB) and 11 more. Where kernels only read")) << found;
}

TEST(Advice, NamesTwelveArraysThatNeverChangedAndSaysHowManyMore) {
  Statistics s;
  for (int i = 1; i <= 13; ++i) {
    s.labels.push_back({"x" + std::to_string(i), {}});
    s.labels.back().counters.unchanged = {static_cast<std::uint64_t>(i), 1};
    s.total.unchanged += {static_cast<std::uint64_t>(i), 1};
  }

  const std::string found = advice_about(s, "Captured as writable");

  EXPECT_TRUE(contains(found, ": x13 (13 B), x12 (12 B), ")) << found;
  EXPECT_TRUE(contains(found, "x2 (2 B) and 1 more. ")) << found;
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
  const fs::path file = folder.path() / "r.json", link = folder.path() / "latest.json";
  std::ofstream(file) << std::string(100000, 'x');
  std::ifstream reader(file);  // who has the old file open keeps the old content
  fs::create_symlink(file, link);

  EXPECT_TRUE(write_report(busy_statistics(), link.string(), 0));

  EXPECT_EQ(json::parse(content(file)).at("schema_version"), 1);
  EXPECT_TRUE(fs::is_symlink(link));
  std::string old;
  reader >> old;
  EXPECT_EQ(old.size(), 100000u);
  EXPECT_EQ(folder.entries(), 2u);
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
  EXPECT_TRUE(contains(stderr_of("%x.json"), "SEMCACHE_REPORT"));
  EXPECT_TRUE(contains(stderr_of(std::string(5000, 'n')), "File name too long"));
  if (fs::exists("/dev/full")) {
    EXPECT_TRUE(contains(stderr_of("/dev/full"), "No space left on device"));
  }
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace
