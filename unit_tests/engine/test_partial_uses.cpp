// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <vector>

/// Launches that use parts of arrays: which bytes move for them, and which work they and later uses wait for. The fake device carries out
/// no work before a thread waits for it, and fails a test where two operations race.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::Requirement;

char streams[2];
const std::uint64_t page = page_bytes();

/// A device array of 16 pages with a host side, both of which have the content of write 1.
struct Tiled : Program {
  static Options roomy() {
    Options o = defaults();
    o.engine.device_memory_bytes = 64 * page + (4u << 20);
    return o;
  }
  explicit Tiled(const Options& options = roomy()) : Program(options), d(on_device(16 * page)), h(on_host(16 * page, &d)) {
    host_write(h, h.all(), 1);
    before = counters();
  }
  [[nodiscard]] std::uint64_t h2d() { return counters().h2d.bytes - before.h2d.bytes; }
  [[nodiscard]] std::uint64_t d2h() { return counters().d2h.bytes - before.d2h.bytes; }

  Memory& d;
  Memory& h;
  Counters before;
};

TEST(PartialUses, FetchTheirBytesAlone) {
  Tiled p;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{3 * page, 5 * page}, Access::read_write}}, 2);
  EXPECT_EQ(p.h2d(), 2 * page);
  p.expect_host(p.h, {0, 3 * page}, 1);
  p.expect_host(p.h, {5 * page, 16 * page}, 1);
  EXPECT_EQ(p.d2h(), 0u) << "the launch has not written the rest";
  p.expect_host(p.h, {3 * page, 5 * page}, 2);
  EXPECT_EQ(p.d2h(), 2 * page);
}

/// Else launches that use small parts in turn would copy each of them through staging memory, in every round of a program.
TEST(PartialUses, PageLockWhatIsUsedPartByPart) {
  Tiled p;
  const auto locked = [&] { return p.engine().state().pages->locked(p.h, p.h.all()); };
  for (std::uint64_t at = 0; at < 15 * page; at += 3 * page) {
    p.launch_parts(&streams[0], {{&p.d, ByteRange{at, at + 3 * page}, Access::read}});
    EXPECT_FALSE(locked()) << "the host may be writing what lies behind";
  }
  p.launch_parts(&streams[0], {{&p.d, ByteRange{15 * page, 16 * page}, Access::read}});
  EXPECT_TRUE(locked());
  EXPECT_EQ(p.h2d(), 16 * page);
  // Parts need not end with their pages.
  Tiled q;
  q.launch_parts(&streams[0], {{&q.d, ByteRange{0, 7 * page + 100}, Access::read}});
  q.launch_parts(&streams[0], {{&q.d, ByteRange{7 * page + 100, 16 * page}, Access::read}});
  EXPECT_TRUE(q.engine().state().pages->locked(q.h, q.h.all()));
}

/// Where page-locking fails, a launch behind each write of the host would close all pages of the chunk to try it again.
TEST(PartialUses, DoNotTryToPageLockInVainAgainAndAgain) {
  Program::Options o = Tiled::roomy();
  o.device.registers_host = false;
  Tiled p(o);
  p.launch_parts(&streams[0], {{&p.d, p.d.all(), Access::read}});
  int tries = 0;
  for (int round = 0; round < 10; ++round) {
    p.host_write(p.h, {100, 200}, 2);
    p.platform().while_locking = [&] { ++tries; };
    p.launch_parts(&streams[0], {{&p.d, ByteRange{0, page}, Access::read}});
  }
  EXPECT_LE(tries, 1);
  p.platform().while_locking = nullptr;
}

TEST(PartialUses, CloseThePagesThatTheyReadAlone) {
  Tiled p;
  EXPECT_EQ(p.platform().protection(p.h.address), platform::Protection::read_write);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{3 * page, 5 * page}, Access::read}});
  EXPECT_EQ(p.platform().protection(p.h.address + 2 * page), platform::Protection::read_write);
  EXPECT_EQ(p.platform().protection(p.h.address + 3 * page), platform::Protection::read);
  EXPECT_EQ(p.platform().protection(p.h.address + 5 * page), platform::Protection::read_write);
  const std::uint64_t faults = p.faults;
  p.host_write(p.h, {0, 3 * page}, 2);
  p.host_write(p.h, {5 * page, 16 * page}, 2);
  EXPECT_EQ(p.faults, faults);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 16 * page}, Access::read}});
  p.expect_device(p.d, {0, 3 * page}, 2);
  p.expect_device(p.d, {5 * page, 16 * page}, 2);
}

/// Each column that closes alone is a call of the kernel, and may be one more mapping. The transfers of a launch, each of some columns, must not add up
/// to as many as there are columns.
TEST(PartialUses, CloseFewPiecesHoweverManyTransfersTakeTheColumns) {
  constexpr std::uint64_t columns = 300;
  const std::uint64_t pitch = 4 * page;
  Program::Options o = Tiled::roomy();
  o.engine.device_memory_bytes = 2 * columns * pitch;
  o.engine.registration_bytes = 30 * pitch;  // a transfer stays within so many bytes of the host
  Program p(o);
  Memory& d = p.on_device(columns * pitch);
  Memory& h = p.on_host(columns * pitch, &d);
  p.host_write(h, h.all(), 1);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::uint64_t half = 0; half < 2; ++half) {
      const std::uint64_t before = p.platform().protect_calls;
      p.launch_parts(&streams[0], {{&d, Region(half * pitch / 2, pitch / 2, columns, pitch), Access::read}});
      EXPECT_LE(p.platform().protect_calls - before, 100u) << round << ", " << half;
    }
    p.expect_device(d, d.all(), round);
    p.host_write(h, h.all(), round + 1);
  }
}

