// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

/// Device memory that is mapped and evicted by block: arrays that are resident in part, and arrays that are larger than the budget.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::Requirement;

char streams[2];
constexpr std::uint64_t block = 64 * 1024;  // the granule, too
constexpr std::uint64_t budget = 8;         // blocks
constexpr std::uint64_t aligned = 16;       // arrays of so many blocks begin at the begin of a block, smaller ones anywhere

enum class Kind { cuda, emulated, guarded };

/// A device whose memory holds eight blocks.
struct InBlocks : Program {
  static Options options(Kind kind) {
    Options o = kind == Kind::cuda ? defaults() : kind == Kind::emulated ? emulated() : guarded();
    o.device.granularity_bytes = o.device.block_bytes = block;
    o.engine.device_memory_bytes = budget * block;
    return o;
  }
  explicit InBlocks(Kind kind = Kind::cuda) : Program(options(kind)) {}
  explicit InBlocks(const Options& options) : Program(options) {}
  /// A device array that begins at a block's begin, because it is large, or that shares granules with its neighbours. The host writes it.
  Memory& written_by_host(std::uint64_t bytes, std::uint64_t seed) {
    Memory& d = on_device(bytes);
    Memory& h = on_host(bytes, &d);
    host_write(h, h.all(), seed);
    return d;
  }
  Memory& host_of(const Memory& d) { return engine().state().memory_of(engine().state().directory.slot_in(d.datum, host_space)); }
  void read(Memory& m) { launch(&streams[0], {{&m, false}}, [] {}); }
  void use(Memory& m, const Region& where, Access mode = Access::read, std::uint64_t seed = 0) {
    launch_parts(&streams[0], {{&m, where, mode}}, seed);
  }
  /// Compares a part of what kernels see with write `seed`.
  void expect_part(Memory& m, ByteRange part, std::uint64_t seed) {
    expect(device_content(&streams[0], m, part), part, seed, "device");
  }
  /// The same for all of an array, block by block.
  void expect_blocks(Memory& m, std::uint64_t seed) {
    m.blocks.for_each(m.all(), [&](std::size_t i) { expect_part(m, m.blocks.range(i), seed); });
  }
  [[nodiscard]] std::uint64_t mapped(const Memory& m) {
    std::uint64_t bytes = 0;
    m.blocks.for_each_mapped_range([&](ByteRange r) { bytes += r.size(); });
    return bytes;
  }
};

class Blocks : public ::testing::TestWithParam<Kind> {};

TEST_P(Blocks, OnlyAsManyLeaveAsOthersNeed) {
  Machine::Options o = InBlocks::options(GetParam());
  o.engine.device_memory_bytes = 24 * block;
  InBlocks p(o);
  static_assert(20 > aligned && 18 > aligned);
  Memory& a = p.written_by_host(20 * block, 1);
  p.read(a);
  Memory& b = p.written_by_host(18 * block, 2);
  const Counters before = p.counters();
  p.read(b);
  EXPECT_EQ(p.counters().evictions - before.evictions, 14u);
  EXPECT_EQ(p.counters().d2h.bytes, before.d2h.bytes) << "the host has the content";
  EXPECT_EQ(p.mapped(a), 6 * block);
  EXPECT_EQ(p.mapped(b), 18 * block);
  const Counters between = p.counters();
  p.read(a);
  EXPECT_EQ(p.counters().h2d.bytes - between.h2d.bytes, 14 * block);
  EXPECT_EQ(p.mapped(b), 4 * block);
  p.expect_device(a, 1);
}

TEST_P(Blocks, OfAnArrayBeyondTheBudgetComeAndGo) {
  InBlocks p(GetParam());
  const std::uint64_t size = 20 * block;
  Memory& d = p.written_by_host(size, 1);
  Memory& h = p.host_of(d);
  const Counters before = p.counters();
  for (std::uint64_t at = 0; at < size; at += 2 * block) p.use(d, ByteRange{at, at + 2 * block});
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, size) << "each byte once";
  EXPECT_EQ(p.counters().d2h.bytes, before.d2h.bytes);
  EXPECT_LE(p.engine().state().home().memory->mapped_bytes(), budget * block);
  for (std::uint64_t at = 0; at < size; at += 2 * block) p.use(d, ByteRange{at, at + 2 * block}, Access::read_write, 2);
  p.expect_host(h, 2);
  EXPECT_EQ(p.counters().d2h.bytes - before.d2h.bytes, size) << "each byte once, whether its block was evicted or not";
  for (std::uint64_t at = 0; at < size; at += 3 * block) {
    const ByteRange part{at, std::min(at + 3 * block, size)};
    p.expect_part(d, part, 2);
  }
}

TEST_P(Blocks, OfMoreThanTheBudgetAreNotForOneKernel) {
  InBlocks p(GetParam());
  Memory& d = p.written_by_host(12 * block, 1);
  p.use(d, ByteRange{0, 3 * block}, Access::read_write, 2);
  const Counters before = p.counters();
  try {
    p.read(d);
    FAIL() << "12 blocks do not fit 8";
  } catch (const OutOfMemory& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("'device array'"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(12 * block)), std::string::npos) << text;
    EXPECT_NE(text.find("only these parts are needed"), std::string::npos) << text;
  }
  try {
    p.use(d, ByteRange{0, 10 * block});
    FAIL() << "10 blocks do not fit 8";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("bytes  of " + std::to_string(12 * block) + " of 'device array'"), std::string::npos) << e.what();
  }
  EXPECT_EQ(p.counters().h2d.bytes, before.h2d.bytes);
  EXPECT_EQ(p.counters().evictions, before.evictions);
  p.engine().audit();
  p.expect_host(p.host_of(d), {0, 3 * block}, 2);
  p.expect_host(p.host_of(d), {3 * block, 12 * block}, 1);
}

TEST_P(Blocks, ThatAreColumnsApartAreTheOnesInBetween) {
  InBlocks p(GetParam());
  Memory& d = p.written_by_host(32 * block, 1);
  const Counters before = p.counters();
  const Region columns(block / 2, block / 4, 4, 8 * block);  // far apart: blocks between them need not come
  p.use(d, columns, Access::read_write, 2);
  const std::uint64_t whole_pages = GetParam() == Kind::guarded ? round_up(columns.width, page_bytes()) * columns.columns : columns.size();
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, whole_pages);
  EXPECT_EQ(p.mapped(d), 4 * block);
  EXPECT_THROW(p.use(d, Region(0, block / 4, 16, 2 * block)), OutOfMemory);
  for (std::uint64_t c = 0; c < 4; ++c) p.expect_part(d, columns.column(c), 2);
  p.expect_part(d, {0, block / 2}, 1);
}

