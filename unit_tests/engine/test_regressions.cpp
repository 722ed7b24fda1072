// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

/// Bugs that the oracle or a reading of the code found, each in the shortest program that shows it.
namespace semcache::fakes {
namespace {

using engine::Memory;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
char streams[2];
void* const stream_a = &streams[0];
void* const stream_b = &streams[1];

TEST(Regressions, TwoWritableOperandsThatShareAWantedValueDoNotLoseIt) {
  Program p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(stream_a, a, a.all(), 1);
  p.copy(b, a);
  p.copy(h, a);
  p.device_content(stream_a, b);  // a and b hold it now

  p.launch(stream_a, {{&a, true}, {&b, true}}, [base = a.address, other = b.address] {
    std::memset(base, 0, size);
    std::memset(other, 0, size);
  });

  p.expect_host(h, 1);
}

TEST(Regressions, AMirrorThatIsOnlyReadIsPageLockedWhenItBecomesStale) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    p.kernel_write(stream_a, d, d.all(), round);
    p.expect_host(h, round);
  }
  EXPECT_EQ(p.device().host_registrations(), 1u);
}

TEST(Regressions, ACopyWithinTheHostWaitsForTheArrivalOfItsSource) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 9);  // page-locked: transfers are direct
  p.copy(d, h);
  p.kernel_write(stream_a, d, d.all(), 1);
  p.engine().copies.copy(h.address, d.address, 8 * page);
  p.engine().copies.copy(h.address + 8 * page, d.address, 8 * page);

  const std::vector<std::byte> seen = p.host_content(h);

  for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i % (8 * page))) << i;
}

TEST(Regressions, ARefusedEarlySettlementIsNoFailureOfTheCopy) {
  Program p;
  Memory& d = p.on_device(100);
  Memory& h = p.on_host(100);
  p.kernel_write(stream_a, d, d.all(), 1);
  p.host_write(h, h.all(), 2);
  p.device().fail_call(1, FakeDevice::call_copy);

  p.copy(h, d);  // below a page: settled at the call, if that can be

  p.device().fail_call(0, 0);
  p.expect_host(h, 1);
}

TEST(Regressions, WriteThroughOfANativeLaunchIsNotAheadOfItsKernel) {
  Machine::Options o = Program::defaults();
  o.engine.protocol = engine::Protocol::write_through;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.host_write(h, h.all(), 1);
  std::byte* const base = d.address;

  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  p.device().launch(stream_b, {{base, size, true}}, [base] {
    for (std::uint64_t i = 0; i < size; ++i) base[i] = Machine::mix(2, i);
  });

  p.expect_host(h, 2);
}

TEST(Regressions, AFillThatIsRefusedHalfWayHoldsNothing) {
  Program p;
  Memory& a = p.on_device(size + 3);
  Memory& b = p.on_device(size + 3);
  p.kernel_write(stream_a, a, a.all(), 1);
  p.copy(b, a);
  p.device_content(stream_a, b);
  directory::Fill f;
  f.pattern_bytes = 8;
  p.engine().copies.fill(a, 0, size, f);
  p.engine().copies.fill(a, 0, 3, f);  // does not end with a pattern
  p.device().fail_call(2, FakeDevice::call_fill);
  EXPECT_THROW(p.launch(stream_a, {{&a, false}}, [] {}), Error);
  p.device().fail_call(0, 0);

  p.engine().copies.copy(a.address, b.address, size);  // a no longer has these bytes, whatever it had

  p.expect_device(a, {0, size}, 1);
}

TEST(Regressions, AMessageThatIsRefusedHalfWayIsNotTakenForTheFormerContent) {
  const ByteRange pieces[] = {{0, page}, {2 * page, 3 * page}};
  bool fired = true;
  for (std::uint64_t k = 1; fired; ++k) {
    Program p;
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size);
    p.kernel_write(stream_a, d, d.all(), 1);
    p.copy(h, d);
    engine::TransitBuffer* const buffer = p.engine().buffers.take(3 * page, base::Side::host);
    std::memset(buffer->address, 0, 3 * page);
    p.device().fail_call(k, FakeDevice::call_copy);
    try {
      p.engine().foreign_io.write_in(d, 0, pieces, 2, *buffer, buffer->address);
    } catch (const DeviceError&) {
    }
    fired = !p.device().failure_pending();
    p.device().fail_call(0, 0);
    p.engine().buffers.give(buffer);
    p.expect_host(h, 1);
  }
}