TEST(PartialUses, FetchNothingThatTheyOverwrite) {
  Tiled p;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, page}, Access::read}, {&p.d, ByteRange{page, 4 * page}, Access::overwrite}}, 2);
  EXPECT_EQ(p.h2d(), page);
  p.expect_host(p.h, {page, 4 * page}, 2);
  p.expect_host(p.h, {4 * page, 16 * page}, 1);
  EXPECT_EQ(p.d2h(), 3 * page);
}

TEST(PartialUses, FetchWhatOnePartReadsAndAnotherOverwrites) {
  Tiled p;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 2 * page}, Access::read}, {&p.d, ByteRange{page, 3 * page}, Access::overwrite}}, 2);
  EXPECT_EQ(p.h2d(), 2 * page);
  p.expect_host(p.h, {page, 3 * page}, 2);
  p.expect_host(p.h, {0, page}, 1);
}

TEST(PartialUses, OfColumnsAreOneExtent) {
  Tiled p;
  // A column-major matrix of 64 columns of a quarter of a page: two row tiles, each of which is written by the device.
  const std::uint64_t pitch = page / 4;
  p.launch_parts(&streams[0], {{&p.d, Region(0, pitch / 2, 64, pitch), Access::read_write}}, 2);
  EXPECT_EQ(p.h2d(), 8 * page);
  EXPECT_EQ(p.engine().state().directory.wanted(p.d.datum).extent_count(), 2u);
  p.launch_parts(&streams[0], {{&p.d, Region(pitch / 2, pitch / 2, 64, pitch), Access::overwrite}}, 3);
  EXPECT_EQ(p.h2d(), 8 * page) << "the other tile was overwritten";
  std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 0; i < p.h.bytes; ++i) ASSERT_EQ(seen[i], Machine::mix(i % pitch < pitch / 2 ? 2 : 3, i)) << i;
}

TEST(PartialUses, OfColumnsThatTheMapsCannotFollowCountForTheirHull) {
  Tiled p;
  p.launch_parts(&streams[0], {{&p.d, Region(0, 16, 500, 100), Access::read_write}}, 2);  // the maps take this shape
  const std::uint64_t moved = p.h2d();
  EXPECT_EQ(moved, 16u * 500);
  std::vector<Region> scattered;
  for (std::uint64_t i = 0; i < 70; ++i) p.launch_parts(&streams[0], {{&p.d, ByteRange{i * 300 + 50, i * 300 + 51}, Access::read_write}}, 2);
  p.launch_parts(&streams[0], {{&p.d, Region(7, 40, 200, 130), Access::overwrite}}, 3);
  std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 7; i < 7 + 200 * 130 - 90; ++i) {
    const bool third = (i - 7) % 130 < 40;
    const bool second = (i < 500 * 100 && i % 100 < 16) || (i >= 50 && (i - 50) % 300 == 0 && (i - 50) / 300 < 70);
    ASSERT_EQ(seen[i], Machine::mix(third ? 3 : second ? 2 : 1, i)) << i;
  }
}

TEST(PartialUses, TheHostReadsOneTileWhileAKernelWritesAnother) {
  Tiled p;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 4 * page}, Access::overwrite}}, 2);
  p.device().synchronize_stream(&streams[0]);
  bool ran = false;
  p.launch_parts(&streams[1], {{&p.d, ByteRange{8 * page, 12 * page}, Access::overwrite}}, 3, &ran);
  p.engine().access(p.h, ByteRange{0, 4 * page}, Access::read);  // a page fault might read ahead
  p.expect_host(p.h, {0, 4 * page}, 2);
  EXPECT_FALSE(ran) << "the read of one tile waits for a kernel on another";
  p.expect_host(p.h, {8 * page, 12 * page}, 3);
  EXPECT_TRUE(ran);
}

TEST(PartialUses, TheHostWritesOneTileWhileAKernelReadsAnother) {
  Tiled p;
  bool ran = false;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 4 * page}, Access::read}}, 0, &ran);
  p.host_write(p.h, {4 * page, 8 * page}, 2);
  p.launch_parts(&streams[1], {{&p.d, ByteRange{4 * page, 8 * page}, Access::read_write}}, 3);
  p.device().synchronize_stream(&streams[1]);
  EXPECT_FALSE(ran) << "the transfer of one tile waits for a kernel on another";
  p.expect_host(p.h, {4 * page, 8 * page}, 3);
}

TEST(PartialUses, RowTilesOfOneMatrixAreApart) {
  Tiled p;
  const std::uint64_t pitch = page / 4;
  const Region upper(0, pitch / 2, 64, pitch), lower(pitch / 2, pitch / 2, 64, pitch);
  p.launch_parts(&streams[0], {{&p.d, upper, Access::read_write}}, 2);
  p.device().synchronize_stream(&streams[0]);
  bool ran = false;
  p.launch_parts(&streams[0], {{&p.d, upper, Access::read}}, 0, &ran);
  p.launch_parts(&streams[1], {{&p.d, lower, Access::read_write}}, 3);  // its content arrives while the first kernel runs
  p.device().synchronize_stream(&streams[1]);
  EXPECT_FALSE(ran);
}

