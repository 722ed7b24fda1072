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

Memory& Tiles::acquire(std::uint32_t device, const Memory& array, const Region& where, std::uint64_t unit) {
  const std::uint64_t least_large = s_.devices.at(device)->memory->budget_bytes() / 16;
  const auto is_far_larger = [&](const Memory& tile) { return tile.bytes > least_large && tile.bytes / 2 > where.size(); };
  // Of the tiles that are a little larger the largest is taken, otherwise the smallest.
  const auto worth = [&](const Memory& tile) {
    const auto bytes = static_cast<std::int64_t>(tile.bytes);
    return tile.bytes <= where.size() + least_large ? bytes : -bytes;
  };
  {
    const Transaction t(transactions_);
    if (array.live && array.datum.valid()) {
      const auto found = of_datum_.find(array.datum.value);
      if (found != of_datum_.end()) {
        Tile* best = nullptr;
        for (Tile& tile : found->second) {
          if (tile.memory->space != device_space(device) || !holds(*tile.memory, where, unit) || is_far_larger(*tile.memory)) continue;
          if (best == nullptr || worth(*tile.memory) > worth(*best->memory)) best = &tile;
        }
        if (best != nullptr) {
          ++best->users;
          best->used = ++uses_;
          return *best->memory;
        }
      }
    }
  }
  // Another thread may make the same tile meanwhile. Then there are two, and the content is right in both.
  Memory* const made = lifetimes_.allocate_part(device, array, where);
  try {
    const Transaction t(transactions_);
    left_.reserve(count_ + 1);
    List& list = of_datum_[made->datum.value];
    list.push_back({made, ++uses_, 1});
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
    const Transaction t(transactions_);
    const auto left = std::find(left_.begin(), left_.end(), &tile);
    if (left == left_.end()) {
      List& list = of_datum_.at(tile.datum.value);
      const auto at = std::find_if(list.begin(), list.end(), [&](const Tile& other) { return other.memory == &tile; });
      --at->users;
      return;
    }
    left_.erase(left);
    --count_;
  }
  lifetimes_.deallocate(&tile);
}

void Tiles::shorten(List& list, std::size_t most) noexcept {
  const auto idle = [&](const Tile& tile) { return tile.users == 0 && !s_.pinned(*tile.memory); };
  for (std::size_t many = static_cast<std::size_t>(std::count_if(list.begin(), list.end(), idle)); many > most; --many) {
    auto oldest = list.end();
    for (auto at = list.begin(); at != list.end(); ++at) {
      if (idle(*at) && (oldest == list.end() || at->used < oldest->used)) oldest = at;
    }
    if (oldest == list.end()) return;
    Memory& gone = *oldest->memory;
    list.erase(oldest);
    --count_;
    lifetimes_.abandon(gone);
  }
}

void Tiles::end() noexcept {
  const Transaction t(transactions_);
  for (auto& [datum, list] : of_datum_) shorten(list, 0);
}

void Tiles::leave(Memory& array) noexcept {
  if (!any_.load(std::memory_order_relaxed)) return;
  const Transaction t(transactions_);
  if (!array.live || !array.datum.valid()) return;
  const auto found = of_datum_.find(array.datum.value);
  if (found == of_datum_.end()) return;
  array.leaving = true;
  for (const SlotId slot : s_.directory.slots(array.datum)) {
    const Memory& side = s_.memory_of(slot);
    if (!side.part && !side.leaving) return;  // the other side needs them
  }
  shorten(found->second, 0);
  for (const Tile& tile : found->second) left_.push_back(tile.memory);  // in use: they go when their use ends
  of_datum_.erase(found);
}

}  // namespace semcache::engine
