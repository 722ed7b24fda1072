// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

/// Kernels of other code on streams that the driver's watch names: they are ordered and waited for as our own launches, and not by waits
/// for whole devices.
namespace semcache::fakes {
namespace {

using device::DriverUse;
using engine::Memory;
using engine::QueueIndex;
using engine::unknown_queue;
using Stream = FakeDevice::Stream;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
char keys[40];
const Stream usual{&keys[0], 0}, one{&keys[1], 0}, two{&keys[2], 0}, far{&keys[3], 1}, three{&keys[4], 0};

struct Streams : Program {
  explicit Streams(const Options& options = defaults()) : Program(options) { (void)queue(usual.native); }
  static Options devices(unsigned count) {
    Options o = defaults();
    o.devices = count;
    return o;
  }
  /// The queue of a stream of ours.
  QueueIndex ours(const Stream& s) { return queue(s.native, s.device.value_or(0)); }
  QueueIndex queue_of(const Stream& s) {
    (void)device().stream(s);
    return engine().queue_of_others(s.native);
  }
  /// A kernel of other code that writes the array, or reads it.
  void kernel(const Stream& s, QueueIndex q, Memory& m, std::function<void()> body, DeviceSet devices = all_devices, bool writes = true) {
    const DriverUse use{m.address, 0, DriverUse::Kind::argument, 0};
    auto call = engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch, {q, s.native, devices});
    device().launch(s, {{m.address, m.bytes, writes}}, std::move(body));
    engine().foreign_uses.end_foreign_call(std::move(call));
  }
  std::function<void()> writing(Memory& m, std::uint64_t seed, bool* ran = nullptr) {
    return [base = m.address, n = m.bytes, seed, ran] {
      for (std::uint64_t i = 0; i < n; ++i) base[i] = mix(seed, i);
      if (ran != nullptr) *ran = true;
    };
  }
  void write(const Stream& s, Memory& m, std::uint64_t seed, bool* ran = nullptr) { kernel(s, queue_of(s), m, writing(m, seed, ran)); }
  /// A kernel of other code finds what the write with this seed has left.
  void expect_on(const Stream& s, QueueIndex q, Memory& m, std::uint64_t seed) {
    bool ran = false;
    kernel(s, q, m, [&ran, base = m.address, seed] {
      ran = true;
      EXPECT_EQ(base[7], mix(seed, 7));
    }, all_devices, false);
    device().synchronize_stream(s);
    EXPECT_TRUE(ran);
  }
  /// The program destroys the stream.
  void destroy(const Stream& s, bool known = true) {
    EXPECT_EQ(engine().stream_ends(s.native), known);
    device().destroy_stream(s);
  }
  [[nodiscard]] std::uint64_t waits() const { return counters().device_waits; }
};

TEST(ForeignStreams, AKernelIsWaitedForAlone) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  Memory& b = p.on_device(size);
  bool other = false, later = false;
  p.write(two, b, 1, &other);
  p.write(one, a, 2);
  p.device().launch(one, {}, [&] { later = true; });  // the stream's next work may wait for the host
  p.expect_host(ah, 2);
  EXPECT_FALSE(other) << "a kernel on another stream";
  EXPECT_FALSE(later) << "a kernel behind it";
  EXPECT_EQ(p.waits(), 0u);
}

TEST(ForeignStreams, TransfersBeforeAKernelAreNotWaitedForByTheHost) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  bool before = false, ran = false;
  p.launch(usual, {{&a, true}}, [&] { before = true; });
  p.expect_device(a, {0, 0}, 0, usual);
  before = false;
  p.host_write(ah, ah.all(), 1);
  p.kernel(one, p.queue_of(one), a, [&, base = a.address] {
    ran = true;
    EXPECT_EQ(base[5], Streams::mix(1, 5)) << "the transfer comes first";
  });
  EXPECT_FALSE(ran);
  EXPECT_EQ(p.counters().h2d.count, 1u);
  EXPECT_EQ(p.waits(), 0u);
  p.device().synchronize_stream(one);
  EXPECT_TRUE(ran);
}

