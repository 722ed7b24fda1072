// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <engine/program.hpp>

namespace semcache::fakes {
namespace {

using engine::Memory;

char stream_a;
const std::uint64_t page = page_bytes();
const std::uint64_t size = 5 * page + 100;

/// An exchange as a solver does it: a kernel packs, the host takes, the host delivers, a kernel unpacks.
struct Exchange : Program {
  explicit Exchange(const Options& options = defaults()) : Program(options) {
    sent_device = &on_device(size);
    received_device = &on_device(size);
    sent = announced_side(*sent_device);
    received = announced_side(*received_device);
  }
  ~Exchange() {
    engine().lifetimes.deallocate(received);
    engine().lifetimes.deallocate(sent);
  }
  Memory* announced_side(Memory& device) { return engine().lifetimes.allocate_host("buffer", size, &device, base::Accesses::announced); }

  void pack(std::uint64_t seed) { kernel_write(&stream_a, *sent_device, {0, size}, seed); }
  void take(std::uint64_t seed) {
    engine().access(*sent, sent->all(), Access::read);
    expect_host(*sent, seed);
  }
  void deliver(std::uint64_t seed) {
    engine().access(*received, received->all(), Access::overwrite);
    host_write(*received, {0, size}, seed);
  }
  void unpack(std::uint64_t seed) { expect_device(*received_device, {0, size}, seed, &stream_a); }

  Memory *sent_device, *received_device, *sent, *received;
};

TEST(Announced, AnExchangeIsRightAndCausesNoFault) {
  Exchange x;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    x.pack(round);
    x.take(round);
    x.deliver(100 + round);
    x.unpack(100 + round);
  }
  EXPECT_EQ(x.faults, 0u);
  EXPECT_EQ(x.counters().d2h.bytes, 20 * size);
  EXPECT_EQ(x.counters().h2d.bytes, 20 * size);
}

TEST(Announced, WhatTheHostAlwaysAsksForIsSentBehindItsKernel) {
  Exchange x;
  for (std::uint64_t round = 1; round <= 10; ++round) {
    x.pack(round);
    const std::uint64_t sent_before_asked = x.counters().d2h.count;
    // The first transfer page-locks; two fetches make a habit.
    EXPECT_EQ(sent_before_asked, round <= 2 ? round - 1 : round) << "round " << round;
    x.take(round);
    EXPECT_EQ(x.counters().d2h.count, round);
  }
  EXPECT_EQ(x.counters().read_ahead.bytes, 8 * size);
  EXPECT_EQ(x.counters().read_ahead_lost.bytes, 0u);
}

TEST(Announced, AForecastThatFailsCostsOneTransferAndIsNotRepeated) {
  Exchange x;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    x.pack(round);
    x.take(round);
  }
  const std::uint64_t before = x.counters().d2h.bytes;
  for (std::uint64_t round = 5; round <= 50; ++round) x.pack(round);  // nobody asks
  EXPECT_EQ(x.counters().d2h.bytes, before + size);
  x.take(50);
  EXPECT_EQ(x.counters().d2h.bytes, before + 2 * size);
  EXPECT_EQ(x.counters().read_ahead_lost.bytes, size);
}

TEST(Announced, HostAccessesThatAskForPartsMakeNoForecast) {
  Exchange x;
  for (std::uint64_t round = 1; round <= 10; ++round) {
    x.pack(round);
    x.engine().access(*x.sent, {0, 8}, Access::read);
  }
  EXPECT_EQ(x.counters().d2h.bytes, 80u);
}

TEST(Announced, AnOverwriteWaitsForTheTransferThatReadsTheBuffer) {
  Exchange x;
  for (std::uint64_t round = 1; round <= 5; ++round) {
    x.deliver(round);
    std::vector<std::byte> seen;
    x.kernel_read(&stream_a, *x.received_device, seen);  // submitted, not run: the device is lazy
    x.deliver(round + 1000);                             // must not reach the kernel above
    x.device().synchronize_device();
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(round, i)) << i;
    x.unpack(round + 1000);
  }
}

TEST(Announced, CopiesWithAnnouncedBuffersAreLazyAndRight) {
  Exchange x;
  Memory& other = x.on_device(size);
  x.deliver(7);
  x.copy(other, *x.received);
  x.deliver(8);  // the copy keeps what was there (I4, I7)
  x.expect_device(other, {0, size}, 7, &stream_a);
  x.unpack(8);
}

/// The host may write its next content before it says so, as Kokkos' modify_host has it.
TEST(Announced, ADeviceSideThatWasEvictedIsNotReadBackFromTheHost) {
  Exchange x;
  x.deliver(5);
  x.unpack(5);
  x.engine().copies.settle(*x.received_device, x.received_device->all());
  x.host_write(*x.received, {0, size}, 6);  // not announced yet
  for (int k = 0; k < 3; ++k) x.kernel_write(&stream_a, x.on_device(2u << 20), {0, 2u << 20}, 7);
  ASSERT_GT(x.counters().evictions, 0u);
  x.unpack(5);
  x.engine().access(*x.received, x.received->all(), Access::overwrite);
  x.unpack(6);
}

TEST(Announced, WhatOneHostSideWasGivenIsNotReadFromAnother) {
  Exchange x;
  Memory& other = x.on_device(size);
  x.deliver(5);
  x.copy(*x.sent, *x.received);
  x.host_write(*x.received, {0, size}, 9);  // not announced yet
  x.copy(other, *x.sent);
  x.expect_device(other, {0, size}, 5, &stream_a);
}

TEST(Announced, ACopyTakesTheBytesThatTheHostSideHolds) {
  Exchange x;
  Memory &first = x.on_device(size), &second = x.on_device(size);
  x.deliver(5);
  x.copy(first, *x.received);
  x.host_write(*x.received, {0, size}, 9);  // not announced yet
  x.copy(second, *x.received);
  x.expect_device(first, {0, size}, 5, &stream_a);
  x.expect_device(second, {0, size}, 9, &stream_a);
}

TEST(Announced, AFreedDeviceSideLeavesWhatOthersWant) {
  Exchange x;
  Memory& mirror = x.on_host(size);
  Memory& device = x.on_device(size);
  Memory* const side = x.announced_side(device);
  x.kernel_write(&stream_a, device, {0, size}, 5);
  x.engine().access(*side, side->all(), Access::read);
  Memory& other = x.on_device(size);
  x.copy(other, device);
  x.copy(mirror, other);
  x.kernel_write(&stream_a, other, {0, size}, 6);
  x.free(device);
  x.expect_host(*side, 5);
  x.host_write(*side, {0, size}, 7);
  x.expect_host(mirror, 5);
  x.engine().lifetimes.deallocate(side);
}

TEST(Announced, AFreedDeviceSideLeavesTheHostWhatItHolds) {
  Exchange x;
  Memory& device = x.on_device(size);
  Memory* const side = x.announced_side(device);
  x.kernel_write(&stream_a, device, {0, size}, 5);
  x.engine().access(*side, side->all(), Access::read);

  x.free(device);

  Statistics s;
  x.engine().add_to(s);
  EXPECT_EQ(s.snapshot_bytes, 0u);
  x.expect_host(*side, 5);
  x.engine().lifetimes.deallocate(side);
}

TEST(Announced, CheckModeWatchesTheBuffersAllTheSame) {
  Machine::Options o = Program::defaults();
  o.engine.check = true;
  Exchange x(o);
  x.pack(1);
  x.expect_host(*x.sent, 1);  // not announced
  EXPECT_GT(x.faults, 0u);
}

}  // namespace
}  // namespace semcache::fakes