TEST(PartialUses, LaterUsesOfTheSameBytesWait) {
  for (int use = 0; use < 4; ++use) {
    SCOPED_TRACE(use);
    Tiled p;
    bool ran = false;
    p.launch_parts(&streams[0], {{&p.d, ByteRange{2 * page, 4 * page}, Access::overwrite}}, 2, &ran);
    switch (use) {
      case 0: p.expect_host(p.h, {3 * page, 3 * page + 1}, 2); break;
      case 1: p.expect_device(p.d, {2 * page, 4 * page}, 2, {&streams[0]}); break;  // the rest is fetched beside the kernel
      case 2: {
        Memory& other = p.on_device(16 * page);
        p.copy(other, p.d);
        p.expect_device(other, {2 * page, 4 * page}, 2);
        break;
      }
      case 3: {
        std::vector<std::byte> out(page);
        p.engine().copies.copy(out.data(), p.d.address + 2 * page, page);
        Program::expect(out, {2 * page, 3 * page}, 2, "copy");
      }
    }
    EXPECT_TRUE(ran);
  }
}

TEST(PartialUses, AreWaitedForBeforeTheArrayIsFreedOrEvicted) {
  Program::Options o = Tiled::roomy();
  o.engine.device_memory_bytes = 20 * page;
  o.device.granularity_bytes = page;
  Tiled p(o);
  bool ran = false;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, page}, Access::overwrite}}, 2, &ran);
  Memory& other = p.on_device(18 * page);
  p.kernel_write(&streams[1], other, other.all(), 5);  // evicts the array
  EXPECT_TRUE(ran);
  p.expect_host(p.h, {0, page}, 2);
  p.expect_host(p.h, {page, 16 * page}, 1);
  ran = false;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{page, 2 * page}, Access::overwrite}}, 3, &ran);
  p.free(p.h);
  p.free(p.d);
  EXPECT_TRUE(ran);
}

TEST(PartialUses, LaunchesOnTheWholeWaitForTransfersOfAPart) {
  Tiled p;
  p.engine().access(p.d, p.d.all(), Access::read);
  p.host_write(p.h, {5 * page, 6 * page}, 2);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{5 * page, 6 * page}, Access::read}});  // fetches the page on one stream
  const std::vector<std::byte> seen = p.device_content(&streams[1], p.d);               // and a whole launch on another needs it
  Program::expect({seen.begin() + static_cast<std::ptrdiff_t>(5 * page), seen.begin() + static_cast<std::ptrdiff_t>(6 * page)},
                  {5 * page, 6 * page}, 2, "device");
}

TEST(PartialUses, ManyOfThemAreRight) {
  Tiled p;
  const std::uint64_t n = 3 * timeline::Uses::most_parts;
  for (std::uint64_t i = 0; i < n; ++i) {
    p.launch_parts(&streams[i % 2], {{&p.d, ByteRange{i * 200, i * 200 + 100}, Access::read_write}}, 2);
    ASSERT_LE(p.d.uses.parts().size(), timeline::Uses::most_parts);
  }
  const std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 0; i < n * 200; ++i) ASSERT_EQ(seen[i], Machine::mix(i % 200 < 100 ? 2 : 1, i)) << i;
}

TEST(PartialUses, OfReadyArraysNeedNoLock) {
  Tiled p;
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  p.device().synchronize_stream(&streams[0]);
  p.engine().audit();
  const Operand operand{&p.d, true};
  Requirement part{&p.d, ByteRange{0, page}, Access::read_write};
  const engine::QueueIndex q = p.queue(&streams[0]);
  EXPECT_FALSE(p.engine().launches.begin_launch(q, &operand, 1, {&part, 1})) << "it counts for the whole array";
  p.engine().launches.end_launch(q, &operand, 1);
}

TEST(PartialUses, SaveWhatOthersWantOfTheirBytesAlone) {
  Tiled p;
  Memory& copy = p.on_device(16 * page);
  p.kernel_write(&streams[0], p.d, p.d.all(), 2);
  p.copy(copy, p.d);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{page, 3 * page}, Access::read_write}}, 3);
  EXPECT_EQ(p.counters().saved_device.bytes, 2 * page);
  p.expect_device(copy, 2);
  p.expect_host(p.h, {page, 3 * page}, 3);
  p.expect_host(p.h, {3 * page, 16 * page}, 2);
}

TEST(PartialUses, FailBeforeTheLaunchAndChangeNothing) {
  Tiled p;
  p.device().fail_call(1, FakeDevice::call_copy);
  std::vector<Requirement> parts{{&p.d, ByteRange{0, page}, Access::read_write}};
  const Operand operand{&p.d, true};
  EXPECT_THROW(p.engine().launches.begin_launch(p.queue(&streams[0]), &operand, 1, {parts.data(), 1}), Error);
  p.device().fail_call(0, 0);
  p.engine().audit();
  p.expect_host(p.h, 1);
  EXPECT_EQ(p.d.pins.load(), 0u);
  p.launch_parts(&streams[0], parts, 2);
  p.expect_host(p.h, {0, page}, 2);
}

