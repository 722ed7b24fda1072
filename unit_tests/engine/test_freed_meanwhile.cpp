// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "meanwhile.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

/// Another thread frees an array while a call has given up the lock: at every wait of every call, each array. Its object may be
/// another array's right afterwards. Where the call does not use it, nobody notices; where it does, it is a race of the
/// program's, of which the directory and the other arrays know nothing.
namespace semcache::fakes {
namespace {

const char* running = "";
std::string freed;
long at_wait = 0;

[[noreturn]] void say_where(const char* message) {
  std::fprintf(stderr, "%s\n(%s, %s is freed at wait %ld)\n", message, running, freed.c_str(), at_wait);
  std::abort();
}

enum class Reuse { none, mirror, device };

/// The record of what was freed is the next that is used.
Array reuse(World& w, Reuse how) {
  if (how == Reuse::none) return {};
  Array a = how == Reuse::mirror ? w.on_host(nullptr) : w.on_device();
  if (how == Reuse::device) {
    const engine::QueueIndex q = w.machine().queue(&streams[2]);
    const Operand operand{a.memory, true};
    try {
      w.e().launches.begin_launch(q, &operand, 1);
      std::byte* const base = a.memory->address;
      w.machine().device().launch(&streams[2], {{base, size, true}}, [base] { std::memset(base, 90, size); });
      w.e().launches.end_launch(q, &operand, 1);
      std::fill(a.content.begin(), a.content.end(), std::byte{90});
    } catch (const OutOfMemory&) {  // all others are needed
    }
  }
  return a;
}

bool names(const char* uses, const std::string& name) {
  std::istringstream words(uses);
  for (std::string word; words >> word;) {
    if (word == name) return true;
  }
  return false;
}

/// @return  false: the call waits less often
bool free_at(const Machine::Options& options, With with, const Scenario& scenario, std::size_t which, long wait, Through& all) {
  World w(options, with);
  w.use_natively();  // whoever needs device memory waits for the device
  Array& a = *w.all()[which];
  freed = w.name(&a);
  if (a.memory == nullptr || names(scenario.uses, freed)) return false;
  Array made;
  Meanwhile other(w, wait, [&] {
    w.free(a);
    made = reuse(w, static_cast<Reuse>((which + static_cast<std::size_t>(wait)) % 3));
  });
  scenario.call(w);
  other.end();
  if (!other.reached()) return false;
  all.count(other);
  if (!w.ended) {
    w.expect_content("behind the call");
    if (!made.content.empty() && made.content[0] == std::byte{90}) {
      EXPECT_EQ(w.machine().device_content(stream, *made.memory), made.content) << "the array that was made meanwhile";
    }
    w.go_on();
  }
  if (made.memory != nullptr) w.more.push_back(made);
  return true;
}

void check(const Machine::Options& options, With with = With::arrays) {
  base::set_fatal_handler(&say_where);
  Through all;
  // Calls with tiles or on two devices wait often. There each array is freed at some of the waits, others at others.
  const long apart = with == With::tiles ? 5 : options.devices > 1 ? 2 : 1;
  for (const Scenario& scenario : scenarios_with(with)) {
    running = scenario.name;
    for (std::size_t which = 0; which < World::count; ++which) {
      for (at_wait = static_cast<long>(which) % apart; at_wait < 100; at_wait += apart) {
        SCOPED_TRACE(std::string(scenario.name) + ", array " + std::to_string(which) + ", wait " + std::to_string(at_wait));
        const bool reached = free_at(options, with, scenario, which, at_wait, all);
        if (::testing::Test::HasFailure()) return;
        if (!reached) break;
      }
    }
  }
  std::printf("  something is freed: %s\n", all.text().c_str());
  EXPECT_GT(all.through, 2 * all.waited);
  EXPECT_GT(all.through, scenarios_with(with).size()) << "many calls wait";
}

/// Room is made for the set of an unknown launch by evicting a saved copy, which waits for its last use.
void free_operand_of_unknown_launch(Program::Options o, Reuse how) {
  constexpr std::uint64_t big = 1 << 20;
  o.engine.device_memory_bytes = 3 * big + 64 * 1024;
  Program p(o);
  Memory& saved = p.on_device(big);
  p.kernel_write(stream, saved, saved.all(), 1);
  Memory& mirror = p.on_host(big);
  p.copy(mirror, saved);
  p.free(saved);
  Memory& used = p.on_device(big);
  Memory& freed_one = p.on_device(big);
  Memory& other = p.on_device(big);
  p.kernel_write(stream, used, used.all(), 2);
  const engine::QueueIndex q = p.queue(stream);
  bool waited = false;
  p.when_unlocked([&] {
    waited = true;
    std::thread([&] {
      p.free(freed_one);
      if (how == Reuse::mirror) (void)p.on_host(big);
      if (how == Reuse::device) (void)p.on_device(big);
    }).join();
  });
  std::vector<Operand> operands;
  EXPECT_NO_THROW(p.engine().launches.begin_unknown_launch(q, operands));
  EXPECT_TRUE(waited);
  const auto count = [&](const auto& which) {
    return std::count_if(operands.begin(), operands.end(), [&](const Operand& operand) { return which(*operand.memory); });
  };
  // What needed something done when the launch began is an operand itself. One may stand for all others, of which there is `used`.
  EXPECT_EQ(count([&](const Memory& m) { return &m == &used || m.stands_for_all; }), 1);
  EXPECT_EQ(count([&](const Memory& m) { return &m == &other; }), 1);
  EXPECT_EQ(operands.size(), how == Reuse::device ? 3u : 2u);
  p.engine().audit();
  p.engine().launches.end_launch(q, operands.data(), operands.size());
  p.expect_device(used, used.all(), 2, stream);
  p.expect_host(mirror, 1);
}

TEST(FreedMeanwhile, AnOperandOfAnUnknownLaunch) {
  base::set_fatal_handler(&say_where);
  for (const Reuse how : {Reuse::none, Reuse::mirror, Reuse::device}) {
    SCOPED_TRACE(static_cast<int>(how));
    Program::Options o = Program::defaults();
    free_operand_of_unknown_launch(o, how);
    o.device.kind = device::DeviceKind::emulated;
    o.device.asynchronous = false;
    free_operand_of_unknown_launch(o, how);
    o.engine.device_faults = true;
    free_operand_of_unknown_launch(o, how);
  }
}

TEST(FreedMeanwhile, BothSidesAtOnce) {
  for (const bool announced : {false, true}) {
    Program p;
    const auto accesses = announced ? base::Accesses::announced : base::Accesses::watched;
    const auto side = [&](Memory* partner) { return p.engine().lifetimes.allocate_host("host", size, partner, accesses); };
    Memory* const d = p.engine().lifetimes.allocate_device(0, "device", size);
    Memory* const h = side(d);
    Memory& wants = p.on_host(size);
    p.kernel_write(stream, *d, d->all(), 1);
    p.copy(wants, *d);
    p.engine().foreign_uses.native_capture(*d, timeline::Mode::reads);
    p.when_unlocked([&] { std::thread([&] { p.engine().lifetimes.deallocate(h); }).join(); });
    p.engine().lifetimes.deallocate(d);
    p.engine().audit();
    Memory& later = p.on_device(size);  // has the numbers of what went
    p.kernel_write(stream, later, later.all(), 2);
    p.expect_host(wants, 1);
    p.expect_device(later, later.all(), 2, stream);
    p.free(wants);
    p.device().synchronize_device();
    p.engine().host_access.settle_all();
    Statistics s;
    p.engine().add_to(s);
    EXPECT_EQ(s.snapshot_bytes, 0u) << "kept for an array that was freed";
  }
}

/// Words of a closure that look like an address in it.
TEST(FreedMeanwhile, ASavedCopyIsNobodysOperand) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(stream, d, d.all(), 1);
  p.copy(h, d);
  p.free(d);
  ASSERT_TRUE(d.live && d.snapshot());
  const engine::QueueIndex q = p.queue(stream);
  const Operand operand{&d, true};
  EXPECT_NO_THROW(p.engine().launches.begin_launch(q, &operand, 1));
  p.free(h);  // nobody wants it any more, but it is in use
  EXPECT_TRUE(d.live);
  p.engine().launches.end_launch(q, &operand, 1);
  p.engine().host_access.settle_all();  // asks whether the device is done with it
  p.device().synchronize_device();
  p.engine().host_access.settle_all();
  EXPECT_FALSE(d.live);
}

/// On the emulated device freeing is put off to the end of the launch, which may be that it does not begin.
TEST(FreedMeanwhile, AnOperandOfALaunchThatFailsGoesWithIt) {
  Machine::Options o = Program::defaults();
  o.device.kind = device::DeviceKind::emulated;
  Program p(o);
  Memory* const d = p.engine().lifetimes.allocate_device(0, "device array", size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(*d, h);
  p.device().meanwhile = [&] {
    p.engine().lifetimes.deallocate(d);
    p.device().fail_call(1, FakeDevice::call_synchronize);
  };
  const Operand operand{d, false};
  EXPECT_THROW(p.engine().launches.begin_launch(engine::unknown_queue, &operand, 1), DeviceError);
  EXPECT_FALSE(d->live) << "nobody frees it any more";
}

TEST(FreedMeanwhile, TheSourceOfACopyIsAnErrorOfTheCaller) {
  Program p;
  Memory* const d = p.engine().lifetimes.allocate_device(0, "freed too early", size);
  p.kernel_write(stream, *d, d->all(), 1);
  p.engine().foreign_uses.native_capture(*d, timeline::Mode::reads);
  p.when_unlocked([&] { std::thread([&] { p.engine().lifetimes.deallocate(d); }).join(); });
  std::vector<std::byte> ordinary(size);
  try {
    p.engine().copies.copy(ordinary.data(), d->address, size);
    ADD_FAILURE() << "no error was thrown";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("'freed too early' was freed by another thread"), std::string::npos) << e.what();
  }
}

/// An array that is freed between the look-up of its address and the call. Its memory is freed, or it lives on as a saved copy, which belongs
/// to no array.
struct FreedBefore {
  FreedBefore(Program& p, bool on_host, bool saved) : p_(p), wants_(on_host ? p.on_device(size) : p.on_host(size)), saved_(saved) {
    if (on_host) {
      memory = p.engine().lifetimes.allocate_host("freed", size, nullptr);
      p.host_write(*memory, memory->all(), 1);
    } else {
      memory = p.engine().lifetimes.allocate_device(0, "freed", size);
      p.kernel_write(stream, *memory, memory->all(), 1);
    }
    if (saved) p.copy(wants_, *memory);
    p.engine().lifetimes.deallocate(memory);
    EXPECT_EQ(memory->live, saved);
  }
  /// Expects that nothing else has happened.
  void expect_unharmed() {
    p_.engine().audit();
    Memory& later = p_.on_device(size);  // has the numbers of what went
    p_.kernel_write(stream, later, later.all(), 2);
    p_.expect_device(later, later.all(), 2, stream);
    if (!saved_) return;
    if (wants_.on_host()) {
      p_.expect_host(wants_, 1);
    } else {
      p_.expect_device(wants_, wants_.all(), 1, stream);
    }
  }
  Memory* memory = nullptr;

