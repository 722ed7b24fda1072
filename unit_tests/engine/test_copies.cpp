// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

/// deep_copy and settling: what is moved at the call, what is waited for, and what others still want.
namespace semcache::fakes {
namespace {

using engine::Memory;
using platform::Protection;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
char stream;

/// Memory of the driver's that is no array's.
struct Foreign {
  explicit Foreign(Program& program) : p(program), address(p.device().allocate(size)) {
    for (std::uint64_t i = 0; i < size; ++i) address[i] = Machine::mix(9, i);
  }
  ~Foreign() { p.device().deallocate(address); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  Program& p;
  std::byte* const address;
};

TEST(Copies, BetweenMemoryOfTheDriversAlone) {
  Program p;
  const Foreign from(p), to(p);
  std::memset(to.address, 0, size);

  p.engine().copies.copy(to.address, from.address, size);

  EXPECT_EQ(std::memcmp(to.address, from.address, size), 0);
  EXPECT_EQ(p.counters().d2d.bytes, 0u) << "it is nobody's";
}

TEST(Copies, OfMemoryOfTheDriversToAMirror) {
  Program p;
  const Foreign from(p);
  Memory& h = p.on_host(size);

  p.engine().copies.copy(h.address, from.address, size);

  p.expect_host(h, 9);
  EXPECT_EQ(p.counters().d2h.bytes, size);
}

/// Where a copy is one of many small ones, the array gets a value of its own: what others want of the former ones is saved.
TEST(Copies, ThatLeaveManyPiecesLoseNothing) {
  for (const bool on_host : {false, true}) {
    Program p;
    Memory& from = p.on_device(size);
    Memory& to = on_host ? p.on_host(size) : p.on_device(size);
    Memory& other = p.on_device(size);
    p.kernel_write(&stream, from, from.all(), 1);
    if (on_host) {
      p.host_write(to, to.all(), 2);
    } else {
      p.kernel_write(&stream, to, to.all(), 2);
    }
    p.copy(other, to);
    const auto directory_bytes = [&] {
      Statistics s;
      p.engine().add_to(s);
      return s.directory_bytes;
    };
    const std::uint64_t before = directory_bytes();

    constexpr std::uint64_t pieces = 2000;
    for (std::uint64_t i = 0; i < pieces; ++i) p.engine().copies.copy(to.address + 16 * i, from.address + 16 * i, 8);

    EXPECT_LT(directory_bytes() - before, pieces * 32u) << "less than an extent for each";
    p.expect_device(other, {0, size}, 2, &stream);
    const std::vector<std::byte> seen = on_host ? p.host_content(to) : p.device_content(&stream, to);
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_EQ(seen[i], Machine::mix(i / 16 < pieces && i % 16 < 8 ? 1 : 2, i)) << i;
    }
  }
}

TEST(Copies, OfAddressesWhereNoArrayIsAreRefused) {
  Program p;
  std::vector<std::byte> ordinary(size);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  std::byte* const addresses[] = {d.address, h.address};
  EXPECT_TRUE(p.engine().state().in_device_arena(addresses[0]));
  EXPECT_FALSE(p.engine().state().in_device_arena(addresses[1]));
  p.free(d);
  p.free(h);
  for (std::byte* const address : addresses) {
    EXPECT_TRUE(p.engine().state().in_any_arena(address));
    EXPECT_THROW(p.engine().copies.copy(ordinary.data(), address, size), UsageError);
    EXPECT_THROW(p.engine().copies.copy(address, ordinary.data(), size), UsageError);
  }
  EXPECT_FALSE(p.engine().state().in_any_arena(ordinary.data()));
}

/// What is overwritten here and stale there is fetched first, in case that the copy is refused.
TEST(Copies, BetweenTheSidesOfAnArrayThatAreRefusedHaveLostNothing) {
  bool refused = true;
  for (std::uint64_t k = 1; refused; ++k) {
    Machine::Options o = Program::defaults();
    o.engine.registration_bytes = 4 * page;  // the copy is made in such pieces
    Program p(o);
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size, &d);
    p.kernel_write(&stream, d, d.all(), 1);
    p.expect_host(h, 1);
    p.host_write(h, {0, page}, 2);
    p.device().fail_call(k, FakeDevice::call_copy);
    refused = false;
    try {
      p.engine().copies.copy(h.address, d.address + 8, size - 8);
    } catch (const Error&) {
      refused = true;
      p.expect_host(h, {0, page}, 2);
      p.expect_host(h, {page, size}, 1);
      p.expect_device(d, {0, page}, 2, &stream);
    }
    p.device().fail_call(0, 0);
    ASSERT_LT(k, 20u);
  }
}

/// An array that a kernel follows a raw pointer to changes without a word: what others want of it stays as it was.
TEST(Copies, OfAMirrorThatBecomesOpenKeepTheirContent) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);

  p.engine().host_access.expose(h);
  ASSERT_TRUE(h.open);
  for (std::uint64_t i = 0; i < size; ++i) h.address[i] = Machine::mix(2, i);

  p.expect_device(d, {0, size}, 1, &stream);
}