TEST(PartialUses, OfGuardedMemoryUseWholePages) {
  Program::Options o = Program::guarded();
  o.engine.device_memory_bytes = Tiled::roomy().engine.device_memory_bytes;
  Tiled p(o);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{page, 3 * page}, Access::overwrite}}, 2);
  EXPECT_EQ(p.h2d(), 0u);
  EXPECT_EQ(p.platform().protection(p.d.address + page), platform::Protection::read_write) << "nobody else has its content";
  EXPECT_EQ(p.platform().protection(p.d.address), platform::Protection::none);
  p.expect_host(p.h, {page, 2 * page}, 2);
  EXPECT_LE(p.platform().protection(p.d.address + page), platform::Protection::read) << "the host has it, too";
  p.launch_parts(&streams[0], {{&p.d, ByteRange{4 * page + 1, 4 * page + 2}, Access::overwrite}}, 3);
  EXPECT_EQ(p.h2d(), page);
  p.launch_parts(&streams[0], {{&p.d, Region(8 * page, page, 3, 2 * page), Access::read_write}}, 4);
  EXPECT_EQ(p.h2d(), 4 * page);
  const std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 0; i < p.h.bytes; ++i) {
    const std::uint64_t at = i / page;
    const int writer = at == 1 || at == 2 ? 2 : i == 4 * page + 1 ? 3 : at == 8 || at == 10 || at == 12 ? 4 : 1;
    ASSERT_EQ(seen[i], Machine::mix(writer, i)) << i;
  }
}

/// A launch that reads a part must leave the pages open that another one, which still runs, writes.
TEST(PartialUses, OfGuardedMemoryLeaveEachOthersPagesOpen) {
  Program::Options o = Program::guarded();
  o.engine.device_memory_bytes = Tiled::roomy().engine.device_memory_bytes;
  Tiled p(o);
  p.engine().access(p.d, p.d.all(), Access::read);
  Requirement writes{&p.d, ByteRange{page, 2 * page}, Access::read_write};
  const Operand operand{&p.d, true};
  ASSERT_TRUE(p.engine().launches.begin_launch(p.queue(&streams[0]), &operand, 1, {&writes, 1}));
  EXPECT_EQ(p.platform().protection(p.d.address + page), platform::Protection::read_write);
  Requirement reads{&p.d, ByteRange{0, 4 * page}, Access::read};
  const Operand read_operand{&p.d, false};
  const bool in_part = p.engine().launches.begin_launch(p.queue(&streams[1]), &read_operand, 1, {&reads, 1});
  EXPECT_EQ(p.platform().protection(p.d.address + page), platform::Protection::read_write);
  for (const std::uint64_t other : {0, 2, 3}) EXPECT_EQ(p.platform().protection(p.d.address + other * page), platform::Protection::read);
  p.engine().launches.end_launch(p.queue(&streams[1]), &read_operand, 1, all_devices, {&reads, in_part ? 1u : 0u});
  EXPECT_EQ(p.platform().protection(p.d.address + page), platform::Protection::read_write);
  p.kernel_write(&streams[1], p.on_device(page), {0, page}, 5);
  EXPECT_EQ(p.platform().protection(p.d.address + page), platform::Protection::read_write);
  for (std::uint64_t i = page; i < 2 * page; ++i) p.d.address[i] = Machine::mix(2, i);
  p.engine().launches.end_launch(p.queue(&streams[0]), &operand, 1, all_devices, {&writes, 1});
  p.expect_host(p.h, {page, 2 * page}, 2);
  EXPECT_LE(p.platform().protection(p.d.address + page), platform::Protection::read) << "its content is on the host, too";
}

using Kind = device::DriverUse::Kind;

/// A raw kernel, reported by the driver watch, that is given the address of one page and writes it.
void raw_kernel(Tiled& p, std::uint64_t position, std::uint64_t seed) {
  const device::DriverUse use{p.d.address + position, 0, Kind::argument, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch);
  std::byte* const base = p.d.address;
  p.device().launch(nullptr, {{base + position, page, true}}, [base, position, seed] {
    for (std::uint64_t i = position; i < position + page; ++i) base[i] = Machine::mix(seed, i);
  });
  if (call != nullptr) p.engine().foreign_uses.end_foreign_call(std::move(call));
}

TEST(PartialUses, AnAnnouncementIsForTheNextKernelThatIsGivenThePart) {
  Tiled p;
  p.engine().access(p.d, ByteRange{0, page}, Access::read_write);
  EXPECT_EQ(p.h2d(), page);
  raw_kernel(p, 0, 2);
  EXPECT_EQ(p.counters().unannounced, p.before.unannounced);
  p.expect_host(p.h, {8 * page, 9 * page}, 1);
  EXPECT_EQ(p.d2h(), 0u) << "the rest is not written";
  raw_kernel(p, 8 * page, 3);  // announced by nobody
  EXPECT_EQ(p.counters().unannounced, p.before.unannounced + 1);
  p.expect_host(p.h, {8 * page, 9 * page}, 3);
  p.expect_host(p.h, {0, page}, 2);
}

TEST(PartialUses, AnAnnouncementOfAnotherPartSaysNothing) {
  Tiled p;
  p.engine().access(p.d, ByteRange{0, page}, Access::read);
  raw_kernel(p, 8 * page, 3);
  p.expect_host(p.h, {8 * page, 9 * page}, 3);
}

TEST(PartialUses, AnAnnouncementOfColumnsSaysNothingOfThoseBetween) {
  Tiled p;
  const std::uint64_t pitch = page / 4;
  const Region lower(pitch / 2, pitch / 2, 64, pitch);
  p.engine().access(p.d, Region(0, pitch / 2, 64, pitch), Access::read_write);
  const device::DriverUse use{p.d.address + lower.begin, 0, Kind::argument, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch);
  std::byte* const base = p.d.address;
  p.device().launch(nullptr, {{base, p.d.bytes, true}}, [base, lower] {
    for (std::uint64_t c = 0; c < lower.columns; ++c) {
      for (std::uint64_t i = lower.column(c).begin; i < lower.column(c).end; ++i) base[i] = Machine::mix(3, i);
    }
  });
  if (call != nullptr) p.engine().foreign_uses.end_foreign_call(std::move(call));
  const std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], Machine::mix(i % pitch < pitch / 2 ? 1 : 3, i)) << i;
}

