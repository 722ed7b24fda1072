// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <unordered_map>

namespace semcache::engine {

/// Bytes of data that a deep_copy gave a content which none of their own slots has held since: counted as dropped where
/// they are overwritten or freed before they were. For counters only: without memory bytes are forgotten.
class PendingCopies {
 public:
  void add(DatumId datum, ByteRange range) noexcept {
    try {
      (void)take(datum, range);
      auto& pieces = pending_[datum.value];
      auto next = pieces.lower_bound(range.begin);
      if (next != pieces.begin() && std::prev(next)->second == range.begin) {
        (--next)->second = range.end;
      } else {
        next = pieces.emplace_hint(next, range.begin, range.end);
      }
      if (const auto behind = std::next(next); behind != pieces.end() && behind->first == next->second) {
        next->second = behind->second;
        pieces.erase(behind);
      }
    } catch (const std::bad_alloc&) {
    }
  }

  [[nodiscard]] bool any(DatumId datum) const noexcept { return !pending_.empty() && pending_.count(datum.value) != 0; }

  /// How many bytes of `range` were pending. None is any more.
  std::uint64_t take(DatumId datum, ByteRange range) noexcept {
    const auto found = pending_.empty() ? pending_.end() : pending_.find(datum.value);
    if (found == pending_.end() || range.empty()) return 0;
    auto& pieces = found->second;
    std::uint64_t taken = 0;
    auto at = pieces.upper_bound(range.begin);
    if (at != pieces.begin()) --at;
    while (at != pieces.end() && at->first < range.end) {
      const ByteRange piece{at->first, at->second};
      const ByteRange part = intersect(piece, range);
      if (part.empty()) {
        ++at;
        continue;
      }
      taken += part.size();
      if (part.begin > piece.begin) {
        at->second = part.begin;
        ++at;
      } else {
        at = pieces.erase(at);
      }
      if (part.end < piece.end) {
        try {
          at = std::next(pieces.emplace_hint(at, part.end, piece.end));
        } catch (const std::bad_alloc&) {
        }
      }
    }
    if (pieces.empty()) pending_.erase(found);
    return taken;
  }

 private:
  std::unordered_map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> pending_;  ///< by datum: begin to end
};

}  // namespace semcache::engine
