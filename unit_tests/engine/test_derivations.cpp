// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Values that are derived from arrays: they are found by the content of their inputs, and nothing is copied for them when they leave.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::Requirement;

char streams[4];
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t size = 8 * page;

enum class Kind { cuda, emulated, guarded };

struct Deriving : Program {
  static Options options(Kind kind, std::uint32_t devices = 1) {
    Options o = kind == Kind::cuda ? defaults() : kind == Kind::emulated ? emulated() : guarded();
    o.devices = devices;
    o.device.granularity_bytes = page;
    return o;
  }
  explicit Deriving(Kind kind = Kind::cuda, std::uint32_t devices = 1) : Deriving(options(kind, devices)) {}
  explicit Deriving(const Options& options) : Program(options), d(on_device(size)), h(on_host(size, &d)) { host_write(h, h.all(), 1); }
  ~Deriving() {
    for (auto* use : held) engine().derivations.release(*use);
  }

  /// A derived value: each byte of a part of an array, inverted.
  struct Value {
    bool computed;  ///< it was there already
    std::vector<std::byte> seen;
    Memory* memory;
  };
  Value inverted(Memory& m, const Region& where, std::uint32_t on = 0, bool keep = false, unsigned parameter = 0) {
    const engine::Derivations::Use use = acquire(m, where, on, parameter);
    if (!use.computed) {
      compute(use, m, where, on);
      engine().derivations.note_computed(*use.derivation, seconds_to_make);
    }
    Value value{use.computed, read(*use.memory, on), use.memory};
    if (keep) held.push_back(use.derivation);
    else engine().derivations.release(*use.derivation);
    return value;
  }
  Value inverted(Memory& m) { return inverted(m, m.all()); }
  engine::Derivations::Use acquire(Memory& m, const Region& where, std::uint32_t on = 0, unsigned parameter = 0) {
    const std::vector<std::byte> parameters{std::byte(parameter)};
    return engine().derivations.acquire("inverted", parameters, {{&m, where, Access::read}}, where.size(), on);
  }
  void compute(const engine::Derivations::Use& use, Memory& m, const Region& where, std::uint32_t on) {
    // The kernel reads the input's device side.
    Memory& from = m.on_host() ? engine().state().memory_of(engine().state().directory.slots(m.datum).front()) : m;
    const Operand operands[] = {{&from, false}, {use.memory, true}};
    Requirement parts[] = {{&from, where, Access::read}, {use.memory, use.memory->positions(), Access::overwrite}};
    const Stream stream{&streams[on], on};
    const engine::QueueIndex q = queue(stream.native, on);
    const bool in_part = engine().launches.begin_launch(q, operands, 2, {parts, 2});
    device().launch(stream, touches({operands[0], operands[1]}), [to = use.memory->address, base = from.address, where] {
      std::byte* next = to;
      for (std::uint64_t c = 0; c < where.columns; ++c) {
        for (std::uint64_t i = where.column(c).begin; i < where.column(c).end; ++i) *next++ = ~base[i];
      }
    });
    engine().launches.end_launch(q, operands, 2, all_devices, {parts, in_part ? 2u : 0u});
  }
  std::vector<std::byte> read(Memory& m, std::uint32_t on) {
    const Operand operand{&m, false};
    Requirement all{&m, m.positions(), Access::read};
    const Stream stream{&streams[on], on};
    const engine::QueueIndex q = queue(stream.native, on);
    std::vector<std::byte> seen(m.bytes);
    (void)engine().launches.begin_launch(q, &operand, 1, {&all, 1});
    device().launch(stream, touches({operand}), [&seen, base = m.address] { std::memcpy(seen.data(), base, seen.size()); });
    engine().launches.end_launch(q, &operand, 1);
    Program::device(on).synchronize_device();
    return seen;
  }
  static void expect_inverted(const Value& value, std::uint64_t seed, std::uint64_t begin = 0) {
    for (std::uint64_t i = 0; i < value.seen.size(); ++i) ASSERT_EQ(value.seen[i], ~mix(seed, begin + i)) << i;
  }
  Memory& d;
  Memory& h;
  std::vector<engine::Derivation*> held;
  double seconds_to_make = 0;
};

