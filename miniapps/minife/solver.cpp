// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/kokkos_session.hpp>
#include <minife/mpi_support.hpp>
#include <minife/solver.hpp>

#include <stdexcept>

namespace minife {

SolveResult solve(Solver solver, Variant variant, const SolveRequest& request) {
  if (solver == Solver::belos) return solve_belos(variant, request);
  if (solver == Solver::kernels) return solve_kernels(request);
  switch (variant) {
    case Variant::naive: return solve_naive(request);
    case Variant::manual: return solve_manual(request);
    case Variant::whole_vector: return solve_whole_vector(request);
    case Variant::semcache: return solve_semcache(request);
    case Variant::unified: return solve_unified(request);
  }
  throw std::logic_error("unknown variant");
}

std::string why_unavailable(Solver solver, Variant variant) {
  if (solver == Solver::belos) return why_belos_is_unavailable(variant);
  if (solver == Solver::kernels) return why_kernels_is_unavailable(variant);
  return variant == Variant::unified ? why_unified_is_unavailable() : std::string();
}

std::string why_too_large(Solver solver, std::int64_t most_nonzeros) {
  return solver == Solver::kernels ? why_too_large_for_kernels(most_nonzeros) : std::string();
}

std::string why_misconfigured(Variant variant, Exchange exchange, std::uint32_t device) {
  if (variant == Variant::manual && exchange == Exchange::device && !device_is_emulated() && !mpi_takes_device_addresses()) {
    return "--exchange device: this MPI library takes no device addresses (MPIX_Query_cuda_support). Use --exchange host, "
           "or --variant semcache, which needs no such library.";
  }
  return variant == Variant::semcache ? why_semcache_is_misconfigured(device) : std::string();
}

}  // namespace minife
