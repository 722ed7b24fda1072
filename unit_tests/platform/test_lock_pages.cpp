// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/platform.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace {

using semcache::platform::Protection;

constexpr std::uint64_t unit = std::uint64_t{2} << 20;

class LockPages : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = 8 * unit;
    base_ = platform_->reserve(bytes_);
    ASSERT_TRUE(platform_->make_usable(base_, bytes_, Protection::read_write));
    for (std::uint64_t i = 0; i < bytes_; ++i) base_[i] = static_cast<std::byte>(i / 4096 + i);
  }
  void TearDown() override { platform_->release(base_, bytes_); }

  /// Bytes of [begin, end) that are not what SetUp wrote.
  [[nodiscard]] std::uint64_t wrong(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::byte> copy(end - begin);
    platform_->read_behind(copy.data(), base_ + begin, copy.size());
    std::uint64_t n = 0;
    for (std::uint64_t i = begin; i < end; ++i) n += copy[i - begin] != static_cast<std::byte>(i / 4096 + i);
    return n;
  }
  void lock_and_expect(std::uint64_t begin, std::uint64_t size) {
    ASSERT_TRUE(platform_->protect(base_ + begin, size, Protection::none));
    std::byte* seen = nullptr;
    std::byte* const name = platform_->lock_pages(base_ + begin, size, [&](std::byte* at) {
      seen = at;
      // The driver sees the pages themselves, and can write them.
      EXPECT_EQ(at[0], static_cast<std::byte>(begin / 4096 + begin));
      at[size - 1] = at[size - 1];
      return true;
    });
    ASSERT_NE(name, nullptr);
    EXPECT_EQ(name, seen);
    EXPECT_NE(name, base_ + begin) << "the program's address must not be the driver's";
    EXPECT_EQ(wrong(0, bytes_), 0u);
    platform_->forget_locked(name, size);
    EXPECT_EQ(wrong(0, bytes_), 0u);
  }

  std::unique_ptr<semcache::platform::Platform> platform_ = semcache::platform::make_linux_platform();
  std::uint64_t bytes_ = 0;
  std::byte* base_ = nullptr;
};

TEST_F(LockPages, PagesKeepTheirContentAndPlace) { lock_and_expect(unit, 2 * unit); }

TEST_F(LockPages, SinglePagesAndOddPlaces) {
  lock_and_expect(4096, 4096);
  lock_and_expect(unit - 4096, 3 * 4096);
  lock_and_expect(0, bytes_);
}

TEST_F(LockPages, SeveralMappingsGoTogether) {
  // Other properties, and pages that came from elsewhere: neighbours that the kernel does not merge.
  platform_->advise_huge(base_ + unit, unit);
  std::vector<std::byte> content(unit);
  std::memcpy(content.data(), base_ + 3 * unit, unit);
  platform_->discard(base_ + 3 * unit, unit);
  platform_->write_unused(base_ + 3 * unit, content.data(), unit, Protection::read_write);
  lock_and_expect(4096, 6 * unit);
}

TEST_F(LockPages, ARefusalChangesNothing) {
  ASSERT_TRUE(platform_->protect(base_ + unit, unit, Protection::none));
  EXPECT_EQ(platform_->lock_pages(base_ + unit, unit, [](std::byte*) { return false; }), nullptr);
  EXPECT_EQ(wrong(0, bytes_), 0u);
  ASSERT_TRUE(platform_->protect(base_ + unit, unit, Protection::read_write));
  base_[unit] = base_[unit];
}

alignas(4096) std::byte zeros[5 * 65536];
alignas(4096) std::byte ones[5 * 65536] = {std::byte{1}};

/// Pages of the heap, of static data come back to where they were, and their surroundings go on.
TEST_F(LockPages, OfTheProgramsOwnMemory) {
  const std::uint64_t page = platform_->page_bytes();
  const auto lock = [&](std::byte* begin, std::uint64_t size) {
    std::byte* const pages = begin + (page - reinterpret_cast<std::uintptr_t>(begin) % page);
    const std::uint64_t n = (size - static_cast<std::uint64_t>(pages - begin)) / page * page;
    for (std::uint64_t i = 0; i < size; ++i) begin[i] = static_cast<std::byte>(i / 251 + i);
    ASSERT_TRUE(platform_->protect(pages, n, Protection::none));
    std::byte* const name = platform_->lock_pages(pages, n, [&](std::byte* at) {
      at[1] = std::byte{77};
      return true;
    });
    ASSERT_TRUE(platform_->protect(pages, n, Protection::read_write));
    if (name == nullptr) return;  // before Linux 5.13 not every memory can be moved
    platform_->forget_locked(name, n);
    EXPECT_EQ(pages[1], std::byte{77});
    pages[1] = static_cast<std::byte>((pages + 1 - begin) / 251 + (pages + 1 - begin));
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(begin[i], static_cast<std::byte>(i / 251 + i)) << i;
  };
  lock(zeros, sizeof zeros);
  lock(ones, sizeof ones);
  std::vector<std::vector<std::byte>> blocks;  // in the first heap, which grows and shrinks meanwhile
  for (int i = 0; i < 40; ++i) {
    blocks.emplace_back(5 * page + 1000 * static_cast<std::uint64_t>(i));
    lock(blocks.back().data(), blocks.back().size());
    if (i % 3 == 2) blocks.erase(blocks.begin() + i / 3);
  }
  blocks.clear();
  std::vector<std::byte> large(64 * page + 8 * unit);
  lock(large.data(), large.size());
}

TEST_F(LockPages, PagesAreInaccessibleAfterwards) {
  ASSERT_TRUE(platform_->protect(base_, unit, Protection::none));
  std::byte* const name = platform_->lock_pages(base_, unit, [](std::byte*) { return true; });
  ASSERT_NE(name, nullptr);
  EXPECT_DEATH((void)*static_cast<volatile std::byte*>(base_), "");
  EXPECT_DEATH((void)*static_cast<volatile std::byte*>(name), "") << "the driver's processor must not read there either";
  platform_->forget_locked(name, unit);
}

}  // namespace
