// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// For which launches there are a GPU's times, and which work turns them on. No GPU is asked: the tests play the profiler.
#include <semcache/runtime/device_times.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace semcache::runtime {
namespace {

using device::Activities;
using policy::timed_launches::cycle_ns;
constexpr std::uint64_t spell = policy::timed_launches::spell_launches;

struct Profiler {
  std::atomic<int> under_way{0};
  std::atomic<bool> tells{true}, works{true};
  std::atomic<int> turns{0};
  device::ActivitySwitch activities{[this](Activities to) {
    EXPECT_EQ(under_way.fetch_add(1), 0) << "one thread at a time";
    EXPECT_NE(tells.load(), to == Activities::told) << "only what changes";
    ++turns;
    if (works) tells = to == Activities::told;
    under_way.fetch_sub(1);
    return works.load();
  }};
};

struct Times : Profiler {
  explicit Times(TracedKernels kernels) : times(log, {0}, kernels, activities), now(log.now_ns()) {}
  /// Launches so often, in equal distances. @return how many of them had times
  std::uint64_t launch(std::uint64_t count, std::uint64_t apart_ns) {
    std::uint64_t with_times = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      times.work_follows(now += apart_ns);
      with_times += tells.load() ? 1 : 0;
    }
    return with_times;
  }
  trace::SpanLog log{1};
  DeviceTimes times;
  std::uint64_t now;
};

TEST(DeviceTimes, OfCloseLaunchesThereIsASpellInEachCycle) {
  for (const std::uint64_t apart : {1'000, 10'000, 17'500, 50'000}) {
    Times t(TracedKernels::some);
    const std::uint64_t launches = 200 * cycle_ns / apart, with = t.launch(launches, apart);
    EXPECT_NEAR(static_cast<double>(with), 200.0 * spell, 0.03 * 200 * spell) << apart;
    EXPECT_EQ(t.times.untimed_launches(), launches - with);
  }
}

TEST(DeviceTimes, LaunchesThatAreFarApartAllHaveThem) {
  Times t(TracedKernels::some);
  EXPECT_EQ(t.launch(20 * spell, cycle_ns / spell + 1), 20 * spell);
  EXPECT_EQ(t.times.untimed_launches(), 0u);
  EXPECT_EQ(t.turns, 0);
}

TEST(DeviceTimes, APauseEndsWithTimeNotWithLaunches) {
  Times t(TracedKernels::some);
  t.launch(spell + 1, 1000);
  EXPECT_FALSE(t.tells);
  t.now += cycle_ns;
  EXPECT_EQ(t.launch(1, 0), 1u);
}

TEST(DeviceTimes, WhereCopiesComeBetweenLaunchesTheyStayOn) {
  Times t(TracedKernels::some);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(t.launch(spell, 1000), spell);
    t.activities.need();
    t.activities.need_no_more();
  }
  EXPECT_EQ(t.turns, 0);
  t.launch(2 * spell + 1, 1000);
  EXPECT_FALSE(t.tells) << "the copies are over";
  t.activities.need();
  EXPECT_TRUE(t.tells);
  EXPECT_EQ(t.launch(3 * spell, 1000), 3 * spell) << "they last while they are needed";
  t.activities.need_no_more();
}

TEST(DeviceTimes, AllLaunchesHaveThemIfThatIsAskedFor) {
  Times t(TracedKernels::all);
  EXPECT_EQ(t.launch(20 * spell, 1), 20 * spell);
  EXPECT_EQ(t.times.untimed_launches(), 0u);
}

TEST(DeviceTimes, TheProfilerIsAskedForNothingOnceTheTimelineIsWritten) {
  Times t(TracedKernels::some);
  t.launch(spell + 1, 1000);
  const int turns = t.turns;
  t.times.finish();
  t.launch(10 * spell, 1000);
  t.activities.need();
  EXPECT_EQ(t.turns, turns);
  EXPECT_EQ(t.times.untimed_launches(), 1u);
}

