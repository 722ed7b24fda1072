// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include "reference_solve.hpp"

#include <gtest/gtest.h>

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

/// Printed by the reference program, one rank.
TEST(ReferenceSolve, OtherSizesAsTheReference) {
  const std::vector<double> cube = residual_history(Ensemble({20, 20, 20}, 1));
  EXPECT_EQ(cube.size(), 65U);
  EXPECT_NEAR(cube[19], 0.00656352, 1e-7);

  const std::vector<double> brick = residual_history(Ensemble({16, 9, 30}, 3));
  EXPECT_EQ(brick.size(), 107U);
  EXPECT_NEAR(brick[0], 17.6265, 1e-4);
  EXPECT_NEAR(brick[19], 0.0252427, 1e-6);
}

}  // namespace
