// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

/// Arrays, launches and copies of a process with several devices: which bytes cross which link, what waits for what, and what is
/// refused.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using Columns = engine::Copies::Columns;
using Stream = FakeDevice::Stream;

char keys[140];
const Stream zero{&keys[0], 0}, one{&keys[1], 1}, two{&keys[2], 2};
const std::uint64_t page = page_bytes();
const std::uint64_t size = 5 * page + 100;

struct Devices : Program {
  static Options options(unsigned count, bool peer_access = true) {
    Options o = defaults();
    o.devices = count;
    o.device.peer_access = peer_access;
    return o;
  }
  explicit Devices(unsigned count, bool peer_access = true) : Program(options(count, peer_access)) {}
  explicit Devices(const Options& options) : Program(options) {}

  /// Copies one array to another and asks for the content there.
  void copy_and_use(Memory& to, Memory& from, std::uint64_t seed, const Stream& stream) {
    copy(to, from);
    expect_device(to, to.all(), seed, stream);
  }
};

TEST(SeveralDevices, ContentCrossesThePeerLinkOnceAndAsLateAsPossible) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  p.kernel_write(zero, a, a.all(), 1);

  p.copy(b, a);
  EXPECT_EQ(p.counters().between_devices.bytes, 0u);
  p.expect_device(b, b.all(), 1, one);
  p.expect_device(b, b.all(), 1, one);

  const Counters c = p.counters();
  EXPECT_EQ(c.between_devices.bytes, size);
  EXPECT_EQ(c.between_devices.count, 1u);
  EXPECT_EQ(c.d2d.bytes, size);
  EXPECT_EQ(c.h2d.bytes + c.d2h.bytes, 0u);
  EXPECT_EQ(c.peer_launches, 0u);
}

TEST(SeveralDevices, WithoutPeerAccessContentCrossesBothHostLinks) {
  Devices p(2, false);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  p.kernel_write(zero, a, a.all(), 1);

  p.copy_and_use(b, a, 1, one);

  const Counters c = p.counters();
  EXPECT_EQ(c.d2h.bytes, size);
  EXPECT_EQ(c.h2d.bytes, size);
  EXPECT_EQ(c.d2d.bytes + c.between_devices.bytes, 0u);
}

TEST(SeveralDevices, WithoutPeerAccessALargeArrayPassesThroughTwoBuffers) {
  Devices::Options o = Devices::options(2, false);
  o.device.arena_bytes = std::uint64_t{512} << 20;
  o.engine.device_memory_bytes = std::uint64_t{128} << 20;
  Devices p(o);
  constexpr std::uint64_t large = 9 * engine::Executor::over_host_bytes / 2 + 12345;
  Memory& a = p.on_device(large);
  Memory& b = p.on_device(large, 1);
  p.kernel_write(zero, a, a.all(), 1);

  p.copy_and_use(b, a, 1, one);

  EXPECT_EQ(p.counters().h2d.bytes, large);
  EXPECT_EQ(p.counters().h2d.count, 1u);
}

TEST(SeveralDevices, ColumnsCrossAlone) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Devices p(2, peer_access);
    const std::uint64_t rows = 2 * page, columns = 6;
    Memory& a = p.on_device(rows * columns);
    Memory& b = p.on_device(rows * columns, 1);
    p.kernel_write(zero, a, a.all(), 1);
    p.kernel_write(one, b, b.all(), 2);

    p.engine().copies.copy(b.address, a.address, Columns{page, columns, rows, rows});
    const std::vector<std::byte> seen = p.device_content(one, b);

    for (std::uint64_t i = 0; i < b.bytes; ++i) ASSERT_EQ(seen[i], Machine::mix(i % rows < page ? 1 : 2, i)) << i;
    const Counters c = p.counters();
    EXPECT_EQ(peer_access ? c.between_devices.bytes : c.h2d.bytes, page * columns);
    EXPECT_EQ(p.engine().state().directory.wanted(b.datum).extent_count(), 2u) << "the half and the rest";
  }
}

TEST(SeveralDevices, HalfOfTheRowsToDeviceOneAndBack) {
  Devices p(2);
  const std::uint64_t rows = 2 * page, columns = 20;
  Memory& d = p.on_device(rows * columns, 1);
  Memory& h = p.on_host(rows * columns);
  p.kernel_write(one, d, d.all(), 1);
  p.host_write(h, h.all(), 2);
  const Columns half{page, columns, rows, rows};
  /// The half is one extent in each of the two maps of the array, and the rest another one.
  const auto expect_one_record = [&](Memory& m) {
    const directory::Directory& maps = p.engine().state().directory;
    EXPECT_EQ(maps.wanted(m.datum).extent_count(), 2u);
    EXPECT_EQ(maps.held(m.slot).extent_count(), 2u);
  };

  p.engine().copies.copy(d.address, h.address, half);
  (void)p.device_content(one, d);
  EXPECT_EQ(p.counters().h2d.bytes, page * columns);
  EXPECT_EQ(p.counters().h2d.count, 1u);
  expect_one_record(d);

  p.host_write(h, {3 * rows + 5, 3 * rows + 6}, 3);
  p.engine().copies.copy(d.address, h.address, half);
  (void)p.device_content(one, d);
  EXPECT_EQ(p.counters().h2d.bytes, page * columns + page) << "the page of one element";

  p.kernel_write(one, d, d.all(), 4);
  p.engine().copies.copy(h.address, d.address, half);
  EXPECT_EQ(p.counters().d2h.bytes, 0u) << "nobody has read it yet";
  for (std::uint64_t c = 0; c < columns; ++c) {
    p.expect_host(h, {c * rows, c * rows + page}, 4);
    p.expect_host(h, {c * rows + page, (c + 1) * rows}, 2);
  }
  EXPECT_EQ(p.counters().d2h.bytes, page * columns) << "the half alone came back";
  EXPECT_EQ(p.counters().h2d.bytes, page * columns + page);
  expect_one_record(h);
}

