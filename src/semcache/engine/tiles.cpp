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
  const auto least_large = [&] { return s_.devices.at(device)->memory->budget_bytes() / 16; };
  const auto is_far_larger = [&](const Memory& tile) { return tile.bytes / 2 > where.size() && tile.bytes > least_large(); };
  // Of the tiles that are a little larger the largest is taken, otherwise the smallest.
  const auto worth = [&](const Memory& tile) {
    const auto bytes = static_cast<std::int64_t>(tile.bytes);
    return tile.bytes <= where.size() + least_large() ? bytes : -bytes;
  };
  Tile* best = nullptr;
  const bool few = list.tiles.size() <= 4;  // as many as a search would look at
  auto at = few ? list.tiles.begin() : list.tiles.lower_bound(where.begin - std::min(where.begin, list.longest));
  for (; at != list.tiles.end() && at->first <= where.begin; ++at) {
    const Memory& tile = *at->second.memory;
    if (tile.space != device_space(device) || !holds(tile, where, unit) || is_far_larger(tile)) continue;
    if (best == nullptr || worth(tile) > worth(*best->memory)) best = &at->second;
  }
  return best;
}

Memory* Tiles::use(std::uint32_t device, const Memory& array, const Region& where, std::uint64_t unit) noexcept {
  const auto found = array.live && array.datum.valid() ? of_datum_.find(array.datum.value) : of_datum_.end();
  Tile* const tile = found == of_datum_.end() ? nullptr : find(device, found->second, where, unit);
  if (tile == nullptr) return nullptr;
  tile->memory->tile_users.fetch_add(1, std::memory_order_relaxed);
  tile->used = ++uses_;
  return tile->memory;
}

Memory& Tiles::acquire(std::uint32_t device, const Memory& array, const Region& where, std::uint64_t unit) {
  Wanted wanted{&array, where, unit, nullptr};
  acquire(device, &wanted, 1);
  return *wanted.tile;
}

void Tiles::acquire(std::uint32_t device, Wanted* wanted, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    {
      const Look look(transactions_);
      while (i < count && (wanted[i].tile = use(device, *wanted[i].array, wanted[i].where, wanted[i].unit)) != nullptr) ++i;
    }
    if (i == count) return;
    try {
      wanted[i].tile = &make(device, *wanted[i].array, wanted[i].where);
    } catch (...) {
      while (i > 0) release(*wanted[--i].tile);
      throw;
    }
  }
}

Memory& Tiles::make(std::uint32_t device, const Memory& array, const Region& where) {
  // Another thread may make the same tile meanwhile. Then there are two, and the content is right in both.
  Memory* const made = lifetimes_.allocate_part(device, array, where);
  try {
    const Transaction t(transactions_);
    List& list = of_datum_[made->datum.value];
    list.tiles.insert({made->all().begin, {made, ++uses_}});
    list.longest = std::max(list.longest, made->all().size());
    made->tile_users.store(1, std::memory_order_relaxed);
    any_.store(true);
    shorten(list, most_idle);
  } catch (...) {
    lifetimes_.deallocate(made);
    throw;
  }
  return *made;
}

void Tiles::release(Memory& tile) noexcept {
  // The last user frees a tile whose array has been freed. Any other tile may go from here on.
  if (tile.tile_users.fetch_sub(1, std::memory_order_acq_rel) == (Memory::tile_has_left | 1)) lifetimes_.deallocate(&tile);
}

void Tiles::shorten(List& list, std::size_t most) noexcept {
  // A look at each tile takes time where thousands are in use, so there not each new one causes it.
  if (list.tiles.size() <= most || (most > 0 && ++list.made_since_look < (list.tiles.size() - most) / 64)) return;
  list.made_since_look = 0;
  const auto idle = [&](const Tile& tile) { return tile.memory->tile_users.load(std::memory_order_acquire) == 0 && !s_.pinned(*tile.memory); };
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
  while (!list.tiles.empty()) {
    Memory* const tile = list.tiles.begin()->second.memory;
    list.tiles.erase(list.tiles.begin());
    // One that is in use goes when its last use ends.
    if (tile->tile_users.fetch_or(Memory::tile_has_left, std::memory_order_acq_rel) == 0) return tile;
  }
  of_datum_.erase(found);
  return nullptr;
}

}  // namespace semcache::engine