TEST(Copies, OfAMirrorThatIsHeldTwiceAndBecomesOpenKeepTheirContent) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& other = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);
  p.expect_device(d, {0, size}, 1, &stream);
  p.copy(other, d);

  p.engine().host_access.expose(h);
  for (std::uint64_t i = 0; i < size; ++i) h.address[i] = Machine::mix(2, i);
  p.kernel_write(&stream, d, d.all(), 3);

  p.expect_device(other, {0, size}, 1, &stream);
}

/// A copy from the array of a host side that is written without a word is made at the call.
TEST(Copies, FromTheArrayOfAnAnnouncedSideHaveTheContentOfTheCall) {
  Program p;
  Memory& d = p.on_device(size);
  Memory* const h = p.engine().lifetimes.allocate_host("announced", size, &d, base::Accesses::announced);
  Memory& other = p.on_device(size);
  p.engine().access(*h, h->all(), Access::overwrite);
  p.host_write(*h, h->all(), 1);

  p.copy(other, d);
  for (std::uint64_t i = 0; i < size; ++i) h->address[i] = Machine::mix(2, i);  // announced later

  p.expect_device(other, {0, size}, 1, &stream);
  p.engine().lifetimes.deallocate(h);
}

/// Where the host comes to whole huge pages first with an arrival, it gets them as such; what it has used is written in place.
TEST(Arrivals, OfManyHugePagesAreRightWhateverTheHostHasUsed) {
  constexpr std::uint64_t huge = 2u << 20, bytes = 10 * huge;
  for (const bool partly_closed : {false, true}) {
    Machine::Options o = Program::defaults();
    o.device.registers_host = false;
    o.engine.device_memory_bytes = 4 * bytes;
    Program p(o);
    Memory& d = p.on_device(bytes);
    Memory& h = p.on_host(bytes);
    p.kernel_write(&stream, d, d.all(), 1);
    p.host_write(h, {huge, huge + 8}, 2);
    p.host_write(h, {4 * huge, 4 * huge + 8}, 2);
    if (partly_closed) p.engine().copies.copy(h.address + 6 * huge, d.address, 2 * huge);  // these pages close before the others
    p.copy(h, d);
    p.engine().copies.settle(h, h.all());
    p.expect_host(h, 1);
    EXPECT_EQ(p.platform().written_unused, (bytes - 2 * huge) / huge * huge);

    p.kernel_write(&stream, d, d.all(), 3);
    p.copy(h, d);
    p.engine().copies.settle(h, h.all());
    p.expect_host(h, 3);
    EXPECT_EQ(p.platform().written_unused, (bytes - 2 * huge) / huge * huge) << "all of it has been used by now";
  }
}

/// Of what is staged, so much may be under way at once; then the oldest is waited for.
TEST(Arrivals, StagingMemoryIsBounded) {
  constexpr std::uint64_t bytes = 80u << 20;
  Machine::Options o = Program::defaults();
  o.device.registers_host = false;
  o.engine.device_memory_bytes = bytes + (1u << 20);
  o.platform.arena_bytes = bytes + (4u << 20);
  Program p(o);
  Memory& d = p.on_device(bytes);
  Memory& h = p.on_host(bytes);
  p.fill(d, 1);
  p.launch(&stream, {{&d, true}}, [] {});
  p.copy(h, d);
  p.engine().copies.settle(h, h.all());
  EXPECT_LE(p.device().staging_bytes(), engine::Staging::limit_bytes);
  for (std::uint64_t at = 0; at < bytes; at += page) ASSERT_EQ(h.address[at], std::byte{1}) << at;
}

