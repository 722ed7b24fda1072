// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <device/device_arena.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// What every device promises: written once, run on each kind. A fixture gives `device` or skips.
namespace semcache::device::testing {

template <class Fixture>
class DeviceContract : public Fixture {};
TYPED_TEST_SUITE_P(DeviceContract);

TYPED_TEST_P(DeviceContract, ReservesAlignedAddressesAtLeastTwoMebibytes) {
  auto& device = *this->device;
  std::uint64_t bytes = 1;

  std::byte* const base = device.reserve(bytes);

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % (2U << 20), 0U);
  EXPECT_GE(bytes, 2U << 20);
  device.release(base, bytes);
}

TYPED_TEST_P(DeviceContract, ReserveHalvesWhatCannotBeHad) {
  auto& device = *this->device;
  std::uint64_t bytes = std::uint64_t{1} << 62;

  std::byte* const base = device.reserve(bytes);

  EXPECT_NE(base, nullptr);
  EXPECT_LT(bytes, std::uint64_t{1} << 62);
  device.release(base, bytes);
}

TYPED_TEST_P(DeviceContract, GranularityIsAPowerOfTwo) {
  const std::uint64_t g = this->device->granularity_bytes();
  EXPECT_GT(g, 0U);
  EXPECT_EQ(g & (g - 1), 0U);
}

TYPED_TEST_P(DeviceContract, MapAndUnmapAreBalancedAndAddressesStayUsable) {
  auto& device = *this->device;
  std::uint64_t reserved = 64U << 20;
  std::byte* const base = device.reserve(reserved);
  const std::uint64_t bytes = 4 * device.granularity_bytes();
  device.map(base, bytes);  // the first mapping may cost the driver something of its own
  device.unmap(base, bytes);
  const std::uint64_t before = device.free_memory_bytes();

  for (int i = 0; i < 3; ++i) {
    device.map(base, bytes);
    EXPECT_LT(device.free_memory_bytes(), before);
    device.unmap(base, bytes);
  }

  EXPECT_EQ(device.free_memory_bytes(), before);
  device.release(base, reserved);
}

TYPED_TEST_P(DeviceContract, MapBeyondTheMemoryIsOutOfMemoryAndMapsNothing) {
  auto& device = *this->device;
  const std::uint64_t wanted = round_up(device.total_memory_bytes() + 1, device.granularity_bytes());
  std::uint64_t reserved = wanted;
  std::byte* const base = device.reserve(reserved);
  ASSERT_GE(reserved, wanted);
  const std::uint64_t before = device.free_memory_bytes();

  try {
    device.map(base, wanted);
    FAIL() << "mapped more than there is";
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.requested_bytes(), wanted);
    EXPECT_EQ(e.budget_bytes(), device.total_memory_bytes());
  }

  EXPECT_EQ(device.free_memory_bytes(), before);
  device.map(base, device.granularity_bytes());  // the same addresses still work
  device.unmap(base, device.granularity_bytes());
  device.release(base, reserved);
}

