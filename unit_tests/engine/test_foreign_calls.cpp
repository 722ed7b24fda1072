// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

// Calls of somebody else's to the driver that use tracked memory, in orders that were wrong once or could be.
namespace semcache::fakes {
namespace {

using device::DriverUse;
using engine::Memory;
using Kind = DriverUse::Kind;
const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
char streams[3];
void* const stream_a = &streams[0];
void* const stream_b = &streams[1];
void* const stream_c = &streams[2];

struct Foreign : Program {
  using Call = std::unique_ptr<engine::ForeignCall>;
  static constexpr engine::ForeignCall::Kind no_launch = engine::ForeignCall::Kind::transfer;

  Call before(std::vector<DriverUse> uses, engine::ForeignCall::Kind kind = engine::ForeignCall::Kind::launch) {
    return engine().foreign_uses.begin_foreign_call(uses.data(), uses.size(), kind);
  }
  void after(Call call) {
    if (call != nullptr) engine().foreign_uses.end_foreign_call(std::move(call));
  }
  static DriverUse argument(const Memory& m, std::uintptr_t in_front = 0) { return {m.address, 0, Kind::argument, in_front}; }
  static DriverUse word(const Memory& m, Kind kind, std::uintptr_t in_front = 0) { return {m.address, 0, kind, in_front}; }
  static DriverUse transfer(const Memory& m, Kind kind) { return {m.address, m.bytes, kind, 0}; }
  void submit(void* stream, Memory& m, std::uint64_t seed) {
    std::byte* const base = m.address;
    const std::uint64_t n = m.bytes;
    device().launch(stream, {{base, n, true}}, [base, n, seed] {
      for (std::uint64_t i = 0; i < n; ++i) base[i] = mix(seed, i);
    });
  }
  /// A raw kernel that writes the array.
  void raw_write(void* stream, Memory& m, std::uint64_t seed) {
    Call call = before({argument(m)});
    submit(stream, m, seed);
    after(std::move(call));
  }
  /// A driver's copy out of or into it.
  void copied(Memory& m, Kind kind) { after(before({transfer(m, kind)}, Foreign::no_launch)); }
  [[nodiscard]] std::uint64_t unannounced() const { return counters().unannounced; }
  /// As frameworks do it: the first word of the header is the record, and closures have it in front of the address.
  static std::uintptr_t make_handle(Memory& m) {
    const std::uintptr_t record = 0x7000 + 16 * m.slot.value;
    std::memcpy(m.header, &record, sizeof record);
    return record | 1;
  }
};

/// An array whose content the host has written, and a mirror that holds it, too.
struct Shared : Foreign {
  Shared() {
    host_write(h, h.all(), 1);
    copy(d, h);
  }
  Memory& d = on_device(size);
  Memory& h = on_host(size);
};

TEST(ForeignCalls, WhatACallOfBothSidesHasWrittenIsASourceAgain) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Memory& other = p.on_device(size);
  p.host_write(h, h.all(), 1);
  Foreign::Call call = p.before({Foreign::transfer(d, Kind::write), Foreign::transfer(h, Kind::read)}, Foreign::no_launch);
  p.submit(stream_b, d, 2);
  p.after(std::move(call));
  p.expect_host(h, 2);
  p.copy(other, d);
  const std::uint64_t moved = p.counters().h2d.bytes;

  p.expect_device(other, other.all(), 2, stream_a);

