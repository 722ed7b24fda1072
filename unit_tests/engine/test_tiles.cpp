// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

/// Tiles: memory on devices for parts of arrays that stays from one library call to the next.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Operand;
using engine::Requirement;

constexpr std::uint64_t lead = 2048;  ///< the leading dimension of the arrays, matrices of bytes with 32 columns
char streams[2];

struct Tiled : Program {
  static Options two_devices() {
    Options o = defaults();
    o.devices = 2;
    return o;
  }
  explicit Tiled(const Options& given = two_devices()) : Program(given), d(on_device(32 * lead)), h(on_host(32 * lead, &d)) { host_write(h, h.all(), 1); }
  ~Tiled() { engine().audit(); }

  Memory& tile(const Region& where, std::uint32_t device = 1) {
    Memory& m = engine().tiles.acquire(device, d, where);
    engine().tiles.release(m);
    return m;
  }
  static std::uint64_t position(const Memory& m, std::uint64_t i) {
    return m.layout.is_range() ? m.layout.begin + i : m.layout.begin + i / m.layout.width * m.layout.pitch + i % m.layout.width;
  }
  /// Launches a kernel that uses a rectangle of a tile. It expects write `seen` there, if it reads, and writes mix(written, position).
  void use(Memory& m, const Region& where, Access mode, std::uint64_t seen, std::uint64_t written = 0) {
    const Operand operand{&m, writes(mode)};
    Requirement part{&m, where, mode};
    const std::uint32_t on = m.space.value - 1;
    const engine::QueueIndex q = queue(&streams[on], on);
    const bool in_part = engine().launches.begin_launch(q, &operand, 1, {&part, 1});
    const Region there = memory::in_memory(m, where);
    std::vector<FakeDevice::Touch> touches;
    for (std::uint64_t c = 0; c < there.columns; ++c) touches.push_back({m.address + there.column(c).begin, there.width, writes(mode)});
    device().launch(Stream{&streams[on], on}, touches, [&m, there, mode, seen, written] {
      for (std::uint64_t c = 0; c < there.columns; ++c) {
        for (std::uint64_t i = there.column(c).begin; i < there.column(c).end; ++i) {
          if (needs_content(mode)) {
            EXPECT_EQ(m.address[i], mix(seen, position(m, i))) << i;
          }
          if (writes(mode)) m.address[i] = mix(written, position(m, i));
        }
      }
    });
    engine().launches.end_launch(q, &operand, 1, all_devices, {&part, in_part ? 1u : 0u});
    Program::device(on).synchronize_device();
    engine().audit();
  }
  void expect_all(const std::vector<std::pair<Region, std::uint64_t>>& written) {
    std::vector<std::byte> seen(h.bytes);
    host_read(h, h.all(), seen.data());
    for (std::uint64_t i = 0; i < seen.size(); ++i) {
      std::uint64_t seed = 1;
      for (const auto& [where, by] : written) seed = overlap(where, Region(i, i + 1)) ? by : seed;
      ASSERT_EQ(seen[i], mix(seed, i)) << i;
    }
  }
  Memory& d;
  Memory& h;
};

const Region upper(0, lead / 2, 32, lead);

TEST(Tiles, AreFoundByTheRectanglesInThem) {
  Tiled p;
  Memory& rows = p.tile(upper);
  Memory& columns = p.tile(ByteRange{8 * lead, 16 * lead});
  EXPECT_EQ(&p.tile(upper), &rows);
  EXPECT_EQ(&p.tile(Region(4 * lead + 5, 7, 3, lead)), &rows);             // rows of it
  EXPECT_EQ(&p.tile(Region(4 * lead + 5, 7, 3, 2 * lead)), &rows);
  EXPECT_EQ(&p.tile(ByteRange{9 * lead, 10 * lead}), &columns);            // columns
  EXPECT_EQ(&p.tile(Region(8 * lead + lead - 9, 9, 8, lead)), &columns);   // the last rows of these columns
  EXPECT_NE(&p.tile(upper, 0), &rows);                                     // another device
  EXPECT_NE(&p.tile(Region(4 * lead + lead / 2 - 3, 7, 3, lead)), &rows);  // it leaves the rows
  EXPECT_NE(&p.tile(Region(5, 7, 3, lead / 2)), &rows);                    // another pitch
  EXPECT_NE(&p.tile(ByteRange{7 * lead, 9 * lead}), &columns);             // it begins in front of it
  EXPECT_NE(&p.tile(ByteRange{15 * lead, 17 * lead}), &columns);           // it ends behind it
  EXPECT_EQ(p.engine().state().directory.slots(p.d.datum).size(), 2u + 7u);
}

