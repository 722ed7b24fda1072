// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/solver.hpp>

#include <stdexcept>

namespace minife {

std::string why_kernels_is_unavailable(Variant) {
  return "--solver kernels needs Kokkos-Kernels, and this program was built without it. Configure with -DSemCache_ENABLE_KERNELS=ON "
         "where it is installed beside Kokkos (docs/how-to/kokkos-kernels.md), or choose --solver cg.";
}

std::string why_too_large_for_kernels(std::int64_t) { return {}; }

SolveResult solve_kernels(const SolveRequest&) { throw std::invalid_argument(why_kernels_is_unavailable(Variant::semcache)); }

}  // namespace minife
