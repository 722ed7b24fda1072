// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>
#include <semcache/memory/device_memory.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace semcache::memory {
namespace {

constexpr std::uint64_t granule = 16 * 1024;

/// A device of sixteen granules, of which eight may be mapped.
struct World {
  World() {
    fakes::FakeDevice::Options o;
    o.granularity_bytes = granule;
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
  static std::vector<ArrayBlock> blocks_of(Memory& m) {
    std::vector<ArrayBlock> blocks;
    for (std::size_t i = 0; i < m.blocks.count(); ++i) blocks.push_back({&m, i});
    return blocks;
  }
  static std::vector<ArrayBlock> blocks_of(std::initializer_list<Memory*> arrays) {
    std::vector<ArrayBlock> blocks;
    for (Memory* m : arrays) {
      for (const ArrayBlock& b : blocks_of(*m)) blocks.push_back(b);
    }
    return blocks;
  }
  static bool mapped(const Memory& m) { return (m.flags.load() & Memory::resident) != 0; }
  void use(Memory& m) { m.recently.store(++clock); }
  Memory* victim() {
    return memory->victim([](const ArrayBlock&) { return true; }).memory;
  }
  void expect_right() {
    std::vector<Memory*> live;
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
  EXPECT_EQ(w.memory->victim([&](const ArrayBlock& block) { return block.memory != &b; }).memory, &c);
  EXPECT_EQ(w.memory->victim([](const ArrayBlock&) { return false; }).memory, nullptr);
  w.memory->unmap(b);
  EXPECT_EQ(w.victim(), &c);
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

}  // namespace
}  // namespace semcache::memory
