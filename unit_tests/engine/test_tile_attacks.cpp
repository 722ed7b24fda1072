// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <semcache/memory/ends.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

/// Memory on devices for parts of arrays that stays between calls. The fake device carries out no work before a thread waits for it, or some of it
/// at random times, and fails a test where two operations race.
namespace semcache::fakes {
namespace {

using engine::Memory;
using engine::Requirement;

char lanes[4][4];  // by device and lane
const std::uint64_t page = page_bytes();

/// The arrays of a test with the bytes that they must have.
struct Tiled : Program {
  explicit Tiled(const Options& options) : Program(options) {}

  static Options with(unsigned devices, unsigned eagerness, std::uint64_t budget, std::uint64_t seed = 1) {
    Options o = defaults();
    o.devices = devices;
    o.device.eagerness = eagerness;
    o.device.seed = seed;
    o.engine.device_memory_bytes = budget;
    return o;
  }
  /// A kernel of a library call: it checks what it reads, and writes mix(seed, position).
  void call(std::uint32_t device, unsigned lane, const std::vector<std::pair<Memory*, Region>>& reads, Memory* written, const Region& where, Access mode,
            std::uint64_t seed, const std::vector<std::byte>& is) {
    std::vector<Memory*> tiles;
    const base::AtEnd released([&] {  // also where the launch is refused
      for (Memory* tile : tiles) engine().tiles.release(*tile);
    });
    std::vector<Requirement> parts;
    std::vector<engine::Operand> operands;
    std::vector<FakeDevice::Touch> touches;
    struct Use {
      std::byte* first;
      Region in_memory, positions;
      bool reads, writes;
    };
    std::vector<Use> uses;
    const auto use = [&](Memory& array, const Region& r, Access m) {
      Memory& tile = engine().tiles.acquire(device, array, r);
      tiles.push_back(&tile);
      parts.push_back({&tile, r, m});
      const auto known = std::find_if(operands.begin(), operands.end(), [&](const auto& o) { return o.memory == &tile; });
      if (known == operands.end()) operands.push_back({&tile, writes(m)});
      else known->writable = known->writable || writes(m);
      const Region in = memory::in_memory(tile, Region::apart(r.begin, r.width, r.columns, r.pitch));
      EXPECT_EQ(in.size(), r.size());
      for (std::uint64_t c = 0; c < in.columns; ++c) touches.push_back({tile.address + in.column(c).begin, in.width, writes(m)});
      uses.push_back({tile.address, in, r, m != Access::overwrite, writes(m)});
    };
    for (const auto& [array, r] : reads) use(*array, r, Access::read);
    use(*written, where, mode);
    void* const native = &lanes[device][lane];
    const engine::QueueIndex q = engine().adopt_lane(device, native, {});
    const bool in_part = engine().launches.begin_launch(q, operands.data(), operands.size(), {parts.data(), parts.size()});
    this->device().launch(Stream{native, device}, touches, [this, uses, seed, is] {
      const auto at = [](const Use& u, std::uint64_t i) -> std::byte& {
        // The bytes of both regions in their order.
        return u.first[u.in_memory.begin + i / u.in_memory.width * u.in_memory.pitch + i % u.in_memory.width];
      };
      const auto position = [](const Use& u, std::uint64_t i) { return u.positions.begin + i / u.positions.width * u.positions.pitch + i % u.positions.width; };
      for (const Use& u : uses) {
        for (std::uint64_t i = 0; u.reads && i < u.positions.size(); ++i) {
          if (at(u, i) == is[position(u, i)]) continue;
          fail("a kernel reads another byte than that at position " + std::to_string(position(u, i)));
          return;
        }
      }
      for (const Use& u : uses) {
        for (std::uint64_t i = 0; u.writes && i < u.positions.size(); ++i) at(u, i) = mix(seed, position(u, i));
      }
    });
    engine().launches.end_launch(q, operands.data(), operands.size(), all_devices, {parts.data(), in_part ? parts.size() : 0});
  }
  /// Frees an array as `runtime::deallocate` does.
  void leave(Memory& m) {
    engine().tiles.leave(m);
    free(m);
  }
};

void set(std::vector<std::byte>& is, const Region& r, std::uint64_t seed) {
  for (std::uint64_t c = 0; c < r.columns; ++c) {
    for (std::uint64_t i = r.column(c).begin; i < r.column(c).end; ++i) is[i] = Machine::mix(seed, i);
  }
}

// A program orders its own kernels on several streams of a device. Those of tasks are ordered by the engine: here a first call writes by columns
// on lanes 0 to 3, and a second one uses all of them on lane 0.
TEST(TileAttacks, TasksOnOneLaneComeBehindThoseOfAnEarlierCallOnOthers) {
  Tiled p(Tiled::with(1, 0, 4u << 20));
  Memory& h = p.on_host(16 * page);
  std::vector<std::byte> is(h.bytes);
  p.host_write(h, h.all(), 1);
  set(is, h.all(), 1);
  Memory& all = p.engine().tiles.acquire(0, h, h.all());
  for (unsigned lane = 0; lane < 4; ++lane) {
    const Region columns(ByteRange{lane * 4 * page, (lane + 1) * 4 * page});
    p.call(0, lane, {}, &h, columns, Access::read_write, 2 + lane, is);
    set(is, columns, 2 + lane);
  }
  p.call(0, 0, {}, &h, h.all(), Access::read_write, 9, is);
  set(is, h.all(), 9);
  EXPECT_EQ(p.host_content(h), is);
  p.engine().tiles.release(all);
  p.leave(h);
}

// A task that takes the lock lets uses of parts that are over count as uses of the whole tile. Those that are not over stay.
TEST(TileAttacks, AUseOfAPartThatIsNotOverStaysKnown) {
  for (const unsigned lane : {0u, 3u}) {  // of the last task: that of the task before, or another one
    Tiled p(Tiled::with(1, 0, 64u << 20));
    Memory& h = p.on_host(4 * page);
    std::vector<std::byte> is(h.bytes);
    p.host_write(h, h.all(), 1);
    set(is, h.all(), 1);
    Memory& all = p.engine().tiles.acquire(0, h, h.all());
    std::uint64_t write = 2;
    const auto use = [&](unsigned on, const Region& where, Access mode) {
      p.call(0, on, {}, &h, where, mode, write, is);
      if (writes(mode)) set(is, where, write++);
    };
    const Region first(ByteRange{0, page}), second(ByteRange{page, 2 * page});
    for (int i = 0; i < 2; ++i) use(0, h.all(), Access::read_write);  // nobody else has the content
    use(1, first, Access::read_write);
    p.device().synchronize_device();
    p.engine().launches.wait_for(p.engine().adopt_lane(0, &lanes[0][1], {}));  // the engine knows that it is over
    use(2, second, Access::read);                                             // this one is not
    use(0, h.all(), Access::read);                                            // it takes the lock, and need not wait for another reader
    use(lane, h.all(), Access::read_write);
    EXPECT_EQ(p.host_content(h), is);
    p.engine().tiles.release(all);
    p.leave(h);
  }
}

// A task that uses all of a tile on which all is ready takes no lock. It is ordered all the same behind what other lanes, transfers, and tasks on
// parts of the tile have done, and these behind it.
TEST(TileAttacks, TasksOnReadyTilesAreOrderedWithAllOthers) {
  const unsigned seeds = page > 16384 ? 6 : 30;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const bool roomy = seed % 4 != 0;
    const std::uint64_t three = 3 * std::max<std::uint64_t>(4 * page, 64 * 1024);  // arrays of four pages, or of a device's unit
    Tiled p(Tiled::with(1 + seed % 2, seed % 3 == 0 ? 20 : 0, roomy ? 16 * three : three, seed));
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    Memory& a = p.on_host(4 * page);
    Memory& b = p.on_host(4 * page);
    std::vector<std::byte> is_a(a.bytes), is_b(b.bytes);
    p.host_write(a, a.all(), 1);
    set(is_a, a.all(), 1);
    p.host_write(b, b.all(), 1);
    set(is_b, b.all(), 1);
    Memory& all = p.engine().tiles.acquire(0, a, a.all());
    std::uint64_t write = 2;
    for (unsigned move = 0; move < 60; ++move) {
      const unsigned lane = below(10) < 7 ? 0 : below(4);
      const unsigned device = below(10) < 8 ? 0 : below(1 + seed % 2);
      const std::uint64_t first = below(3) * page;
      const Region part(ByteRange{first, first + 2 * page});
      switch (below(10)) {
        case 0: {
          std::vector<std::byte> seen(2 * page);
          p.host_read(a, part.hull(), seen.data());
          EXPECT_TRUE(std::equal(seen.begin(), seen.end(), is_a.begin() + static_cast<std::ptrdiff_t>(first))) << "seed " << seed << ", move " << move;
          break;
        }
        case 1:
          p.host_write(a, part.hull(), write);
          set(is_a, part, write++);
          break;
        case 2:
          p.call(device, lane, {}, &a, part, Access::read_write, write, is_a);
          set(is_a, part, write++);
          break;
        case 3:
          p.call(device, lane, {{&a, a.all()}}, &a, a.all(), Access::read_write, write, is_a);
          set(is_a, a.all(), write++);
          break;
        case 4:  // it reads all of `a`, and writes `b`
          p.call(device, lane, {{&a, a.all()}}, &b, b.all(), Access::overwrite, write, is_a);
          set(is_b, b.all(), write++);
          break;
        default:
          p.call(device, lane, {}, &a, a.all(), below(2) == 0 ? Access::overwrite : Access::read_write, write, is_a);
          set(is_a, a.all(), write++);
      }
      p.engine().audit();
    }
    EXPECT_EQ(p.host_content(a), is_a) << "seed " << seed;
    EXPECT_EQ(p.host_content(b), is_b) << "seed " << seed;
    p.engine().tiles.release(all);
    p.leave(a);
    p.leave(b);
  }
}

// The same of a program's own kernel, before and after a task, on the array itself.
TEST(TileAttacks, TasksComeBehindTheProgramsKernelsAndBeforeLaterOnes) {
  Tiled p(Tiled::with(1, 0, 4u << 20));
  Memory& d = p.on_device(16 * page);
  char streams[2];
  p.kernel_write({&streams[0], 0}, d, d.all(), 1);
  p.kernel_write({&streams[0], 0}, d, d.all(), 1);  // now nothing need be done for a launch on this stream
  const auto turn = [&p](std::byte* first, std::uint64_t bytes, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
      if (first[i] != Machine::mix(from, i)) return p.fail("a kernel reads what was there before write " + std::to_string(from));
      first[i] = Machine::mix(to, i);
    }
  };
  const engine::Operand operand{&d, true};
  for (unsigned round = 0; round < 3; ++round) {
    // What `tasks::run` does with an array of its own device.
    const engine::QueueIndex q = p.engine().adopt_lane(0, &lanes[0][round % 2], {});
    p.engine().launches.begin_launch(q, &operand, 1);
    p.device().launch(Tiled::Stream{&lanes[0][round % 2], 0}, Machine::touches({operand}),
                      [&turn, first = d.address, bytes = d.bytes, round] { turn(first, bytes, 1 + 2 * round, 2 + 2 * round); });
    p.engine().launches.end_launch(q, &operand, 1);
    EXPECT_TRUE(d.ordered);
    p.launch({&streams[0], 0}, {operand},
             [&turn, first = d.address, bytes = d.bytes, round] { turn(first, bytes, 2 + 2 * round, 3 + 2 * round); });
    p.engine().audit();
  }
  // Another stream of the program, which the program has ordered.
  p.order_behind({&streams[1], 0}, {&streams[0], 0});
  p.launch({&streams[1], 0}, {operand}, [&turn, first = d.address, bytes = d.bytes] { turn(first, bytes, 7, 8); });
  p.expect_host(p.on_host(16 * page, &d), 8);
  p.launch({&streams[1], 0}, {operand}, [] {});
  EXPECT_FALSE(d.ordered);  // every stream is behind the tasks
}

