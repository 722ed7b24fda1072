// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/memory/memory.hpp>
#include <semcache/plan/step.hpp>

namespace semcache::memory {

/// Returns a position of an array's memory as the end of a step.
[[nodiscard]] inline plan::End end_at(const Memory& m, std::uint64_t position) noexcept {
  return {m.space, m.slot, position, m.address + position, m.label, nullptr, m.snapshot()};
}

/// Returns a region of an array's memory as the end of a step. A saved copy of several columns has them side by side.
[[nodiscard]] inline plan::End end_at(const Memory& m, const Region& region) noexcept {
  if (m.saved.is_range()) {
    plan::End end = end_at(m, region.begin);
    end.pitch = region.pitch;
    return end;
  }
  const std::uint64_t column = region.begin / m.saved.pitch;
  plan::End end = end_at(m, column * m.saved.width + region.begin % m.saved.pitch);
  end.pitch = region.is_range() ? 0 : m.saved.width;
  return end;
}

}  // namespace semcache::memory
