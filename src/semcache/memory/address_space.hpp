// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace semcache::memory {

/// Free ranges of an address space, in offsets. An allocation takes the smallest free range that suffices, and a range that is
/// given back is merged with its free neighbours.
/// @throws std::bad_alloc  the call has then changed nothing
/// Threads: none; the caller serialises all calls.
/// Cost: O(log free ranges), and one step for each free range that would be large enough without the alignment. A search through
/// a hundred thousand free ranges takes a good part of that, so none is made where the place is known: a range that becomes shorter or
/// longer keeps its place in the order of begins, and mostly in that of sizes.
class AddressSpace {
 public:
  /// Adds free addresses.
  void donate(ByteRange range) {
    add_spares();
    give(range);
  }

  /// Returns the offset of `bytes` bytes at a multiple of `alignment` (a power of two); nothing if no free range is large enough.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end(); ++it) {
      const ByteRange hole{it->second, it->second + it->first};
      const std::uint64_t begin = round_up(hole.begin, alignment);
      if (begin > hole.end || hole.end - begin < bytes) continue;
      add_spares();
      const auto place = by_begin_.find({hole.begin, hole.end});
      const ByteRange before{hole.begin, begin}, behind{begin + bytes, hole.end};
      if (before.empty() && behind.empty()) {
        add_spare(by_begin_.extract(place));
        add_spare(by_size_.extract(it));
      } else {
        change(place, it, before.empty() ? behind : before);
        if (!before.empty() && !behind.empty()) insert(behind);
      }
      return begin;
    }
    return std::nullopt;
  }

  /// Gives back a range as it was allocated.
  void release(ByteRange range) noexcept {
    give(range);
    --ranges_;
  }

 private:
  using Pairs = base::Set<std::pair<std::uint64_t, std::uint64_t>>;

  /// Adds the nodes that one more range needs, so that giving it back cannot fail.
  void add_spares() {
    while (by_begin_.size() + by_size_.size() + spares_.size() < 2 * (ranges_ + 1)) spares_.emplace(0, 0);
    ++ranges_;
  }
  void move_spare(Pairs& to, std::uint64_t first, std::uint64_t second) noexcept {
    auto node = spares_.extract(spares_.begin());
    node.value() = {first, second};
    to.insert(std::move(node));
  }
  void add_spare(Pairs::node_type node) noexcept {
    node.value() = {};
    spares_.insert(spares_.begin(), std::move(node));  // the next one to be used
  }
  void insert(ByteRange range) noexcept {
    move_spare(by_begin_, range.begin, range.end);
    move_spare(by_size_, range.size(), range.begin);
  }
  /// Makes a free range another one, which lies between the same neighbours.
  void change(Pairs::iterator in_begins, Pairs::iterator in_sizes, ByteRange range) noexcept {
    const auto next = std::next(in_begins);
    auto place = by_begin_.extract(in_begins);
    place.value() = {range.begin, range.end};
    by_begin_.insert(next, std::move(place));
    const auto larger = std::next(in_sizes);
    auto size = by_size_.extract(in_sizes);
    size.value() = {range.size(), range.begin};
    by_size_.insert(larger, std::move(size));
  }
  void give(ByteRange range) noexcept {
    const auto next = by_begin_.lower_bound({range.begin, 0});
    const auto before = next != by_begin_.begin() && std::prev(next)->second == range.begin ? std::prev(next) : by_begin_.end();
    const auto behind = next != by_begin_.end() && next->first == range.end ? next : by_begin_.end();
    const auto size_of = [&](Pairs::iterator free) { return by_size_.find({free->second - free->first, free->first}); };
    if (before == by_begin_.end() && behind == by_begin_.end()) return insert(range);
    if (before == by_begin_.end()) return change(behind, size_of(behind), {range.begin, behind->second});
    if (behind == by_begin_.end()) return change(before, size_of(before), {before->first, range.end});
    const ByteRange all{before->first, behind->second};
    add_spare(by_size_.extract(size_of(behind)));
    add_spare(by_begin_.extract(behind));
    change(before, size_of(before), all);
  }

  Pairs by_begin_;  // begin, end
  Pairs by_size_;   // size, begin
  std::size_t ranges_ = 0;  // donated and allocated ranges: there are never more free ranges than that
  base::MultiSet<Pairs::value_type> spares_;  // nodes for both sets; they are never freed
};

}  // namespace semcache::memory