// A tile for which nothing need be fetched or waited for, as far as transfers go.
TEST(TileAttacks, TasksOnAReadyTileAreOrdered) {
  Tiled p(Tiled::with(1, 0, 4u << 20));
  Memory& h = p.on_host(4 * page);
  std::vector<std::byte> is(h.bytes);
  char stream = 0;
  (void)p.queue(&stream, 0);
  p.host_write(h, h.all(), 1);
  set(is, h.all(), 1);
  for (std::uint64_t seed = 2; seed < 10; ++seed) {
    p.call(0, seed % 3, {}, &h, h.all(), Access::read_write, seed, is);
    set(is, h.all(), seed);
    if (seed == 4) {
      p.device().synchronize_device();
      p.engine().launches.wait_for(p.engine().adopt_lane(0, &lanes[0][seed % 3], {}));
    }
  }
  EXPECT_EQ(p.host_content(h), is);
  p.leave(h);
}

// A kernel of another thread that has been prepared and is not submitted yet: the task waits for its submission, and is ordered behind it.
TEST(TileAttacks, ATaskWaitsForALaunchThatIsAboutToBeSubmitted) {
  Tiled p(Tiled::with(1, 0, 4u << 20));
  Memory& d = p.on_device(4096);
  char stream = 0;
  p.kernel_write({&stream, 0}, d, d.all(), 1);
  const engine::Operand operand{&d, true};
  const engine::QueueIndex own = p.queue(&stream, 0), lane = p.engine().adopt_lane(0, &lanes[0][0], {});
  p.engine().launches.begin_launch(own, &operand, 1);
  std::atomic<bool> begun{false};
  std::thread other([&] {
    p.engine().launches.begin_launch(lane, &operand, 1);
    begun = true;
    p.engine().launches.end_launch(lane, &operand, 1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(begun);
  p.engine().launches.end_launch(own, &operand, 1);
  other.join();
  EXPECT_TRUE(begun);
}

void attack(unsigned devices, unsigned eagerness, std::uint64_t budget, unsigned seed, int moves) {
  Tiled p(Tiled::with(devices, eagerness, budget, seed));
  std::mt19937_64 engine(seed);
  const auto pick = [&](std::uint64_t n) { return engine() % n; };
  std::uint64_t number = 10;
  struct Entry {
    Memory* memory;
    Memory* other_side;
    std::vector<std::byte> is;
  };
  constexpr std::uint64_t size = 24 * 1024;
  std::vector<Entry> arrays;
  const auto fresh = [&] {
    Entry a{nullptr, nullptr, std::vector<std::byte>(size)};
    const std::uint64_t kind = pick(3);
    if (kind == 0) {
      a.memory = &p.on_host(size);
      p.host_write(*a.memory, a.memory->all(), ++number);
    } else {
      Memory& d = p.on_device(size, static_cast<std::uint32_t>(pick(devices)));
      a.memory = &d;
      if (kind == 1) {
        a.other_side = &p.on_host(size, &d);
        p.host_write(*a.other_side, d.all(), ++number);
        std::swap(a.memory, a.other_side);
      } else {
        directory::Fill f;
        f.pattern[0] = static_cast<std::uint8_t>(++number);
        f.pattern_bytes = 1;
        p.engine().copies.fill(d, 0, size, f);
        std::fill(a.is.begin(), a.is.end(), static_cast<std::byte>(number));
        arrays.push_back(a);
        return;
      }
    }
    set(a.is, ByteRange{0, size}, number);
    arrays.push_back(a);
  };
  fresh();
  fresh();
  const auto region = [&]() -> Region {
    if (pick(3) == 0) {
      const std::uint64_t n = 1 + pick(pick(4) == 0 ? size : 3000);
      return ByteRange{pick(size - n + 1), 0}.begin == 0 ? Region(ByteRange{0, n}) : [&] {
        const std::uint64_t b = pick(size - n + 1);
        return Region(ByteRange{b, b + n});
      }();
    }
    const std::uint64_t pitches[] = {96, 128, 480, 512, 1000, 4096};
    const std::uint64_t pitch = pitches[pick(6)], width = 8 * (1 + pick(pitch / 8)), columns = 1 + pick(std::min<std::uint64_t>(100, (size - width) / pitch));
    return {pick(size - ((columns - 1) * pitch + width) + 1) / 8 * 8, width, columns, pitch};
  };
  for (int move = 0; move < moves && !::testing::Test::HasFailure(); ++move) {
    SCOPED_TRACE("move " + std::to_string(move));
    const std::size_t k = pick(arrays.size());
    Entry& a = arrays[k];
    switch (pick(10)) {
      case 0:
        if (a.memory->on_host()) {
          const std::uint64_t b = pick(size), e = b + 1 + pick(std::min<std::uint64_t>(size - b, 5000));
          p.host_write(*a.memory, {b, e}, ++number);
          set(a.is, ByteRange{b, e}, number);
        }
        break;
      case 1:
        if (a.memory->on_host()) {
          EXPECT_EQ(p.host_content(*a.memory), a.is);
        }
        break;
      case 2:
        if (arrays.size() < 4) fresh();
        break;
      case 3:
        if (arrays.size() > 2) {
          Entry leaving = a;
          arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(k));
          if (pick(2) == 0) std::swap(leaving.memory, leaving.other_side);
          if (leaving.memory != nullptr) p.leave(*leaving.memory);
          if (leaving.other_side != nullptr) p.leave(*leaving.other_side);
        }
        break;
      case 4: {
        const std::size_t o = pick(arrays.size());
        if (o == k) break;
        p.engine().copies.copy(arrays[o].memory->address, a.memory->address, size);
        arrays[o].is = a.is;
        break;
      }
      case 5: {  // a side leaves
        if (a.other_side == nullptr) break;
        Memory* leaving = a.other_side;
        if (pick(2) == 0) std::swap(leaving, a.memory);
        a.other_side = nullptr;
        p.leave(*leaving);
        break;
      }
      default: {
        const std::size_t from = pick(arrays.size());
        const Region w = region();
        std::vector<std::pair<Memory*, Region>> reads;
        // What is read of the same array must lie apart.
        if (from != k) reads.push_back({arrays[from].memory, region()});
        const auto device = static_cast<std::uint32_t>(pick(devices));
        // The kernel compares what it reads with one array's content, so reads of another array are left to `AccessMode::read`.
        const Access mode = pick(2) == 0 ? Access::overwrite : Access::read_write;
        try {
          if (reads.empty() || pick(2) == 0) {
            p.call(device, 0, {}, a.memory, w, mode, ++number, a.is);
          } else {
            const std::uint64_t half = size / 2;
            const Region r(ByteRange{0, 1 + pick(half - 1)});
            const std::uint64_t b = half + pick(half - 200);
            const Region own(ByteRange{b, b + 1 + pick(199)});
            p.call(device, 0, {{a.memory, r}}, a.memory, own, mode, ++number, a.is);
            set(a.is, own, number);
            break;
          }
        } catch (const OutOfMemory&) {
          break;
        }
        set(a.is, w, number);
        break;
      }
    }
    if (move % 50 == 49) p.engine().audit();
  }
  for (Entry& a : arrays) {
    if (a.memory->on_host()) {
      EXPECT_EQ(p.host_content(*a.memory), a.is);
    }
    p.leave(*a.memory);
    if (a.other_side != nullptr) p.leave(*a.other_side);
  }
  p.engine().host_access.settle_all();
  p.device().synchronize_device();
  for (unsigned d = 1; d < devices; ++d) p.device(d).synchronize_device();
  p.engine().host_access.settle_all();
  Statistics s;
  p.engine().add_to(s);
  EXPECT_EQ(s.live_device_bytes, 0u);
  EXPECT_EQ(s.live_host_bytes, 0u);
  EXPECT_EQ(s.snapshot_bytes, 0u);
  EXPECT_EQ(s.mapped_device_bytes, 0u);
}

TEST(TileAttacks, OfRandomShapesHoldTheContentOfTheirArrays) {
  const char* const text = std::getenv("SEMCACHE_TILES_SEEDS");
  const char* const first = std::getenv("SEMCACHE_TILES_SEED");
  const unsigned begin = first != nullptr ? static_cast<unsigned>(std::atoi(first)) : 0, count = text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 2;
  for (unsigned seed = begin; seed < begin + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    attack(1 + seed % 3, seed % 4 == 0 ? 0 : 20, seed % 5 == 0 ? 160 * 1024 : 4u << 20, seed, 200);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace semcache::fakes