TEST(Regressions, AForgottenFillIsNotCopiedWithinItsArray) {
  Program p;
  Memory& a = p.on_device(64);
  directory::Fill one;
  one.pattern[0] = 1;
  one.pattern_bytes = 1;
  directory::Fill two = one;
  two.pattern[0] = 2;
  p.engine().copies.fill(a, 0, 10, one);
  p.engine().copies.fill(a, 10, 2, two);

  p.engine().copies.copy(a.address + 10, a.address + 2, 10);  // overwrites the only want of `two` on the way

  const std::vector<std::byte> seen = p.device_content(stream_a, a);
  EXPECT_EQ(seen[10], std::byte{1});
  EXPECT_EQ(seen[17], std::byte{1});
  EXPECT_EQ(seen[18], std::byte{2});
  EXPECT_EQ(seen[19], std::byte{2});
}

TEST(Regressions, CheckedWritesGiveBackNoNumberThatACopyTookFromTheHostSide) {
  Machine::Options o = Program::defaults();
  o.engine.check_writes = true;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Memory& other = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.launch(stream_a, {{&d, true}}, [] {});  // captured as writable, not written
  p.copy(other, h);

  p.expect_host(h, 1);
  p.expect_host(other, 1);
}

TEST(Regressions, CheckedWritesDoNotUndoALaterWrite) {
  Machine::Options o = Program::defaults();
  o.engine.check_writes = true;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.host_write(h, h.all(), 1);
  p.launch(stream_a, {{&d, true}}, [] {});
  p.engine().access(h, {0, page}, Access::overwrite);
  p.host_write(h, {0, page}, 2);

  p.expect_host(h, {page, size}, 1);  // the device's part is found unchanged
  p.expect_host(h, {0, page}, 2);
}

TEST(Regressions, CheckedWritesTrustNoNumberThatChangedItsContent) {
  Machine::Options o = Program::defaults();
  o.engine.check_writes = true;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Memory& other = p.on_device(size);
  p.kernel_write(stream_a, d, d.all(), 1);
  p.copy(other, d);
  p.device_content(stream_a, other);
  p.launch(stream_a, {{&d, true}}, [] {});                  // d: a new number; `other` holds the old one alone
  p.kernel_write(stream_a, other, other.all(), 2);

  p.expect_host(h, 1);
  p.expect_device(other, 2);
}

TEST(Regressions, CheckedWritesAreNotDigestedUnderANativeKernel) {
  Machine::Options o = Program::defaults();
  o.engine.check_writes = true;
  Program p(o);  // the device reports what is not ordered
  Memory& a = p.on_device(size);
  Memory& never_written = p.on_device(size);
  (void)p.queue(stream_a);
  std::byte* const base = a.address;
  p.engine().foreign_uses.native_capture(a, timeline::Mode::writes);
  p.device().launch(stream_b, {{base, size, true}}, [base] { std::memset(base, 7, size); });
  p.engine().copies.copy(a.address, never_written.address, page);  // moves nothing, waits for nobody

  p.device().order_streams(stream_a, stream_b);
  p.kernel_write(stream_a, a, a.all(), 1);

  p.expect_device(a, 1);
}

TEST(Regressions, SavedCopiesNeverExceedTheBudget) {
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = 16 * page;
  o.engine.snapshot_share_percent = 100;
  Program p(o);
  Memory& pad = p.on_device(10000);
  Memory& d = p.on_device(15000);
  std::vector<Memory*> mirrors;
  for (std::uint64_t i = 0; i < 6; ++i) {
    mirrors.push_back(&p.on_host(15000));
    p.launch(stream_a, {{&pad, true}, {&d, true}}, [base = d.address, i] {
      for (std::uint64_t b = 0; b < 15000; ++b) base[b] = Machine::mix(i, b);
    });
    p.copy(*mirrors[i], d);
    p.engine().audit();
    EXPECT_LE(p.device().mapped_bytes(), 4u * 16384);
  }
  for (std::uint64_t i = 0; i < 6; ++i) p.expect_host(*mirrors[i], i);
}

TEST(Regressions, ALargeCopySavedOnTheHostHasMemoryOnce) {
  constexpr std::uint64_t large = 40u << 20;  // more than one piece of a transfer
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = large + (1u << 20);
  Program p(o);
  Memory& a = p.on_device(large);
  Memory& b = p.on_device(large);
  p.kernel_write(stream_a, a, a.all(), 1);
  p.copy(b, a);  // has no memory, and the budget has none

  p.kernel_write(stream_a, a, {0, page}, 2);

  Statistics s;
  p.engine().add_to(s);
  EXPECT_EQ(s.snapshot_bytes, large);
  p.expect_device(b, {large - page, large}, 1);
}