TEST_P(Blocks, ThatWereUsedLongestAgoLeaveFirst) {
  InBlocks p(GetParam());
  Memory& d = p.written_by_host(20 * block, 1);
  const auto is_mapped = [&](std::uint64_t i) { return d.blocks.mapped(ByteRange{i * 2 * block, (i + 1) * 2 * block}); };
  const auto use_pair = [&](std::uint64_t i) { p.use(d, ByteRange{i * 2 * block, (i + 1) * 2 * block}); };
  use_pair(0);
  use_pair(4);
  use_pair(0);
  use_pair(8);
  use_pair(6);
  EXPECT_EQ(p.counters().evictions, 0u);
  use_pair(9);
  EXPECT_TRUE(is_mapped(0) && is_mapped(8) && is_mapped(6) && is_mapped(9));
  EXPECT_FALSE(is_mapped(4)) << "it was used before the second use of 0";
  EXPECT_EQ(p.counters().evictions, 2u);
}

/// A launch that uses the whole array without the lock makes all its blocks younger than those of arrays that were used before it.
TEST_P(Blocks, OfAnArrayThatWasUsedAsAWholeAreEquallyOld) {
  Machine::Options o = InBlocks::options(GetParam());
  o.engine.device_memory_bytes = 44 * block;
  InBlocks p(o);
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& b = p.written_by_host(20 * block, 2);
  p.read(a);
  p.use(a, ByteRange{0, block});
  p.read(b);
  p.read(a);
  Memory& c = p.written_by_host(20 * block, 3);
  p.read(c);
  EXPECT_EQ(p.mapped(a), 20 * block);
  EXPECT_EQ(p.mapped(b), 4 * block);
}

TEST_P(Blocks, AreSavedOneByOne) {
  InBlocks p(GetParam());
  Memory& d = p.on_device(6 * block);
  p.kernel_write(&streams[0], d, d.all(), 1);
  Memory& copy = p.on_host(6 * block);
  p.copy(copy, d);
  p.kernel_write(&streams[0], d, {0, block}, 2);  // the copy still wants write 1
  Memory& other = p.written_by_host(7 * block, 3);
  p.read(other);
  p.expect_host(copy, 1);
  p.expect_device(d, {0, block}, 2);
  p.expect_device(d, {block, 6 * block}, 1);
}

TEST_P(Blocks, OfAFreedArrayServeThoseWhoWantItsContent) {
  InBlocks p(GetParam());
  Memory& d = p.on_device(12 * block);
  for (std::uint64_t at = 0; at < d.bytes; at += 4 * block) p.use(d, ByteRange{at, at + 4 * block}, Access::overwrite, 1);
  Memory& copy = p.on_host(12 * block);
  p.copy(copy, d);
  p.free(d);
  p.engine().audit();
  Memory& other = p.written_by_host(7 * block, 2);
  p.read(other);
  p.expect_host(copy, 1);
  p.engine().host_access.settle_all();
}

/// Copies, messages and digests that begin and end within blocks.
TEST_P(Blocks, HaveBordersInTheMiddleOfCopies) {
  InBlocks p(GetParam());
  Memory& a = p.written_by_host(3 * block, 1);
  Memory& b = p.on_device(16 * block);
  p.read(a);
  const std::uint64_t there = 2 * block + block / 2, n = 2 * block + 100;
  p.engine().copies.copy(b.address + there, a.address + 17, n);
  const std::vector<std::byte> seen = p.device_content(&streams[0], b, {there, there + n});
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(seen[i], Machine::mix(1, 17 + i)) << i;
  EXPECT_EQ(p.counters().h2d.bytes, a.bytes) << "a copy within the device";

  auto* const buffer = p.engine().buffers.take(n, base::Side::host);
  const ByteRange piece{0, n};
  p.engine().foreign_io.read_out(b, there, &piece, 1, *buffer, buffer->address);
  p.engine().foreign_io.settle_buffer(*buffer);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(buffer->address[i], Machine::mix(1, 17 + i)) << i;
  for (std::uint64_t i = 0; i < n; ++i) buffer->address[i] = Machine::mix(5, i);
  const std::uint64_t before = p.counters().evictions;
  p.engine().foreign_io.write_in(b, 12 * block - 50, &piece, 1, *buffer, buffer->address);
  EXPECT_LE(p.engine().state().home().memory->mapped_bytes(), budget * block) << p.counters().evictions - before;
  const std::vector<std::byte> arrived = p.device_content(&streams[0], b, {12 * block - 50, 12 * block - 50 + n});
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(arrived[i], Machine::mix(5, i)) << i;
  p.device().synchronize_device();
  p.engine().buffers.give(buffer);
}

/// Columns of a matrix, as a subview is, that lie across borders; one of their blocks leaves for another use.
TEST_P(Blocks, HaveBordersInTheMiddleOfColumns) {
  InBlocks p(GetParam());
  Memory& d = p.written_by_host(18 * block, 1);
  Memory& h = p.host_of(d);
  const std::uint64_t pitch = 3 * block / 4;
  const Region part(pitch + block / 8, block / 2, 8, pitch), other(12 * pitch + block / 8, block / 2, 2, pitch);
  const Counters before = p.counters();
  const auto h2d = [&] { return p.counters().h2d.bytes - before.h2d.bytes; };
  const auto d2h = [&] { return p.counters().d2h.bytes - before.d2h.bytes; };
  // A use of guarded memory takes whole pages, and so more bytes where the columns do not begin and end with one.
  const bool exact = !p.engine().state().options.device_faults || block / 8 % p.engine().state().page_bytes == 0;
  const auto expect_bytes = [&](std::uint64_t moved, std::uint64_t expected, const char* what) {
    EXPECT_GE(moved, expected) << what;
    if (exact) {
      EXPECT_EQ(moved, expected) << what;
    }
  };

  p.use(d, part, Access::read_write, 2);
  expect_bytes(h2d(), part.size(), "the part");
  EXPECT_EQ(p.mapped(d), 7 * block);
  p.use(d, other, Access::read_write, 3);
  EXPECT_EQ(p.counters().evictions - before.evictions, 1u) << "nine blocks where eight fit";
  expect_bytes(h2d(), part.size() + other.size(), "both");
  expect_bytes(d2h(), block / 8, "what the part has in the block that left");
  EXPECT_FALSE(d.blocks.mapped(ByteRange{block - 10, block}));

  for (std::uint64_t c = 0; c < part.columns; ++c) {
    p.expect_host(h, part.column(c), 2);
    p.expect_host(h, {part.column(c).begin - 100, part.column(c).begin}, 1);
    p.expect_host(h, {part.column(c).end, part.column(c).end + 100}, 1);
  }
  for (std::uint64_t c = 0; c < other.columns; ++c) p.expect_host(h, other.column(c), 3);
  expect_bytes(d2h(), part.size() + other.size(), "each byte once, whether its block was there or not");
  p.use(d, part);
  expect_bytes(h2d(), part.size() + other.size() + block / 8, "what had left comes back");

  // The copy of the part to a matrix that has no more rows, and back to other columns of the first one.
  Memory& compact = p.on_device(part.size());
  p.engine().copies.copy(compact.address, d.address + part.begin, {part.width, part.columns, part.width, pitch});
  const std::uint64_t elsewhere = 15 * pitch + block / 8;
  p.engine().copies.copy(d.address + elsewhere, compact.address, {part.width, part.columns, pitch, part.width});
  for (std::uint64_t c = 0; c < part.columns; ++c) {
    const ByteRange from = part.column(c);
    const auto expect_copy = [&](Memory& m, std::uint64_t at) {
      const std::vector<std::byte> seen = p.device_content(&streams[0], m, {at, at + part.width});
      for (std::uint64_t i = 0; i < part.width; ++i) ASSERT_EQ(seen[i], Machine::mix(2, from.begin + i)) << "column " << c << ", row " << i;
    };
    expect_copy(compact, c * part.width);
    expect_copy(d, elsewhere + c * pitch);
    p.expect_part(d, {elsewhere + c * pitch - 100, elsewhere + c * pitch}, 1);
  }
  EXPECT_LE(p.engine().state().home().memory->mapped_bytes(), budget * block);
}

