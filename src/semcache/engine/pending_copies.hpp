// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/directory/directory.hpp>

#include <algorithm>
#include <cstdint>
#include <new>

namespace semcache::engine {

/// Pending bytes of data: a deep_copy has given them a content that none of the datum's own slots has held since. Bytes that are
/// overwritten or freed while they are pending are counted as dropped. This serves counters only, so bytes are forgotten where
/// the host has no memory for them.
class PendingCopies {
 public:
  /// @param directory  must outlive this object; it tells how a datum's maps are cut into columns
  explicit PendingCopies(const directory::Directory& directory) noexcept : directory_(directory) {}

  /// Notes that the bytes are pending.
  void add(DatumId datum, const Region& range) noexcept { set(datum, range, pending); }

  [[nodiscard]] bool any(DatumId datum) const noexcept { return !pending_.empty() && pending_.count(datum.value) != 0; }

  /// Returns whether all bytes that are noted belong to data that exist, and lie within them.
  [[nodiscard]] bool agree_with_directory() const {
    return std::all_of(pending_.begin(), pending_.end(), [&](const auto& of_datum) {
      return directory_.live(DatumId{of_datum.first}) && directory_.size(DatumId{of_datum.first}) == of_datum.second.size();
    });
  }

  /// Forgets a datum. Returns how many of its bytes were pending.
  std::uint64_t forget(DatumId datum) noexcept {
    const std::uint64_t taken = take(datum, ByteRange{0, directory_.size(datum)});
    pending_.erase(datum.value);  // a map whose extents cannot merge stays when nothing is pending
    return taken;
  }

  /// Returns how many bytes of `range` were pending. None of them is pending afterwards.
  std::uint64_t take(DatumId datum, const Region& range) noexcept {
    if (!any(datum)) return 0;
    std::uint64_t taken = 0;
    pending_.find(datum.value)->second.all_of(range, [&](const Region& piece, directory::ValueRef state) {
      taken += state == pending ? piece.size() : 0;
      return true;
    });
    if (taken > 0) set(datum, range, not_pending);
    return taken;
  }

 private:
  // The map's references serve as states: those that are no numbers are the same for all bytes.
  static constexpr directory::ValueRef not_pending{directory::undefined_value, 0};
  static constexpr directory::ValueRef pending{directory::no_value, 0};

  void set(DatumId datum, const Region& range, directory::ValueRef state) noexcept {
    if (range.empty()) return;
    try {
      auto& map = pending_.try_emplace(datum.value, directory_.size(datum), not_pending).first->second;
      if (const std::uint64_t pitch = directory_.pitch(datum); map.pitch() != pitch) {
        if (auto other = map.shaped(pitch, SIZE_MAX)) map = std::move(*other);
      }
      for_each_in_shape(range, map.pitch(), [&](const Region& part) {
        map.make_room(part);
        map.assign(part, state, [](const auto&, int) {});
      });
      if (const directory::ValueRef* const all = map.uniform(); all == nullptr || *all == pending) return;
    } catch (const std::bad_alloc&) {
    }
    pending_.erase(datum.value);
  }

  const directory::Directory& directory_;
  base::HashMap<std::uint32_t, directory::RegionMap> pending_;  ///< by datum
};

}  // namespace semcache::engine