TEST(DeviceTimes, AProfilerThatFailsIsAskedAgain) {
  Times t(TracedKernels::some);
  t.works = false;
  EXPECT_EQ(t.launch(spell + 1, 1000), spell + 1) << "it tells still";
  t.works = true;
  t.launch(spell + 1, 1000);
  EXPECT_FALSE(t.tells);
  t.works = false;
  t.now += cycle_ns;
  const int turns = t.turns;
  EXPECT_EQ(t.launch(50, 1000), 0u);
  EXPECT_EQ(t.turns, turns + 1) << "not at each launch";
  t.works = true;
  t.now += cycle_ns;
  EXPECT_EQ(t.launch(5, 1000), 5u);
}

TEST(DeviceTimes, ThreadsThatLaunchTogether) {
  Times t(TracedKernels::some);
  constexpr int threads = 4;
  std::atomic<std::uint64_t> now{t.now};
  std::atomic<int> begun{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      ++begun;
      while (begun < threads) std::this_thread::yield();
      for (std::uint64_t n = 0; n < 10'000; ++n) t.times.work_follows(now.fetch_add(1000));
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_GT(t.turns, 2);
  EXPECT_GT(t.times.untimed_launches(), 0u);
  EXPECT_LT(t.times.untimed_launches(), threads * 10'000u);
}

TEST(ActivitySwitch, IsTurnedOnByWorkThatNeedsThem) {
  Profiler p;
  p.activities.turn_off();
  EXPECT_FALSE(p.tells);
  EXPECT_EQ(p.activities.now(), Activities::left_out);
  p.activities.turn_off();
  EXPECT_GT(p.activities.off_ns(), 0u);
  p.activities.need();
  EXPECT_TRUE(p.tells);
  EXPECT_EQ(p.activities.now(), Activities::told);
  EXPECT_EQ(p.activities.needs(), 1u);
  p.activities.turn_on();
  p.activities.turn_off();
  EXPECT_TRUE(p.tells) << "it is needed";
  EXPECT_EQ(p.turns, 2);
  const std::uint64_t off_ns = p.activities.off_ns();
  EXPECT_EQ(p.activities.off_ns(), off_ns) << "it is on";
  p.activities.need_no_more();
  p.activities.turn_off();
  EXPECT_FALSE(p.tells);
}

TEST(ActivitySwitch, IsLeftAloneInACallbackOfTheProfiler) {
  Profiler p;
  p.activities.turn_off();
  {
    const device::InCallback here;
    p.activities.need();
    EXPECT_FALSE(p.tells);
    p.activities.need_no_more();
  }
  p.activities.need();
  EXPECT_TRUE(p.tells);
}

TEST(ActivitySwitch, NobodyWaitsForAnotherThreadThatTurnsIt) {
  std::atomic<bool> turning{false}, done{false};
  device::ActivitySwitch activities([&](Activities) {
    turning = true;
    while (!done) std::this_thread::yield();
    return true;
  });
  std::thread other([&] { activities.turn_off(); });
  while (!turning) std::this_thread::yield();
  activities.need();
  done = true;
  other.join();
  EXPECT_EQ(activities.now(), Activities::left_out);
}

TEST(ActivitySwitch, IsNotTurnedOffBesideWorkThatNeedsThem) {
  Profiler p;
  std::atomic<bool> started{false}, done{false};
  std::thread turning([&] {
    started = true;
    while (!done) p.activities.turn_off();
  });
  while (!started) std::this_thread::yield();
  for (int n = 0, on = 0; on < 2000; ++n) {
    p.activities.need();
    // It is off only if the other thread was turning it in that moment; from now on it can only be turned on.
    const bool was_on = p.activities.now() == Activities::told && p.tells;
    for (int looks = 0; was_on && looks < 20; ++looks) ASSERT_TRUE(p.tells);
    on += was_on ? 1 : 0;
    p.activities.need_no_more();
  }
  done = true;
  turning.join();
  EXPECT_GT(p.turns, 0);
}

}  // namespace
}  // namespace semcache::runtime
