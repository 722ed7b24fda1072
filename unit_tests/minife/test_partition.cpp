// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/partition.hpp>

#include <gtest/gtest.h>

namespace {

using namespace minife;

TEST(Partition, CoversTheMeshWithoutOverlap) {
  const Box mesh{{0, 0, 0}, {7, 11, 5}};
  for (int parts = 1; parts <= 12; ++parts) {
    const std::vector<Box> boxes = partition_elements(mesh, parts);
    ASSERT_EQ(boxes.size(), static_cast<std::size_t>(parts));

    std::int64_t total = 0;
    for (std::size_t a = 0; a < boxes.size(); ++a) {
      total += boxes[a].count();
      for (std::size_t b = a + 1; b < boxes.size(); ++b) EXPECT_TRUE(intersect(boxes[a], boxes[b]).empty());
    }
    EXPECT_EQ(total, mesh.count()) << parts << " parts";
  }
}

TEST(Partition, HalvesZFirstThenYThenX) {
  const Box mesh{{0, 0, 0}, {8, 8, 8}};

  EXPECT_EQ(partition_elements(mesh, 2)[0], (Box{{0, 0, 0}, {8, 8, 4}}));
  EXPECT_EQ(partition_elements(mesh, 4)[1], (Box{{0, 4, 0}, {8, 8, 4}}));
  EXPECT_EQ(partition_elements(mesh, 8)[7], (Box{{4, 4, 4}, {8, 8, 8}}));
}

TEST(Partition, GivesThreeRanksNearlyAThirdEach) {
  const std::vector<Box> boxes = partition_elements(Box{{0, 0, 0}, {9, 9, 9}}, 3);

  EXPECT_EQ(boxes[0], (Box{{0, 0, 0}, {9, 9, 3}}));
  EXPECT_EQ(boxes[1], (Box{{0, 0, 3}, {9, 5, 9}}));  // four of nine lines go up: 9 * (1/2), truncated
  EXPECT_EQ(boxes[2], (Box{{0, 5, 3}, {9, 9, 9}}));
}

TEST(Partition, NodesOfAllPartsAreTheNodesOfTheMesh) {
  const Box mesh{{0, 0, 0}, {6, 5, 4}};
  for (int parts = 1; parts <= 8; ++parts) {
    std::int64_t nodes = 0;
    for (const Box& box : partition_elements(mesh, parts)) nodes += owned_nodes(box, mesh).count();
    EXPECT_EQ(nodes, all_nodes(mesh).count());
  }
}

}  // namespace