/// What was fetched ahead of a sweep and never read is counted when the runtime ends.
TEST(TheEnd, CountsWhatWasReadAheadInVain) {
  Program p;
  Memory& d = p.on_device(64 * page);
  Memory& h = p.on_host(64 * page);
  p.kernel_write(&stream, d, d.all(), 1);
  p.copy(h, d);
  std::byte byte;
  for (std::uint64_t at = 0; at < 4; ++at) p.host_read(h, {at * page, at * page + 1}, &byte);
  ASSERT_GT(p.counters().read_ahead.bytes, 0u);
  p.ends();
  const std::uint64_t before = p.counters().read_ahead_lost.bytes;

  p.engine().host_access.open_everything();

  EXPECT_GT(p.counters().read_ahead_lost.bytes, before);
}

TEST(Settling, MovesWhatIsStaleAndOpensThePages) {
  for (const bool all : {false, true}) {
    Program p(Program::guarded());
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size);
    p.kernel_write(&stream, d, d.all(), 1);
    p.host_write(h, h.all(), 2);
    p.copy(d, h);
    EXPECT_EQ(Program::protection(p, d, 0), Protection::none);

    if (all) {
      p.engine().host_access.settle_all();
    } else {
      p.engine().copies.settle(d, d.all());
    }

    EXPECT_EQ(p.counters().h2d.bytes, size);
    EXPECT_EQ(Program::protection(p, d, 0), Protection::read);
    p.expect_device(d, {0, size}, 2, &stream);
    EXPECT_EQ(p.counters().unannounced, 0u);
  }
}

TEST(Settling, IsDoneWhenItReturns) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);

  p.engine().copies.settle(d, d.all());

  for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(d.address[i], Machine::mix(1, i)) << i;
}

/// What SEMCACHE_CHECK compares is what the device has when it is done.
TEST(Check, AnElidedCopyWaitsForTheTransfersUnderWay) {
  Machine::Options o = Program::defaults();
  o.engine.check = true;
  for (const bool back : {false, true}) {
    Program p(o);
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size);
    p.host_write(h, h.all(), 1);
    p.copy(d, h);
    p.engine().access(d, d.all(), Access::read);  // for a kernel of somebody else's; nothing has happened yet

    if (back) {
      p.copy(h, d);
    } else {
      p.copy(d, h);
    }

    EXPECT_EQ(p.counters().avoided.bytes, size);
  }
}

/// The content of the destination is compared once it has arrived, also where its last bytes are still in staging memory.
TEST(ElidedCopies, AreCheckedWhereTheDestinationIsOnItsWay) {
  Machine::Options o = Program::defaults();
  o.engine.check = true;
  o.device.eagerness = 0;
  o.device.registers_host = false;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(&stream, d, d.all(), 1);
  p.copy(h, d);
  p.engine().host_access.prefetch(h, h.all());
  EXPECT_EQ(p.counters().d2h.bytes, size) << "it has been submitted";
  p.copy(h, d);
  EXPECT_EQ(p.counters().avoided.bytes, size);
  p.expect_host(h, 1);
}

TEST(CheckDeathTest, AnElidedCopyOfWhatWasChangedWithoutAWordEnds) {
  Machine::Options o = Program::emulated();
  o.engine.check = true;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(&stream, d, d.all(), 1);
  p.copy(h, d);
  p.expect_host(h, 1);
  p.device().synchronize_device();
  d.address[page] = ~d.address[page];

  EXPECT_DEATH(p.copy(h, d), "was changed without anybody noticing");
}

TEST(CheckedWrites, ThatChangedNothingLeaveCopiesOfItAsTheyAre) {
  Machine::Options o = Program::defaults();
  o.engine.check_writes = true;
  Program p(o);
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(&stream, d, d.all(), 1);
  p.copy(h, d);
  p.expect_host(h, 1);
  const Counters before = p.counters();

  p.launch(&stream, {{&d, true}}, [] {});
  p.copy(h, d);
  p.expect_host(h, 1);

  EXPECT_EQ(p.counters().unchanged.bytes, size);
  EXPECT_EQ(p.counters().avoided.bytes - before.avoided.bytes, size);
  EXPECT_EQ(p.counters().d2h.bytes, before.d2h.bytes);
}

/// The host may write to the pages of a source until they are closed, so they are closed before they are read.
TEST(Sources, AreClosedForWritingBeforeTheyAreRead) {
  Program p(Program::guarded());
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  std::vector<const Memory*> read;
  p.platform().watch([&](const std::byte* at, std::uint64_t, bool writes) {
    for (const Memory* m : {&d, &h}) {
      if (writes || at < m->address || at >= m->address + size) continue;
      if (read.empty() || read.back() != m) read.push_back(m);
      EXPECT_LT(Program::protection(p, *m, 0), Protection::read_write) << (m == &h ? "host" : "device");
    }
  });
  p.host_write(h, h.all(), 1);
  p.expect_device(d, {0, size}, 1, &stream);
  p.kernel_write(&stream, d, d.all(), 2);
  p.expect_host(h, 2);
  EXPECT_EQ(read, (std::vector<const Memory*>{&h, &d}));
}

