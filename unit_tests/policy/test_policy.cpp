// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/policy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace semcache::policy {
namespace {

/// How spare memory leaves: has it a copy, seconds to make it and of a copy, and how.
TEST(SpareMemory, LeavesByWhatItCostsToHaveItBack) {
  struct Case {
    bool has_copy;
    double seconds_to_make, seconds_of_copy;
    LeavesAs how;
  };
  constexpr Case table[] = {
      {true, 0, 1, LeavesAs::copy},         {true, 100, 1, LeavesAs::copy},      {false, 0, 1, LeavesAs::made_again},
      {false, 1.99, 1, LeavesAs::made_again}, {false, 2, 1, LeavesAs::array},    {false, 100, 1, LeavesAs::array},
      {false, 0, 0, LeavesAs::array},       {false, 1e-6, 1e-3, LeavesAs::made_again},
  };
  for (const Case& c : table) {
    EXPECT_EQ(leaves_as({c.has_copy, 100, c.seconds_to_make, c.seconds_of_copy}), c.how) << c.has_copy << " " << c.seconds_to_make << " " << c.seconds_of_copy;
  }
}

TEST(SpareMemory, LeavesInTheOrderOfTheSecondsThatAByteOfRoomCosts) {
  const std::vector<SpareMemory> in_order = {
      {true, 10, 100, 1},      // there is a copy: nothing is lost
      {false, 100, 0, 1},      // nobody has said what it takes
      {false, 1000, 1, 1},     // 1 ms for each byte
      {false, 100, 0.5, 1},    // 5 ms
      {false, 100, 50, 1},     // dearer than to the host and back
  };
  const auto before = [](const SpareMemory& a, const SpareMemory& b) { return order_of(a) < order_of(b); };
  EXPECT_TRUE(std::is_sorted(in_order.begin(), in_order.end(), before));
  for (std::size_t i = 1; i < in_order.size(); ++i) EXPECT_TRUE(before(in_order[i - 1], in_order[i])) << i;
}

TEST(SpareMemory, CopiesTakeAsLongAsTheTopologySays) {
  Topology t;
  const double between = seconds_of_copy(t, device_space(0), device_space(1), 300'000'000);
  EXPECT_DOUBLE_EQ(between, 1e-3);
  EXPECT_DOUBLE_EQ(seconds_of_copy(t, device_space(0), host_space, 300'000'000), 5 * between);
  t.separate(0, 1);
  EXPECT_DOUBLE_EQ(seconds_of_copy(t, device_space(0), device_space(1), 300'000'000), 10 * between) << "over the host";
}

/// The blocks of arrays on a GPU, whose calls cost little from 32 MiB on, and on an emulated device.
TEST(BlockBytes, AreTheDevicesUntilAnArrayHas4096OfThem) {
  constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
  struct Case {
    std::uint64_t array, device, block;
  };
  constexpr Case table[] = {
      {0, 32 * MiB, 0},
      {1, 32 * MiB, 0},
      {64 * MiB - 1, 32 * MiB, 0},  // one block
      {64 * MiB, 32 * MiB, 32 * MiB},
      {64 * MiB + 1, 32 * MiB, 32 * MiB},
      {128 * GiB, 32 * MiB, 32 * MiB},
      {128 * GiB + 4096, 32 * MiB, 64 * MiB},
      {256 * GiB, 32 * MiB, 64 * MiB},
      {64 * KiB, 64 * KiB, 0},
      {128 * KiB - 1, 64 * KiB, 0},
      {128 * KiB, 64 * KiB, 64 * KiB},
      {256 * MiB, 64 * KiB, 64 * KiB},
      {257 * MiB, 64 * KiB, 128 * KiB},
      {1 * GiB, 64 * KiB, 256 * KiB},
  };
  for (const Case& c : table) EXPECT_EQ(block_bytes(c.array, c.device), c.block) << c.array << " bytes, blocks of " << c.device;
}

TEST(BlockBytes, AreWholeBlocksOfTheDeviceAndAtMost4096) {
  for (const std::uint64_t device : {std::uint64_t{64} << 10, std::uint64_t{16} << 20, std::uint64_t{32} << 20}) {
    for (std::uint64_t array = 2 * device; array < std::uint64_t{1} << 45; array += array / 3 + 12345) {
      const std::uint64_t block = block_bytes(array, device);
      ASSERT_GE(block, device) << array;
      ASSERT_EQ(block % device, 0u) << array;
      ASSERT_LE((array + block - 1) / block, 4096u) << array;
      ASSERT_TRUE(block == device || (block - device) * 4096 < array) << array << ": no larger than need be";
    }
  }
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

/// Whatever the order of launches and questions: the transfers are at most twice those that were asked for.
TEST(FetchForecast, AtMostDoublesTheTransfers) {
  for (const std::uint32_t needed : {1u, 2u}) {
    for (std::uint32_t order = 0; order < 1u << 18; ++order) {
      FetchForecast f(needed);
      std::uint32_t transfers = 0, asked = 0, writes = 0;
      bool fresh = true;
      for (int step = 0; step < 18; ++step) {
        if ((order >> step & 1) != 0) {  // a kernel writes; at most one transfer for each question
          fresh = ++writes == 1 && f.fetch_follows();
          transfers += fresh ? 1 : 0;
        } else {  // the host asks
          asked += writes > 0 ? 1 : 0;
          transfers += fresh ? 0 : 1;
          f.fetched(std::exchange(writes, 0));
          fresh = true;
        }
      }
      ASSERT_LE(transfers, 2 * asked + (writes > 0 ? 1 : 0)) << order << " needed " << needed;
    }
  }
}

TEST(ReadHabit, EightCopiesThatAreReadMakeAHabit) {
  ReadHabit h;
  EXPECT_FALSE(h.copied());
  for (int i = 0; i < 7; ++i) {
    h.read();
    EXPECT_FALSE(h.copied()) << i;
  }
  EXPECT_FALSE(h.copied()) << "the last one was not read";
  for (int i = 0; i < 7; ++i) {
    h.read();
    EXPECT_FALSE(h.copied()) << i;
  }
  h.read();
  EXPECT_TRUE(h.copied());
}

/// Copies that are brought before the next one is left to the fault. @pre a habit has just been made, or confirmed
std::uint32_t brought_until_a_look(ReadHabit& h) {
  std::uint32_t brought = 1;
  while (h.copied()) ++brought;
  return brought;
}

TEST(ReadHabit, ALookThatFindsAReadDoublesWhatIsBroughtBeforeTheNext) {
  ReadHabit h;
  do h.read();
  while (!h.copied());
  for (const std::uint32_t expected : {8u, 16u, 32u, 64u, 64u}) {
    EXPECT_EQ(brought_until_a_look(h), expected);
    h.read();
    EXPECT_TRUE(h.copied());
  }
}

TEST(ReadHabit, ALookThatFindsNoneEndsItAndTheNextTakesTwiceAsLong) {
  ReadHabit h;
  for (const int needed : {8, 16, 32}) {
    int read = 0;
    do {
      h.read();
      ++read;
    } while (!h.copied());
    EXPECT_EQ(read, needed);
    h.read();  // a fault that writes, say: it tells nothing of copies that were brought
    (void)brought_until_a_look(h);
    EXPECT_FALSE(h.copied());
  }
}

TEST(SavePlace, KeepsTheLinkFreeWhileThereIsRoomBeside) {
  const struct {
    const char* what;
    SaveChoices choices;
    SavePlace place;
  } table[] = {
      // on the host, wanter clean, room beside, wanter's host side clean
      {"the wanter's memory is there", {false, true, true, true}, SavePlace::wanter},
      {"and without room", {false, true, false, false}, SavePlace::wanter},
      {"on the host, too", {true, true, true, false}, SavePlace::wanter},
      {"room beside", {false, false, true, true}, SavePlace::snapshot_beside},
      {"host memory always has room", {true, false, false, false}, SavePlace::snapshot_beside},
      {"no room beside, but the wanter has a host side", {false, false, false, true}, SavePlace::wanters_host_side},
      {"and none that may be overwritten", {false, false, false, false}, SavePlace::snapshot_on_host},
  };
  for (const auto& row : table) EXPECT_EQ(place_of_save(row.choices), row.place) << row.what;
}

}  // namespace
}  // namespace semcache::policy
