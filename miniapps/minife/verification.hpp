// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/local_grid.hpp>

#include <mpi.h>

namespace minife {

/// Temperature at a point of the unit cube whose face x = 1 is held at 1 and whose other faces are held at 0, without
/// sources: the double sine series of Carslaw & Jaeger, "Conduction of Heat in Solids", section 6.2. Summed until the
/// terms are below the last bit of a double, at most 301 per axis.
[[nodiscard]] double analytic_temperature(double x, double y, double z);

struct SolutionSummary {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
};

struct Verification {
  double largest_error = 0;
  std::int64_t nodes_compared = 0;
  bool passed = false;  ///< at least one node compared, and all within 0.06, the reference's tolerance
};

/// Reads the whole solution. Collective. @throws MpiError
[[nodiscard]] SolutionSummary summarise(const LocalGrid& grid, const double* solution, MPI_Comm comm);

/// Compares with the analytic solution at the nodes around the centre: within 0.05 of it on every axis, as in the
/// reference, or nearest to it where the mesh is so coarse that none is. Collective. @throws MpiError
[[nodiscard]] Verification verify(const LocalGrid& grid, const double* solution, MPI_Comm comm);

}  // namespace minife