TEST(Regressions, WhatIsGivenBackWhileRoomIsMadeMayBeMissingAgain) {
  constexpr std::uint64_t large = 1u << 20;
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = 2 * large;
  Program p(o);
  Memory& a = p.on_device(page);  // these two share a granule
  Memory& b = p.on_device(page);
  Memory& c = p.on_device(large);
  Memory& d = p.on_device(large);
  Memory& h = p.on_host(page);
  p.kernel_write(stream_a, d, d.all(), 1);
  p.kernel_write(stream_a, a, a.all(), 2);
  p.copy(h, a);
  p.free(a);     // its memory is the saved copy
  p.fill(h, 0);  // which nobody wants any more, but a kernel uses it still
  p.device().synchronize_device();

  p.launch(stream_a, {{&b, true}, {&c, true}}, [] {});

  EXPECT_LE(p.device().mapped_bytes(), 2 * large);
}

TEST(Regressions, ArraysThatShareAGranuleAreCountedOnce) {
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = 12 * page;
  Program p(o);
  Memory& big = p.on_device(16000);  // with its neighbours: three granules
  Memory& a = p.on_device(15000);
  Memory& b = p.on_device(15000);
  p.kernel_write(stream_a, big, big.all(), 1);

  EXPECT_NO_THROW(p.launch(stream_a, {{&big, false}, {&a, true}, {&b, true}}, [] {}));
}

TEST(Regressions, ASaveDoesNotOverwriteWhatANativeKernelStillReads) {
  Program p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  p.kernel_write(stream_a, b, b.all(), 1);
  p.kernel_write(stream_a, a, a.all(), 2);
  std::vector<std::byte> seen(size);
  p.engine().foreign_uses.native_capture(b, timeline::Mode::reads);
  p.device().order_streams(stream_b, stream_a);
  p.device().launch(stream_b, {{b.address, size, false}}, [&seen, base = b.address] { std::memcpy(seen.data(), base, size); });
  p.copy(b, a);
  p.kernel_write(stream_a, a, a.all(), 3);  // what b wants must be saved, and b is being read

  p.device().synchronize_device();
  Program::expect(seen, b.all(), 1, "native kernel");
  p.expect_device(b, 2);
}

TEST(Regressions, LaunchesBehindAnArrivalNeedNothingOnceItIsDoneThoughAnotherStreamIsIdle) {
  Program p;
  Memory& d = p.on_device(size);
  p.kernel_write(stream_b, p.on_device(page), {0, page}, 1);
  p.kernel_write(stream_a, d, d.all(), 1);
  engine::TransitBuffer* const arrived = p.engine().buffers.take(size, base::Side::host);
  const ByteRange all = d.all();
  p.engine().foreign_io.write_in(d, 0, &all, 1, *arrived, arrived->address);
  const auto launch = [&] { p.launch(stream_a, {{&d, true}}, [] {}); };
  launch();
  EXPECT_NE(d.flags.load() & Memory::revocable, Memory::revocable) << "the other stream is not ordered behind the arrival";
  p.device().synchronize_device();
  launch();
  EXPECT_EQ(d.flags.load() & Memory::revocable, Memory::revocable);
  p.engine().buffers.give(arrived);
}

TEST(Regressions, TheEndOfAllStreamsLeavesNoTransferUnderWay) {
  Program p;
  char stream_c;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Memory& other = p.on_device(page);
  p.launch(stream_b, {{&other, true}}, [] {});
  p.host_write(h, h.all(), 1);
  p.launch(stream_a, {{&d, false}}, [] {});  // ordered behind the transfer, as the others are not
  p.launch(&stream_c, {{&p.on_device(page), false}}, [] {});
  p.engine().retire_queue(p.queue(&stream_c));
  p.engine().retire_queue(p.queue(stream_b));
  p.launch(stream_a, {{&d, false}}, [] {});  // needs nothing now
  p.engine().retire_queue(p.queue(stream_a));
  p.launch(stream_b, {{&p.on_device(page), false}}, [] {});
  p.engine().audit();
}

