// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/emulated/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// All figures are sums of powers of two, so times are compared exactly.
namespace semcache::device::testing {
namespace {

constexpr int host = MachineModel::host;
constexpr SpaceId first = device_space(0), second = device_space(1);

/// Links of 64 bytes per second with a latency of 2 s, peers of 256, memory of 1024; a kernel costs 1 s beside its bytes.
MachineModel model() {
  MachineModel m;
  m.link.of_all = 64;
  m.peer.of_all = 256;
  m.latency.of_all = 2;
  m.memory.of_all = 1024;
  m.launch.of_all = 1;
  return m;
}

/// The clock of two devices, with two queues on the first and one on the second.
struct Machine {
  explicit Machine(const MachineModel& m = model()) : clock(m, {0, 1}) {}
  VirtualClock clock;
  VirtualClock::Queue a = clock.add_queue(first), b = clock.add_queue(first), c = clock.add_queue(second);
};

double seconds_of(const std::vector<VirtualTimes::Busy>& all, const std::string& name) {
  for (const VirtualTimes::Busy& one : all) {
    if (one.name == name) return one.seconds;
  }
  return -1;
}

TEST(MachineModel, TheMostSpecificFigureCounts) {
  MachineModel::Figure f;
  EXPECT_EQ(f.of(0, 5), 5);
  EXPECT_EQ(f.of({host, 0}, 5), 5);
  f.of_all = 1;
  f.of_device[3] = 2;
  f.of_link[{host, 3}] = 4;
  EXPECT_EQ(f.of(0, 5), 1);
  EXPECT_EQ(f.of(3, 5), 2);
  EXPECT_EQ(f.of({host, 0}, 5), 1);
  EXPECT_EQ(f.of({host, 3}, 5), 4);
  EXPECT_EQ(f.of({3, host}, 5), 2);
  f.of_device[6] = 8;
  EXPECT_EQ(f.of({host, 6}, 5), 8);
  EXPECT_EQ(f.of({6, host}, 5), 8);
  EXPECT_EQ(f.of({0, 6}, 5), 1) << "a device's figure is that of its links to the host";
  EXPECT_EQ(f.of({6, 0}, 5), 1);
}

TEST(VirtualClock, ATransferTakesTheLatencyAndItsBytes) {
  Machine m;
  EXPECT_EQ(m.clock.transfer(m.a, host_space, first, 64), 3);
  EXPECT_EQ(m.clock.times().seconds, 3);
  EXPECT_EQ(m.clock.host(), 0) << "the host does not wait";
  EXPECT_EQ(m.clock.transfer(m.a, first, second, 256), 6);
  EXPECT_EQ(m.clock.transfer(m.a, first, first, 512), 8) << "it reads and writes them";
  m.clock.compute(m.a, 1024);
  EXPECT_EQ(m.clock.times().seconds, 10);
}

TEST(VirtualClock, WhatNothingIsSaidAboutCostsNothing) {
  Machine m{MachineModel{}};
  EXPECT_EQ(m.clock.transfer(m.a, host_space, first, 1 << 20), 0);
  EXPECT_EQ(m.clock.transfer(m.a, first, second, 1 << 20), 0);
  m.clock.compute(m.a, 1 << 20);
  EXPECT_EQ(m.clock.times().seconds, 0);
}

TEST(VirtualClock, LinksOfTheirOwnOverlapAndASharedOneDoesNot) {
  struct Case {
    const char* what;
    std::vector<std::vector<MachineModel::Link>> shared;
    SpaceId from, to;  ///< of the second transfer, on the other device's queue
    double end;
  };
  const Case table[] = {
      {"two devices", {}, host_space, second, 3},
      {"two devices behind one switch", {{{host, 0}, {host, 1}}}, host_space, second, 6},
      {"both directions", {}, first, host_space, 3},
      {"both directions of a half-duplex link", {{{host, 0}, {0, host}}}, first, host_space, 6},
      {"the same link", {}, host_space, first, 6},
      {"a group of other links", {{{host, 1}, {0, host}}}, host_space, second, 3},
      {"two groups", {{{0, host}, {1, host}}, {{host, 0}, {1, 0}, {host, 1}}}, host_space, second, 6},
      {"a link beside a group", {{{host, 0}, {host, 1}}}, first, host_space, 3},
      {"a group with devices that are not used", {{{host, 7}, {host, 1}}}, host_space, second, 3},
  };
  for (const Case& c : table) {
    MachineModel shared = model();
    shared.shared = c.shared;
    Machine m(shared);
    EXPECT_EQ(m.clock.transfer(m.a, host_space, first, 64), 3) << c.what;
    EXPECT_EQ(m.clock.transfer(c.to == second ? m.c : m.b, c.from, c.to, 64), c.end) << c.what;
    EXPECT_EQ(m.clock.times().seconds, c.end) << c.what;
  }
}

TEST(VirtualClock, ALinkHasItsOwnSpeedInEachDirection) {
  MachineModel fast = model();
  fast.link.of_link[{host, 0}] = 128;
  fast.latency.of_link[{1, 0}] = 0;
  Machine m(fast);
  EXPECT_EQ(m.clock.transfer(m.a, host_space, first, 128), 3);
  EXPECT_EQ(m.clock.transfer(m.b, first, host_space, 128), 4);
  EXPECT_EQ(m.clock.transfer(m.c, second, first, 256), 1);
}

TEST(VirtualClock, ADeviceDoesOneThingAtATime) {
  Machine m;
  m.clock.compute(m.a, 1024);
  m.clock.compute(m.b, 1024);
  m.clock.compute(m.c, 1024);
  m.clock.host_waits_for_queue(m.c);
  EXPECT_EQ(m.clock.host(), 2);
  m.clock.host_waits_for_queue(m.b);
  EXPECT_EQ(m.clock.host(), 4);
}

TEST(VirtualClock, ADevicesOwnWorkLeavesItsLinksFree) {
  Machine m;
  m.clock.compute(m.a, 4096);
  EXPECT_EQ(m.clock.transfer(m.b, host_space, first, 64), 3);
}

TEST(VirtualClock, EventsOrderQueuesOfDifferentDevices) {
  Machine m;
  m.clock.transfer(m.a, host_space, first, 64);  // until 3
  const EventId early = m.clock.record(m.a);
  m.clock.transfer(m.a, host_space, first, 64);  // until 6
  const EventId late = m.clock.record(m.a);
  EXPECT_NE(early, late);
  EXPECT_NE(early, 0u);

  m.clock.wait(m.c, early);
  m.clock.compute(m.c, 0);
  EXPECT_EQ(m.clock.transfer(m.c, second, host_space, 64), 7) << "begins behind the first transfer and the kernel";
  m.clock.wait(m.c, early);
  EXPECT_EQ(m.clock.transfer(m.c, second, first, 256), 10) << "an event of the past changes nothing";

  m.clock.host_waits_for(late);
  EXPECT_EQ(m.clock.host(), 6);
  m.clock.host_waits_for(early);
  EXPECT_EQ(m.clock.host(), 6);
  m.clock.release(late);
  m.clock.wait(m.b, late);
  m.clock.wait(m.b, 0);
  EXPECT_EQ(m.clock.transfer(m.b, first, host_space, 64), 9);
}

TEST(VirtualClock, WorkBeginsNoEarlierThanTheHostSubmitsIt) {
  Machine m;
  m.clock.transfer(m.a, host_space, first, 64);
  m.clock.host_waits_for_queue(m.a);
  EXPECT_EQ(m.clock.host(), 3);
  EXPECT_EQ(m.clock.transfer(m.c, host_space, second, 64), 6) << "its link and its queue were free all the time";
  m.clock.host_waits_until(1);
  EXPECT_EQ(m.clock.host(), 3) << "it never goes back";
  const VirtualClock::Queue later = m.clock.add_queue(second);
  m.clock.host_waits_for_queue(later);
  EXPECT_EQ(m.clock.host(), 3);
  const EventId now = m.clock.record(later);
  m.clock.host_waits_until(4);
  m.clock.wait(m.b, now);
  EXPECT_EQ(m.clock.transfer(m.b, first, host_space, 64), 7);
}

TEST(VirtualClock, TheHostWaitsForAllQueuesOfADeviceAndForNoOthers) {
  Machine m;
  m.clock.transfer(m.a, host_space, first, 64);    // until 3
  m.clock.transfer(m.b, first, host_space, 128);   // until 4
  m.clock.transfer(m.c, host_space, second, 640);  // until 12
  m.clock.host_waits_for_device(first);
  EXPECT_EQ(m.clock.host(), 4);
  EXPECT_EQ(m.clock.times().seconds, 12);
  m.clock.host_waits_until(20);
  EXPECT_EQ(m.clock.times().seconds, 20);
}

TEST(VirtualClock, TellsHowLongEachDeviceAndLinkWasBusy) {
  VirtualClock clock(model(), {4, 2});
  const VirtualClock::Queue a = clock.add_queue(first), b = clock.add_queue(second);
  clock.transfer(a, host_space, first, 64);
  clock.transfer(a, host_space, first, 64);
  clock.transfer(a, first, second, 256);
  clock.compute(b, 1024);
  clock.transfer(b, second, second, 512);

  const VirtualTimes times = clock.times();
  ASSERT_EQ(times.devices.size(), 2u);
  EXPECT_EQ(times.links.size(), 6u);
  EXPECT_EQ(seconds_of(times.devices, "device 4"), 0);
  EXPECT_EQ(seconds_of(times.devices, "device 2"), 4);
  EXPECT_EQ(seconds_of(times.links, "host to device 4"), 6);
  EXPECT_EQ(seconds_of(times.links, "device 4 to device 2"), 3);
  EXPECT_EQ(seconds_of(times.links, "device 2 to device 4"), 0);
  EXPECT_EQ(seconds_of(times.links, "device 2 to host"), 0);
}

// --- emulated devices that keep a virtual time ---------------------------------------------------------------------------

constexpr std::uint64_t page = 64 << 10;  // the granularity

/// Two devices with memory, and a queue each.
class Devices {
 public:
  explicit Devices(MachineModel m = model()) {
    m.link.of_all = page;  // a page takes a second, and its latency
    m.peer.of_all = page;
    m.memory.of_all = 2 * page;
    const auto machine = make_emulated_machine(m, {0, 1});
    for (const int ordinal : {0, 1}) {
      device[ordinal] = make_emulated_device(ordinal, 16 * page, machine);
      std::uint64_t bytes = 4 * page;
      memory[ordinal] = device[ordinal]->reserve(bytes);
      device[ordinal]->map(memory[ordinal], 4 * page);
      queue[ordinal] = device[ordinal]->open_queue();
    }
  }
  ~Devices() {
    for (const int ordinal : {0, 1}) {
      device[ordinal]->unmap(memory[ordinal], 4 * page);
      device[ordinal]->release(memory[ordinal], 4 * page);
    }
  }
  [[nodiscard]] double seconds() const { return device[0]->virtual_times()->seconds; }

