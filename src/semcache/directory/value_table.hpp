// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/directory/extent_map.hpp>

#include <cstddef>
#include <new>
#include <stdexcept>

namespace semcache::directory {

/// Entries by value number. A number consists of an entry's index and of how often that entry has been used, so no number is
/// given out twice, and finding a value reads one entry. Entries never move, and keep their memory for the next value.
/// @tparam Value  has a member `clear()`, which must keep allocated memory
/// Cost: all members are O(1), except `for_each`, and `make_room` and `add` where they add entries.
template <class Value>
class ValueTable {
 public:
  /// Makes room so that the next `values` calls of `add` cannot fail.
  void make_room(std::size_t values) {
    while (free_.size() < values) {
      if (entries_.size() > index_mask) throw std::bad_alloc();
      // `erase` must not fail, so the free list has room for every entry. The room doubles each time, because growth by one would
      // copy the list at each new value.
      if (free_.capacity() <= entries_.size()) free_.reserve(2 * entries_.size() + 1);
      entries_.emplace_back();
      free_.push_back(entries_.size() - 1);
    }
  }
  [[nodiscard]] ValueId add() {
    make_room(1);
    const std::size_t index = free_.back();
    free_.pop_back();
    Entry& e = entries_[index];
    e.live = true;
    return number(index, e);
  }
  [[nodiscard]] Value* find(ValueId id) noexcept {
    const std::size_t index = id & index_mask;
    if (index >= entries_.size()) return nullptr;
    Entry& e = entries_[index];
    return e.live && number(index, e) == id ? &e.value : nullptr;
  }
  [[nodiscard]] const Value* find(ValueId id) const noexcept { return const_cast<ValueTable*>(this)->find(id); }
  [[nodiscard]] const Value& at(ValueId id) const {
    if (const Value* v = find(id)) return *v;
    throw std::out_of_range("a value is used after it was forgotten");
  }
  /// @pre `id` is in use
  void erase(ValueId id) noexcept {
    const std::size_t index = id & index_mask;
    Entry& e = entries_[index];
    e.live = false;
    e.value.clear();
    // An entry whose numbers are used up is not listed as free again.
    if (++e.generation <= last_generation) free_.push_back(index);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].live) visit(number(i, entries_[i]), entries_[i].value);
    }
  }

 private:
  struct Entry {
    Value value;
    std::uint64_t generation = 1;  // never 0, so that no number equals `undefined_value`
    bool live = false;
  };
  static constexpr unsigned index_bits = 28;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
  // One less than what fits, so that no number equals `no_value`, `former_value` or `zeros_value`.
  static constexpr std::uint64_t last_generation = (std::uint64_t{1} << (64 - index_bits)) - 2;

  [[nodiscard]] static ValueId number(std::size_t index, const Entry& e) noexcept {
    return e.generation << index_bits | index;
  }

  base::Deque<Entry> entries_;
  base::Vector<std::size_t> free_;
};

}  // namespace semcache::directory