TEST(Regressions, AStreamThatIsLeasedUnderTheNameOfAnotherOneWaitsForTheFormerOnesWork) {
  Program p;
  Memory& a = p.on_device(size);
  p.kernel_write(stream_a, a, a.all(), 1);  // the framework's default
  bool over = false;
  p.launch(stream_b, {{&p.on_device(size), true}}, [&] { over = true; });
  ASSERT_FALSE(over) << "the device is lazy here";
  p.engine().adopt_queue(0, stream_b, {}, engine::Engine::Lease::one_more);
  EXPECT_TRUE(over) << "nothing would tell it from the new stream's";
}

/// Its place among the queues had been another one's: that is no work of its own.
TEST(Regressions, AStreamThatIsLeasedUnderANewNameWaitsForNobody) {
  Program p;
  char stream_c, stream_d;
  p.launch(stream_a, {{&p.on_device(size), true}}, [] {});
  (void)p.queue(stream_b);
  p.engine().adopt_queue(0, &stream_c, {}, engine::Engine::Lease::one_more);
  p.launch(&stream_c, {{&p.on_device(page), true}}, [] {});
  p.engine().retire_queue(p.queue(&stream_c));
  bool over = false;
  p.launch(stream_b, {{&p.on_device(size), true}}, [&] { over = true; });
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.host_write(h, h.all(), 1);
  p.launch(stream_b, {{&d, false}}, [] {});  // ordered behind the transfer
  p.engine().adopt_queue(0, &stream_d, {}, engine::Engine::Lease::one_more);
  EXPECT_FALSE(over) << "it waits for the whole device";
  p.engine().audit();
  std::vector<std::byte> seen;
  p.kernel_read(&stream_d, d, seen);  // the device finds a race if it does not wait for the transfer
  p.device().synchronize_device();
  for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i));
}

/// An instance that is made and ended costs the same beside any number of arrays: none of them is looked at.
TEST(Regressions, ANewQueueLeavesArraysReady) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.host_write(h, h.all(), 1);
  p.launch(stream_a, {{&d, false}}, [] {});
  p.launch(stream_a, {{&d, false}}, [] {});  // at the end of the first one it became ready
  const std::uint32_t ready = d.flags.load();
  ASSERT_NE(ready & Memory::idle, 0u);
  for (int again = 0; again < 2; ++again) {
    p.engine().adopt_queue(0, stream_b, {}, engine::Engine::Lease::one_more);
    EXPECT_EQ(d.flags.load(), ready);
    std::vector<std::byte> seen;
    p.kernel_read(stream_b, d, seen);  // the device finds a race if it does not wait for the transfer
    p.device().synchronize_device();
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i));
    p.engine().audit();
    p.engine().retire_queue(p.queue(stream_b));
  }
}

TEST(Regressions, ANewQueueThatTheDriverDoesNotOrderWaitsAtItsLaunches) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.host_write(h, h.all(), 1);
  p.launch(stream_a, {{&d, false}}, [] {});
  ASSERT_NE(d.flags.load() & Memory::idle, 0u);
  p.device().fail_call(1, FakeDevice::call_record | FakeDevice::call_wait);
  p.engine().adopt_queue(0, stream_b, {}, engine::Engine::Lease::one_more);
  p.device().fail_call(0, 0);
  EXPECT_EQ(d.flags.load() & Memory::idle, 0u);
  std::vector<std::byte> seen;
  p.kernel_read(stream_b, d, seen);  // the device finds a race if it does not wait for the transfer
  p.device().synchronize_device();
  for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(1, i));
  p.engine().audit();
}

TEST(Regressions, AnEngineThatCannotBeMadeLeavesNothingBehind) {
  const auto fail = [](const std::string& text) { ADD_FAILURE() << text; };
  int refused = 0;
  for (bool made = false; !made;) {
    trace::Recorder recorder;
    std::vector<std::unique_ptr<device::Device>> devices;
    auto fake = std::make_unique<FakeDevice>(FakeDevice::Options{}, fail);
    fake->fail_call(static_cast<std::uint64_t>(refused) + 1, FakeDevice::call_start);
    devices.push_back(std::move(fake));
    try {
      const engine::Engine engine(std::move(devices), std::make_unique<FakePlatform>(FakePlatform::Options{}, fail), recorder, {});
      made = true;
    } catch (const Error&) {
      ++refused;  // the fakes look after what they gave when they end
    }
  }
  EXPECT_GE(refused, 4);  // addresses, and three queues
}

}  // namespace
}  // namespace semcache::fakes