TEST(SeveralDevices, TheNearestHolderIsTheSource) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Devices p(2, peer_access);
    Memory& a = p.on_device(size);
    Memory& h = p.on_host(size);
    Memory& b = p.on_device(size, 1);
    p.kernel_write(zero, a, a.all(), 1);
    p.copy(h, a);
    p.expect_host(h, 1);
    const Counters before = p.counters();

    p.copy_and_use(b, a, 1, one);

    const Counters c = p.counters();
    EXPECT_EQ(c.between_devices.bytes, peer_access ? size : 0u);
    EXPECT_EQ(c.h2d.bytes, peer_access ? 0u : size) << "the host has it";
    EXPECT_EQ(c.d2h.bytes, before.d2h.bytes);
  }
}

TEST(SeveralDevices, AKernelUsesAnArrayOfAnotherDevice) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& h = p.on_host(size, &a);
  p.host_write(h, h.all(), 1);

  p.expect_device(a, a.all(), 1, one);
  EXPECT_EQ(p.counters().peer_launches, 1u);
  EXPECT_EQ(p.counters().between_devices.bytes, 0u) << "the kernel reaches it where it is";
  p.kernel_write(one, a, {10, 20}, 2);
  EXPECT_EQ(p.counters().peer_launches, 2u);

  p.expect_host(h, {10, 20}, 2);
  p.expect_host(h, {20, size}, 1);
  p.expect_device(a, {10, 20}, 2, zero);
  EXPECT_EQ(p.counters().peer_launches, 2u);
}

/// The array needs nothing for launches on its own device. A launch from the other one must still wait for its arrival.
TEST(SeveralDevices, FlagsSpeakOfTheArraysOwnDevice) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& h = p.on_host(size, &a);
  p.host_write(h, h.all(), 1);
  const engine::QueueIndex other = p.queue(&keys[1], 1);
  const Operand reads{&a, false};
  p.engine().launches.begin_launch(p.queue(&keys[0], 0), &reads, 1);  // the transfer to `a` is under way, and ordered for device 0
  p.device().launch(zero, Machine::touches({reads}), [] {});
  p.engine().launches.end_launch(p.queue(&keys[0], 0), &reads, 1);
  EXPECT_TRUE(engine::ready(reads));

  p.engine().launches.begin_launch(other, &reads, 1);
  p.device().launch(one, Machine::touches({reads}), [] {});  // reports a race if it is not ordered
  p.engine().launches.end_launch(other, &reads, 1);
}

TEST(SeveralDevices, WithoutPeerAccessAKernelIsRefusedBeforeItIsLaunched) {
  Devices p(2, false);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(a, h);
  const Counters before = p.counters();
  const Operand operands[] = {{&b, true}, {&a, true}};

  try {
    p.engine().launches.begin_launch(p.queue(&keys[1], 1), operands, 2);
    FAIL() << "a kernel on device 1 would use memory that it cannot reach";
  } catch (const UsageError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("device array"), std::string::npos) << text;
    EXPECT_NE(text.find("device 1 (fake 1)"), std::string::npos) << text;
    EXPECT_NE(text.find("device 0 (fake 0)"), std::string::npos) << text;
    EXPECT_NE(text.find("semcache::on(0)"), std::string::npos) << text;
  }

  EXPECT_EQ(p.counters().h2d.bytes, before.h2d.bytes);
  EXPECT_EQ(a.pins.load() + b.pins.load(), 0u);
  p.expect_device(a, a.all(), 1, zero);
}

TEST(SeveralDevices, PeerAccessCanBeSwitchedOff) {
  Devices::Options o = Devices::options(2);
  o.engine.peer_access = engine::PeerAccess::off;
  Devices p(o);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  p.kernel_write(zero, a, a.all(), 1);
  p.copy_and_use(b, a, 1, one);
  EXPECT_EQ(p.counters().h2d.bytes, size);
  EXPECT_THROW(p.kernel_write(zero, b, b.all(), 2), UsageError);
}

