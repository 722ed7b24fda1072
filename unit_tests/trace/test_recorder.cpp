// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "kinds.hpp"

#include <semcache/trace/recorder.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

using semcache::Counters;
using semcache::NamedCounters;
using semcache::Statistics;
using semcache::Traffic;
using namespace semcache::trace;

static_assert(std::size(all_traffic) == traffic_kinds);

const Counters* find(const std::vector<NamedCounters>& named, const std::string& name) {
  for (const NamedCounters& n : named) {
    if (n.name == name) return &n.counters;
  }
  return nullptr;
}

TEST(Recorder, StartsAtZero) {
  const Recorder recorder;

  const Statistics s = recorder.snapshot();

  for (const auto& [kind, name, field] : all_traffic) EXPECT_EQ(s.total.*field, Traffic{}) << name;
  EXPECT_EQ(s.total.launches + s.total.unknown_launches + s.total.native_captures + s.total.device_waits, 0u);
  EXPECT_EQ(s.total.host_faults + s.total.evictions + s.total.opened + s.total.unannounced, 0u);
  EXPECT_TRUE(s.labels.empty());
  EXPECT_TRUE(s.call_sites.empty());
  EXPECT_TRUE(s.unknown_launch_names.empty());
}

TEST(Recorder, EachKindCountsInItsOwnFieldOfTotalAndLabel) {
  Recorder recorder;
  const LabelId a = recorder.intern("A");

  for (std::size_t k = 0; k < traffic_kinds; ++k) recorder.moved(all_traffic[k].kind, a, 1000 + k, k + 1);

  const Statistics s = recorder.snapshot();
  ASSERT_EQ(s.labels.size(), 1u);
  EXPECT_EQ(s.labels[0].name, "A");
  for (std::size_t k = 0; k < traffic_kinds; ++k) {
    const Traffic expected{1000 + k, k + 1};
    EXPECT_EQ(s.total.*all_traffic[k].field, expected) << all_traffic[k].name;
    EXPECT_EQ(s.labels[0].counters.*all_traffic[k].field, expected) << all_traffic[k].name;
  }
  EXPECT_EQ(s.total.h2d, (Traffic{1000, 1}));
  EXPECT_EQ(s.total.d2h, (Traffic{1001, 2}));
  EXPECT_EQ(s.total.unchanged, (Traffic{1013, 14}));
  EXPECT_EQ(s.total.written_back, (Traffic{1014, 15}));
}

TEST(Recorder, EventsCountForTotalAndLabel) {
  Recorder recorder;
  const LabelId a = recorder.intern("A"), b = recorder.intern("B");

  recorder.count(Event::host_faults, a);
  recorder.count(Event::host_faults, a);
  recorder.count(Event::host_faults, b);
  recorder.count(Event::evictions, b);
  recorder.count(Event::opened, a);
  recorder.count(Event::exposed, a);
  recorder.count(Event::unannounced, b);
  recorder.count(Event::uncaptured, b);
  recorder.count(Event::changed, b);
  recorder.count(Event::hulls, b);
  recorder.count(Event::host_faults, {});  // an address without a label still counts
  recorder.launch();
  recorder.launch();
  recorder.native_capture();
  recorder.device_wait();

  const Statistics s = recorder.snapshot();
  EXPECT_EQ(s.total.host_faults, 4u);
  EXPECT_EQ(s.total.evictions, 1u);
  EXPECT_EQ(s.total.opened, 1u);
  EXPECT_EQ(s.total.exposed, 1u);
  EXPECT_EQ(s.total.unannounced, 1u);
  EXPECT_EQ(s.total.uncaptured, 1u);
  EXPECT_EQ(s.total.changed, 1u);
  EXPECT_EQ(s.total.launches, 2u);
  EXPECT_EQ(s.total.native_captures, 1u);
  EXPECT_EQ(s.total.device_waits, 1u);
  EXPECT_EQ(find(s.labels, "A")->host_faults, 2u);
  EXPECT_EQ(find(s.labels, "A")->opened, 1u);
  EXPECT_EQ(find(s.labels, "A")->exposed, 1u);
  EXPECT_EQ(find(s.labels, "B")->unannounced, 1u);
  EXPECT_EQ(find(s.labels, "B")->uncaptured, 1u);
  EXPECT_EQ(find(s.labels, "B")->changed, 1u);
  EXPECT_EQ(find(s.labels, "B")->hulls, 1u);
  EXPECT_EQ(find(s.labels, "B")->host_faults, 1u);
  EXPECT_EQ(find(s.labels, "B")->evictions, 1u);
  EXPECT_EQ(recorder.of(a).host_faults, 2u);
}

TEST(Recorder, EqualLabelsShareAnIdAndKeepTheirText) {
  Recorder recorder;
  std::string text = "matrix values";
  const LabelId first = recorder.intern(text);
  const char* name = recorder.name(first);
  text = "something else";

  EXPECT_EQ(recorder.intern("matrix values"), first);
  EXPECT_NE(recorder.intern("matrix"), first);
  for (int i = 0; i < 5000; ++i) (void)recorder.intern("view " + std::to_string(i));
  EXPECT_EQ(recorder.name(first), name);  // never moves: messages may point at it
  EXPECT_STREQ(name, "matrix values");
  EXPECT_STREQ(recorder.name(recorder.intern("view 4321")), "view 4321");
}