  EXPECT_EQ(p.counters().h2d.bytes, moved) << "the device has it";
}

TEST(ForeignCalls, WhatARefusedCallOfBothSidesWouldHaveWrittenIsASourceAgain) {
  bool fired = true;
  int refusals = 0;
  for (std::uint64_t k = 1; fired; ++k) {
    Foreign p;
    Memory& d1 = p.on_device(size);
    Memory& h1 = p.on_host(size, &d1);
    Memory& d2 = p.on_device(size);
    Memory& h2 = p.on_host(size, &d2);
    Memory& mirror = p.on_host(size);
    Memory& other = p.on_device(size);
    p.kernel_write(stream_a, d1, d1.all(), 1);
    p.expect_host(h1, 1);
    p.kernel_write(stream_a, d2, d2.all(), 2);
    p.copy(mirror, d2);
    p.host_write(h2, {0, 8}, 3);  // the device's side is stale there
    p.device().fail_call(k, FakeDevice::call_all & ~FakeDevice::call_register);
    bool refused = false;
    try {
      p.after(p.before({Foreign::transfer(d1, Kind::write), {h1.address, 8, Kind::read, 0},
                        Foreign::transfer(d2, Kind::write), {h2.address, 8, Kind::read, 0}}, Foreign::no_launch));
    } catch (const Error&) {
      refused = true;
      ++refusals;
    }
    fired = !p.device().failure_pending();
    p.device().fail_call(0, 0);
    if (!refused) continue;
    p.copy(other, d1);
    const std::uint64_t moved = p.counters().h2d.bytes;
    p.expect_device(other, other.all(), 1, stream_a);
    EXPECT_EQ(p.counters().h2d.bytes, moved) << "the device has it, call " << k;
  }
  EXPECT_GT(refusals, 1);
}

TEST(ForeignCalls, ARawKernelSeesAndIsSeen) {
  Shared p;
  p.raw_write(stream_b, p.d, 2);
  EXPECT_EQ(p.unannounced(), 1u);
  p.copy(p.h, p.d);
  p.expect_host(p.h, 2);
  p.raw_write(stream_b, p.d, 3);
  EXPECT_EQ(p.unannounced(), 2u) << "the mirror had it, too";
  p.raw_write(stream_b, p.d, 4);
  EXPECT_EQ(p.unannounced(), 2u) << "nobody else has it";
  p.copy(p.h, p.d);
  p.expect_host(p.h, 4);
}

TEST(ForeignCalls, WhatACopyWantsIsSavedFirst) {
  Shared p;
  p.kernel_write(stream_a, p.d, p.d.all(), 2);
  p.copy(p.h, p.d);
  p.device().synchronize_device();
  p.raw_write(stream_b, p.d, 3);
  p.expect_host(p.h, 2);
}

TEST(ForeignCalls, ACopyOutPromisesNothing) {
  Shared p;
  p.copied(p.d, Kind::read);
  p.device().synchronize_device();
  p.raw_write(stream_b, p.d, 2);
  p.copy(p.h, p.d);
  p.expect_host(p.h, 2);
}

TEST(ForeignCalls, ACopyOutChangesNothing) {
  Shared p;
  p.copied(p.d, Kind::read);
  const std::uint64_t moved = p.counters().d2h.bytes;
  p.copy(p.h, p.d);
  p.expect_host(p.h, 1);
  EXPECT_EQ(p.counters().d2h.bytes, moved);
}

TEST(ForeignCalls, ACaptureCoversTheNextLaunchWithThatHandleOnly) {
  Shared p;
  const std::uintptr_t record = Foreign::make_handle(p.d);
  p.engine().foreign_uses.native_capture(p.d, timeline::Mode::reads);
  p.after(p.before({Foreign::argument(p.d, record)}));  // its launch
  EXPECT_EQ(p.unannounced(), 0u);
  const std::uint64_t moved = p.counters().d2h.bytes;
  p.copy(p.h, p.d);
  p.expect_host(p.h, 1);
  EXPECT_EQ(p.counters().d2h.bytes, moved) << "it was captured as const";
  p.raw_write(stream_b, p.d, 2);
  p.copy(p.h, p.d);
  p.expect_host(p.h, 2);

  p.engine().foreign_uses.native_capture(p.d, timeline::Mode::reads);
  p.raw_write(stream_b, p.d, 3);  // another kernel, by its bare pointer
  p.copy(p.h, p.d);
  p.expect_host(p.h, 3);
}

TEST(ForeignCalls, AnAnnouncementEndsWithACopyThatMovesNothing) {
  Shared p;
  p.engine().access(p.d, p.d.all(), Access::read);
  p.copy(p.d, p.h);
  p.raw_write(stream_b, p.d, 2);
  p.copy(p.h, p.d);
  p.expect_host(p.h, 2);
}

TEST(ForeignCalls, AnAnnouncementEndsWhenAThirdArrayWantsTheContent) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  Memory& k = p.on_host(size);
  p.kernel_write(stream_a, d, d.all(), 1);
  p.device().synchronize_device();
  p.copy(h, d);
  p.expect_host(h, 1);
  p.engine().access(d, d.all(), Access::read);
  p.copy(k, h);  // wants d's content, but names h
  p.host_write(h, h.all(), 9);
  p.raw_write(stream_b, d, 2);
  p.device().synchronize_device();
  p.expect_host(k, 1);
}

