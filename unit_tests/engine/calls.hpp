// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "program.hpp"

#include <fakes/failing_memory.hpp>
#include <fakes/lent_block.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

/// Every call of the engine on arrays in many states, for tests that inject an event in the middle of each call.
namespace semcache::fakes {

using engine::Memory;
using engine::Operand;
using engine::TransitBuffer;
using Bytes = std::vector<std::byte>;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t size = 8 * page;
inline char streams[4];
inline void* const stream = &streams[0];

struct Array {
  Memory* memory = nullptr;
  Bytes content;
};

inline directory::Fill pattern(std::uint8_t byte) {
  directory::Fill fill;
  fill.pattern[0] = byte;
  fill.pattern_bytes = 1;
  return fill;
}

/// What a `World` has besides its arrays.
enum class With : std::uint8_t {
  arrays,   ///< nothing
  adopted,  ///< memory of the program's own, `lent`, which is adopted
  tiles,    ///< and a tile of each array that is no side of two, which has the newest content of its bytes
};

/// Arrays that share values whole and in pieces, sides of one array, and a saved copy, with the content that each of them must
/// have. Of several devices the second one has some of the arrays, and all launches are on the first one.
class World {
 public:
  explicit World(const Machine::Options& options, With with = With::arrays)
      : machine_(options, [](const std::string& text) { ADD_FAILURE() << text; }), devices_(options.devices) {
    for (Array* a : {&d1, &d3}) *a = on_device();
    d2 = on_device(devices_ - 1);
    for (Array* a : {&h1, &h2, &h3, &hs}) *a = on_host(nullptr);
    pair_d = on_device();
    pair_h = on_host(pair_d.memory);
    announced_d = on_device(devices_ - 1);
    announced_h = on_host(announced_d.memory, true);
    kernel(d1, d1.memory->all(), 1);
    kernel(d2, d2.memory->all(), 2);
    kernel(d3, d3.memory->all(), 3);
    kernel(pair_d, pair_d.memory->all(), 4);
    announce(5);
    host_write(h3, h3.memory->all(), 6);
    copy(h1, d1);
    fill(h2, h2.memory->all(), 9);
    for (std::uint64_t at = 0; at + 2 * page <= size; at += 2 * page) copy(h2, at, d2, at + page, page);
    Array saved = on_device();
    kernel(saved, saved.memory->all(), 7);
    copy(hs, saved);
    free(saved);
    pair_h.content = pair_d.content;
    if (with == With::arrays) return;
    block = std::make_unique<LentBlock>(machine_, edge + size + edge, edge);
    lent = {block->body(), Bytes(size)};
    host_write(lent, lent.memory->all(), 8);
    std::uint64_t seed = 10;
    for (Array* a : {&d1, &d2, &d3, &h1, &h2, &h3, &hs, &lent}) {
      if (with == With::tiles) use_tile(*a, Region(page + 40, 700, 6, 1000), Access::read_write, seed++);
    }
  }
  ~World() {
    for (Array* a : all()) free(*a);
    if (ended) e().adoption.end();
    block.reset();
    for (Array& a : more) free(a);
    e().host_access.settle_all();  // checks whether the device is done with saved copies
    machine_.device().synchronize_device();
    e().host_access.settle_all();  // frees saved copies that no array wants any more
    e().audit();
    Statistics s;
    e().add_to(s);
    EXPECT_EQ(s.live_device_bytes, 0u);
    EXPECT_EQ(s.live_host_bytes, 0u);
    EXPECT_EQ(s.snapshot_bytes, 0u);
    EXPECT_EQ(s.mapped_device_bytes, 0u);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Captures as many device arrays as fit for kernels outside semcache::Exec, which are submitted at unknown times.
  void use_natively() {
    try {
      for (Array* a : {&d1, &d2, &d3, &pair_d, &announced_d}) e().foreign_uses.native_capture(*a->memory, timeline::Mode::reads);
    } catch (const OutOfMemory&) {
    }
  }
  static constexpr std::size_t count = 12;   ///< the size of `all`
  static constexpr std::uint64_t edge = 60;  ///< bytes of the adopted memory in front of and behind its whole pages, which are `lent`
  /// Makes the k-th allocation of the attempts from now on fail.
  void arm(long k) { k_ = k; }
  void disarm() { k_ = -1; }
  [[nodiscard]] bool fired() const { return k_ < 0; }
  /// Makes a call in which allocations may fail. Returns true if it succeeded.
  template <class Call>
  bool attempt(const Call& call) {
    bool worked = true;
    {
      const FailingMemory failing(k_);
      try {
        call();
      } catch (const std::bad_alloc&) {
        worked = false;
      } catch (const Error&) {
        worked = false;
      }
      k_ = FailingMemory::left();
    }
    return worked;
  }

  engine::Engine& e() { return machine_.engine(); }
  Machine& machine() { return machine_; }
  Array on_device(std::uint32_t device = 0) { return {e().lifetimes.allocate_device(device, "device array", size), Bytes(size)}; }
  Array on_host(Memory* partner, bool announced = false) {
    return {e().lifetimes.allocate_host("host array", size, partner, announced ? base::Accesses::announced : base::Accesses::watched), Bytes(size)};
  }
  void free(Array& a) {
    if (a.memory == nullptr) return;
    e().derivations.leave(*a.memory);
    e().tiles.leave(*a.memory);
    if (&a != &lent) return e().lifetimes.deallocate(std::exchange(a.memory, nullptr));
    block->release();
    lent.memory = nullptr;
    const auto expected = lent.content.begin();
    EXPECT_TRUE(std::equal(expected, lent.content.end(), block->address() + edge)) << "what the program has after the release";
  }
  /// Work of a library call on a tile of the array: on the last device, on a lane. It writes all of the tile.
  void use_tile(Array& a, const Region& where, Access mode, std::uint64_t seed) {
    const std::uint32_t device = devices_ - 1;
    const FakeDevice::Stream lane{&lanes[device], device};
    Memory& tile = e().tiles.acquire(device, *a.memory, where);
    const base::AtEnd released([&] { e().tiles.release(tile); });
    const engine::QueueIndex q = e().adopt_lane(device, lane.native, {});
    const Operand operand{&tile, true};
    engine::Requirement used{&tile, where, mode};
    e().launches.begin_launch(q, &operand, 1, {&used, 1});
    std::vector<std::byte*> columns;
    std::vector<FakeDevice::Touch> touches;
    for (std::uint64_t c = 0; c < where.columns; ++c) {
      columns.push_back(tile.address + memory::in_memory(tile, where.column(c)).begin);
      touches.push_back({columns.back(), where.width, true});
    }
    machine_.device().launch(lane, touches, [columns, content = a.content, where, mode, seed] {
      for (std::uint64_t c = 0; c < where.columns; ++c) {
        const std::uint64_t at = where.column(c).begin;
        if (needs_content(mode) && std::memcmp(columns[c], content.data() + at, where.width) != 0) ADD_FAILURE() << "a tile is wrong in column " << c;
        for (std::uint64_t i = 0; i < where.width; ++i) columns[c][i] = Machine::mix(seed, at + i);
      }
    });
    e().launches.end_launch(q, &operand, 1, all_devices, {&used, 1});
    for (std::uint64_t c = 0; c < where.columns; ++c) set(a, where.column(c), seed);
  }
  static void set(Array& a, ByteRange r, std::uint64_t seed) {
    for (std::uint64_t i = r.begin; i < r.end; ++i) a.content[i] = Machine::mix(seed, i);
  }
  static void set(Array& to, std::uint64_t at, const Array& from, std::uint64_t from_at, std::uint64_t n) {
    const Bytes piece(from.content.begin() + static_cast<std::ptrdiff_t>(from_at),
                      from.content.begin() + static_cast<std::ptrdiff_t>(from_at + n));
    std::copy(piece.begin(), piece.end(), to.content.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// Launches a kernel that writes `range`; as an unknown launch it may use all arrays.
  void kernel(Array& a, ByteRange range, std::uint64_t seed, bool unknown = false) {
    const engine::QueueIndex q = machine_.queue(stream);
    std::vector<Operand> operands{{a.memory, true}};
    if (!attempt([&] {
          if (unknown) {
            e().launches.begin_unknown_launch(q, operands);
          } else {
            e().launches.begin_launch(q, operands.data(), operands.size());
          }
        }))
      return;
    submit(a, range, seed);
    (void)attempt([&] { e().launches.end_launch(q, operands.data(), operands.size()); });
  }
  /// A kernel that uses a part of the two-sided array.
  bool use_part(Memory& part, const Region& where, Access mode, std::uint64_t seed) {
    World& w = *this;
    const engine::QueueIndex q = w.machine().queue(stream);
    const Operand operand{&part, writes(mode)};
    engine::Requirement all{&part, where, mode};
    if (!w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1, {&all, 1}); })) return false;
    std::byte* const base = part.address;
    w.machine().device().launch(stream, {{base, part.bytes, writes(mode)}}, [base, where, mode, seed] {
      for (std::uint64_t i = 0; i < where.size() && writes(mode); ++i) base[i] = Machine::mix(seed, where.begin + i / where.width * where.pitch + i % where.width);
    });
    for (std::uint64_t c = 0; c < where.columns && writes(mode); ++c) World::set(w.pair_d, where.column(c), seed);
    w.pair_h.content = w.pair_d.content;
    (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
    return true;
  }
  /// Work of the host's processor on a part of the array, which writes it.
  bool use_host_part(Array& a, Memory& part, Access mode, std::uint64_t seed) {
    const engine::Requirement all{&part, part.layout, mode};
    if (!attempt([&] { e().host_uses.begin(&all, 1); })) return false;
    const Region where = part.layout;
    for (std::uint64_t i = 0; i < where.size(); ++i) {
      const std::uint64_t at = where.begin + i / where.width * where.pitch + i % where.width;
      if (needs_content(mode) && part.address[i] != a.content[at]) ADD_FAILURE() << "a part on the host is wrong at " << at;
      part.address[i] = Machine::mix(seed, at);
    }
    for (std::uint64_t c = 0; c < where.columns; ++c) set(a, where.column(c), seed);
    (void)attempt([&] { e().host_uses.end(&all, 1); });
    return true;
  }
  void submit(Array& a, ByteRange range, std::uint64_t seed) { submit(a, range, seed, {0, size}); }
  void submit(Array& a, ByteRange range, std::uint64_t seed, ByteRange used) {
    std::byte* const base = a.memory->address;
    machine_.device().launch(stream, {{base + used.begin, used.size(), true}}, [base, range, seed] {
      for (std::uint64_t i = range.begin; i < range.end; ++i) base[i] = Machine::mix(seed, i);
    });
    set(a, range, seed);
  }
  void copy(Array& to, std::uint64_t at, Array& from, std::uint64_t from_at, std::uint64_t n) {
    if (attempt([&] { e().copies.copy(to.memory->address + at, from.memory->address + from_at, n); })) set(to, at, from, from_at, n);
  }
  void copy(Array& to, Array& from) { copy(to, 0, from, 0, size); }
  void copy_columns(Array& to, std::uint64_t at, Array& from, std::uint64_t from_at, engine::Copies::Columns what) {
    if (!attempt([&] { e().copies.copy(to.memory->address + at, from.memory->address + from_at, what); })) return;
    const Array source = from;
    for (std::uint64_t c = 0; c < what.columns; ++c) set(to, at + c * what.to_pitch, source, from_at + c * what.from_pitch, what.width);
  }
  void fill(Array& a, ByteRange r, std::uint8_t byte) {
    if (!attempt([&] { e().copies.fill(*a.memory, r.begin, r.size(), pattern(byte)); })) return;
    std::fill(a.content.begin() + static_cast<std::ptrdiff_t>(r.begin), a.content.begin() + static_cast<std::ptrdiff_t>(r.end),
              std::byte{byte});
  }
  void host_write(Array& a, ByteRange r, std::uint64_t seed) {
    machine_.host_write(*a.memory, r, seed);
    set(a, r, seed);
  }
  /// Writes the announced host side.
  void announce(std::uint64_t seed) {
    e().access(*announced_h.memory, announced_h.memory->all(), Access::overwrite);
    for (std::uint64_t i = 0; i < size; ++i) announced_h.memory->address[i] = Machine::mix(seed, i);
    set(announced_h, announced_h.memory->all(), seed);
    announced_d.content = announced_h.content;
  }
  void expect_content(const char* when) {
    e().audit();
    for (Array* a : all()) {
      if (a->memory == nullptr) continue;
      if (a == &announced_h) e().access(*a->memory, a->memory->all(), Access::read);
      const Bytes seen = a->memory->on_host() ? machine_.host_content(*a->memory) : machine_.device_content(stream, *a->memory);
      const auto [at, want] = std::mismatch(seen.begin(), seen.end(), a->content.begin());
      if (at != seen.end()) {
        ADD_FAILURE() << when << ": array " << name(a) << " is wrong at byte " << at - seen.begin();
      }
    }
    e().audit();
  }
  /// Expects that the mirrors are valid and open after the engine's end.
  void expect_open() {
    for (Array* a : {&h1, &h2, &h3, &hs, &pair_h, &announced_h, &lent}) {
      if (a->memory == nullptr) continue;
      EXPECT_TRUE(machine_.platform().allows(a->memory->address, true)) << name(a);
      EXPECT_EQ(std::memcmp(a->memory->address, a->content.data(), size), 0) << name(a);
    }
    ended = true;
  }
  bool ended = false;
  /// Does later work of all kinds, and checks the content after it.
  void go_on() {
    if (d1.memory != nullptr) kernel(d1, {page, 3 * page}, 21);
    if (h1.memory != nullptr && d1.memory != nullptr) copy(h1, d1);
    if (d3.memory != nullptr && h3.memory != nullptr) {
      host_write(h3, {100, 2 * page}, 22);
      copy(d3, h3);
    }
    if (pair_d.memory != nullptr) {
      kernel(pair_d, {0, 2 * page}, 23);
      pair_h.content = pair_d.content;
    }
    if (announced_h.memory != nullptr && announced_d.memory != nullptr) {
      announce(24);
      kernel(announced_d, {page, 2 * page}, 25);
      announced_h.content = announced_d.content;
    }
    expect_content("later");
  }
  void whole_array_written_by_host(Array& a, std::uint64_t seed) {
    for (std::uint64_t i = 0; i < size; ++i) a.memory->address[i] = Machine::mix(seed, i);
    set(a, a.memory->all(), seed);
  }
  std::vector<Array*> all() {
    return {&d1, &d2, &d3, &h1, &h2, &h3, &hs, &pair_d, &pair_h, &announced_d, &announced_h, &lent};
  }
  std::string name(const Array* a) {
    static const char* const names[] = {"d1", "d2", "d3", "h1", "h2", "h3", "hs", "pair_d", "pair_h", "announced_d", "announced_h",
                                        "lent"};
    const std::vector<Array*> every = all();
    return names[std::find(every.begin(), every.end(), a) - every.begin()];
  }

 private:
  Machine machine_;
  const std::uint32_t devices_;
  long k_ = -1;
  char lanes[2]{};

 public:
  Array d1, d2, d3;      ///< h1 wants the content of d1, h2 pieces of the content of d2
  Array h1, h2, h3, hs;  ///< hs wants the content of an array that has been freed
  Array pair_d, pair_h;
  Array announced_d, announced_h;  ///< the host side is announced
  Array lent;                      ///< the body of `block`
  std::unique_ptr<LentBlock> block;
  std::vector<Array> more;
};

struct Scenario {
  const char* name;
  const char* uses;  ///< the arrays that it names
  std::function<void(World&)> call;
};

inline void message(World& w, Array& a, bool on_device, bool in, std::size_t count = 2) {
  std::vector<ByteRange> pieces{{0, 700}, {2 * page, 3 * page + 5}};
  pieces.resize(count);
  const std::uint64_t n = 4 * page;
  TransitBuffer* buffer = nullptr;
  if (!w.attempt([&] { buffer = w.e().buffers.take(n, on_device ? base::Side::device : base::Side::host); })) return;
  const std::uint64_t position = 100;
  if (in) {
    std::memset(buffer->address, 77, n);
    if (w.attempt([&] { w.e().foreign_io.write_in(*a.memory, position, pieces.data(), pieces.size(), *buffer, buffer->address); })) {
      for (const ByteRange p : pieces) {
        for (std::uint64_t i = p.begin; i < p.end; ++i) a.content[position + i] = std::byte{77};
      }
    }
  } else if (w.attempt([&] {
               w.e().foreign_io.read_out(*a.memory, position, pieces.data(), pieces.size(), *buffer, buffer->address);
               w.e().foreign_io.settle_buffer(*buffer);
             })) {
    for (const ByteRange p : pieces) {
      for (std::uint64_t i = p.begin; i < p.end; ++i) {
        if (buffer->address[i] == a.content[position + i]) continue;
        ADD_FAILURE() << "the message is wrong at " << i;
        return;
      }
    }
  }
  (void)w.attempt([&] { w.e().buffers.give(buffer); });
}

inline void persistent(World& w, Array& a) {
  const ByteRange range{page, 2 * page};
  const ByteRange whole{0, page};
  TransitBuffer* buffers[2] = {};
  for (int i = 0; i < 2; ++i) {
    (void)w.attempt([&] {
      buffers[i] = w.e().buffers.take_beside(*a.memory, {range.begin + i * page, range.end + i * page});
    });
  }
  for (int round = 0; round < 3 && buffers[0] != nullptr; ++round) {
    w.kernel(a, a.memory->all(), 40 + static_cast<std::uint64_t>(round));
    const bool worked = w.attempt([&] {
      w.e().foreign_io.read_out(*a.memory, range.begin, &whole, 1, *buffers[0], buffers[0]->address);
      w.e().foreign_io.settle_buffer(*buffers[0]);
    });
    if (worked) {
      EXPECT_EQ(buffers[0]->address[5], a.content[range.begin + 5]);
    }
    (void)w.attempt([&] { w.e().foreign_io.expect_read_out(*a.memory, range.begin, &whole, 1, *buffers[0], buffers[0]->address); });
  }
  if (buffers[0] != nullptr && buffers[1] != nullptr) {
    (void)w.attempt([&] { w.e().foreign_io.settle_buffer(*buffers[1]); });
    w.kernel(a, a.memory->all(), 44);
    (void)w.attempt([&] {
      w.e().foreign_io.read_out(*a.memory, range.begin, &whole, 1, *buffers[0], buffers[0]->address);
      w.e().foreign_io.settle_buffer(*buffers[0]);
    });
    std::memset(buffers[0]->address, 78, page);
    std::memset(buffers[1]->address, 79, page);
    if (w.attempt([&] { EXPECT_TRUE(w.e().foreign_io.write_in_together(*a.memory, {page, 3 * page}, buffers, 2)); })) {
      std::fill(a.content.begin() + page, a.content.begin() + 2 * page, std::byte{78});
      std::fill(a.content.begin() + 2 * page, a.content.begin() + 3 * page, std::byte{79});
    }
  }
  for (TransitBuffer* b : buffers) {
    if (b != nullptr) (void)w.attempt([&] { w.e().buffers.give(b); });
  }
}

inline void foreign_call(World& w, std::vector<device::DriverUse> uses, const std::function<void()>& made) {
  std::unique_ptr<engine::ForeignCall> call;
  if (!w.attempt([&] { call = w.e().foreign_uses.begin_foreign_call(uses.data(), uses.size(), engine::ForeignCall::Kind::launch); })) return;
  made();
  if (call != nullptr) w.e().foreign_uses.end_foreign_call(std::move(call));
}

inline const std::vector<Scenario>& scenarios() {
  using Kind = device::DriverUse::Kind;
  static const std::vector<Scenario> all = {
      {"copy to a device array", "d3 h3", [](World& w) { w.copy(w.d3, w.h3); }},
      {"copy a piece of what is wanted elsewhere", "d1 h3", [](World& w) { w.copy(w.d1, page, w.h3, 3 * page, 4 * page); }},
      {"copy less than a page", "h3 d2", [](World& w) { w.copy(w.h3, 10, w.d2, 50, 300); }},
      {"copy many pieces", "h1 h2 d3", [](World& w) { w.copy(w.h1, w.h2); w.copy(w.d3, 7, w.h2, 0, size - 7); }},
      {"copy within an array", "d2 h2", [](World& w) { w.copy(w.d2, page, w.d2, 0, 5 * page); w.copy(w.h2, 0, w.h2, page, 5 * page); }},
      {"copy what is there", "h1 d1", [](World& w) { w.copy(w.h1, w.d1); }},
      {"copy columns", "d3 h3", [](World& w) { w.copy_columns(w.d3, 0, w.h3, 0, {100, 16, 1000, 1000}); }},
      {"copy columns of what is wanted elsewhere", "d1 h3", [](World& w) { w.copy_columns(w.d1, 64, w.h3, 128, {200, 20, 1024, 1024}); }},
      {"copy columns from a mirror of pieces", "d3 h2", [](World& w) { w.copy_columns(w.d3, 0, w.h2, 0, {page, 3, 2 * page, 2 * page}); }},
      {"copy narrow columns at another distance", "d2 h3", [](World& w) { w.copy_columns(w.d2, 10, w.h3, 20, {90, 30, 900, 600}); }},
      {"copy wide columns at another distance", "d3 h3", [](World& w) { w.copy_columns(w.d3, 0, w.h3, 0, {page, 2, 3 * page, 2 * page}); }},
      {"copy columns within an array", "d2", [](World& w) { w.copy_columns(w.d2, 512, w.d2, 0, {512, 10, 1024, 1024}); }},
      {"copy a matrix that is cut", "d3 h3 d2 h1",
       [](World& w) {
         w.copy_columns(w.d3, 0, w.h3, 0, {500, 30, 1000, 1000});
         w.copy(w.d2, w.d3);
         w.copy(w.h1, 100, w.d3, 0, size - 100);
       }},
      {"a launch that writes what is wanted in columns", "d2 h3",
       [](World& w) { w.copy_columns(w.h3, 0, w.d2, 0, {500, 30, 1000, 1000}); w.kernel(w.d2, {0, size}, 70); }},
      {"copy columns from ordinary memory", "d2 h1",
       [](World& w) {
         const Bytes ordinary(size, std::byte{67});
         for (Array* a : {&w.d2, &w.h1}) {
           if (!w.attempt([&] { w.e().copies.copy(a->memory->address + 64, ordinary.data(), {100, 20, 1000, 200}); })) continue;
           for (std::uint64_t c = 0; c < 20; ++c) std::fill_n(a->content.begin() + static_cast<std::ptrdiff_t>(64 + 1000 * c), 100, std::byte{67});
         }
       }},
      {"copy columns that the maps of an array cannot have", "d3 h3",
       [](World& w) {
         w.copy_columns(w.d3, 0, w.h3, 0, {100, 128, 256, 256});
         const Bytes ordinary(20 * 300, std::byte{68});
         if (!w.attempt([&] { w.e().copies.copy(w.d3.memory->address + 3, ordinary.data(), {50, 20, 300, 300}); })) return;
         for (std::uint64_t c = 0; c < 20; ++c) std::fill_n(w.d3.content.begin() + static_cast<std::ptrdiff_t>(3 + 300 * c), 50, std::byte{68});
       }},
      {"copy columns to ordinary memory", "d2 hs",
       [](World& w) {
         for (Array* a : {&w.d2, &w.hs}) {
           Bytes ordinary(20 * 100);
           if (!w.attempt([&] { w.e().copies.copy(ordinary.data(), a->memory->address + 8, {100, 20, 100, 1000}); })) continue;
           for (std::uint64_t c = 0; c < 20; ++c) EXPECT_EQ(std::memcmp(&ordinary[100 * c], &a->content[8 + 1000 * c], 100), 0);
         }
       }},
      {"announce columns", "h1 h3",
       [](World& w) {
         (void)w.attempt([&] { w.e().access(*w.h1.memory, Region(5, 100, 3, 2 * page), Access::read); });
         (void)w.attempt([&] { w.e().access(*w.h3.memory, Region(page, 300, 2, 3 * page), Access::read_write); });
       }},
      {"copy from an announced side", "announced_h d3", [](World& w) { w.announce(30); w.copy(w.d3, w.announced_h); }},
      {"copy from the array of an announced side", "announced_h d3 announced_d", [](World& w) { w.announce(31); w.copy(w.d3, w.announced_d); w.announce(32); }},
      {"copy to an announced side", "announced_h d2 announced_d", [](World& w) { w.copy(w.announced_h, w.d2); w.announced_d.content = w.announced_h.content; }},
      {"copy between sides", "pair_h pair_d announced_h announced_d", [](World& w) { w.copy(w.pair_h, w.pair_d); w.announce(33); w.copy(w.announced_d, w.announced_h); }},
      {"copy from ordinary memory", "d2 h2 h1 d1",
       [](World& w) {
         const Bytes ordinary(size, std::byte{66});
         for (Array* a : {&w.d2, &w.h2, &w.h1, &w.d1}) {
           if (!w.attempt([&] { w.e().copies.copy(a->memory->address + 64, ordinary.data(), 3 * page); })) continue;
           std::fill_n(a->content.begin() + 64, 3 * page, std::byte{66});
         }
       }},
      {"copy to ordinary memory", "d2 h2 h1 hs",
       [](World& w) {
         Bytes ordinary(size);
         for (Array* a : {&w.d2, &w.h2, &w.h1, &w.hs}) {
           if (!w.attempt([&] { w.e().copies.copy(ordinary.data(), a->memory->address, size); })) continue;
           EXPECT_EQ(ordinary, a->content);
         }
       }},
      {"fill a piece", "d2 h1", [](World& w) { w.fill(w.d2, {100, 5 * page}, 50); w.fill(w.h1, {page, 2 * page}, 51); }},
      {"fill an array", "d1 pair_h pair_d", [](World& w) { w.fill(w.d1, {0, size}, 0); w.fill(w.pair_h, {0, size}, 52); w.pair_d.content = w.pair_h.content; }},
      {"filled by a kernel", "d1",
       [](World& w) {
         const engine::QueueIndex q = w.machine().queue(stream);
         const Operand operand{w.d1.memory, true};
         if (!w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1); })) return;
         std::byte* const base = w.d1.memory->address;
         w.machine().device().launch(stream, {{base, size, true}}, [base] { std::memset(base, 53, size); });
         std::fill(w.d1.content.begin(), w.d1.content.end(), std::byte{53});
         (void)w.attempt([&] { w.e().copies.filled(*w.d1.memory, 0, size, pattern(53)); });
         (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
       }},
      {"a piece that a kernel has filled", "d1",
       [](World& w) {
         const engine::QueueIndex q = w.machine().queue(stream);
         const Operand operand{w.d1.memory, true};
         if (!w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1); })) return;
         std::byte* const base = w.d1.memory->address;
         w.machine().device().launch(stream, {{base, size, true}}, [base] { std::memset(base + page, 54, page); });
         std::fill(w.d1.content.begin() + page, w.d1.content.begin() + 2 * page, std::byte{54});
         (void)w.attempt([&] { w.e().copies.filled(*w.d1.memory, page, page, pattern(54)); });
         (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
       }},
      {"a copy that makes maps too long", "d3 h3",
       [](World& w) {
         for (std::uint64_t i = 0; i < 40; ++i) {  // these copies do not yet make them too long
           w.e().copies.copy(w.d3.memory->address + 32 * i, w.h3.memory->address + 32 * i, 8);
           World::set(w.d3, 32 * i, w.h3, 32 * i, 8);
         }
         w.copy(w.d3, 2 * page, w.h3, 2 * page, 8);
         w.copy(w.d3, 3 * page, w.h3, 3 * page, 8);
       }},
      {"a launch that changes nothing of what is in pieces", "d3 h3 h2",
       [](World& w) {
         for (std::uint64_t at : {page, 3 * page, 5 * page}) {
           w.e().copies.copy(w.d3.memory->address + at, w.h3.memory->address + at, page);
           World::set(w.d3, at, w.h3, at, page);
         }
         const engine::QueueIndex q = w.machine().queue(stream);
         const Operand operand{w.d3.memory, true};
         if (w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1); })) (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
         w.copy(w.h2, w.d3);
       }},
      {"a launch that writes what a mirror wants", "d1", [](World& w) { w.kernel(w.d1, {100, 9000}, 60); }},
      {"a launch that writes what is wanted in pieces", "d2", [](World& w) { w.kernel(w.d2, {5000, 20000}, 61); }},
      {"a launch that fetches", "d3 h2", [](World& w) { w.copy(w.d3, w.h2); w.kernel(w.d3, {0, page}, 62); }},
      {"a launch behind the host's writes", "pair_h pair_d",
       [](World& w) { w.host_write(w.pair_h, {0, 3 * page}, 63); w.pair_d.content = w.pair_h.content; w.kernel(w.pair_d, {page, size}, 64); w.pair_h.content = w.pair_d.content; }},
      {"launches on another queue", "d1",
       [](World& w) {
         engine::QueueIndex q = 0;
         if (!w.attempt([&] { q = w.e().adopt_queue(0, &streams[1], {}); })) return;
         const Operand operand{w.d1.memory, false};
         if (w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1); })) (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
         (void)w.attempt([&] { w.e().retire_queue(q); });
       }},
      {"an unknown launch", "d1 pair_h pair_d", [](World& w) { w.kernel(w.d1, {page, 2 * page}, 65, true); w.pair_h.content = w.pair_d.content; }},
      {"a launch that overwrites", "d1",
       [](World& w) {
         const engine::QueueIndex q = w.machine().queue(stream);
         const Operand operand{w.d1.memory, true};
         const ByteRange all = w.d1.memory->all();
         engine::Requirement part{w.d1.memory, all, Access::overwrite};
         if (w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1, {&part, 1}); })) {
           w.submit(w.d1, all, 66);
           (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
         } else {
           w.kernel(w.d1, all, 67);  // the refused launch may have lost the content
         }
       }},
      {"a launch that uses parts", "d1",
       [](World& w) {
         const engine::QueueIndex q = w.machine().queue(stream);
         const Operand operand{w.d1.memory, true};
         engine::Requirement parts[] = {{w.d1.memory, ByteRange{0, 2 * page}, Access::read}, {w.d1.memory, ByteRange{page, 3 * page}, Access::read_write}};
         bool in_part = false;
         if (!w.attempt([&] { in_part = w.e().launches.begin_launch(q, &operand, 1, {parts, 2}); })) return;
         w.submit(w.d1, {page, 3 * page}, 69, {page, 3 * page});
         (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1, all_devices, {parts, in_part ? 2u : 0u}); });
       }},
      {"a part", "pair_h pair_d d3", [](World& w) {
         const Region where(100, 300, 20, 1000);
         Memory* part = nullptr;
         if (!w.attempt([&] { part = w.e().lifetimes.allocate_part(0, *w.pair_d.memory, where); })) return;
         (void)w.use_part(*part, where, Access::read_write, 91);
         w.copy(w.d3, w.pair_d);
         w.host_write(w.pair_h, {0, 3000}, 92);
         w.pair_d.content = w.pair_h.content;
         (void)w.use_part(*part, where, Access::read_write, 93);
         w.kernel(w.pair_d, {4000, 9000}, 94);
         w.pair_h.content = w.pair_d.content;
         if (!w.use_part(*part, where, Access::read_write, 95)) {}
         (void)w.attempt([&] { w.e().access(*w.pair_h.memory, {10, 3 * page}, Access::read); });
         (void)w.attempt([&] { w.e().lifetimes.deallocate(part); });
       }},
      {"a tile", "pair_h pair_d d3", [](World& w) {
         const Region where(100, 300, 20, 1000);
         Memory* tile = nullptr;
         const auto acquire = [&] { return w.attempt([&] { tile = &w.e().tiles.acquire(0, *w.pair_h.memory, where); }); };
         if (!acquire()) return;
         (void)w.use_part(*tile, where, Access::read_write, 91);
         w.e().tiles.release(*tile);
         w.copy(w.d3, w.pair_d);
         w.host_write(w.pair_h, {0, 3000}, 92);
         w.pair_d.content = w.pair_h.content;
         if (!acquire()) return;
         (void)w.use_part(*tile, where, Access::read_write, 93);
         w.e().tiles.release(*tile);
         (void)w.attempt([&] { w.e().access(*w.pair_h.memory, {10, 3 * page}, Access::read); });
       }},
      {"a derived value", "d1", [](World& w) {
         engine::Derivations::Use use;
         const ByteRange all = w.d1.memory->all();
         const auto acquire = [&] {
           return w.attempt([&] { use = w.e().derivations.acquire("copied", {}, {{w.d1.memory, all, Access::read}}, w.d1.memory->bytes, 0); });
         };
         if (!acquire()) return;
         const Operand operands[] = {{w.d1.memory, false}, {use.memory, true}};
         engine::Requirement parts[] = {{w.d1.memory, all, Access::read}, {use.memory, all, Access::overwrite}};
         const engine::QueueIndex q = w.machine().queue(stream);
         bool in_part = false;
         if (!use.computed && w.attempt([&] { in_part = w.e().launches.begin_launch(q, operands, 2, {parts, 2}); })) {
           w.machine().device().launch(stream, Machine::touches({operands[0], operands[1]}),
                                       [to = use.memory->address, from = w.d1.memory->address] { std::memcpy(to, from, size); });
           (void)w.attempt([&] { w.e().launches.end_launch(q, operands, 2, all_devices, {parts, in_part ? 2u : 0u}); });
           (void)w.attempt([&] { w.e().derivations.note_computed(*use.derivation); });
         }
         w.e().derivations.release(*use.derivation);
         if (!acquire()) return;
         const Operand operand{use.memory, false};
         if (use.computed && w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1); })) {
           w.machine().device().launch(stream, Machine::touches({operand}), [from = use.memory->address, content = w.d1.content] {
             EXPECT_EQ(std::memcmp(from, content.data(), content.size()), 0) << "a derived value";
           });
           (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
         }
         w.e().derivations.release(*use.derivation);
       }},
      {"a part whose content another array wants when it is freed", "pair_h pair_d d3", [](World& w) {
         const Region where(100, 300, 20, 1000);
         Memory* part = nullptr;
         if (!w.attempt([&] { part = w.e().lifetimes.allocate_part(0, *w.pair_d.memory, where); })) return;
         (void)w.use_part(*part, where, Access::read_write, 91);
         w.copy(w.d3, w.pair_d);
         (void)w.attempt([&] { w.e().lifetimes.deallocate(part); });
       }},
      {"a part of a mirror", "h3 hs", [](World& w) {
         const Region where(100, 300, 20, 1000);
         Memory* part = nullptr;
         if (!w.attempt([&] { part = w.e().lifetimes.allocate_part(0, *w.h3.memory, where); })) return;
         const engine::QueueIndex q = w.machine().queue(stream);
         const Operand operand{part, true};
         engine::Requirement all{part, where, Access::read_write};
         if (w.attempt([&] { w.e().launches.begin_launch(q, &operand, 1, {&all, 1}); })) {
           std::byte* const base = part->address;
           w.machine().device().launch(stream, {{base, part->bytes, true}}, [base, where] {
             for (std::uint64_t i = 0; i < where.size(); ++i) base[i] = Machine::mix(97, where.begin + i / where.width * where.pitch + i % where.width);
           });
           for (std::uint64_t c = 0; c < where.columns; ++c) World::set(w.h3, where.column(c), 97);
           (void)w.attempt([&] { w.e().launches.end_launch(q, &operand, 1); });
         }
         w.copy(w.hs, w.h3);
         (void)w.attempt([&] { w.e().lifetimes.deallocate(part); });
       }},
      {"a part on the host", "pair_h pair_d d3", [](World& w) {
         const Region where(100, 300, 20, 1000);
         Memory* part = nullptr;
         if (!w.attempt([&] { part = w.e().lifetimes.allocate_host_part(*w.pair_d.memory, where); })) return;
         const auto use = [&](Access mode, std::uint64_t seed) {
           (void)w.use_host_part(w.pair_d, *part, mode, seed);
           w.pair_h.content = w.pair_d.content;
         };
         use(Access::read_write, 91);
         w.copy(w.d3, w.pair_d);
         w.host_write(w.pair_h, {0, 3000}, 92);
         w.pair_d.content = w.pair_h.content;
         use(Access::read_write, 93);
         w.kernel(w.pair_d, {4000, 9000}, 94);
         w.pair_h.content = w.pair_d.content;
         use(Access::overwrite, 95);
         (void)w.attempt([&] { w.e().access(*w.pair_h.memory, {10, 3 * page}, Access::read); });
         w.copy(w.d3, w.pair_d);
         (void)w.attempt([&] { w.e().lifetimes.deallocate(part); });
       }},
      {"two parts of a mirror on the host", "h3 hs", [](World& w) {
         Memory* parts[2] = {};
         const base::AtEnd freed([&] {
           for (Memory* part : parts) (void)w.attempt([&] { w.e().lifetimes.deallocate(part); });
         });
         if (!w.attempt([&] { parts[0] = w.e().lifetimes.allocate_host_part(*w.h3.memory, ByteRange{10, 2000}); })) return;
         if (!w.attempt([&] { parts[1] = w.e().lifetimes.allocate_host_part(*w.h3.memory, Region(2000, 300, 10, 1000)); })) return;
         const engine::Requirement uses[] = {{parts[0], parts[0]->layout, Access::read}, {parts[1], parts[1]->layout, Access::read_write}};
         if (!w.attempt([&] { w.e().host_uses.begin(uses, 2); })) return;
         for (std::uint64_t i = 0; i < parts[1]->bytes; ++i) parts[1]->address[i] = Machine::mix(96, 2000 + i / 300 * 1000 + i % 300);
         for (std::uint64_t c = 0; c < 10; ++c) World::set(w.h3, parts[1]->layout.column(c), 96);
         EXPECT_EQ(parts[0]->address[7], w.h3.content[17]);
         (void)w.attempt([&] { w.e().host_uses.end(uses, 2); });
         w.copy(w.hs, w.h3);
       }},
      {"a native capture", "d1 d2 d3",
       [](World& w) {
         for (Array* a : {&w.d1, &w.d2, &w.d3}) {
           if (!w.attempt([&] { w.e().foreign_uses.native_capture(*a->memory, timeline::mode_of(a != &w.d3)); })) continue;
           if (a != &w.d3) w.submit(*a, {0, page}, 68);
         }
       }},
      {"host accesses", "h1 h2 pair_h pair_d",
       [](World& w) {
         for (Array* a : {&w.h1, &w.h2, &w.pair_h}) {
           (void)w.attempt([&] { w.e().access(*a->memory, {10, 3 * page}, Access::read); });
           if (!w.attempt([&] { w.e().access(*a->memory, {5000, 10000}, Access::read_write); })) continue;
           w.host_write(*a, {5000, 10000}, 70);
         }
         w.pair_d.content = w.pair_h.content;
       }},
      {"prefetches", "h1 h2 pair_h announced_h pair_d announced_d",
       [](World& w) {
         w.kernel(w.pair_d, {page, size}, 76);
         w.pair_h.content = w.pair_d.content;
         for (Array* a : {&w.h1, &w.h2, &w.pair_h, &w.announced_h}) {
           (void)w.attempt([&] { w.e().host_access.prefetch(*a->memory, {100, 9000}); });
           (void)w.attempt([&] { w.e().host_access.prefetch(*a->memory, a->memory->all()); });
         }
       }},
      {"a host access that overwrites", "h1 pair_h announced_h pair_d announced_d",
       [](World& w) {
         for (Array* a : {&w.h1, &w.pair_h, &w.announced_h}) {
           if (!w.attempt([&] { w.e().access(*a->memory, a->memory->all(), Access::overwrite); })) continue;
           w.whole_array_written_by_host(*a, 71);
         }
         w.pair_d.content = w.pair_h.content;
         w.announced_d.content = w.announced_h.content;
       }},
      {"a host access that overwrites a piece", "h2",
       [](World& w) {
         if (!w.attempt([&] { w.e().access(*w.h2.memory, {100, 9000}, Access::overwrite); })) return;
         w.host_write(w.h2, {100, 9000}, 72);
       }},
      {"device accesses", "d3 d2 d1",
       [](World& w) {
         (void)w.attempt([&] { w.e().access(*w.d3.memory, w.d3.memory->all(), Access::read); });
         if (w.attempt([&] { w.e().access(*w.d2.memory, w.d2.memory->all(), Access::read_write); })) w.submit(w.d2, {0, page}, 73);
         if (w.attempt([&] { w.e().access(*w.d1.memory, w.d1.memory->all(), Access::overwrite); })) w.submit(w.d1, {0, size}, 74);
       }},
      {"allocations", "",
       [](World& w) {
         for (const bool announced : {false, true}) {
           Memory* made = nullptr;
           if (w.attempt([&] { made = w.e().lifetimes.allocate_device(0, announced ? "a" : "b", 3 * page); })) w.more.push_back({made, {}});
           Memory* side = nullptr;
           const auto accesses = announced ? base::Accesses::announced : base::Accesses::watched;
           if (made != nullptr && w.attempt([&] { side = w.e().lifetimes.allocate_host(announced ? "c" : "d", 3 * page, made, accesses); }))
             w.more.push_back({side, {}});
         }
         Memory* large = nullptr;
         if (w.attempt([&] { large = w.e().lifetimes.allocate_host("large", 5u << 20, nullptr); })) w.more.push_back({large, {}});
       }},
      {"freeing what others want", "d1 d2",
       [](World& w) { for (Array* a : {&w.d1, &w.d2}) (void)w.attempt([&] { w.free(*a); }); }},
      {"freeing mirrors", "d3 h3 hs h2", [](World& w) { w.copy(w.d3, w.h3); for (Array* a : {&w.h3, &w.hs, &w.h2}) (void)w.attempt([&] { w.free(*a); }); }},
      {"freeing the device's side", "pair_d announced_d", [](World& w) { for (Array* a : {&w.pair_d, &w.announced_d}) (void)w.attempt([&] { w.free(*a); }); }},
      {"freeing the host's side", "pair_h pair_d announced_h",
       [](World& w) {
         w.host_write(w.pair_h, {0, page}, 75);
         w.pair_d.content = w.pair_h.content;
         for (Array* a : {&w.pair_h, &w.announced_h}) (void)w.attempt([&] { w.free(*a); });
       }},
      {"settle", "d3 h2 h1", [](World& w) { w.copy(w.d3, w.h2); for (Array* a : {&w.h1, &w.d3}) (void)w.attempt([&] { w.e().copies.settle(*a->memory, a->memory->all()); }); }},
      {"settle all", "d3 h2", [](World& w) { w.copy(w.d3, w.h2); (void)w.attempt([&] { w.e().host_access.settle_all(); }); }},
      {"statistics", "", [](World& w) { (void)w.attempt([&] { Statistics s; w.e().add_to(s); (void)w.e().is_used(); }); }},
      {"messages from a device array", "d2", [](World& w) { message(w, w.d2, false, false); message(w, w.d2, true, false); }},
      {"messages from a mirror", "h1", [](World& w) { message(w, w.h1, false, false); }},
      {"messages to a device array", "d1 d2", [](World& w) { message(w, w.d1, false, true); message(w, w.d2, true, true); }},
      {"messages of one piece", "d1 h1", [](World& w) { message(w, w.d1, false, true, 1); message(w, w.h1, false, true, 1); }},
      {"messages to a mirror", "h1 hs", [](World& w) { message(w, w.h1, false, true); message(w, w.hs, false, true); }},
      {"persistent messages", "d1", [](World& w) { persistent(w, w.d1); }},
      {"a raw pointer into a mirror", "h1", [](World& w) { (void)w.attempt([&] { w.e().host_access.expose(*w.h1.memory); }); }},
      {"a kernel of somebody else's", "d1",
       [](World& w) { foreign_call(w, {{w.d1.memory->address, 0, Kind::argument, 0}}, [&] { w.submit(w.d1, {0, page}, 80); }); }},
      {"a kernel of somebody else's that uses the host", "d2 h1",
       [](World& w) {
         foreign_call(w, {{w.d2.memory->address, 0, Kind::argument, 0}, {w.h1.memory->address, size, Kind::read, 0}},
                      [&] { w.submit(w.d2, {0, page}, 81); });
       }},
      {"everything is opened at the end", "",
       [](World& w) {
         w.machine().ends();
         if (!w.attempt([&] { w.e().host_access.open_everything(); })) w.e().host_access.open_everything();
         w.expect_open();
       }},
  };
  return all;
}