class Derivations : public ::testing::TestWithParam<Kind> {};

TEST_P(Derivations, AreComputedOnce) {
  Deriving p(GetParam());
  const auto first = p.inverted(p.d);
  EXPECT_FALSE(first.computed);
  p.expect_inverted(first, 1);
  const Counters before = p.counters();
  const auto again = p.inverted(p.d);
  EXPECT_TRUE(again.computed);
  p.expect_inverted(again, 1);
  EXPECT_EQ(p.counters().h2d, before.h2d);
  EXPECT_EQ(p.counters().d2h, before.d2h);
  EXPECT_EQ(p.counters().d2d, before.d2d);
}

TEST_P(Derivations, DependOnFunctionParametersAndRegion) {
  Deriving p(GetParam());
  (void)p.inverted(p.d);
  const auto other = p.engine().derivations.acquire("another function", {std::byte{0}}, {{&p.d, p.d.all(), Access::read}}, size, 0);
  EXPECT_FALSE(other.computed);
  p.engine().derivations.release(*other.derivation);
  EXPECT_FALSE(p.inverted(p.d, p.d.all(), 0, false, 1).computed);
  EXPECT_FALSE(p.inverted(p.d, ByteRange{0, page}).computed);
  EXPECT_FALSE(p.inverted(p.d, ByteRange{page, 2 * page}).computed);
  EXPECT_FALSE(p.inverted(p.d, Region(0, page / 2, 8, page)).computed);
  EXPECT_TRUE(p.inverted(p.d, ByteRange{page, 2 * page}).computed);
  EXPECT_TRUE(p.inverted(p.d, Region(0, page / 2, 8, page)).computed);
  EXPECT_TRUE(p.inverted(p.d).computed);
}

/// Each kind of write changes the value: also where only one memory had it, whose numbers a write would keep otherwise.
TEST_P(Derivations, EndWithEveryChangeOfAnInput) {
  const std::vector<std::pair<const char*, std::function<void(Deriving&)>>> changes = {
      {"a kernel", [](Deriving& p) { p.kernel_write(&streams[0], p.d, {5, 6}, 2); }},
      {"the host", [](Deriving& p) { p.host_write(p.h, {5, 6}, 2); }},
      {"a fill", [](Deriving& p) { p.fill(p.d, 7); }},
      {"a copy", [](Deriving& p) {
         Memory& other = p.on_device(size);
         p.kernel_write(&streams[0], other, other.all(), 2);
         p.copy(p.d, other);
       }},
      {"an announced use", [](Deriving& p) { p.engine().access(p.d, ByteRange{5, 6}, Access::read_write); }},
      {"a message", [](Deriving& p) {
         auto* const buffer = p.engine().buffers.take(100, base::Side::host);
         const ByteRange piece{0, 100};
         p.engine().foreign_io.write_in(p.d, 50, &piece, 1, *buffer, buffer->address);
         p.device().synchronize_device();
         p.engine().buffers.give(buffer);
       }},
  };
  for (const auto& [name, change] : changes) {
    Deriving p(GetParam());
    p.kernel_write(&streams[0], p.d, p.d.all(), 1);  // held there alone
    p.expect_inverted(p.inverted(p.d), 1);
    change(p);
    const std::vector<std::byte> content = p.device_content(&streams[0], p.d);
    const auto value = p.inverted(p.d);
    EXPECT_FALSE(value.computed) << name;
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(value.seen[i], ~content[i]) << name << " " << i;
  }
}