TEST(Tiles, AreFoundWhereElementsBeginAtAWholeNumberOfThem) {
  Tiled p;
  const auto of_eight = [&](const Region& where) {
    Memory& m = p.engine().tiles.acquire(1, p.d, where, 8);
    p.engine().tiles.release(m);
    return &m;
  };
  Memory& columns = p.tile(ByteRange{8 * lead, 16 * lead});
  EXPECT_EQ(of_eight(ByteRange{8 * lead + 16, 8 * lead + 32}), &columns);
  EXPECT_NE(of_eight(ByteRange{8 * lead + 12, 8 * lead + 28}), &columns);
  Memory& narrow = p.tile(Region(28 * lead, 12, 4, lead));
  EXPECT_NE(of_eight(Region(28 * lead, 8, 4, lead)), &narrow);
  Memory& rows = p.tile(Region(0, 32, 8, lead));
  EXPECT_EQ(of_eight(Region(4 * lead + 8, 8, 3, lead)), &rows);
  EXPECT_NE(of_eight(Region(4 * lead + 4, 8, 3, lead)), &rows);
}

TEST(Tiles, GetAndGiveTheBytesThatAreUsed) {
  for (const Region& of : {upper, Region(ByteRange{8 * lead, 16 * lead})}) {
    SCOPED_TRACE(of.columns);
    Tiled p;
    Memory& m = p.tile(of);
    const Region some(8 * lead + 16, 32, 4, lead), other(13 * lead, lead / 4, 2, lead);
    const Counters before = p.counters();
    p.use(m, some, Access::read, 1);
    EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, some.size());
    p.use(m, some, Access::read_write, 1, 2);
    EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, some.size());
    p.use(m, other, Access::overwrite, 0, 3);
    EXPECT_EQ(p.counters().h2d.bytes - before.h2d.bytes, some.size());
    p.expect_all({{some, 2}, {other, 3}});
  }
}

TEST(Tiles, OfWhichBytesAreNoRectangleCountAsAWhole) {
  Tiled p;
  Memory& m = p.tile(upper);
  EXPECT_EQ(memory::positions_at(m, ByteRange{lead / 4, lead}), upper);  // from the middle of a column to the end of the next one
  EXPECT_EQ(memory::positions_at(m, ByteRange{lead / 2, lead}), Region(lead, lead / 2, 1, 0));
  EXPECT_EQ(memory::positions_at(m, ByteRange{lead / 2 + 1, lead / 2 + 4}), Region(lead + 1, lead + 4));
  EXPECT_EQ(memory::positions_at(m, ByteRange{0, lead}), Region(0, lead / 2, 2, lead));
  EXPECT_EQ(memory::positions_at(m, Region(3, 5, 4, lead / 2)), Region(3, 5, 4, lead));
  EXPECT_EQ(memory::positions_at(m, Region(3, 5, 4, lead)), Region(3, 5, 4, 2 * lead));
  EXPECT_EQ(memory::positions_at(m, Region(3, 5, 4, lead / 2 + 1)), upper);
  EXPECT_EQ(memory::positions_at(m, Region(lead / 2 - 2, 5, 4, lead / 2)), upper);
  Memory& range = p.tile(ByteRange{8 * lead, 16 * lead});
  EXPECT_EQ(memory::positions_at(range, Region(3, 5, 4, 77)), Region(8 * lead + 3, 5, 4, 77));
  EXPECT_EQ(memory::in_memory(range, Region(8 * lead + 3, 5, 4, 77)), Region(3, 5, 4, 77));
  EXPECT_EQ(memory::in_memory(m, Region(lead + 3, 5, 4, lead)), Region(lead / 2 + 3, 5, 4, lead / 2));
  EXPECT_EQ(memory::in_memory(m, Region(3, 5, 4, lead + 100)), Region(0, m.bytes));  // at several distances
  EXPECT_EQ(memory::in_memory(p.d, upper), upper);
  EXPECT_EQ(memory::positions_at(p.d, upper), upper);
}

TEST(Tiles, AreFreedWithTheirArray) {
  Tiled p;
  Memory& m = p.tile(upper);
  p.use(m, upper, Access::read_write, 1, 2);
  const std::uint64_t live = p.engine().lifetimes.live_device_bytes();
  // One side leaves: the other one still has them.
  p.engine().tiles.leave(p.h);
  p.free(p.h);
  EXPECT_TRUE(m.live && !m.snapshot());
  EXPECT_EQ(p.engine().lifetimes.live_device_bytes(), live);
  p.engine().tiles.leave(p.d);
  EXPECT_EQ(p.engine().lifetimes.live_device_bytes(), live - m.bytes);
  p.free(p.d);
  p.engine().audit();
  EXPECT_EQ(p.engine().lifetimes.live_device_bytes(), 0u);
  EXPECT_FALSE(p.engine().is_used());
  EXPECT_FALSE(m.live);
}

