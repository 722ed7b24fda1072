// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <semcache/policy/policy.hpp>

#include <gtest/gtest.h>

namespace semcache::policy {
namespace {

constexpr std::uint64_t page = 4096;

/// The choices for a sweep over `size` bytes: each fault is at the first byte (or page) that no earlier one brought.
std::uint64_t faults_of_sweep(std::uint64_t size, bool ascending) {
  ReadAhead ahead;
  std::uint64_t faults = 0;
  std::uint64_t at = ascending ? 0 : size - 1;
  for (;;) {
    const ByteRange r = ahead.next(at, size, page);
    ++faults;
    EXPECT_TRUE(r.contains({round_down(at, page), std::min(round_down(at, page) + page, size)}));
    if (ascending ? r.end >= size : r.begin == 0) return faults;
    at = ascending ? r.end : r.begin - 1;
  }
}

TEST(ReadAhead, ContainsTheFaultingPageAndStaysInsideTheArray) {
  fakes::Random random(5);
  for (int arrays = 0; arrays < 200; ++arrays) {
    ReadAhead ahead;
    const std::uint64_t unit = std::uint64_t{1} << (9 + random.below(8));
    const std::uint64_t size = 1 + random.below(std::uint64_t{1} << (10 + random.below(24)));
    std::uint64_t at = random.below(size);
    for (int faults = 0; faults < 200; ++faults) {
      const ByteRange r = ahead.next(at, size, unit);

      ASSERT_LE(r.begin, at);
      ASSERT_GT(r.end, at);
      ASSERT_LE(r.end, size);
      ASSERT_EQ(r.begin % unit, 0u);
      ASSERT_TRUE(r.end % unit == 0 || r.end == size);
      ASSERT_LE(r.size(), ReadAhead::last_chunk_bytes);
      at = random.chance(60) && r.end < size ? r.end : random.chance(50) && r.begin > 0 ? r.begin - 1 : random.below(size);
    }
  }
}

TEST(ReadAhead, ASweepCostsLogarithmicallyManyFaults) {
  for (const bool ascending : {true, false}) {
    for (std::uint64_t size = page; size <= std::uint64_t{1} << 28; size *= 2) {
      std::uint64_t bound = 2;  // of chunks that quadruple
      for (std::uint64_t reached = ReadAhead::first_chunk_bytes; reached < size; reached *= 2) ++bound;
      EXPECT_LE(faults_of_sweep(size, ascending), bound) << size << (ascending ? " up" : " down");
    }
  }
}

TEST(ReadAhead, TwoSweepsAtOnceDoNotDisturbEachOther) {
  ReadAhead ahead;
  constexpr std::uint64_t size = std::uint64_t{256} << 20;
  std::uint64_t low = 0;
  std::uint64_t high = size / 2;
  std::uint64_t faults = 0;
  while (low < size / 2) {
    low = ahead.next(low, size, page).end;
    if (high < size) high = ahead.next(high, size, page).end;
    ++faults;
  }
  EXPECT_LE(faults, 12u);
}

TEST(ReadAhead, AStridedReaderGetsOneSmallChunkAtATime) {
  ReadAhead ahead;
  constexpr std::uint64_t size = std::uint64_t{1} << 30;
  for (std::uint64_t at = 0; at < size; at += 1u << 20) {
    EXPECT_EQ(ahead.next(at, size, page).size(), ReadAhead::first_chunk_bytes);
  }
}

TEST(ReadAhead, ARandomReaderGetsOneSmallChunkAtATime) {
  ReadAhead ahead;
  fakes::Random random(11);
  constexpr std::uint64_t size = std::uint64_t{1} << 30;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 1024; ++i) bytes += ahead.next(random.below(size), size, page).size();
  EXPECT_LE(bytes, 1024 * 20 * std::uint64_t{1024});
}

TEST(FetchForecast, TwoFetchesBehindOneWriteEachMakeAHabit) {
  FetchForecast f;
  EXPECT_FALSE(f.fetch_follows());
  f.fetched(1);
  EXPECT_FALSE(f.fetch_follows());
  f.fetched(0);  // asked twice for the same: says nothing
  f.fetched(1);
  EXPECT_TRUE(f.fetch_follows());
}

TEST(FetchForecast, AFailureDoublesWhatTheNextForecastNeeds) {
  FetchForecast f;
  for (std::uint32_t needed = 2; needed <= 64; needed *= 2) {
    for (std::uint32_t i = 1; i < needed; ++i) {
      f.fetched(1);
      EXPECT_FALSE(f.fetch_follows()) << needed;
    }
    f.fetched(1);
    EXPECT_TRUE(f.fetch_follows()) << needed;
    f.fetched(2);
    EXPECT_FALSE(f.fetch_follows()) << needed;
  }
}

TEST(FetchForecast, OnceIsEnoughForWhoSaysThatItAsksAgain) {
  FetchForecast f(1);
  EXPECT_FALSE(f.fetch_follows());
  f.fetched(1);
  EXPECT_TRUE(f.fetch_follows());
  f.fetched(3);  // a failure counts as ever
  f.fetched(1);
  EXPECT_FALSE(f.fetch_follows());
  f.fetched(1);
  EXPECT_TRUE(f.fetch_follows());
}

TEST(CopyCost, PrefersTheSameSpaceThenDevicesThenTheLink) {
  EXPECT_LT(copy_cost(device_space(0), device_space(0)), copy_cost(device_space(1), device_space(0)));
  EXPECT_LT(copy_cost(device_space(1), device_space(0)), copy_cost(host_space, device_space(0)));
  EXPECT_EQ(copy_cost(host_space, device_space(0)), copy_cost(device_space(0), host_space));
}

}  // namespace
}  // namespace semcache::policy