TEST_P(Blocks, HaveBordersInTheMiddleOfDigests) {
  Machine::Options o = InBlocks::options(GetParam());
  o.engine.check_writes = true;
  InBlocks p(o);
  Memory& d = p.written_by_host(5 * block, 1);
  p.launch(&streams[0], {{&d, true}}, [] {});  // captured as writable, and not written
  const Counters before = p.counters();
  p.expect_host(p.host_of(d), 1);
  EXPECT_EQ(p.counters().d2h.bytes, before.d2h.bytes) << "the digest says that nothing has changed";
  p.kernel_write(&streams[0], d, {4 * block, 4 * block + 1}, 2);
  p.expect_host(p.host_of(d), {4 * block, 4 * block + 1}, 2);
  Memory& other = p.written_by_host(7 * block, 3);
  p.kernel_write(&streams[0], d, {0, 1}, 4);
  p.read(other);  // evicts blocks of `d`, whose digest is then of no use
  p.expect_host(p.host_of(d), {0, 1}, 4);
  p.expect_host(p.host_of(d), {1, 4 * block}, 1);
}

TEST_P(Blocks, ThatTheDriverRefusesLeaveTheOthersWhereTheyAre) {
  InBlocks p(GetParam());
  Memory& d = p.written_by_host(6 * block, 1);
  p.device().fail_call(4, FakeDevice::call_map);
  EXPECT_THROW(p.read(d), OutOfMemory);
  p.device().fail_call(0, 0);
  p.engine().audit();
  EXPECT_EQ(p.engine().state().home().memory->mapped_bytes(), p.device().mapped_bytes());
  EXPECT_GT(p.mapped(d), 0u);
  p.expect_device(d, 1);
}

TEST_P(Blocks, OfTwoDevicesMoveBetweenThem) {
  Machine::Options o = InBlocks::options(GetParam());
  o.devices = 2;
  InBlocks p(o);
  Memory& a = p.written_by_host(12 * block, 1);
  Memory& b = p.on_device(12 * block, 1);
  p.copy(b, a);
  p.use(a, ByteRange{0, 4 * block});
  const Counters before = p.counters();
  const std::vector<std::byte> seen = p.device_content({&streams[1], 1}, b, {0, 6 * block});
  Program::expect(seen, {0, 6 * block}, 1, "device 1");
  EXPECT_EQ(p.counters().between_devices.bytes - before.between_devices.bytes, 4 * block) << "what device 0 has mapped";
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, 2 * block);
}

TEST_P(Blocks, OfNewContentTakeNoneOfTheBudget) {
  InBlocks p(GetParam());
  Memory& d = p.on_device(16 * block);
  p.fill(d, 7);
  EXPECT_EQ(p.engine().state().home().memory->mapped_bytes(), 0u) << "a fill needs no memory";
  Memory& h = p.on_host(16 * block);
  p.copy(h, d);
  std::vector<std::byte> seen(h.bytes);
  p.host_read(h, h.all(), seen.data());
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](std::byte b) { return b == std::byte{7}; }));
  EXPECT_EQ(p.counters().d2h.bytes, 0u);
  p.use(d, ByteRange{5 * block, 6 * block}, Access::read_write, 2);
  p.copy(h, d);
  p.expect_host(h, {5 * block, 6 * block}, 2);
  EXPECT_EQ(p.counters().d2h.bytes, block);
}

TEST_P(Blocks, AnArrayOfWhichNoBlockFitsIsRefused) {
  Machine::Options o = InBlocks::options(GetParam());
  o.device.block_bytes = 16 * block;
  InBlocks p(o);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_device(0, "wide", 64 * block), OutOfMemory);
  Memory& d = p.on_device(12 * block / 2);
  EXPECT_THROW((void)p.engine().lifetimes.allocate_part(0, d, Region(0, 9 * block)), Error);
}

/// The runs of columns that an array larger than the budget has on the device are part of it: one compact part fits where it does not.
TEST_P(Blocks, BesideACompactPart) {
  InBlocks p(GetParam());
  Memory& d = p.written_by_host(24 * block, 1);
  const Region columns(0, block / 2, 12, 2 * block);
  Memory& part = *p.engine().lifetimes.allocate_part(0, d, columns);
  const Operand operand{&part, false};
  Requirement all{&part, part.positions(), Access::read};
  const engine::QueueIndex q = p.queue(&streams[0]);
  const Counters before = p.counters();
  (void)p.engine().launches.begin_launch(q, &operand, 1, {&all, 1});
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {&all, 1});
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, columns.size());
  p.device().synchronize_device();
  p.engine().lifetimes.deallocate(&part);
}

/// Content of which nobody has another copy goes to page-locked memory of the runtime's own, which serves again and again.
TEST_P(Blocks, OfContentThatHasNoHostSideGoToSavedCopiesAndComeBack) {
  Machine::Options o = InBlocks::options(GetParam());
  constexpr std::uint64_t wide = 16 * block;  // 1 MiB
  o.device.block_bytes = wide;
  o.engine.device_memory_bytes = 3 * wide;
  InBlocks p(o);
  Memory& d = p.on_device(6 * wide);
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (std::uint64_t at = 0; at < d.bytes; at += wide) {
      if (seed > 1) p.expect_part(d, {at, at + wide}, seed - 1);
      p.use(d, ByteRange{at, at + wide}, Access::read_write, seed);
    }
  }
  if (GetParam() == Kind::cuda) {
    EXPECT_GE(p.device().staging_bytes(), 3 * wide);
    EXPECT_LE(p.device().staging_bytes(), 5 * wide) << "memory of copies that nobody wants any more is used again";
  }
  for (std::uint64_t at = 0; at < d.bytes; at += wide) p.expect_part(d, {at, at + wide}, 3);
}

