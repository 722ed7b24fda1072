// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "simulation.hpp"

#include <functional>
#include <string>
#include <vector>

/// The small cases that are enumerated: two arrays of 8 bytes with a slot in each of two to five spaces, and all that can
/// happen to their two halves:
///  - each of the slots: its front half is written, or all of it is read;
///  - each array: all of it is written in space 0; all of it, or its back half, becomes a copy of the other array's
///    front; its back half is filled; all of it, or its front half, is dropped from space 0 (evictions, of an array or of one block);
///  - the first array: its front half is copied to its back half; overlapping ranges of it are copied upwards and
///    downwards;
///  - the second array is freed while others may want what it holds.
/// The halves are those of a vector, or the upper and the lower rows of a matrix of two columns. There the maps have the matrix's shape,
/// and there is one more event: the first array loses its shape, or gets it again.
/// Snapshots come and go by themselves. Transfers that happen late are the engine's business (unit_tests/engine).
namespace semcache::directory {

struct Event {
  std::string name;
  bool needs_second;
  std::function<void(Simulation&)> happen;
};

/// The halves of an array of 8 bytes, and the pitch of its maps.
struct Halves {
  Region front;
  Region back;
  std::uint64_t pitch;
};
inline constexpr Halves of_vectors{ByteRange{0, 4}, ByteRange{4, 8}, one_column};
inline constexpr Halves of_matrices{Region(0, 2, 2, 4), Region(2, 2, 2, 4), 4};

/// What is evicted. Without halves there are fewer events, for the long orders.
enum class Evictions { of_arrays, also_of_halves };

inline std::vector<Event> all_events(std::uint32_t spaces, const Halves& halves, Evictions evictions) {
  const Region front = halves.front, back = halves.back;
  constexpr ByteRange both{0, 8};
  std::vector<Event> e;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::string array = d == 0 ? "first" : "second";
    for (std::size_t s = 0; s < spaces; ++s) {
      const std::string slot = array + " in space " + std::to_string(s);
      e.push_back({"write the front of the " + slot, d == 1, [=](Simulation& x) { x.write(d, s, front); }});
      e.push_back({"read the " + slot, d == 1, [=](Simulation& x) { x.read(d, s, both); }});
    }
    e.push_back({"write all of the " + array, d == 1, [=](Simulation& x) { x.write(d, 0, both); }});
    e.push_back({"copy the other to the " + array, true, [=](Simulation& x) { x.link(d, 0, 1 - d, 0, 8); }});
    e.push_back({"copy the other's front to the back of the " + array, true,
                 [=](Simulation& x) { x.link(d, back, 1 - d, front); }});
    e.push_back({"fill the back of the " + array, d == 1, [=](Simulation& x) { x.fill(d, back, 2); }});
    e.push_back({"drop the " + array, d == 1, [=](Simulation& x) { x.drop(d, 0, both); }});
    if (evictions == Evictions::of_arrays) continue;
    e.push_back({"drop the front of the " + array, d == 1, [=](Simulation& x) { x.drop(d, 0, front); }});
  }
  e.push_back({"copy the first's front to its back", false, [=](Simulation& x) { x.link(0, back, 0, front); }});
  e.push_back({"copy the first upwards over itself", false, [](Simulation& x) { x.link(0, 2, 0, 0, 6); }});
  e.push_back({"copy the first downwards over itself", false, [](Simulation& x) { x.link(0, 0, 0, 3, 5); }});
  e.push_back({"free the second", true, [](Simulation& x) { x.remove(1); }});
  if (halves.pitch == one_column) return e;
  e.push_back({"change the shape of the first", false, [pitch = halves.pitch](Simulation& x) {
                 const bool has = x.directory.pitch(x.data[0].id) == pitch;
                 ASSERT_TRUE(x.directory.shape(x.data[0].id, has ? one_column : pitch, 100));
               }});
  return e;
}

/// Lets `length` events happen in every order, with repetition; then every byte of every array is read from every slot:
/// nothing may be lost, whatever came before.
/// @param scanned  so many uses of a value are looked at without an index
inline void check_every_order(std::size_t length, std::uint32_t spaces = 2, const Halves& halves = of_vectors,
                              Evictions evictions = Evictions::also_of_halves, std::size_t scanned = 32) {
  const std::vector<Event> events = all_events(spaces, halves, evictions);
  std::size_t orders = 1;
  for (std::size_t i = 0; i < length; ++i) orders *= events.size();
  std::size_t possible = 0;
  for (std::size_t code = 0; code < orders; ++code) {
    Simulation x(scanned);
    x.add(8, spaces, halves.pitch);
    x.add(8, spaces, halves.pitch);
    bool happened = true;
    for (std::size_t i = 0, rest = code; i < length && happened; ++i, rest /= events.size()) {
      const Event& event = events[rest % events.size()];
      happened = !event.needs_second || x.data[1].live;
      if (!happened) break;
      event.happen(x);
      x.collect();
    }
    if (!happened) continue;
    ++possible;
    x.audit();
    for (std::size_t d = 0; d < 2; ++d) {
      if (!x.data[d].live) continue;
      for (std::size_t s = spaces; s-- > 0;) x.read(d, s, ByteRange{0, 8});
    }
    x.audit();
    if (testing::Test::HasFailure()) {
      std::string story;
      for (std::size_t i = 0, rest = code; i < length; ++i, rest /= events.size()) {
        story += "\n  " + events[rest % events.size()].name;
      }
      FAIL() << "after:" << story;
    }
  }
  // Before the second array is freed 13 events are possible and 4 for each space, after it 6 and 2 for each space; of matrices one more, and
  // where halves are evicted one more of each array.
  const std::size_t more = halves.pitch == one_column ? 0 : 1, dropped = evictions == Evictions::of_arrays ? 0 : 1;
  std::size_t expected = 0;
  std::size_t without_free = 1;
  for (std::size_t i = 0; i < length; ++i, without_free *= 13 + more + 2 * dropped + 4 * spaces) {
    expected = expected * (6 + more + dropped + 2 * spaces) + without_free;
  }
  EXPECT_EQ(possible, expected + without_free);
}

}  // namespace semcache::directory
