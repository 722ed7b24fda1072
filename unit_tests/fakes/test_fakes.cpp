// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>
#include <fakes/replay.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace semcache::fakes {
namespace {

struct Found {
  std::vector<std::string> texts;
  FakeDevice::Failure sink() {
    return [this](const std::string& text) { texts.push_back(text); };
  }
};

FakeDevice::Options lazy() {
  FakeDevice::Options o;
  o.eagerness = 0;
  return o;
}

TEST(FakeDevice, WorkHappensWhenSomebodyWaitsForIt) {
  Found found;
  FakeDevice d(lazy(), found.sink());
  std::vector<std::byte> to(8);
  std::vector<std::byte> from(8, std::byte{3});
  const QueueId q = d.open_queue();
  d.copy_to_device(q, to.data(), from.data(), 8);
  EXPECT_EQ(to[0], std::byte{0});
  const auto event = d.record(q);
  d.synchronize(event);
  EXPECT_EQ(to[0], std::byte{3});
  d.release(event);
  d.close_queue(q);
  EXPECT_TRUE(found.texts.empty());
}

TEST(FakeDevice, AMissingWaitIsARaceWhateverHappens) {
  Found found;
  FakeDevice d(lazy(), found.sink());
  std::vector<std::byte> memory(8);
  const QueueId a = d.open_queue();
  const QueueId b = d.open_queue();
  const std::byte one{1};
  d.fill(a, memory.data(), 8, &one, 1);
  d.fill(b, memory.data() + 7, 1, &one, 1);
  ASSERT_EQ(found.texts.size(), 1u);
  EXPECT_EQ(found.texts[0].rfind("race: a fill is not ordered after a fill", 0), 0u);
  found.texts.clear();
  const auto event = d.record(a);
  d.wait(b, event);
  d.release(event);
  d.fill(b, memory.data(), 8, &one, 1);
  EXPECT_TRUE(found.texts.empty());
  d.check_host_access(memory.data(), 1, false);
  EXPECT_EQ(found.texts.size(), 2u) << "the host has waited for neither queue";
  d.synchronize_device();
  d.close_queue(a);
  d.close_queue(b);
}

TEST(FakeDevice, UnmappingUnderPendingWorkIsFound) {
  Found found;
  FakeDevice d(lazy(), found.sink());
  std::uint64_t bytes = 0;
  std::byte* const base = d.reserve(bytes);
  const std::uint64_t unit = d.granularity_bytes();
  const QueueId q = d.open_queue();
  const std::byte one{1};
  d.map(base, unit);
  d.fill(q, base, 1, &one, 1);
  d.unmap(base, unit);
  EXPECT_EQ(found.texts.size(), 1u);
  d.synchronize_device();
  EXPECT_EQ(found.texts.size(), 2u) << "and when the work happens";
  d.close_queue(q);
  d.release(base, bytes);
}

TEST(FakeDevice, AKernelOnInaccessibleMemoryIsFound) {
  Found found;
  FakeDevice::Options o = lazy();
  o.kind = device::DeviceKind::emulated;
  o.asynchronous = false;
  FakeDevice d(o, found.sink());
  std::uint64_t bytes = 0;
  std::byte* const base = d.reserve(bytes);
  const std::uint64_t unit = d.granularity_bytes();
  d.map(base, 2 * unit);
  d.set_accessible(base + unit, unit, false);
  int stream = 0;
  d.launch(&stream, {{base, unit, true}}, [] {});
  EXPECT_TRUE(found.texts.empty());
  d.launch(&stream, {{base + unit - 1, 2, false}}, [] {});
  d.check_accessible(base + unit, 1);
  EXPECT_EQ(found.texts.size(), 2u);
  d.set_accessible(base + unit, unit, true);
  d.launch(&stream, {{base, 2 * unit, true}}, [] {});
  d.check_accessible(base, 2 * unit);
  EXPECT_EQ(found.texts.size(), 2u);
  d.unmap(base, 2 * unit);
  d.release(base, bytes);
}

TEST(FakeDevice, ACopyOfPagesThatAreNotPageLockedIsFound) {
  Found found;
  FakeDevice d(lazy(), found.sink());
  std::vector<std::byte> host(8);
  std::vector<std::byte> device(8);
  d.require_page_locks([](const std::byte*) { return true; });
  const QueueId q = d.open_queue();
  ASSERT_TRUE(d.register_host(host.data(), 4));
  d.copy_to_device(q, device.data(), host.data(), 4);
  d.synchronize_queue(q);
  EXPECT_TRUE(found.texts.empty());
  d.copy_from_device(q, host.data() + 2, device.data(), 4);
  EXPECT_EQ(found.texts.size(), 1u);
  ASSERT_TRUE(d.register_host(host.data() + 4, 4));
  d.copy_from_device(q, host.data() + 2, device.data(), 4);
  d.synchronize_queue(q);
  EXPECT_EQ(found.texts.size(), 1u);
  d.unregister_host(host.data());
  d.unregister_host(host.data() + 4);
  d.close_queue(q);
}

TEST(FakeDevice, TheKthCallFails) {
  Found found;
  FakeDevice d(lazy(), found.sink());
  d.fail_call(2, FakeDevice::call_staging);
  std::byte* const first = d.allocate_staging(8);
  EXPECT_THROW((void)d.allocate_staging(8), OutOfMemory);
  d.deallocate_staging(first);
  EXPECT_TRUE(found.texts.empty());
}

TEST(FakeDevice, CallsOfTheKindThatWasAskedForFail) {
  Found found;
  FakeDevice d(lazy(), found.sink());
  std::vector<std::byte> memory(8);
  const QueueId q = d.open_queue();
  const auto event = d.record(q);
  const auto fails = [&](FakeDevice::Call call, const auto& body) {
    d.fail_call(1, FakeDevice::call_all & ~call);
    EXPECT_NO_THROW(body()) << call;
    d.fail_call(1, call);
    EXPECT_THROW(body(), DeviceError) << call;
    EXPECT_FALSE(d.failure_pending());
  };
  fails(FakeDevice::call_record, [&] { d.release(d.record(q)); });
  fails(FakeDevice::call_wait, [&] { d.wait(q, event); });
  fails(FakeDevice::call_ask, [&] { (void)d.complete(event); });
  fails(FakeDevice::call_synchronize, [&] { d.synchronize(event); });
  fails(FakeDevice::call_synchronize, [&] { d.synchronize_queue(q); });
  fails(FakeDevice::call_synchronize, [&] { d.synchronize_device(); });
  fails(FakeDevice::call_digest, [&] { (void)d.digest(q, memory.data(), 8); });
  fails(FakeDevice::call_start, [&] { (void)d.total_memory_bytes(); });
  d.fail_call(1, FakeDevice::call_register);
  EXPECT_FALSE(d.register_host(memory.data(), 8));
  EXPECT_TRUE(d.register_host(memory.data(), 8));
  d.unregister_host(memory.data());
  d.release(event);
  d.close_queue(q);
  EXPECT_TRUE(found.texts.empty());
}

TEST(FakeDevice, WhatIsNotGivenBackIsFound) {
  Found found;
  {
    FakeDevice d(lazy(), found.sink());
    std::uint64_t bytes = 0;
    (void)d.reserve(bytes);
    (void)d.allocate_staging(8);
    (void)d.record(d.open_queue());
  }
  EXPECT_EQ(found.texts.size(), 4u) << "addresses, staging, queue, event";
}

/// Two devices, each with one granule of memory in its half of the arena.
struct Two {
  explicit Two(const FakeDevice::Options& options = lazy()) : first(options, found.sink()) {
    first.share_with({&second}, device::Device::PeerUse::permitted);
    second.share_with({&first}, device::Device::PeerUse::permitted);
    base = first.reserve(bytes);
    memory[0] = base;
    memory[1] = base + bytes / 2;
    first.map(memory[0], first.granularity_bytes());
    second.map(memory[1], second.granularity_bytes());
    for (std::size_t k : {0, 1}) queue[k] = device(k).open_queue();
  }
  ~Two() {
    for (std::size_t k : {0, 1}) {
      device(k).synchronize_device();
      device(k).close_queue(queue[k]);
      device(k).unmap(memory[k], first.granularity_bytes());
    }
    first.release(base, bytes);
  }
  device::Device& device(std::size_t k) { return k == 0 ? static_cast<device::Device&>(first) : second; }
  /// Expects that failures were found since the last call, each with `text` in it.
  void expect_found(std::size_t count, const std::string& text) {
    EXPECT_EQ(found.texts.size(), count);
    for (const std::string& t : found.texts) EXPECT_NE(t.find(text), std::string::npos) << t;
    found.texts.clear();
  }
  static FakeDevice::Options apart() {
    FakeDevice::Options o = lazy();
    o.peer_access = false;
    return o;
  }
  Found found;
  FakeDevice first;
  FakePeer second{first};
  std::uint64_t bytes = 0;
  std::byte* base = nullptr;
  std::byte* memory[2] = {};
  QueueId queue[2];
  const std::byte one{1};
};

TEST(FakeDevices, ARaceBetweenTwoDevicesIsFound) {
  Two t;
  t.first.fill(t.queue[0], t.memory[0], 8, &t.one, 1);
  t.second.copy_within_device(t.queue[1], t.memory[1], t.memory[0], 8);
  t.expect_found(1, "race: a copy within the device is not ordered after a fill");
}

TEST(FakeDevices, AnEventOfOneDeviceOrdersTheOther) {
  Two t;
  t.first.fill(t.queue[0], t.memory[0], 8, &t.one, 1);
  const auto event = t.first.record(t.queue[0]);
  t.second.wait(t.queue[1], event);
  t.first.release(event);
  t.second.copy_within_device(t.queue[1], t.memory[1], t.memory[0], 8);
  EXPECT_NE(t.memory[1][7], t.one);
  t.second.synchronize_queue(t.queue[1]);
  EXPECT_EQ(t.memory[1][7], t.one);
  t.first.check_host_access(t.memory[0], 8, true);
  t.expect_found(0, "");
}

TEST(FakeDevices, WaitingForOneDeviceTellsNothingOfTheOther) {
  Two t;
  for (std::size_t k : {0, 1}) t.device(k).fill(t.queue[k], t.memory[k], 8, &t.one, 1);
  t.second.synchronize_device();
  EXPECT_NE(t.memory[0][0], t.one);
  EXPECT_EQ(t.memory[1][0], t.one);
  t.first.check_host_access(t.memory[1], 8, true);
  t.expect_found(0, "");
  t.first.check_host_access(t.memory[0], 8, true);
  t.expect_found(1, "race: the host writes bytes of a fill");
}

TEST(FakeDevices, WorkOnMemoryOutOfReachIsFound) {
  Two t(Two::apart());
  EXPECT_FALSE(t.first.reaches(t.second));
  EXPECT_TRUE(t.second.reaches(t.second));
  t.first.copy_within_device(t.queue[0], t.memory[1], t.memory[0], 8);
  t.expect_found(1, "a copy within the device of fake 0 uses memory of fake 1, which it does not reach");
  t.first.synchronize_device();
  t.second.fill(t.queue[1], t.memory[0], 8, &t.one, 1);
  t.expect_found(1, "a fill of fake 1 uses memory of fake 0, which it does not reach");
}

TEST(FakeDevices, AKernelOnMemoryOutOfReachIsFound) {
  for (const bool reached : {false, true}) {
    Two t(reached ? lazy() : Two::apart());
    int stream = 0;
    (void)t.second.adopt_queue(&stream, {});
    t.first.launch(&stream, {{t.memory[1], 8, true}}, [] {});
    t.expect_found(0, "");
    t.first.launch(&stream, {{t.memory[0], 8, false}}, [] {});
    t.expect_found(reached ? 0 : 1, "a kernel of fake 1 uses memory of fake 0, which it does not reach");
    t.second.close_queue(t.first.stream(&stream));
  }
}

TEST(FakeDevices, MemoryOfADeviceThatWasNotToldOfOthersIsOutOfReach) {
  Found found;
  FakeDevice first(lazy(), found.sink());
  FakePeer second(first);
  first.share_with({&second}, device::Device::PeerUse::permitted);
  std::byte* const of_first = first.allocate(8);
  std::byte* const of_second = second.allocate(8);
  first.launch(nullptr, {{of_second, 8, true}}, [] {});
  EXPECT_EQ(found.texts.size(), 1u);
  first.launch({nullptr, 1}, {{of_first, 8, true}}, [] {});
  EXPECT_EQ(found.texts.size(), 1u);
  second.share_with({&first}, device::Device::PeerUse::permitted);
  EXPECT_EQ(found.texts.size(), 2u) << "too late";
  for (device::Device* const d : std::initializer_list<device::Device*>{&first, &second}) d->synchronize_device();
  first.deallocate(of_first);
  second.deallocate(of_second);
  EXPECT_EQ(found.texts.size(), 2u);
}

TEST(FakeDevices, OnlyCopiesWithinADeviceReachOtherDevices) {
  Two t;
  std::byte host[8] = {};
  t.first.copy_to_device(t.queue[0], t.memory[1], host, 8);
  t.first.copy_columns(t.queue[0], device::Device::Direction::from_device, host, 4, t.memory[1], 4, 4, 2);
  t.expect_found(2, "as only a copy within the device may");
  t.first.synchronize_device();
  t.second.copy_to_device(t.queue[1], t.memory[1], host, 8);
  t.expect_found(0, "");
  t.second.synchronize_device();
}

TEST(FakeDevices, EachHasItsOwnMemory) {
  FakeDevice::Options o = lazy();
  o.memory_bytes = 2 * o.granularity_bytes;
  Two t(o);
  const std::uint64_t unit = o.granularity_bytes;
  std::byte* const message = t.first.allocate(unit);
  EXPECT_EQ(t.first.free_memory_bytes(), 0u);
  EXPECT_EQ(t.second.free_memory_bytes(), unit);
  EXPECT_THROW(t.first.map(t.memory[0] + unit, unit), OutOfMemory);
  EXPECT_THROW((void)t.first.allocate(1), OutOfMemory);
  t.second.map(t.memory[1] + unit, unit);
  EXPECT_EQ(t.first.mapped_bytes(), 3 * unit);
  t.expect_found(0, "");
  t.first.unmap(t.memory[1] + unit, unit);
  t.expect_found(1, "unmap: not exactly one earlier map of this device");
  t.second.unmap(t.memory[1] + unit, unit);
  t.second.deallocate(message);
  t.expect_found(1, "never allocated by this device");
  t.first.deallocate(message);
}

/// Memory of the other device, or of the host, behind addresses of the first (`map_on`).
TEST(FakeDevices, MemoryMayLieElsewhere) {
  FakeDevice::Options o = lazy();
  o.memory_bytes = 2 * o.granularity_bytes;
  Two t(o);
  const std::uint64_t unit = o.granularity_bytes;
  std::byte* const peers = t.memory[0] + unit;
  std::byte* const hosts = t.memory[0] + 2 * unit;
  t.first.map_on({&t.second}, peers, unit);
  t.first.map_on({nullptr}, hosts, unit);
  EXPECT_EQ(t.first.free_memory_bytes(), unit);
  EXPECT_EQ(t.second.free_memory_bytes(), 0u);
  EXPECT_THROW(t.first.map_on({&t.second}, hosts + unit, unit), OutOfMemory);
  const std::vector<std::byte> source(2 * unit, std::byte{1});
  t.first.copy_to_device(t.queue[0], peers, source.data(), source.size());
  t.first.synchronize_device();
  EXPECT_EQ(std::memcmp(peers, source.data(), source.size()), 0);
  t.expect_found(0, "");
  t.second.unmap(peers, unit);
  t.expect_found(1, "unmap: not exactly one earlier map of this device");
  t.first.unmap(peers, unit);
  t.first.unmap(hosts, unit);
  EXPECT_EQ(t.second.free_memory_bytes(), unit);
  Two apart(Two::apart());
  EXPECT_THROW(apart.first.map_on({&apart.second}, apart.memory[0] + unit, unit), DeviceError);
  apart.expect_found(0, "");
}

TEST(FakeDevices, WhatIsTheOtherDevicesIsNotTaken) {
  Two t;
  t.first.fill(t.queue[1], t.memory[0], 8, &t.one, 1);
  t.expect_found(1, "a queue of fake 1 is used through fake 0");
  const auto event = t.second.record(t.queue[1]);
  t.first.release(event);
  t.expect_found(1, "an event of fake 1 was given back to fake 0");
}

TEST(FakeDevices, AStreamBelongsToTheDeviceThatAdoptedIt) {
  Two t;
  int a = 0, b = 0;
  t.first.launch(&a, {}, [] {});
  EXPECT_TRUE(t.first.owns_stream(&a));
  EXPECT_TRUE(t.second.owns_stream(&a)) << "nobody knows yet";
  t.second.close_queue(t.second.adopt_queue(&a, {}));
  EXPECT_FALSE(t.first.owns_stream(&a));
  EXPECT_TRUE(t.second.owns_stream(&a));
  t.first.launch({&b, 1}, {}, [] {});
  EXPECT_FALSE(t.first.owns_stream(&b)) << "the program has named the device";
  EXPECT_EQ(t.first.device_of(&b), 1u);
  t.expect_found(0, "");
  (void)t.first.adopt_queue(&b, {});
  t.expect_found(1, "a stream of fake 1 is used as one of fake 0");
  for (std::size_t k : {0, 1}) EXPECT_TRUE(t.device(k).owns_stream(nullptr));
  EXPECT_FALSE(t.first.stream({nullptr, 0}) == t.first.stream({nullptr, 1})) << "each device has a null stream";
  EXPECT_EQ(t.second.name(), "fake 1");
  EXPECT_EQ(t.second.ordinal(), 1);
}

TEST(FakeDevices, StreamsOfTwoDevicesCanBeOrdered) {
  Two t;
  t.first.launch({nullptr, 1}, {{t.memory[1], 8, true}}, [] {});
  const auto earlier = t.first.unordered_kernels(nullptr, {{t.memory[1], 8, false}});
  ASSERT_EQ(earlier.size(), 1u);
  t.first.order_streams(nullptr, earlier[0]);
  t.first.launch(nullptr, {{t.memory[1], 8, false}}, [] {});
  t.expect_found(0, "");
}

TEST(FakeDevices, TheKthCallOfAllFails) {
  Two t;
  t.first.fail_call(2, FakeDevice::call_record);
  const auto event = t.first.record(t.queue[0]);
  EXPECT_THROW((void)t.second.record(t.queue[1]), DeviceError);
  t.first.release(event);
  t.expect_found(0, "");
}

TEST(FakeDevices, ACallOfTheDeviceThatWasAskedForFailsAndNamesIt) {
  Two t;
  t.first.fail_call(1, FakeDevice::call_record, 1);
  const auto event = t.first.record(t.queue[0]);
  try {
    (void)t.second.record(t.queue[1]);
    ADD_FAILURE() << "it has not failed";
  } catch (const DeviceError& e) {
    EXPECT_STREQ(e.what(), "fake device 1: injected: record");
  }
  EXPECT_EQ(t.first.failed, "record");
  t.first.release(event);
  t.expect_found(0, "");
}

/// Two slots of eight bytes, as an engine would have made them: 0 on the host, 1 on the device.
struct Replayed {
  Replayed() {
    allocate(host, host_space, 0, true);
    allocate(device, device_space(0), 1, false);
  }
  void allocate(std::vector<std::byte>& memory, SpaceId space, std::uint32_t slot, bool zeros) {
    plan::Step s = step(plan::Step::Kind::allocate, end(memory, space, slot));
    s.zeros = zeros;
    replay.done(s);
  }
  static plan::End end(std::vector<std::byte>& memory, SpaceId space, std::uint32_t slot) {
    plan::End e;
    e.space = space;
    e.slot = SlotId{slot};
    e.address = memory.data();
    return e;
  }
  static plan::Step step(plan::Step::Kind kind, const plan::End& to) {
    plan::Step s;
    s.kind = kind;
    s.to = to;
    s.bytes = 8;
    return s;
  }
  plan::Step copy_to_device() {
    plan::Step s = step(plan::Step::Kind::copy, end(device, device_space(0), 1));
    s.from = end(host, host_space, 0);
    return s;
  }
  void map() { replay.done(step(plan::Step::Kind::map, end(device, device_space(0), 1))); }
  Found found;
  std::vector<std::byte> host = std::vector<std::byte>(8);
  std::vector<std::byte> device = std::vector<std::byte>(8, std::byte{9});
  Replay replay{found.sink()};
};

TEST(Replay, KnowsWhatTheStepsLeave) {
  Replayed r;
  r.map();
  r.replay.compare();
  EXPECT_TRUE(r.found.texts.empty()) << "nobody knows what new device memory holds";
  r.replay.done(r.copy_to_device());
  r.replay.compare();
  ASSERT_EQ(r.found.texts.size(), 1u) << "the device does not hold the zeros that were copied";
  std::fill(r.device.begin(), r.device.end(), std::byte{0});
  r.replay.compare();
  EXPECT_EQ(r.found.texts.size(), 1u);
  EXPECT_EQ(r.replay.counted().h2d.bytes, 8u);
  EXPECT_EQ(r.replay.counted().h2d.count, 1u);
}

TEST(Replay, KnowsWhatTheProgramWrites) {
  Replayed r;
  r.map();
  r.replay.program_writes(SlotId{1}, {2, 4}, [](std::uint64_t i) { return static_cast<std::byte>(i); });
  r.replay.compare();
  EXPECT_EQ(r.found.texts.size(), 1u);
  r.device[2] = std::byte{2};
  r.device[3] = std::byte{3};
  r.replay.compare();
  EXPECT_EQ(r.found.texts.size(), 1u);
}

TEST(Replay, RefusesStepsOnMemoryThatIsNotThere) {
  Replayed r;
  r.replay.done(r.copy_to_device());
  EXPECT_EQ(r.found.texts.size(), 1u) << "not mapped";
  r.map();
  r.map();
  EXPECT_EQ(r.found.texts.size(), 2u) << "mapped twice";
  r.replay.done(Replayed::step(plan::Step::Kind::release, Replayed::end(r.device, device_space(0), 1)));
  r.replay.done(r.copy_to_device());
  EXPECT_EQ(r.found.texts.size(), 3u) << "released";
}

TEST(Replay, ExpectsNothingWhereAStepWasRefused) {
  Replayed r;
  r.map();
  r.replay.done(r.copy_to_device());
  r.replay.refused(r.copy_to_device());
  r.replay.compare();
  EXPECT_TRUE(r.found.texts.empty());
}

}  // namespace
}  // namespace semcache::fakes