TEST(ForeignStreams, AKernelOnAReadyArrayComesBehindTheTransferThatMadeItReady) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.host_write(ah, ah.all(), 1);
  p.launch(usual, {{&a, false}}, [] {});
  // Every stream of ours is behind the transfer now, which is still under way.
  constexpr std::uint32_t bits = Memory::resident | Memory::is_fresh | Memory::idle;
  ASSERT_EQ(a.flags.load() & bits, bits);
  p.expect_on(one, p.queue_of(one), a, 1);
}

TEST(ForeignStreams, OneMoreKernelOfOursOnTheSameStreamNeedsNoWait) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.write(one, a, 1);
  p.kernel_write(one, a, {0, page}, 2);
  p.write(one, a, 3);
  EXPECT_EQ(p.waits(), 0u);
  p.expect_host(ah, 3);
  EXPECT_EQ(p.counters().d2h.bytes, size);
}

/// Of a kernel on a default stream only the device is known.
TEST(ForeignStreams, AnUnknownKernelIsWaitedForOnItsDeviceAlone) {
  Streams p(Streams::devices(2));
  Memory& a = p.on_device(size, 1);
  Memory& ah = p.on_host(size, &a);
  Memory& b = p.on_device(size);
  bool other = false;
  p.kernel(one, unknown_queue, b, p.writing(b, 1, &other), DeviceSet{1} << 0);
  p.kernel(far, unknown_queue, a, p.writing(a, 2), DeviceSet{1} << 1);
  p.expect_host(ah, 2);
  EXPECT_FALSE(other) << "it may wait for a kernel that this thread has not launched yet";
  EXPECT_EQ(p.waits(), 1u);
}

TEST(ForeignStreams, AKernelOnAnotherDeviceThanTheArrays) {
  Streams p(Streams::devices(2));
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.host_write(ah, ah.all(), 1);
  p.write(far, a, 2);
  EXPECT_EQ(p.counters().peer_launches, 1u);
  p.expect_host(ah, 2);
  EXPECT_EQ(p.waits(), 0u);
}

TEST(ForeignStreams, WhatADestroyedStreamHasToDoIsKnownByItsEvent) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  Memory& b = p.on_device(size);
  bool other = false;
  p.write(two, b, 1, &other);
  p.write(one, a, 2);
  p.destroy(one);
  p.expect_host(ah, 2);
  EXPECT_FALSE(other);
  EXPECT_EQ(p.waits(), 0u);
}

/// What is known of a stream does not hold for the next one of its handle.
TEST(ForeignStreams, TheNextStreamOfTheHandleIsAnotherOne) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.host_write(ah, ah.all(), 1);
  p.write(one, a, 2);  // this stream waits for the transfer
  p.host_write(ah, ah.all(), 3);
  p.kernel(one, p.queue_of(one), a, [] {}, all_devices, false);  // and for this one
  const QueueIndex former = p.queue_of(one);
  p.destroy(one);
  const QueueIndex next = p.queue_of(one);
  EXPECT_NE(next, former) << "its work may not be done";
  p.expect_on(one, next, a, 3);
}

TEST(ForeignStreams, AnIndexIsFreeWhenTheWorkIsDone) {
  Streams p;
  Memory& a = p.on_device(size);
  const QueueIndex first = p.queue_of(one);
  std::uint64_t seed = 0;
  for (int n = 0; n < 3 * static_cast<int>(timeline::max_queues); ++n) {
    ASSERT_NE(p.queue_of(one), unknown_queue);
    p.write(one, a, ++seed);
    p.device().synchronize_stream(one);
    p.destroy(one);
  }
  EXPECT_EQ(p.queue_of(one), first);
  p.expect_device(a, a.all(), seed, usual);
}

TEST(ForeignStreams, TheEndOfAStreamThatNobodyHasUsed) {
  Streams p;
  EXPECT_FALSE(p.engine().stream_ends(two.native));
}

/// The instance that has leased it lives on, unused. Its end comes when the handle may be another stream's already.
TEST(ForeignStreams, AStreamIsDestroyedUnderALease) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  const QueueIndex leased = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  p.host_write(ah, ah.all(), 1);
  p.kernel_write(one, a, {0, page}, 2);  // this stream waits for the transfer
  p.destroy(one);
  p.host_write(ah, ah.all(), 3);
  bool ran = false;
  const QueueIndex next = p.queue_of(one);
  EXPECT_NE(next, leased);
  p.kernel(one, next, a, [&, base = a.address] {
    ran = true;
    EXPECT_EQ(base[7], Streams::mix(3, 7));
  }, all_devices, false);
  p.engine().retire_queue(leased);
  p.device().synchronize_stream(one);
  EXPECT_TRUE(ran);
  p.device().synchronize_device();
  (void)p.queue_of(two);
  EXPECT_EQ(p.queue_of(one), next) << "the lease was that of the other stream";
}

