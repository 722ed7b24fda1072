// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/room.hpp>
#include <semcache/base/types.hpp>

#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace semcache::memory {

/// Free ranges of an address space, in offsets; the smallest one that suffices, coalescing. Not thread-safe. A call that throws changes
/// nothing.
/// Cost: O(log free ranges); those that are large enough but for their alignment are looked at one by one.
class AddressSpace {
 public:
  void donate(ByteRange range) {
    add_spares();
    give(range);
  }

  /// `bytes` bytes at a multiple of `alignment` (a power of two); nothing if no free range is large enough.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end(); ++it) {
      const ByteRange hole{it->second, it->second + it->first};
      const std::uint64_t begin = round_up(hole.begin, alignment);
      if (begin > hole.end || hole.end - begin < bytes) continue;
      add_spares();
      forget(hole);
      if (begin > hole.begin) insert({hole.begin, begin});
      if (begin + bytes < hole.end) insert({begin + bytes, hole.end});
      return begin;
    }
    return std::nullopt;
  }

  void release(ByteRange range) noexcept {
    give(range);
    spares_.resize(spares_.size() - 2);
  }

 private:
  using Pairs = std::set<std::pair<std::uint64_t, std::uint64_t>>;

  /// For one more hole.
  void add_spares() {
    base::make_room(spares_, by_begin_.size() + by_size_.size() + 2);  // for whatever may come back, too
    for (int i = 0; i < 2; ++i) {
      Pairs one{{0, 0}};
      spares_.push_back(one.extract(one.begin()));
    }
  }
  void move_spare(Pairs& to, std::uint64_t first, std::uint64_t second) noexcept {
    spares_.back().value() = {first, second};
    to.insert(std::move(spares_.back()));
    spares_.pop_back();
  }
  void insert(ByteRange range) noexcept {
    move_spare(by_begin_, range.begin, range.end);
    move_spare(by_size_, range.size(), range.begin);
  }
  void forget(ByteRange range) noexcept {
    spares_.push_back(by_begin_.extract({range.begin, range.end}));
    spares_.push_back(by_size_.extract({range.size(), range.begin}));
  }
  void give(ByteRange range) noexcept {
    const auto next = by_begin_.lower_bound({range.begin, 0});
    const ByteRange behind = next != by_begin_.end() ? ByteRange{next->first, next->second} : ByteRange{};
    if (next != by_begin_.begin() && std::prev(next)->second == range.begin) {
      const ByteRange before{std::prev(next)->first, range.begin};
      forget(before);
      range.begin = before.begin;
    }
    if (behind.begin == range.end) {
      forget(behind);
      range.end = behind.end;
    }
    insert(range);
  }

  Pairs by_begin_;  // begin, end
  Pairs by_size_;   // size, begin
  /// Nodes for either. Of all three there are twice as many as ranges were donated and are allocated: no more holes can come to be.
  std::vector<Pairs::node_type> spares_;
};

}  // namespace semcache::memory
