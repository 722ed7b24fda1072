// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "ledger.hpp"
#include "options.hpp"

#include <cstdint>
#include <string>

namespace semcache::advisor {

/// What a report says beside the ledger's content.
struct Circumstances {
  std::uint64_t interface_version = 0;  ///< of Kokkos' tools interface
  bool finalized = false;               ///< Kokkos was; otherwise the process ends without it
  bool saw_device = false;              ///< a space of a GPU was used
  double program_seconds = 0;           ///< from the start of Kokkos to the report
  double advisor_seconds = 0;           ///< the part of them that the advisor took, summed over threads
};

/// Prints the summary on stderr, and writes the report that the options ask for. Never throws: what cannot be written is one line
/// on stderr.
void write_reports(const Ledger& ledger, const Circumstances& circumstances, const Options& options) noexcept;

}  // namespace semcache::advisor