/// The first stream of all is one of other code, and no framework's default stream.
TEST(ForeignStreams, TheFirstStreamOfAll) {
  Program bare;
  auto& p = static_cast<Streams&>(bare);
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  bool later = false;
  p.engine().set_others_are_told(true);
  p.write(one, a, 1);
  p.device().launch(one, {}, [&] { later = true; });
  p.expect_host(ah, 1);
  EXPECT_FALSE(later);
  p.destroy(one);
  p.host_write(ah, ah.all(), 3);
  p.expect_on(one, p.queue_of(one), a, 3);
  EXPECT_FALSE(p.engine().state().queues->needs_events(p.ours(usual))) << "the first of ours is the framework's default";
}

/// Another thread destroys the last instance on the stream between the beginning and the end of a raw launch.
TEST(ForeignStreams, TheLeaseEndsDuringALaunch) {
  Streams p;
  p.engine().set_others_are_told(true);
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  const DriverUse use{a.address, 0, DriverUse::Kind::argument, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch, {p.queue_of(one), one.native, all_devices});
  p.engine().retire_queue(q);
  EXPECT_NE(p.queue_of(two), q) << "the call is about to submit";
  bool ran = false;
  p.device().launch(one, {{a.address, a.bytes, true}}, p.writing(a, 5, &ran));
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.expect_host(ah, 5);
  EXPECT_TRUE(ran);
}

/// The lease of an instance whose stream ends noticed: no call ends it but the end of the stream.
TEST(ForeignStreams, ALeaseThatEndsWithItsStream) {
  Streams p;
  p.engine().set_others_are_told(true);
  const timeline::Queues& queues = *p.engine().state().queues;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  (void)p.ours(usual);
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  EXPECT_TRUE(p.engine().leave_lease(q));
  EXPECT_FALSE(queues.needs_events(q)) << "it is as good as any lease";
  EXPECT_EQ(p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more), q) << "a second instance on the stream";
  EXPECT_TRUE(p.engine().leave_lease(q));
  p.write(one, a, 5);
  p.destroy(one);
  EXPECT_FALSE(queues.leased(q));
  p.expect_host(ah, 5);
  p.device().synchronize_device();
  EXPECT_EQ(p.ours(two), q) << "the index is free again";
  EXPECT_TRUE(queues.needs_events(q)) << "the lease was that of the other stream";
}

/// One instance's lease is the stream's, another one is given back before or after the stream's end.
TEST(ForeignStreams, ALeaseBesideThatOfTheStream) {
  for (const bool ends_first : {false, true}) {
    Streams p;
    p.engine().set_others_are_told(true);
    const timeline::Queues& queues = *p.engine().state().queues;
    (void)p.ours(usual);
    const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
    EXPECT_TRUE(p.engine().leave_lease(q));
    EXPECT_EQ(p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more), q);
    if (ends_first) p.destroy(one);
    if (ends_first) {
      EXPECT_NE(p.ours(two), q) << "who leases it may still ask about its work";
    }
    p.engine().retire_queue(q);
    EXPECT_EQ(queues.leased(q), !ends_first);
    if (!ends_first) p.destroy(one);
    p.device().synchronize_device();
    EXPECT_EQ(p.queue_of(three), q) << "the index is free again";
  }
}

TEST(ForeignStreams, NoLeaseIsLeftToAStreamWhoseEndNobodyNotices) {
  Streams p;
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  EXPECT_FALSE(p.engine().leave_lease(q));
  p.engine().retire_queue(q);
  p.device().destroy_stream(one);
  EXPECT_EQ(p.queue_of(two), q);
}