/// What was announced, and opened, before the value was computed does not permit a write that nobody notices.
TEST_P(Derivations, EndWithAWriteThatWasAnnouncedBefore) {
  const auto raw_kernel = [](Deriving& p) {
    const device::DriverUse use{p.d.address + page, 0, device::DriverUse::Kind::argument, 0};
    auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch);
    p.device().launch(&streams[3], {{p.d.address, size, true}}, [&p] { p.d.address[page + 5] = std::byte{99}; });
    p.engine().foreign_uses.end_foreign_call(std::move(call));
    p.device().synchronize_device();
  };
  for (const ByteRange announced : {ByteRange{page, 2 * page}, ByteRange{0, size}}) {
    Deriving p(GetParam());
    p.engine().access(p.d, announced, Access::read_write);
    p.expect_inverted(p.inverted(p.d), 1);
    if (GetParam() == Kind::guarded) p.host_write(p.d, {page + 5, page + 6}, 2);
    else raw_kernel(p);
    const std::vector<std::byte> content = p.device_content(&streams[0], p.d);
    EXPECT_NE(content[page + 5], Machine::mix(1, page + 5));
    const auto value = p.inverted(p.d);
    EXPECT_FALSE(value.computed);
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(value.seen[i], ~content[i]) << i;
  }
}

