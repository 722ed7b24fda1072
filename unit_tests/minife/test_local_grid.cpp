// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/local_grid.hpp>

#include "host_system.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

namespace {

using namespace minife;
using minife::testing::Ensemble;

class LocalGridOn : public ::testing::TestWithParam<int> {};

TEST_P(LocalGridOn, NumbersEveryRowOnceInteriorFirst) {
  const int ranks = GetParam();
  std::int64_t rows = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const LocalGrid grid({6, 7, 5}, ranks, rank);
    std::int32_t expected = 0;
    grid.for_each_row([&](const Index3& node) {
      EXPECT_EQ(grid.row_of(node), expected);
      bool reaches_out = false;
      for_each(grow(Box{node, {node[0] + 1, node[1] + 1, node[2] + 1}}, grid.mesh_nodes()),
               [&](const Index3& other) { reaches_out = reaches_out || !grid.owned().contains(other); });
      EXPECT_EQ(expected >= grid.interior_rows(), reaches_out);
      ++expected;
    });
    EXPECT_EQ(expected, grid.rows());
    rows += grid.rows();
  }
  EXPECT_EQ(rows, 7 * 8 * 6);
}

TEST_P(LocalGridOn, BothSidesOfAnExchangeMeanTheSameNodes) {
  const int ranks = GetParam();
  const Ensemble all({6, 7, 5}, ranks);
  // Every rank holds the mesh position of each of its nodes, so what arrives says where it comes from.
  Ensemble::Vector positions = all.zeros();
  for (std::size_t rank = 0; rank < all.parts.size(); ++rank) {
    const LocalGrid& grid = all.parts[rank].grid;
    for_each(grid.owned(), [&](const Index3& node) {
      positions[rank][static_cast<std::size_t>(grid.row_of(node))] =
          static_cast<double>(grid.mesh_nodes().position(node));
    });
  }

  for (int rank = 0; rank < ranks; ++rank) {
    const LocalGrid& grid = all.parts[static_cast<std::size_t>(rank)].grid;
    const std::vector<double> external = all.receive(rank, positions);
    std::int64_t referred = 0;
    for_each(grow(grid.owned(), grid.mesh_nodes()), [&](const Index3& node) {
      if (grid.owned().contains(node)) return;
      ++referred;
      const std::int32_t column = grid.column_of(node);
      ASSERT_GE(column, grid.rows());
      EXPECT_EQ(external.at(static_cast<std::size_t>(column - grid.rows())),
                static_cast<double>(grid.mesh_nodes().position(node)));
    });
    EXPECT_EQ(referred, grid.externals());
  }
}

TEST_P(LocalGridOn, SendsOnlyBoundaryRows) {
  for (const auto& part : Ensemble({6, 7, 5}, GetParam()).parts) {
    for (const std::int32_t row : part.send_entries) {
      EXPECT_GE(row, part.grid.interior_rows());
      EXPECT_LT(row, part.grid.rows());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LocalGridOn, ::testing::Values(1, 2, 3, 4, 7, 8, 16));

TEST(LocalGrid, CountsTheKnownCase) {
  const LocalGrid grid({10, 10, 10}, 1, 0);

  EXPECT_EQ(grid.rows(), 1331);
  EXPECT_EQ(grid.nonzeros(), 29791);
  EXPECT_EQ(grid.interior_rows(), 1331);
  EXPECT_EQ(grid.externals(), 0);
}

std::string refusal(const Index3& elements, int ranks) {
  try {
    const LocalGrid grid(elements, ranks, 0);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(LocalGrid, RefusesARankWithoutElements) {
  EXPECT_NE(refusal({1, 1, 1}, 2).find("1 x 1 x 1 elements cannot be split over 2 ranks"), std::string::npos);
}

TEST(LocalGrid, RefusesMoreColumnsThan32BitsCanNumber) {
  EXPECT_NE(refusal({1300, 1300, 1300}, 1).find("Use more ranks"), std::string::npos);
  EXPECT_EQ(refusal({1300, 1300, 1300}, 2), "accepted");
}

}  // namespace