TEST(ForeignCalls, AnAnnouncementOfReadsCoversSeveralCalls) {
  Shared p;
  p.engine().access(p.d, p.d.all(), Access::read);
  for (int i = 0; i < 3; ++i) p.after(p.before({Foreign::argument(p.d)}));
  EXPECT_EQ(p.unannounced(), 0u);
  const std::uint64_t moved = p.counters().d2h.bytes;
  p.copy(p.h, p.d);
  p.expect_host(p.h, 1);
  EXPECT_EQ(p.counters().d2h.bytes, moved);
  p.engine().access(p.d, p.d.all(), Access::read);
  p.engine().access(p.d, p.d.all(), Access::read_write);
  p.raw_write(stream_b, p.d, 2);
  p.raw_write(stream_b, p.d, 3);
  EXPECT_EQ(p.unannounced(), 0u);
  p.copy(p.h, p.d);
  p.expect_host(p.h, 3);
}

TEST(ForeignCalls, AKnownFillBetweenTwoRawKernels) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.raw_write(stream_b, d, 1);
  directory::Fill five;
  five.pattern[0] = 5;
  five.pattern_bytes = 1;
  p.engine().copies.filled(d, 0, size, five);
  p.raw_write(stream_b, d, 2);
  p.expect_host(h, 2);
  p.fill(d, 9);
  p.raw_write(stream_b, d, 3);
  p.expect_host(h, 3);
}

TEST(ForeignCalls, AUseIsNumberedWhenTheDriverHasIt) {
  Foreign p;
  Memory& a = p.on_device(size);
  Memory& b = p.on_device(size);
  Memory& ha = p.on_host(size);
  Memory& hb = p.on_host(size);
  p.raw_write(stream_b, b, 3);
  p.copy(hb, b);
  Foreign::Call call = p.before({Foreign::argument(a)});
  p.expect_host(hb, 3);  // another thread waits for the device
  p.submit(stream_c, a, 4);
  p.after(std::move(call));
  p.copy(ha, a);
  p.expect_host(ha, 4);
}

TEST(ForeignCalls, AKernelOfAnArrayAndOfAMirror) {
  Foreign p;
  Memory& a = p.on_device(size);
  Memory& d = p.on_device(size);
  Memory& m = p.on_host(size);
  Memory& ha = p.on_host(size);
  p.kernel_write(stream_a, a, a.all(), 7);
  p.device().synchronize_device();
  p.raw_write(stream_b, d, 3);
  p.copy(m, d);  // pending, and its source is an array that an unknown queue writes
  Foreign::Call call = p.before({Foreign::argument(a), Foreign::argument(m)});
  EXPECT_EQ(Program::protection(p, m, 0), platform::Protection::read_write);
  p.submit(stream_c, a, 4);
  p.after(std::move(call));
  p.copy(ha, a);
  p.expect_host(ha, 4);
  p.expect_host(m, 3);
}

TEST(ForeignCalls, CopiesBetweenTheSidesOfOneArray) {
  for (const bool host_first : {false, true}) {
    Foreign p;
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size, &d);
    p.host_write(h, h.all(), 1);
    std::vector<DriverUse> uses{Foreign::transfer(d, Kind::write), Foreign::transfer(h, Kind::read)};
    if (host_first) std::swap(uses[0], uses[1]);
    Foreign::Call call = p.before(uses, Foreign::no_launch);
    EXPECT_NE(Program::protection(p, h, 0), platform::Protection::none) << "the driver reads it now";
    p.after(std::move(call));
    p.expect_host(h, 1);
    p.expect_device(d, 1);

    p.raw_write(stream_b, d, 2);
    call = p.before({Foreign::transfer(d, Kind::read), Foreign::transfer(h, Kind::write)}, Foreign::no_launch);
    EXPECT_EQ(Program::protection(p, h, 0), platform::Protection::read_write) << "the driver writes it now";
    p.after(std::move(call));
    p.expect_host(h, 2);
    p.expect_device(d, 2);
  }
}

TEST(ForeignCalls, AWriteOfPartOfAMirrorKeepsTheRest) {
  Shared p;
  p.kernel_write(stream_a, p.d, p.d.all(), 2);
  p.copy(p.h, p.d);
  Foreign::Call call = p.before({{p.h.address + 100, 50, Kind::write, 0}}, Foreign::no_launch);
  EXPECT_EQ(call, nullptr) << "no device memory is used";
  p.expect_host(p.h, {0, size}, 2);
}

