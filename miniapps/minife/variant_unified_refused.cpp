// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/solver.hpp>

#include <stdexcept>

namespace minife {

std::string why_unified_is_unavailable() {
  return "--variant unified needs CUDA managed memory, and this program's Kokkos has no CUDA: its device is emulated. "
         "Build against a Kokkos with CUDA (Kokkos_ROOT), or choose naive, manual or semcache.";
}

SolveResult solve_unified(const SolveRequest&) { throw std::invalid_argument(why_unified_is_unavailable()); }

}  // namespace minife
