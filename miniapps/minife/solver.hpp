// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/local_grid.hpp>
#include <minife/parameters.hpp>
#include <minife/progress.hpp>
#include <minife/tally.hpp>

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace minife {

struct SolveRequest {
  const LocalGrid& grid;
  MPI_Comm comm;
  int max_iterations;
  Exchange exchange;     ///< host or device, never automatic
  std::uint32_t device;  ///< of the process's devices; 0 in all variants but semcache
  Progress& progress;
  /// Called with the solution by rows, on the host, after the solve. What it reads counts as transfers.
  std::function<void(const double* solution)> inspect;
};

/// The bytes that a rank's part of the system occupies. The transfers are measured against them.
struct SystemBytes {
  std::uint64_t matrix = 0;  ///< values, columns, offsets and send lists
  std::uint64_t rhs = 0;
  std::uint64_t start = 0;     ///< the starting vector
  std::uint64_t solution = 0;
};

struct SolveResult {
  std::vector<double> residual_history;  ///< [j]: 2-norm of the residual after j updates
  int iterations = 0;                    ///< iterations entered
  int products = 0;                      ///< matrix-vector products
  double setup_seconds = 0;  ///< assembly, upload and the residual of the starting vector; the slowest rank
  double cg_seconds = 0;     ///< the iterations, until the device is idle; the slowest rank
  SystemBytes bytes;         ///< of this rank
  std::uint32_t device = 0;  ///< of the process's devices, the one whose memory holds this rank's matrix
  int devices = 1;           ///< on how many of the process's devices this rank computes
  Tally total;               ///< of this rank, from the start to the end of `inspect`
  Tally cg;                  ///< of this rank, during cg_seconds
};

/// These functions assemble, solve and inspect. The problem and the arithmetic are the same, but the variants move the data
/// in different ways. Collective.
/// @pre the caller has initialised Kokkos
/// @throws std::exception  the text names the reason and the remedy. A rank that throws leaves the others waiting, so the
///                         caller must end all of them.
[[nodiscard]] SolveResult solve_naive(const SolveRequest& request);
[[nodiscard]] SolveResult solve_manual(const SolveRequest& request);
[[nodiscard]] SolveResult solve_whole_vector(const SolveRequest& request);
[[nodiscard]] SolveResult solve_semcache(const SolveRequest& request);
[[nodiscard]] SolveResult solve_unified(const SolveRequest& request);

/// Solves the same system through Tpetra and Belos: semcache on SemCache's node, manual on Tpetra's serial node. The residual
/// must fall below 1e-10. The history ends with the norm after the last update.
[[nodiscard]] SolveResult solve_belos(Variant variant, const SolveRequest& request);

/// Solves it by calls of Kokkos-Kernels, in variant semcache, on all devices of the process.
[[nodiscard]] SolveResult solve_kernels(const SolveRequest& request);

[[nodiscard]] SolveResult solve(Solver solver, Variant variant, const SolveRequest& request);

/// These return why this build of the program cannot run a solver in a variant, and the remedy, or an empty text if it can.
[[nodiscard]] std::string why_unavailable(Solver solver, Variant variant);
[[nodiscard]] std::string why_unified_is_unavailable();
[[nodiscard]] std::string why_belos_is_unavailable(Variant variant);
[[nodiscard]] std::string why_kernels_is_unavailable(Variant variant);
/// @param most_nonzeros  of the rank that has the largest matrix
[[nodiscard]] std::string why_too_large(Solver solver, std::int64_t most_nonzeros);
[[nodiscard]] std::string why_too_large_for_kernels(std::int64_t most_nonzeros);

/// These return why a variant cannot run as this process is configured, and the remedy, or an empty text if it can.
/// @pre Kokkos is initialised
[[nodiscard]] std::string why_misconfigured(Variant variant, Exchange exchange, std::uint32_t device);
[[nodiscard]] std::string why_semcache_is_misconfigured(std::uint32_t device);

}  // namespace minife
