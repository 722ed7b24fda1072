// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/preparation.hpp>
#include <semcache/engine/transaction.hpp>

#include <algorithm>

namespace semcache::engine {

/// Gives the directory's maps of an array the shape of its uses, so that a rectangle is one extent, and keeps the maps short.
///
/// Threads: with the engine's lock.
class Shapes : Parts {
 public:
  explicit Shapes(const Parts& parts) noexcept : Parts(parts) {}

  /// Returns how many extents the map of what an array wants may have.
  [[nodiscard]] std::size_t most_extents(const Memory& memory) const noexcept { return most_extents(s_.directory.size(memory.datum)); }
  /// The same of an array of so many bytes. An extent takes 48 bytes in each of two maps. They may take at most 1 % of the array.
  [[nodiscard]] static constexpr std::size_t most_extents(std::uint64_t bytes) noexcept {
    return static_cast<std::size_t>(std::max<std::uint64_t>(64, bytes / 9600));
  }
  /// So many columns at most may be extents, or transfers, of their own in one use or lazy copy.
  static constexpr std::size_t most_pieces = 64;
  /// Lets the maps of the array have the shape of `region`, so that it is one extent, unless they would become long.
  void shape(Memory& memory, const Region& region);
  /// Returns what a use needs, and what it is noted to have used: the region, if the array's maps have its shape or its columns are few;
  /// otherwise the hull, with the content that lies between the columns.
  [[nodiscard]] Requirement fitting(Memory& memory, const Region& region, Access mode);
  /// Counts a use of columns that needs more than these: `used` is their hull, or all of the part that an array is.
  void count_hull(const Memory& memory, const Region& columns, const Region& used) noexcept;
  /// Replaces a part of a launch's operand by what the use needs: `fitting`, and where device memory is guarded the pages on which the
  /// bytes lie, because they are open for other code, too, while the launch runs.
  void fit(Transaction& transaction, Requirement& part);
  /// Keeps the array's maps small against the array: beyond a bound, makes the array fresh and gives it one new number. A failure
  /// is ignored, because the caller's own work is done.
  void keep_maps_short(Transaction& transaction, Memory& memory) noexcept;

 private:
  [[nodiscard]] Region pages_of(const Memory& memory, const Region& region) const;
};

}  // namespace semcache::engine
