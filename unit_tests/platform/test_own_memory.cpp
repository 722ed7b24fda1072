// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/own_memory.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>

namespace semcache::base {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Pages of the process's address space.
long mapped_pages() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) ADD_FAILURE() << "/proc/self/statm cannot be read";
  if (file != nullptr) std::fclose(file);
  return pages;
}
long pages_of(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return static_cast<long>((bytes + page - 1) / page);
}

class Taken {
 public:
  explicit Taken(std::size_t bytes, std::size_t alignment = 16) : bytes_(bytes), alignment_(alignment), at_(take_memory(bytes, alignment)) {}
  ~Taken() { give_memory(at_, bytes_, alignment_); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  [[nodiscard]] unsigned char* at() const { return static_cast<unsigned char*>(at_); }
  void fill(unsigned char with) const { std::fill_n(at(), bytes_, with); }
  [[nodiscard]] bool is(unsigned char all) const { return std::all_of(at(), at() + bytes_, [&](unsigned char c) { return c == all; }); }

 private:
  std::size_t bytes_, alignment_;
  void* at_;
};

class OwnMemory : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "own memory is malloc's with AddressSanitizer";
#endif
    const Taken first(6 * mib);  // the pool's list of large blocks has memory from now on
  }
};

TEST_F(OwnMemory, LargeBlocksAreMappingsOfTheirOwnAndAreGivenBackExactly) {
  for (const std::size_t bytes : {4 * mib, 4 * mib + 1, 5 * mib - 4095, 16 * mib, 16 * mib + 4096, 40 * mib}) {
    const long before = mapped_pages();
    const std::size_t held = memory_held(), taken = memory_taken();
    {
      const Taken block(bytes);
      EXPECT_EQ(mapped_pages(), before + pages_of(bytes)) << bytes;
      EXPECT_EQ(memory_held(), held + bytes);
      block.fill(7);
      EXPECT_TRUE(block.is(7));
    }
    EXPECT_EQ(mapped_pages(), before) << bytes;
    EXPECT_EQ(memory_held(), held);
    EXPECT_EQ(memory_taken(), taken + bytes);
  }
}

TEST_F(OwnMemory, NeighboursKeepTheirContentWhenABlockIsGivenBack) {
  const Taken small(100), one(4 * mib);
  small.fill(1);
  one.fill(2);
  const std::size_t held = memory_held();
  {
    const Taken two(7 * mib + 5), three(3 * mib), four(4 * mib);
    two.fill(3);
    three.fill(4);
    four.fill(5);
    EXPECT_TRUE(two.is(3) && three.is(4) && four.is(5));
    EXPECT_EQ(memory_held(), held + 7 * mib + 5 + 3 * mib + 4 * mib);
  }
  EXPECT_EQ(memory_held(), held);
  EXPECT_TRUE(small.is(1) && one.is(2));
}

TEST_F(OwnMemory, SmallBlocksOfWholeCacheLinesLieSideBySide) {
  // Sixteen blocks of 832 bytes, as many as a launch may have operands: a power of two between them would map them to few sets of a cache.
  std::deque<Taken> blocks;
  for (int i = 0; i < 16; ++i) blocks.emplace_back(832, 64);
  int gaps = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i].at()) % 64, 0U);
    blocks[i].fill(static_cast<unsigned char>(i));
    if (i > 0 && blocks[i].at() - blocks[i - 1].at() != 832) ++gaps;
  }
  EXPECT_LE(gaps, 1) << "one slab may have ended meanwhile";
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(blocks[i].is(static_cast<unsigned char>(i))) << i;
}

TEST_F(OwnMemory, SmallBlocksOfAllSizesAreAlignedAndApart) {
  std::deque<Taken> blocks;
  const auto take_all = [&] {
    for (const std::size_t alignment : {8, 16, 32, 64, 128}) {
      for (std::size_t bytes = 1; bytes <= 1100; bytes += 13) {
        const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
        blocks.emplace_back(size, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().at()) % alignment, 0U) << size;
        blocks.back().fill(static_cast<unsigned char>(blocks.size()));
      }
    }
  };
  take_all();
  blocks.clear();
  take_all();  // from those that were given back
  for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(blocks[i].is(static_cast<unsigned char>(i + 1))) << i;
}

TEST_F(OwnMemory, LargeBlocksAreAlignedAsAsked) {
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 16, 2 * mib}) {
    const std::size_t held = memory_held();
    {
      const Taken block(4 * mib + 100, alignment), other(9 * mib, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.at()) % alignment, 0u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(other.at()) % alignment, 0u);
      block.fill(1);
      other.fill(2);
      EXPECT_TRUE(block.is(1) && other.is(2));
    }
    EXPECT_EQ(memory_held(), held);
  }
}

TEST_F(OwnMemory, AContainerThatGrowsGivesBackWhatItHad) {
  const std::size_t held = memory_held();
  {
    Vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < 2'000'000; ++i) numbers.push_back(i);
    EXPECT_EQ(memory_held(), held + numbers.capacity() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < numbers.size(); i += 4096) ASSERT_EQ(numbers[i], i);
  }
  EXPECT_EQ(memory_held(), held);
}

}  // namespace
}  // namespace semcache::base