TEST(ForeignCalls, ArraysThatAreUsedOneAfterTheOtherNeedNotFitTogether) {
  Foreign p;  // 4 MiB
  std::vector<Memory*> arrays;
  for (int i = 0; i < 8; ++i) arrays.push_back(&p.on_device(1u << 20));
  for (int i = 0; i < 8; ++i) ASSERT_NO_THROW(p.raw_write(stream_b, *arrays[i], i)) << i;
  for (int i = 0; i + 1 < 8; ++i) {
    ASSERT_NO_THROW(p.after(p.before({Foreign::argument(*arrays[i]), Foreign::argument(*arrays[i + 1])}))) << i;
  }
  for (int i = 0; i < 8; ++i) p.expect_device(*arrays[i], i);
}

TEST(ForeignCalls, ArraysThatDoNotFitTogetherAreRefusedAndKept) {
  Foreign p;
  std::vector<Memory*> arrays;
  std::vector<DriverUse> uses;
  for (int i = 0; i < 5; ++i) {
    arrays.push_back(&p.on_device(1u << 20));
    p.raw_write(stream_b, *arrays[i], i);
    uses.push_back(Foreign::argument(*arrays[i]));
  }
  EXPECT_THROW((void)p.before(uses), OutOfMemory);
  for (int i = 0; i < 5; ++i) p.expect_device(*arrays[i], i);
}

TEST(ForeignCalls, ListedAndRecordedArraysAreUsedByEachLaunch) {
  for (const Kind kind : {Kind::listed, Kind::recorded}) {
    Foreign p;
    Memory& d = p.on_device(size);
    Memory& other = p.on_device(size);
    Memory& h = p.on_host(size);
    EXPECT_EQ(p.before({Foreign::word(d, kind)}, Foreign::no_launch), nullptr);
    EXPECT_TRUE(p.engine().foreign_uses.any_listed());
    for (std::uint64_t round = 0; round < 3; ++round) {
      p.host_write(h, h.all(), 10 + round);
      p.copy(d, h);
      Foreign::Call call = p.before(round == 1 ? std::vector<DriverUse>{Foreign::argument(other)} : std::vector<DriverUse>());
      ASSERT_NE(call, nullptr);
      p.submit(stream_b, d, 20 + round);
      p.after(std::move(call));
      p.expect_host(h, 10 + round);
      p.copy(h, d);
      p.expect_host(h, 20 + round);
    }
    p.free(d);
    EXPECT_FALSE(p.engine().foreign_uses.any_listed());
  }
}

TEST(ForeignCalls, ViewsThatLieInAnArrayLeadToAnyArray) {
  enum Way { by_its_address, by_a_captured_handle, by_copied_arguments, by_a_graph };
  for (const Way way : {by_its_address, by_a_captured_handle, by_copied_arguments, by_a_graph}) {
    Foreign p;
    Memory& outer = p.on_device(size);
    Memory& inner = p.on_device(size);
    Memory& h = p.on_host(size);
    p.host_write(h, h.all(), 1);
    p.copy(inner, h);
    outer.holds_handles.store(true);
    const std::uintptr_t handle = way == by_its_address ? 0 : Foreign::make_handle(outer);
    if (way == by_a_captured_handle || way == by_copied_arguments) p.engine().foreign_uses.native_capture(outer, timeline::Mode::reads);
    std::vector<DriverUse> arguments{Foreign::argument(outer, handle)};
    if (way == by_copied_arguments || way == by_a_graph) {
      Foreign::Call copied = p.before({Foreign::word(outer, way == by_a_graph ? Kind::recorded : Kind::listed, handle)}, Foreign::no_launch);
      EXPECT_TRUE(copied == nullptr || copied->uses.size() == 1);
      p.after(std::move(copied));
      arguments.clear();
    }
    Foreign::Call call = p.before(arguments);
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->uses.size(), 2u);
    p.submit(stream_b, inner, 2);
    p.after(std::move(call));
    p.expect_host(h, 1);
    p.copy(h, inner);
    p.expect_host(h, 2);
  }
}