/// Where the host has no page-locked memory left, saved copies are in ordinary memory.
TEST_P(Blocks, OfContentThatHasNoHostSideDoWithoutPageLockedMemory) {
  Machine::Options o = InBlocks::options(GetParam());
  constexpr std::uint64_t wide = 16 * block;
  o.device.block_bytes = wide;
  o.engine.device_memory_bytes = 3 * wide;
  InBlocks p(o);
  Memory& d = p.on_device(6 * wide);
  for (std::uint64_t at = 0; at < 3 * wide; at += wide) p.use(d, ByteRange{at, at + wide}, Access::overwrite, 1);
  p.device().fail_call(1, FakeDevice::call_staging);
  p.use(d, ByteRange{3 * wide, 6 * wide}, Access::overwrite, 1);
  p.device().fail_call(0, 0);
  for (std::uint64_t at = 0; at < d.bytes; at += wide) p.expect_part(d, {at, at + wide}, 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, Blocks, ::testing::Values(Kind::cuda, Kind::emulated, Kind::guarded), [](const auto& info) {
  return info.param == Kind::cuda ? "Cuda" : info.param == Kind::emulated ? "Emulated" : "Guarded";
});

// --- uses outside our launches ---------------------------------------------------------------------------------------

using Driver = device::DriverUse::Kind;

/// A raw kernel, reported by the driver watch, that is given the address of the first byte of `part`, and reads or writes it.
void raw_kernel(InBlocks& p, Memory& m, ByteRange part, std::uint64_t seed, std::vector<std::byte>* seen = nullptr) {
  const device::DriverUse use{m.address + part.begin, 0, Driver::argument, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch);
  std::byte* const base = m.address;
  p.device().launch(nullptr, {{base + part.begin, part.size(), seed > 0}}, [base, part, seed, seen] {
    if (seen != nullptr) seen->assign(base + part.begin, base + part.end);
    for (std::uint64_t i = part.begin; i < part.end && seed > 0; ++i) base[i] = Machine::mix(seed, i);
  });
  if (call != nullptr) p.engine().foreign_uses.end_foreign_call(std::move(call));
}

TEST(BlocksOutsideLaunches, AreSweptByAnnouncedUses) {
  for (const Kind kind : {Kind::cuda, Kind::emulated}) {
    InBlocks p(kind);
    Memory& d = p.written_by_host(12 * block, 1);
    const Counters before = p.counters();
    for (std::uint64_t at = 0; at < d.bytes; at += 3 * block) {
      const ByteRange part{at, at + 3 * block};
      p.engine().access(d, part, Access::read);
      std::vector<std::byte> seen;
      raw_kernel(p, d, part, 0, &seen);
      p.device().synchronize_device();
      Program::expect(seen, part, 1, "raw kernel");
    }
    EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, d.bytes);
    for (std::uint64_t at = 0; at < d.bytes; at += 3 * block) {
      const ByteRange part{at, at + 3 * block};
      p.engine().access(d, part, Access::overwrite);
      raw_kernel(p, d, part, 2);
    }
    p.expect_host(p.host_of(d), 2);
  }
}

/// A kernel that is given an address in an announced part may read more than that. What is mapped beside it must be fresh, then.
TEST(BlocksOutsideLaunches, OfStaleContentLeaveBeforeAKernelThatMightReadThem) {
  InBlocks p;
  Memory& d = p.written_by_host(12 * block, 1);
  Memory& h = p.host_of(d);
  p.use(d, ByteRange{6 * block, 8 * block});
  p.host_write(h, {6 * block, 6 * block + 10}, 2);
  p.engine().access(d, ByteRange{0, 2 * block}, Access::read);
  raw_kernel(p, d, {0, 2 * block}, 0);
  EXPECT_FALSE(d.blocks.mapped(ByteRange{6 * block, 6 * block + 10})) << "a kernel that follows a pointer there meets no memory";
  EXPECT_TRUE(d.blocks.mapped(ByteRange{0, 2 * block}));
  d.blocks.for_each_mapped_range([&](ByteRange r) { EXPECT_TRUE(p.engine().state().directory.fresh(d.slot, r)); });
  p.device().synchronize_device();
  p.expect_part(d, {6 * block, 6 * block + 10}, 2);
}

TEST(BlocksOutsideLaunches, ThatNobodyAnnouncedAreTheWholeArray) {
  InBlocks p;
  Memory& d = p.written_by_host(12 * block, 1);
  const device::DriverUse use{d.address, 0, Driver::argument, 0};
  EXPECT_THROW((void)p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::launch), OutOfMemory);
  const device::DriverUse copy{d.address + 3 * block, 2 * block, Driver::read, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&copy, 1, engine::ForeignCall::Kind::transfer);
  ASSERT_NE(call, nullptr);
  EXPECT_TRUE(d.blocks.mapped(ByteRange{3 * block, 5 * block})) << "a copy of the driver's tells which bytes it uses";
  p.engine().foreign_uses.end_foreign_call(std::move(call));
}

/// On an emulated device whose memory is guarded, code that nobody announced meets one closed block after the other.
TEST(BlocksOutsideLaunches, ComeWithTheFaultsOfGuardedMemory) {
  InBlocks p(Kind::guarded);
  Memory& d = p.written_by_host(20 * block, 1);
  const Counters before = p.counters();
  std::vector<std::byte> seen(d.bytes);
  p.host_read(d, d.all(), seen.data());
  Program::expect(seen, d.all(), 1, "raw code");
  EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, d.bytes);
  p.host_write(d, {5 * block + 3, 9 * block}, 2);
  p.expect_host(p.host_of(d), {5 * block + 3, 9 * block}, 2);
  p.expect_host(p.host_of(d), {0, 5 * block + 3}, 1);
  p.expect_host(p.host_of(d), {9 * block, 20 * block}, 1);
}

TEST(BlocksOutsideLaunches, OfGuardedMemoryStayOpenWhereTheyAreAnnounced) {
  InBlocks p(Kind::guarded);
  Memory& d = p.written_by_host(20 * block, 1);
  p.engine().access(d, ByteRange{4 * block, 8 * block}, Access::read);
  const std::uint64_t faults = p.faults;
  std::vector<std::byte> seen(4 * block);
  p.host_read(d, {4 * block, 8 * block}, seen.data());
  Program::expect(seen, {4 * block, 8 * block}, 1, "announced code");
  EXPECT_LE(p.faults - faults, 2u) << "but for pages of which the announcement does not name all bytes";
}


// --- review ----------------------------------------------------------------------------------------------------------

/// A copy of the driver's, which writes bytes of an array of which other bytes are announced, does not fit beside its source.
TEST(BlocksUnderAttack, ADriverCopyIsNotConfinedToWhatSomebodyElseAnnounced) {
  InBlocks p;
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& b = p.written_by_host(20 * block, 7);
  const ByteRange target{1 * block, 6 * block}, source{0, 5 * block};
  p.use(a, target, Access::overwrite, 2);
  p.device().synchronize_device();
  p.engine().access(a, ByteRange{0, block}, Access::read_write);
  const device::DriverUse uses[] = {{a.address + target.begin, target.size(), Driver::write, 0}, {b.address, source.size(), Driver::read, 0}};
  std::unique_ptr<engine::ForeignCall> call;
  try {
    call = p.engine().foreign_uses.begin_foreign_call(uses, 2, engine::ForeignCall::Kind::transfer);
  } catch (const OutOfMemory&) {
    return;  // 10 blocks do not fit 8
  }
  ADD_FAILURE() << "10 blocks were served with memory for 8";
  EXPECT_TRUE(a.blocks.mapped(target)) << "the copy writes there";
  p.engine().foreign_uses.end_foreign_call(std::move(call));
}

