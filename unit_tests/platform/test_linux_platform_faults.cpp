// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <platform/address_limit.hpp>
#include <platform/emulator.hpp>
#include <semcache/platform/linux/maps.hpp>
#include <semcache/platform/platform.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

/// What ends in a fault, or takes addresses or mappings away from the process.
namespace semcache::platform::testing {
namespace {

TEST(LinuxPlatformDeathTest, ReserveHalvesUnderALimitOnAddresses) {
  if (in_qemu_user()) GTEST_SKIP() << "qemu-user obeys no limit on addresses";
  const auto limited = [] {
    if (!limit_addresses(std::uint64_t{4} << 30)) _exit(2);
    const auto platform = make_linux_platform();
    std::uint64_t bytes = std::uint64_t{16} << 30;
    std::byte* const base = platform->reserve(bytes);
    if (!platform->make_usable(base, bytes, Protection::read_write)) _exit(4);
    base[bytes - 1] = std::byte{1};
    _exit(bytes < (std::uint64_t{4} << 30) && bytes >= (std::uint64_t{1} << 30) ? 0 : 3);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

TEST(LinuxPlatformDeathTest, NoAddressesAtAllIsASystemError) {
  if (in_qemu_user()) GTEST_SKIP() << "qemu-user obeys no limit on addresses";
  const auto limited = [] {
    const auto platform = make_linux_platform();
    if (!limit_addresses(1U << 20)) _exit(2);  // half of what reservations are aligned to
    std::uint64_t bytes = std::uint64_t{16} << 30;
    try {
      (void)platform->reserve(bytes);
    } catch (const SystemError&) {
      _exit(0);
    }
    _exit(3);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

TEST(LinuxPlatformFaults, TheKernelsLimitOnMappingsIsFalseAndChangesNothing) {
  if (in_qemu_user()) GTEST_SKIP() << "qemu-user does not tell of the kernel's mappings";
  const auto platform = make_linux_platform();
  const std::uint64_t page = platform->page_bytes();
  const std::uint64_t limit = 2 * platform->mapping_limit();
  if (limit > 200'000) GTEST_SKIP() << "vm.max_map_count is " << limit << ": too many mappings to make in a test";
  std::uint64_t wide = (limit + 64) * 2 * page;
  const std::uint64_t asked = wide;
  std::byte* const many = platform->reserve(wide);
  ASSERT_GE(wide, asked);
  ASSERT_TRUE(platform->make_usable(many, wide, Protection::read_write));

  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i + 3 < wide / page; i += 2)
    if (!platform->protect(many + i * page, page, Protection::none)) {
      refused = i;
      break;
    }

  ASSERT_GT(refused, limit / 2);
  detail::Mapping m;
  ASSERT_TRUE(detail::find_mapping(reinterpret_cast<std::uintptr_t>(many + refused * page), m));
  EXPECT_TRUE(m.readable && m.writable);
  // A range of several pages inside one mapping is refused as a whole too.
  EXPECT_FALSE(platform->protect(many + (refused + 4) * page, 3 * page, Protection::none));
  ASSERT_TRUE(detail::find_mapping(reinterpret_cast<std::uintptr_t>(many + (refused + 4) * page), m));
  EXPECT_TRUE(m.readable && m.writable);
  platform->release(many, wide);
}

TEST(LinuxPlatformDeathTest, ProtectedPagesStopThePrograms) {
  const auto platform = make_linux_platform();
  std::uint64_t bytes = 2U << 20;
  std::byte* const base = platform->reserve(bytes);
  ASSERT_TRUE(platform->make_usable(base, bytes, Protection::read));

  EXPECT_EQ(base[0], std::byte{0});
  EXPECT_EXIT({ base[0] = std::byte{1}; }, ::testing::KilledBySignal(SIGSEGV), "");
  platform->release(base, bytes);
}

}  // namespace
}  // namespace semcache::platform::testing
