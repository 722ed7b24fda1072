// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/level3.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

// How calls of BLAS level 3 are cut.
namespace semcache::policy {

std::ostream& operator<<(std::ostream& out, const Run& r);  // of test_decomposition.cpp

namespace {

using Runs = std::vector<Run>;
constexpr std::uint64_t enough = UINT64_MAX;

TEST(Level3, TrianglesAreCutByArea) {
  constexpr Independent upper = Independent::columns_of_upper, lower = Independent::columns_of_lower;
  EXPECT_EQ(cut_by_area({0, 100}, 100, upper, 4), (Runs{{0, 50}, {50, 71}, {71, 87}, {87, 100}}));
  EXPECT_EQ(cut_by_area({0, 100}, 100, lower, 4), (Runs{{0, 13}, {13, 29}, {29, 50}, {50, 100}}));
  EXPECT_EQ(cut_by_area({50, 100}, 100, lower, 2), (Runs{{50, 65}, {65, 100}}));
  EXPECT_EQ(cut_by_area({0, 100}, 1000000, lower, 2), (Runs{{0, 50}, {50, 100}}));
  EXPECT_EQ(cut_by_area({0, 1}, 1, lower, 8), (Runs{{0, 1}}));
  EXPECT_EQ(cut_by_area({0, 0}, 0, lower, 8), Runs{});
  for (const Independent triangle : {upper, lower}) {
    for (std::uint64_t n = 1; n < 40; ++n) {
      for (std::size_t p = 1; p < 10; ++p) {
        std::uint64_t done = 0;
        for (const auto& r : cut_by_area({0, n}, n, triangle, p)) {
          EXPECT_EQ(r.begin, done);
          EXPECT_GT(r.end, r.begin);
          done = r.end;
        }
        EXPECT_EQ(done, n);
      }
    }
  }
}

TEST(Level3, CallsWithAAtASideAreCutByColumnsOrRows) {
  const Level3 symm{Independent::columns, 4, 5, 4, 1, false, false};
  EXPECT_EQ(text_of(cut(symm, shares_of(symm, 2), {1, 0}, 2, {enough, enough}, 2)),
            "device 1, lane 0: reads 0 [0, 4) x [0, 4), reads 1 [0, 4) x [0, 2), overwrites 2 [0, 4) x [0, 2)\n"
            "device 0, lane 0: reads 0 [0, 4) x [0, 4), reads 1 [0, 4) x [3, 4), overwrites 2 [0, 4) x [3, 4)\n"
            "device 1, lane 1: reads 0 [0, 4) x [0, 4), reads 1 [0, 4) x [2, 3), overwrites 2 [0, 4) x [2, 3)\n"
            "device 0, lane 1: reads 0 [0, 4) x [0, 4), reads 1 [0, 4) x [4, 5), overwrites 2 [0, 4) x [4, 5)\n");
  const Level3 trsm{Independent::rows, 4, 3, 3, 0, false, true};
  EXPECT_EQ(text_of(cut(trsm, shares_of(trsm, 2), {0, 1}, 1, {enough, enough}, 2)),
            "device 0, lane 0: reads 0 [0, 3) x [0, 3), updates 1 [0, 2) x [0, 3)\n"
            "device 1, lane 0: reads 0 [0, 3) x [0, 3), updates 1 [2, 4) x [0, 3)\n");
  EXPECT_EQ(cut(trsm, shares_of(trsm, 1), {0}, 1, {9 + 3 * 3}, 2).size(), 4u);  // one row beside A, three times
  EXPECT_EQ(cut(trsm, shares_of(trsm, 1), {0}, 1, {9 + 3 * 6}, 2).size(), 2u);
  EXPECT_EQ(cut(trsm, shares_of(trsm, 1), {0}, 1, {8}, 2).size(), 1u);  // A has no room
  // alpha is zero
  const Level3 zero{Independent::columns, 2, 3, 0, 0, false, false};
  EXPECT_EQ(text_of(cut(zero, shares_of(zero, 1), {0}, 1, {enough}, 2)), "device 0, lane 0: reads 0 [0, 0) x [0, 0), overwrites 1 [0, 2) x [0, 3)\n");
}

TEST(Level3, TrianglesHaveBlocksOnTheDiagonalAndRectangles) {
  // Only the rectangle is overwritten: the block has elements of the other triangle.
  const Level3 lower{Independent::columns_of_lower, 4, 4, 3, 1, false, false};
  EXPECT_EQ(text_of(cut(lower, {{0, 2}, {2, 4}}, {1, 0}, 1, {enough, enough}, 2)),
            "device 1, lane 0: reads 0 [0, 2) x [0, 3), reads 0 [2, 4) x [0, 3), updates 1 [0, 2) x [0, 2), overwrites 1 [2, 4) x [0, 2)\n"
            "device 0, lane 0: reads 0 [2, 4) x [0, 3), reads 0 [0, 0) x [0, 0), updates 1 [2, 4) x [2, 4), overwrites 1 [0, 0) x [0, 0)\n");
  const Level3 upper{Independent::columns_of_upper, 4, 4, 3, 2, true, true};
  EXPECT_EQ(text_of(cut(upper, {{1, 3}}, {0}, 1, {enough}, 2)),
            "device 0, lane 0: reads 0 [0, 3) x [1, 3), reads 0 [0, 3) x [0, 1), reads 1 [0, 3) x [1, 3), reads 1 [0, 3) x [0, 1), "
            "updates 2 [1, 3) x [1, 3), updates 2 [0, 1) x [1, 3)\n");
}

/// Every element of the triangle belongs to one task, no task has an element of the other triangle but in its block on the diagonal, and tasks
/// have the inputs that their results need, and fit if that is possible.
TEST(Level3, TasksCoverATriangleOnce) {
  for (const bool lower : {false, true}) {
    for (std::uint64_t n = 1; n < 12; ++n) {
      for (std::size_t p = 1; p <= 8; ++p) {
        for (const std::uint64_t elements : {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{15}, std::uint64_t{100}, enough}) {
          const Level3 call{lower ? Independent::columns_of_lower : Independent::columns_of_upper, n, n, 2, 1, true, true};
          const Runs shares = shares_of(call, p);
          EXPECT_LE(shares.size(), p);
          std::vector<std::uint32_t> devices(shares.size());
          for (std::uint32_t d = 0; d < devices.size(); ++d) devices[d] = d;
          std::map<std::pair<std::uint64_t, std::uint64_t>, int> times;
          for (const Task& t : cut(call, shares, devices, 2, std::vector<std::uint64_t>(shares.size(), elements), 2)) {
            ASSERT_EQ(t.parts.size(), 4u);
            const Rectangle &block = t.parts[2].where, &rest = t.parts[3].where;
            EXPECT_FALSE(block.empty() && rest.empty());
            std::uint64_t size = 0;
            for (const TaskPart& part : t.parts) {
              if (!part.where.empty()) size += (part.where.row_end - part.where.row_begin) * (part.where.column_end - part.where.column_begin);
            }
            if (elements >= 15) {
              EXPECT_LE(size, elements / 3);
            }
            for (const Rectangle& r : {block, rest}) {
              if (r.empty()) continue;
              EXPECT_EQ(t.parts[0].where.column_begin, r.column_begin);
              EXPECT_EQ(t.parts[0].where.column_end, r.column_end);
              for (std::uint64_t i = r.row_begin; i < r.row_end; ++i) {
                for (std::uint64_t j = r.column_begin; j < r.column_end; ++j) {
                  if (lower ? i >= j : i <= j) ++times[{i, j}];
                }
              }
            }
            if (!block.empty()) {
              EXPECT_EQ(block.row_begin, block.column_begin);
              EXPECT_EQ(block.row_end, block.column_end);
            }
            if (!rest.empty()) {
              EXPECT_EQ(t.parts[1].where.column_begin, rest.row_begin);
              EXPECT_EQ(t.parts[1].where.column_end, rest.row_end);
              EXPECT_TRUE(lower ? rest.row_begin >= rest.column_end : rest.row_end <= rest.column_begin);
            }
          }
          EXPECT_EQ(times.size(), n * (n + 1) / 2);
          for (const auto& [at, count] : times) EXPECT_EQ(count, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace semcache::policy
