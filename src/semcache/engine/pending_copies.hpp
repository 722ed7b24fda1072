// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/region.hpp>
#include <semcache/directory/extent_map.hpp>

#include <cstdint>
#include <new>
#include <unordered_map>

namespace semcache::engine {

/// Pending bytes of data: a deep_copy has given them a content that none of the datum's own slots has held since. Bytes that are
/// overwritten or freed while they are pending are counted as dropped. This serves counters only, so bytes are forgotten where
/// the host has no memory for them.
class PendingCopies {
 public:
  /// Notes that the bytes are pending.
  void add(DatumId datum, const Region& range) noexcept {
    for (std::uint64_t c = 0; c < range.columns; ++c) set(datum, range.column(c), {true});
  }

  [[nodiscard]] bool any(DatumId datum) const noexcept { return !pending_.empty() && pending_.count(datum.value) != 0; }

  /// Returns how many bytes of `range` were pending. None of them is pending afterwards.
  std::uint64_t take(DatumId datum, const Region& range) noexcept {
    std::uint64_t taken = 0;
    for (std::uint64_t c = 0; c < range.columns && any(datum); ++c) taken += take_range(datum, range.column(c));
    return taken;
  }

 private:
  std::uint64_t take_range(DatumId datum, ByteRange range) noexcept {
    if (!any(datum)) return 0;
    std::uint64_t taken = 0;
    pending_.find(datum.value)->second.for_each(range, [&](ByteRange piece, State s) { taken += s.pending ? piece.size() : 0; });
    if (taken > 0) set(datum, range, {false});
    return taken;
  }
  struct State {
    bool pending = false;
    [[nodiscard]] State advanced(std::uint64_t) const noexcept { return *this; }
    friend bool operator==(State a, State b) noexcept { return a.pending == b.pending; }
  };
  void set(DatumId datum, ByteRange range, State state) noexcept {
    if (range.empty()) return;
    try {
      auto& pieces = pending_.try_emplace(datum.value, UINT64_MAX, State{}).first->second;
      pieces.assign(range, state, [](const auto&, int) {});
      if (const State* const all = pieces.uniform(); all == nullptr || all->pending) return;
    } catch (const std::bad_alloc&) {
    }
    pending_.erase(datum.value);
  }

  std::unordered_map<std::uint32_t, directory::BasicExtentMap<State>> pending_;  ///< by datum
};

}  // namespace semcache::engine
