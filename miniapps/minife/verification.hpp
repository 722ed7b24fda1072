// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/local_grid.hpp>

#include <mpi.h>

namespace minife {

/// Returns the temperature at a point of the unit cube whose face x = 1 is held at 1 and whose other faces are held at 0,
/// without sources. It is the double sine series of Carslaw & Jaeger, "Conduction of Heat in Solids", section 6.2, summed until
/// the terms are below the last bit of a double, at most 301 per axis.
[[nodiscard]] double analytic_temperature(double x, double y, double z);

struct SolutionSummary {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
};

struct Verification {
  double largest_error = 0;
  std::int64_t nodes_compared = 0;
  bool passed = false;  ///< at least one node was compared, and all are within 0.06, the reference's tolerance
};

/// Summarises the whole solution. Collective. @throws MpiError
[[nodiscard]] SolutionSummary summarise(const LocalGrid& grid, const double* solution, MPI_Comm comm);

/// Compares the solution with the analytic one at the nodes around the centre. These are the nodes within 0.05 of the centre
/// on every axis, as in the reference, or the nearest ones where the mesh is too coarse for that. Collective. @throws MpiError
[[nodiscard]] Verification verify(const LocalGrid& grid, const double* solution, MPI_Comm comm);

}  // namespace minife
