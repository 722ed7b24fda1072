// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>
#include <semcache/memory/staging.hpp>

#include <gtest/gtest.h>

namespace semcache::memory {
namespace {

constexpr std::uint64_t page = 4096;

fakes::FakeDevice::Failure test_fails() {
  return [](const std::string& text) { ADD_FAILURE() << text; };
}

TEST(Staging, KeepsWhatIsGivenBack) {
  fakes::FakeDevice device({}, test_fails());
  {
    Staging staging(device, page);
    std::byte* const first = staging.take(3 * page);
    staging.give(first, 3 * page);
    EXPECT_EQ(staging.take(2 * page), first) << "large enough, and not too large";
    std::byte* const small = staging.take(1);
    EXPECT_NE(small, first);
    staging.give(first, 3 * page);
    staging.give(small, 1);
  }
  EXPECT_EQ(device.staging_bytes(), 0u);
}

TEST(Staging, ABufferThatIsMuchTooLargeIsLeftToOthers) {
  fakes::FakeDevice device({}, test_fails());
  Staging staging(device, page);
  std::byte* const large = staging.take(64 * page);
  staging.give(large, 64 * page);
  std::byte* const small = staging.take(page);
  EXPECT_NE(small, large);
  staging.give(small, page);
}

TEST(Staging, TellsTheFirstSizeThatItLacks) {
  fakes::FakeDevice device({}, test_fails());
  Staging staging(device, page);
  const std::uint64_t sizes[] = {page, 4 * page, page};
  EXPECT_EQ(staging.lacking(sizes, 3), page);
  staging.add(staging.allocate(2 * page), 2 * page);
  EXPECT_EQ(staging.lacking(sizes, 3), 4 * page) << "2 pages are for the first";
  staging.add(staging.allocate(4 * page), 4 * page);
  EXPECT_EQ(staging.lacking(sizes, 3), page);
  staging.add(staging.allocate(64 * page), 64 * page);
  EXPECT_EQ(staging.lacking(sizes, 3), page) << "much too large";
  staging.add(staging.allocate(page), page);
  EXPECT_EQ(staging.lacking(sizes, 3), 0u);
  std::byte* const first = staging.take(sizes[0]);
  std::byte* const second = staging.take(sizes[1]);
  std::byte* const third = staging.take(sizes[2]);
  EXPECT_EQ(device.staging_bytes(), 71 * page) << "nothing more was allocated";
  staging.give(first, page);
  staging.give(second, 4 * page);
  staging.give(third, page);
}

TEST(Staging, OneTransferIsNeverTooLarge) {
  fakes::FakeDevice device({}, test_fails());
  Staging staging(device, page);
  EXPECT_FALSE(staging.exhausted(2 * Staging::limit_bytes)) << "nothing is in use that could be waited for";
  std::byte* const one = staging.take(page);
  EXPECT_FALSE(staging.exhausted(Staging::limit_bytes - page));
  EXPECT_TRUE(staging.exhausted(Staging::limit_bytes));
  staging.give(one, page);
  EXPECT_FALSE(staging.exhausted(Staging::limit_bytes + 1));
}

}  // namespace
}  // namespace semcache::memory