TEST(PartialUses, OfADriversCopyMoveItsBytesAlone) {
  Tiled p;
  const device::DriverUse use{p.d.address + 2 * page, page, Kind::write, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::transfer);
  std::byte* const base = p.d.address;
  p.device().launch(nullptr, {{base + 2 * page, page, true}}, [base] {
    for (std::uint64_t i = 2 * page; i < 3 * page; ++i) base[i] = Machine::mix(2, i);
  });
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  EXPECT_EQ(p.h2d(), page) << "it may fail or write less, so what was there is needed";
  p.expect_host(p.h, {3 * page, 16 * page}, 1);
  EXPECT_EQ(p.d2h(), 0u);
  p.expect_host(p.h, {2 * page, 3 * page}, 2);
}

/// One call writes two parts that hold the same wanted value, and reads the host side. (Found by a review.)
TEST(PartialUses, OfADriversCallThatOverwritesBothHoldersOfAValue) {
  Tiled p;
  p.kernel_write(&streams[0], p.d, {0, page}, 2);
  p.engine().copies.copy(p.d.address + page, p.d.address, page);
  (void)p.device_content(&streams[0], p.d);
  Memory& wants = p.on_device(page);
  p.engine().copies.copy(wants.address, p.d.address, page);
  const device::DriverUse uses[] = {{p.d.address, page, Kind::write, 0}, {p.d.address + page, page, Kind::write, 0}, {p.h.address + 4 * page, page, Kind::read, 0}};
  auto call = p.engine().foreign_uses.begin_foreign_call(uses, 3, engine::ForeignCall::Kind::transfer);
  std::byte* const base = p.d.address;
  p.device().launch(nullptr, {{base, 2 * page, true}}, [base] {
    for (std::uint64_t i = 0; i < 2 * page; ++i) base[i] = Machine::mix(3, i);
  });
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.expect_device(wants, {0, page}, 2);
}

TEST(PartialUses, OfOneDriversCallThatAreManyCountForTheWholeArray) {
  Tiled p;
  std::vector<device::DriverUse> uses;
  for (std::uint64_t i = 0; i < 500; ++i) uses.push_back({p.d.address + 128 * i, 64, Kind::write, 0});
  auto call = p.engine().foreign_uses.begin_foreign_call(uses.data(), uses.size(), engine::ForeignCall::Kind::transfer);
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  EXPECT_EQ(p.counters().h2d.count - p.before.h2d.count, 1u);
  EXPECT_EQ(p.engine().state().directory.wanted(p.d.datum).extent_count(), 1u);
}

TEST(PartialUses, OfNeighboursOnOneStreamOverlapWithTheHost) {
  Tiled p;
  bool ran = false;
  p.launch_parts(&streams[0], {{&p.d, ByteRange{0, 4 * page}, Access::overwrite}}, 2);
  p.launch_parts(&streams[0], {{&p.d, ByteRange{4 * page, 8 * page}, Access::overwrite}}, 3, &ran);
  p.engine().access(p.h, ByteRange{0, page}, Access::read);
  p.expect_host(p.h, {0, page}, 2);
  EXPECT_FALSE(ran) << "the read of one tile waits for a later kernel on its neighbour";
}

TEST(PartialUses, TakePaddingThatNobodyHasWrittenWithThem) {
  Program p;
  Memory& d = p.on_device(16);
  const Operand operand{&d, true};
  const engine::QueueIndex q = p.queue(&streams[0]);
  const auto begin = [&](std::uint64_t bytes) {
    Requirement part{&d, ByteRange{0, bytes}, Access::overwrite};
    const bool in_part = p.engine().launches.begin_launch(q, &operand, 1, {&part, 1});
    p.engine().launches.end_launch(q, &operand, 1, all_devices, {&part, in_part ? 1u : 0u});
    p.engine().audit();
    return in_part;
  };
  EXPECT_TRUE(begin(12));
  EXPECT_FALSE(begin(12)) << "the array is ready";
  Memory& other = p.on_device(16);
  p.kernel_write(&streams[0], other, {12, 16}, 2);
  p.copy(d, other);
  EXPECT_TRUE(begin(12));
  p.expect_device(d, {12, 16}, 2);  // what has been written is no padding
}

TEST(PartialUses, ForecastsCountWhatMoves) {
  Program p;
  const std::uint64_t size = 8 * page;
  Memory& d = p.on_device(size);
  Memory& h = *p.engine().lifetimes.allocate_host("buffer", size, &d, base::Accesses::announced);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    p.kernel_write(&streams[0], d, {0, size}, round);
    p.engine().access(h, h.all(), Access::read);
  }
  const Counters before = p.counters();
  Requirement part{&d, ByteRange{0, page}, Access::read_write};
  const Operand operand{&d, true};
  const engine::QueueIndex q = p.queue(&streams[0]);
  ASSERT_TRUE(p.engine().launches.begin_launch(q, &operand, 1, {&part, 1}));
  p.device().launch(&streams[0], {{d.address, page, true}}, [] {});
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {&part, 1});
  EXPECT_EQ(p.counters().read_ahead.bytes - before.read_ahead.bytes, page);
  EXPECT_EQ(p.counters().d2h.bytes - before.d2h.bytes, page);
  p.engine().lifetimes.deallocate(&h);
}