TEST(SeveralDevices, CopiesInBothDirectionsWhileKernelsWrite) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  Memory& from_a = p.on_device(size, 1);
  Memory& from_b = p.on_device(size);
  for (std::uint64_t round = 1; round <= 6; ++round) {
    p.kernel_write(zero, a, a.all(), 10 * round);
    p.kernel_write(one, b, b.all(), 10 * round + 1);
    p.copy(from_a, a);
    p.copy(from_b, b);
    std::vector<std::byte> there, here;
    p.kernel_read(one, from_a, there);
    p.kernel_read(zero, from_b, here);
    p.kernel_write(zero, a, a.all(), 10 * round + 2);  // what the copies read must stay until they are done
    p.kernel_write(one, b, b.all(), 10 * round + 3);
    p.device(0).synchronize_device();
    p.device(1).synchronize_device();
    Program::expect(there, {0, size}, 10 * round, "device 1");
    Program::expect(here, {0, size}, 10 * round + 1, "device 0");
  }
  EXPECT_EQ(p.counters().h2d.bytes + p.counters().d2h.bytes, 0u);
}

TEST(SeveralDevices, AnArrayIsFreedWhileItsPeerCopyIsInFlight) {
  Devices p(2);
  Memory& b = p.on_device(size, 1);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    Memory& a = p.on_device(size);
    p.kernel_write(zero, a, a.all(), round);
    p.copy(b, a);
    std::vector<std::byte> seen;
    p.kernel_read(one, b, seen);
    p.free(a);
    p.device(1).synchronize_device();
    Program::expect(seen, {0, size}, round, "device 1");
  }
  Memory& a = p.on_device(size);
  p.kernel_write(zero, a, a.all(), 9);
  p.copy(b, a);
  p.free(a);  // its content is still wanted, so its memory stays as a saved copy
  p.expect_device(b, b.all(), 9, one);
}

TEST(SeveralDevices, TheTargetOfACopyIsFreedWhileItIsInFlight) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Devices p(2, peer_access);
    Memory& a = p.on_device(size);
    for (std::uint64_t round = 1; round <= 4; ++round) {
      Memory& b = p.on_device(size, 1);
      p.kernel_write(zero, a, a.all(), round);
      p.copy(b, a);
      std::vector<std::byte> seen;
      p.kernel_read(one, b, seen);
      p.free(b);
      p.kernel_write(zero, a, a.all(), 10 + round);
      p.device(1).synchronize_device();
      Program::expect(seen, {0, size}, round, "device 1");
      p.expect_device(a, a.all(), 10 + round, zero);
    }
  }
}

TEST(SeveralDevices, OneDeviceIsFullAndTheOtherIsNot) {
  Devices::Options o = Devices::options(2);
  const std::uint64_t granule = o.device.granularity_bytes;
  o.engine.device_budgets = {4 * granule, 64 * granule};
  Devices p(o);
  std::vector<Memory*> far;
  for (int i = 0; i < 8; ++i) {
    far.push_back(&p.on_device(granule, 1));
    p.kernel_write(one, *far.back(), far.back()->all(), 100 + static_cast<std::uint64_t>(i));
  }
  std::vector<Memory*> near;
  for (int i = 0; i < 8; ++i) {
    near.push_back(&p.on_device(granule));
    p.kernel_write(zero, *near.back(), near.back()->all(), 200 + static_cast<std::uint64_t>(i));
  }
  EXPECT_GE(p.counters().evictions, 4u);
  for (Memory* m : far) EXPECT_TRUE(engine::State::is_resident(*m)) << "evicted for another device's sake";
  for (std::uint64_t i = 0; i < 8; ++i) {
    p.expect_device(*far[i], far[i]->all(), 100 + i, one);
    p.expect_device(*near[i], near[i]->all(), 200 + i, zero);
  }
  try {
    (void)p.on_device(5 * granule);
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.budget_bytes(), 4 * granule);
    EXPECT_NE(std::string(e.what()).find("device 0"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW((void)p.on_device(5 * granule, 1));
}

TEST(SeveralDevices, AnEvictedArrayWhoseContentAnotherDeviceHoldsIsNotSaved) {
  Devices::Options o = Devices::options(2);
  const std::uint64_t granule = o.device.granularity_bytes;
  o.engine.device_budgets = {3 * granule, 64 * granule};
  Devices p(o);
  Memory& a = p.on_device(granule);
  Memory& b = p.on_device(granule, 1);
  p.kernel_write(zero, a, a.all(), 1);
  p.copy_and_use(b, a, 1, one);
  Memory& other = p.on_device(2 * granule);
  p.kernel_write(zero, other, other.all(), 2);
  EXPECT_EQ(p.counters().evictions, 1u);
  EXPECT_EQ(p.counters().saved_link.bytes, 0u) << "device 1 has the content";
  p.expect_device(a, a.all(), 1, zero);
  EXPECT_EQ(p.counters().between_devices.bytes, 2 * granule);
}

/// Nobody has fetched the content yet when the only device that holds it needs the memory.
TEST(SeveralDevices, AnEvictedArrayThatAnotherDeviceAndTheHostWantIsSavedOnce) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Devices::Options o = Devices::options(2, peer_access);
    const std::uint64_t granule = o.device.granularity_bytes;
    o.engine.device_budgets = {3 * granule, 64 * granule};
    Devices p(o);
    Memory& a = p.on_device(granule);
    Memory& b = p.on_device(granule, 1);
    Memory& h = p.on_host(granule);
    p.kernel_write(zero, a, a.all(), 1);
    p.copy(b, a);
    p.copy(h, a);
    Memory& other = p.on_device(2 * granule);
    p.kernel_write(zero, other, other.all(), 2);
    EXPECT_FALSE(engine::State::is_resident(a));
    const auto saved = p.counters();
    EXPECT_EQ(saved.d2h.bytes + saved.between_devices.bytes, granule) << "its content has left the device once";
    p.expect_device(b, b.all(), 1, one);
    p.expect_host(h, 1);
    p.expect_device(other, other.all(), 2, zero);
    EXPECT_EQ(p.counters().d2h.bytes, granule) << "the host has taken what was saved";
    p.expect_device(a, a.all(), 1, zero);
  }
}