TEST(Tiles, ThatAreInUseGoWhenTheirUseEnds) {
  Tiled p;
  Memory& m = p.engine().tiles.acquire(1, p.d, upper);
  Memory& same = p.engine().tiles.acquire(1, p.d, upper);
  EXPECT_EQ(&m, &same);
  p.use(m, upper, Access::read, 1);
  for (Memory* side : {&p.h, &p.d}) {
    p.engine().tiles.leave(*side);
    p.free(*side);
  }
  p.engine().tiles.release(m);
  EXPECT_TRUE(m.live) << "the other call uses it";
  p.engine().tiles.release(same);
  EXPECT_FALSE(m.live);
  EXPECT_FALSE(p.engine().is_used());
}

TEST(Tiles, OfOneCallAreInUseTogetherOrNotAtAll) {
  Program::Options o = Tiled::two_devices();
  o.engine.device_memory_bytes = 4u << 20;
  Tiled p(o);
  Memory& there = p.tile(upper);
  const Region below(lead / 2, lead / 2, 32, lead);
  using Wanted = engine::Tiles::Wanted;
  Wanted wanted[] = {{&p.d, upper, 1, nullptr}, {&p.d, below, 1, nullptr}, {&p.d, upper, 1, nullptr}};
  p.engine().tiles.acquire(1, wanted, 3);
  EXPECT_EQ(&there, wanted[0].tile);
  EXPECT_EQ(&there, wanted[2].tile);
  EXPECT_NE(&there, wanted[1].tile);
  EXPECT_EQ(2u, there.tile_users);
  for (const Wanted& w : wanted) p.engine().tiles.release(*w.tile);
  // The second one does not fit the device, so the first one is given up again.
  const std::uint64_t live = p.engine().lifetimes.live_device_bytes();
  Memory& large = p.on_host(8u << 20);
  Wanted too_large[] = {{&p.d, upper, 1, nullptr}, {&large, large.all(), 1, nullptr}};
  EXPECT_THROW(p.engine().tiles.acquire(1, too_large, 2), OutOfMemory);
  EXPECT_EQ(0u, there.tile_users);
  EXPECT_EQ(live, p.engine().lifetimes.live_device_bytes());
}

TEST(Tiles, ThatNobodyUsesAreFewAndNothingIsLost) {
  Tiled p;
  constexpr std::size_t most = engine::Tiles::most_idle;
  const auto nth = [](std::size_t i) { return Region(i * 16, i * 16 + 16); };
  const Region of_kept(16 * lead, 32 * lead);
  Memory& kept = p.engine().tiles.acquire(1, p.d, of_kept);  // in use all the time
  Memory& first = p.tile(nth(0));
  p.use(first, first.layout, Access::overwrite, 0, 2);
  Memory& second = p.tile(nth(1));
  for (std::size_t i = 2; i < most; ++i) (void)p.tile(nth(i));
  EXPECT_EQ(&p.tile(nth(0)), &first);  // used again, so that the second one is the oldest
  (void)p.tile(nth(most));
  (void)p.tile(nth(most + 1));
  EXPECT_TRUE(first.live && !first.snapshot());
  EXPECT_TRUE(!second.live || second.snapshot() || second.layout != nth(1));
  for (std::size_t i = 0; i < 2 * most; ++i) (void)p.tile(nth(most + 2 + i));
  EXPECT_TRUE(!first.live || first.snapshot() || first.layout != nth(0));
  EXPECT_LE(p.engine().state().directory.slots(p.d.datum).size(), 2 + 1 + most + 1);
  EXPECT_TRUE(kept.live && !kept.snapshot() && kept.layout == of_kept);
  p.engine().tiles.release(kept);
  p.expect_all({{nth(0), 2}});  // what only the first one held
}

TEST(Tiles, TellWhoHoldsWhat) {
  Tiled p;
  Memory& left = p.tile(ByteRange{0, 16 * lead}, 0);
  Memory& right = p.tile(ByteRange{16 * lead, 32 * lead}, 1);
  EXPECT_TRUE(p.engine().holders(p.d, p.d.all()).empty());
  p.use(left, left.layout, Access::overwrite, 0, 2);
  p.use(right, Region(16 * lead, 4, 16, lead), Access::read, 1);
  const auto holders = p.engine().holders(p.h, p.h.all());
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[0].device, 0u);
  EXPECT_EQ(holders[0].where, Region(0, 16 * lead));
  EXPECT_EQ(holders[1].device, 1u);
  EXPECT_EQ(holders[1].where, Region(16 * lead, 4, 16, lead));
  p.host_write(p.h, {0, 1}, 3);
  std::uint64_t held = 0;
  for (const auto& h : p.engine().holders(p.d, ByteRange{0, 16 * lead})) held += h.where.size();
  EXPECT_LT(held, 16 * lead);
}

