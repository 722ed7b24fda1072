// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// The conjugate gradient iteration, made of steps that each variant carries out.
#include <minife/assembly.hpp>
#include <minife/cg_kernels.hpp>
#include <minife/mpi_support.hpp>
#include <minife/solver.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace minife {

[[nodiscard]] inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[nodiscard]] inline Extents extents_of(const LocalGrid& grid) {
  return {grid.rows(), grid.interior_rows(), grid.externals(), grid.sent_entries()};
}

template <class Offset>
[[nodiscard]] SystemBytes bytes_of(const LocalGrid& grid) {
  const auto nonzeros = static_cast<std::uint64_t>(grid.nonzeros());
  const auto rows = static_cast<std::uint64_t>(grid.rows());
  const auto sent = static_cast<std::uint64_t>(grid.sent_entries());
  SystemBytes b;
  b.matrix = nonzeros * (sizeof(double) + sizeof(std::int32_t)) + (rows + 1) * sizeof(Offset) +
             sent * sizeof(std::int32_t);
  b.rhs = rows * sizeof(double);
  b.start = rows * sizeof(double);
  b.solution = rows * sizeof(double);
  return b;
}

/// Passes assembly progress on to Progress.
inline void report_assembly(double share_done, void* progress) {
  static_cast<Progress*>(progress)->assembling(share_done);
}

/// Computes A p. The exchange of boundary values is hidden behind the product over the interior rows.
template <class Steps>
void multiply(Steps& steps) {
  steps.begin_exchange();
  steps.multiply_interior();
  steps.finish_exchange();
  steps.multiply_boundary();
}

/// Solves A x = b from the x that the steps hold, until the norm of the residual is at most the machine precision.
///
/// As in the reference, an iteration is entered if the norm at the start of the previous iteration was above the tolerance.
/// The norm at its own start enters the history, and its update is carried out in any case.
/// @param setup_start  the value of seconds_now() when the set-up began
/// @throws std::runtime_error  the matrix is not positive definite
/// @throws MpiError
template <class Steps>
SolveResult iterate(Steps& steps, const SolveRequest& request, double setup_start) {
  constexpr double tolerance = std::numeric_limits<double>::epsilon();
  SolveResult result;
  result.residual_history.reserve(static_cast<std::size_t>(request.max_iterations));

  steps.start_direction();
  multiply(steps);
  result.products = 1;
  double rr = sum(steps.initial_residual(), request.comm);
  double previous_rr = 0;
  steps.wait();
  result.setup_seconds = seconds_now() - setup_start;

  check_mpi(MPI_Barrier(request.comm), "MPI_Barrier");
  const Tally before = steps.tally();
  const double start = seconds_now();
  double norm = std::sqrt(rr);
  for (int k = 1; k <= request.max_iterations && norm > tolerance; ++k) {
    // The first direction is the residual itself, so beta is 0.
    const double beta = k == 1 ? 0 : rr / previous_rr;
    norm = std::sqrt(rr);
    result.residual_history.push_back(norm);
    result.iterations = k;
    request.progress.iterating(k, request.max_iterations, norm);
    if (rr == 0) break;  // the solution is exact, and the update would divide 0 by 0

    steps.next_direction(beta);
    multiply(steps);
    ++result.products;
    const double curvature = sum(steps.curvature(), request.comm);
    if (!(curvature > 0)) {
      throw std::runtime_error("breakdown in iteration " + std::to_string(k) + ": p.(A p) = " +
                               std::to_string(curvature) + " with residual norm " + std::to_string(norm) +
                               "; the matrix on the device is not positive definite, so its data are damaged");
    }
    const double alpha = rr / curvature;
    const bool last = k == request.max_iterations || !(norm > tolerance);
    previous_rr = rr;
    if (last) {
      steps.advance_solution(alpha);
    } else {
      rr = sum(steps.advance(alpha), request.comm);
    }
  }
  steps.wait();
  result.cg_seconds = maximum(seconds_now() - start, request.comm);
  result.setup_seconds = maximum(result.setup_seconds, request.comm);
  const Tally after = steps.tally();
  result.cg.h2d = after.h2d - before.h2d;
  result.cg.d2h = after.d2h - before.d2h;
  result.cg.d2d = after.d2d - before.d2d;
  return result;
}

}  // namespace minife
