// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "meanwhile.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

/// Another thread writes, copies and evicts arrays, and uses parts of them, while a call has given up the lock: at every wait of every call. What
/// the call has planned before is void then. All arrays have the content in the end that either thread has given them.
namespace semcache::fakes {
namespace {

enum class Move { write, copy_in, copy_out, evict, use_tile, use_on_host };
constexpr Move moves[] = {Move::write, Move::copy_in, Move::copy_out, Move::evict, Move::use_tile, Move::use_on_host};
const char* const names_of_moves[] = {"written", "copied to", "copied from", "evicted", "written in a tile", "written in a part on the host"};

const char* running = "";
Move move = Move::write;
long at_wait = 0;

[[noreturn]] void say_where(const char* message) {
  std::fprintf(stderr, "%s\n(%s, something is %s at wait %ld)\n", message, running, names_of_moves[static_cast<int>(move)], at_wait);
  std::abort();
}

/// What the other thread does. It uses arrays that the call does not name, and that are no sides of one array, so each byte has one
/// content in the end.
class Other {
 public:
  Other(World& w, const Scenario& scenario) : w_(w) {
    std::istringstream words(scenario.uses);
    std::vector<std::string> named;
    for (std::string word; words >> word;) named.push_back(word);
    const auto is_named = [&](const Array* a) { return std::find(named.begin(), named.end(), w.name(a)) != named.end(); };
    for (Array* a : {&w.d1, &w.h1, &w.d2, &w.h2, &w.d3, &w.h3, &w.hs, &w.lent}) {
      if (a->memory != nullptr && !is_named(a)) free_.push_back(a);
    }
    const bool frees = std::string(scenario.name).rfind("freeing", 0) == 0;
    for (const Array* a : {&w.d1, &w.d2, &w.d3, &w.pair_d, &w.announced_d}) {
      // The program writes an announced side behind its announcement: a kernel that reads the array then would be a race of the program's.
      const bool is_written = a == &w.announced_d && is_named(&w.announced_h);
      if (!is_written && (!frees || !is_named(a))) devices_.push_back(a->memory);
    }
  }
  [[nodiscard]] bool has_arrays() const { return !free_.empty(); }
  /// @param turn  chooses the arrays
  void make(Move what, std::size_t turn) {
    Array& a = *free_[turn % free_.size()];
    Array& b = *free_[(turn + 1) % free_.size()];
    switch (what) {
      case Move::write: return write(a, 200 + turn);
      case Move::copy_in: return copy(a, b);
      case Move::copy_out: return copy(b, a);
      case Move::evict: return evict(turn);
      case Move::use_tile: return w_.use_tile(a, where, Access::read_write, 200 + turn);
      case Move::use_on_host: return use_on_host(a, 200 + turn);
    }
  }

 private:
  const Region where{page + 40, 700, 6, 1000};  ///< of parts

  void write(Array& a, std::uint64_t seed) {
    const ByteRange range{page + 100, 5 * page};
    if (a.memory->on_host()) return w_.host_write(a, range, seed);
    const engine::QueueIndex q = w_.machine().queue(&streams[2]);
    const Operand operand{a.memory, true};
    w_.e().launches.begin_launch(q, &operand, 1);
    std::byte* const base = a.memory->address;
    w_.machine().device().order_streams(&streams[2], stream);  // kernels of several streams are ordered by the program
    w_.machine().device().launch(&streams[2], {{base, size, true}}, [base, range, seed] {
      for (std::uint64_t i = range.begin; i < range.end; ++i) base[i] = Machine::mix(seed, i);
    });
    w_.e().launches.end_launch(q, &operand, 1);
    World::set(a, range, seed);
  }
  void copy(Array& to, Array& from) {
    if (&to == &from) return;
    w_.e().copies.copy(to.memory->address + page, from.memory->address + 2 * page, 4 * page);
    World::set(to, page, from, 2 * page, 4 * page);
  }
  void use_on_host(Array& a, std::uint64_t seed) {
    Memory* const part = w_.e().lifetimes.allocate_host_part(*a.memory, where);
    const base::AtEnd freed([&] { w_.e().lifetimes.deallocate(part); });
    (void)w_.use_host_part(a, *part, Access::read_write, seed);
  }
  /// Kernels read one array after the other, until each has been on the device: what does not fit beside them leaves. Arrays that the
  /// call names are among them, unless it frees them.
  void evict(std::size_t turn) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const engine::QueueIndex q = w_.machine().queue(&streams[3]);
      const Operand operand{devices_[(turn + i) % devices_.size()], false};
      try {
        w_.e().launches.begin_launch(q, &operand, 1);
        w_.e().launches.end_launch(q, &operand, 1);
      } catch (const OutOfMemory&) {  // the call needs the memory
      }
    }
  }

  World& w_;
  std::vector<Array*> free_;
  std::vector<Memory*> devices_;
};