/// Calls on adopted memory, for a world that has some.
inline const std::vector<Scenario>& scenarios_of_adopted_memory() {
  static const std::vector<Scenario> all = {
      {"copy from adopted memory", "lent d3", [](World& w) { w.host_write(w.lent, {page, 3 * page}, 101); w.copy(w.d3, w.lent); w.kernel(w.d3, {0, page}, 102); }},
      {"copy to adopted memory and back", "lent d1 h3", [](World& w) { w.copy(w.lent, w.d1); w.copy(w.h3, page, w.lent, 0, 4 * page); }},
      {"copy to adopted memory and an edge of it", "lent d2",
       [](World& w) {
         w.e().copies.copy(w.block->address(), w.d2.memory->address, World::edge + 3 * page);
         World::set(w.lent, 0, w.d2, World::edge, 3 * page);
         EXPECT_EQ(std::memcmp(w.block->address(), w.d2.content.data(), World::edge), 0) << "an edge is not made lazily";
       }},
      {"copy from adopted memory and an edge of it", "lent d2",
       [](World& w) {
         const std::uint64_t bytes = 2 * page + World::edge;
         std::memset(w.block->address() + World::edge + size, 55, World::edge);
         w.e().copies.copy(w.d2.memory->address + 10, w.block->address() + World::edge + size - 2 * page, bytes);
         World::set(w.d2, 10, w.lent, size - 2 * page, 2 * page);
         std::fill_n(w.d2.content.begin() + 10 + 2 * page, World::edge, std::byte{55});
       }},
      {"a tile of adopted memory", "lent hs",
       [](World& w) {
         w.use_tile(w.lent, Region(300, 400, 9, 900), Access::read_write, 103);
         w.copy(w.hs, w.lent);
         w.use_tile(w.lent, Region(300, 400, 9, 900), Access::overwrite, 104);
         w.host_write(w.lent, {0, 2 * page}, 105);
       }},
      {"a part of adopted memory on the host", "lent hs",
       [](World& w) {
         Memory* const part = w.e().lifetimes.allocate_host_part(*w.lent.memory, Region(300, 400, 9, 900));
         (void)w.use_host_part(w.lent, *part, Access::read_write, 106);
         w.copy(w.hs, w.lent);
         w.e().lifetimes.deallocate(part);
       }},
      {"a release of adopted memory that others want", "lent d3 h3", [](World& w) { w.copy(w.d3, w.lent); w.copy(w.h3, w.lent); w.free(w.lent); }},
      {"a release of adopted memory that a kernel has written", "lent d3",
       [](World& w) {
         w.kernel(w.d3, w.d3.memory->all(), 107);
         w.copy(w.lent, w.d3);
         w.free(w.lent);
         w.block->adopt_again();
         w.lent.memory = w.block->body();
       }},
  };
  return all;
}

