// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/policy.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace semcache::policy {
namespace {

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