/// Launches that need nothing take no lock: one that has begun before the value is found may still write under the former number.
TEST_P(Derivations, WaitForLaunchesThatMayStillWriteTheInput) {
  Deriving p(GetParam());
  p.kernel_write(&streams[0], p.d, p.d.all(), 1);
  const Operand operand{&p.d, true};
  const engine::QueueIndex q = p.queue(&streams[0]);
  std::thread thread;
  std::vector<std::byte> seen;
  {
    p.engine().launches.begin_launch(q, &operand, 1);
    thread = std::thread([&] { seen = p.inverted(p.d).seen; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    p.device().launch(&streams[0], Machine::touches({operand}), [&p] {
      for (std::uint64_t i = 0; i < size; ++i) p.d.address[i] = Machine::mix(2, i);
    });
    p.engine().launches.end_launch(q, &operand, 1);
  }
  thread.join();
  p.expect_inverted({false, seen, nullptr}, 2);
  const auto value = p.inverted(p.d);
  EXPECT_TRUE(value.computed);
  p.expect_inverted(value, 2);
}

TEST_P(Derivations, AreFoundByContentWhereverItIs) {
  Deriving p(GetParam());
  (void)p.inverted(p.d);
  Memory& other = p.on_device(2 * size);
  p.engine().copies.copy(other.address + page, p.d.address, size);
  const auto value = p.inverted(other, ByteRange{page, page + size});
  EXPECT_TRUE(value.computed);
  p.expect_inverted(value, 1);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  p.expect_inverted(p.inverted(p.d), 2);
  p.engine().copies.copy(p.d.address, other.address + page, size);
  EXPECT_FALSE(p.inverted(p.d).computed) << "a value that its array no longer wanted is given up when another one is computed";
}

TEST_P(Derivations, AreForgottenFirstAndNothingIsSaved) {
  Deriving::Options o = Deriving::options(GetParam());
  o.engine.device_memory_bytes = 3 * size + 2 * page;  // arrays share pages
  Deriving p(o);
  (void)p.inverted(p.d);
  Memory& a = p.on_device(size);
  p.kernel_write(&streams[0], a, a.all(), 3);
  const Counters before = p.counters();
  Memory& b = p.on_device(size);
  p.kernel_write(&streams[0], b, b.all(), 4);
  EXPECT_EQ(p.counters().evictions - before.evictions, 1u);
  EXPECT_TRUE(engine::State::is_resident(p.d)) << "although it was used longest ago";
  EXPECT_EQ(p.counters().saved_link, before.saved_link);
  EXPECT_FALSE(p.inverted(p.d).computed);
}

/// A value that nobody uses, and that takes longer to compute than to the host and back, leaves like an array, and is found again.
TEST_P(Derivations, ThatAreDearAreKeptAsArraysAre) {
  for (const bool dear : {false, true}) {
    Deriving::Options o = Deriving::options(GetParam());
    o.engine.device_memory_bytes = 2 * size + 2 * page;  // arrays share pages
    Deriving p(o);
    p.seconds_to_make = dear ? 1 : 1e-9;  // its bytes take a microsecond to the host and back
    (void)p.inverted(p.d);
    const Counters before = p.counters();
    for (const std::uint64_t seed : {3u, 4u}) {
      Memory& a = p.on_device(size);
      p.kernel_write(&streams[0], a, a.all(), seed);
      EXPECT_EQ(engine::State::is_resident(p.d), seed == 3 && !dear) << "the input was used longest ago, and the host has it";
    }
    EXPECT_EQ(p.counters().evictions - before.evictions, 2u) << "the value and its input";
    EXPECT_EQ(p.counters().saved_link.bytes - before.saved_link.bytes, dear ? size : 0);
    const auto value = p.inverted(p.d);
    EXPECT_EQ(value.computed, dear);
    p.expect_inverted(value, 1);
    EXPECT_TRUE(p.inverted(p.d).computed);
  }
}

/// Of a value on two devices, one copy leaves first, whatever it takes to compute it, and nothing is saved.
TEST_P(Derivations, WithACopyOnAnotherDeviceLeaveFirst) {
  Deriving::Options o = Deriving::options(GetParam(), 2);
  o.engine.device_memory_bytes = 3 * size + 2 * page;
  Deriving p(o);
  p.seconds_to_make = 1;
  (void)p.inverted(p.d);
  (void)p.inverted(p.d, p.d.all(), 1);
  Memory& a = p.on_device(size);
  p.kernel_write(&streams[0], a, a.all(), 3);
  const Counters before = p.counters();
  Memory& b = p.on_device(size);
  p.kernel_write(&streams[0], b, b.all(), 4);
  EXPECT_EQ(p.counters().evictions - before.evictions, 1u);
  EXPECT_TRUE(engine::State::is_resident(p.d)) << "although it was used longest ago";
  EXPECT_EQ(p.counters().saved_link, before.saved_link);
  const auto value = p.inverted(p.d, p.d.all(), 1);
  EXPECT_TRUE(value.computed) << "the other copy is there";
  p.expect_inverted(value, 1);
}

TEST_P(Derivations, TakeATimeThatIsANumber) {
  Deriving p(GetParam());
  const auto use = p.acquire(p.d, p.d.all());
  p.compute(use, p.d, p.d.all(), 0);
  for (const double seconds : {-1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(p.engine().derivations.note_computed(*use.derivation, seconds), UsageError) << seconds;
  }
  p.engine().derivations.note_computed(*use.derivation, 1);
  p.engine().derivations.release(*use.derivation);
  EXPECT_TRUE(p.inverted(p.d).computed);
}

TEST_P(Derivations, ThatAreUsedAreSavedAsArraysAre) {
  Deriving::Options o = Deriving::options(GetParam());
  o.engine.device_memory_bytes = 2 * size + page;
  Deriving p(o);
  const auto value = p.inverted(p.d, p.d.all(), 0, true);
  for (int i = 0; i < 2; ++i) {
    Memory& a = p.on_device(size);
    p.kernel_write(&streams[0], a, a.all(), 3);
  }
  EXPECT_FALSE(engine::State::is_resident(*value.memory));
  p.expect_inverted({true, p.read(*value.memory, 0), value.memory}, 1);
  EXPECT_TRUE(p.inverted(p.d).computed);
}

TEST_P(Derivations, MoveBetweenDevices) {
  Deriving p(GetParam(), 2);
  (void)p.inverted(p.d);
  const Counters before = p.counters();
  const auto there = p.inverted(p.d, p.d.all(), 1);
  EXPECT_TRUE(there.computed);
  p.expect_inverted(there, 1);
  EXPECT_EQ(p.counters().between_devices.bytes - before.between_devices.bytes, size);
  EXPECT_EQ(p.counters().h2d, before.h2d);
}

TEST_P(Derivations, OneOfTwoCopiesMayLeave) {
  Deriving::Options o = Deriving::options(GetParam(), 2);
  o.engine.device_memory_bytes = 3 * size + page;
  Deriving p(o);
  (void)p.inverted(p.d);
  (void)p.inverted(p.d, p.d.all(), 1);
  for (int i = 0; i < 2; ++i) {
    Memory& a = p.on_device(size);
    p.kernel_write(&streams[0], a, a.all(), 3);
  }
  const auto value = p.inverted(p.d, p.d.all(), 1);
  EXPECT_TRUE(value.computed) << "device 1 has it";
  p.expect_inverted(value, 1);
}

TEST_P(Derivations, OfAnInputThatChangesMeanwhileBelongToTheCallerAlone) {
  Deriving p(GetParam());
  const auto use = p.acquire(p.d, p.d.all());
  EXPECT_FALSE(use.computed);
  p.compute(use, p.d, p.d.all(), 0);
  p.kernel_write(&streams[0], p.d, {0, 1}, 2);
  p.engine().derivations.note_computed(*use.derivation);
  EXPECT_FALSE(p.inverted(p.d).computed);
  p.expect_inverted({false, p.read(*use.memory, 0), use.memory}, 1);
  p.engine().derivations.release(*use.derivation);
}

/// A value is found on other streams than the one that computes it. Its finder cannot order the two, so the engine does.
TEST_P(Derivations, AreUsedBehindTheKernelThatComputesThem) {
  for (const bool unknown : {false, true}) {
    Deriving p(GetParam());
    const auto first = p.acquire(p.d, p.d.all());
    p.compute(first, p.d, p.d.all(), 0);
    p.engine().derivations.note_computed(*first.derivation);
    p.engine().derivations.release(*first.derivation);
    for (int i = 0; i < 2; ++i) {
      const auto found = p.acquire(p.d, p.d.all());
      ASSERT_TRUE(found.computed);
      const Operand operand{found.memory, false};
      const engine::QueueIndex q = unknown ? engine::unknown_queue : p.queue(&streams[2 + i]);
      std::vector<std::byte> seen(size);
      (void)p.engine().launches.begin_launch(q, &operand, 1);
      p.device().launch(&streams[2 + i], Machine::touches({operand}),
                        [&seen, from = found.memory->address] { std::memcpy(seen.data(), from, size); });
      p.engine().launches.end_launch(q, &operand, 1);
      p.device().synchronize_device();
      p.expect_inverted({true, seen, found.memory}, 1);
      p.engine().derivations.release(*found.derivation);
    }
  }
}

/// The input changes, the kernel reads it, and the content of before is copied back: the numbers are those of before, the value is not.
TEST_P(Derivations, OfAnInputThatIsAsBeforeAgain) {
  Deriving p(GetParam());
  Memory& keep = p.on_device(size);
  const auto use = p.acquire(p.d, p.d.all());
  p.copy(keep, p.d);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  p.compute(use, p.d, p.d.all(), 0);
  p.copy(p.d, keep);
  p.engine().derivations.note_computed(*use.derivation);
  p.engine().derivations.release(*use.derivation);
  p.expect_inverted(p.inverted(p.d), 1);
}

TEST_P(Derivations, AreReleasedWhileALaunchUsesThem) {
  Deriving p(GetParam());
  const auto use = p.acquire(p.d, p.d.all());
  p.compute(use, p.d, p.d.all(), 0);
  const Operand operand{use.memory, false};
  const engine::QueueIndex q = p.queue(&streams[0]);
  (void)p.engine().launches.begin_launch(q, &operand, 1);
  p.engine().derivations.release(*use.derivation);
  bool ran = false;
  p.device().launch(&streams[0], Machine::touches({operand}), [&ran] { ran = true; });
  p.engine().launches.end_launch(q, &operand, 1);
  p.device().synchronize_device();
  EXPECT_TRUE(ran);
}

TEST_P(Derivations, ThatWereEvictedWhileTheyWereUsedDoNotStayOnTheHost) {
  Deriving::Options o = Deriving::options(GetParam());
  o.engine.device_memory_bytes = 2 * size + page;
  Deriving p(o);
  const auto saved = [&p] {
    Statistics s;
    p.engine().add_to(s);
    return s.snapshot_bytes;
  };
  (void)p.inverted(p.d, p.d.all(), 0, true);
  for (int i = 0; i < 2; ++i) {
    Memory& a = p.on_device(size);
    p.kernel_write(&streams[0], a, a.all(), 3);
  }
  EXPECT_GE(saved(), size);
  p.engine().derivations.release(*p.held.back());
  p.held.clear();
  p.engine().host_access.settle_all();
  EXPECT_EQ(saved(), 0u);
  p.expect_inverted(p.inverted(p.d), 1);
}

TEST_P(Derivations, MayBeNotedTwice) {
  Deriving p(GetParam());
  (void)p.inverted(p.d);
  const auto use = p.acquire(p.d, p.d.all());
  p.engine().derivations.note_computed(*use.derivation);
  p.engine().derivations.release(*use.derivation);
  EXPECT_TRUE(p.inverted(p.d).computed);
}

TEST_P(Derivations, OfUnknownContentAreNotFound) {
  Deriving p(GetParam());
  Memory& m = p.on_device(size);
  p.engine().copies.copy(m.address, p.d.address, page);
  (void)p.inverted(m);
  EXPECT_FALSE(p.inverted(m).computed) << "the kernel may have met anything in the bytes that nobody has written";
  EXPECT_TRUE((p.inverted(m, ByteRange{0, page}), p.inverted(m, ByteRange{0, page})).computed);
}

/// A mirror becomes open when a kernel is given a pointer into it. Its content may change unnoticed from then on.
TEST_P(Derivations, OfAnOpenMirrorAreNotFound) {
  Deriving p(GetParam());
  Memory& mirror = p.on_host(size);
  p.host_write(mirror, mirror.all(), 1);
  const auto ask = [&] {
    const auto use = p.acquire(mirror, mirror.all());
    if (!use.computed) p.engine().derivations.note_computed(*use.derivation);  // the test has no kernel that reads the mirror
    p.engine().derivations.release(*use.derivation);
    return use.computed;
  };
  EXPECT_FALSE(ask());
  const device::DriverUse use{mirror.address, 0, device::DriverUse::Kind::argument, 0};
  if (auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch)) p.engine().foreign_uses.end_foreign_call(std::move(call));
  ASSERT_TRUE(mirror.open);
  EXPECT_FALSE(ask());
  EXPECT_FALSE(ask());
}

TEST_P(Derivations, OfAnArrayThatIsFreedAndMadeAnew) {
  Deriving p(GetParam());
  Memory& m = p.on_device(size);
  p.kernel_write(&streams[0], m, m.all(), 3);
  p.expect_inverted(p.inverted(m), 3);
  const std::byte* const address = m.address;
  p.free(m);
  Memory& again = p.on_device(size);
  EXPECT_EQ(again.address, address);
  p.kernel_write(&streams[0], again, again.all(), 4);
  const auto value = p.inverted(again);
  EXPECT_FALSE(value.computed);
  p.expect_inverted(value, 4);
}

TEST_P(Derivations, OfAFreedArrayAreRefused) {
  Deriving p(GetParam());
  Memory& freed = p.on_device(size);
  p.free(freed);
  EXPECT_THROW((void)p.acquire(freed, ByteRange{0, size}), UsageError);

  Memory& m = p.on_device(size);
  p.kernel_write(&streams[0], m, m.all(), 3);
  p.engine().foreign_uses.native_capture(m, timeline::Mode::writes);
  bool waited = false;
  p.when_unlocked([&] {
    waited = true;
    std::thread([&] { p.free(m); }).join();
  });
  if (GetParam() == Kind::cuda) {  // elsewhere native kernels have ended, or are noticed
    EXPECT_THROW((void)p.acquire(m, m.all()), UsageError);
    EXPECT_TRUE(waited);
  }
  p.when_unlocked(nullptr);
  p.expect_inverted(p.inverted(p.d), 1);
}

/// Others are ordered behind a launch that has ended only.
TEST_P(Derivations, AreNotNotedWhileTheirLaunchIsUnderWay) {
  Deriving p(GetParam());
  const auto use = p.acquire(p.d, p.d.all());
  const Operand operands[] = {{&p.d, false}, {use.memory, true}};
  const engine::QueueIndex q = p.queue(&streams[0]);
  (void)p.engine().launches.begin_launch(q, operands, 2);
  EXPECT_THROW(p.engine().derivations.note_computed(*use.derivation), UsageError);
  p.engine().launches.end_launch(q, operands, 2);
  p.compute(use, p.d, p.d.all(), 0);
  p.engine().derivations.note_computed(*use.derivation);
  p.expect_inverted(p.inverted(p.d), 1);
}

TEST_P(Derivations, ThatNobodyHasComputedAreNotFound) {
  Deriving p(GetParam());
  const auto use = p.acquire(p.d, p.d.all());
  p.engine().derivations.note_computed(*use.derivation);
  EXPECT_FALSE(p.inverted(p.d).computed);
  p.engine().derivations.release(*use.derivation);
}

TEST_P(Derivations, ThatAUserWritesAreNotFound) {
  Deriving p(GetParam());
  const auto value = p.inverted(p.d, p.d.all(), 0, true);
  p.kernel_write(&streams[0], *value.memory, value.memory->all(), 5);
  const auto again = p.inverted(p.d);
  EXPECT_FALSE(again.computed);
  p.expect_inverted(again, 1);
}

TEST_P(Derivations, AreFoundBehindALaunchThatChangedNothing) {
  Deriving::Options o = Deriving::options(GetParam());
  o.engine.check_writes = true;
  Deriving p(o);
  (void)p.inverted(p.d);
  p.kernel_write(&streams[0], p.d, p.d.all(), 1);
  EXPECT_TRUE(p.inverted(p.d).computed);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  const auto value = p.inverted(p.d);
  EXPECT_FALSE(value.computed);
  p.expect_inverted(value, 2);
}

double of_bits(std::uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

/// Numbers that `==` takes for equal may have other bits, and then they are other values. NaN is the same value if its bits are.
TEST_P(Derivations, AreFoundByTheBitsOfTheirInputs) {
  constexpr std::uint64_t nan = 0x7ff8000000000001, other_nan = 0x7ff8000000000002;
  struct Case {
    double first, second;
    bool found;
  };
  for (const Case& c : {Case{0.0, -0.0, false}, Case{-0.0, 0.0, false}, Case{-0.0, -0.0, true}, Case{of_bits(nan), of_bits(nan), true},
                        Case{of_bits(nan), of_bits(other_nan), false}}) {
    Deriving::Options o = Deriving::options(GetParam());
    o.engine.check_writes = true;  // otherwise whatever a kernel writes is another value
    Deriving p(o);
    const auto write = [&](double number) {
      p.launch(&streams[0], {{&p.d, true}}, [base = p.d.address, number] {
        for (std::uint64_t i = 0; i < size; i += sizeof number) std::memcpy(base + i, &number, sizeof number);
      });
    };
    write(c.first);
    (void)p.host_content(p.h);  // what a device alone has is not compared
    EXPECT_FALSE(p.inverted(p.d).computed);
    write(c.second);
    const auto value = p.inverted(p.d);
    EXPECT_EQ(value.computed, c.found) << c.first << ", then " << c.second;
    const std::vector<std::byte> content = p.device_content(&streams[0], p.d);
    double seen = 0;
    std::memcpy(&seen, content.data(), sizeof seen);
    EXPECT_EQ(std::memcmp(&seen, &c.second, sizeof seen), 0);
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(value.seen[i], ~content[i]) << i;
  }
}

TEST_P(Derivations, AreFoundByTheBitsOfTheirParameters) {
  Deriving p(GetParam());
  const auto is_found = [&](double parameter) {
    std::vector<std::byte> bytes(sizeof parameter);
    std::memcpy(bytes.data(), &parameter, sizeof parameter);
    const auto use = p.engine().derivations.acquire("inverted", bytes, {{&p.d, p.d.all(), Access::read}}, size, 0);
    if (!use.computed) {
      p.compute(use, p.d, p.d.all(), 0);
      p.engine().derivations.note_computed(*use.derivation);
    }
    p.engine().derivations.release(*use.derivation);
    return use.computed;
  };
  EXPECT_FALSE(is_found(0.0));
  EXPECT_FALSE(is_found(-0.0));
  EXPECT_TRUE(is_found(0.0));
  EXPECT_TRUE(is_found(-0.0));
  EXPECT_FALSE(is_found(of_bits(0x7ff8000000000001)));
  EXPECT_TRUE(is_found(of_bits(0x7ff8000000000001)));
  EXPECT_FALSE(is_found(of_bits(0x7ff8000000000002)));
}

TEST_P(Derivations, ThatWereNotComputedAreFreed) {
  Deriving p(GetParam());
  const auto use = p.acquire(p.d, p.d.all());
  p.engine().derivations.release(*use.derivation);
  EXPECT_FALSE(p.inverted(p.d).computed);
}

TEST_P(Derivations, WithProtocolOffAreNotFound) {
  Deriving::Options o = Deriving::options(GetParam());
  o.engine.protocol = engine::Protocol::off;
  Deriving p(o);
  (void)p.inverted(p.d);
  EXPECT_FALSE(p.inverted(p.d).computed);
}

TEST_P(Derivations, OfOneContentHaveOneSize) {
  Deriving p(GetParam());
  (void)p.inverted(p.d);
  EXPECT_THROW((void)p.engine().derivations.acquire("inverted", {std::byte{0}}, {{&p.d, p.d.all(), Access::read}}, size + 1, 0), UsageError);
  EXPECT_THROW((void)p.engine().derivations.acquire("nothing", {}, {{&p.d, p.d.all(), Access::read}}, 0, 0), UsageError);
  EXPECT_TRUE(p.inverted(p.d).computed);
}

TEST_P(Derivations, AreCountedApartWhereNobodyUsesThem) {
  Deriving p(GetParam());
  const auto bytes = [&] {
    Statistics s;
    p.engine().add_to(s);
    return s.derived_bytes;
  };
  const auto value = p.inverted(p.d, p.d.all(), 0, true);
  EXPECT_EQ(bytes(), 0u);
  p.engine().derivations.release(*p.held.back());
  p.held.clear();
  EXPECT_EQ(bytes(), size);
}

/// Many values of content that no array has any more do not pile up.
TEST_P(Derivations, OfContentThatNoArrayHasLeave) {
  Deriving p(GetParam());
  for (std::uint64_t seed = 2; seed < 20; ++seed) {
    p.kernel_write(&streams[0], p.d, p.d.all(), seed);
    p.expect_inverted(p.inverted(p.d), seed);
  }
  Statistics s;
  p.engine().add_to(s);
  EXPECT_LE(s.derived_bytes, 2 * size);
}

INSTANTIATE_TEST_SUITE_P(Devices, Derivations, ::testing::Values(Kind::cuda, Kind::emulated, Kind::guarded), [](const auto& info) {
  return info.param == Kind::cuda ? "Gpu" : info.param == Kind::emulated ? "Emulated" : "Guarded";
});

}  // namespace
}  // namespace semcache::fakes
