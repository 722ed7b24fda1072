// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/room.hpp>
#include <semcache/base/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace semcache::directory {

/// All extents of one owner (a datum or a slot) that have a value at the same displacement: position = offset + delta.
struct Use {
  std::uint32_t owner;
  std::uint32_t extents;
  std::int64_t delta;
  std::uint64_t size;  ///< of the owner
  /// May the owner have any of these bytes of the value?
  [[nodiscard]] bool may_have(ByteRange offsets) const noexcept {
    const auto begin = static_cast<std::int64_t>(offsets.begin) + delta, end = static_cast<std::int64_t>(offsets.end) + delta;
    return end > 0 && begin < static_cast<std::int64_t>(size);
  }
  /// Returns where these bytes of the value lie in the owner, as far as they do. @pre may_have(offsets)
  [[nodiscard]] ByteRange positions(ByteRange offsets) const noexcept {
    const auto begin = static_cast<std::int64_t>(offsets.begin) + delta, end = static_cast<std::int64_t>(offsets.end) + delta;
    return {static_cast<std::uint64_t>(std::max<std::int64_t>(begin, 0)), std::min(static_cast<std::uint64_t>(end), size)};
  }
};

/// Finds those of many uses that may have some bytes of their value.
///
/// The *level* of a use is the least k for which its owner has at most 2^k bytes. Offsets are cut into *cells* of 2^k, and the cell of a use
/// is that in which its owner's first byte lies. So the uses of a level that may have some bytes are in the cells of these bytes, or in
/// the cell in front of them. A hash table has the cells; the uses in one bucket are a ring.
class UseIndex {
 public:
  /// @param uses        so many have room
  /// @param for_a_cell  where there are fewer uses for each cell of some bytes, it is quicker to look at all uses
  UseIndex(std::size_t uses, std::size_t for_a_cell);
  [[nodiscard]] std::size_t room() const noexcept { return links_.size(); }
  /// Adds and removes the use at a place of the list.
  void add(const Use& use, std::size_t place) noexcept;
  void remove(std::size_t place) noexcept;
  [[nodiscard]] bool is_worth_it(ByteRange offsets, std::size_t uses) const noexcept;
  /// Returns whether `test(Use)` holds for all uses that may have any of these bytes. Asks up to the first for which it does not hold.
  template <class Test>
  bool all_of(const base::Vector<Use>& list, ByteRange offsets, Test&& test) const {
    for (const Level& l : levels_) {
      const std::uint64_t last = l.uses > 0 ? last_cell(offsets, l.level) : 0;
      for (std::uint64_t cell = first_cell(offsets, l.level); cell <= last; ++cell) {
        const Key key = key_of(cell, l.level);
        const auto holds = [&](std::uint32_t at) { return links_[at].key != key || !list[at].may_have(offsets) || test(list[at]); };
        if (!all_in_ring(buckets_[bucket(key)], holds)) return false;
      }
    }
    return true;
  }
  /// Returns the place of the use of this owner, of `size` bytes, at this displacement; the number of uses if there is none.
  [[nodiscard]] std::size_t find(const base::Vector<Use>& list, std::uint32_t owner, std::int64_t delta, std::uint64_t size) const noexcept;
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  /// Returns whether it has each use once, in its cell.
  [[nodiscard]] bool is_right(const base::Vector<Use>& list) const noexcept;

 private:
  using Key = std::uint64_t;  ///< of a cell and its level
  struct Link {               ///< of a use in its ring
    std::uint32_t before, behind;
    Key key;
  };
  struct Level {
    unsigned level;
    std::uint32_t uses;
  };
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr unsigned level_bits = 6;
  /// Where offset 0 lies when cells are counted, because an owner may begin in front of its value.
  static constexpr std::uint64_t zero = std::uint64_t{1} << 63;

