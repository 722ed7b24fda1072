// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <device/device_contract.hpp>

#include <unistd.h>

#include <functional>
#include <string>

namespace semcache::device::testing {
namespace {

struct EmulatedFixture : ::testing::Test {
  std::unique_ptr<Device> device = make_emulated_device(3, std::uint64_t{16} << 20);
};
INSTANTIATE_TYPED_TEST_SUITE_P(Emulated, DeviceContract, EmulatedFixture);

struct EmulatedPair : ::testing::Test {
  std::unique_ptr<Device> first = make_emulated_device(3, std::uint64_t{16} << 20), second = make_emulated_device(4, std::uint64_t{8} << 20);
};
INSTANTIATE_TYPED_TEST_SUITE_P(Emulated, TwoDevicesContract, EmulatedPair);

TEST(EmulatedDevice, SaysWhatItIs) {
  const auto device = make_emulated_device(3, 1U << 20);

  EXPECT_EQ(device->kind(), DeviceKind::emulated);
  EXPECT_EQ(device->ordinal(), 3);
  EXPECT_EQ(device->name(), "emulated device 3");
  EXPECT_EQ(device->total_memory_bytes(), 1U << 20);
  EXPECT_EQ(device->granularity_bytes(), 64U << 10);
  EXPECT_EQ(device->block_bytes(), 64U << 10);
}

TEST(EmulatedDevice, ZeroMeansAQuarterOfTheHostsMemory) {
  const auto device = make_emulated_device(0, 0);
  const auto host =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

  EXPECT_LE(device->total_memory_bytes(), host / 4);
  EXPECT_GT(device->total_memory_bytes(), host / 5);
}

TEST(EmulatedDevice, CountsItsMemoryExactly) {
  const auto device = make_emulated_device(0, 1U << 20);
  std::uint64_t reserved = 4U << 20;
  std::byte* const base = device->reserve(reserved);

  device->map(base, 512U << 10);
  std::byte* const snapshot = device->allocate(512U << 10);

  EXPECT_EQ(device->free_memory_bytes(), 0U);
  EXPECT_THROW((void)device->allocate(1), OutOfMemory);
  EXPECT_THROW(device->map(base + (1U << 20), 64U << 10), OutOfMemory);
  device->deallocate(snapshot);
  device->unmap(base, 512U << 10);
  EXPECT_EQ(device->free_memory_bytes(), 1U << 20);
  device->release(base, reserved);
}

TEST(EmulatedDevice, ItsErrorsNameIt) {
  const auto device = make_emulated_device(1, 1U << 20);
  const auto expect_named = [](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("device 1: "), std::string::npos) << e.what();
    }
  };
  std::uint64_t reserved = 4U << 20;
  std::byte* const base = device->reserve(reserved);

  expect_named([&] { device->map(base, 2U << 20); });
  expect_named([&] { (void)device->allocate(2U << 20); });
  expect_named([&] { (void)device->allocate_staging(std::uint64_t{1} << 60); });
  expect_named([&] { (void)device->record(QueueId{5}); });
  expect_named([&] { device->copy_to_device(QueueId{5}, base, base, 1); });
  EXPECT_EQ(device->free_memory_bytes(), 1U << 20);
  device->release(base, reserved);
}

TEST(EmulatedDevice, NeverRegistersHostMemory) {
  const auto device = make_emulated_device(0, 1U << 20);
  Bytes page(4096);

  EXPECT_FALSE(device->register_host(page.data(), page.size()));
}

TEST(EmulatedDevice, ItsOwnCopiesWorkOnInaccessiblePages) {
  const auto device = make_emulated_device(0, 4U << 20);
  const Arena arena(*device, 4);
  const Bytes content = counting(200'000);
  arena.write(0, content);
  const std::uint64_t digest = device->digest(arena.queue, arena.base, content.size());

  device->set_accessible(arena.base, arena.bytes(), false);
  device->set_accessible(arena.base + (64U << 10), 64U << 10, true);

  EXPECT_EQ(arena.read(0, content.size()), content);
  EXPECT_EQ(device->digest(arena.queue, arena.base, content.size()), digest);
  device->copy_within_device(arena.queue, arena.base + 100'000, arena.base, 100'000);
  EXPECT_EQ(arena.read(100'000, 100'000), Bytes(content.begin(), content.begin() + 100'000));
  device->set_accessible(arena.base, arena.bytes(), true);
  arena.base[0] = std::byte{1};  // open again
  EXPECT_EQ(arena.base[0], std::byte{1});
}

}  // namespace
}  // namespace semcache::device::testing