/// To make room for what the other device holds, each of them must give up what the other one wants.
TEST(SeveralDevices, FullDevicesWantEachOthersContent) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Devices::Options o = Devices::options(2, peer_access);
    const std::uint64_t granule = o.device.granularity_bytes;
    o.engine.device_budgets = {3 * granule, 3 * granule};
    Devices p(o);
    Memory& here = p.on_device(2 * granule);
    Memory& there = p.on_device(2 * granule, 1);
    Memory& of_there = p.on_device(2 * granule);
    Memory& of_here = p.on_device(2 * granule, 1);
    for (std::uint64_t round = 1; round <= 3; ++round) {
      p.kernel_write(zero, here, here.all(), 10 * round);
      p.kernel_write(one, there, there.all(), 10 * round + 1);
      p.copy(of_here, here);
      p.copy(of_there, there);
      p.expect_device(of_there, of_there.all(), 10 * round + 1, zero);
      p.expect_device(of_here, of_here.all(), 10 * round, one);
      p.expect_device(here, here.all(), 10 * round, zero);
      p.expect_device(there, there.all(), 10 * round + 1, one);
    }
    EXPECT_GE(p.counters().evictions, 6u);
  }
}

/// A buffer notes one use. Its parts came on the queues of two devices, of which the message must wait for both.
TEST(SeveralDevices, AMessageOfBytesFromTwoDevicesIsComplete) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  p.kernel_write(zero, a, a.all(), 1);
  p.kernel_write(one, b, b.all(), 2);
  Memory& both = p.on_device(2 * size);
  p.engine().copies.copy(both.address, a.address, size);
  p.engine().copies.copy(both.address + size, b.address, size);
  engine::TransitBuffer* buffer = p.engine().buffers.take(2 * size, base::Side::host);
  const ByteRange all{0, 2 * size};

  p.engine().foreign_io.read_out(both, 0, &all, 1, *buffer, buffer->address);
  p.engine().foreign_io.settle_buffer(*buffer);

  p.device().check_host_access(buffer->address, 2 * size, true);
  for (std::uint64_t i = 0; i < size; ++i) {
    ASSERT_EQ(buffer->address[i], Machine::mix(1, i));
    ASSERT_EQ(buffer->address[size + i], Machine::mix(2, i));
  }
  p.engine().buffers.give(buffer);
}

TEST(SeveralDevices, ACopyThroughTheHostThatIsRefusedHalfWayLeavesNothingUnderWay) {
  Devices p(2, false);
  Memory& b = p.on_device(size, 1);
  p.kernel_write(one, b, b.all(), 1);
  std::byte* const foreign = p.device().allocate(size);
  unsigned failures = 0;
  for (std::uint64_t k = 1;; ++k) {
    p.device().fail_call(k, FakeDevice::call_all);
    try {
      p.engine().copies.copy(b.address, foreign, size);
    } catch (const Error&) {
      ++failures;
    }
    const bool fired = !p.device().failure_pending();
    p.device().fail_call(0, 0);
    p.device().check_host_access(foreign, size, true);  // the program may change it now
    p.engine().audit();
    if (!fired) break;
  }
  EXPECT_GE(failures, 3u);
  p.device().deallocate(foreign);
}

TEST(SeveralDevices, AnUnknownLaunchMakesArraysOfAllDevicesRight) {
  Devices p(3);
  std::vector<Memory*> arrays;
  std::vector<Memory*> mirrors;
  for (std::uint32_t d = 0; d < 3; ++d) {
    arrays.push_back(&p.on_device(size, d));
    mirrors.push_back(&p.on_host(size, arrays.back()));
    p.host_write(*mirrors.back(), {0, size}, d + 1);
  }
  std::vector<Operand> pinned;
  p.engine().launches.begin_unknown_launch(p.queue(&keys[1], 1), pinned);
  std::vector<Operand> used;
  for (Memory* m : arrays) used.push_back({m, true});
  p.device().launch(one, Machine::touches(used), [&arrays] {
    for (std::size_t d = 0; d < arrays.size(); ++d) {
      for (std::uint64_t i = 0; i < size; ++i) {
        if (arrays[d]->address[i] == Machine::mix(d + 1, i)) arrays[d]->address[i] = Machine::mix(d + 11, i);
      }
    }
  });
  p.engine().launches.end_launch(p.queue(&keys[1], 1), pinned.data(), pinned.size());
  for (std::uint32_t d = 0; d < 3; ++d) p.expect_host(*mirrors[d], d + 11);
}