TEST(PartialUses, OfGuardedMemoryKeepTheGuard) {
  Program::Options o = Program::guarded();
  o.platform.mapping_limit = 100;
  o.engine.device_memory_bytes = 400 * page;
  Program p(o);
  Memory& d = p.on_device(200 * page);
  Memory& h = p.on_host(200 * page, &d);
  p.host_write(h, h.all(), 1);
  const Operand operand{&d, true};
  const engine::QueueIndex q = p.queue(&streams[0]);
  const auto launch = [&](const Region& where) {
    Requirement part{&d, where, Access::read_write};
    const bool in_part = p.engine().launches.begin_launch(q, &operand, 1, {&part, 1});
    p.engine().launches.end_launch(q, &operand, 1, all_devices, {&part, in_part ? 1u : 0u});
  };
  launch(Region(0, page, 4, 2 * page));
  launch(Region(0, page, 100, 2 * page));
  EXPECT_TRUE(p.engine().state().options.device_faults);

  Requirement first{&d, ByteRange{0, page}, Access::read_write};
  p.host_write(h, h.all(), 2);
  ASSERT_TRUE(p.engine().launches.begin_launch(q, &operand, 1, {&first, 1}));
  for (int i = 0; i < 100; ++i) launch(ByteRange{0, page});  // the array is pinned all the time
  EXPECT_LE(d.in_part->opened.size(), 1u);
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {&first, 1});
}

/// A part of an array with memory of its own.
struct Parted : Program {
  static Options two_devices() {
    Options o = Tiled::roomy();
    o.devices = 2;
    return o;
  }
  explicit Parted(const Options& options = two_devices()) : Program(options), d(on_device(16 * page)), h(on_host(16 * page, &d)) {
    host_write(h, h.all(), 1);
    before = counters();
  }
  ~Parted() {
    for (Memory* m : parts) engine().lifetimes.deallocate(m);
  }
  Memory& part(std::uint32_t on, const Region& where) {
    parts.push_back(engine().lifetimes.allocate_part(on, d, where));
    return *parts.back();
  }
  /// Launches a kernel that uses a part's memory. It sees `seen`, and writes each byte with mix(seed, position in the array), if seed > 0.
  std::vector<std::byte> use(Memory& m, Access mode, std::uint64_t seed) {
    const Operand operand{&m, writes(mode)};
    Requirement all{&m, m.positions(), mode};
    void* const stream = &streams[m.space.value - 1];
    const engine::QueueIndex q = queue(stream, m.space.value - 1);
    std::vector<std::byte> seen(m.bytes);
    (void)engine().launches.begin_launch(q, &operand, 1, {&all, 1});
    device().launch({stream, m.space.value - 1}, touches({operand}), [&seen, base = m.address, where = m.layout, seed] {
      std::memcpy(seen.data(), base, seen.size());
      for (std::uint64_t i = 0; i < seen.size() && seed > 0; ++i) {
        base[i] = mix(seed, where.begin + i / where.width * where.pitch + i % where.width);
      }
    });
    engine().launches.end_launch(q, &operand, 1);
    Program::device(m.space.value - 1).synchronize_device();
    return seen;
  }
  void expect_part(const Memory& m, const std::vector<std::byte>& seen, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i], mix(seed, m.layout.begin + i / m.layout.width * m.layout.pitch + i % m.layout.width)) << i;
    }
  }
  Memory& d;
  Memory& h;
  std::vector<Memory*> parts;
  Counters before;
};

const std::uint64_t lead = page / 4;  ///< the leading dimension of the array, a matrix of bytes with 64 columns

TEST(ArrayParts, HoldHalfOfTheRowsOnAnotherDevice) {
  Parted p;
  Memory& half = p.part(1, Region(lead / 2, lead / 2, 64, lead));
  EXPECT_EQ(half.bytes, 8 * page);
  p.expect_part(half, p.use(half, Access::read, 0), 1);
  EXPECT_EQ(p.counters().h2d.bytes - p.before.h2d.bytes, 8 * page) << "the part alone";
  EXPECT_EQ(p.engine().state().directory.wanted(p.d.datum).extent_count(), 1u);

  (void)p.use(half, Access::read_write, 2);
  EXPECT_LE(p.engine().state().directory.wanted(p.d.datum).extent_count(), 2u) << "the half and the rest";
  const std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], Machine::mix(i % lead < lead / 2 ? 1 : 2, i)) << i;
  EXPECT_EQ(p.counters().d2h.bytes - p.before.d2h.bytes, 8 * page) << "and the part alone comes back";
}

TEST(ArrayParts, AreAsTheArrayIsAfterAWriteOnTheHost) {
  Parted p;
  Memory& half = p.part(1, Region(0, lead / 2, 64, lead));
  (void)p.use(half, Access::read, 0);
  const std::uint64_t moved = p.counters().h2d.bytes;
  p.host_write(p.h, {5 * lead + 3, 5 * lead + 4}, 2);
  const std::vector<std::byte> seen = p.use(half, Access::read, 0);
  EXPECT_EQ(seen[5 * (lead / 2) + 3], Machine::mix(2, 5 * lead + 3));
  EXPECT_EQ(p.counters().h2d.bytes - moved, page / 2) << "that of the page which the part has";
}

