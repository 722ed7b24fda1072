// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "decision.hpp"

#include <cstdint>

/// What becomes of the calls of this process, for the report.
namespace semcache::blas {

/// The routines that this library has. The order is that of their names in report.cpp.
enum class Routine : std::uint8_t { dgemm };
inline constexpr std::size_t routines = 1;
[[nodiscard]] const char* name_of(Routine routine) noexcept;

/// Counts a call. Allocates nothing.
void count(Routine routine, Verdict verdict) noexcept;
/// Gives the counts so far to the report of the runtime that runs.
void give_counts_to_runtime() noexcept;

}  // namespace semcache::blas
