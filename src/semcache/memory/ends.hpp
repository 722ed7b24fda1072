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

}  // namespace semcache::memory
