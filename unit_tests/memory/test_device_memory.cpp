// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>
#include <semcache/device/device.hpp>
#include <semcache/memory/device_memory.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace semcache::memory {
namespace {

constexpr std::uint64_t granule = 16 * 1024;

/// A device of sixteen granules, of which eight may be mapped.
struct World {
  /// @param block_bytes  arrays of two of them or more have blocks
  explicit World(std::uint64_t block_bytes = std::uint64_t{1} << 30) {
    fakes::FakeDevice::Options o;
    o.granularity_bytes = granule;
    o.block_bytes = block_bytes;
    device = std::make_unique<fakes::FakeDevice>(o, [](const std::string& text) { ADD_FAILURE() << text; });
    addresses = std::make_unique<DeviceAddresses>(*device, std::vector<device::Device*>{device.get()});
    memory = std::make_unique<DeviceMemory>(*device, 0, *addresses, 8 * granule);
  }
  ~World() {
    for (Memory& m : arrays) {
      if (!m.live) continue;
      memory->unmap(m);
      memory->give_back(m);
    }
    memory.reset();
    addresses.reset();
    EXPECT_EQ(device->mapped_bytes(), 0u);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  Memory& place(std::uint64_t bytes) {
    Memory& m = arrays.emplace_back();
    m.space = device_space(0);
    m.bytes = bytes;
    m.live = true;
    m.recently.store(++clock);
    memory->place(m, "array", 1);
    return m;
  }
  Memory& map(std::uint64_t bytes) {
    Memory& m = place(bytes);
    memory->ask(blocks_of(m));
    EXPECT_FALSE(tell_driver().refused);
    expect_right();
    return m;
  }
  DeviceMemory::Chores tell_driver() {
    DeviceMemory::Chores chores;
    memory->begin_chores(chores);
    memory->carry_out(chores, DeviceMemory::Reach::open);
    memory->end_chores(chores, DeviceMemory::Reach::open);
    for (const auto& a : chores.asked) memory->note_mapped(a.block);
    return chores;
  }
  static base::Vector<ArrayBlock> blocks_of(Memory& m) {
    base::Vector<ArrayBlock> blocks;
    for (std::size_t i = 0; i < m.blocks.count(); ++i) blocks.push_back({&m, i});
    return blocks;
  }
  static base::Vector<ArrayBlock> blocks_of(std::initializer_list<Memory*> arrays) {
    base::Vector<ArrayBlock> blocks;
    for (Memory* m : arrays) {
      for (const ArrayBlock& b : blocks_of(*m)) blocks.push_back(b);
    }
    return blocks;
  }
  static bool mapped(const Memory& m) { return (m.flags.load() & Memory::resident) != 0; }
  void use(Memory& m) { m.recently.store(++clock); }
  /// What is known of spare memory: only the seconds that each array's value takes are set.
  static policy::SpareMemory describe(const Memory& m) { return {false, m.bytes, m.seconds_to_make, 1}; }
  ArrayBlock victim(const DeviceMemory::Question& may_leave) const { return memory->victim(may_leave, describe); }
  Memory* victim() const {
    return victim([](const ArrayBlock&) { return true; }).memory;
  }
  void expect_right() {
    base::Vector<Memory*> live;
    for (Memory& m : arrays) {
      if (m.live) live.push_back(&m);
    }
    EXPECT_EQ(memory->audit(live), "");
    if (memory->any_chores()) (void)tell_driver();
    EXPECT_EQ(memory->mapped_bytes(), device->mapped_bytes());
  }
  std::unique_ptr<fakes::FakeDevice> device;
  std::unique_ptr<DeviceAddresses> addresses;
  std::unique_ptr<DeviceMemory> memory;
  std::deque<Memory> arrays;
  std::uint64_t clock = 0;
};

/// Emulated devices, of very different sizes.
struct Devices {
  explicit Devices(std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      all.push_back(device::make_emulated_device(static_cast<int>(k), sizes[k % std::size(sizes)]));
      pointers.push_back(all.back().get());
    }
  }
  static constexpr std::uint64_t sizes[] = {std::uint64_t{1} << 20, std::uint64_t{32} << 30, std::uint64_t{2} << 30};
  std::vector<std::unique_ptr<device::Device>> all;
  std::vector<device::Device*> pointers;
};

TEST(DeviceAddresses, AreEqualPartsForDevicesOfAnySizes) {
  for (std::size_t count = 1; count <= 8; ++count) {
    SCOPED_TRACE(count);
    const Devices devices(count);
    const DeviceAddresses a(*devices.pointers[0], devices.pointers);
    const std::uint64_t each = a.bytes_of_each();
    EXPECT_EQ(a.bytes(), count * each);
    EXPECT_GE(each, count > 1 ? Devices::sizes[1] : Devices::sizes[0]) << "the largest device has too few addresses";
    EXPECT_EQ(each % (std::uint64_t{2} << 20), 0u) << "parts begin and end with a large page";
    EXPECT_FALSE(a.covers(a.base() - 1));
    EXPECT_FALSE(a.covers(a.base() + a.bytes()));
    for (std::uint32_t k = 0; k < count; ++k) {
      const DeviceMemory memory(*devices.pointers[k], k, a, std::uint64_t{1} << 20);
      EXPECT_EQ(memory.base(), a.base() + k * each);
      EXPECT_EQ(memory.bytes(), each);
      for (const std::byte* const at : {memory.base(), memory.base() + each - 1}) {
        EXPECT_TRUE(a.covers(at));
        EXPECT_EQ(a.device_at(at), k);
      }
    }
  }
}

/// The same allocations have the same offsets on every device, however much memory it has.
TEST(DeviceAddresses, EqualAllocationsLieAtEqualOffsets) {
  const Devices devices(3);
  const DeviceAddresses a(*devices.pointers[0], devices.pointers);
  std::vector<std::vector<std::uint64_t>> offsets;
  for (std::uint32_t k = 0; k < 3; ++k) {
    DeviceMemory memory(*devices.pointers[k], k, a, std::uint64_t{1} << 20);
    std::deque<Memory> arrays;
    offsets.emplace_back();
    const auto place = [&](std::uint64_t bytes, std::uint64_t alignment) {
      Memory& m = arrays.emplace_back();
      m.space = device_space(k);
      m.bytes = bytes;
      m.live = true;
      memory.place(m, "array", alignment);
      offsets.back().push_back(static_cast<std::uint64_t>(m.address - memory.base()));
    };
    for (const std::uint64_t bytes : {1000u, 1u, 70'000u, 3u << 20, 500u, 100u << 20}) place(bytes, 1);
    for (const std::size_t freed : {1u, 3u}) {
      memory.give_back(arrays[freed]);
      arrays[freed].live = false;
    }
    for (const std::uint64_t bytes : {2u << 20, 100u, 5000u}) place(bytes, 4096);
    for (Memory& m : arrays) {
      if (m.live) memory.give_back(m);
    }
  }
  EXPECT_EQ(offsets[1], offsets[0]);
  EXPECT_EQ(offsets[2], offsets[0]);
}

TEST(DeviceMemory, ArraysAreFoundWhereTheyLie) {
  World w;
  Memory& a = w.place(1000);
  Memory& b = w.place(1000);
  EXPECT_EQ(w.memory->find(a.address), &a);
  EXPECT_EQ(w.memory->find(a.address + 999), &a);
  EXPECT_EQ(w.memory->find(b.address), &b);
  EXPECT_GE(b.address - a.address, 1000 + 128) << "a header in front of an array has an address of its own";
  EXPECT_EQ(w.memory->find(w.memory->base()), nullptr);
}

TEST(DeviceMemory, NeighboursShareAGranule) {
  World w;
  Memory& a = w.map(1000);
  EXPECT_EQ(w.memory->mapped_bytes(), granule);
  Memory& b = w.map(1000);
  EXPECT_EQ(w.memory->mapped_bytes(), granule) << "b lies in the same";
  w.memory->unmap(a);
  w.expect_right();
  EXPECT_EQ(w.memory->mapped_bytes(), granule) << "b still needs it";
  w.memory->unmap(b);
  EXPECT_EQ(w.memory->mapped_bytes(), 0u);
}

TEST(DeviceMemory, WhatNeighboursDoNotShareGoesWithItsArray) {
  World w;
  Memory& a = w.map(1000);
  Memory& large = w.map(3 * granule);
  const std::uint64_t both = w.memory->mapped_bytes();
  w.memory->unmap(large);
  w.expect_right();
  EXPECT_EQ(w.memory->mapped_bytes(), granule) << "of " << both;
  w.memory->unmap(a);
}

TEST(DeviceMemory, ASetCountsEachGranuleOnce) {
  World w;
  Memory& a = w.place(1000);
  Memory& b = w.place(1000);
  Memory& c = w.place(2 * granule);
  const DeviceMemory::Need two = w.memory->need_of(World::blocks_of({&a, &b}));
  EXPECT_EQ(two.total, granule);
  EXPECT_EQ(two.missing, granule);
  w.memory->ask(World::blocks_of(a));
  EXPECT_EQ(w.memory->need_of(World::blocks_of({&a, &b})).missing, 0u) << "b's memory is there already";
  EXPECT_EQ(w.memory->need_of(World::blocks_of({&a, &b})).total, granule);
  const DeviceMemory::Need all = w.memory->need_of(World::blocks_of({&c, &a, &b}));
  EXPECT_EQ(all.total - all.missing, granule);
  EXPECT_EQ(w.memory->need_of({}).total, 0u);
}

TEST(DeviceMemory, ARefusedMapChangesNothing) {
  World w;
  Memory& a = w.map(1000);
  Memory& large = w.place(3 * granule);
  w.device->fail_call(2, fakes::FakeDevice::call_map);
  w.memory->ask(World::blocks_of(large));
  EXPECT_TRUE(w.tell_driver().refused);
  w.device->fail_call(0, 0);
  EXPECT_FALSE(World::mapped(large));
  EXPECT_TRUE(World::mapped(a));
  EXPECT_EQ(w.memory->mapped_bytes(), granule);
  w.expect_right();
}

TEST(DeviceMemory, TheLongestUnusedLeavesFirst) {
  World w;
  Memory& a = w.map(granule);
  Memory& b = w.map(granule);
  Memory& c = w.map(granule);
  EXPECT_EQ(w.victim(), &a);
  w.use(a);
  EXPECT_EQ(w.victim(), &b);
  EXPECT_EQ(w.victim([&](const ArrayBlock& block) { return block.memory != &b; }).memory, &c);
  EXPECT_EQ(w.victim([](const ArrayBlock&) { return false; }).memory, nullptr);
  w.memory->unmap(b);
  EXPECT_EQ(w.victim(), &c);
  w.expect_right();
}

/// An array and three values that nobody uses, which are used in this order: the value whose bytes are made again the fastest leaves first, the
/// one that is dearer than a copy to the host and back when it is its turn by age.
TEST(DeviceMemory, SpareMemoryLeavesByTheSecondsThatItsValueTakes) {
  World w;
  Memory& array = w.map(granule);
  Memory* values[] = {&w.map(granule), &w.map(granule), &w.map(2 * granule)};
  const double seconds[] = {5, 1.5, 1.8};
  for (std::size_t i = 0; i < 3; ++i) {
    w.memory->note_derived(*values[i]);
    w.memory->set_spare(*values[i], true);
    values[i]->seconds_to_make = seconds[i];
  }
  std::vector<const Memory*> left;
  for (int i = 0; i < 4; ++i) {
    Memory* const m = w.victim();
    left.push_back(m);
    if (m->derived) w.memory->forget(*m);
    w.memory->unmap(*m);
  }
  EXPECT_EQ(left, (std::vector<const Memory*>{values[2], values[1], &array, values[0]}));
  w.expect_right();
}

TEST(DeviceMemory, AnEvictionThatHasBegunGoesOnUnlessItsArrayIsUsed) {
  World w;
  Memory& a = w.map(granule);
  Memory& b = w.map(granule);
  w.use(a);  // what the eviction writes back is a use
  w.memory->eviction_begun({&a, 0});
  EXPECT_EQ(w.victim(), &a);
  w.use(a);
  EXPECT_EQ(w.victim(), &b);
}

TEST(DeviceMemory, BlocksEndWhereGranulesEnd) {
  Blocks b;
  b.begin(10 * granule, 2 * granule, 512);  // the array begins 512 bytes behind a granule's begin
  ASSERT_EQ(b.count(), 6u);
  EXPECT_EQ(b.range(0), (ByteRange{0, 2 * granule - 512}));
  EXPECT_EQ(b.range(1), (ByteRange{2 * granule - 512, 4 * granule - 512}));
  EXPECT_EQ(b.range(5), (ByteRange{10 * granule - 512, 10 * granule}));
  for (std::size_t i = 0; i < b.count(); ++i) {
    EXPECT_EQ(b.at(b.range(i).begin), i);
    EXPECT_EQ(b.at(b.range(i).end - 1), i);
  }
  const auto of = [&](const Region& where) {
    std::vector<std::size_t> found;
    b.for_each(where, [&](std::size_t i) { found.push_back(i); });
    return found;
  };
  EXPECT_EQ(of(ByteRange{0, 1}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(of(ByteRange{2 * granule - 513, 2 * granule - 511}), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(of(Region(0, 10, 3, 4 * granule)), (std::vector<std::size_t>{0, 2, 4})) << "columns that leave blocks out";
  EXPECT_EQ(of(Region(0, 10, 6, granule)), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(of(Region(0, 2 * granule, 2, 4 * granule)), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(of(ByteRange{5, 5}), std::vector<std::size_t>());
}

TEST(DeviceMemory, BlocksAreAsOldAsTheirLastUse) {
  Blocks b;
  b.begin(4 * granule, granule, 0);
  std::uint64_t recently = 10;  // a use of the whole array
  EXPECT_EQ(b.used(0, recently), 10u);
  b.note_use(ByteRange{granule, granule + 1}, 11, recently);
  recently = 11;
  EXPECT_EQ(b.used(0, recently), 10u);
  EXPECT_EQ(b.used(1, recently), 11u);
  b.note_use(ByteRange{0, 1}, 12, recently);
  recently = 12;
  EXPECT_EQ(b.used(0, recently), 12u);
  EXPECT_EQ(b.used(1, recently), 11u);
  EXPECT_EQ(b.used(2, recently), 10u);
  recently = 13;  // by a launch without the lock
  EXPECT_EQ(b.used(2, recently), 13u);
  b.note_use(ByteRange{0, 1}, 14, recently);
  recently = 14;
  EXPECT_EQ(b.used(1, recently), 13u);
  EXPECT_EQ(b.used(0, recently), 14u);
}

TEST(DeviceMemory, BlocksComeAndGoOneByOne) {
  World w(2 * granule);
  Memory& a = w.place(1u << 20);  // beyond the budget of eight granules
  ASSERT_EQ(a.blocks.count(), (1u << 20) / (2 * granule));
  w.memory->ask({{&a, 3}, {&a, 5}});
  EXPECT_FALSE(w.tell_driver().refused);
  w.expect_right();
  EXPECT_EQ(w.memory->mapped_bytes(), 4 * granule);
  EXPECT_FALSE(World::mapped(a));
  EXPECT_TRUE(a.blocks.mapped(ByteRange{6 * granule, 8 * granule}));
  EXPECT_FALSE(a.blocks.mapped(ByteRange{6 * granule, 8 * granule + 1}));
  EXPECT_EQ(w.memory->need_of({{&a, 3}, {&a, 4}}).missing, 2 * granule);
  a.note_recent(ByteRange{6 * granule, 7 * granule}, ++w.clock);
  EXPECT_EQ(w.victim([](const ArrayBlock&) { return true; }).index, 5u);
  EXPECT_EQ(w.victim([](const ArrayBlock& b) { return b.index != 5; }).index, 3u);
  w.memory->unmap(ArrayBlock{&a, 5});
  w.expect_right();
  EXPECT_EQ(w.memory->mapped_bytes(), 2 * granule);
  EXPECT_EQ(w.victim([](const ArrayBlock&) { return true; }).index, 3u);
  std::vector<ByteRange> mapped;
  a.blocks.for_each_mapped_range([&](ByteRange r) { mapped.push_back(r); });
  ASSERT_EQ(mapped.size(), 1u);
  EXPECT_EQ(mapped[0], (ByteRange{6 * granule, 8 * granule}));
}

/// An object that has belonged to an array of many blocks belongs to one of few, and to one of many again.
TEST(DeviceMemory, RecycledObjectsAreListedOnce) {
  World w(granule);
  Memory& a = w.place(1u << 20);
  for (int round = 0; round < 3; ++round) {
    w.memory->ask({{&a, 0}, {&a, 7}});
    (void)w.tell_driver();
    w.expect_right();
    w.memory->give_back(a);
    a.bytes = 100;
    w.memory->place(a, "array", 1);
    w.memory->ask({{&a, 0}});
    (void)w.tell_driver();
    w.expect_right();
    w.memory->give_back(a);
    a.bytes = 1u << 20;
    w.memory->place(a, "array", 1);
  }
}

}  // namespace
}  // namespace semcache::memory