/// Its queue is given up, and the index is another stream's, before the launch begins.
TEST(ForeignStreams, TheLeaseEndsBeforeALaunch) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  (void)p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  const QueueIndex q = p.queue_of(one);
  p.engine().retire_queue(q);
  EXPECT_EQ(p.ours(two), q);
  p.kernel(one, q, a, p.writing(a, 5));
  p.expect_host(ah, 5);
  EXPECT_EQ(p.waits(), 1u) << "it counts as one on the unknown queue";
}

/// A raw kernel may wait for the host, so nothing is fetched behind it that keeps others waiting.
TEST(ForeignStreams, NothingIsFetchedAheadBehindAKernel) {
  for (const bool write_through : {false, true}) {
    Streams::Options o = Program::defaults();
    if (write_through) o.engine.protocol = engine::Protocol::write_through;
    Streams p(o);
    Memory& a = p.on_device(size);
    Memory& ah = *p.engine().lifetimes.allocate_host("announced", size, &a, base::Accesses::announced);
    Memory& b = p.on_device(size);
    Memory& bh = p.on_host(size, &b);
    for (std::uint64_t seed = 1; seed < 12; ++seed) {
      p.write(one, a, seed);
      p.engine().host_access.access(ah, ah.all(), Access::read);
    }
    p.write(two, b, 77);
    p.device().synchronize_stream(two);
    bool over = false;
    p.kernel(one, p.queue_of(one), a, [&] { over = true; });
    p.expect_host(bh, 77);
    EXPECT_FALSE(over) << "it may wait for what this thread does next";
    p.engine().lifetimes.deallocate(&ah);
  }
}

/// Streams of other code leave indices for instances of ours.
TEST(ForeignStreams, ManyStreamsOfOtherCode) {
  Streams p;
  static char many[2 * timeline::max_queues];
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  std::uint64_t seed = 0;
  for (char& native : many) {
    p.write({&native, 0}, a, ++seed);
    p.expect_host(ah, seed);
  }
  EXPECT_EQ(p.queue_of({&many[2 * timeline::max_queues - 1], 0}), unknown_queue);
  EXPECT_NE(p.ours(two), unknown_queue);
}

/// Launches of ours go on without the lock while a stream of other code has not waited for the transfers.
TEST(ForeignStreams, AnIdleStreamDoesNotKeepLaunchesWaiting) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  Memory& b = p.on_device(size);
  p.write(one, b, 1);
  p.write(two, p.on_device(size), 1);
  p.host_write(ah, ah.all(), 2);
  p.launch(usual, {{&a, false}}, [] {});
  EXPECT_TRUE(engine::ready({&a, false})) << "all queues of ours wait for the transfer";
  bool ran = false;
  p.kernel(one, p.queue_of(one), a, [&, base = a.address] {
    ran = true;
    EXPECT_EQ(base[page], Streams::mix(2, page)) << "so must this one";
  }, all_devices, false);
  (void)p.ours(two);
  EXPECT_TRUE(engine::ready({&a, false})) << "it is one of ours from now on, and is ordered behind the transfer at once";
  p.device().synchronize_stream(one);
  EXPECT_TRUE(ran);
  p.launch(two, {{&a, false}}, [&, base = a.address] {  // the device finds a race if it does not wait for the transfer
    EXPECT_EQ(base[page], Streams::mix(2, page));
  });
  p.device().synchronize_stream(two);
}

/// A stream that was used by other code, and gets a lease: nothing has ended, so nobody waits for the device.
TEST(ForeignStreams, ALeaseOfAStreamThatIsKnownFromOtherCode) {
  Streams p;
  p.engine().set_others_are_told(true);
  Memory& a = p.on_device(size);
  bool ran = false;
  p.write(one, a, 1, &ran);
  const QueueIndex q = p.queue_of(one);
  EXPECT_EQ(p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more), q);
  EXPECT_FALSE(ran);
  p.engine().retire_queue(q);
}

/// Where no event can be recorded any more, the device is waited for, and the content is right.
TEST(ForeignStreams, AStreamWhoseEndCannotBeRecorded) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.device().fail_call(1, FakeDevice::call_record);
  p.write(one, a, 2);  // the event behind the kernel is refused
  p.device().fail_call(1, FakeDevice::call_record);
  p.destroy(one);
  p.device().fail_call(0, 0);
  p.expect_host(ah, 2);
  p.write(one, a, 3);
  p.expect_host(ah, 3);
}

