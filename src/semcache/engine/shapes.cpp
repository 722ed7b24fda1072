// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/shapes.hpp>

namespace semcache::engine {

void Shapes::shape(Memory& m, const Region& region) {
  if (region.is_range() || !m.live || m.snapshot()) return;
  s_.directory.shape(m.datum, region.pitch, most_extents(m));
}

void Shapes::keep_maps_short(Transaction& t, Memory& of) noexcept {
  if (!of.live || of.snapshot() || s_.directory.wanted(of.datum).extent_count() <= most_extents(of)) return;
  // The memory of a part cannot hold all of the array, nor can a device where that is larger than the budget.
  const auto holds_all = [&](Memory& side) { return !side.part && residency_.fits_as_a_whole(side); };
  Memory* whole = holds_all(of) ? &of : nullptr;
  for (const SlotId slot : s_.directory.slots(of.datum)) {
    if (whole == nullptr && holds_all(s_.memory_of(slot))) whole = &s_.memory_of(slot);
  }
  // What is in use on the host is not waited for either.
  const auto in_use = [&](const Memory& side) { return bool(hazards_.host_uses_of(side.datum, side.all(), Mode::writes)); };
  if (whole == nullptr || in_use(of)) return;
  Memory& m = *whole;
  // While a fault is served, maps are not shortened: the fault does not need that, and its thread may hold what would be waited
  // for. A fault adds extents of whole pages only, so there are not many more before the next copy or message.
  if (here().served_address != nullptr) return;
  const Kept kept(m);
  try {
    t.run([&]() -> Obstacle {
      if (kept.freed() || in_use(m)) return {};
      if (const Obstacle o = preparation_.meet(m, m.all(), Access::read_write)) return o;
      s_.directory.renumber(m.slot, m.all());
      m.write_check.reset();
      return {};
    });
  } catch (const std::exception&) {  // I9: the caller's request is met; the maps stay long until the next time
  }
}

Requirement Shapes::fitting(Memory& m, const Region& region, Access mode) {
  shape(m, region);
  const bool as_it_is = region.columns <= most_pieces || s_.directory.held(m.slot).takes(region);
  if (as_it_is) return {&m, region, mode};
  return {&m, region.hull(), mode == Access::overwrite ? Access::read_write : mode};
}

void Shapes::count_hull(const Memory& m, const Region& columns, const Region& used) noexcept {
  if (!columns.is_range() && used != columns && (used.is_range() || m.part)) s_.recorder.count(trace::Event::hulls, m.label);
}

/// Returns the bytes of the array on the pages of a region: columns, where they begin a whole number of pages apart and leave pages between
/// them.
Region Shapes::pages_of(const Memory& m, const Region& r) const {
  const std::uint64_t page = s_.page_bytes, first = round_down(r.begin, page), width = round_up(r.begin + r.width, page) - first;
  if (!r.is_range() && r.columns <= most_pieces && r.pitch % page == 0 && width < r.pitch && first + (r.columns - 1) * r.pitch + width <= m.bytes) {
    return {first, width, r.columns, r.pitch};
  }
  return ByteRange{first, std::min(m.bytes, round_up(r.end(), page))};
}

void Shapes::fit(Transaction& t, Requirement& part) {
  Memory& m = *part.memory;
  if (is_no_array(m)) return;  // `begin_launch` reports it
  const Region asked = part.range;
  if (m.part) {  // its pages are nobody else's, and it has no bytes between its columns
    shape(m, part.range);
    if (part.range.columns <= most_pieces || s_.directory.held(m.slot).takes(part.range)) return;
    const Region all = m.layout.is_range() ? Region(part.range.hull()) : m.layout;
    if (all != part.range && part.mode == Access::overwrite) part.mode = Access::read_write;
    part.range = all;
    count_hull(m, asked, all);
    return;
  }
  const SpaceId first = part.first;
  part = fitting(m, part.range, part.mode);
  part.first = first;
  // Frameworks round sizes up. Bytes behind the last element that nobody has ever written count as written with it, so that the array can
  // be held exclusively as a whole.
  constexpr std::uint64_t most_padding = 64;
  const ByteRange behind{part.range.end(), m.bytes};
  if (writes(part.mode) && part.range.is_range() && !behind.empty() && behind.size() <= most_padding && !s_.directory.defined(m.datum, behind)) {
    part.range = ByteRange{part.range.begin, m.bytes};
  }
  if (s_.guarded(m)) {
    const Region pages = pages_of(m, part.range);
    if (pages != part.range && part.mode == Access::overwrite) part.mode = Access::read_write;
    part.range = pages;
    shape(m, pages);
  }
  count_hull(m, asked, part.range);
  if (part.range.size() < m.bytes) keep_maps_short(t, m);
}

}  // namespace semcache::engine