/// The same, where all blocks that are used are mapped and fresh: the write is not noted.
TEST(BlocksUnderAttack, AWriteOfADriverCopyIsNoted) {
  InBlocks p;
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& b = p.on_device(20 * block);  // nobody has written it
  Memory& h = p.host_of(a);
  const ByteRange target{block, 3 * block};
  p.use(a, target, Access::read);
  p.device().synchronize_device();
  p.engine().access(a, ByteRange{0, block}, Access::read_write);
  // A graph or a batch: it writes two blocks of `a`, and reads seven of `b`. Together with those of `a` they do not fit.
  const device::DriverUse uses[] = {{a.address + target.begin, target.size(), Driver::write, 0}, {b.address, 7 * block, Driver::read, 0}};
  std::unique_ptr<engine::ForeignCall> call;
  try {
    call = p.engine().foreign_uses.begin_foreign_call(uses, 2, engine::ForeignCall::Kind::transfer);
  } catch (const OutOfMemory&) {
    return;
  }
  ASSERT_NE(call, nullptr);
  if (a.blocks.mapped(target)) {
    p.device().launch(nullptr, {{a.address + target.begin, target.size(), true}}, [&a, target] {
      for (std::uint64_t i = target.begin; i < target.end; ++i) a.address[i] = Machine::mix(9, i);
    });
  } else {
    ADD_FAILURE() << "the driver's copy writes memory that is not mapped";
  }
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.device().synchronize_device();
  p.expect_host(h, target, 9);
}

/// An array that is announced as a whole has no announced parts.
TEST(BlocksUnderAttack, ADriverCopyOfAnArrayThatIsAnnouncedAsAWhole) {
  InBlocks p;
  Memory& a = p.written_by_host(6 * block, 1);
  Memory& b = p.written_by_host(20 * block, 2);
  p.engine().access(a, a.all(), Access::read);
  const device::DriverUse uses[] = {{a.address, 5 * block, Driver::read, 0}, {b.address, 5 * block, Driver::read, 0}};
  EXPECT_THROW((void)p.engine().foreign_uses.begin_foreign_call(uses, 2, engine::ForeignCall::Kind::transfer), OutOfMemory);
}

struct Order : plan::Observer {
  std::string text;
  void done(const plan::Step& step) noexcept override {
    if (step.kind == plan::Step::Kind::map) text += 'm';
    if (step.kind == plan::Step::Kind::copy && step.to.space != host_space) text += 'c';
  }
  void refused(const plan::Step&) noexcept override {}
};

TEST(BlocksUnderAttack, TheContentOfABlockIsUnderWayWhileTheNextOneIsMapped) {
  Order order;
  Machine::Options o = InBlocks::options(Kind::cuda);
  o.engine.device_memory_bytes = 24 * block;
  o.engine.observer = &order;
  o.engine.registration_bytes = 2 * block;
  InBlocks p(o);
  Memory& d = p.written_by_host(20 * block, 1);
  p.read(d);
  EXPECT_NE(order.text.find("mmcmm"), std::string::npos) << order.text;
  EXPECT_EQ(p.device().host_registrations(), 10u) << "the host has just written the pages, so a chunk is locked if it goes as a whole";
}

/// Two arrays beyond the budget, of each of which a kernel outside our launches gets a tile. Of the first one, other blocks are mapped.
TEST(BlocksUnderAttack, OfAnAnnouncedArrayTheBlocksThatAreNotAnnouncedMayLeave) {
  InBlocks p;
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& b = p.written_by_host(20 * block, 2);
  for (std::uint64_t at = 0; at < 8 * block; at += 2 * block) p.use(a, ByteRange{at, at + 2 * block});
  p.device().synchronize_device();
  p.engine().access(a, ByteRange{0, 2 * block}, Access::read);
  EXPECT_NO_THROW(p.engine().access(b, ByteRange{0, 2 * block}, Access::read)) << "4 of 8 blocks are announced";
  EXPECT_TRUE(a.blocks.mapped(ByteRange{0, 2 * block}));
}

/// What is announced stays mapped until its kernel is submitted, even if there is no other room.
TEST(BlocksUnderAttack, OfAnnouncedPartsStayForTheirKernel) {
  InBlocks p;
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& b = p.written_by_host(20 * block, 2);
  p.engine().access(a, ByteRange{0, 6 * block}, Access::read);
  for (const Access mode : {Access::read, Access::overwrite}) {
    EXPECT_THROW(p.engine().access(b, ByteRange{0, 4 * block}, mode), OutOfMemory);
    EXPECT_TRUE(a.blocks.mapped(ByteRange{0, 6 * block}));
  }
  raw_kernel(p, a, {0, 6 * block}, 0);
  EXPECT_NO_THROW(p.engine().access(b, ByteRange{0, 4 * block}, Access::read)) << "the kernel has been seen";
}

/// An announcement that fails at any of its calls of the driver leaves the earlier announcements for its kernel as they are.
TEST(BlocksUnderAttack, AnAnnouncementThatFailsKeepsWhatWasAnnouncedBefore) {
  int failures = 0;
  for (std::uint64_t call = 1;; ++call) {
    Machine::Options o = InBlocks::options(Kind::cuda);
    o.device.eagerness = 0;  // so the announcement waits for its transfers
    InBlocks p(o);
    Memory& a = p.written_by_host(20 * block, 1);
    Memory& b = p.written_by_host(20 * block, 2);
    const auto announce = [&] { p.engine().access(a, ByteRange{block, 4 * block}, Access::read_write); };  // also some of the same bytes
    p.engine().access(a, ByteRange{0, 2 * block}, Access::read);
    p.device().fail_call(call, FakeDevice::call_all);
    try {
      announce();
    } catch (const std::exception&) {
      ++failures;
      announce();
    }
    const bool done = p.device().failure_pending();
    p.device().fail_call(0, FakeDevice::call_all);
    EXPECT_THROW(p.engine().access(b, ByteRange{0, 5 * block}, Access::read), OutOfMemory) << "call " << call;
    EXPECT_TRUE(a.blocks.mapped(ByteRange{0, 4 * block})) << "call " << call;
    raw_kernel(p, a, {0, 4 * block}, 0);
    if (done) break;
  }
  EXPECT_GE(failures, 3);
}

/// The same with content of `a` that must be written back: the announcement of `a` goes on to hold.
TEST(BlocksUnderAttack, AnAnnouncementHoldsAlthoughOtherBlocksAreWrittenBack) {
  InBlocks p;
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& b = p.written_by_host(20 * block, 2);
  for (std::uint64_t at = 2 * block; at < 8 * block; at += 2 * block) p.use(a, ByteRange{at, at + 2 * block}, Access::read_write, 3);
  p.device().synchronize_device();
  p.engine().access(a, ByteRange{0, 2 * block}, Access::read);
  // Another thread needs room meanwhile: it launches on a tile of b.
  std::thread other([&] { p.use(b, ByteRange{0, 4 * block}); });
  other.join();
  EXPECT_NO_THROW(raw_kernel(p, a, {0, 2 * block}, 0));
}

