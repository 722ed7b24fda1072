// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

/// Each invariant under its number: the shortest programs that fail if its rule is removed.
namespace semcache::fakes {
namespace {

using engine::Memory;
using platform::Protection;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
char streams[2];
void* const stream_a = &streams[0];
void* const stream_b = &streams[1];

/// A copy between the two sides of an array that is refused half-way changes nothing, so it can be tried again.
TEST(Invariants, ARefusedShiftBetweenTheSidesOfAnArrayChangesNothing) {
  Program::Options o = Program::defaults();
  o.engine.registration_bytes = 4 * page;
  Program p(o);
  Memory& d = p.on_device(16 * page);
  Memory& h = p.on_host(16 * page, &d);
  p.host_write(h, h.all(), 1);
  const std::uint64_t n = d.bytes - 8;
  p.device().fail_call(2, FakeDevice::call_copy);
  EXPECT_THROW(p.engine().copies.copy(d.address + 8, h.address, n), Error);
  EXPECT_FALSE(p.device().failure_pending());
  p.expect_device(d, 1);

  p.engine().copies.copy(d.address + 8, h.address, n);

  const std::vector<std::byte> seen = p.device_content(nullptr, d);
  for (std::uint64_t i = 0; i < d.bytes; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i < 8 ? i : i - 8)) << i;
}

/// Who looks for arrays in a range of addresses asks first whether any can be there.
TEST(Invariants, ARangeOfAddressesReachesArraysOfTheHostAndOfTheDevice) {
  Program p(Program::defaults());
  const std::byte* const host = p.on_host(size).address;
  const std::byte* const device = p.on_device(size).address;
  const std::byte foreign[2] = {};
  EXPECT_TRUE(p.engine().state().overlaps(host, host));
  EXPECT_TRUE(p.engine().state().overlaps(device, device));
  EXPECT_FALSE(p.engine().state().overlaps(foreign, foreign + 1));
}

/// Step by step of the shift it would be one transfer for each eight bytes.
TEST(Invariants, AShiftBetweenTheSidesOfAnArrayIsOneTransfer) {
  Program p;
  Memory& d = p.on_device(16 * page);
  Memory& h = p.on_host(16 * page, &d);
  p.host_write(h, h.all(), 1);
  p.expect_device(d, 1);
  const std::uint64_t n = d.bytes - 8;
  const Counters before = p.counters();

  p.engine().copies.copy(d.address, h.address + 8, n);

  EXPECT_EQ(p.counters().h2d.count - before.h2d.count, 1u);
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, n);
  for (const std::vector<std::byte>& seen : {p.device_content(nullptr, d), p.host_content(h)}) {
    EXPECT_EQ(seen[0], Machine::mix(1, 8));
    EXPECT_EQ(seen[n - 1], Machine::mix(1, n + 7));
    EXPECT_EQ(seen[n], Machine::mix(1, n)) << "what was not copied stays";
  }
}

TEST(Invariants, I1_ReadReturnsTheWantedValue) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.host_write(h, h.all(), 1);
  p.expect_device(d, 1);
  p.kernel_write(stream_a, d, d.all(), 2);
  p.expect_host(h, 2);
  p.host_write(h, {3 * page, 3 * page + 1}, 3);
  p.expect_device(d, {0, 3 * page}, 2);
  p.expect_device(d, {3 * page, 3 * page + 1}, 3);
  p.expect_device(d, {3 * page + 1, size}, 2);
}

TEST(Invariants, I1_ReadOfALinkedValueWhereverItIs) {
  Program p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, a, a.all(), 1);
  p.engine().copies.copy(b.address + page, a.address, size - page);
  p.engine().copies.copy(h.address, b.address + page, size - page);

  p.expect_host(h, {0, size - page}, 1);
  p.expect_device(a, 1);
  const std::vector<std::byte> seen = p.device_content(nullptr, b);
  EXPECT_EQ(seen[page], Machine::mix(1, 0));
  EXPECT_EQ(seen[size - 1], Machine::mix(1, size - page - 1));
}

TEST(Invariants, I2_AfterAWriteTheWriterIsTheOnlyHolder) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.host_write(h, h.all(), 1);
  p.expect_device(d, 1);
  p.host_write(h, h.all(), 2);  // the device's copy is of no use now
  p.expect_device(d, 2);
  p.kernel_write(stream_a, d, d.all(), 3);  // nor is the host's

  EXPECT_EQ(Program::protection(p, h, 0), Protection::none);
  p.expect_host(h, 3);
}