/// Work on a stream that nobody knows may be any device's.
TEST(SeveralDevices, AnAnnouncedUseIsWaitedForOnAllDevices) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& h = p.on_host(size, &a);
  p.host_write(h, h.all(), 1);
  p.engine().access(a, a.all(), Access::read_write);
  const Stream raw{&keys[60], 1};
  std::byte* const base = a.address;
  p.device().launch(raw, Machine::touches({{&a, true}}), [base] {
    for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(5, i);
  });
  p.expect_host(h, 5);
}

TEST(SeveralDevices, ManyStreamsAreFollowed) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  Memory& h = p.on_host(size, &a);
  std::set<engine::QueueIndex> queues;
  for (int i = 0; i < 50; ++i) queues.insert(p.queue(&keys[2 + i], static_cast<std::uint32_t>(i % 2)));
  EXPECT_EQ(queues.size(), 50u);
  EXPECT_EQ(queues.count(engine::unknown_queue), 0u);
  Memory& late = p.on_device(size, 1);  // allocated when there are more queues than lie near
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Stream stream{&keys[2 + i], static_cast<std::uint32_t>(i % 2)};
    p.host_write(h, h.all(), 3 * i + 1);
    p.expect_device(a, a.all(), 3 * i + 1, stream);
    p.kernel_write(stream, a, a.all(), 3 * i + 2);
    p.copy(b, a);
    p.copy(late, b);
    p.expect_host(h, 3 * i + 2);
    const Stream other{&keys[2 + (i + 1) % 50], static_cast<std::uint32_t>((i + 1) % 2)};
    p.expect_device(late, late.all(), 3 * i + 2, other);
  }
  for (int i = 50; i < 130; ++i) queues.insert(p.queue(&keys[2 + i], static_cast<std::uint32_t>(i % 2)));
  EXPECT_EQ(queues.count(engine::unknown_queue), 1u) << "beyond the limit a launch waits for all devices";
  const Stream beyond{&keys[139], 0};
  const Operand writes{&a, true};
  p.host_write(h, h.all(), 999);
  p.engine().launches.begin_launch(engine::unknown_queue, &writes, 1);
  std::byte* const base = a.address;
  p.device().launch(beyond, Machine::touches({writes}), [base] {
    for (std::uint64_t i = 0; i < size; ++i) base[i] = base[i] == Machine::mix(999, i) ? Machine::mix(1000, i) : std::byte{0};
  });
  p.engine().launches.end_launch(engine::unknown_queue, &writes, 1);
  p.expect_host(h, 1000);
}

TEST(SeveralDevices, OneToSixteen) {
  for (std::uint32_t count = 1; count <= 16; ++count) {
    SCOPED_TRACE(count);
    Devices p(count);
    ASSERT_EQ(p.engine().state().devices.size(), count);
    for (std::uint32_t d = 0; d < count; ++d) EXPECT_NE(p.engine().adopt_queue(d, nullptr, {}), engine::unknown_queue) << d;
    Memory& h = p.on_host(size);
    p.host_write(h, h.all(), 1);
    Memory* last = &h;
    for (std::uint32_t d = 0; d < count; ++d) {
      Memory& m = p.on_device(size, d);
      EXPECT_EQ(p.engine().state().find(m.address + 7), &m);
      p.copy_and_use(m, *last, 1, {&keys[d], d});
      last = &m;
    }
    EXPECT_EQ(p.counters().h2d.bytes, size);
    EXPECT_EQ(p.counters().between_devices.bytes, (count - 1) * size);
  }
}

TEST(SeveralDevices, EmulatedDevicesHaveGuardedMemoryEach) {
  Devices::Options o = Program::guarded();
  o.devices = 2;
  Devices p(o);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  p.kernel_write(zero, a, a.all(), 1);
  p.copy(b, a);
  std::vector<std::byte> seen(size);
  p.host_read(b, b.all(), seen.data());  // nobody announced it: a fault in the device's memory
  Program::expect(seen, {0, size}, 1, "the host, past device 1,");
  EXPECT_GE(p.faults, 1u);
  EXPECT_EQ(p.counters().between_devices.bytes, size);
}

/// The flags of `x` say that launches on device 1 need nothing. An unknown kernel on device 0 must wait for what is on its way to it.
TEST(SeveralDevices, AnUnknownLaunchWaitsForTransfersOfReadyArraysOfOtherDevices) {
  Devices p(2);
  Memory& x = p.on_device(size, 1);
  Memory& y = p.on_device(size, 1);
  Memory& z = p.on_device(size, 0);
  p.kernel_write(zero, z, z.all(), 3);
  p.kernel_write(one, x, x.all(), 1);
  p.kernel_write(one, y, y.all(), 2);
  p.device(1).synchronize_device();
  p.device(0).synchronize_device();
  p.copy(x, y);                            // lazy
  p.kernel_write(one, y, y.all(), 4);      // saves the content of `y` to `x` first
  p.launch(one, {{&y, true}}, [] {});
  ASSERT_TRUE(engine::ready({&x, true}));
  const engine::QueueIndex queue = p.queue(&keys[0], 0);
  std::vector<Operand> all;
  p.engine().launches.begin_unknown_launch(queue, all);
  std::vector<std::byte> seen(size);
  p.device().launch(zero, {{x.address, x.bytes, false}}, [&] { std::memcpy(seen.data(), x.address, size); });
  p.engine().launches.end_launch(queue, all.data(), all.size());
  p.device(0).synchronize_device();
  Program::expect(seen, {0, size}, 2, "a kernel on device 0");
}