TEST(Residency, AReadOfTheHostsIsAUse) {
  Machine::Options o = Program::emulated();
  o.engine.device_memory_bytes = 3 * size + size / 2;
  Program p(o);
  Memory* arrays[4];
  for (Memory*& m : arrays) m = &p.on_device(size);
  Memory& h = p.on_host(size);
  for (int i = 0; i < 3; ++i) p.kernel_write(&stream, *arrays[i], arrays[i]->all(), 1);
  p.copy(h, *arrays[0]);
  p.expect_host(h, 1);

  p.kernel_write(&stream, *arrays[3], arrays[3]->all(), 1);

  EXPECT_NE(arrays[0]->flags.load() & Memory::resident, 0u);
  EXPECT_EQ(arrays[1]->flags.load() & Memory::resident, 0u) << "used longest ago";
}

/// Somebody else uses the device, too.
TEST(Residency, LessMemoryThanTheBudgetAssumes) {
  Program p;
  Memory& first = p.on_device(size);
  Memory& second = p.on_device(size);
  Memory& h = p.on_host(size);
  p.kernel_write(&stream, first, first.all(), 1);
  p.copy(h, first);
  p.expect_host(h, 1);  // so it can go at once
  p.device().fail_call(1, FakeDevice::call_map);

  p.kernel_write(&stream, second, second.all(), 2);

  EXPECT_FALSE(p.device().failure_pending());
  EXPECT_EQ(first.flags.load() & Memory::resident, 0u);
  EXPECT_EQ(p.counters().evictions, 1u);
  p.expect_device(first, {0, size}, 1, &stream);
  p.expect_device(second, {0, size}, 2, &stream);
}

/// What is needed at once does not make room for itself.
TEST(Residency, TheOldestArrayStaysWhereItIsNeeded) {
  Machine::Options o = Program::emulated();
  o.engine.device_memory_bytes = 2 * size + size / 2;
  Program p(o);
  Memory& oldest = p.on_device(size);
  Memory& younger = p.on_device(size);
  Memory& third = p.on_device(size);
  p.kernel_write(&stream, oldest, oldest.all(), 1);
  p.kernel_write(&stream, younger, younger.all(), 2);

  p.launch(&stream, {{&oldest, false}, {&third, true}}, [] {});

  EXPECT_EQ(p.counters().evictions, 1u);
  EXPECT_EQ(younger.flags.load() & Memory::resident, 0u);
}

TEST(Residency, WhatALaunchThatIsNotSubmittedYetWillUseStays) {
  Machine::Options o = Program::defaults();
  o.engine.device_memory_bytes = size + size / 2;
  Program p(o);
  Memory& first = p.on_device(size);
  Memory& second = p.on_device(size);
  p.engine().foreign_uses.native_capture(first, timeline::Mode::writes);

  EXPECT_THROW(p.engine().foreign_uses.native_capture(second, timeline::Mode::writes), OutOfMemory);

  EXPECT_NE(first.flags.load() & Memory::resident, 0u);
}

/// Saved copies beside their arrays take their share of the budget, and no more.
TEST(Residency, SavedCopiesHaveTheirShareOfTheBudget) {
  for (const unsigned percent : {0u, 25u, 50u}) {
    Machine::Options o = Program::defaults();
    o.engine.device_memory_bytes = 16 * size;
    o.engine.snapshot_share_percent = percent;
    Program p(o);
    for (int i = 0; i < 6; ++i) {
      Memory& d = p.on_device(size);
      Memory& h = p.on_host(size);
      p.kernel_write(&stream, d, d.all(), 1);
      p.copy(h, d);
      p.kernel_write(&stream, d, d.all(), 2);  // the mirror's content is saved
    }
    // A little less than a quarter of 16 arrays' bytes: three fit.
    EXPECT_EQ(p.counters().d2h.bytes, (percent == 0 ? 6 : percent == 25 ? 3 : 0) * size) << percent;
  }
}

TEST(HostSides, OfAnArrayWithContentAreClosedFromTheBeginning) {
  Program p;
  Memory& d = p.on_device(size);
  p.kernel_write(&stream, d, d.all(), 1);

  Memory& h = p.on_host(size, &d);

  EXPECT_EQ(Program::protection(p, h, 0), Protection::none);
  p.expect_host(h, 1);
}