 private:
  Program& p_;
  Memory& wants_;
  bool saved_;
};

TEST(FreedMeanwhile, WhatACallNamesMayBeGoneAlready) {
  struct Case {
    const char* name;
    std::function<void(Program&, Memory&)> call;
  };
  constexpr auto lazy = engine::Protocol::write_back, off = engine::Protocol::off;
  const ByteRange piece{0, page};
  const Case cases[] = {
      {"a fill", [](Program& p, Memory& m) { p.fill(m, 3); }},
      {"a fill by a kernel", [](Program& p, Memory& m) { p.engine().copies.filled(m, 0, size, pattern(3)); }},
      {"a settlement", [](Program& p, Memory& m) { p.engine().copies.settle(m, m.all()); }},
      {"an announced use", [](Program& p, Memory& m) { p.engine().access(m, {0, size}, Access::overwrite); }},
      {"a message to it",
       [&](Program& p, Memory& m) {
         TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
         const base::AtEnd give([&] { p.engine().buffers.give(buffer); });
         p.engine().foreign_io.write_in(m, 0, &piece, 1, *buffer, buffer->address);
       }},
      {"a message from it",
       [&](Program& p, Memory& m) {
         TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
         const base::AtEnd give([&] { p.engine().buffers.give(buffer); });
         p.engine().foreign_io.read_out(m, 0, &piece, 1, *buffer, buffer->address);
       }},
  };
  for (const Case& c : cases) {
    for (const bool on_host : {false, true}) {
      for (const auto protocol : {lazy, off}) {
        for (const bool saved : {false, true}) {
          if (protocol == off && (saved || std::string(c.name) == "a fill by a kernel")) continue;  // nothing is lazy, or noted
          SCOPED_TRACE(std::string(c.name) + (on_host ? ", host" : ", device") + (saved ? ", saved" : ", freed") +
                       (protocol == off ? ", off" : ""));
          Machine::Options o = Program::defaults();
          o.engine.protocol = protocol;
          o.engine.notices = protocol == lazy;
          Program p(o);
          FreedBefore freed_one(p, on_host, saved);
          try {
            c.call(p, *freed_one.memory);
            ADD_FAILURE() << "no error was thrown";
          } catch (const UsageError& e) {
            EXPECT_NE(std::string(e.what()).find("'freed' was freed by another thread"), std::string::npos) << e.what();
          }
          freed_one.expect_unharmed();
        }
      }
    }
  }
}

/// Calls that have nothing to say of it do nothing.
TEST(FreedMeanwhile, WhatACallNamesMayBeGoneAlreadyAndNobodyMinds) {
  const ByteRange piece{0, page};
  for (const bool on_host : {false, true}) {
    for (const bool saved : {false, true}) {
      SCOPED_TRACE(std::string(on_host ? "host" : "device") + (saved ? ", saved" : ", freed"));
      Program p;
      FreedBefore freed_one(p, on_host, saved);
      Memory& m = *freed_one.memory;
      EXPECT_FALSE(p.engine().foreign_io.valid_here(m, 0, &piece, 1));
      EXPECT_EQ(p.engine().buffers.take_beside(m, piece), nullptr);
      TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
      p.engine().foreign_io.expect_read_out(m, 0, &piece, 1, *buffer, buffer->address);
      p.engine().buffers.give(buffer);
      p.engine().host_access.expose(m);
      p.engine().lifetimes.deallocate(&m);
      Statistics s;
      p.engine().add_to(s);
      EXPECT_EQ(s.live_device_bytes + s.live_host_bytes, size) << "only the array that wants its content is left";
      freed_one.expect_unharmed();
    }
  }
}

/// What is valid in the memory of an array that lives.
TEST(FreedMeanwhile, TheContentOfAnArrayThatLivesIsWhereItWasWritten) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.kernel_write(stream, d, d.all(), 1);
  const ByteRange piece{0, page};
  EXPECT_TRUE(p.engine().foreign_io.valid_here(d, 0, &piece, 1));
  EXPECT_FALSE(p.engine().foreign_io.valid_here(h, 0, &piece, 1));
}

