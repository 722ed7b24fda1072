// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include "reference_solve.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using minife::testing::Ensemble;
using minife::testing::residual_history;

TEST(ReferenceSolve, KnownCaseOnOneAndTwoRanks) {
  for (const int ranks : {1, 2}) {
    const std::vector<double> history = residual_history(Ensemble({10, 10, 10}, ranks));

    ASSERT_EQ(history.size(), 31U) << ranks << " ranks";
    EXPECT_NEAR(history[0], 11.0289, 1e-4);
    EXPECT_NEAR(history[19], 1.23424e-08, 1e-12);
    EXPECT_LT(history[30], 2.22e-16);
    EXPECT_GT(history[29], 2.22e-16);
  }
}

TEST(ReferenceSolve, MoreRanksChangeRoundingOnly) {
  for (const int ranks : {3, 4, 8}) {
    const std::vector<double> history = residual_history(Ensemble({10, 10, 10}, ranks));

    EXPECT_NEAR(static_cast<double>(history.size()), 31, 2) << ranks << " ranks";
    EXPECT_NEAR(history[0], 11.0289, 1e-4);
    EXPECT_NEAR(history[19], 1.23424e-08, 1e-12);
  }
}

/// What the reference implementation of miniFE prints: github.com/Mantevo/miniFE, directory ref/src, commit c79e0f7 of
/// 2026-05-13, `mpirun -np <ranks> miniFE.x nx=<x> ny=<y> nz=<z>`, g++ 12.2 -O3, Open MPI 4.1.4.
struct ReferenceRun {
  minife::Index3 size;
  int ranks;
  std::size_t rows;
  int iterations;
  double first;     ///< residual at the start
  double nineteen;  ///< residual_history[19]; 0: there it differs by some per cent between numbers of ranks, too
};
const ReferenceRun reference_runs[] = {
    {{10, 10, 10}, 1, 1331, 31, 11.0289, 1.23424e-08},
    {{10, 10, 10}, 2, 1331, 31, 11.0289, 1.23424e-08},
    {{10, 10, 10}, 3, 1331, 31, 11.0289, 1.23424e-08},
    {{10, 10, 10}, 4, 1331, 31, 11.0289, 1.23424e-08},
    {{20, 20, 20}, 1, 9261, 65, 21.0191, 0.00656352},
    {{20, 20, 20}, 2, 9261, 65, 21.0191, 0.00656352},
    {{20, 20, 20}, 3, 9261, 65, 21.0191, 0.00656352},
    {{20, 20, 20}, 4, 9261, 65, 21.0191, 0.00656352},
    {{16, 9, 30}, 1, 5270, 107, 17.6265, 0.0252427},
    {{16, 9, 30}, 3, 5270, 107, 17.6265, 0.0252427},
    {{16, 9, 30}, 4, 5270, 107, 17.6265, 0.0252427},
    {{30, 30, 30}, 2, 29791, 100, 31.014, 0},
    {{30, 30, 30}, 4, 29791, 99, 31.014, 0},
    {{40, 12, 25}, 1, 13858, 147, 18.5004, 0},
    {{40, 12, 25}, 2, 13858, 147, 18.5004, 0},
    {{40, 12, 25}, 4, 13858, 146, 18.5004, 0},
};

TEST(ReferenceSolve, AsTheReferenceImplementation) {
  for (const ReferenceRun& run : reference_runs) {
    SCOPED_TRACE(std::to_string(run.size[0]) + " x " + std::to_string(run.size[1]) + " x " + std::to_string(run.size[2]) +
                 " on " + std::to_string(run.ranks));
    const Ensemble ensemble(run.size, run.ranks);
    std::size_t rows = 0;
    for (const auto& part : ensemble.parts) rows += part.rows();
    EXPECT_EQ(rows, run.rows);
    const std::vector<double> history = residual_history(ensemble);

    // The ends are rounding: 2 iterations more or less.
    ASSERT_NEAR(static_cast<double>(history.size()), run.iterations, 2);
    EXPECT_NEAR(history[0], run.first, 1e-5 * run.first);
    if (run.nineteen > 0) {
      EXPECT_NEAR(history[19], run.nineteen, 1e-5 * run.nineteen);
    }
    EXPECT_LT(history.back(), 2.22e-16);
    EXPECT_GT(history[history.size() - 2], 2.22e-16);
  }
}

}  // namespace
