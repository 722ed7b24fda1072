// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>
#include <fakes/replay.hpp>

#include <gtest/gtest.h>

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