/// Both threads announce; one of them makes a call of the driver.
TEST(BlocksUnderAttack, WhatTwoThreadsHaveAnnouncedStaysUntilBothHaveSubmitted) {
  InBlocks p;
  Memory& a = p.written_by_host(2 * block, 1);
  Memory& b = p.written_by_host(7 * block, 2);
  Memory& c = p.written_by_host(block / 2, 3);
  std::thread other([&] { p.engine().access(a, a.all(), Access::read); });
  other.join();  // its kernel is not submitted yet
  p.engine().access(a, a.all(), Access::read);
  raw_kernel(p, a, {0, block}, 0);
  (void)c;
  try {
    p.engine().access(b, b.all(), Access::read);
  } catch (const OutOfMemory&) {
  }
  EXPECT_TRUE(a.blocks.all_mapped()) << "the other thread's kernel is not submitted yet";
}

/// A copy of the driver's is no launch.
TEST(BlocksUnderAttack, WhatIsAnnouncedStaysUntilAKernelIsSubmitted) {
  InBlocks p;
  Memory& a = p.written_by_host(3 * block, 1);
  Memory& c = p.written_by_host(block / 2, 3);
  Memory& b = p.written_by_host(6 * block, 2);
  p.engine().access(a, a.all(), Access::read);
  const device::DriverUse copy{c.address, 100, Driver::read, 0};
  auto call = p.engine().foreign_uses.begin_foreign_call(&copy, 1, engine::ForeignCall::Kind::transfer);
  ASSERT_NE(call, nullptr);
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  try {
    p.engine().access(b, b.all(), Access::read);
  } catch (const OutOfMemory&) {
  }
  EXPECT_TRUE(a.blocks.all_mapped()) << "the kernel for which `a` is announced is not submitted yet";
}

TEST(BlocksUnderAttack, CallsOfTheDriverBelongToOneEngine) {
  {
    InBlocks p;
    Memory& a = p.written_by_host(block, 1);
    for (int i = 0; i < 20; ++i) raw_kernel(p, a, {0, block}, 0);
    p.device().synchronize_device();
  }
  InBlocks p;
  Memory& a = p.written_by_host(4 * block, 1);
  Memory& b = p.written_by_host(6 * block, 2);
  p.engine().access(a, a.all(), Access::read);
  EXPECT_THROW(p.engine().access(b, b.all(), Access::read), OutOfMemory);
  EXPECT_TRUE(a.blocks.all_mapped());
}

TEST(BlocksUnderAttack, AnAnnouncedOverwriteOfAPartIsAUseOfThatPart) {
  InBlocks p;
  Memory& d = p.written_by_host(20 * block, 1);
  const auto pair = [](std::uint64_t i) { return ByteRange{2 * i * block, 2 * (i + 1) * block}; };
  p.use(d, pair(5));
  p.use(d, pair(4));
  p.use(d, pair(3));
  p.device().synchronize_device();
  p.engine().access(d, pair(0), Access::overwrite);
  raw_kernel(p, d, pair(0), 2);
  p.device().synchronize_device();
  p.use(d, pair(9));
  EXPECT_FALSE(d.blocks.mapped(pair(5))) << "it was used longest ago";
  EXPECT_TRUE(d.blocks.mapped(pair(0)) && d.blocks.mapped(pair(4)) && d.blocks.mapped(pair(3)));
}

/// On the emulated device: parts that stay open must not keep launches of the whole array on the slow path.
TEST(BlocksUnderAttack, AnArrayWithOpenPartsBecomesReadyAsAWhole) {
  InBlocks p(Kind::guarded);
  Memory& d = p.written_by_host(4 * block, 1);
  p.use(d, ByteRange{0, block});
  for (int i = 0; i < 4; ++i) p.read(d);
  EXPECT_TRUE(engine::ready({&d, false}));
}

