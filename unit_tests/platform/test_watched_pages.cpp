// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/watched_pages.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace semcache::platform::detail {
namespace {

using State = WatchedPages::State;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t leaf = std::uint64_t{1} << 30;

TEST(WatchedPages, KnowNothingAtFirst) {
  static WatchedPages pages;
  EXPECT_EQ(pages.at(0), State::never);
  EXPECT_EQ(pages.at(leaf), State::never);
  EXPECT_EQ(pages.at(UINTPTR_MAX), State::never);
}

TEST(WatchedPages, RememberThatAWatchHasEnded) {
  static WatchedPages pages;
  pages.set(leaf - page, 3 * page, State::watched);
  EXPECT_EQ(pages.at(leaf - page - 1), State::never);
  EXPECT_EQ(pages.at(leaf - page), State::watched);
  EXPECT_EQ(pages.at(leaf + 2 * page - 1), State::watched);
  EXPECT_EQ(pages.at(leaf + 2 * page), State::never);
  pages.set(leaf, page, State::was_watched);
  EXPECT_EQ(pages.at(leaf - 1), State::watched);
  EXPECT_EQ(pages.at(leaf), State::was_watched);
  EXPECT_FALSE(pages.watches(leaf));
  EXPECT_TRUE(pages.watches(leaf + page));
}

TEST(WatchedPages, AgreeWithAList) {
  static WatchedPages pages;
  std::mt19937_64 random(3);
  constexpr std::uint64_t first = 7 * leaf - 500 * page, count = 1000;
  std::vector<State> expected(count, State::never);
  for (int move = 0; move < 3000; ++move) {
    const std::uint64_t begin = random() % count, n = 1 + random() % (move % 2 == 0 ? 8 : 300);
    const std::uint64_t end = std::min(count, begin + n);
    const auto state = static_cast<State>(random() % 3);
    pages.set(first + begin * page, (end - begin) * page, state);
    std::fill(expected.begin() + static_cast<long>(begin), expected.begin() + static_cast<long>(end), state);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(pages.at(first + i * page + random() % page), expected[i]) << "page " << i;
  }
}

/// Neighbours are set by several threads at once.
TEST(WatchedPages, AreSetByManyThreads) {
  static WatchedPages pages;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int round = 0; round < 500; ++round) {
        for (std::uint64_t i = t; i < 64; i += 4) pages.set(9 * leaf + i * page, page, State::watched);
        for (std::uint64_t i = t; i < 64; i += 4) {
          ASSERT_TRUE(pages.watches(9 * leaf + i * page));
          pages.set(9 * leaf + i * page, page, State::was_watched);
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(pages.at(9 * leaf + i * page), State::was_watched);
}

}  // namespace
}  // namespace semcache::platform::detail