/// Three places of the same memory, which are unmapped in every order.
TYPED_TEST_P(DeviceContract, SeveralPlacesMayBeTheSameMemory) {
  auto& device = *this->device;
  const std::uint64_t block = 2 * device.granularity_bytes();
  std::vector<std::size_t> order{0, 1, 2};
  const Bytes before = counting(block, 1);
  do {
    Arena arena(device, 1);  // it has the queue, and one granule in front of the places
    const std::uint64_t free = device.free_memory_bytes();
    const auto offset = [&](std::size_t place) { return (1 + 3 * place) * device.granularity_bytes(); };
    const auto address = [&](std::size_t place) { return arena.base + offset(place); };
    device.map(address(0), block);
    const std::uint64_t with_block = device.free_memory_bytes();
    EXPECT_LT(with_block, free);
    arena.write(offset(0), before);

    device.map_same(address(1), address(0), block);
    device.map_same(address(2), address(1), block);

    EXPECT_EQ(device.free_memory_bytes(), with_block) << "the memory counts once";
    for (std::size_t place = 0; place < 3; ++place) EXPECT_EQ(arena.read(offset(place), block), before) << place;
    for (std::size_t writer = 0; writer < 3; ++writer) {
      const Bytes content = counting(block, 10 + static_cast<unsigned>(writer));
      arena.write(offset(writer), content);
      for (std::size_t place = 0; place < 3; ++place) EXPECT_EQ(arena.read(offset(place), block), content) << writer << ' ' << place;
    }
    Bytes last = counting(block, 12);
    for (std::size_t gone = 0; gone < 3; ++gone) {
      for (std::size_t i = gone; i < 3; ++i) EXPECT_EQ(arena.read(offset(order[i]), block), last) << i;
      EXPECT_EQ(device.free_memory_bytes(), with_block) << gone << " of its places are gone";
      device.unmap(address(order[gone]), block);
      if (gone == 2) break;
      last = counting(block, 20 + static_cast<unsigned>(gone));
      arena.write(offset(order[gone + 1]), last);
    }
    EXPECT_EQ(device.free_memory_bytes(), free);
    device.map(address(1), block);  // the addresses still work, with memory of their own
    device.map(address(2), block);
    arena.write(offset(1), before);
    arena.write(offset(2), last);
    EXPECT_EQ(arena.read(offset(1), block), before);
    for (const std::size_t place : {1, 2}) device.unmap(address(place), block);
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Maps memory of the host. @return the driver's reason where it refuses that, which is no failure; else an empty text
inline std::string refusal_of_host_memory(Device& device, std::byte* address, std::uint64_t bytes) {
  try {
    device.map_on({nullptr}, address, bytes);
    return {};
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(bytes) + " bytes of the host's memory"), std::string::npos) << e.what();
    device.map(address, bytes);  // nothing is mapped there
    device.unmap(address, bytes);
    return e.what();
  }
}

TYPED_TEST_P(DeviceContract, MemoryMayLieOnTheHost) {
  auto& device = *this->device;
  const std::uint64_t block = 2 * device.granularity_bytes();
  Arena arena(device, 1);  // it has the queue, and one granule in front of the two places
  const std::uint64_t own = device.granularity_bytes(), hosts = own + block;
  std::byte* const address = arena.base + hosts;
  for (int round = 0; round < 2; ++round) {  // the first mapping may cost the driver something of its own
    const std::uint64_t free = device.free_memory_bytes();
    if (const std::string why_not = refusal_of_host_memory(device, address, block); !why_not.empty()) GTEST_SKIP() << why_not;
    if (round == 1) {
      EXPECT_GT(device.free_memory_bytes() + block, free) << "it counts as no device's";
    }
    device.map(arena.base + own, block);  // in front of it, as blocks of one array
    const Bytes content = counting(2 * block, 5);

    arena.write(own, content);  // one copy over both
    EXPECT_EQ(arena.read(own, content.size()), content);
    device.fill(arena.queue, address, block, content.data(), 16);  // by kernels
    const std::uint64_t there = device.digest(arena.queue, address, block);
    device.copy_within_device(arena.queue, arena.base + own, address, block);
    EXPECT_EQ(device.digest(arena.queue, arena.base + own, block), there);
    EXPECT_EQ(arena.read(hosts, 16), Bytes(content.begin(), content.begin() + 16));

    device.unmap(arena.base + own, block);
    device.unmap(address, block);
    if (round == 1) {
      EXPECT_EQ(device.free_memory_bytes(), free);
    }
    device.map(address, block);  // the addresses still work, with memory of the device
    arena.write(hosts, counting(block));
    EXPECT_EQ(arena.read(hosts, block), counting(block));
    device.unmap(address, block);
  }
}