TEST(ArrayParts, ExchangeContentWithTheArrayOnItsDevice) {
  for (const std::uint32_t on : {0u, 1u}) {
    Parted p;
    p.kernel_write({&streams[0], 0}, p.d, p.d.all(), 2);
    Memory& tile = p.part(on, Region(3 * lead + 7, 100, 20, lead));
    p.expect_part(tile, p.use(tile, Access::read, 0), 2);
    EXPECT_EQ(p.counters().h2d.bytes, p.before.h2d.bytes + 16 * page);
    (void)p.use(tile, Access::overwrite, 3);
    const std::vector<std::byte> seen = p.device_content({&streams[0], 0}, p.d);
    for (std::uint64_t i = 0; i < seen.size(); ++i) {
      const bool in = i / lead >= 3 && i / lead < 23 && i % lead >= 7 && i % lead < 107;
      ASSERT_EQ(seen[i], Machine::mix(in ? 3 : 2, i)) << i;
    }
    EXPECT_EQ(p.counters().d2h.bytes, p.before.d2h.bytes);
  }
}

TEST(ArrayParts, KeepTheirContentWhenTheyAreFreedOrEvicted) {
  Program::Options o = Parted::two_devices();
  o.engine.device_memory_bytes = 20 * page;
  o.device.granularity_bytes = page;
  Parted p(o);
  Memory& tile = p.part(1, Region(4 * page, 8 * page));
  (void)p.use(tile, Access::overwrite, 2);
  Memory& large = p.on_device(16 * page, 1);
  p.kernel_write({&streams[1], 1}, large, large.all(), 5);  // evicts the tile
  EXPECT_FALSE(engine::State::is_resident(tile));
  p.expect_part(tile, p.use(tile, Access::read, 0), 2);
  (void)p.use(tile, Access::overwrite, 3);
  p.engine().lifetimes.deallocate(p.parts.back());
  p.parts.pop_back();
  p.expect_host(p.h, {4 * page, 8 * page}, 3);
  p.expect_host(p.h, {0, 4 * page}, 1);
}

TEST(ArrayParts, OverlapAndFollowEachOther) {
  Parted p;
  Memory& left = p.part(0, Region(0, lead, 40, lead));
  Memory& lower = p.part(1, Region(lead / 2, lead / 2, 64, lead));
  (void)p.use(left, Access::read_write, 2);
  (void)p.use(lower, Access::read_write, 3);
  const std::vector<std::byte> seen = p.use(left, Access::read, 0);
  for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], Machine::mix(i % lead < lead / 2 ? 2 : 3, i)) << i;
  const std::vector<std::byte> all = p.host_content(p.h);
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], Machine::mix(i % lead >= lead / 2 ? 3 : i / lead < 40 ? 2 : 1, i)) << i;
  }
}

/// Two devices use the same bytes as matrices of different leading dimensions.
TEST(ArrayParts, OfTwoLeadingDimensionsOnTwoDevices) {
  for (const bool peer_access : {true, false}) {
    SCOPED_TRACE(peer_access);
    Program::Options o = Parted::two_devices();
    o.device.peer_access = peer_access;
    Parted p(o);
    const Region first(0, lead / 2, 64, lead), second(100, 300, 40, lead + lead / 2);
    const auto in = [](const Region& r, std::uint64_t i) {
      return i >= r.begin && (i - r.begin) / r.pitch < r.columns && (i - r.begin) % r.pitch < r.width;
    };
    Memory& upper = p.part(0, first);
    Memory& wide = p.part(1, second);
    std::vector<std::uint64_t> seeds(p.d.bytes, 1);
    for (std::uint64_t seed = 2; seed < 8; ++seed) {
      Memory& written = seed % 2 == 0 ? upper : wide;
      const std::vector<std::byte> seen = p.use(written, Access::read_write, seed);
      for (std::uint64_t i = 0, k = 0; i < seeds.size(); ++i) {
        if (!in(seed % 2 == 0 ? first : second, i)) continue;
        ASSERT_EQ(seen[k++], Machine::mix(seeds[i], i)) << i << " before write " << seed;
        seeds[i] = seed;
      }
    }
    const std::vector<std::byte> all = p.host_content(p.h);
    for (std::uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], Machine::mix(seeds[i], i)) << i;
  }
}

TEST(ArrayParts, OfArraysThatWantTheSameContent) {
  Parted p;
  Memory& other = p.on_device(16 * page);
  Memory& tile = p.part(1, Region(2 * page, 6 * page));
  (void)p.use(tile, Access::overwrite, 2);
  p.copy(other, p.d);
  (void)p.use(tile, Access::read_write, 3);  // the copy still wants the former content
  p.expect_device(other, {2 * page, 6 * page}, 2);
  p.expect_device(other, {6 * page, 16 * page}, 1);
  p.expect_host(p.h, {2 * page, 6 * page}, 3);
}

TEST(ArrayParts, AreNoArrays) {
  Parted p;
  Memory& tile = p.part(1, Region(2 * page, 6 * page));
  std::vector<std::byte> out(page);
  EXPECT_THROW(p.engine().copies.copy(out.data(), tile.address, page), UsageError);
  EXPECT_THROW(p.engine().copies.copy(tile.address, out.data(), page), UsageError);
  std::vector<Operand> all;
  const engine::QueueIndex q = p.queue(&streams[0]);
  p.engine().launches.begin_unknown_launch(q, all);
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), [&](const Operand& o) { return o.memory == &tile; }));
  p.engine().launches.end_launch(q, all.data(), all.size());
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(1, p.d, Region(15 * page, 17 * page)), UsageError);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(1, p.d, Region(0, 100, 3, 50)), UsageError);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(1, p.d, Region()), UsageError);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(1, tile, Region(0, page)), UsageError);
}