/// Arguments on their way are this thread's, and end with the engine.
TEST(ForeignCalls, ArgumentsOnTheirWayAreNobodyElses) {
  for (const bool another_engine : {false, true}) {
    auto p = std::make_unique<Foreign>();
    Memory& d = p->on_device(size);
    const std::uintptr_t handle = Foreign::make_handle(d);
    p->after(p->before({Foreign::word(d, Kind::listed, handle)}, Foreign::no_launch));
    EXPECT_TRUE(p->engine().foreign_uses.any_listed());
    if (another_engine) {
      p.reset();
      p = std::make_unique<Foreign>();
      EXPECT_FALSE(p->engine().foreign_uses.any_listed());
      EXPECT_EQ(p->before({}), nullptr);
      continue;
    }
    std::thread([&] { EXPECT_EQ(p->before({}), nullptr); }).join();
    Foreign::Call call = p->before({});
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->uses.size(), 1u);
    p->after(std::move(call));
    EXPECT_FALSE(p->engine().foreign_uses.any_listed());
  }
}

/// A thread that ends without its launch leaves others nothing to look for; one that gets its number has arguments of its own.
TEST(ForeignCalls, ArgumentsOnTheirWayEndWithTheirThread) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& other = p.on_device(size);
  const std::uintptr_t handle = Foreign::make_handle(d);
  for (int i = 0; i < 8; ++i) {
    std::thread([&] {
      EXPECT_FALSE(p.engine().foreign_uses.any_listed());
      p.after(p.before({Foreign::word(d, Kind::listed, handle)}, Foreign::no_launch));
      EXPECT_TRUE(p.engine().foreign_uses.any_listed());
    }).join();
    EXPECT_FALSE(p.engine().foreign_uses.any_listed());
    std::thread([&] {
      const std::uintptr_t own = Foreign::make_handle(other);
      p.after(p.before({Foreign::word(other, Kind::listed, own)}, Foreign::no_launch));
      Foreign::Call call = p.before({});
      ASSERT_NE(call, nullptr);
      ASSERT_EQ(call->uses.size(), 1u);
      EXPECT_EQ(call->uses[0].memory, &other);
      p.after(std::move(call));
    }).join();
  }
}

TEST(ForeignCalls, AnArrayAmongTheArgumentsAndAtTheTargetOfTheirCopy) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& other = p.on_device(size);
  Memory& h = p.on_host(size);
  const std::uintptr_t handle = Foreign::make_handle(d);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);
  p.copy(other, h);
  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  p.after(p.before({Foreign::transfer(d, Kind::read), Foreign::transfer(other, Kind::write), Foreign::word(d, Kind::listed, handle)}, Foreign::no_launch));
  Foreign::Call call = p.before({});
  ASSERT_NE(call, nullptr);
  ASSERT_EQ(call->uses.size(), 1u);
  EXPECT_EQ(call->uses[0].memory, &d);
  p.submit(stream_b, d, 2);
  p.after(std::move(call));
  p.copy(h, d);
  p.expect_host(h, 2);
}

// Another thread's fill before the arguments are copied to the device.
TEST(ForeignCalls, ArgumentsOnTheirWayWhoseCaptureHasEnded) {
  for (const bool views : {false, true}) {
    Foreign p;
    Memory& d = p.on_device(size);
    Memory& inner = p.on_device(size);
    Memory& other = p.on_device(size);
    Memory& h = p.on_host(size);
    Memory& used = views ? inner : d;
    d.holds_handles.store(views);
    p.host_write(h, h.all(), 1);
    p.copy(used, h);
    const std::uintptr_t handle = Foreign::make_handle(d);
    p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
    p.fill(other, 7);
    p.after(p.before({Foreign::word(d, Kind::listed, handle)}, Foreign::no_launch));
    p.copy(h, used);
    p.expect_host(h, 1);
    Foreign::Call call = p.before({});
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->uses.size(), views ? 3u : 1u);
    p.submit(stream_b, used, 2);
    p.after(std::move(call));
    p.copy(h, used);
    p.expect_host(h, 2);
  }
}

TEST(ForeignCalls, WhatViewsLeadToHasToFit) {
  Foreign p;
  Memory& outer = p.on_device(size);
  outer.holds_handles.store(true);
  std::vector<Memory*> arrays;
  for (std::uint64_t i = 0; i < 8; ++i) {
    arrays.push_back(&p.on_device(1u << 20));
    p.raw_write(stream_b, *arrays[i], i);
  }
  try {
    (void)p.before({Foreign::argument(outer)});
    FAIL() << "8 MiB in a budget of 4";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("holds Views"), std::string::npos) << e.what();
  }
  Memory& h = p.on_host(1u << 20);
  for (std::uint64_t i = 0; i < 8; ++i) {
    p.copy(h, *arrays[i]);
    p.expect_host(h, i);
  }
}

