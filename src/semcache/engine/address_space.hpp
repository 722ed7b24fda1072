// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstdint>
#include <map>
#include <optional>

namespace semcache::engine {

/// Free ranges of an address space, in offsets; first fit, coalescing. Not thread-safe.
class AddressSpace {
 public:
  void donate(ByteRange range) { release(range); }

  /// `bytes` bytes at a multiple of `alignment` (a power of two); nothing if no free range is large enough.
  [[nodiscard]] std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const ByteRange hole{it->first, it->second};
      const std::uint64_t begin = round_up(hole.begin, alignment);
      if (begin > hole.end || hole.end - begin < bytes) continue;
      free_.erase(it);
      if (begin > hole.begin) free_.emplace(hole.begin, begin);
      if (begin + bytes < hole.end) free_.emplace(begin + bytes, hole.end);
      return begin;
    }
    return std::nullopt;
  }

  void release(ByteRange range) {
    auto next = free_.lower_bound(range.begin);
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->second == range.begin) {
        range.begin = previous->first;
        free_.erase(previous);
      }
    }
    if (next != free_.end() && next->first == range.end) {
      range.end = next->second;
      free_.erase(next);
    }
    free_.emplace(range.begin, range.end);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> end
};

}  // namespace semcache::engine
