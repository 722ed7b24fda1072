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

}  // namespace semcache::memory