/// The use of the tile is enlarged to whole pages, which the part has bytes of, too.
TEST(ArrayParts, AndATileOfTheArrayInOneLaunch) {
  for (const bool guarded : {false, true}) {
    Program::Options o = guarded ? Program::guarded() : Tiled::roomy();
    o.engine.device_memory_bytes = Tiled::roomy().engine.device_memory_bytes;
    Parted p(o);
    Memory& half = p.part(0, Region(0, lead / 2, 64, lead));
    const Region lower(lead / 2, lead / 2, 64, lead);
    const std::vector<Operand> operands{{&half, true}, {&p.d, true}};
    std::vector<Requirement> parts{{&half, half.layout, Access::read_write}, {&p.d, lower, Access::read_write}};
    const engine::QueueIndex q = p.queue(&streams[0]);
    const bool in_part = p.engine().launches.begin_launch(q, operands.data(), 2, {parts.data(), 2});
    std::byte* const base = p.d.address;
    p.device().launch(&streams[0], Machine::touches(operands), [base, tile = half.address, upper = half.layout, lower] {
      for (std::uint64_t c = 0; c < 64; ++c) {
        for (std::uint64_t i = 0; i < upper.width; ++i) tile[c * upper.width + i] = Machine::mix(2, upper.column(c).begin + i);
        for (std::uint64_t i = lower.column(c).begin; i < lower.column(c).end; ++i) base[i] = Machine::mix(2, i);
      }
    });
    p.engine().launches.end_launch(q, operands.data(), 2, all_devices, {parts.data(), in_part ? 2u : 0u});
    p.expect_device(p.d, 2);
    p.expect_host(p.h, 2);
  }
}

TEST(ArrayParts, AreNotWrittenInTwoPlacesByOneLaunch) {
  Parted p;
  Memory& half = p.part(0, Region(0, lead / 2, 64, lead));
  Memory& other = p.part(0, Region(lead / 4, lead / 2, 64, lead));
  const engine::QueueIndex q = p.queue(&streams[0]);
  const auto begin = [&](std::vector<Operand> operands, std::vector<Requirement> parts) {
    p.engine().launches.begin_launch(q, operands.data(), operands.size(), {parts.data(), parts.size()});
    p.engine().launches.end_launch(q, operands.data(), operands.size());
  };
  EXPECT_THROW(begin({{&half, true}, {&p.d, false}}, {}), UsageError);
  EXPECT_THROW(begin({{&p.d, true}, {&half, false}}, {}), UsageError);
  EXPECT_THROW(begin({{&half, true}, {&other, true}}, {}), UsageError);
  begin({{&half, false}, {&other, false}, {&p.d, false}}, {});
  begin({{&half, true}, {&p.d, true}}, {{&p.d, Region(lead / 2, lead / 2, 64, lead), Access::read_write}});
  begin({{&half, true}, {&p.d, false}}, {{&p.d, Region(3 * lead / 4, 7, 300, lead / 4 * 8), Access::read}});
  p.expect_host(p.h, 1);
}

TEST(ArrayParts, BecomeTheSavedCopyWhenTheyAreFreed) {
  Parted p;
  Memory& half = p.part(1, Region(0, lead / 2, 64, lead));
  (void)p.use(half, Access::overwrite, 2);
  p.engine().lifetimes.deallocate(p.parts.back());
  p.parts.pop_back();
  EXPECT_EQ(p.counters().saved_device.bytes, 0u) << "nothing moves";
  const std::vector<std::byte> seen = p.host_content(p.h);
  for (std::uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], Machine::mix(i % lead < lead / 2 ? 2 : 1, i)) << i;
}

TEST(ArrayParts, AreNotPinnedByUnknownLaunches) {
  Parted p;
  Memory& half = p.part(0, Region(0, lead / 2, 64, lead));
  (void)p.use(half, Access::overwrite, 2);
  std::vector<Operand> all;
  const engine::QueueIndex q = p.queue(&streams[0]);
  p.engine().launches.begin_unknown_launch(q, all);
  EXPECT_FALSE(p.engine().state().pinned(half));
  p.engine().launches.end_launch(q, all.data(), all.size());
}

TEST(ArrayParts, LeaveTheMapsShort) {
  Parted p;
  for (std::uint64_t i = 0; i < 30; ++i) p.kernel_write({&streams[0], 0}, p.d, {i * 500, i * 500 + 7}, 3);
  Memory& first = p.part(0, Region(0, 100, 60, 250));
  Memory& second = p.part(0, Region(11, 60, 250, 130));
  for (int round = 0; round < 3; ++round) {
    (void)p.use(first, Access::read_write, 4);
    (void)p.use(second, Access::read_write, 5);
  }
  (void)p.use(first, Access::read, 0);
  EXPECT_LE(p.engine().state().directory.wanted(p.d.datum).extent_count(), 4 * 250u);
  (void)p.use(first, Access::read_write, 4);
  EXPECT_LE(p.engine().state().directory.wanted(p.d.datum).extent_count(), 64u + 60u);
}

TEST(ArrayParts, ThatLeaveTheArrayByFarAreRefused) {
  Parted p;
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(1, p.d, Region(0, 8, 3, std::uint64_t{1} << 63)), UsageError);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(1, p.d, Region(0, 8, std::uint64_t{1} << 62, 64)), UsageError);
}

}  // namespace
}  // namespace semcache::fakes