/// @return  false: the call waits less often
bool change_at(const Machine::Options& options, With with, const Scenario& scenario, std::size_t turn, Through& seen) {
  World w(options, with);
  w.use_natively();  // whoever needs device memory waits for the device
  Other changes(w, scenario);
  EXPECT_TRUE(changes.has_arrays());
  std::string refused;
  bool no_room = false;
  Meanwhile other(w, at_wait, [&] {
    try {
      changes.make(move, turn);
    } catch (const OutOfMemory&) {  // the call needs the memory, and nothing has changed (I9)
      no_room = true;
    } catch (const std::exception& e) {
      refused = e.what();
    }
  });
  scenario.call(w);
  other.end();
  if (!other.reached()) return false;
  EXPECT_EQ(refused, "");
  seen.count(other, no_room);
  w.machine().device().order_streams(stream, &streams[2]);
  w.expect_content("behind the call");
  w.go_on();
  return true;
}

/// Which moves the other thread makes at each wait.
enum class Made { all, one_in_turn };

void check(const Machine::Options& options, With with = With::arrays, Made made = Made::all) {
  base::set_fatal_handler(&say_where);
  std::size_t turn = 0, waits = 0;
  Through all[std::size(moves)];
  for (const Scenario& scenario : scenarios_with(with)) {
    running = scenario.name;
    if (running == std::string("everything is opened at the end")) continue;  // the runtime has kept all other threads out
    Through seen;
    const auto change = [&](Move m) {
      move = m;
      Through& of_move = all[static_cast<int>(m)];
      SCOPED_TRACE(std::string(scenario.name) + ", something is " + names_of_moves[static_cast<int>(m)] + " at wait " + std::to_string(at_wait));
      const Through before = of_move;
      const bool waited = change_at(options, with, scenario, ++turn, of_move);
      seen.through += of_move.through - before.through;
      seen.waited += of_move.waited - before.waited;
      return waited && !::testing::Test::HasFailure();
    };
    if (made == Made::one_in_turn) {
      for (at_wait = 0; at_wait < 100 && change(moves[turn % std::size(moves)]); ++at_wait) {}
    } else {
      for (const Move m : moves) {
        for (at_wait = 0; at_wait < 100 && change(m); ++at_wait) {}
      }
    }
    if (::testing::Test::HasFailure()) return;
    if (seen.through + seen.waited == 0) continue;
    ++waits;
    // There is no call whose waits keep everybody out. (One move in turn may meet just those waits that keep it out.)
    EXPECT_TRUE(seen.through > 0 || made == Made::one_in_turn) << scenario.name;
  }
  Through sum;
  for (const Move m : moves) {
    const Through& t = all[static_cast<int>(m)];
    std::printf("  something is %s: %s\n", names_of_moves[static_cast<int>(m)], t.text().c_str());
    EXPECT_GT(t.through, 0u) << names_of_moves[static_cast<int>(m)];
    sum.through += t.through;
    sum.waited += t.waited + t.no_room;
  }
  EXPECT_GT(sum.through, 2 * sum.waited);
  EXPECT_GT(3 * waits, scenarios_with(with).size()) << "many calls wait";
}

TEST(ChangedMeanwhile, Gpu) { check(gpu()); }
TEST(ChangedMeanwhile, GpuWithLittleMemory) { check(with_little_memory(gpu())); }
TEST(ChangedMeanwhile, GpuInBlocks) { check(in_blocks(gpu())); }
TEST(ChangedMeanwhile, Emulated) { check(with_little_memory(emulated())); }
TEST(ChangedMeanwhile, Guarded) { check(with_little_memory(guarded())); }
TEST(ChangedMeanwhile, GuardedInBlocks) { check(in_blocks(guarded())); }
TEST(ChangedMeanwhile, TwoGpus) { check(with_little_memory(on_two_devices(gpu()))); }
TEST(ChangedMeanwhile, TwoGuardedDevicesInBlocks) { check(in_blocks(on_two_devices(guarded())), With::arrays, Made::one_in_turn); }
TEST(ChangedMeanwhile, AdoptedMemory) { check(with_little_memory(gpu()), With::adopted, Made::one_in_turn); }
TEST(ChangedMeanwhile, Tiles) { check(with_little_memory(gpu()), With::tiles, Made::one_in_turn); }
TEST(ChangedMeanwhile, TilesOnTwoGpus) { check(on_two_devices(gpu()), With::tiles, Made::one_in_turn); }
TEST(ChangedMeanwhile, TilesOnTwoGuardedDevices) { check(with_little_memory(on_two_devices(guarded())), With::tiles, Made::one_in_turn); }
TEST(ChangedMeanwhile, CheckedWrites) {
  Machine::Options o = gpu();
  o.engine.check_writes = true;
  check(o);
}
TEST(ChangedMeanwhile, WriteThrough) {
  Machine::Options o = gpu();
  o.engine.protocol = engine::Protocol::write_through;
  check(o);
}

}  // namespace
}  // namespace semcache::fakes