TEST(SeveralDevices, AnUnknownLaunchDoesNotNeedArraysThatItsDeviceCannotReach) {
  Devices::Options o = Devices::options(2, false);
  o.engine.device_memory_bytes = 4 * round_up(size, o.device.granularity_bytes);
  Devices p(o);
  for (std::uint64_t i = 0; i < 6; ++i) p.kernel_write(one, p.on_device(size, 1), {0, size}, i + 1);
  Memory& a = p.on_device(size);
  p.kernel_write(zero, a, a.all(), 1);
  std::vector<Operand> all;
  const engine::QueueIndex queue = p.queue(&keys[0], 0);
  p.engine().launches.begin_unknown_launch(queue, all);
  for (const Operand& o : all) EXPECT_EQ(o.memory->space, device_space(0));
  p.engine().launches.end_launch(queue, all.data(), all.size());
}

/// What such a launch has as operands does not grow with the devices; it uses the ready arrays of all devices that it can reach.
TEST(SeveralDevices, AnUnknownLaunchHasOneOperandForAllReadyArrays) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Devices p(3, peer_access);
    std::vector<Memory*> arrays;
    for (std::uint32_t d = 0; d < 3; ++d) {
      arrays.push_back(&p.on_device(size, d));
      p.kernel_write(Stream{&keys[d], d}, *arrays[d], arrays[d]->all(), 1);
    }
    const engine::QueueIndex queue = p.queue(&keys[1], 1);
    std::vector<Operand> all;
    for (int k = 0; k < 2; ++k) {
      p.engine().launches.begin_unknown_launch(queue, all);
      EXPECT_EQ(p.engine().state().pinned(*arrays[1]), true);
      EXPECT_EQ(p.engine().state().pinned(*arrays[0]), peer_access);
      EXPECT_EQ(p.engine().state().pinned(*arrays[2]), peer_access);
      p.engine().launches.end_launch(queue, all.data(), all.size());
      for (Memory* const m : arrays) EXPECT_FALSE(p.engine().state().pinned(*m));
    }
    EXPECT_EQ(all.size(), 1u);
    const std::uint64_t at = p.engine().state().queues->position(queue);
    EXPECT_EQ(p.engine().state().last_write(*arrays[1], queue), at);
    EXPECT_EQ(p.engine().state().last_write(*arrays[0], queue), peer_access ? at : 0);
    EXPECT_EQ(p.engine().state().last_write(*arrays[2], queue), peer_access ? at : 0);
    for (std::uint32_t d = 0; d < 3; ++d) p.expect_device(*arrays[d], arrays[d]->all(), 1, Stream{&keys[d], d});
  }
}

TEST(SeveralDevices, StagingMemoryOfCopiesThroughTheHostIsGivenBack) {
  Devices p(2, false);
  Memory& x = p.on_device(size);
  Memory& y = p.on_device(size, 1);
  std::byte* const foreign = p.device(1).allocate(size);
  for (std::uint64_t round = 1; round <= 100; ++round) {
    p.kernel_write(zero, x, x.all(), round);
    p.copy(y, x);
    std::vector<std::byte> seen;
    p.kernel_read(one, y, seen);
    p.device(0).synchronize_device();
    p.device(1).synchronize_device();
    ASSERT_EQ(seen[7], Machine::mix(round, 7));
    p.engine().copies.copy(x.address, foreign, size);
  }
  EXPECT_LE(p.engine().state().flights.size(), 8u);
  EXPECT_LE(p.device().staging_bytes(), 16 * size);
  p.device(1).deallocate(foreign);
}

TEST(SeveralDevices, NoStagingMemoryIsAllocatedUnderTheLock) {
  Devices::Options o = Devices::options(2, false);
  o.engine.device_memory_bytes = 64u << 20;
  Devices p(o);
  const std::uint64_t n = 3 * engine::Executor::over_host_bytes;
  Memory& x = p.on_device(n);
  Memory& y = p.on_device(n, 1);
  p.kernel_write(zero, x, x.all(), 1);
  p.copy(y, x);
  int buffers = 0;
  bool locked = false;
  std::function<void()> look = [&] {
    locked = locked || p.engine().state().unlocked == 0;
    if (++buffers < 4) p.device().while_in(FakeDevice::call_staging, look);
  };
  p.device().while_in(FakeDevice::call_staging, look);
  p.expect_device(y, y.all(), 1, one);
  EXPECT_EQ(buffers, 2);
  EXPECT_FALSE(locked);
}

TEST(SeveralDevices, ShortStagingMemoryOfOneDeviceDoesNotWaitForAnother) {
  Devices::Options o = Devices::options(2);
  o.device.registers_host = false;
  o.engine.device_memory_bytes = 200u << 20;
  o.device.arena_bytes = std::uint64_t{1} << 30;
  o.platform.arena_bytes = std::uint64_t{512} << 20;
  Devices p(o);
  const std::uint64_t n = 96u << 20;
  Memory& c = p.on_device(size);
  Memory& ch = p.on_host(size, &c);
  Memory& b = p.on_device(n, 1);
  Memory& bh = p.on_host(n, &b);
  bool kernel_is_over = false;
  p.host_write(ch, ch.all(), 2);
  p.launch(zero, {{&c, false}}, [&] { kernel_is_over = true; });
  p.host_write(ch, ch.all(), 3);
  p.launch(zero, {{&c, false}}, [] {});  // behind a staged transfer that is behind that kernel
  p.engine().access(bh, bh.all(), Access::overwrite);
  ASSERT_FALSE(kernel_is_over);
  p.launch(one, {{&b, false}}, [] {});
  EXPECT_FALSE(kernel_is_over) << "a launch on device 1 has waited for a kernel of device 0";
}

