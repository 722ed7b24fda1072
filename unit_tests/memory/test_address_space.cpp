// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/address_space.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <random>

namespace {
bool refuse_memory = false;
int refused = 0;
}

extern "C" {
// With --wrap=_ZN8semcache4base11take_memoryEmm (`base::take_memory`) the objects of a static library call this.
void* __real__ZN8semcache4base11take_memoryEmm(std::size_t bytes, std::size_t alignment);  // NOLINT: the linker's names
void* __wrap__ZN8semcache4base11take_memoryEmm(std::size_t bytes, std::size_t alignment) {  // NOLINT
  refused += refuse_memory ? 1 : 0;
  if (refuse_memory) throw std::bad_alloc();
  return __real__ZN8semcache4base11take_memoryEmm(bytes, alignment);
}
}

namespace semcache::memory {
namespace {

struct Block {
  ByteRange range;
};

TEST(AddressSpace, GivesBackWithoutMemoryAndNeverTwice) {
  constexpr std::uint64_t unit = 16;
  constexpr std::uint64_t units = 512;
  std::mt19937 random(7);
  AddressSpace space;
  for (std::uint64_t at = 0; at < units; at += units / 4) space.donate({at * unit, (at + units / 4) * unit});
  std::vector<bool> used(units, false);
  std::vector<Block> blocks;
  blocks.reserve(units);
  for (int move = 0; move < 20000; ++move) {
    if (random() % 2 == 0) {
      const std::uint64_t alignment = unit << random() % 3;
      const std::uint64_t bytes = unit * (1 + random() % 24);
      refuse_memory = random() % 8 == 0;
      std::optional<std::uint64_t> at;
      try {
        at = space.allocate(bytes, alignment);
      } catch (const std::bad_alloc&) {
      }
      refuse_memory = false;
      if (!at) continue;
      ASSERT_EQ(*at % alignment, 0u);
      for (std::uint64_t u = *at / unit; u < (*at + bytes) / unit; ++u) {
        ASSERT_FALSE(used.at(u));
        used[u] = true;
      }
      blocks.push_back({{*at, *at + bytes}});
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const ByteRange range = blocks.back().range;
      blocks.pop_back();
      refuse_memory = true;
      space.release(range);
      refuse_memory = false;
      for (std::uint64_t u = range.begin / unit; u < range.end / unit; ++u) used[u] = false;
    }
  }
  EXPECT_GT(refused, 0);
  for (const Block& b : blocks) space.release(b.range);
  EXPECT_EQ(space.allocate(units * unit, unit), std::optional<std::uint64_t>(0)) << "all is one again";
}

TEST(AddressSpace, TheSmallestRangeThatSufficesIsTaken) {
  AddressSpace space;
  for (const std::uint64_t begin : {0, 200, 400}) space.donate({begin, begin + 16 + begin / 4});

  EXPECT_EQ(space.allocate(80, 1), std::optional<std::uint64_t>(400));
  EXPECT_EQ(space.allocate(32, 1), std::optional<std::uint64_t>(480)) << "what is left of it";
  EXPECT_EQ(space.allocate(16, 1), std::optional<std::uint64_t>(0));
  EXPECT_EQ(space.allocate(64, 64), std::nullopt) << "from 256 on there are 10";
  EXPECT_EQ(space.allocate(66, 1), std::optional<std::uint64_t>(200));
  EXPECT_EQ(space.allocate(5, 1), std::nullopt);
}

}  // namespace
}  // namespace semcache::memory
