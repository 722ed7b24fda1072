// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <string>

namespace semcache::advisor {

/// What the environment asks for (docs/reference/advisor.md).
struct Options {
  std::string report;                       ///< SEMCACHE_ADVISOR_REPORT, as of SEMCACHE_REPORT; empty: the summary alone
  std::uint64_t largest_bytes = UINT64_MAX; ///< SEMCACHE_ADVISOR_LARGEST: longer copies are counted and not examined
  int rank = -1;                            ///< of MPI; negative: no launcher
};

/// Reads the environment. Never throws for a bad value: one line on stderr says why the value has no effect.
[[nodiscard]] Options read_options();

}  // namespace semcache::advisor
