// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/lifetimes.hpp>

#include <atomic>
#include <unordered_map>

namespace semcache::engine {

/// Keeps *tiles*: memory on devices for parts of arrays, as `Lifetimes::allocate_part` makes it, that stays from one library call to the next.
/// So what a call has computed on a device, or has brought there, is found there by later calls (seed: SemCache++, translation records). A
/// tile belongs to its array, and is freed with it.
///
/// Threads: any.
class Tiles : Parts {
 public:
  explicit Tiles(const Parts& parts) noexcept : Parts(parts) {}

  /// So many tiles of an array stay that nobody uses; then those leave that were used longest ago. Whether there are more is looked at when a tile is
  /// made, and where there are many only when one more has been made for each 64 of them.
  static constexpr std::size_t most_idle = 256;

  /// Finds a tile of the array on the device in which `where` lies as a rectangle, or makes one of exactly these bytes. The caller uses it
  /// until `release`, and finds the place in it by `memory::in_memory`. Of several the largest is taken: calls that need a part, and calls that
  /// need the part and what is around it, then use the same memory, and nothing is copied between two tiles. But all of a tile's memory must be on
  /// the device when it is used, together with the call's other operands. So of tiles that have more than a sixteenth of the device's budget beyond
  /// what is needed the smallest is taken, and none that is larger than that and more than twice what is needed.
  /// @param unit  bytes of an element: the columns of a tile begin a whole number of elements apart
  /// @throws UsageError, OutOfMemory, std::bad_alloc  as `Lifetimes::allocate_part`
  Memory& acquire(std::uint32_t device, const Memory& array, const Region& where, std::uint64_t unit = 1);
  /// What a caller asks for, and the tile that it gets.
  struct Wanted {
    const Memory* array;
    Region where;
    std::uint64_t unit;
    Memory* tile;
  };
  /// The same for several, which takes the lock once where all tiles are there. If it throws, none is in use.
  void acquire(std::uint32_t device, Wanted* wanted, std::size_t count);
  /// Ends a use. The tile stays, unless its array has been freed. Takes no lock then.
  void release(Memory& tile) noexcept;
  /// Frees the tiles of an array that is about to be freed, unless it is one side of two. Costs no lock where there are no tiles.
  void leave(Memory& array) noexcept;
  /// Frees all tiles that nobody uses. @pre the content of all arrays is where the program will use it (`HostAccess::open_everything`)
  void end() noexcept;

 private:
  struct Tile {
    Memory* memory;
    std::uint64_t used;  ///< the number of the last use among all
  };
  /// The tiles of an array, on all devices.
  struct List {
    base::MultiMap<std::uint64_t, Tile> tiles;  ///< by their first position
    std::uint64_t longest = 0;                  ///< of them, from the first to the last position
    std::size_t made_since_look = 0;            ///< since `shorten` has looked at all
  };
  /// Returns the tile of the list that `acquire` takes; nullptr if there is none.
  [[nodiscard]] Tile* find(std::uint32_t device, List& list, const Region& where, std::uint64_t unit) const noexcept;
  /// Begins a use of a tile that is there. To be called with the lock. @return nullptr if there is none
  Memory* use(std::uint32_t device, const Memory& array, const Region& where, std::uint64_t unit) noexcept;
  /// Makes a tile, and begins a use of it.
  Memory& make(std::uint32_t device, const Memory& array, const Region& where);
  /// The next step of `leave`. @return a tile that nobody uses, but perhaps a launch, to be freed; nullptr: all is done
  Memory* leave_once(Memory& array) noexcept;
  /// Gives up idle tiles of the list, those that were used longest ago first, until at most `most` are idle.
  void shorten(List& list, std::size_t most) noexcept;

  std::unordered_map<std::uint32_t, List> of_datum_;
  std::uint64_t uses_ = 0;
  std::atomic<bool> any_{false};  ///< there is, or has been, a tile
};

}  // namespace semcache::engine