TEST(Launches, ThatAreCancelledUseNothing) {
  for (const bool check : {false, true}) {
    Machine::Options o = Program::emulated();
    o.engine.check = check;
    Program p(o);
    Memory& d = p.on_device(size);
    const engine::Operand operand{&d, true};
    p.engine().launches.begin_launch(p.queue(&stream), &operand, 1);
    EXPECT_EQ(d.pins.load(), 1u);

    p.engine().launches.cancel_launch(&operand, 1);

    EXPECT_EQ(d.pins.load(), 0u);
    p.kernel_write(&stream, d, d.all(), 1);
    p.expect_device(d, {0, size}, 1, &stream);
  }
}

/// SEMCACHE_CHECK closes device memory between launches, but for arrays that native kernels may use.
TEST(Check, WhatANativeKernelMayUseStaysReachable) {
  Machine::Options o = Program::emulated();
  o.engine.check = true;
  for (const bool every : {false, true}) {
    Program p(o);
    Memory& d = p.on_device(size);
    p.kernel_write(&stream, d, d.all(), 1);
    if (every) {
      p.engine().foreign_uses.native_capture_of_all();
    } else {
      p.engine().foreign_uses.native_capture(d, timeline::Mode::writes);
    }
    p.device().check_accessible(d.address, size);
  }
}

/// A kernel that uses an array which it has not captured finds it closed, also beside another kernel that has captured it and has ended.
TEST(Check, ALaunchOpensWhatItUsesAndNothingElse) {
  Machine::Options o = Program::emulated();
  o.engine.check = true;
  Program p(o);
  const auto is_open = [&](const Memory& m) { return p.device().is_accessible(m.address, m.bytes); };
  Memory& used = p.on_device(100);
  Memory& shared = p.on_device(100);
  Memory& other = p.on_device(100);  // all three fit in one granule
  for (Memory* m : {&used, &shared, &other}) p.kernel_write(&stream, *m, m->all(), 1);
  const engine::QueueIndex q = p.queue(&stream);
  const engine::Operand both[] = {{&used, true}, {&shared, false}};
  const engine::Operand one[] = {{&shared, true}};
  EXPECT_FALSE(is_open(used) || is_open(shared) || is_open(other));

  (void)p.engine().launches.begin_launch(q, both, 2);
  EXPECT_TRUE(is_open(used) && is_open(shared));
  EXPECT_FALSE(is_open(other));
  (void)p.engine().launches.begin_launch(q, one, 1);
  p.engine().launches.end_launch(q, one, 1);
  EXPECT_TRUE(is_open(used) && is_open(shared)) << "the first launch is still under way";
  p.engine().launches.end_launch(q, both, 2);
  EXPECT_FALSE(is_open(used) || is_open(shared) || is_open(other));

  std::vector<engine::Operand> all;
  p.engine().launches.begin_unknown_launch(q, all);
  EXPECT_TRUE(is_open(used) && is_open(shared) && is_open(other));
  (void)p.engine().launches.begin_launch(q, one, 1);
  p.engine().launches.end_launch(q, one, 1);
  EXPECT_TRUE(is_open(used) && is_open(shared) && is_open(other));
  p.engine().launches.end_launch(q, all.data(), all.size());
  EXPECT_FALSE(is_open(used) || is_open(shared) || is_open(other));
}

/// What a kernel overwrites unread is not fetched for it; what lies on both sides of that is.
TEST(Launches, FetchWhatLiesInFrontOfWhatTheyOverwrite) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);
  const engine::QueueIndex q = p.queue(&stream);
  const engine::Operand operand{&d, true};
  const ByteRange unread{page, 3 * page};
  engine::Requirement parts[] = {{&d, ByteRange{0, page}, Access::read}, {&d, ByteRange{3 * page, size}, Access::read_write}, {&d, unread, Access::overwrite}};

  const bool in_part = p.engine().launches.begin_launch(q, &operand, 1, {parts, 3});
  EXPECT_TRUE(in_part);
  p.device().launch(&stream, {{d.address, size, true}}, [&] {
    for (std::uint64_t i = unread.begin; i < unread.end; ++i) d.address[i] = Machine::mix(2, i);
  });
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {parts, 3});

  EXPECT_EQ(p.counters().h2d.bytes, size - unread.size());
  const std::vector<std::byte> seen = p.device_content(&stream, d);
  for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], Machine::mix(unread.contains({i, i + 1}) ? 2 : 1, i)) << i;
}

}  // namespace
}  // namespace semcache::fakes
