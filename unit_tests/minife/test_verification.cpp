// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/verification.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace minife;

TEST(AnalyticTemperature, IsASixthInTheCentre) {
  // Six such problems, one for each face held at 1, add up to 1 everywhere; in the centre all are equal.
  EXPECT_NEAR(analytic_temperature(0.5, 0.5, 0.5), 1.0 / 6, 1e-12);
}

TEST(AnalyticTemperature, SixFacesAddUpToOneElsewhere) {
  const auto t = [](double x, double y, double z) { return analytic_temperature(x, y, z); };
  const double x = 0.3;
  const double y = 0.45;
  const double z = 0.6;
  const double sum = t(x, y, z) + t(1 - x, y, z) + t(y, x, z) + t(1 - y, x, z) + t(z, x, y) + t(1 - z, x, y);
  EXPECT_NEAR(sum, 1, 1e-10);
}

class Verify : public ::testing::Test {
 protected:
  std::vector<double> exact(const LocalGrid& grid) const {
    std::vector<double> x(static_cast<std::size_t>(grid.rows()));
    const Index3& n = grid.elements();
    for_each(grid.owned(), [&](const Index3& p) {
      x[static_cast<std::size_t>(grid.row_of(p))] =
          p[0] == 0 || p[0] == n[0] ? 0.5
                                    : analytic_temperature(static_cast<double>(p[0]) / n[0],
                                                           static_cast<double>(p[1]) / n[1],
                                                           static_cast<double>(p[2]) / n[2]);
    });
    return x;
  }
};

TEST_F(Verify, AcceptsTheExactSolutionOnAnyMesh) {
  for (const int n : {2, 3, 7, 10, 21}) {
    const LocalGrid grid({n, n, n}, 1, 0);
    const Verification v = verify(grid, exact(grid).data(), MPI_COMM_WORLD);
    EXPECT_TRUE(v.passed) << n;
    EXPECT_GT(v.nodes_compared, 0) << n;
    EXPECT_LT(v.largest_error, 1e-12) << n;
  }
}

TEST_F(Verify, RefusesAWrongValueInTheCentre) {
  const LocalGrid grid({10, 10, 10}, 1, 0);
  for (const double wrong : {0.0, 0.3, std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> x = exact(grid);
    x[static_cast<std::size_t>(grid.row_of({5, 5, 5}))] = wrong;
    EXPECT_FALSE(verify(grid, x.data(), MPI_COMM_WORLD).passed) << wrong;
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
