// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/assembly.hpp>
#include <minife/element.hpp>

#include "host_system.hpp"

#include <gtest/gtest.h>

namespace {

using namespace minife;
using minife::testing::Ensemble;
using minife::testing::global_matrix;
using minife::testing::HostSystem;

TEST(Element, HasNoHeatFlowAtUniformTemperature) {
  const ElementSystem e = element_system({0.1, 0.2, 0.3});
  for (unsigned a = 0; a < 8; ++a) {
    double sum = 0;
    for (unsigned b = 0; b < 8; ++b) {
      sum += e.matrix[a][b];
      EXPECT_EQ(e.matrix[a][b], e.matrix[b][a]);
    }
    EXPECT_NEAR(sum, 0, 1e-16);
    EXPECT_NEAR(e.load[a], 0.1 * 0.2 * 0.3 / 8, 1e-17);
  }
}

TEST(Element, OfTheUnitCubeIsTheTextbookMatrix) {
  const ElementSystem e = element_system({1, 1, 1});
  // Node 0 against itself, an edge, a face diagonal, the space diagonal. The quadrature is good to nine digits.
  EXPECT_NEAR(e.matrix[0][0], 1.0 / 3, 1e-9);
  EXPECT_NEAR(e.matrix[0][1], 0, 1e-9);
  EXPECT_NEAR(e.matrix[0][3], -1.0 / 12, 1e-9);
  EXPECT_NEAR(e.matrix[0][7], -1.0 / 12, 1e-9);
}

TEST(Assembly, IsSymmetricAndTheSameOnAnyNumberOfRanks) {
  const Index3 elements{4, 5, 3};
  const auto serial = global_matrix(Ensemble(elements, 1));
  for (const auto& [at, value] : serial) {
    EXPECT_EQ(value, serial.at({at.second, at.first})) << at.first << ", " << at.second;
  }
  for (const int ranks : {2, 3, 4, 8}) EXPECT_EQ(global_matrix(Ensemble(elements, ranks)), serial) << ranks << " ranks";
}

TEST(Assembly, RowsFarFromTheBoundarySumToZero) {
  const HostSystem s({6, 6, 6}, 1, 0);
  s.grid.for_each_row([&](const Index3& node) {
    const auto row = static_cast<std::size_t>(s.grid.row_of(node));
    double sum = 0;
    for (auto k = static_cast<std::size_t>(s.offsets[row]); k < static_cast<std::size_t>(s.offsets[row + 1]); ++k) {
      sum += s.values[k];
    }
    const auto inside = [&](int margin) {
      for (const int i : node) {
        if (i < margin || i > 6 - margin) return false;
      }
      return true;
    };
    if (inside(2)) {
      EXPECT_NEAR(sum, 0, 1e-15);
    } else if (!inside(1)) {
      EXPECT_EQ(sum, 1);  // a row of the identity
      EXPECT_EQ(s.rhs[row], node[x_axis] == 6 ? 1 : 0);
    } else {
      EXPECT_GT(sum, 0);  // what the boundary columns held went to the right-hand side
    }
  });
}

TEST(Assembly, WritesEveryElementAndNothingElse) {
  for (int rank = 0; rank < 3; ++rank) {
    const HostSystem s({5, 4, 6}, 3, rank);
    for (const double v : s.values) EXPECT_TRUE(std::isfinite(v));
    for (const double v : s.rhs) EXPECT_TRUE(std::isfinite(v));
    for (const std::int32_t c : s.columns) {
      EXPECT_GE(c, 0);
      EXPECT_LT(c, s.grid.rows() + s.grid.externals());
    }
    EXPECT_EQ(s.offsets.front(), 0);
    EXPECT_EQ(s.offsets.back(), s.grid.nonzeros());
    for (std::int32_t row = 0; row < s.grid.interior_rows(); ++row) {
      for (auto k = s.offsets[static_cast<std::size_t>(row)]; k < s.offsets[static_cast<std::size_t>(row) + 1]; ++k) {
        EXPECT_LT(s.columns[static_cast<std::size_t>(k)], s.grid.rows());
      }
    }
  }
}

TEST(Assembly, NarrowAndWideOffsetsAgree) {
  const HostSystem wide({3, 4, 5}, 2, 1);
  std::vector<double> values(wide.values.size());
  std::vector<std::int32_t> columns(wide.columns.size());
  std::vector<std::int32_t> offsets(wide.offsets.size());
  std::vector<double> rhs(wide.rhs.size());
  std::vector<std::int32_t> send(wide.send_entries.size());

  assemble(wide.grid, SystemArrays<std::int32_t>{values.data(), columns.data(), offsets.data(), rhs.data(), send.data()});

  EXPECT_EQ(values, wide.values);
  EXPECT_EQ(columns, wide.columns);
  EXPECT_EQ(std::vector<std::int64_t>(offsets.begin(), offsets.end()), wide.offsets);
  EXPECT_FALSE(needs_wide_offsets(2147483647));
  EXPECT_TRUE(needs_wide_offsets(2147483648));
}

}  // namespace