TEST(Invariants, I3_NoByteIsMovedTwiceNorUnasked) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.copy(h, d);
  EXPECT_EQ(p.device().copied.from_device, 0u) << "nobody has read the mirror";
  p.expect_host(h, 1);
  EXPECT_EQ(p.device().copied.from_device, size);
  p.copy(h, d);
  p.copy(d, h);
  p.expect_host(h, 1);
  p.expect_device(d, 1);
  EXPECT_EQ(p.device().copied.from_device, size);
  EXPECT_EQ(p.device().copied.to_device, 0u);
  EXPECT_EQ(p.counters().avoided.count, 2u);

  p.host_write(h, {0, page}, 2);
  p.copy(d, h);
  p.expect_device(d, {0, page}, 2);
  EXPECT_GE(p.device().copied.to_device, page);
  EXPECT_LE(p.device().copied.to_device, 4 * page) << "the chunk that the fault opened, and nothing else";
}

TEST(Invariants, I3_NeverWrittenMemoryIsNeverCopied) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.host_content(h);
  p.device_content(stream_a, d);

  EXPECT_EQ(p.device().copied.from_device + p.device().copied.to_device + p.device().copied.within, 0u);
}

TEST(Invariants, I3_AFillCrossesNoLink) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.fill(d, 0x5a);

  EXPECT_EQ(p.host_content(h), std::vector<std::byte>(size, std::byte{0x5a}));
  EXPECT_EQ(p.device_content(stream_a, d), std::vector<std::byte>(size, std::byte{0x5a}));
  EXPECT_EQ(p.device().copied.from_device + p.device().copied.to_device, 0u);
}

TEST(Invariants, I4_TheLastHolderIsSavedBeforeAKernelOverwritesIt) {
  Program::Options o = Program::defaults();
  o.engine.device_memory_bytes = 64 * size;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.copy(h, d);
  p.kernel_write(stream_a, d, d.all(), 2);

  EXPECT_EQ(p.counters().saved_device.bytes, size);
  p.expect_host(h, 1);
  p.expect_device(d, 2);
}

TEST(Invariants, I4_TheLastHolderIsSavedBeforeTheHostOverwritesIt) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);

  p.host_write(h, h.all(), 1);
  p.copy(d, h);
  p.host_write(h, h.all(), 2);

  p.expect_device(d, 1);
  p.expect_host(h, 2);
}

TEST(Invariants, I4_TheLastHolderIsSavedBeforeAFetchReplacesIt) {
  Program p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, a, a.all(), 1);
  p.copy(h, a);
  p.kernel_write(stream_a, b, b.all(), 2);
  p.copy(a, b);  // a still holds what h wants
  p.expect_device(a, 2);

  p.expect_host(h, 1);
}

TEST(Invariants, I4_AFreedArrayLivesOnWhileItsContentIsWanted) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.copy(h, d);
  p.free(d);
  Memory& other = p.on_device(size);
  p.kernel_write(stream_a, other, other.all(), 2);

  p.expect_host(h, 1);
}

TEST(Invariants, I4_OneSideOfAnArrayMayGo) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.free(d);

  p.expect_host(h, 1);
}

TEST(Invariants, I4_EvictionWritesTheLastHolderBack) {
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = 2 * size;
  Program p(o);
  std::vector<Memory*> arrays;
  for (int i = 0; i < 5; ++i) arrays.push_back(&p.on_device(size - 512));

  for (int i = 0; i < 5; ++i) p.kernel_write(stream_a, *arrays[i], arrays[i]->all(), 10 + i);

  EXPECT_GE(p.counters().evictions, 3u);
  EXPECT_LE(p.device().mapped_bytes(), 2 * size);
  for (int i = 0; i < 5; ++i) p.expect_device(*arrays[i], 10 + i);
}

TEST(Invariants, I5_PagesAreAsStrictAsTheStateDemands) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  EXPECT_LE(Program::protection(p, h, 0), Protection::read) << "never written";
  p.host_write(h, h.all(), 1);
  EXPECT_EQ(Program::protection(p, h, 5 * page), Protection::read_write) << "exclusively the host's";
  p.device_content(stream_a, d);
  EXPECT_EQ(Program::protection(p, h, 5 * page), Protection::read) << "shared";
  p.kernel_write(stream_a, d, d.all(), 2);
  EXPECT_EQ(Program::protection(p, h, 5 * page), Protection::none) << "stale";
}

TEST(Invariants, I5_ACopyFromTheHostClosesItsPages) {
  Program p;
  Memory& h = p.on_host(size);
  Memory& other = p.on_host(size);

  p.host_write(h, h.all(), 1);
  p.copy(other, h);

  EXPECT_EQ(Program::protection(p, h, 0), Protection::read);
  EXPECT_EQ(Program::protection(p, other, 0), Protection::none);
}