TEST(ForeignCalls, HandlesOfHostSidesAreNoPointers) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  const std::uintptr_t of_d = Foreign::make_handle(d);
  const std::uintptr_t of_h = Foreign::make_handle(h);
  p.host_write(h, h.all(), 1);
  EXPECT_EQ(p.before({Foreign::word(d, Kind::recorded, of_d), Foreign::word(h, Kind::recorded, of_h)}, Foreign::no_launch), nullptr);
  Foreign::Call call = p.before({});  // the graph that was recorded
  p.submit(stream_b, d, 2);
  p.after(std::move(call));
  p.expect_host(h, 2);
  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  call = p.before({Foreign::argument(d, of_d), Foreign::argument(h, of_h)});
  p.submit(stream_b, d, 3);
  p.after(std::move(call));
  p.expect_host(h, 3);
  EXPECT_EQ(p.counters().opened, 0u);
}

TEST(ForeignCalls, ShiftedCopyBetweenTheSidesOfOneArray) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.raw_write(stream_b, d, 2);
  p.device().synchronize_device();
  // cudaMemcpy(d.data() + 8, h.data(), size - 8)
  Foreign::Call call = p.before({{d.address + 8, size - 8, Kind::write, 0}, {h.address, size - 8, Kind::read, 0}}, Foreign::no_launch);
  EXPECT_NE(Program::protection(p, h, 0), platform::Protection::none);
  std::byte* const base = d.address;
  p.device().launch(nullptr, {{base, size, true}}, [base] { std::memmove(base + 8, base, size - 8); });
  p.after(std::move(call));
  std::vector<std::byte> seen(size);
  p.host_read(h, h.all(), seen.data());
  EXPECT_EQ(seen[8], Program::mix(2, 0));
  EXPECT_EQ(seen[page + 8], Program::mix(2, page));
}

TEST(ForeignCalls, ShiftedCopyUnderCheckWrites) {
  Program::Options o = Program::defaults();
  o.engine.check_writes = true;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  Memory& x = p.on_device(size);
  p.host_write(h, h.all(), 2);
  p.expect_device(d, 2);
  p.copy(x, d);
  std::vector<DriverUse> uses{{d.address + 8, size - 8, Kind::write, 0}, {h.address, size - 8, Kind::read, 0}};
  auto call = p.engine().foreign_uses.begin_foreign_call(uses.data(), uses.size(), engine::ForeignCall::Kind::transfer);
  std::byte* const base = d.address;
  p.device().launch(nullptr, {{base, size, true}}, [base] { std::memmove(base + 8, base, size - 8); });
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  std::vector<std::byte> seen(size);
  p.host_read(h, h.all(), seen.data());
  EXPECT_EQ(seen[8], Program::mix(2, 0));
  p.device().synchronize_device();
  p.expect_device(x, 2);
}

TEST(ForeignCalls, AListedArrayIsFreedWhileTheCallWaits) {
  for (const bool a_mirror_takes_its_object : {false, true}) {
    Foreign p;
    Memory& a = p.on_device(size);
    Memory& ha = p.on_host(size);
    Memory& l = p.on_device(size);
    (void)p.before({Foreign::word(l, Kind::listed)}, Foreign::no_launch);
    p.raw_write(stream_b, a, 1);  // an unknown use is pending
    p.host_write(ha, ha.all(), 5);
    p.copy(a, ha);                // stale
    p.device().meanwhile = [&] {  // another thread's
      p.free(l);
      if (a_mirror_takes_its_object) (void)p.on_host(size);
    };
    Foreign::Call call;
    EXPECT_NO_THROW(call = p.before({Foreign::argument(a)}));
    p.after(std::move(call));
    p.expect_device(a, 5);
  }
}

TEST(ForeignCalls, AnArrayIsFreedWhileAnUnknownLaunchWaits) {
  Foreign p;
  Memory& a = p.on_device(size);
  Memory& ha = p.on_host(size);
  Memory& l = p.on_device(size);
  p.raw_write(stream_b, a, 1);
  p.host_write(ha, ha.all(), 5);
  p.copy(a, ha);
  p.device().meanwhile = [&] { p.free(l); };
  std::vector<engine::Operand> operands;
  const auto q = p.queue(stream_a);
  EXPECT_NO_THROW(p.engine().launches.begin_unknown_launch(q, operands));
  p.engine().launches.end_launch(q, operands.data(), operands.size());
}

