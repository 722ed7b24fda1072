// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/timed_launches.hpp>

#include <gtest/gtest.h>

#include <cstdint>

// For which launches a profiler takes times where they follow each other closely.
namespace semcache::policy::timed_launches {
namespace {

TEST(TimedLaunches, HaveAPauseBehindThemThatPaysForThem) {
  for (std::uint64_t elapsed = 0; elapsed < 2 * cycle_ns; elapsed += 9973) {
    const std::uint64_t cycle = elapsed + pause_ns(elapsed), delay = spell_launches * cost_ns + switch_ns;
    EXPECT_LE(delay * share, cycle) << elapsed;
    if (pause_ns(elapsed) > 0) {
      EXPECT_EQ(delay * share, cycle) << "and it is no longer, after " << elapsed;
    }
  }
}

TEST(TimedLaunches, ThatAreFarApartHaveNone) {
  EXPECT_EQ(pause_ns(spell_launches * std::uint64_t{77'000}), 0u);
  EXPECT_GT(pause_ns(spell_launches * std::uint64_t{75'000}), 0u);
  EXPECT_EQ(pause_ns(UINT64_MAX), 0u);
}

TEST(TimedLaunches, ThePauseIsShort) {
  EXPECT_LE(pause_ns(0), std::uint64_t{5'000'000});
}

}  // namespace
}  // namespace semcache::policy::timed_launches
