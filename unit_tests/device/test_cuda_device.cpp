// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <device/device_contract.hpp>

#include <cstdio>
#include <cstdlib>

namespace semcache::device::testing {
namespace {

const char* const no_gpu = "no CUDA device: built without CUDA, no driver, or no GPU visible";

struct CudaFixture : ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() == 0) {
      std::puts(no_gpu);
      GTEST_SKIP() << no_gpu;
    }
    device = make_cuda_device(0);
  }
  std::unique_ptr<Device> device;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, DeviceContract, CudaFixture);

using CudaDevice = CudaFixture;

TEST_F(CudaDevice, SaysWhatItIs) {
  EXPECT_EQ(device->kind(), DeviceKind::cuda);
  EXPECT_EQ(device->ordinal(), 0);
  EXPECT_FALSE(device->name().empty());
  EXPECT_GE(device->granularity_bytes(), 2U << 20);
  EXPECT_GT(device->total_memory_bytes(), device->granularity_bytes());
}

/// Two small 32-bit numbers side by side in a kernel's arguments must not be taken for a pointer.
TEST_F(CudaDevice, AddressesAreNoPairsOfSmallNumbers) {
  std::uint64_t bytes = device->total_memory_bytes() * 4;
  std::byte* const base = device->reserve(bytes);
  EXPECT_GT(reinterpret_cast<std::uintptr_t>(base) >> 32, 16384u);
  device->release(base, bytes);
}

TEST_F(CudaDevice, DigestAgreesWithTheEmulatedDevice) {
  const auto emulated = make_emulated_device(0, 16U << 20);
  const Arena here(*device, 1);
  const Arena there(*emulated, 32);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{1'000'003}}) {
    const Bytes content = counting(bytes);
    here.write(0, content);
    there.write(0, content);

    EXPECT_EQ(device->digest(here.queue, here.base, bytes), emulated->digest(there.queue, there.base, bytes)) << bytes;
  }
}

TEST_F(CudaDevice, RegisteredHostMemoryIsReachedDirectly) {
  const Arena arena(*device, 1);
  const Bytes content = counting(1U << 20);
  auto* const host = static_cast<std::byte*>(std::aligned_alloc(4096, content.size()));
  std::memcpy(host, content.data(), content.size());

  ASSERT_TRUE(device->register_host(host, content.size()));
  device->copy_to_device(arena.queue, arena.base, host, content.size());
  device->synchronize_queue(arena.queue);
  device->unregister_host(host);

  EXPECT_EQ(arena.read(0, content.size()), content);
  std::free(host);
}

TEST_F(CudaDevice, AnotherDevicesMemoryIsForeignAndOursIsNot) {
  const auto other = make_cuda_device(0);  // a second object for the same GPU: not "ours" to the first
  std::byte* const foreign = other->allocate(4096);
  const Arena arena(*device, 1);

  EXPECT_TRUE(device->is_foreign_device_pointer(foreign));
  EXPECT_FALSE(device->is_foreign_device_pointer(arena.base));
  other->deallocate(foreign);
}

TEST_F(CudaDevice, SubmittingACopyDoesNotWaitForIt) {
  // 1 GiB of pinned copies in a row takes about 20 ms; submitting them must not.
  const std::uint64_t bytes = std::uint64_t{64} << 20;
  const Arena arena(*device, bytes / device->granularity_bytes());
  std::byte* const staging = device->allocate_staging(bytes);
  std::memset(staging, 1, bytes);
  device->synchronize_device();

  for (int i = 0; i < 16; ++i) device->copy_to_device(arena.queue, arena.base, staging, bytes);
  const EventId event = device->record(arena.queue);
  const bool complete_at_once = device->complete(event);
  device->synchronize(event);

  EXPECT_FALSE(complete_at_once);
  EXPECT_TRUE(device->complete(event));
  device->release(event);
  device->deallocate_staging(staging);
}

TEST_F(CudaDevice, EventsAreReused) {
  const QueueId queue = device->open_queue();
  const EventId first = device->record(queue);
  device->synchronize(first);
  device->release(first);

  const EventId second = device->record(queue);

  EXPECT_EQ(first, second);
  device->release(second);
  device->close_queue(queue);
}

}  // namespace
}  // namespace semcache::device::testing
