// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace semcache::engine {

/// Free ranges of an address space, in offsets; first fit, coalescing. Not thread-safe.
class AddressSpace {
 public:
  /// Adds a range that was never allocated here.
  void donate(ByteRange range) {
    prepare_for_one_more();
    insert(range);
  }

  /// `bytes` bytes at a multiple of `alignment` (a power of two); nothing if no free range is large enough.
  /// Nothing has changed where it throws.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const ByteRange hole{it->first, it->second};
      const std::uint64_t begin = round_up(hole.begin, alignment);
      if (begin > hole.end || hole.end - begin < bytes) continue;
      prepare_for_one_more();
      if (begin == hole.begin) {
        take(it);
      } else {
        it->second = begin;
      }
      if (begin + bytes < hole.end) add({begin + bytes, hole.end});
      return begin;
    }
    return std::nullopt;
  }

  /// Gives back what was allocated.
  void release(ByteRange range) noexcept {
    insert(range);
    --most_free_;
  }

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;  // begin -> end

  void insert(ByteRange range) noexcept {
    auto next = free_.lower_bound(range.begin);
    if (next != free_.end() && next->first == range.end) {
      range.end = next->second;
      next = take(next);
    }
    if (next != free_.begin()) {
      if (const auto previous = std::prev(next); previous->second == range.begin) {
        previous->second = range.end;
        return;
      }
    }
    add(range);
  }

  /// A release needs no memory: there are as many nodes as there can be free ranges, one behind each range in use and one for
  /// each donation.
  void prepare_for_one_more() {
    if (nodes_ == most_free_) {
      if (spare_.capacity() == nodes_) spare_.reserve(2 * nodes_ + 8);
      Ranges one;
      one.emplace(0, 0);
      spare_.push_back(one.extract(one.begin()));
      ++nodes_;
    }
    ++most_free_;
  }
  void add(ByteRange range) noexcept {
    Ranges::node_type node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = range.begin;
    node.mapped() = range.end;
    free_.insert(std::move(node));
  }
  Ranges::iterator take(Ranges::iterator it) noexcept {
    const auto next = std::next(it);
    spare_.push_back(free_.extract(it));
    return next;
  }

  Ranges free_;
  std::vector<Ranges::node_type> spare_;  ///< has room for all nodes
  std::size_t nodes_ = 0;                 ///< in free_ and spare_
  std::size_t most_free_ = 0;             ///< ranges in use and donations
};

}  // namespace semcache::engine