/// One block of the host's memory behind two addresses: both sides of an array can be one memory.
TYPED_TEST_P(DeviceContract, MemoryOfTheHostMayLieAtSeveralPlaces) {
  auto& device = *this->device;
  const std::uint64_t block = 2 * device.granularity_bytes();
  for (const std::size_t first_gone : {0, 1}) {
    Arena arena(device, 1);
    const std::uint64_t offsets[] = {device.granularity_bytes(), device.granularity_bytes() + 2 * block};
    const std::uint64_t free = device.free_memory_bytes();
    if (const std::string why_not = refusal_of_host_memory(device, arena.base + offsets[0], block); !why_not.empty()) GTEST_SKIP() << why_not;
    arena.write(offsets[0], counting(block, 1));

    device.map_same(arena.base + offsets[1], arena.base + offsets[0], block);

    EXPECT_EQ(arena.read(offsets[1], block), counting(block, 1));
    for (const std::size_t writer : {1, 0}) {
      arena.write(offsets[writer], counting(block, 2 + static_cast<unsigned>(writer)));
      EXPECT_EQ(arena.read(offsets[1 - writer], block), counting(block, 2 + static_cast<unsigned>(writer)));
    }
    device.unmap(arena.base + offsets[first_gone], block);
    EXPECT_EQ(arena.read(offsets[1 - first_gone], block), counting(block, 2));
    device.unmap(arena.base + offsets[1 - first_gone], block);
    if (device.kind() == DeviceKind::emulated) {  // a GPU's driver may keep some memory of its own
      EXPECT_EQ(device.free_memory_bytes(), free);
    }
  }
}

