// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/platform.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace semcache::platform {
namespace {

int variable = 0;

class HostBlocks : public testing::Test {
 protected:
  /// All of the block's own bytes are in what is found, whatever byte of it one asks for.
  void expect_found(const char* begin, std::size_t bytes) const {
    for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
      const Platform::HostBlock block = at == 0 ? platform->heap_block(begin) : platform->heap_around(begin + at);
      const auto address = reinterpret_cast<std::uintptr_t>(begin);
      ASSERT_LE(block.begin, address) << "byte " << at << " of " << bytes;
      ASSERT_GE(block.begin + block.bytes, address + bytes) << "byte " << at << " of " << bytes;
      ASSERT_FALSE(block.leads_nowhere);
    }
  }
  const std::unique_ptr<Platform> platform = make_linux_platform();
};

struct Free {
  void operator()(char* block) const { std::free(block); }
};
using Block = std::unique_ptr<char, Free>;

/// Filled with words like those that the heap itself writes.
Block block_of(std::size_t bytes, std::mt19937& random) {
  Block block(static_cast<char*>(std::malloc(bytes)));
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = random() % 4 != 0 ? random() % 200 : reinterpret_cast<std::uintptr_t>(block.get());
    std::memcpy(block.get() + i, &word, 8);
  }
  return block;
}

TEST_F(HostBlocks, AreFoundFromAnyOfTheirBytes) {
  std::mt19937 random(7);
  std::vector<std::pair<Block, std::size_t>> blocks;
  for (int k = 0; k < 3000; ++k) {
    const std::size_t bytes = random() % 400 + 1;
    blocks.emplace_back(block_of(bytes, random), bytes);
    if (k % 3 == 0) std::swap(blocks[random() % blocks.size()], blocks.back()), blocks.pop_back();
  }
  for (const auto& [block, bytes] : blocks) {
    expect_found(block.get(), bytes);
    if (HasFatalFailure()) return;
  }
}

/// A member behind a number that could be the size of a block, and in front of others: it is not taken for free, and the
/// block is not cut short where one asks for what lies around.
TEST_F(HostBlocks, AreNotCutShortByNumbersOfTheProgram) {
  struct Cell {
    std::size_t before[3], number;
    std::size_t member[3], numbers[125];
  };
  for (const std::size_t number : {32, 33, 48, 49, 64, 512, 513, 1008, 1 << 20}) {
    for (const std::size_t others : {number, number | 1, std::size_t{1} << 20, std::size_t{1} << 30, std::size_t{1000000000}}) {
      const auto cell = std::make_unique<Cell>();
      cell->number = number;
      for (std::size_t& other : cell->numbers) other = others;
      EXPECT_FALSE(platform->heap_block(cell->member).leads_nowhere);
      const Platform::HostBlock block = platform->heap_around(cell->member);
      SCOPED_TRACE(std::to_string(number) + ", " + std::to_string(others));
      EXPECT_LE(block.begin, reinterpret_cast<std::uintptr_t>(cell.get()));
      EXPECT_GE(block.begin + block.bytes, reinterpret_cast<std::uintptr_t>(cell.get() + 1));
      EXPECT_FALSE(block.leads_nowhere);
    }
  }
}

/// What has been freed leads nowhere, if the library keeps it for later or if it is the last part of the heap.
TEST_F(HostBlocks, FreeOnesLeadNowhere) {
  std::mt19937 random(9);
  for (const std::size_t bytes : {2000, 3000, 20000}) {  // more than what threads keep for themselves
    std::vector<Block> blocks, used;
    for (int k = 0; k < 20; ++k) (k % 2 == 0 ? blocks : used).push_back(block_of(bytes, random));
    std::vector<char*> freed;
    for (Block& block : blocks) freed.push_back(block.get()), block.reset();
    for (char* const address : freed) {
      const Platform::HostBlock block = platform->heap_block(address);
      EXPECT_TRUE(block.leads_nowhere && block.bytes >= bytes) << bytes;
    }
  }
}

TEST_F(HostBlocks, OfAnotherThreadAndLargeOnesToo) {
  std::mt19937 random(8);
  std::vector<Block> blocks;
  std::thread([&] {
    for (int k = 0; k < 100; ++k) blocks.push_back(block_of(100, random));
  }).join();
  for (const Block& block : blocks) expect_found(block.get(), 100);
  const Block large = block_of(std::size_t{1} << 20, random);
  const Platform::HostBlock found = platform->heap_block(large.get());
  EXPECT_EQ(found.begin, reinterpret_cast<std::uintptr_t>(large.get()));
  EXPECT_GE(found.bytes, std::size_t{1} << 20);
}

TEST_F(HostBlocks, AreOfTheHeapOnly) {
  int on_stack = 0;
  for (const void* elsewhere : {static_cast<const void*>(&on_stack), static_cast<const void*>(&variable),
                                static_cast<const void*>(nullptr), reinterpret_cast<const void*>(0x12345670)}) {
    EXPECT_EQ(platform->heap_block(elsewhere).bytes, 0u);
    EXPECT_EQ(platform->heap_around(elsewhere).bytes, 0u);
  }
  EXPECT_EQ(platform->describe(&on_stack), "the stack");
  EXPECT_NE(platform->describe(&variable).find("variable"), std::string::npos);
}

/// Two words on a stack may agree with each other as those in front of a large block do.
TEST_F(HostBlocks, AreOfTheHeapOnlyWhateverWordsLieInFront) {
  const std::uintptr_t page = platform->page_bytes();
  std::uintptr_t words[64];
  for (const std::uintptr_t bytes : {page << 10, page << 20}) {
    for (std::size_t k = 2; k < 62; ++k) {
      std::fill(std::begin(words), std::end(words), 0);
      const auto begin = reinterpret_cast<std::uintptr_t>(words + k);
      if (begin % 16 != 0) continue;
      words[k - 2] = (begin - 16) % page;
      words[k - 1] = ((bytes - (begin - 16) % page) & ~std::uintptr_t{7}) | 2;
      EXPECT_EQ(platform->heap_around(words + 63).bytes, 0u);
    }
  }
}

TEST_F(HostBlocks, FilesLeadNowhere) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::fputs("used", file);
  const Platform::HostBlock block = platform->heap_block(file);
  EXPECT_TRUE(block.bytes == 0 || block.leads_nowhere);
  EXPECT_EQ(platform->classify(stdout), Platform::Mapped::no_handles);
  std::fclose(file);
}

TEST_F(HostBlocks, ReadsCannotFault) {
  const std::size_t page = platform->page_bytes();
  char* const pages = static_cast<char*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 7, 2 * page);
  ASSERT_EQ(::mprotect(pages + page, page, PROT_NONE), 0);
  char out[64] = {};
  EXPECT_TRUE(platform->read(pages + page - 64, out, 64));
  EXPECT_EQ(out[63], 7);
  EXPECT_FALSE(platform->read(pages + page - 8, out, 64));
  EXPECT_FALSE(platform->read(pages + page, out, 1));
  ::munmap(pages, 2 * page);
  EXPECT_FALSE(platform->read(pages, out, 1));
  EXPECT_FALSE(platform->read(nullptr, out, 1));
}

}  // namespace
}  // namespace semcache::platform