TEST(Invariants, I5_APageOpenedForWritingHoldsItsWantedBytes) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.host_write(h, {2 * page + 100, 2 * page + 108}, 2);

  p.expect_host(h, {2 * page, 2 * page + 100}, 1);
  p.expect_device(d, {2 * page + 100, 2 * page + 108}, 2);
  p.expect_device(d, {2 * page + 108, size}, 1);
}

TEST(Invariants, I5_OverwriteFetchesTheEdgesOfItsPagesOnly) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.engine().access(h, {100, 5 * page + 100}, Access::overwrite);
  p.host_write(h, {100, 5 * page + 100}, 2);

  EXPECT_EQ(p.faults, 0u);
  EXPECT_EQ(p.device().copied.from_device, 100 + page - 100);
  p.expect_device(d, {0, 100}, 1);
  p.expect_device(d, {100, 5 * page + 100}, 2);
  p.expect_device(d, {5 * page + 100, size}, 1);
}

TEST(Invariants, I5_MeetingTheLimitOnMappingsNeverOpensAStalePage) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Memory& other = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.device_content(stream_a, d);
  directory::Fill zero;
  zero.pattern_bytes = 1;
  p.engine().copies.fill(h, 0, page, zero);  // the first page is stale on the host
  ASSERT_EQ(Program::protection(p, h, 0), Protection::none);
  p.host_write(h, {8 * page, 9 * page}, 2);
  p.platform().refuse_protect = [](const std::byte*, std::uint64_t bytes, Protection) { return bytes < size; };

  p.engine().copies.copy(other.address, h.address + 8 * page, page);  // pages of h become stricter

  EXPECT_EQ(Program::protection(p, h, 0), Protection::none) << "silently stale (I8)";
  p.platform().refuse_protect = nullptr;
  EXPECT_EQ(p.host_content(h)[0], std::byte{0});
}

TEST(Invariants, I6_AKernelWaitsForTheTransferOfItsOperand) {
  Program p;  // the device reports what is not ordered, and what it sees
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.host_write(h, h.all(), 1);
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  p.kernel_read(stream_a, d, first);
  p.kernel_read(stream_b, d, second);  // adopted after the first launch found the transfer ordered
  p.device().synchronize_device();

  Program::expect(first, d.all(), 1, "first stream");
  Program::expect(second, d.all(), 1, "second stream");
}

TEST(Invariants, I6_AHostReadWaitsForTheKernelAndTheTransfer) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);

  p.host_write(h, h.all(), 1);  // from now on transfers are direct
  p.kernel_write(stream_a, d, d.all(), 2);
  p.expect_host(h, 2);
  p.device().order_streams(stream_b, stream_a);
  p.kernel_write(stream_b, d, d.all(), 3);
  p.expect_host(h, 3);
}

TEST(Invariants, I6_TheHostDoesNotWriteUnderATransfer) {
  Program p;
  Memory& h = p.on_host(size);
  Memory& d = p.on_device(size);

  p.host_write(h, h.all(), 1);
  p.copy(d, h);
  std::vector<std::byte> seen;
  p.kernel_read(stream_a, d, seen);  // the transfer is submitted, and late
  p.host_write(h, h.all(), 2);
  p.device().synchronize_device();

  Program::expect(seen, d.all(), 1, "kernel");
}

TEST(Invariants, I6_AKernelDoesNotOverwriteTheSourceOfATransfer) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.copy(h, d);
  p.engine().host_access.settle_all();
  p.kernel_write(stream_a, d, d.all(), 2);
  p.copy(h, d);
  p.device().order_streams(stream_b, stream_a);
  p.kernel_write(stream_b, d, d.all(), 3);  // saved before, by another queue

  p.expect_host(h, 2);
  p.expect_device(d, 3);
}

TEST(Invariants, I6_AKernelDoesNotOverwriteWhatACopyStillReadsThoughNobodyWantsIt) {
  Program p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  (void)p.queue(stream_b);

  p.kernel_write(stream_a, a, a.all(), 1);
  p.device().order_streams(stream_b, stream_a);
  p.copy(b, a);
  std::vector<std::byte> seen;
  p.kernel_read(stream_a, b, seen);          // a is being copied to b
  p.kernel_write(stream_a, b, b.all(), 2);   // a is the only holder of its value again
  p.kernel_write(stream_b, a, a.all(), 3);
  p.device().synchronize_device();

  Program::expect(seen, b.all(), 1, "kernel");
  p.expect_device(a, 3);
}