TEST(ForeignStreams, ALeasedStreamWhoseEndCannotBeRecorded) {
  Streams p;
  p.engine().set_others_are_told(true);
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  p.kernel_write(one, a, a.all(), 2);  // a launch of ours, with no event behind it
  p.device().fail_call(1, FakeDevice::call_record);
  p.destroy(one);
  p.device().fail_call(0, 0);
  p.expect_host(ah, 2);
  p.engine().retire_queue(q);
}

/// The event behind the kernel was refused, so one is recorded when the stream ends.
TEST(ForeignStreams, AnEventIsRecordedAtTheEndWhereThereIsNone) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  bool other = false;
  p.write(two, p.on_device(size), 1, &other);
  p.device().fail_call(1, FakeDevice::call_record);
  p.write(one, a, 2);
  p.destroy(one);
  p.expect_host(ah, 2);
  EXPECT_FALSE(other) << "nobody need wait for the device";
  EXPECT_EQ(p.waits(), 0u);
}

/// The announcement of a part counted on the unknown queue, and has been waited for before the kernel was launched.
TEST(ForeignStreams, AKernelOnAnAnnouncedPart) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  Memory& b = p.on_device(size);
  Memory& bh = p.on_host(size, &b);
  p.host_write(ah, ah.all(), 1);
  const ByteRange part{2 * page, 4 * page};
  p.engine().access(a, part, Access::read_write);
  p.kernel(two, unknown_queue, b, p.writing(b, 2));
  p.expect_host(bh, 2);
  EXPECT_EQ(p.waits(), 1u);
  const DriverUse use{a.address + part.begin, 0, DriverUse::Kind::argument, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch, {p.queue_of(one), one.native, all_devices});
  ASSERT_FALSE(call->uses.front().parts.empty());
  p.device().launch(one, {{a.address + part.begin, part.size(), true}}, [&, base = a.address] {
    for (std::uint64_t i = part.begin; i < part.end; ++i) base[i] = Streams::mix(3, i);
  });
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.expect_host(ah, part, 3);
  p.expect_host(ah, {0, part.begin}, 1);
  EXPECT_EQ(p.waits(), 1u);
}

/// While a thread waits for the end of a stream's work, another one makes a stream.
TEST(ForeignStreams, AQueueThatIsBeingRetiredIsNotCollected) {
  Streams p;
  Memory& a = p.on_device(size);
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  p.kernel_write(one, a, a.all(), 1);
  p.device().synchronize_stream(one);
  QueueIndex other = unknown_queue;
  p.when_unlocked([&] { other = p.ours(two); });
  p.engine().retire_queue(q);
  EXPECT_NE(other, unknown_queue);
  EXPECT_NE(other, q);
  p.expect_device(a, a.all(), 1, two);
}

/// A kernel of other code waits for a second thread, which reads an array that is ready. What the first thread has asked for before must not
/// stand in the way: transfers in one direction follow each other.
void second_thread_reads(Streams& p, Memory& ready, std::function<void()> ask, bool& over) {
  bool read = false, waited = false;
  std::function<void()> second = [&] {
    p.expect_host(ready, 77);
    waited = over;
    read = true;
  };
  p.when_unlocked(second);
  ask();
  EXPECT_TRUE(read);
  EXPECT_FALSE(waited) << "the second thread waits for the kernel, which waits for the second thread";
}

TEST(ForeignStreams, AReadBehindAKernelKeepsNoOtherThreadWaiting) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  Memory& b = p.on_device(size);
  Memory& bh = p.on_host(size, &b);
  p.write(two, b, 77);
  p.device().synchronize_stream(two);
  bool over = false;
  p.write(one, a, 5, &over);
  second_thread_reads(p, bh, [&] { p.expect_host(ah, 5); }, over);
}

TEST(ForeignStreams, AnEvictionBehindAKernelKeepsNoOtherThreadWaiting) {
  Streams::Options o = Program::defaults();
  o.engine.device_memory_bytes = 1u << 20;
  Streams p(o);
  Memory& b = p.on_device(page);
  Memory& bh = p.on_host(page, &b);
  Memory& a = p.on_device(512u << 10);
  Memory& c = p.on_device(768u << 10);
  // A first eviction allocates staging memory, for which the lock is given up before anything is submitted.
  p.kernel_write(usual, a, a.all(), 1);
  p.kernel_write(usual, c, c.all(), 2);
  p.expect_device(a, 1);
  bool over = false;
  p.write(one, a, 5, &over);
  p.write(two, b, 77);
  p.device().synchronize_stream(two);
  second_thread_reads(p, bh, [&] { p.kernel_write(usual, c, c.all(), 9); }, over);
}