TYPED_TEST_P(DeviceContract, CopiesRoundTripAndWithinTheDevice) {
  auto& device = *this->device;
  const Arena arena(device, 4);
  const Bytes content = counting(100'003);

  arena.write(5, content);
  device.copy_within_device(arena.queue, arena.base + 120'001, arena.base + 5, content.size());

  EXPECT_EQ(arena.read(5, content.size()), content);
  EXPECT_EQ(arena.read(120'001, content.size()), content);
}

TYPED_TEST_P(DeviceContract, CopiesColumnsAndTouchesNothingBetweenThem) {
  using Direction = Device::Direction;
  struct Case {
    std::uint64_t width, columns, to_pitch, from_pitch;
  };
  for (const Case& c : {Case{64, 10, 64, 100}, Case{1, 300, 7, 3}, Case{1000, 33, 4096, 1001}, Case{65536, 5, 65536, 131072}, Case{13, 1, 13, 13}}) {
    for (const Direction direction : {Direction::to_device, Direction::from_device, Direction::within_device}) {
      const Arena arena(*this->device, (2U << 20) / std::min<std::uint64_t>(this->device->granularity_bytes(), 2U << 20));
      const std::uint64_t from_bytes = (c.columns - 1) * c.from_pitch + c.width, to_bytes = (c.columns - 1) * c.to_pitch + c.width;
      const std::uint64_t half = 1U << 20;
      Bytes expected(to_bytes, std::byte{0x5a});
      Bytes host_from = counting(from_bytes), host_to = expected;
      arena.write(0, direction == Direction::to_device ? expected : host_from);
      arena.write(half, expected);
      std::byte* const to = direction == Direction::from_device ? host_to.data() : arena.base + (direction == Direction::within_device ? half : 0);
      const std::byte* const from = direction == Direction::to_device ? host_from.data() : arena.base;

      this->device->copy_columns(arena.queue, direction, to, c.to_pitch, from, c.from_pitch, c.width, c.columns);
      this->device->synchronize_queue(arena.queue);

      for (std::uint64_t i = 0; i < c.columns; ++i) std::memcpy(&expected[i * c.to_pitch], &host_from[i * c.from_pitch], c.width);
      const Bytes seen = direction == Direction::from_device ? host_to : arena.read(direction == Direction::within_device ? half : 0, to_bytes);
      EXPECT_EQ(seen, expected) << c.columns << " columns of " << c.width << ", direction " << static_cast<int>(direction);
    }
  }
}

TYPED_TEST_P(DeviceContract, FillRepeatsEveryPatternAndTouchesNothingElse) {
  auto& device = *this->device;
  const Arena arena(device, 2);
  const Bytes pattern = counting(16, 7);
  for (const std::uint32_t size : {1U, 2U, 4U, 8U, 16U}) {
    for (const std::uint64_t offset : {std::uint64_t{64}, std::uint64_t{64 + 4}, std::uint64_t{64 + 1}}) {
      for (const std::uint64_t count : {1U, 3U, 1000U, 4097U}) {
        const std::uint64_t bytes = count * size;
        Bytes expected = counting(bytes + 256, 3);
        arena.write(0, expected);

        device.fill(arena.queue, arena.base + offset, bytes, pattern.data(), size);

        for (std::uint64_t i = 0; i < bytes; ++i) expected[offset + i] = pattern[i % size];
        ASSERT_EQ(arena.read(0, expected.size()), expected)
            << size << " bytes at " << offset << ", " << count << " times";
      }
    }
  }
}

TYPED_TEST_P(DeviceContract, FillOfEqualWordsIsRight) {
  auto& device = *this->device;
  const Arena arena(device, 2);
  const Bytes word = counting(4, 11);
  Bytes pattern;
  for (int i = 0; i < 4; ++i) pattern.insert(pattern.end(), word.begin(), word.end());

  device.fill(arena.queue, arena.base + 8, 48, pattern.data(), 16);

  const Bytes got = arena.read(8, 48);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], word[i % 4]) << i;
}

TYPED_TEST_P(DeviceContract, DigestSeesEveryByteTheOrderAndTheLength) {
  auto& device = *this->device;
  const Arena arena(device, 2);
  const std::uint64_t bytes = 1003;
  const Bytes content = counting(bytes);
  arena.write(0, content);
  const std::uint64_t reference = device.digest(arena.queue, arena.base, bytes);

  EXPECT_EQ(device.digest(arena.queue, arena.base, bytes), reference);
  EXPECT_NE(device.digest(arena.queue, arena.base, bytes - 1), reference);
  for (std::uint64_t at = 0; at < bytes; at += 37) {
    Bytes changed = content;
    changed[at] ^= std::byte{1};
    arena.write(0, changed);
    EXPECT_NE(device.digest(arena.queue, arena.base, bytes), reference) << "byte " << at;
  }
  Bytes exchanged = content;
  std::swap_ranges(exchanged.begin(), exchanged.begin() + 8, exchanged.begin() + 64);
  arena.write(0, exchanged);
  EXPECT_NE(device.digest(arena.queue, arena.base, bytes), reference);
  arena.write(3, content);  // elsewhere, unaligned, same content
  EXPECT_EQ(device.digest(arena.queue, arena.base + 3, bytes), reference);
}

TYPED_TEST_P(DeviceContract, DigestOfZerosDependsOnTheLength) {
  auto& device = *this->device;
  const Arena arena(device, 2);
  const std::byte zero{0};
  device.fill(arena.queue, arena.base, 4096, &zero, 1);

  EXPECT_NE(device.digest(arena.queue, arena.base, 8), device.digest(arena.queue, arena.base, 16));
  EXPECT_NE(device.digest(arena.queue, arena.base, 0), device.digest(arena.queue, arena.base, 8));
}

TYPED_TEST_P(DeviceContract, EventsOrderQueuesAndComplete) {
  auto& device = *this->device;
  const Arena arena(device, 8);
  const QueueId second = device.open_queue();
  const Bytes content = counting(arena.bytes() / 2);
  Bytes got(content.size());

  device.copy_to_device(arena.queue, arena.base, content.data(), content.size());
  const EventId written = device.record(arena.queue);
  device.wait(second, written);
  device.copy_within_device(second, arena.base + content.size(), arena.base, content.size());
  const EventId moved = device.record(second);
  device.wait(arena.queue, moved);
  device.copy_from_device(arena.queue, got.data(), arena.base + content.size(), content.size());
  const EventId done = device.record(arena.queue);
  device.synchronize(done);

  EXPECT_NE(written, EventId{0});
  EXPECT_TRUE(device.complete(done));
  EXPECT_TRUE(device.complete(written));
  EXPECT_EQ(got, content);
  for (const EventId event : {written, moved, done}) device.release(event);
  device.close_queue(second);
}

TYPED_TEST_P(DeviceContract, EventZeroIsNoEvent) {
  auto& device = *this->device;
  const QueueId queue = device.open_queue();

  device.wait(queue, 0);
  device.synchronize(0);
  device.release(EventId{0});

  EXPECT_TRUE(device.complete(0));
  device.close_queue(queue);
}

TYPED_TEST_P(DeviceContract, AdoptedQueueKeepsItsOwnerUntilClosed) {
  auto& device = *this->device;
  auto owner = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = owner;
  const QueueId queue = device.adopt_queue(nullptr, std::move(owner));
  EXPECT_FALSE(watch.expired());

  const EventId event = device.record(queue);
  device.synchronize(event);
  device.release(event);
  device.close_queue(queue);

  EXPECT_TRUE(watch.expired());
}

TYPED_TEST_P(DeviceContract, UnknownQueueIsAUsageError) {
  EXPECT_THROW(this->device->synchronize_queue(QueueId{}), UsageError);
  const QueueId queue = this->device->open_queue();
  this->device->close_queue(queue);
  EXPECT_THROW((void)this->device->record(queue), UsageError);
}

TYPED_TEST_P(DeviceContract, AllocationsHoldContentAndAreBalanced) {
  auto& device = *this->device;
  const Arena arena(device, 2);
  const Bytes content = counting(70'000);
  arena.write(0, content);

  std::byte* const snapshot = device.allocate(content.size());
  device.copy_within_device(arena.queue, snapshot, arena.base, content.size());
  const std::byte zero{0};
  device.fill(arena.queue, arena.base, content.size(), &zero, 1);
  device.copy_within_device(arena.queue, arena.base, snapshot, content.size());

  EXPECT_EQ(arena.read(0, content.size()), content);
  EXPECT_FALSE(device.is_foreign_device_pointer(snapshot));
  device.deallocate(snapshot);
  EXPECT_THROW((void)device.allocate(device.total_memory_bytes() * 2), OutOfMemory);
}

TYPED_TEST_P(DeviceContract, StagingIsUsableHostMemory) {
  auto& device = *this->device;
  const Arena arena(device, 4);
  const Bytes content = counting(130'000);
  std::byte* const staging = device.allocate_staging(content.size());
  std::memcpy(staging, content.data(), content.size());

  device.copy_to_device(arena.queue, arena.base, staging, content.size());
  device.synchronize_queue(arena.queue);
  std::memset(staging, 0, content.size());
  device.copy_from_device(arena.queue, staging, arena.base, content.size());
  device.synchronize_queue(arena.queue);

  EXPECT_EQ(std::memcmp(staging, content.data(), content.size()), 0);
  device.deallocate_staging(staging);
}

TYPED_TEST_P(DeviceContract, MemoryOfMessagesUnderWayOutlivesTheDevice) {
  static std::byte *message, *staging;  // never given back
  const Bytes content = counting(1000);
  const bool cuda = this->device->kind() == DeviceKind::cuda;
  message = this->device->allocate(content.size());
  staging = this->device->allocate_staging(content.size());
  std::memcpy(staging, content.data(), content.size());
  {
    const Arena arena(*this->device, 1);
    this->device->copy_to_device(arena.queue, message, staging, content.size());
  }

  this->device.reset();

  const auto next = cuda ? make_cuda_device(0) : make_emulated_device(0, 1U << 20);
  const Arena arena(*next, 1);
  next->copy_within_device(arena.queue, arena.base, message, content.size());
  EXPECT_EQ(arena.read(0, content.size()), content);
  EXPECT_EQ(std::memcmp(staging, content.data(), content.size()), 0);
}

TYPED_TEST_P(DeviceContract, WorksFromManyThreads) {
  auto& device = *this->device;
  const Arena arena(device, 16);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (unsigned t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const QueueId queue = device.open_queue();
      const Bytes content = counting(50'000, t + 20);
      Bytes got(content.size());
      for (int i = 0; i < 20; ++i) {
        std::byte* const place = arena.base + t * 65'536;
        device.copy_to_device(queue, place, content.data(), content.size());
        const EventId event = device.record(queue);
        device.wait(queue, event);
        device.copy_from_device(queue, got.data(), place, got.size());
        device.release(event);
      }
      device.synchronize_queue(queue);
      right[t] = got == content ? 1 : 0;
      device.close_queue(queue);
    });
  }
  for (auto& thread : threads) thread.join();

  for (const int r : right) EXPECT_EQ(r, 1);
}

TYPED_TEST_P(DeviceContract, HostMemoryIsNoForeignDevicePointer) {
  int on_stack = 0;
  EXPECT_FALSE(this->device->is_foreign_device_pointer(&on_stack));
  EXPECT_FALSE(this->device->is_foreign_device_pointer(nullptr));
}

REGISTER_TYPED_TEST_SUITE_P(DeviceContract, ReservesAlignedAddressesAtLeastTwoMebibytes, ReserveHalvesWhatCannotBeHad,
                            GranularityIsAPowerOfTwo, MapAndUnmapAreBalancedAndAddressesStayUsable,
                            MapBeyondTheMemoryIsOutOfMemoryAndMapsNothing, SeveralPlacesMayBeTheSameMemory, MemoryMayLieOnTheHost,
                            MemoryOfTheHostMayLieAtSeveralPlaces, CopiesRoundTripAndWithinTheDevice,
                            CopiesColumnsAndTouchesNothingBetweenThem,
                            FillRepeatsEveryPatternAndTouchesNothingElse, FillOfEqualWordsIsRight,
                            DigestSeesEveryByteTheOrderAndTheLength, DigestOfZerosDependsOnTheLength,
                            EventsOrderQueuesAndComplete, EventZeroIsNoEvent, AdoptedQueueKeepsItsOwnerUntilClosed,
                            UnknownQueueIsAUsageError, AllocationsHoldContentAndAreBalanced, StagingIsUsableHostMemory,
                            MemoryOfMessagesUnderWayOutlivesTheDevice, WorksFromManyThreads,
                            HostMemoryIsNoForeignDevicePointer);

/// What two devices promise that reach each other's memory. A fixture gives `first` and `second`, which know nothing of each other yet, or
/// skips.
template <class Fixture>
class TwoDevicesContract : public Fixture {
 protected:
  void introduce(Device::PeerUse use) {
    this->first->share_with({this->second.get()}, use);
    this->second->share_with({this->first.get()}, use);
  }
};
TYPED_TEST_SUITE_P(TwoDevicesContract);

TYPED_TEST_P(TwoDevicesContract, MemoryMayLieOnAPeer) {
  this->introduce(Device::PeerUse::permitted);
  auto& first = *this->first;
  auto& second = *this->second;
  const std::uint64_t block = 2 * first.granularity_bytes();
  const Arena other(second, 1);
  Arena arena(first, 1);  // it has the queue, and one granule in front of the places
  const std::uint64_t own = first.granularity_bytes(), peers = own + block, again = peers + 2 * block;
  for (int round = 0; round < 2; ++round) {  // the first mapping may cost the driver something of its own
    const std::uint64_t free = first.free_memory_bytes(), free_there = second.free_memory_bytes();

    first.map_on({&second}, arena.base + peers, block);

    if (round == 1) {
      EXPECT_GT(first.free_memory_bytes() + block, free);
      EXPECT_LE(second.free_memory_bytes(), free_there - block) << "it counts as the peer's";
    }
    first.map_on({&first}, arena.base + own, block);  // as `map` does
    const Bytes content = counting(2 * block, 5);
    arena.write(own, content);  // one copy over both
    EXPECT_EQ(arena.read(own, content.size()), content);
    first.fill(arena.queue, arena.base + peers, block, content.data(), 16);  // by a kernel
    first.copy_within_device(arena.queue, arena.base + own, arena.base + peers, block);
    const std::uint64_t there = first.digest(arena.queue, arena.base + peers, block);
    EXPECT_EQ(first.digest(arena.queue, arena.base + own, block), there);
    EXPECT_EQ(second.digest(other.queue, arena.base + peers, block), there) << "the device whose memory it is uses it, too";

    first.map_same(arena.base + again, arena.base + peers, block);
    arena.write(again, counting(block, 7));
    EXPECT_EQ(arena.read(peers, block), counting(block, 7));
    first.unmap(arena.base + peers, block);
    if (round == 1) {
      EXPECT_LE(second.free_memory_bytes(), free_there - block) << "it still lies at the other place";
    }
    first.unmap(arena.base + again, block);
    first.unmap(arena.base + own, block);
    if (round == 1) {
      EXPECT_EQ(first.free_memory_bytes(), free);
      EXPECT_EQ(second.free_memory_bytes(), free_there);
    }
  }
}

TYPED_TEST_P(TwoDevicesContract, APeerThatIsFullRefusesAndMapsNothing) {
  this->introduce(Device::PeerUse::permitted);
  auto& first = *this->first;
  const std::uint64_t wanted = round_up(this->second->total_memory_bytes() + 1, first.granularity_bytes());
  std::uint64_t reserved = wanted;
  std::byte* const base = first.reserve(reserved);
  ASSERT_GE(reserved, wanted);
  const std::uint64_t free = first.free_memory_bytes(), free_there = this->second->free_memory_bytes();

  EXPECT_THROW(first.map_on({this->second.get()}, base, wanted), OutOfMemory);

  EXPECT_EQ(first.free_memory_bytes(), free);
  EXPECT_EQ(this->second->free_memory_bytes(), free_there);
  first.map_on({this->second.get()}, base, first.granularity_bytes());  // the same addresses still work
  first.unmap(base, first.granularity_bytes());
  first.release(base, reserved);
}

TYPED_TEST_P(TwoDevicesContract, MemoryOfADeviceOutOfReachIsRefused) {
  this->introduce(Device::PeerUse::refused);
  auto& first = *this->first;
  std::uint64_t reserved = 2U << 20;
  std::byte* const base = first.reserve(reserved);
  const std::uint64_t free = this->second->free_memory_bytes();

  try {
    first.map_on({this->second.get()}, base, first.granularity_bytes());
    ADD_FAILURE() << "mapped";
  } catch (const DeviceError& e) {
    for (const std::string& part : {"device " + std::to_string(first.ordinal()) + ": ", "device " + std::to_string(this->second->ordinal()),
                                   std::string("no peer access"), std::string("Map memory of")}) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }

  EXPECT_EQ(this->second->free_memory_bytes(), free);
  first.map(base, first.granularity_bytes());  // nothing is mapped there
  first.unmap(base, first.granularity_bytes());
  first.release(base, reserved);
}

REGISTER_TYPED_TEST_SUITE_P(TwoDevicesContract, MemoryMayLieOnAPeer, APeerThatIsFullRefusesAndMapsNothing,
                            MemoryOfADeviceOutOfReachIsRefused);

}  // namespace semcache::device::testing