TEST(Invariants, I6_MemoryIsNotGivenBackUnderAKernel) {
  Program p;
  Memory& d = p.on_device(size);

  p.kernel_write(stream_a, d, d.all(), 1);
  p.free(d);  // unmapping under a pending kernel is reported

  EXPECT_EQ(p.device().mapped_bytes(), 0u);
}

TEST(Invariants, I6_WhereTheQueueIsUnknownTheDeviceIsWaitedFor) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  std::byte* const base = d.address;

  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  p.device().launch(stream_b, {{base, size, true}}, [base] {
    for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(7, i);
  });

  p.expect_host(h, 7);
  EXPECT_EQ(p.counters().device_waits, 1u);
}

TEST(Invariants, I7_ACopyHasTheContentOfTheCall) {
  Program p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  Memory& h = p.on_host(size);

  p.kernel_write(stream_a, a, a.all(), 1);
  p.copy(h, a);
  p.copy(b, h);
  p.kernel_write(stream_a, a, a.all(), 2);
  p.host_write(h, {0, page}, 3);

  p.expect_device(b, 1);
  p.expect_host(h, {0, page}, 3);
  p.expect_host(h, {4 * page, size}, 1);
}

TEST(Invariants, I7_ACopyWithinAnArrayMovesLikeMemmove) {
  Program p;
  Memory& a = p.on_device(size);

  p.kernel_write(stream_a, a, a.all(), 1);
  p.engine().copies.copy(a.address + page, a.address, size - page);

  const std::vector<std::byte> seen = p.device_content(stream_a, a);
  for (std::uint64_t i = page; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i - page)) << i;
}

TEST(InvariantsDeathTest, I8_ALostValueEndsTheProcessWithLabelAndOffset) {
  EXPECT_DEATH(
      {
        Program p;
        Memory& d = p.on_device(size);
        Memory& h = p.on_host(size, &d);
        p.kernel_write(stream_a, d, d.all(), 1);
        p.device().fail_call(1, FakeDevice::call_copy);
        p.host_content(h);
      },
      "an access to 'host array' at .* cannot be served: fake device 0: injected: copy_from_device");
}

TEST(Invariants, I9_AFailingLaunchLeavesEverythingAsItWas) {
  for (const unsigned call : {FakeDevice::call_map, FakeDevice::call_copy, FakeDevice::call_staging}) {
    for (const bool registers : {true, false}) {
      Machine::Options o = Program::defaults();
      o.device.registers_host = registers;
      Program p(o);
      Memory& a = p.on_device(size);
      Memory& b = p.on_device(size);
      Memory& ha = p.on_host(size, &a);
      Memory& hb = p.on_host(size, &b);
      p.host_write(ha, ha.all(), 1);
      p.host_write(hb, hb.all(), 2);

      for (std::uint64_t k = 1; k <= 2; ++k) {
        p.device().fail_call(k, call);
        try {
          p.kernel_write(stream_a, a, a.all(), 3);
          p.kernel_write(stream_a, b, b.all(), 4);
          p.device().fail_call(0, 0);
          p.host_write(ha, ha.all(), 1);
          p.host_write(hb, hb.all(), 2);
        } catch (const Error&) {
          p.device().fail_call(0, 0);
          p.engine().audit();
          p.host_write(ha, ha.all(), 1);
        }
        p.device().fail_call(0, 0);
        EXPECT_EQ(a.pins.load(), 0u);
        EXPECT_EQ(b.pins.load(), 0u);
        p.expect_host(ha, 1);
        p.expect_host(hb, 2);
        p.expect_device(b, 2);
        p.expect_device(a, 1);
      }
    }
  }
}

TEST(Invariants, I9_AWorkingSetBeyondTheBudgetIsRefusedByName) {
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = 2 * size;
  Program p(o);
  Memory& a = p.on_device(size - 512);
  Memory& b = p.on_device(size - 512);
  Memory& c = p.on_device(size - 512);
  p.kernel_write(stream_a, a, a.all(), 1);

  try {
    p.launch(stream_a, {{&a, true}, {&b, true}, {&c, true}}, [] { FAIL() << "must not run"; });
    FAIL() << "must be refused";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("'device array'"), std::string::npos) << e.what();
  }
  EXPECT_EQ(a.pins.load(), 0u);
  p.expect_device(a, 1);
}

