// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/tiles.hpp>

#include <algorithm>

namespace semcache::engine {

namespace {

/// Do these bytes lie in the tile's memory as a rectangle of its columns?
bool holds(const Memory& tile, const Region& where, std::uint64_t unit) noexcept {
  const Region& l = tile.layout;
  if (where.begin < l.begin || where.end() > l.end()) return false;
  if (l.is_range()) return (where.begin - l.begin) % unit == 0;
  const std::uint64_t row = (where.begin - l.begin) % l.pitch;
  return row % unit == 0 && l.width % unit == 0 && row + where.width <= l.width && (where.is_range() || where.pitch % l.pitch == 0);
}

}  // namespace

Tiles::Tile* Tiles::find(std::uint32_t device, List& list, const Region& where, std::uint64_t unit) const noexcept {
  const std::uint64_t least_large = s_.devices.at(device)->memory->budget_bytes() / 16;
  const auto is_far_larger = [&](const Memory& tile) { return tile.bytes > least_large && tile.bytes / 2 > where.size(); };
  // Of the tiles that are a little larger the largest is taken, otherwise the smallest.
  const auto worth = [&](const Memory& tile) {
    const auto bytes = static_cast<std::int64_t>(tile.bytes);
    return tile.bytes <= where.size() + least_large ? bytes : -bytes;
  };
  Tile* best = nullptr;
  const auto end = list.tiles.upper_bound(where.begin);
  for (auto at = list.tiles.lower_bound(where.begin - std::min(where.begin, list.longest)); at != end; ++at) {
    const Memory& tile = *at->second.memory;
    if (tile.space != device_space(device) || !holds(tile, where, unit) || is_far_larger(tile)) continue;
    if (best == nullptr || worth(tile) > worth(*best->memory)) best = &at->second;
  }
  return best;
}

Memory& Tiles::acquire(std::uint32_t device, const Memory& array, const Region& where, std::uint64_t unit) {
  {
    const Look look(transactions_);
    const auto found = array.live && array.datum.valid() ? of_datum_.find(array.datum.value) : of_datum_.end();
    if (Tile* const tile = found == of_datum_.end() ? nullptr : find(device, found->second, where, unit)) {
      if (tile->users++ == 0) --found->second.unused;
      tile->used = ++uses_;
      return *tile->memory;
    }
  }
  // Another thread may make the same tile meanwhile. Then there are two, and the content is right in both.
  Memory* const made = lifetimes_.allocate_part(device, array, where);
  try {
    const Transaction t(transactions_);
    left_.reserve(count_ + 1);
    List& list = of_datum_[made->datum.value];
    list.tiles.insert({made->all().begin, {made, ++uses_, 1}});
    list.longest = std::max(list.longest, made->all().size());
    ++count_;
    any_.store(true);
    shorten(list, most_idle);
  } catch (...) {
    lifetimes_.deallocate(made);
    throw;
  }
  return *made;
}

void Tiles::release(Memory& tile) noexcept {
  {
    const Look look(transactions_);
    const auto left = std::find(left_.begin(), left_.end(), &tile);
    if (left == left_.end()) {
      List& list = of_datum_.at(tile.datum.value);
      auto at = list.tiles.lower_bound(tile.all().begin);
      while (at->second.memory != &tile) ++at;
      if (--at->second.users == 0) ++list.unused;
      return;
    }
    left_.erase(left);
    --count_;
  }
  lifetimes_.deallocate(&tile);
}

void Tiles::shorten(List& list, std::size_t most) noexcept {
  if (list.unused <= most) return;
  const auto idle = [&](const Tile& tile) { return tile.users == 0 && !s_.pinned(*tile.memory); };
  const auto idle_since = [&](std::uint64_t use) {
    const auto is_one = [&](const auto& entry) { return entry.second.used <= use && idle(entry.second); };
    return static_cast<std::size_t>(std::count_if(list.tiles.begin(), list.tiles.end(), is_one));
  };
  const std::size_t all = idle_since(uses_);
  if (all <= most) return;
  std::uint64_t last = 0;  // the last use of the newest tile that goes, between `last` and `newest`
  for (std::uint64_t newest = uses_; last < newest;) {
    const std::uint64_t middle = last + (newest - last) / 2;
    if (idle_since(middle) < all - most) {
      last = middle + 1;
    } else {
      newest = middle;
    }
  }
  for (auto at = list.tiles.begin(); at != list.tiles.end();) {
    if (at->second.used > last || !idle(at->second)) {
      ++at;
      continue;
    }
    Memory& unused = *at->second.memory;
    at = list.tiles.erase(at);
    --list.unused;
    --count_;
    lifetimes_.abandon(unused);
  }
}

void Tiles::end() noexcept {
  const Transaction t(transactions_);
  for (auto& [datum, list] : of_datum_) shorten(list, 0);
}

void Tiles::leave(Memory& array) noexcept {
  if (!any_.load(std::memory_order_relaxed)) return;
  while (Memory* const pinned = leave_once(array)) lifetimes_.deallocate(pinned);
}

Memory* Tiles::leave_once(Memory& array) noexcept {
  const Transaction t(transactions_);
  if (!array.live || !array.datum.valid()) return nullptr;
  const auto found = of_datum_.find(array.datum.value);
  if (found == of_datum_.end()) return nullptr;
  array.leaving = true;
  for (const SlotId slot : s_.directory.slots(array.datum)) {
    const Memory& side = s_.memory_of(slot);
    if (!side.part && !side.leaving) return nullptr;  // the other side needs them
  }
  List& list = found->second;
  shorten(list, 0);
  const auto pinned = std::find_if(list.tiles.begin(), list.tiles.end(), [](const auto& entry) { return entry.second.users == 0; });
  if (pinned != list.tiles.end()) {
    Memory* const tile = pinned->second.memory;
    list.tiles.erase(pinned);
    --list.unused;
    --count_;
    return tile;
  }
  for (const auto& [begin, tile] : list.tiles) left_.push_back(tile.memory);  // in use: they go when their use ends
  of_datum_.erase(found);
  return nullptr;
}

}  // namespace semcache::engine
