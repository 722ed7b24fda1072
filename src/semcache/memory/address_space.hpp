// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace semcache::memory {

/// Free ranges of an address space, in offsets; first fit, coalescing. Not thread-safe. A call that throws changes nothing.
class AddressSpace {
 public:
  void donate(ByteRange range) {
    add_spare();
    give(range);
  }

  /// `bytes` bytes at a multiple of `alignment` (a power of two); nothing if no free range is large enough.
  /// Nothing has changed where it throws.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const ByteRange hole{it->first, it->second};
      const std::uint64_t begin = round_up(hole.begin, alignment);
      if (begin > hole.end || hole.end - begin < bytes) continue;
      add_spare();
      forget(it);
      if (begin > hole.begin) insert({hole.begin, begin});
      if (begin + bytes < hole.end) insert({begin + bytes, hole.end});
      return begin;
    }
    return std::nullopt;
  }

  void release(ByteRange range) noexcept {
    give(range);
    spares_.erase(spares_.begin());
  }

 private:
  using Nodes = std::map<std::uint64_t, std::uint64_t>;

  void add_spare() { spares_.emplace(0, 0); }
  void insert(ByteRange range) noexcept {
    Nodes::node_type node = spares_.extract(spares_.begin());
    node.key() = range.begin;
    node.mapped() = range.end;
    free_.insert(std::move(node));
  }
  void forget(Nodes::iterator it) noexcept { spares_.insert(free_.extract(it)); }
  void give(ByteRange range) noexcept {
    auto next = free_.lower_bound(range.begin);
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->second == range.begin) {
        range.begin = previous->first;
        forget(previous);
      }
    }
    if (next != free_.end() && next->first == range.end) {
      range.end = next->second;
      forget(next);
    }
    insert(range);
  }

  Nodes free_;  // begin -> end
  /// Nodes for `free_`. Of both there are as many as ranges were donated and are allocated: no more holes can come to be.
  std::multimap<std::uint64_t, std::uint64_t> spares_;
};

}  // namespace semcache::memory
