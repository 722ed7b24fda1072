// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>
#include <semcache/plan/step.hpp>

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
  // Columns of another pitch lie in one column of the memory.
  if (!region.is_range()) end.pitch = !m.layout.is_range() && region.pitch == m.layout.pitch ? m.layout.width : region.pitch;
  return end;
}

}  // namespace semcache::memory