  std::unique_ptr<Device> device[2];
  std::byte* memory[2];
  QueueId queue[2];
  std::vector<std::byte> host = std::vector<std::byte>(4 * page, std::byte{7});
};

TEST(EmulatedMachine, DevicesWithoutAModelKeepNoVirtualTime) {
  const auto device = make_emulated_device(0, page);
  EXPECT_FALSE(device->virtual_times().has_value());
  EXPECT_THROW((void)make_emulated_device(2, page, make_emulated_machine(MachineModel{}, {0, 1})), UsageError);
}

TEST(EmulatedMachine, CopiesAndFillsTakeTheirTime) {
  Devices d;
  d.device[0]->copy_to_device(d.queue[0], d.memory[0], d.host.data(), page);
  EXPECT_EQ(d.seconds(), 3);
  d.device[0]->copy_within_device(d.queue[0], d.memory[0] + page, d.memory[0], page);
  EXPECT_EQ(d.seconds(), 5);
  const std::byte zero{0};
  d.device[0]->fill(d.queue[0], d.memory[0], 2 * page, &zero, 1);
  EXPECT_EQ(d.seconds(), 7);
  d.device[0]->copy_within_device(d.queue[0], d.memory[1], d.memory[0] + page, page);
  EXPECT_EQ(d.seconds(), 10) << "to the other device";
  d.device[1]->copy_from_device(d.queue[1], d.host.data(), d.memory[1], page);
  EXPECT_EQ(d.seconds(), 10) << "on a queue that waits for nobody";
  d.device[0]->copy_to_device(d.queue[0], d.memory[0], d.host.data(), 0);
  EXPECT_EQ(d.seconds(), 10) << "no bytes, no transfer";
  EXPECT_EQ(seconds_of(d.device[1]->virtual_times()->links, "device 1 to host"), 3);
}

TEST(EmulatedMachine, ADigestIsWaitedFor) {
  Devices d;
  (void)d.device[0]->digest(d.queue[0], d.memory[0], 2 * page);
  EXPECT_EQ(d.seconds(), 2);
  d.device[1]->copy_to_device(d.queue[1], d.memory[1], d.host.data(), page);
  EXPECT_EQ(d.seconds(), 5);
}

TEST(EmulatedMachine, ColumnsAreOneTransfer) {
  Devices d;
  for (std::size_t i = 0; i < d.host.size(); ++i) d.host[i] = static_cast<std::byte>(i / 100);
  d.device[0]->copy_columns(d.queue[0], Device::Direction::to_device, d.memory[0], page / 4, d.host.data(), page, page / 4, 4);
  EXPECT_EQ(d.seconds(), 3);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(std::memcmp(d.memory[0] + c * (page / 4), d.host.data() + c * page, page / 4), 0) << c;
  }
  d.device[0]->host_needs(d.host.data() + 3 * page + page / 4 - 1, 1, Access::write);
  d.device[1]->copy_to_device(d.queue[1], d.memory[1], d.host.data(), page);
  EXPECT_EQ(d.seconds(), 6) << "the host has waited for the last column";
  d.device[1]->copy_columns(d.queue[1], Device::Direction::to_device, d.memory[1], page, d.host.data(), page, 0, 3);
  EXPECT_EQ(d.seconds(), 6);
}

TEST(EmulatedMachine, EventsAndWaitsAreTheDevices) {
  Devices d;
  d.device[0]->copy_to_device(d.queue[0], d.memory[0], d.host.data(), page);  // until 3
  const EventId event = d.device[0]->record(d.queue[0]);
  d.device[1]->wait(d.queue[1], event);
  d.device[1]->copy_to_device(d.queue[1], d.memory[1], d.host.data(), page);
  EXPECT_EQ(d.seconds(), 6);
  EXPECT_TRUE(d.device[0]->complete(event));
  const EventId now = d.device[0]->record(d.device[0]->open_queue());
  d.device[0]->synchronize(now);
  d.device[0]->copy_from_device(d.device[0]->open_queue(), d.host.data(), d.memory[0], page);
  EXPECT_EQ(d.seconds(), 6) << "began at 3, because the host knew that the event was complete";
  d.device[1]->synchronize_queue(d.queue[1]);
  d.device[0]->copy_from_device(d.queue[0], d.host.data(), d.memory[0], page);
  EXPECT_EQ(d.seconds(), 9);
  d.device[0]->synchronize_device();
  d.device[1]->copy_from_device(d.queue[1], d.host.data(), d.memory[1], page);
  EXPECT_EQ(d.seconds(), 12);
}

TEST(EmulatedMachine, TheHostWaitsForTransfersOfTheMemoryThatItNeeds) {
  struct Case {
    const char* what;
    std::size_t at;
    bool writes;
    double end;  ///< of a transfer that is submitted then, on links that are free
  };
  const Case table[] = {
      {"what arrives is read", 0, false, 6},           {"what arrives is written", 0, true, 6}, {"what leaves is read", page, false, 3},
      {"what leaves is written", page, true, 7}, {"something else is written", 3 * page, true, 3},
  };
  for (const Case& c : table) {
    Devices d;
    d.device[0]->copy_from_device(d.queue[0], d.host.data(), d.memory[0], page);                        // until 3
    d.device[0]->copy_to_device(d.device[0]->open_queue(), d.memory[0], d.host.data() + page, 2 * page);  // until 4
    d.device[1]->host_needs(d.host.data() + c.at, 1, c.writes ? Access::write : Access::read);
    d.device[1]->copy_to_device(d.queue[1], d.memory[1], d.host.data() + page, page);
    EXPECT_EQ(d.seconds(), std::max(c.end, 4.0)) << c.what;
  }
}

TEST(EmulatedMachine, AHostThatNeverWaitsGetsOnlySoFarAhead) {
  constexpr double short_time = 1.0 / 1024;
  MachineModel m = model();
  m.link.of_device[0] = 1e300;
  m.latency.of_device[0] = short_time;
  for (const bool too_far : {false, true}) {
    Devices d(m);
    for (int i = 0; i < (too_far ? 4097 : 4096); ++i) d.device[0]->note_copy(d.queue[0], d.memory[0], d.host.data(), 1, 1);
    d.device[1]->note_copy(d.queue[1], d.memory[1], d.host.data(), 4 * page, 4 * page);
    EXPECT_EQ(d.seconds(), 6 + (too_far ? short_time : 0)) << "begins when the first of the others has ended, if there are too many";
  }
}

TEST(EmulatedMachine, DevicesThatDoNotReachEachOtherCopyOverTheHost) {
  Devices d;
  d.device[0]->share_with({d.device[1].get()}, Device::PeerUse::refused);
  d.device[1]->copy_within_device(d.queue[1], d.memory[1], d.memory[0], page);
  EXPECT_EQ(d.seconds(), 6);
  const VirtualTimes times = *d.device[0]->virtual_times();
  EXPECT_EQ(seconds_of(times.links, "device 0 to host"), 3);
  EXPECT_EQ(seconds_of(times.links, "host to device 1"), 3);
  EXPECT_EQ(seconds_of(times.links, "device 0 to device 1"), 0);
}

TEST(EmulatedMachine, MemoryIsADevicesAsLongAsItHasIt) {
  Devices d;
  std::byte* const message = d.device[0]->allocate(page);
  d.device[0]->note_copy(d.queue[0], message, d.host.data(), page, page);
  EXPECT_EQ(d.seconds(), 3);
  d.device[0]->deallocate(message);
  d.device[0]->note_copy(d.queue[0], message, d.host.data(), page, page);
  EXPECT_EQ(d.seconds(), 3) << "no transfer within the host's memory";
  d.device[0]->unmap(d.memory[0], 4 * page);
  d.device[0]->note_copy(d.queue[0], d.memory[0], d.host.data(), page, page);
  EXPECT_EQ(d.seconds(), 3);
  d.device[0]->map(d.memory[0], 4 * page);
  d.device[0]->note_copy(d.queue[0], d.memory[0] + 4 * page - 1, d.host.data(), page, page);
  EXPECT_EQ(d.seconds(), 6);
  d.device[0]->note_kernel(d.queue[0], 2 * page);
  EXPECT_EQ(d.seconds(), 8);
}

}  // namespace
}  // namespace semcache::device::testing
