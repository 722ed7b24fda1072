// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

/// For which launches a profiler takes a GPU's times. It delays each of them by about `cost_ns`. So where launches follow each other within some
/// microseconds only a part of them has times: `spell_launches` in a row, and then none for as long as keeps the delay within the fraction 1 / `share` of
/// the time of both.
namespace semcache::policy::timed_launches {

inline constexpr std::uint32_t spell_launches = 64;
inline constexpr std::uint64_t cost_ns = 1200;
inline constexpr std::uint64_t switch_ns = 20'000;  ///< to begin and to end taking times
inline constexpr std::uint64_t share = 50;
/// So long a spell and what follows it must take together. Launches that are farther apart than a spell's part of that (76 us) all have times.
inline constexpr std::uint64_t cycle_ns = (spell_launches * cost_ns + switch_ns) * share;

/// Returns for how long launches have no times behind a spell that took so long; 0: the next ones have times, too.
[[nodiscard]] constexpr std::uint64_t pause_ns(std::uint64_t elapsed_ns) noexcept { return elapsed_ns < cycle_ns ? cycle_ns - elapsed_ns : 0; }

}  // namespace semcache::policy::timed_launches