TEST(Tiles, WorkOnAQueueIsWaitedFor) {
  Tiled p;
  Memory& m = p.tile(upper);
  bool ran = false;
  const engine::QueueIndex q = p.queue(&streams[1], 1);
  const Operand operand{&m, false};
  Requirement part{&m, upper, Access::read};
  const bool in_part = p.engine().launches.begin_launch(q, &operand, 1, {&part, 1});
  p.device().launch(Tiled::Stream{&streams[1], 1}, {}, [&] { ran = true; });
  p.engine().launches.end_launch(q, &operand, 1, all_devices, {&part, in_part ? 1u : 0u});
  EXPECT_FALSE(ran);
  p.engine().launches.wait_for(q);
  EXPECT_TRUE(ran);
}

/// Memory whose pages are protected: what a part of a tile opens is closed when that part is stale again.
TEST(Tiles, OfAGuardedDevice) {
  Program::Options o = Program::guarded();
  o.devices = 2;
  Tiled p(o);
  Memory& m = p.tile(upper);
  const Region some(0, lead / 2, 8, lead);
  p.use(m, some, Access::read_write, 1, 2);
  p.host_write(p.h, {0, 16}, 4);
  p.engine().audit();
  p.expect_all({{some, 2}, {Region(0, 16), 4}});
}

/// The array's use is enlarged to whole pages, which the tile shares. Preparing each of the two takes these bytes from the other.
TEST(Tiles, ThatShareAPageWithTheirArrayInOneLaunchWithChecksOfWrites) {
  Program::Options o = Program::guarded();
  o.devices = 2;
  o.engine.check_writes = true;
  Tiled p(o);
  Memory& tile = p.tile(ByteRange{6000, 9000});
  Memory& other = p.on_device(32 * lead);
  p.kernel_write(&streams[0], other, other.all(), 9);
  Memory& of_other = p.engine().tiles.acquire(1, other, ByteRange{100, 5000});
  p.engine().tiles.release(of_other);
  const Operand operands[] = {{&p.d, true}, {&tile, true}, {&of_other, true}};
  for (const std::uint64_t seed : {5, 6}) {
    Requirement parts[] = {{&p.d, ByteRange{100, 5000}, Access::write}, {&tile, ByteRange{6000, 9000}, Access::write},
                           {&of_other, ByteRange{100, 5000}, Access::read_write}};
    const engine::QueueIndex q = p.queue(&streams[1], 1);
    const bool in_part = p.engine().launches.begin_launch(q, operands, 3, {parts, 3});
    for (std::uint64_t i = 100; i < 5000; ++i) p.d.address[i] = Program::mix(seed, i);
    for (std::uint64_t i = 0; i < tile.bytes; ++i) tile.address[i] = Program::mix(seed, 6000 + i);
    p.engine().launches.end_launch(q, operands, 3, all_devices, {parts, in_part ? 3u : 0u});
    p.engine().audit();
    p.expect_all({{ByteRange{100, 5000}, seed}, {ByteRange{6000, 9000}, seed}});
  }
}

TEST(Tiles, ThatALaunchStillUsesLeaveWithTheirArray) {
  for (const bool on_gpu : {true, false}) {
    Program::Options o = on_gpu ? Program::defaults() : Program::emulated();
    o.devices = 2;
    Program p(o);
    Memory* const array = p.engine().lifetimes.allocate_device(0, "array", 32 * lead);
    p.kernel_write(&streams[0], *array, array->all(), 1);
    const std::uint64_t live = p.engine().lifetimes.live_device_bytes();
    Memory& tile = p.engine().tiles.acquire(1, *array, ByteRange{0, 4 * lead});
    const Operand used{&tile, false};
    const engine::QueueIndex q = p.queue(&streams[1], 1);
    p.engine().launches.begin_launch(q, &used, 1);
    p.engine().tiles.release(tile);
    p.engine().tiles.leave(*array);
    p.engine().lifetimes.deallocate(array);
    p.engine().launches.end_launch(q, &used, 1);
    p.device(1).synchronize_device();
    p.engine().audit();
    EXPECT_EQ(p.engine().lifetimes.live_device_bytes(), live - 32 * lead) << (on_gpu ? "GPU" : "emulated");
  }
}

}  // namespace
}  // namespace semcache::fakes