// Kokkos fills each mirror with zeros when it is made.
TEST(Mirror, AZeroFillOfAnUntouchedOneTouchesNothing) {
  Program p;
  Memory& m = p.on_host(4 * page);
  const std::uint64_t calls = p.platform().protect_calls;
  p.fill(m, 0);
  EXPECT_EQ(p.platform().protect_calls, calls);
  std::vector<std::byte> seen(m.bytes, std::byte{1});
  p.host_read(m, m.all(), seen.data());
  EXPECT_EQ(seen, std::vector<std::byte>(m.bytes));
  EXPECT_EQ(p.counters().filled.bytes, 0u);
  EXPECT_EQ(p.counters().host_faults, 0u);
}

TEST(Mirror, AZeroFillOfOneThatWasWrittenMakesItZero) {
  Program p;
  Memory& m = p.on_host(4 * page);
  p.host_write(m, {page, page + 8}, 7);
  p.fill(m, 0);
  std::vector<std::byte> seen(m.bytes, std::byte{1});
  p.host_read(m, m.all(), seen.data());
  EXPECT_EQ(seen, std::vector<std::byte>(m.bytes));
  EXPECT_LT(p.counters().filled.bytes, m.bytes) << "the pages that nobody had written were zero";
  // Once more: what was filled and not written is nobody's to trust but the number's.
  p.host_write(m, {0, 8}, 8);
  p.fill(m, 0);
  p.host_read(m, m.all(), seen.data());
  EXPECT_EQ(seen, std::vector<std::byte>(m.bytes));
}

TEST(Mirror, AnotherFillIsNotTakenForZeros) {
  Program p;
  Memory& m = p.on_host(2 * page);
  p.fill(m, 5);
  std::vector<std::byte> seen(m.bytes);
  p.host_read(m, m.all(), seen.data());
  EXPECT_EQ(seen, std::vector<std::byte>(m.bytes, std::byte{5}));
}

TEST(Mirror, AZeroFillOfOneThatIsWrittenWithoutAWordMakesItZero) {
  Program p;
  Memory* const m = p.engine().lifetimes.allocate_host("announced", 2 * page, nullptr, base::Accesses::announced);
  std::memset(m->address, 7, m->bytes);
  p.fill(*m, 0);
  p.engine().access(*m, m->all(), Access::read);
  EXPECT_EQ(std::vector<std::byte>(m->address, m->address + m->bytes), std::vector<std::byte>(m->bytes));
  p.engine().lifetimes.deallocate(m);
}

// Its addresses are a new one's afterwards.
TEST(Mirror, AFreedOneLeavesZeros) {
  Program p;
  Memory& first = p.on_host(2 * page);
  const std::byte* const address = first.address;
  p.host_write(first, first.all(), 7);
  p.free(first);
  Memory& m = p.on_host(2 * page);
  ASSERT_EQ(m.address, address);
  p.fill(m, 0);
  std::vector<std::byte> seen(m.bytes, std::byte{1});
  p.host_read(m, m.all(), seen.data());
  EXPECT_EQ(seen, std::vector<std::byte>(m.bytes));
}

/// Device memory for four arrays. Those in use, those that a launch needs itself, and those that were used since, stay.
TEST(Residency, WhoWasUsedLongestAgoLeaves) {
  Program::Options o = Program::defaults();
  o.engine.device_memory_bytes = 4 * 65536;
  Program p(o);
  std::vector<Memory*> arrays;
  for (int i = 0; i < 8; ++i) arrays.push_back(&p.on_device(65000));
  const auto mapped = [&] {
    std::set<std::size_t> there;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if ((arrays[i]->flags.load() & Memory::resident) != 0) there.insert(i);
    }
    return there;
  };
  using Set = std::set<std::size_t>;
  const auto use = [&](std::size_t i) { p.kernel_write(stream_a, *arrays[i], arrays[i]->all(), 10 + i); };
  for (std::size_t i = 0; i < 4; ++i) use(i);
  use(0);
  use(4);
  EXPECT_EQ(mapped(), (Set{0, 2, 3, 4}));
  use(2);
  use(5);
  EXPECT_EQ(mapped(), (Set{0, 2, 4, 5}));
  p.free(*arrays[4]);
  arrays.erase(arrays.begin() + 4);
  use(5);  // the seventh, where the freed one was
  EXPECT_EQ(mapped(), (Set{0, 2, 4, 5}));
  use(6);
  EXPECT_EQ(mapped(), (Set{2, 4, 5, 6}));
  for (std::size_t i : {0, 2, 4}) p.expect_device(*arrays[i], 10 + i + (i == 4 ? 1 : 0));
}

}  // namespace
}  // namespace semcache::fakes