TEST(SeveralDevices, AnAnnouncedUseIsWaitedForWhereItCanBe) {
  for (const bool peer_access : {false, true}) {
    SCOPED_TRACE(peer_access);
    Devices p(2, peer_access);
    Memory& a = p.on_device(size);
    Memory& ah = p.on_host(size, &a);
    Memory& b = p.on_device(size, 1);
    bool over = false;
    p.launch(one, {{&b, true}}, [&] { over = true; });
    p.kernel_write(zero, a, a.all(), 1);
    p.engine().foreign_uses.native_capture(a, timeline::Mode::writes);
    p.device().launch({&keys[60], 0}, {}, [] {});
    p.expect_host(ah, 1);
    EXPECT_EQ(over, peer_access) << "a kernel of a device that reaches the array may use it";
  }
}

/// The driver's watch does not tell which device carries out a call: copies may be made on a stream of any.
TEST(SeveralDevices, AReportedCallIsWaitedForOnAllDevices) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.kernel_write(zero, a, a.all(), 1);
  p.expect_host(ah, 1);
  const device::DriverUse use{a.address, size, device::DriverUse::Kind::write, 0};
  std::unique_ptr<engine::ForeignCall> call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::transfer);
  std::byte* const base = a.address;
  p.device().launch({&keys[61], 1}, Machine::touches({{&a, true}}), [base] {
    for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(2, i);
  });
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.expect_host(ah, 2);
}

/// A capture waits for both devices while other raw launches go on. Each wait counts.
TEST(SeveralDevices, ACaptureThatWaitsForTwoDevicesComesToAnEnd) {
  Devices p(2);
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size, 1);
  Memory& other = p.on_device(size);
  Memory& h = p.on_host(size, &a);
  p.host_write(h, h.all(), 1);
  p.engine().foreign_uses.native_capture(a, timeline::Mode::writes);
  p.engine().foreign_uses.native_capture(b, timeline::Mode::writes);
  p.copy(b, a);
  int waits = 0;
  std::function<void()> another = [&] {
    if (++waits > 20) return;
    const device::DriverUse use{other.address, 0, device::DriverUse::Kind::argument, 0};
    p.engine().foreign_uses.end_foreign_call(p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch));
    p.when_unlocked(another);
  };
  p.when_unlocked(another);
  p.engine().foreign_uses.native_capture(b, timeline::Mode::reads);
  p.when_unlocked(nullptr);
  EXPECT_LT(waits, 10);
  p.device(0).synchronize_device();
  p.device(1).synchronize_device();
}

TEST(SeveralDevices, StagingMemoryOfCopiesThroughTheHostHasALimit) {
  Devices::Options o = Devices::options(2, false);
  o.engine.device_memory_bytes = 256u << 20;
  o.device.arena_bytes = std::uint64_t{1} << 30;
  Devices p(o);
  const std::uint64_t n = 2 * engine::Executor::over_host_bytes;
  for (std::uint64_t i = 0; i < 12; ++i) {
    Memory& x = p.on_device(n);
    Memory& y = p.on_device(n, 1);
    p.kernel_write(zero, x, x.all(), i + 1);
    p.copy(y, x);
    p.launch(one, {{&y, false}}, [] {});
  }
  EXPECT_LE(p.device().staging_bytes(), engine::Staging::limit_bytes);
}

TEST(SeveralDevices, AQueueThatOneDeviceHasGivenBackServesAnother) {
  Devices p(2);
  std::vector<std::unique_ptr<char>> natives;
  std::vector<engine::QueueIndex> queues;
  for (engine::QueueIndex i = 0; i < engine::max_queues; ++i) {
    natives.push_back(std::make_unique<char>());
    queues.push_back(p.engine().adopt_queue(0, natives.back().get(), {}, engine::Engine::Lease::one_more));
  }
  for (const engine::QueueIndex q : queues) {
    if (q != engine::unknown_queue) p.engine().retire_queue(q);
  }
  natives.push_back(std::make_unique<char>());
  const engine::QueueIndex q = p.engine().adopt_queue(1, natives.back().get(), {}, engine::Engine::Lease::one_more);
  ASSERT_NE(q, engine::unknown_queue);
  EXPECT_EQ(p.engine().state().queues->device_of(q), 1u);
  Memory& b = p.on_device(size, 1);
  p.kernel_write({natives.back().get(), 1}, b, b.all(), 1);
  p.expect_device(b, b.all(), 1, one);
}

