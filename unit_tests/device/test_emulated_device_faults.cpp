// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <device/device_arena.hpp>
#include <platform/address_limit.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

/// What ends in a fault, or limits the process.
namespace semcache::device::testing {
namespace {

TEST(EmulatedDeviceFaultsDeathTest, InaccessiblePagesStopThePrograms) {
  const auto device = make_emulated_device(0, 4U << 20);
  const Arena arena(*device, 4);
  arena.write(0, counting(1000));
  device->set_accessible(arena.base, arena.bytes(), false);
  (void)arena.read(0, 10);  // opens and closes them again

  EXPECT_EXIT({ arena.base[0] = std::byte{1}; }, ::testing::KilledBySignal(SIGSEGV), "");
  device->set_accessible(arena.base, arena.bytes(), true);
}

TEST(EmulatedDeviceFaultsDeathTest, UnmappedAddressesStopThePrograms) {
  const auto device = make_emulated_device(0, 4U << 20);
  std::uint64_t reserved = 2U << 20;
  std::byte* const base = device->reserve(reserved);
  device->map(base, 64U << 10);
  base[0] = std::byte{1};
  device->unmap(base, 64U << 10);

  EXPECT_EXIT({ base[0] = std::byte{1}; }, ::testing::KilledBySignal(SIGSEGV), "");
  device->release(base, reserved);
}

TEST(EmulatedDeviceFaultsDeathTest, ReserveHalvesUnderALimitOnAddresses) {
  const auto limited = [] {
    if (!platform::testing::limit_addresses(std::uint64_t{4} << 30)) _exit(2);
    const auto device = make_emulated_device(0, 1U << 20);
    std::uint64_t bytes = std::uint64_t{16} << 30;
    std::byte* const base = device->reserve(bytes);
    device->map(base, 64U << 10);
    base[0] = std::byte{1};
    _exit(bytes < (std::uint64_t{4} << 30) && bytes >= (std::uint64_t{1} << 30) ? 0 : 3);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace semcache::device::testing