TEST(ForeignCalls, EvictedAndPartlyBroughtBackWhileTheHostSideIsFetched) {
  Foreign p;  // 4 MiB
  constexpr std::uint64_t big = 1u << 20;
  Memory& d = p.on_device(big);
  Memory& s = p.on_device(big);
  Memory& m = p.on_host(big);
  Memory* o[3];
  for (auto& x : o) x = &p.on_device(big);
  p.kernel_write(stream_a, d, d.all(), 1);
  p.device().synchronize_device();
  p.raw_write(stream_b, s, 3);
  p.copy(m, s);  // pending
  std::vector<std::byte> some(page);
  p.device().meanwhile = [&] {  // another thread's
    for (int k = 0; k < 3; ++k) p.kernel_write(stream_a, *o[k], o[k]->all(), k);
    p.device().synchronize_device();
    EXPECT_EQ(d.flags.load() & Memory::resident, 0u) << "setup: not evicted";
    // the freed memory is another's for a while
    p.engine().copies.copy(some.data(), d.address, page);
  };
  Foreign::Call call = p.before({{d.address, big, Kind::read, 0}, {m.address, big, Kind::read, 0}}, Foreign::no_launch);
  ASSERT_NE(call, nullptr);
  const bool fresh = (d.flags.load() & Memory::is_fresh) != 0;
  std::vector<std::byte> out(big);
  const std::byte* base = d.address;
  p.device().synchronize_device();
  std::memcpy(out.data(), base, big);
  p.after(std::move(call));
  EXPECT_TRUE(fresh);
  Program::expect(out, d.all(), 1, "what the driver copies");
}

/// Each of the two holds what a third array wants, so neither is its last holder; but the call overwrites both.
TEST(ForeignCalls, BatchThatOverwritesBothHoldersOfAValue) {
  Foreign p;
  Memory& d1 = p.on_device(size);
  Memory& h1 = p.on_host(size, &d1);
  Memory& d2 = p.on_device(size);
  Memory& h2 = p.on_host(size, &d2);
  Memory& third = p.on_device(size);
  p.kernel_write(stream_a, d1, d1.all(), 1);
  p.copy(d2, d1);
  p.expect_device(d2, 1);
  p.copy(third, d1);
  Foreign::Call call = p.before({Foreign::transfer(d1, Kind::write), {h1.address, 8, Kind::read, 0},
                                 Foreign::transfer(d2, Kind::write), {h2.address, 8, Kind::read, 0}}, Foreign::no_launch);
  p.submit(stream_a, d1, 2);
  p.submit(stream_b, d2, 3);
  p.after(std::move(call));
  p.device().synchronize_device();
  p.expect_device(third, 1);
}

/// While a call between the two sides of an array is made, another thread takes the only other copy of what it overwrites.
TEST(ForeignCalls, TheOtherHolderOfWhatACallOverwritesGoesMeanwhile) {
  for (const bool by_host : {false, true}) {
    SCOPED_TRACE(by_host);
    Foreign p;
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size, &d);
    Memory& wants = p.on_device(size);
    Memory& holds = by_host ? p.on_host(size) : p.on_device(size);
    p.kernel_write(stream_a, d, d.all(), 1);
    p.copy(holds, d);
    p.engine().copies.settle(holds, holds.all());
    p.copy(wants, d);
    Foreign::Call call = p.before({Foreign::transfer(d, Kind::write), {h.address, page, Kind::read, 0}}, Foreign::no_launch);
    if (by_host) p.host_write(holds, holds.all(), 5);
    else p.kernel_write(stream_a, holds, holds.all(), 5);
    p.submit(stream_a, d, 7);
    p.after(std::move(call));
    p.device().synchronize_device();
    p.expect_device(wants, 1);
    if (by_host) p.expect_host(holds, 5);
    p.expect_device(d, 7);
  }
}

TEST(ForeignCalls, AKernelWhoseArgumentsAreCopiedFirst) {
  Foreign p;
  Memory& b = p.on_device(size);
  Memory& hb = p.on_host(size);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.raw_write(stream_b, b, 3);
  p.copy(hb, b);
  const std::uintptr_t record = Foreign::make_handle(d);
  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  p.after(p.before({Foreign::word(d, Kind::listed, record)}, Foreign::no_launch));  // cudaMemcpyToSymbolAsync
  p.expect_host(hb, 3);                                                // another thread waits for the device
  p.after(p.before({}));                                               // the launch, without arguments
  p.submit(stream_c, d, 4);
  p.copy(h, d);
  p.expect_host(h, 4);
}