/// Neither an event nor the wait for the device is possible when the stream ends.
TEST(ForeignStreams, AnEndThatCannotBeNoted) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.host_write(ah, ah.all(), 1);
  p.write(one, a, 2);
  p.host_write(ah, ah.all(), 3);
  p.device().fail_call(2, FakeDevice::call_record);
  p.kernel(one, p.queue_of(one), a, [] {}, all_devices, false);  // waits for the transfer, and gets no event
  const QueueIndex former = p.queue_of(one);
  p.device().fail_call(1, FakeDevice::call_record);
  p.device().meanwhile = [&] { p.device().fail_call(1, FakeDevice::call_synchronize); };
  p.destroy(one);
  p.device().fail_call(0, 0);
  p.device().meanwhile = nullptr;
  const QueueIndex next = p.queue_of(one);
  EXPECT_NE(next, former);
  p.expect_on(one, next, a, 3);
}

TEST(ForeignStreams, AKernelOnTheFrameworksDefaultStream) {
  Streams p;
  p.engine().set_others_are_told(true);
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  bool later = false;
  p.write(usual, a, 2);
  p.device().launch(usual, {}, [&] { later = true; });
  p.expect_host(ah, 2);
  EXPECT_FALSE(later) << "what lies behind it may wait for the host";
}

TEST(ForeignStreams, IndicesOfAnotherDevicesStreamsAreUsedAgain) {
  Streams p(Streams::devices(2));
  static char many[2 * timeline::max_queues];
  for (char& native : many) (void)p.queue_of({&native, 0});
  for (char& native : many) p.destroy({&native, 0}, p.engine().state().queues->of_stream(&native) != unknown_queue);
  (void)p.queue_of(one);
  EXPECT_NE(p.queue_of(far), unknown_queue);
}

/// Another thread has remembered the queue, and launches on it while the end of its last lease is waited for.
TEST(ForeignStreams, ALaunchOfOursOnAQueueThatIsBeingRetired) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  p.kernel_write(one, a, a.all(), 1);
  p.device().synchronize_stream(one);
  bool ran = false;
  p.when_unlocked([&] {
    p.host_write(ah, ah.all(), 3);
    p.launch(usual, {{&a, false}}, [] {});
    p.launch(usual, {{&a, false}}, [] {});
    const engine::Operand o{&a, false};
    p.engine().launches.begin_launch(q, &o, 1);
    p.device().launch(one, {{a.address, a.bytes, false}}, [&, base = a.address] {
      ran = true;
      EXPECT_EQ(base[7], Streams::mix(3, 7));
    });
    p.engine().launches.end_launch(q, &o, 1);
  });
  p.engine().retire_queue(q);
  EXPECT_TRUE(ran) << "its work is waited for, too";
}

TEST(ForeignStreams, ALeaseWhoseEndCannotBeWaitedFor) {
  Streams p;
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, engine::Engine::Lease::one_more);
  p.device().meanwhile = [&] { p.device().fail_call(1, FakeDevice::call_synchronize); };
  p.engine().retire_queue(q);
  p.device().meanwhile = nullptr;
  p.device().fail_call(0, 0);
  p.device().synchronize_device();
  EXPECT_FALSE(p.engine().stream_ends(one.native)) << "nothing more is to be noted";
  p.device().destroy_stream(one);
  EXPECT_EQ(p.queue_of(two), q) << "the index is free again";
}

/// Whether anything is at work is asked of events where the stream has been destroyed.
TEST(ForeignStreams, PatienceAsksNoDestroyedStream) {
  Streams p;
  p.device().tells_idle = true;
  Memory& a = p.on_device(size);
  p.write(one, a, 1);
  p.destroy(one);
  EXPECT_TRUE(p.engine().state().queues->any_at_work());
  p.device().synchronize_device();
  EXPECT_FALSE(p.engine().state().queues->any_at_work());
}

}  // namespace
}  // namespace semcache::fakes