/// The framework's default queue is the first device's: it alone lives as long as the runtime.
TEST(SeveralDevices, TheFrameworksQueueIsTheFirstDevices) {
  Devices p(2);
  Memory& a = p.on_device(size, 1);
  bool over = false;
  p.launch(one, {{&a, true}}, [&] { over = true; });
  const engine::QueueIndex home = p.queue(&keys[0], 0);
  EXPECT_TRUE(p.engine().state().queues->needs_events(p.queue(&keys[1], 1)));
  EXPECT_FALSE(p.engine().state().queues->needs_events(home));
  ASSERT_FALSE(over);
  p.engine().adopt_queue(1, &keys[1], {}, engine::Engine::Lease::one_more);
  EXPECT_TRUE(over) << "nothing tells the new stream's work from the former one's";
}

/// Which bytes are missing, and from where they would come, can be asked without moving any.
TEST(SeveralDevices, WhatIsMissingCanBeAsked) {
  Machine::Options o = Program::defaults();
  o.devices = 2;
  Program p(o);
  const std::uint64_t page = page_bytes();
  Memory& a = p.on_device(8 * page, 0);
  Memory& b = p.on_device(8 * page, 1);
  Memory& h = p.on_host(8 * page);
  p.host_write(h, h.all(), 1);
  p.copy(a, h);
  p.copy(b, h);
  const auto missing = [&](Memory& m) {
    const engine::Missing all = p.engine().missing(m, m.all());
    return std::vector<std::uint64_t>{all.from_host, all.from_devices[0], all.from_devices[1], all.filled};
  };
  using Bytes = std::vector<std::uint64_t>;
  EXPECT_EQ(missing(a), (Bytes{8 * page, 0, 0, 0}));
  p.expect_device(a, 1);
  EXPECT_EQ(missing(a), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(missing(b), (Bytes{0, 8 * page, 0, 0})) << "the other device is nearer";
  directory::Fill zero;
  zero.pattern_bytes = 1;
  p.engine().copies.fill(b, 0, 2 * page, zero);
  p.host_write(h, {4 * page, 5 * page}, 2);
  p.engine().copies.copy(b.address + 4 * page, h.address + 4 * page, page);
  EXPECT_EQ(missing(b), (Bytes{page, 5 * page, 0, 2 * page}));
  EXPECT_EQ(p.engine().missing(b, ByteRange{4 * page, 5 * page}).from_host, page);
  const Counters before = p.counters();
  EXPECT_EQ(missing(h), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(p.counters().h2d.bytes + p.counters().d2h.bytes, before.h2d.bytes + before.d2h.bytes);
  EXPECT_EQ(p.counters().between_devices.bytes, 0u);
}

/// MPI that takes device addresses gets memory of the device where the message's array is.
TEST(SeveralDevices, AMessageOfAnArrayLiesOnItsDevice) {
  Devices p(2);
  Memory* const arrays[] = {&p.on_device(size), &p.on_device(size, 1)};
  const Stream* const streams[] = {&zero, &one};
  for (std::uint32_t k : {0u, 1u}) {
    Memory& m = *arrays[k];
    p.kernel_write(*streams[k], m, m.all(), 1);
    engine::TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::device, &m);
    EXPECT_EQ(buffer->space, device_space(k));
    const ByteRange all = m.all();
    p.engine().foreign_io.read_out(m, 0, &all, 1, *buffer, buffer->address);
    p.engine().foreign_io.settle_buffer(*buffer);
    for (std::uint64_t i = 0; i < size; ++i) buffer->address[i] = Machine::mix(2, i);
    p.engine().foreign_io.write_in(m, 0, &all, 1, *buffer, buffer->address);
    p.engine().buffers.give(buffer);
    p.expect_device(m, all, 2, *streams[k]);
  }
  EXPECT_EQ(p.counters().between_devices.bytes, 0u);
  EXPECT_EQ(p.counters().h2d.bytes + p.counters().d2h.bytes, 0u);
  engine::TransitBuffer* const again = p.engine().buffers.take(size, base::Side::device, arrays[0]);
  EXPECT_EQ(again->space, device_space(0)) << "the idle memory of another device does not serve";
  p.engine().buffers.give(again);
}

/// Idle memory of messages is given back to the device that needs it, and stays elsewhere.
TEST(SeveralDevices, IdleMemoryOfMessagesGoesWhereItsDeviceIsShort) {
  Program::Options o = Devices::options(2);
  const std::uint64_t granule = o.device.granularity_bytes;
  o.engine.device_budgets = {16 * granule, 16 * granule};
  Devices p(o);
  Memory* const arrays[] = {&p.on_device(12 * granule), &p.on_device(12 * granule, 1)};
  for (Memory* m : arrays) p.engine().buffers.give(p.engine().buffers.take(8 * granule, base::Side::device, m));
  EXPECT_EQ(p.device().allocated_bytes(), 16 * granule);

  p.kernel_write(one, *arrays[1], arrays[1]->all(), 1);
  EXPECT_EQ(p.device().allocated_bytes(), 8 * granule);
  EXPECT_EQ(p.engine().buffers.idle_bytes(device_space(0)), 8 * granule);
  p.kernel_write(zero, *arrays[0], arrays[0]->all(), 1);
  EXPECT_EQ(p.device().allocated_bytes(), 0u);
  EXPECT_EQ(p.counters().evictions, 0u);
}

}  // namespace
}  // namespace semcache::fakes