TEST(ForeignCalls, TheHostWritesBetweenACaptureAndItsLaunch) {
  Foreign p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  const std::uintptr_t record = Foreign::make_handle(d);
  p.raw_write(stream_b, d, 1);
  p.expect_host(h, 1);
  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  p.engine().access(h, h.all(), Access::overwrite);  // between capture and launch (a functor that is kept)
  Foreign::Call call = p.before({Foreign::argument(d, record)});
  p.submit(stream_c, d, 4);
  p.after(std::move(call));
  p.expect_host(h, 4);
}

TEST(ForeignCalls, TheHostSideIsClosedAgainWhenTheDeviceSideWasEvicted) {
  Foreign p;  // 4 MiB
  constexpr std::uint64_t big = 1u << 20;
  Memory& d = p.on_device(big);
  Memory& h = p.on_host(big, &d);
  Memory* o[4];
  for (auto& x : o) x = &p.on_device(big);
  p.raw_write(stream_b, d, 2);
  p.device().synchronize_device();
  bool evicted = false;
  p.device().meanwhile = [&] {
    p.device().meanwhile = [&] {
      for (int k = 0; k < 4; ++k) p.kernel_write(stream_a, *o[k], o[k]->all(), k);
      p.device().synchronize_device();
      evicted = (d.flags.load() & Memory::resident) == 0;
    };
  };
  Foreign::Call call = p.before({Foreign::transfer(d, Kind::read), Foreign::transfer(h, Kind::write)}, Foreign::no_launch);
  EXPECT_TRUE(evicted);
  EXPECT_EQ(Program::protection(p, h, 0), platform::Protection::read_write) << "the driver writes it now";
  p.after(std::move(call));
}

TEST(ForeignCalls, BatchThatSwapsTwoArrays) {
  Foreign p;
  Memory& d1 = p.on_device(size);
  Memory& h1 = p.on_host(size, &d1);
  Memory& d2 = p.on_device(size);
  Memory& h2 = p.on_host(size, &d2);
  p.host_write(h1, h1.all(), 1);
  p.host_write(h2, h2.all(), 2);
  Foreign::Call call = p.before({Foreign::transfer(d1, Kind::write), Foreign::transfer(h2, Kind::read),
                                 Foreign::transfer(d2, Kind::write), Foreign::transfer(h1, Kind::read)}, Foreign::no_launch);
  p.submit(stream_a, d1, 2);
  p.submit(stream_b, d2, 1);
  p.after(std::move(call));
  p.expect_host(h1, 2);
  p.expect_host(h2, 1);
}

TEST(ForeignCalls, TheHostReadsBetweenACaptureAndItsLaunch) {
  Foreign p;
  constexpr std::uint64_t big = 1u << 20;
  Memory& d = p.on_device(big);
  Memory& h = p.on_host(big, &d);
  const std::uintptr_t record = Foreign::make_handle(d);
  p.raw_write(stream_b, d, 1);
  p.device().synchronize_device();
  p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
  p.expect_host(h, 1);
  Foreign::Call call = p.before({Foreign::argument(d, record)});
  p.submit(stream_c, d, 4);
  p.after(std::move(call));
  p.expect_host(h, 4);
}

TEST(ForeignCalls, ArraysWithoutBytes) {
  Foreign p;
  Memory& d = p.on_device(0);
  Memory& h = p.on_host(0, &d);
  Memory& e = p.on_device(size);
  p.after(p.before({Foreign::argument(d), Foreign::argument(h), Foreign::argument(e)}));
  p.after(p.before({Foreign::argument(d), Foreign::argument(e)}));
  EXPECT_EQ(p.unannounced(), 1u) << "the other one has a content from now on";
}

TEST(ForeignCalls, AnArrayThatIsFreedMeanwhileIsNoLongerUsed) {
  Foreign p;
  Memory& d = p.on_device(size);
  (void)p.before({Foreign::word(d, Kind::listed)}, Foreign::no_launch);
  p.free(d);
  EXPECT_EQ(p.before({}), nullptr);
  EXPECT_EQ(p.before({{nullptr, 0, Kind::argument, 0}}), nullptr);
}

}  // namespace
}  // namespace semcache::fakes