inline Machine::Options gpu() {
  Machine::Options o = Program::defaults();
  o.device.eagerness = 10;
  o.device.arena_bytes = 32u << 20;
  o.platform.arena_bytes = 32u << 20;
  o.engine.device_memory_bytes = 32 * size;
  return o;
}

inline Machine::Options emulated() {
  Machine::Options o = gpu();
  o.device.kind = device::DeviceKind::emulated;
  o.device.asynchronous = false;
  return o;
}

inline Machine::Options guarded() {
  Machine::Options o = emulated();
  o.engine.device_faults = true;
  return o;
}

inline Machine::Options with_little_memory(Machine::Options o) {
  o.engine.device_memory_bytes = 5 * size;  // three arrays, or two and a saved copy
  return o;
}

/// A second device, which has some of the arrays.
inline Machine::Options on_two_devices(Machine::Options o) {
  o.devices = 2;
  o.device.arena_bytes *= 2;
  return o;
}

/// Device memory comes and goes by halves of arrays, and holds three arrays.
inline Machine::Options in_blocks(Machine::Options o) {
  o.device.granularity_bytes = o.device.block_bytes = size / 2;
  o.engine.device_memory_bytes = 4 * size + size / 2;  // an array begins within a granule
  return o;
}

}  // namespace semcache::fakes
