// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Conjugate gradients in plain loops on the assembled systems: the numbers that every variant must reproduce, without
/// Kokkos, MPI or a device in the way.
#include "host_system.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using minife::testing::Ensemble;

std::vector<double> residual_history(const Ensemble& a) {
  std::vector<double> history;
  Ensemble::Vector x = a.zeros();
  Ensemble::Vector p = a.zeros();
  Ensemble::Vector r = a.zeros();
  for (std::size_t rank = 0; rank < a.parts.size(); ++rank) r[rank] = a.parts[rank].rhs;
  double rr = Ensemble::dot(r, r);
  double previous = rr;
  double norm = std::sqrt(rr);
  while (history.size() < 200 && norm > std::numeric_limits<double>::epsilon()) {
    const double beta = history.empty() ? 0 : rr / previous;
    norm = std::sqrt(rr);
    history.push_back(norm);
    for (std::size_t rank = 0; rank < p.size(); ++rank) {
      for (std::size_t i = 0; i < p[rank].size(); ++i) p[rank][i] = r[rank][i] + beta * p[rank][i];
    }
    const Ensemble::Vector ap = a.multiply(p);
    const double alpha = rr / Ensemble::dot(p, ap);
    for (std::size_t rank = 0; rank < p.size(); ++rank) {
      for (std::size_t i = 0; i < p[rank].size(); ++i) {
        x[rank][i] += alpha * p[rank][i];
        r[rank][i] -= alpha * ap[rank][i];
      }
    }
    previous = rr;
    rr = Ensemble::dot(r, r);
  }
  return history;
}

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