  [[nodiscard]] static std::uint64_t first_cell(ByteRange offsets, unsigned level) noexcept {
    return (zero + offsets.begin + 1 - (std::uint64_t{1} << level)) >> level;
  }
  [[nodiscard]] static std::uint64_t last_cell(ByteRange offsets, unsigned level) noexcept { return (zero + offsets.end - 1) >> level; }
  [[nodiscard]] static Key key_of(std::uint64_t cell, unsigned level) noexcept { return cell << level_bits | level; }
  [[nodiscard]] static Key key_of(std::int64_t delta, std::uint64_t size) noexcept;
  [[nodiscard]] static unsigned level_of(Key key) noexcept { return static_cast<unsigned>(key % (1u << level_bits)); }
  [[nodiscard]] std::size_t bucket(Key key) const noexcept { return key * 0x9e3779b97f4a7c15 >> shift_; }
  void count(unsigned level, int change) noexcept;
  template <class Test>
  bool all_in_ring(std::uint32_t first, Test&& test) const {
    for (std::uint32_t at = first; at != none;) {
      if (!test(at)) return false;
      at = links_[at].behind == first ? none : links_[at].behind;
    }
    return true;
  }

  base::Vector<Link> links_;             // of the uses; further ones are room
  base::Vector<std::uint32_t> buckets_;  // a ring's first use, or `none`
  base::Vector<Level> levels_;           // those that have, or had, uses
  std::size_t for_a_cell_;
  unsigned shift_ = 63;
};

/// The uses of a value by data, or by slots. A few are looked at one by one; more of them have an index.
///
/// Cost: `all_of` looks at few uses that do not have the bytes: at all if there are at most `scanned`; else at those of a few cells, but at all
/// for bytes that have so many cells that there are fewer than `scanned / 4` uses for each. Other members are O(1), but for `find` without
/// an index, and for `make_room` where it makes an index for twice as many uses.
class Uses {
 public:
  Uses() { list_.reserve(1); }  // the first use can be added without a failure
  [[nodiscard]] std::size_t size() const noexcept { return list_.size(); }
  [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return list_.begin(); }
  [[nodiscard]] auto end() const noexcept { return list_.end(); }
  [[nodiscard]] const Use& operator[](std::size_t at) const noexcept { return list_[at]; }
  /// Returns whether `test(Use)` holds for all uses that may have any of these bytes. Asks up to the first for which it does not hold. `test`
  /// must not change the uses.
  template <class Test>
  bool all_of(ByteRange offsets, Test&& test) const {
    if (index_ != nullptr && index_->is_worth_it(offsets, list_.size())) return index_->all_of(list_, offsets, test);
    for (const Use& u : list_) {
      if (u.may_have(offsets) && !test(u)) return false;
    }
    return true;
  }
  /// Returns the place of the use of this owner, of `size` bytes, at this displacement; the number of uses if there is none.
  [[nodiscard]] std::size_t find(std::uint32_t owner, std::int64_t delta, std::uint64_t size) const noexcept {
    if (index_ != nullptr) return index_->find(list_, owner, delta, size);
    std::size_t at = 0;
    while (at < list_.size() && (list_[at].owner != owner || list_[at].delta != delta)) ++at;
    return at;
  }

  /// Makes room for one more use. @param scanned  so many uses are looked at one by one
  void make_room(std::size_t scanned) {
    base::make_room(list_, 1);
    if (list_.size() >= scanned) make_room_in_index(scanned);
  }
  /// Adds a use behind the others. @pre it is the first one, or `make_room` was called for it
  void add(const Use& use) noexcept {
    if (index_ != nullptr) index_->add(use, list_.size());
    list_.push_back(use);
  }
  /// Changes the number of a use's extents. Without any it is removed, and the last use takes its place.
  /// @return whether it was removed
  bool add_extents(std::size_t at, int change) noexcept {
    list_[at].extents += static_cast<std::uint32_t>(change);
    if (list_[at].extents > 0) return false;
    if (index_ != nullptr) remove_from_index(at);
    list_[at] = list_.back();
    list_.pop_back();
    return true;
  }
  void clear() noexcept {
    list_.clear();
    index_.reset();
  }

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  /// Returns whether there is an index where there should be one, and whether it is right.
  [[nodiscard]] bool is_right(std::size_t scanned) const noexcept;

 private:
  void make_room_in_index(std::size_t scanned);
  void remove_from_index(std::size_t at) noexcept;

  base::Vector<Use> list_;
  base::Owned<UseIndex> index_;
};

}  // namespace semcache::directory
