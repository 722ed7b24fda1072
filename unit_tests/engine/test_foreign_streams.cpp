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
const Stream usual{&keys[0], 0}, one{&keys[1], 0}, two{&keys[2], 0}, far{&keys[3], 1};

struct Streams : Program {
  explicit Streams(const Options& options = defaults()) : Program(options) { (void)queue(usual.native); }
  static Options devices(unsigned count) {
    Options o = defaults();
    o.devices = count;
    return o;
  }
  QueueIndex queue_of(const Stream& s) { return queue(s.native, s.device.value_or(0)); }
  /// A kernel of other code that writes the array, or reads it.
  void kernel(const Stream& s, QueueIndex q, Memory& m, std::function<void()> body, DeviceSet devices = all_devices, bool writes = true) {
    const DriverUse use{m.address, 0, DriverUse::Kind::argument, 0};
    auto call = engine().foreign_uses.begin_foreign_call(&use, 1, true, q, devices);
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
  bool ran = false;
  p.kernel(one, next, a, [&, base = a.address] {
    ran = true;
    EXPECT_EQ(base[7], Streams::mix(3, 7));
  }, all_devices, false);
  p.device().synchronize_stream(one);
  EXPECT_TRUE(ran);
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

TEST(ForeignStreams, LeasedAndUnknownStreamsAreLeftAlone) {
  Streams p;
  const QueueIndex leased = p.engine().adopt_queue(0, one.native, {}, true);
  EXPECT_FALSE(p.engine().stream_ends(one.native)) << "its instance tells of its end";
  EXPECT_FALSE(p.engine().stream_ends(usual.native)) << "the framework's default stream lives as long as the runtime";
  EXPECT_FALSE(p.engine().stream_ends(two.native)) << "nobody has used it";
  EXPECT_EQ(p.queue_of(one), leased);
}

/// A stream that was used by other code, and gets a lease: nothing has ended, so nobody waits for the device.
TEST(ForeignStreams, ALeaseOfAStreamThatIsKnownFromOtherCode) {
  Streams p;
  p.engine().others_are_told_of(true);
  Memory& a = p.on_device(size);
  bool ran = false;
  p.write(one, a, 1, &ran);
  const QueueIndex q = p.queue_of(one);
  EXPECT_EQ(p.engine().adopt_queue(0, one.native, {}, true), q);
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

/// The event behind the kernel was refused, so one is recorded when the stream ends.
TEST(ForeignStreams, AnEventIsRecordedAtTheEndWhereThereIsNone) {
  Streams p;
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.device().fail_call(1, FakeDevice::call_record);
  p.write(one, a, 2);
  p.destroy(one);
  p.expect_host(ah, 2);
  EXPECT_EQ(p.waits(), 0u);
}

/// While a thread waits for the end of a stream's work, another one makes a stream.
TEST(ForeignStreams, AQueueThatIsBeingRetiredIsNotCollected) {
  Streams p;
  Memory& a = p.on_device(size);
  const QueueIndex q = p.engine().adopt_queue(0, one.native, {}, true);
  p.kernel_write(one, a, a.all(), 1);
  p.device().synchronize_stream(one);
  QueueIndex other = unknown_queue;
  p.when_unlocked([&] { other = p.queue_of(two); });
  p.engine().retire_queue(q);
  EXPECT_NE(other, unknown_queue);
  EXPECT_NE(other, q);
  p.expect_device(a, a.all(), 1, two);
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

TEST(ForeignStreams, WriteThroughFollowsAKernelOfOtherCode) {
  Streams::Options o = Program::defaults();
  o.engine.protocol = engine::Protocol::write_through;
  Streams p(o);
  Memory& a = p.on_device(size);
  Memory& ah = p.on_host(size, &a);
  p.write(one, a, 1);
  EXPECT_EQ(p.counters().d2h.count, 1u);
  p.expect_host(ah, 1);
  EXPECT_EQ(p.counters().d2h.count, 1u);
}

}  // namespace
}  // namespace semcache::fakes
