// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <device/device_contract.hpp>

#include <semcache/device/activities.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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
  EXPECT_GE(device->block_bytes(), 16U << 20) << "a smaller block costs too many of the driver's calls";
  EXPECT_EQ(device->block_bytes() % device->granularity_bytes(), 0u);
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

/// The GPU's records of copies and kernels, with times by the steady clock.
TEST_F(CudaDevice, TellsWhatItCarriedOutAndWhen) {
  struct Observer final : ActivityObserver {
    void carried_out(const DeviceActivity& a) noexcept override { told.push_back(a); }
    void lost(std::uint64_t n) noexcept override { lost_count += n; }
    std::vector<DeviceActivity> told;
    std::uint64_t lost_count = 0;
  } observer;
  const auto now_ns = [] {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
  };
  const Arena arena(*device, 2);
  const std::string why_not = observe_cuda_activities(observer);
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  const Bytes content = counting(1'000'003);
  const std::uint64_t begin = now_ns();
  arena.write(0, content);
  (void)device->digest(arena.queue, arena.base, content.size());  // a kernel
  device->copy_within_device(arena.queue, arena.base + (2U << 20), arena.base, 4096);
  device->synchronize_device();
  const std::uint64_t end = now_ns();
  flush_cuda_activities();
  ignore_cuda_activities();
  std::uint64_t copied = 0;
  int kernels = 0;
  for (const DeviceActivity& a : observer.told) {
    EXPECT_EQ(a.ordinal, 0);
    EXPECT_LE(a.begin_ns, a.end_ns);
    constexpr std::uint64_t tolerance = 1'000'000;  // the driver converts the GPU's times
    EXPECT_GE(a.begin_ns + tolerance, begin);
    EXPECT_LE(a.end_ns, end + tolerance);
    if (a.kind == DeviceActivity::Kind::kernel) ++kernels;
    if (a.kind == DeviceActivity::Kind::copy && a.bytes >= 4096) copied += a.bytes;
  }
  EXPECT_EQ(copied, content.size() + 4096);
  EXPECT_GE(kernels, 1);
  EXPECT_EQ(observer.lost_count, 0u);
  const std::size_t told = observer.told.size();
  arena.write(0, content);
  device->synchronize_device();
  EXPECT_EQ(observer.told.size(), told) << "nobody observes any more";
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

struct CudaPair : ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() < 2) {
      std::puts("no second CUDA device");
      GTEST_SKIP() << "no second CUDA device";
    }
    first = make_cuda_device(0);
    second = make_cuda_device(1);
    if (!first->reaches(*second) || !second->reaches(*first)) GTEST_SKIP() << "the two devices have no peer access";
  }
  std::unique_ptr<Device> first, second;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, TwoDevicesContract, CudaPair);

/// Two GPUs, whose memory lies in one range of addresses that the first one has reserved.
struct TwoCudaDevices : ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() < 2) {
      std::puts("no second CUDA device");
      GTEST_SKIP() << "no second CUDA device";
    }
    for (int k : {0, 1}) devices.push_back(make_cuda_device(k));
    if (!first().reaches(second()) || !second().reaches(first())) GTEST_SKIP() << "the two devices have no peer access";
    first().share_with({&second()}, Device::PeerUse::permitted);
    second().share_with({&first()}, Device::PeerUse::permitted);
    reserved = std::uint64_t{64} << 20;
    base = first().reserve(reserved);
    half = reserved / 2;
    for (std::size_t k : {0, 1}) {
      devices[k]->map(at(k), bytes());
      queues.push_back(devices[k]->open_queue());
    }
  }
  void TearDown() override {
    for (std::size_t k = 0; k < queues.size(); ++k) {
      devices[k]->synchronize_device();
      devices[k]->close_queue(queues[k]);
      devices[k]->unmap(at(k), bytes());
    }
    if (base != nullptr) first().release(base, reserved);
  }
  [[nodiscard]] Device& first() { return *devices[0]; }
  [[nodiscard]] Device& second() { return *devices[1]; }
  [[nodiscard]] std::byte* at(std::size_t k) const { return base + k * half; }
  [[nodiscard]] std::uint64_t bytes() { return first().granularity_bytes(); }
  void write(std::size_t k, const Bytes& content) {
    devices[k]->copy_to_device(queues[k], at(k), content.data(), content.size());
    devices[k]->synchronize_queue(queues[k]);
  }
  [[nodiscard]] Bytes read(std::size_t k, std::uint64_t n) {
    Bytes content(n);
    devices[k]->copy_from_device(queues[k], content.data(), at(k), n);
    devices[k]->synchronize_queue(queues[k]);
    return content;
  }
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<QueueId> queues;
  std::byte* base = nullptr;
  std::uint64_t reserved = 0, half = 0;
};

TEST_F(TwoCudaDevices, ACopyOfEitherCrossesThePeerLink) {
  const Bytes one = counting(1'000'003, 1), two = counting(1'000'003, 2);
  write(0, one);
  second().copy_within_device(queues[1], at(1), at(0), one.size());
  EXPECT_EQ(read(1, one.size()), one);
  write(1, two);
  second().copy_within_device(queues[1], at(0), at(1), two.size());
  second().synchronize_queue(queues[1]);
  EXPECT_EQ(read(0, two.size()), two);
}

TEST_F(TwoCudaDevices, ColumnsCrossThePeerLink) {
  const Bytes content = counting(64 * 1000);
  write(0, content);
  write(1, Bytes(content.size()));
  second().copy_columns(queues[1], Device::Direction::within_device, at(1), 1000, at(0), 1000, 333, 64);
  const Bytes seen = read(1, content.size());
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i % 1000 < 333 ? content[i] : std::byte{0}) << i;
}

TEST_F(TwoCudaDevices, AQueueWaitsForAnEventOfTheOtherDevice) {
  const Bytes one = counting(bytes(), 1), two = counting(bytes(), 2);
  for (int round = 0; round < 20; ++round) {
    const Bytes& content = round % 2 == 0 ? one : two;
    first().copy_to_device(queues[0], at(0), content.data(), content.size());
    const EventId event = first().record(queues[0]);
    second().wait(queues[1], event);
    second().copy_within_device(queues[1], at(1), at(0), content.size());
    const EventId done = second().record(queues[1]);
    first().wait(queues[0], done);
    ASSERT_EQ(read(1, content.size()), content) << round;
    first().release(event);
    second().release(done);
  }
}

TEST_F(TwoCudaDevices, FillAndDigestOfEitherDevicesMemory) {
  const std::byte pattern[8] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  second().fill(queues[1], at(0), bytes(), pattern, 8);
  second().synchronize_queue(queues[1]);
  const Bytes seen = read(0, bytes());
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], pattern[i % 8]);
  EXPECT_EQ(second().digest(queues[1], at(0), bytes()), first().digest(queues[0], at(0), bytes()));
}

TEST_F(TwoCudaDevices, MemoryOfTheOtherOneIsNotForeign) {
  std::byte* const foreign = second().allocate(4096);
  EXPECT_FALSE(first().is_foreign_device_pointer(foreign)) << "it is the second device's business";
  const auto another = make_cuda_device(1);
  std::byte* const unknown = another->allocate(4096);
  EXPECT_TRUE(second().is_foreign_device_pointer(unknown));
  EXPECT_FALSE(first().is_foreign_device_pointer(unknown));
  another->deallocate(unknown);
  second().deallocate(foreign);
}

}  // namespace
}  // namespace semcache::device::testing