TEST(Recorder, OddLabelsAreHarmless) {
  Recorder recorder;

  EXPECT_STREQ(recorder.name(recorder.intern("")), "(unlabelled)");
  EXPECT_STREQ(recorder.name({}), "(no label)");
  EXPECT_STREQ(recorder.name(LabelId{123456}), "(no label)");
  EXPECT_STREQ(recorder.name(recorder.intern(std::string_view("ab\0cd", 5))), "ab");
  EXPECT_STREQ(recorder.name(recorder.intern(std::string_view("\0", 1))), "(unlabelled)");
  EXPECT_EQ(std::strlen(recorder.name(recorder.intern(std::string(100000, 'x')))), 1000u);
  recorder.moved(Kind::h2d, LabelId{777777}, 8);  // an id of nobody: only the total
  EXPECT_EQ(recorder.totals().h2d, (Traffic{8, 1}));
  EXPECT_TRUE(recorder.snapshot().labels.empty());
}

TEST(Recorder, LabelsBeyondTheBoundShareANameAndLoseNoByte) {
  RecorderOptions options;
  options.max_labels = 10;
  options.max_counted_labels = 3;
  Recorder recorder(options);

  for (int i = 0; i < 50; ++i) recorder.moved(Kind::d2h, recorder.intern("l" + std::to_string(i)), 100);

  EXPECT_STREQ(recorder.name(recorder.intern("l0")), "l0");
  EXPECT_STREQ(recorder.name(recorder.intern("l49")), "(further labels)");
  const Statistics s = recorder.snapshot();
  ASSERT_NE(find(s.labels, "(other labels)"), nullptr);
  std::uint64_t bytes = 0;
  for (const NamedCounters& n : s.labels) bytes += n.counters.d2h.bytes;
  EXPECT_EQ(bytes, 5000u);
  EXPECT_EQ(s.total.d2h, (Traffic{5000, 50}));
  EXPECT_EQ(s.labels.size(), 4u);
}

TEST(Recorder, LabelsAreSortedByBytesOverTheLinkThenByAllBytesThenByName) {
  Recorder recorder;
  recorder.moved(Kind::d2d, recorder.intern("internal"), 1 << 20);
  recorder.moved(Kind::h2d, recorder.intern("small"), 10);
  recorder.moved(Kind::d2h, recorder.intern("large"), 100);
  recorder.moved(Kind::avoided, recorder.intern("y"), 5);
  recorder.moved(Kind::avoided, recorder.intern("x"), 5);
  (void)recorder.intern("idle");

  const Statistics s = recorder.snapshot();

  std::vector<std::string> order;
  for (const NamedCounters& n : s.labels) order.push_back(n.name);
  EXPECT_EQ(order, (std::vector<std::string>{"large", "small", "internal", "x", "y"}));
}

struct FunctorOfAUser {};

TEST(Recorder, UnknownLaunchesAreCountedByReadableName) {
  RecorderOptions options;
  options.max_names = 3;
  Recorder recorder(options);

  for (int i = 0; i < 3; ++i) recorder.unknown_launch(typeid(FunctorOfAUser).name());
  recorder.unknown_launch(nullptr);
  recorder.unknown_launch("axpy kernel");
  recorder.unknown_launch("one too many");

  const Statistics s = recorder.snapshot();
  EXPECT_EQ(s.total.unknown_launches, 6u);
  ASSERT_EQ(s.unknown_launch_names.size(), 4u);
  EXPECT_EQ(s.unknown_launch_names[0].name, "(anonymous namespace)::FunctorOfAUser");
  EXPECT_EQ(s.unknown_launch_names[0].counters.unknown_launches, 3u);
  EXPECT_EQ(find(s.unknown_launch_names, "(unnamed)")->unknown_launches, 1u);
  EXPECT_EQ(find(s.unknown_launch_names, "axpy kernel")->unknown_launches, 1u);
  EXPECT_EQ(find(s.unknown_launch_names, "(other functors)")->unknown_launches, 1u);
}

TEST(Recorder, ManyThreadsLoseNoCount) {
  RecorderOptions options;
  options.call_sites = true;
  Recorder recorder(options);
  constexpr int threads = 4;
  constexpr std::uint64_t rounds = 4000;
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load()) (void)recorder.snapshot();
  });

  std::vector<std::thread> writers;
  for (std::uint32_t t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        recorder.moved(Kind::h2d, recorder.intern("label " + std::to_string(i % 64)), t + 1);
        recorder.launch();
        if (i % 16 == 0) recorder.unknown_launch(typeid(FunctorOfAUser).name());
      }
    });
  }
  for (auto& writer : writers) writer.join();
  stop.store(true);
  reader.join();

  const Statistics s = recorder.snapshot();
  const Traffic expected{rounds * (1 + 2 + 3 + 4), rounds * threads};
  EXPECT_EQ(s.total.h2d, expected);
  EXPECT_EQ(s.total.launches, rounds * threads);
  EXPECT_EQ(s.unknown_launch_names.at(0).counters.unknown_launches, rounds * threads / 16);
  Traffic sites;
  for (const NamedCounters& n : s.call_sites) sites += n.counters.h2d;
  EXPECT_EQ(sites, expected);
  Traffic labels;
  for (const NamedCounters& n : s.labels) labels += n.counters.h2d;
  EXPECT_EQ(labels, expected);
}

}  // namespace
