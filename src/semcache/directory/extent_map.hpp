// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/room.hpp>
#include <semcache/base/types.hpp>

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace semcache::directory {

/// The number of a value: the content of some bytes at some time. No number is used twice.
using ValueId = std::uint64_t;
/// In a wanted map: the bytes have never been written, so every slot counts as holding them.
inline constexpr ValueId undefined_value = 0;
/// In a held map: the slot holds no value there.
inline constexpr ValueId no_value = UINT64_MAX;

/// In a held map: the slot holds something there that no datum wants any more.
inline constexpr ValueId former_value = UINT64_MAX - 1;

/// In a held map: the memory has not been written yet, and the system gave it filled with zeros.
inline constexpr ValueId zeros_value = UINT64_MAX - 2;

/// A byte position inside a value.
struct ValueRef {
  ValueId id = undefined_value;
  std::uint64_t offset = 0;

  [[nodiscard]] constexpr bool is_number() const noexcept { return id != undefined_value && id < zeros_value; }
  /// Returns the reference `bytes` further on. Only numbers have offsets; the constants above return themselves.
  [[nodiscard]] constexpr ValueRef advanced(std::uint64_t bytes) const noexcept {
    return is_number() ? ValueRef{id, offset + bytes} : *this;
  }
  friend constexpr bool operator==(ValueRef a, ValueRef b) noexcept { return a.id == b.id && a.offset == b.offset; }
  friend constexpr bool operator!=(ValueRef a, ValueRef b) noexcept { return !(a == b); }
};

/// A total map from the bytes [0, size) to references, as maximal extents. Byte `p` of an extent that begins at `b` with
/// reference `r` has reference r.advanced(p - b).
///
/// @tparam Ref  equality comparable, with `Ref advanced(bytes) const`; a property that is constant over its extent returns itself
/// Cost: O(log extents) to find a byte, plus the extents touched. A change in the number of extents moves the tail of one
/// array (a memmove; 32 bytes per record of an `ExtentMap`). The common case, one extent, costs a handful of loads.
template <class Ref>
class BasicExtentMap {
 public:
  struct Extent {
    std::uint64_t begin;
    std::uint64_t end;
    Ref ref;
  };

  BasicExtentMap(std::uint64_t size, Ref initial) {
    if (size > 0) extents_.push_back({0, size, initial});
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return extents_.empty() ? 0 : extents_.back().end; }
  [[nodiscard]] std::size_t extent_count() const noexcept { return extents_.size(); }
  /// Returns the reference of byte 0 if one extent covers the whole map, which is the common case; nullptr otherwise.
  [[nodiscard]] const Ref* uniform() const noexcept { return extents_.size() == 1 ? &extents_.front().ref : nullptr; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return extents_.capacity() * sizeof(Extent); }

  /// Returns whether `test(ByteRange piece, Ref first)` holds for all pieces of `range`. Asks in ascending order, up to the first
  /// piece for which it does not hold. `test` must not change this map.
  template <class Test>
  bool all_of(ByteRange range, Test&& test) const {
    range = intersect(range, {0, size()});
    if (range.empty()) return true;
    for (std::size_t i = find(range.begin); i < extents_.size() && extents_[i].begin < range.end; ++i) {
      const Extent& e = extents_[i];
      const ByteRange piece = intersect(range, {e.begin, e.end});
      if (!test(piece, e.ref.advanced(piece.begin - e.begin))) return false;
    }
    return true;
  }
  /// Calls `visit(ByteRange piece, Ref first)` for the pieces of `range` in ascending order.
  /// `visit` must not change this map.
  template <class Visit>
  void for_each(ByteRange range, Visit&& visit) const {
    all_of(range, [&](ByteRange piece, Ref first) {
      visit(piece, first);
      return true;
    });
  }

  /// Returns the pieces of `range` that `for_each` visits, as a list.
  [[nodiscard]] base::Vector<Extent> extents(ByteRange range) const {
    base::Vector<Extent> pieces;
    for_each(range, [&](ByteRange piece, Ref first) { pieces.push_back({piece.begin, piece.end, first}); });
    return pieces;
  }

  [[nodiscard]] Ref at(std::uint64_t position) const noexcept {
    const Extent& e = extents_[find(position)];
    return e.ref.advanced(position - e.begin);
  }

  /// Makes room so that `assign` cannot fail for `range`, or for `ranges` ranges one after the other.
  void make_room(ByteRange range) {
    if (range.size() < size()) make_room(std::size_t{1});
  }
  void make_room(std::size_t ranges) { base::make_room(extents_, 2 * ranges); }

  /// Returns `range`, extended on both sides over the adjoining bytes whose reference passes `test(Ref)`.
  /// @pre `range` lies inside the map and is not empty; `Ref` is a property that is constant over its extent
  template <class Test>
  [[nodiscard]] ByteRange extended(ByteRange range, Test&& test) const {
    assert(!range.empty() && range.end <= size());
    std::size_t i = find(range.begin);
    for (; range.begin > 0; range.begin = extents_[i].begin) {
      if (extents_[i].begin == range.begin) --i;
      if (!test(extents_[i].ref)) break;
    }
    i = find(range.end - 1);
    for (; range.end < size(); range.end = extents_[i].end) {
      if (extents_[i].end == range.end) ++i;
      if (!test(extents_[i].ref)) break;
    }
    return range;
  }

  /// Gives `range` the reference `ref` and merges it with its neighbours. Calls `count(Extent, +1)` for every extent that
  /// appears, then `count(Extent, -1)` for every extent that vanishes.
  /// @pre `range` lies inside the map and is not empty
  /// @throws std::bad_alloc  never if `range` is the whole map, or after `make_room`
  template <class Count>
  void assign(ByteRange range, Ref ref, Count&& count) {
    assert(!range.empty() && range.end <= size());
    if (extents_.size() == 1 && range.size() == extents_.front().end) {
      const Extent old = extents_.front();
      extents_.front().ref = ref;
      count(extents_.front(), +1);
      count(old, -1);
      return;
    }
    std::size_t first = find(range.begin);
    std::size_t last = first;
    while (last < extents_.size() && extents_[last].begin < range.end) ++last;

    Extent merged[5];
    std::size_t n = 0;
    const auto append = [&](Extent e) {
      if (n > 0 && merged[n - 1].ref.advanced(e.begin - merged[n - 1].begin) == e.ref) {
        merged[n - 1].end = e.end;
      } else {
        merged[n++] = e;
      }
    };
    const Extent head = extents_[first];
    const Extent tail = extents_[last - 1];
    if (first > 0) append(extents_[--first]);
    if (head.begin < range.begin) append({head.begin, range.begin, head.ref});
    append({range.begin, range.end, ref});
    if (tail.end > range.end) append({range.end, tail.end, tail.ref.advanced(range.end - tail.begin)});
    if (last < extents_.size()) append(extents_[last++]);

    for (std::size_t i = 0; i < n; ++i) count(merged[i], +1);
    for (std::size_t i = first; i < last; ++i) count(extents_[i], -1);

    const std::size_t old = last - first;
    const auto at_first = extents_.begin() + static_cast<std::ptrdiff_t>(first);
    if (n > old) {
      extents_.insert(at_first, n - old, Extent{});
    } else {
      extents_.erase(at_first, at_first + static_cast<std::ptrdiff_t>(old - n));
    }
    for (std::size_t i = 0; i < n; ++i) extents_[first + i] = merged[i];
  }

 private:
  /// Returns the index of the extent that contains byte `position`.
  [[nodiscard]] std::size_t find(std::uint64_t position) const noexcept {
    const auto ends_before = [&](const Extent& e) { return e.end <= position; };
    return static_cast<std::size_t>(std::partition_point(extents_.begin(), extents_.end(), ends_before) - extents_.begin());
  }

  base::Vector<Extent> extents_;
};

}  // namespace semcache::directory
