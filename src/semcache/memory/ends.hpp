// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>
#include <semcache/plan/step.hpp>

#include <algorithm>

namespace semcache::memory {

/// Returns a position of an array's memory as the end of a step.
[[nodiscard]] inline plan::End end_at(const Memory& m, std::uint64_t position) noexcept {
  const Region& layout = m.layout;
  if (!layout.empty()) position -= layout.begin;
  if (!layout.is_range()) position = position / layout.pitch * layout.width + position % layout.pitch;
  return {m.space, m.slot, position, m.address + position, m.label, nullptr, m.snapshot()};
}

/// Returns a region of an array's memory as the end of a step.
[[nodiscard]] inline plan::End end_at(const Memory& m, const Region& region) noexcept {
  plan::End end = end_at(m, region.begin);
  const Region& layout = m.layout;
  const bool of_its_columns = !layout.is_range() && region.pitch % layout.pitch == 0;  // otherwise they lie in one of its columns
  if (!region.is_range()) end.pitch = of_its_columns ? region.pitch / layout.pitch * layout.width : region.pitch;
  return end;
}

/// Returns how many columns of the region, from the first one on, lie at one distance from each other in the memory, so that they can be
/// the end of a step. (A memory whose columns lie side by side has those of another pitch at several distances.)
[[nodiscard]] inline std::uint64_t columns_at_one_distance(const Memory& m, const Region& region) noexcept {
  const Region& layout = m.layout;
  if (region.is_range() || layout.is_range() || region.pitch % layout.pitch == 0) return region.columns;
  const std::uint64_t in_column = (region.begin - layout.begin) % layout.pitch;
  return std::min(region.columns, (layout.width - in_column - region.width) / region.pitch + 1);
}

/// Returns where a region of an array's positions lies in the memory: the bytes from the memory's first one on. A region whose columns lie at
/// several distances there is all of the memory.
[[nodiscard]] inline Region in_memory(const Memory& m, const Region& region) noexcept {
  if (m.layout.empty()) return region;
  if (columns_at_one_distance(m, region) < region.columns) return ByteRange{0, m.bytes};
  const plan::End end = end_at(m, region);
  return {end.position, region.width, region.columns, end.pitch};
}

/// Returns which positions of the array lie at these bytes of its memory. Bytes of a part that are no rectangle of the array are all of the
/// part.
[[nodiscard]] inline Region positions_at(const Memory& m, const Region& bytes) noexcept {
  const Region& layout = m.layout;
  if (layout.empty()) return bytes;
  if (layout.is_range()) return bytes.moved(static_cast<std::int64_t>(layout.begin));
  const std::uint64_t column = bytes.begin / layout.width, row = bytes.begin % layout.width;
  const std::uint64_t begin = layout.begin + column * layout.pitch + row;
  if (bytes.is_range()) {
    if (row + bytes.width <= layout.width) return ByteRange{begin, begin + bytes.width};
    if (row == 0 && bytes.width % layout.width == 0) return {begin, layout.width, bytes.width / layout.width, layout.pitch};
  } else if (bytes.pitch % layout.width == 0 && row + bytes.width <= layout.width) {
    return {begin, bytes.width, bytes.columns, bytes.pitch / layout.width * layout.pitch};
  }
  return layout;
}

}  // namespace semcache::memory