/// Two threads launch on tiles of one array.
TEST(BlocksUnderAttack, ALaunchOnOneTileDoesNotFailBecauseAnotherIsBeingSubmitted) {
  InBlocks p;
  Memory& d = p.written_by_host(20 * block, 1);
  for (std::uint64_t at = 0; at < 8 * block; at += 2 * block) p.use(d, ByteRange{at, at + 2 * block});
  p.device().synchronize_device();
  const Operand operand{&d, false};
  Requirement part{&d, Region(0, 2 * block), Access::read};
  const engine::QueueIndex q = p.queue(&streams[0]);
  const bool in_part = p.engine().launches.begin_launch(q, &operand, 1, {&part, 1});
  std::string error;
  std::thread other([&] {
    try {
      p.launch_parts(&streams[1], {{&d, Region(10 * block, 12 * block), Access::read}});
    } catch (const std::exception& e) {
      error = e.what();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {&part, in_part ? 1u : 0u});
  other.join();
  EXPECT_EQ(error, "");
}

/// A freed array of which a part is mapped takes no more of the share of saved copies than it has.
TEST(BlocksUnderAttack, ASavedCopyInPartCountsWhatItHas) {
  InBlocks p;
  Memory& d = p.on_device(20 * block);
  p.use(d, ByteRange{0, 2 * block}, Access::overwrite, 1);
  Memory& copy = p.on_host(20 * block);
  p.copy(copy, d);
  p.free(d);
  EXPECT_LE(p.engine().state().home().memory->snapshot_bytes, 2 * block);
  p.expect_host(copy, {0, 2 * block}, 1);
}

/// Maps of an array beyond the budget are kept short, too.
TEST(BlocksUnderAttack, MapsOfAnArrayBeyondTheBudgetStayShort) {
  InBlocks p;
  Memory& d = p.written_by_host(20 * block, 1);
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::uint64_t at = (i % 200) * 64 * 8 + (i >= 200 ? 256 : 0);
    p.use(d, ByteRange{at, at + 16}, Access::read_write, 2);
    if (i % 64 == 0) p.device().synchronize_device();
  }
  EXPECT_LE(p.engine().state().directory.wanted(d.datum).extent_count(), std::max<std::uint64_t>(64, d.bytes / 9600) + 2);
}

/// A thread copies the arguments of its next launch to the device: Views of two tiles, each announced before its argument is copied.
void arguments_of_two_tiles(std::uint64_t blocks) {
  Machine::Options o = InBlocks::options(Kind::cuda);
  o.engine.device_memory_bytes = blocks * block;
  InBlocks p(o);
  Memory& a = p.written_by_host(20 * block, 1);
  Memory& h = p.host_of(a);
  const std::uintptr_t record = 0x1000;
  std::memcpy(a.header, &record, sizeof record);
  const auto copy_argument = [&](std::uint64_t at) {
    const device::DriverUse use{a.address + at, 0, Driver::listed, record | 1};
    auto call = p.engine().foreign_uses.begin_foreign_call(&use, 1, engine::ForeignCall::Kind::transfer);
    ASSERT_NE(call, nullptr);
    p.engine().foreign_uses.end_foreign_call(std::move(call));
  };
  const ByteRange one{0, block}, two{2 * block, 3 * block};
  p.engine().access(a, one, Access::read_write);
  copy_argument(one.begin);
  p.device().synchronize_device();
  p.expect_host(h, one, 1);  // the host has read the tile before the kernel is launched
  p.engine().access(a, two, Access::read_write);
  copy_argument(two.begin);
  auto call = p.engine().foreign_uses.begin_foreign_call(nullptr, 0, engine::ForeignCall::Kind::launch);
  ASSERT_NE(call, nullptr);
  ASSERT_TRUE(a.blocks.mapped(one) && a.blocks.mapped(two));
  p.device().launch(nullptr, {{a.address + one.begin, block, true}, {a.address + two.begin, block, true}}, [&a, one, two] {
    for (std::uint64_t i = one.begin; i < one.end; ++i) a.address[i] = Machine::mix(9, i);
    for (std::uint64_t i = two.begin; i < two.end; ++i) a.address[i] = Machine::mix(9, i);
  });
  p.engine().foreign_uses.end_foreign_call(std::move(call));
  p.device().synchronize_device();
  p.expect_host(h, two, 9);
  p.expect_host(h, one, 9);
}

TEST(BlocksUnderAttack, ArgumentsKeepTheAnnouncementsThatTheyWereGivenUnder) { arguments_of_two_tiles(budget); }
TEST(BlocksUnderAttack, ArgumentsWhereTheArrayFits) { arguments_of_two_tiles(24); }

/// One instruction needs both sides of a block's border. The processor repeats it after each fault.
void use_a_border(std::uint64_t budget_bytes) {
  Machine::Options o = InBlocks::options(Kind::guarded);
  o.engine.device_memory_bytes = budget_bytes;
  InBlocks p(o);
  Memory& d = p.written_by_host(16 * block, 1);
  bool both = false;
  for (int i = 0; i < 1000 && !both; ++i) {
    std::byte* const before = d.address + block - 8;
    std::byte* const behind = d.address + block;
    const auto open = [&](std::byte* at) { return p.platform().allows(at, false); };
    both = open(before) && open(behind);
    if (!both) (void)p.engine().host_access.serve(open(before) ? behind : before, platform::FaultKind::read, &p);
  }
  EXPECT_TRUE(both) << "the instruction never ends";
}

TEST(BlocksUnderAttack, AnInstructionAcrossABorder) { use_a_border(2 * block); }

TEST(BlocksUnderAttackDeathTest, AnInstructionAcrossABorderWhereOneBlockFitsEndsWithAMessage) {
  EXPECT_DEATH(use_a_border(block), "cannot be served: 1 array is needed at once, 131072 bytes in all");
}

/// SEMCACHE_CHECK closes and opens device memory of which only blocks are mapped.
TEST(BlocksUnderAttack, UnderCheck) {
  Machine::Options o = InBlocks::options(Kind::emulated);
  o.engine.check = true;
  InBlocks p(o);
  Memory& d = p.written_by_host(20 * block, 1);
  Memory& h = p.host_of(d);
  for (std::uint64_t at = 0; at < d.bytes; at += 2 * block) p.use(d, ByteRange{at, at + 2 * block}, Access::read_write, 2);
  p.engine().access(d, ByteRange{4 * block, 6 * block}, Access::read_write);
  p.expect_host(h, 2);
  Memory& other = p.on_host(20 * block);
  p.copy(other, d);
  p.copy(other, d);
  p.expect_host(other, 2);
  Memory& d2 = p.on_device(20 * block);
  p.copy(d2, d);
  p.copy(d2, d);
  for (std::uint64_t at = 0; at < d.bytes; at += 3 * block) p.expect_part(d2, {at, std::min(d.bytes, at + 3 * block)}, 2);
  p.engine().host_access.settle_all();
}

/// The protocols that copy at once.
TEST(BlocksUnderAttack, OtherProtocols) {
  for (const engine::Protocol protocol : {engine::Protocol::write_through, engine::Protocol::off}) {
    for (const Kind kind : {Kind::cuda, Kind::emulated, Kind::guarded}) {
      Machine::Options o = InBlocks::options(kind);
      o.engine.protocol = protocol;
      InBlocks p(o);
      Memory& d = p.on_device(20 * block);
      Memory& h = p.on_host(20 * block);
      p.host_write(h, h.all(), 1);
      for (std::uint64_t at = 0; at < d.bytes; at += 4 * block) p.engine().copies.copy(d.address + at, h.address + at, 4 * block);
      for (std::uint64_t at = 0; at < d.bytes; at += 2 * block) p.use(d, ByteRange{at, at + 2 * block}, Access::read_write, 2);
      for (std::uint64_t at = 0; at < d.bytes; at += 4 * block) p.engine().copies.copy(h.address + at, d.address + at, 4 * block);
      p.expect_host(h, 2);
    }
  }
}

/// Memory that belongs to no array is copied at the call.
TEST(BlocksUnderAttack, ACopyBetweenOtherMemoryAndAnArrayBeyondTheBudget) {
  InBlocks p;
  Memory& d = p.written_by_host(20 * block, 1);
  std::vector<std::byte> other(d.bytes);
  for (std::uint64_t i = 0; i < d.bytes; ++i) other[i] = Machine::mix(4, i);
  EXPECT_NO_THROW(p.engine().copies.copy(d.address, other.data(), d.bytes));
  p.expect_blocks(d, 4);
  std::fill(other.begin(), other.end(), std::byte{0});
  EXPECT_NO_THROW(p.engine().copies.copy(other.data(), d.address, d.bytes)) << "the host side has what the device has no room for";
  p.expect(other, d.all(), 4, "other memory");
}

/// A message that is larger than the budget.
TEST(BlocksUnderAttack, AMessageBeyondTheBudget) {
  InBlocks p;
  Memory& d = p.written_by_host(20 * block, 1);
  auto* const buffer = p.engine().buffers.take(d.bytes, base::Side::host);
  const ByteRange piece{0, d.bytes};
  EXPECT_NO_THROW(p.engine().foreign_io.read_out(d, 0, &piece, 1, *buffer, buffer->address));
  p.engine().foreign_io.settle_buffer(*buffer);
  p.expect({buffer->address, buffer->address + d.bytes}, d.all(), 1, "a message");
  for (std::uint64_t i = 0; i < d.bytes; ++i) buffer->address[i] = Machine::mix(5, i);
  EXPECT_NO_THROW(p.engine().foreign_io.write_in(d, 0, &piece, 1, *buffer, buffer->address));
  p.device().synchronize_device();
  p.engine().buffers.give(buffer);
  p.expect_blocks(d, 5);
}

/// With protocol `off` a copy of a whole array beyond the budget needs all of it at once.
TEST(BlocksUnderAttack, ACopyAtTheCallOfAnArrayBeyondTheBudget) {
  Machine::Options o = InBlocks::options(Kind::cuda);
  o.engine.protocol = engine::Protocol::off;
  InBlocks p(o);
  Memory& d = p.on_device(20 * block);
  Memory& h = p.on_host(20 * block);
  p.host_write(h, h.all(), 1);
  EXPECT_NO_THROW(p.copy(d, h));
  p.expect_blocks(d, 1);
  p.host_write(h, h.all(), 2);
  EXPECT_NO_THROW(p.copy(h, d));
  p.expect_host(h, 1);
}

/// Two threads sweep through the tiles of two arrays beyond the budget, on streams of their own.
TEST(BlocksUnderAttack, TwoThreadsSweep) {
  for (const Kind kind : {Kind::cuda, Kind::emulated, Kind::guarded}) {
    InBlocks p(kind);
    Memory* arrays[] = {&p.written_by_host(20 * block, 1), &p.written_by_host(20 * block, 1)};
    std::atomic<int> refused{0};
    const auto sweep = [&](int t) {
      for (int round = 0; round < 4; ++round) {
        for (std::uint64_t at = 0; at < 20 * block; at += 2 * block) {
          for (int tries = 0;; ++tries) {
            try {
              p.launch_parts(&streams[t], {{arrays[t], Region(at, at + 2 * block), Access::read_write}}, 2 + round);
              break;
            } catch (const OutOfMemory&) {
              ++refused;
              ASSERT_LT(tries, 1000);
              std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
          }
        }
      }
    };
    std::thread other(sweep, 1);
    sweep(0);
    other.join();
    EXPECT_EQ(refused.load(), 0) << static_cast<int>(kind);
    p.device().synchronize_device();
    p.expect_host(p.host_of(*arrays[0]), 5);
    p.expect_host(p.host_of(*arrays[1]), 5);
  }
}

/// Of a matrix whose columns are more than a block apart, only the blocks that have columns are mapped. Drivers refuse a copy of columns between
/// which memory is not mapped (an H100's with CUDA_ERROR_INVALID_VALUE), and so does the fake device.
TEST(BlocksUnderAttack, ColumnsWithUnmappedMemoryBetweenThemAreCopiedOneByOne) {
  for (const bool registers_host : {true, false}) {
    Machine::Options o = InBlocks::options(Kind::cuda);
    o.device.registers_host = registers_host;
    o.devices = 2;
    InBlocks p(o);
    const Region columns(block / 2, block / 4, 4, 8 * block);
    Memory& d = p.written_by_host(32 * block, 1);
    Memory& h = p.host_of(d);
    p.use(d, columns, Access::read_write, 2);
    EXPECT_EQ(p.device().copied.calls_with_columns, 0u);
    for (std::uint64_t c = 0; c < 4; ++c) p.host_write(h, columns.column(c), 3);
    p.use(d, columns, Access::read_write, 4);  // the blocks are mapped, and stale
    p.engine().access(h, columns, Access::read);
    for (std::uint64_t c = 0; c < 4; ++c) p.expect_host(h, columns.column(c), 4);
    EXPECT_EQ(p.mapped(d), 4 * block);
    Memory& peer = p.on_device(32 * block, 1);
    p.engine().copies.copy(peer.address + columns.begin, d.address + columns.begin, {columns.width, 4, columns.pitch, columns.pitch});
    for (std::uint64_t c = 0; c < 4; ++c) {
      const ByteRange column = columns.column(c);
      Program::expect(p.device_content({&streams[1], 1}, peer, column), column, 4, "device 1");
    }
    EXPECT_EQ(p.device().copied.calls_with_columns, 0u);
  }
}

/// Columns between which memory is mapped cost one call of the driver: from the host, to the host, and from one device to another one.
TEST(Blocks, ColumnsOfMappedMemoryAreCopiedTogether) {
  for (const auto& [registers_host, with_peers] : {std::pair(true, true), std::pair(false, true), std::pair(true, false)}) {
    Machine::Options o = InBlocks::options(Kind::cuda);
    o.device.registers_host = registers_host;
    o.device.peer_access = with_peers;
    o.devices = 2;
    InBlocks p(o);
    const Region columns(block / 8, block / 4, 4, block / 2);
    Memory& d = p.written_by_host(4 * block, 1);
    Memory& h = p.host_of(d);
    Memory& peer = p.on_device(4 * block, 1);
    const std::uint64_t& calls = p.device().copied.calls_with_columns;
    p.use(d, columns, Access::read_write, 2);
    EXPECT_EQ(calls, 1u) << "to the device";
    p.engine().access(h, columns, Access::read);
    EXPECT_EQ(calls, 2u) << "to the host";
    p.use(d, columns, Access::read_write, 3);  // the host's copy is stale
    p.engine().copies.copy(peer.address + columns.begin, d.address + columns.begin, {columns.width, 4, columns.pitch, columns.pitch});
    p.launch_parts({&streams[1], 1}, {{&peer, columns, Access::read}});
    EXPECT_EQ(calls, with_peers ? 3u : 4u) << "to the other device";
  }
}

/// The same on one array, whose tiles the host reads and writes meanwhile, and which is copied.
TEST(BlocksUnderAttack, ThreadsOnOneArray) {
  for (const Kind kind : {Kind::cuda, Kind::emulated, Kind::guarded}) {
    for (std::uint64_t run = 0; run < 6; ++run) {
      InBlocks p(kind);
      Memory& d = p.written_by_host(24 * block, 1);
      Memory& h = p.host_of(d);
      Memory& copy = p.on_device(24 * block);
      std::atomic<bool> failed{false};
      const auto tiles = [&](int t, std::uint64_t first, std::uint64_t last) {  // each thread has tiles of its own
        try {
          std::uint64_t seed = 1;
          for (int round = 0; round < 6; ++round) {
            for (std::uint64_t at = first; at < last; at += block) {
              for (int tries = 0; tries < 1000; ++tries) {
                try {
                  if (round % 3 == 2) {
                    p.engine().copies.copy(copy.address + at, d.address + at, block);
                    p.launch_parts(&streams[t], {{&copy, Region(at, at + block), Access::read_write}}, 77);
                  }
                  p.launch_parts(&streams[t], {{&d, Region(at, at + block), Access::read_write}}, seed + 1);
                  break;
                } catch (const OutOfMemory&) {
                  std::this_thread::sleep_for(std::chrono::microseconds(200));
                }
              }
            }
            ++seed;
            if (round % 2 == 1) {
              for (std::uint64_t at = first; at < last; at += 2 * block) p.expect_host(h, {at, at + block}, seed);
              for (std::uint64_t at = first; at < last; at += 2 * block) p.host_write(h, {at + 10, at + 100}, seed);
            }
          }
          p.expect_host(h, {first, last}, seed);
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
          failed = true;
        }
      };
      std::thread other(tiles, 1, 12 * block, 24 * block);
      tiles(0, 0, 12 * block);
      other.join();
      if (failed) return;
    }
  }
}

/// More announced tiles than the announcement can list.
TEST(BlocksUnderAttack, ManyAnnouncedTiles) {
  Machine::Options o = InBlocks::options(Kind::cuda);
  o.engine.device_memory_bytes = 48 * block;
  InBlocks p(o);
  Memory& d = p.written_by_host(100 * block, 1);
  for (std::uint64_t i = 0; i < 40; ++i) p.engine().access(d, ByteRange{2 * i * block, (2 * i + 1) * block}, Access::read);
  EXPECT_NO_THROW(raw_kernel(p, d, {0, block}, 0));
}

}  // namespace
}  // namespace semcache::fakes