/// Whatever a call names must live until it returns: who frees it meanwhile is told so, and nothing else happens.
TEST(FreedMeanwhile, WhatACallNamesIsAnErrorOfTheCaller) {
  struct Arrays {
    Program& p;
    Memory* device;  ///< a native kernel may still use it, so who needs it waits
    Memory* host;    ///< wants what it has
    std::vector<std::byte>& ordinary;
  };
  struct Case {
    const char* name;
    engine::Protocol protocol;
    bool frees_host;
    std::function<void(const Arrays&)> call;
  };
  constexpr auto lazy = engine::Protocol::write_back, off = engine::Protocol::off;
  const ByteRange piece{0, page};
  const auto message = [&](const Arrays& a, Memory& m, bool on_device, bool in) {
    TransitBuffer* const buffer = a.p.engine().buffers.take(size, on_device ? base::Side::device : base::Side::host);
    struct Give {
      Program& p;
      TransitBuffer* buffer;
      ~Give() { p.engine().buffers.give(buffer); }
    } const give{a.p, buffer};
    if (in) {
      a.p.engine().foreign_io.write_in(m, 0, &piece, 1, *buffer, buffer->address);
    } else {
      a.p.engine().foreign_io.read_out(m, 0, &piece, 1, *buffer, buffer->address);
    }
  };
  const Case cases[] = {
      {"a copy to ordinary memory", lazy, false, [](const Arrays& a) { a.p.engine().copies.copy(a.ordinary.data(), a.device->address, size); }},
      {"a copy of ordinary memory", lazy, false, [](const Arrays& a) { a.p.engine().copies.copy(a.device->address, a.ordinary.data(), size); }},
      {"a copy from what is checked", lazy, false, [](const Arrays& a) { a.p.engine().copies.copy(a.host->address, a.device->address, size); }},
      {"a copy of what is checked", lazy, true, [](const Arrays& a) { a.p.engine().copies.copy(a.host->address, a.device->address, size); }},
      {"a copy from it at the call", off, false, [](const Arrays& a) { a.p.engine().copies.copy(a.host->address, a.device->address, size); }},
      {"a copy to it at the call", off, false, [](const Arrays& a) { a.p.engine().copies.copy(a.device->address, a.host->address, size); }},
      {"a copy to a mirror at the call", off, true, [](const Arrays& a) { a.p.engine().copies.copy(a.host->address, a.device->address, size); }},
      {"a fill at the call", off, false, [](const Arrays& a) { a.p.fill(*a.device, 1); }},
      {"a settlement", lazy, false, [](const Arrays& a) { a.p.engine().copies.settle(*a.device, a.device->all()); }},
      {"a message to the device", lazy, false, [&](const Arrays& a) { message(a, *a.device, false, true); }},
      {"a message within the device", lazy, false, [&](const Arrays& a) { message(a, *a.device, true, false); }},
      {"a message of the device's", lazy, false, [&](const Arrays& a) { message(a, *a.device, false, false); }},
      {"a message of the host's", lazy, true, [&](const Arrays& a) { message(a, *a.host, false, false); }},
      {"an announced use of the host's", lazy, true,
       [](const Arrays& a) { a.p.engine().access(*a.host, a.host->all(), Access::read); }},
      {"an announced overwriting use", lazy, false,
       [](const Arrays& a) { a.p.engine().access(*a.device, a.device->all(), Access::overwrite); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Machine::Options o = Program::defaults();
    o.engine.protocol = c.protocol;
    o.engine.check_writes = c.protocol == lazy;
    o.device.finds_races = false;
    Program p(o);
    Memory* const device = p.engine().lifetimes.allocate_device(0, "device array", size);
    Memory* const host = p.engine().lifetimes.allocate_host("host array", size, nullptr);
    std::vector<std::byte> ordinary(size);
    p.kernel_write(stream, *device, device->all(), 1);
    p.copy(*host, *device);
    if (c.protocol == lazy) p.launch(stream, {{device, true}}, [] {});  // captured as writable, and perhaps not written
    p.engine().foreign_uses.native_capture(*device, timeline::Mode::reads);
    Memory* const freed_one = c.frees_host ? host : device;
    for (const bool on_device : {false, true}) {  // there is memory for the message, so taking it gives up no lock
      p.engine().buffers.give(p.engine().buffers.take(size, on_device ? base::Side::device : base::Side::host));
    }
    bool moved = false;
    p.when_unlocked([&] {
      moved = true;
      std::thread([&] { p.engine().lifetimes.deallocate(freed_one); }).join();
    });
    try {
      c.call({p, device, host, ordinary});
      ADD_FAILURE() << "no error was thrown";
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("was freed by another thread"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(moved) << "nobody waited";
    p.when_unlocked(nullptr);
    p.engine().audit();
    p.engine().lifetimes.deallocate(c.frees_host ? device : host);
  }
}

TEST(FreedMeanwhile, WhatIsSettledIsAnErrorOfTheCallerToItsLastTransfer) {
  Machine::Options o = Program::defaults();
  o.device.finds_races = false;
  int waits = 0;
  for (bool freed = true; freed; ++waits) {
    SCOPED_TRACE("freed at wait " + std::to_string(waits));
    Program p(o);
    Memory* const d = p.engine().lifetimes.allocate_device(0, "device array", size);
    Memory& h = p.on_host(size);
    p.host_write(h, h.all(), 1);
    p.copy(*d, h);
    freed = false;
    int left = waits;
    const std::function<void()> moves = [&] {
      if (left-- > 0) return p.when_unlocked(moves);
      freed = true;
      std::thread([&] { p.engine().lifetimes.deallocate(d); }).join();
    };
    p.when_unlocked(moves);
    bool refused = false;
    try {
      p.engine().copies.settle(*d, d->all());
    } catch (const UsageError&) {
      refused = true;
    }
    EXPECT_EQ(refused, freed);
    p.when_unlocked(nullptr);
    p.engine().audit();
    if (!freed) p.engine().lifetimes.deallocate(d);
  }
  EXPECT_GT(waits, 2) << "it waits for more than one thing";
}

/// A message waits because the device still reads its memory. Meanwhile its array is freed, and the object may become another array's.
TEST(FreedMeanwhile, TheArrayOfAMessageThatWaitsForItsMemory) {
  for (const bool reused : {false, true}) {
    Machine::Options o = Program::defaults();
    o.device.finds_races = false;
    Program p(o);
    Memory* const d = p.engine().lifetimes.allocate_device(0, "device array", size);
    Memory& other = p.on_device(size);
    p.kernel_write(stream, *d, d->all(), 1);
    TransitBuffer* const buffer = p.engine().buffers.take(size, base::Side::host);
    const ByteRange piece{0, page};
    p.engine().foreign_io.write_in(other, 0, &piece, 1, *buffer, buffer->address);
    Memory* next = nullptr;
    bool freed = false;
    p.when_unlocked([&] {
      if (std::exchange(freed, true)) return;
      std::thread([&] {
        p.engine().lifetimes.deallocate(d);
        if (reused) next = p.engine().lifetimes.allocate_device(0, "next array", size);
      }).join();
    });
    EXPECT_THROW(p.engine().foreign_io.read_out(*d, 0, &piece, 1, *buffer, buffer->address), UsageError);
    EXPECT_EQ(next, reused ? d : nullptr) << "objects are recycled";
    p.engine().audit();
    p.engine().buffers.give(buffer);
    p.engine().lifetimes.deallocate(next);
  }
}

TEST(FreedMeanwhile, Gpu) { check(gpu()); }
TEST(FreedMeanwhile, GpuWithLittleMemory) { check(with_little_memory(gpu())); }
/// All arrays fit, if the saved copy goes.
TEST(FreedMeanwhile, GpuWithMemoryForAllArrays) {
  Machine::Options o = gpu();
  o.engine.device_memory_bytes = 6 * size;
  check(o);
  o.device.registers_host = false;
  check(o);
}
TEST(FreedMeanwhile, GuardedWithMemoryForAllArrays) {
  Machine::Options o = guarded();
  o.engine.device_memory_bytes = 6 * size;
  check(o);
}
TEST(FreedMeanwhile, GpuInBlocks) { check(in_blocks(gpu())); }
TEST(FreedMeanwhile, GuardedInBlocks) { check(in_blocks(guarded())); }
TEST(FreedMeanwhile, Emulated) { check(with_little_memory(emulated())); }
TEST(FreedMeanwhile, Guarded) { check(with_little_memory(guarded())); }
TEST(FreedMeanwhile, TwoGpus) { check(with_little_memory(on_two_devices(gpu()))); }
TEST(FreedMeanwhile, TwoGuardedDevicesInBlocks) { check(in_blocks(on_two_devices(guarded()))); }
TEST(FreedMeanwhile, AdoptedMemory) { check(with_little_memory(gpu()), With::adopted); }
TEST(FreedMeanwhile, Tiles) { check(with_little_memory(gpu()), With::tiles); }
TEST(FreedMeanwhile, TilesOnTwoGpus) { check(on_two_devices(gpu()), With::tiles); }
TEST(FreedMeanwhile, TilesOnTwoGuardedDevices) { check(with_little_memory(on_two_devices(guarded())), With::tiles); }
TEST(FreedMeanwhile, CheckedWrites) {
  Machine::Options o = gpu();
  o.engine.check_writes = true;
  check(o);
}
TEST(FreedMeanwhile, WriteThrough) {
  Machine::Options o = gpu();
  o.engine.protocol = engine::Protocol::write_through;
  check(o);
}

}  // namespace
}  // namespace semcache::fakes
