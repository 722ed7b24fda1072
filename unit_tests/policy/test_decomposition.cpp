// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/decomposition.hpp>
#include <semcache/policy/spread.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

// How library calls are cut: tables of a question and its answer.
namespace semcache::policy {

std::ostream& operator<<(std::ostream& out, const Run& r) { return out << "[" << r.begin << ", " << r.end << ")"; }

namespace {

using Runs = std::vector<Run>;

// Each part may begin anywhere in a page.
TEST(PolicyMemory, PartsFitByWholePages) {
  const Memory memory{10 * 64, 64};
  EXPECT_TRUE(fit_together(memory, {64, 64, 64, 64, 64}));
  EXPECT_TRUE(fit_together(memory, {9 * 64}));
  EXPECT_FALSE(fit_together(memory, {9 * 64 + 1}));
  EXPECT_TRUE(fit_together(memory, {1, 1, 1, 1, 1, 0}));
  EXPECT_FALSE(fit_together(memory, {1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(bytes_of_task({std::uint64_t{3} << 30, std::uint64_t{2} << 20}), std::uint64_t{1} << 30);
  EXPECT_EQ(bytes_of_task(memory), 2u * 64);
  EXPECT_EQ(bytes_of_task({64, 64}), 21u);
}

TEST(Decomposition, ChainsHavePiecesThatArriveEarlyAtTheLastDevice) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  EXPECT_EQ(pieces_of_chain(1024 * mib, 2), 1u) << "nobody passes anything on";
  EXPECT_EQ(pieces_of_chain(0, 8), 1u);
  EXPECT_EQ(pieces_of_chain(mib, 8), 1u) << "it takes as long as a latency";
  EXPECT_EQ(pieces_of_chain(64 * mib, 3), 6u);
  EXPECT_EQ(pieces_of_chain(64 * mib, 4), 8u);
  EXPECT_EQ(pieces_of_chain(64 * mib, 8), 5u) << "the host submits seven transfers for each piece";
  EXPECT_EQ(pieces_of_chain(64 * mib, 8, 8), 1u) << "and here fifty-six";
  EXPECT_EQ(pieces_of_chain(1024 * mib, 4, 4), 34u);
  // A chain is faster than one device that sends to all others in turn, and about as fast as any chain where there are many bytes.
  for (const std::size_t devices : {3u, 4u, 8u, 16u}) {
    for (std::uint64_t size = mib; size <= 4096 * mib; size *= 2) {
      constexpr double latency = 6e-6;
      const auto others = static_cast<double>(devices - 1);
      const auto seconds = [&](std::size_t pieces) {
        const double transfer = static_cast<double>(size) / static_cast<double>(pieces) / bytes_between_devices_a_second;
        const double period = std::max(transfer, others * latency) + latency;  // the host submits a piece for each of the others
        return static_cast<double>(pieces) * period + (others - 1) * (transfer + latency);
      };
      const std::size_t pieces = pieces_of_chain(size, devices);
      if (pieces == 1) continue;
      EXPECT_LT(seconds(pieces), others * (static_cast<double>(size) / bytes_between_devices_a_second + latency)) << devices << " devices, " << size;
      for (std::size_t any = 1; any < 300; ++any) ASSERT_LE(seconds(pieces), 1.7 * seconds(any)) << devices << " devices, " << size << " bytes, " << any;
    }
  }
}

TEST(Decomposition, EvenCutsDifferByOneGrainAtMost) {
  EXPECT_EQ(cut_evenly(10, 3), (Runs{{0, 4}, {4, 7}, {7, 10}}));
  EXPECT_EQ(cut_evenly(10, 3, 4), (Runs{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(cut_evenly(2, 5), (Runs{{0, 1}, {1, 2}}));
  EXPECT_EQ(cut_evenly(5, 4, 4), (Runs{{0, 4}, {4, 5}}));
  EXPECT_EQ(cut_evenly(0, 4), Runs{});
  EXPECT_EQ(cut_evenly(7, 1, 100), (Runs{{0, 7}}));
}

TEST(Decomposition, PiecesFit) {
  EXPECT_EQ(cut_to_fit({10, 20}, 4), (Runs{{10, 14}, {14, 17}, {17, 20}}));
  EXPECT_EQ(cut_to_fit({10, 20}, 100), (Runs{{10, 20}}));
  EXPECT_EQ(cut_to_fit({0, 3}, 0), (Runs{{0, 1}, {1, 2}, {2, 3}}));  // nothing fits: as small as can be
  EXPECT_EQ(cut_to_fit({0, 64}, 40, 32), (Runs{{0, 32}, {32, 64}}));
}

TEST(Decomposition, ThereAreAtLeast64BlocksOrOneForEachElement) {
  EXPECT_EQ(block_elements(1), 1u);
  EXPECT_EQ(block_elements(127), 1u);
  EXPECT_EQ(block_elements(128), 2u);
  EXPECT_EQ(block_elements(1u << 20), 4096u);
  EXPECT_EQ(block_elements(std::uint64_t{1} << 40), 4096u);
  for (std::uint64_t n = 64; n < 100000; n = n * 3 / 2) EXPECT_GE((n + block_elements(n) - 1) / block_elements(n), 64u) << n;
}

TEST(Decomposition, RowsAreCutByEntries) {
  const std::vector<std::int32_t> even{0, 2, 4, 6, 8};
  EXPECT_EQ(cut_by_entries(even.data(), 4, 2, 1), (Runs{{0, 2}, {2, 4}}));
  const std::vector<std::int32_t> one_long{0, 100, 101, 102, 103};
  EXPECT_EQ(cut_by_entries(one_long.data(), 4, 2, 1), (Runs{{0, 1}, {1, 4}}));
  const std::vector<std::int32_t> empty{0, 0, 0, 0, 0};
  EXPECT_EQ(cut_by_entries(empty.data(), 4, 3, 1), (Runs{{0, 4}}));
  const std::vector<std::int32_t> blocks{0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(cut_by_entries(blocks.data(), 8, 3, 4), (Runs{{0, 4}, {4, 8}}));
  EXPECT_EQ(cut_by_entries(even.data(), 4, 9, 1), (Runs{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  // Where rows count, too, rows without entries are cut.
  EXPECT_EQ(cut_by_entries(empty.data(), 4, 2, 1, 1), (Runs{{0, 2}, {2, 4}}));
  const std::vector<std::int32_t> first_full{0, 4, 4, 4, 4, 4};
  EXPECT_EQ(cut_by_entries(first_full.data(), 5, 3, 1, 1), (Runs{{0, 1}, {1, 2}, {2, 5}}));
}

std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> plain(const std::vector<Held>& held) {
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> p;
  for (const Held& h : held) p.emplace_back(h.run.begin, h.run.end, h.device);
  return p;
}
using Plain = std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>>;

TEST(Decomposition, AVectorIsCutWhereItIsHeld) {
  EXPECT_EQ(plain(cut_as_held(10, {{{5, 10}, 1}, {{0, 5}, 0}}, 2)), (Plain{{0, 5, 0}, {5, 10, 1}}));
  EXPECT_EQ(plain(cut_as_held(10, {{{0, 2}, 0}, {{2, 5}, 0}, {{5, 10}, 1}}, 2)), (Plain{{0, 5, 0}, {5, 10, 1}}));
  EXPECT_EQ(plain(cut_as_held(10, {{{0, 5}, 1}, {{5, 10}, 0}}, 2)), (Plain{{0, 5, 1}, {5, 10, 0}}));
  struct Unfair {
    const char* why;
    std::vector<Held> held;
  };
  for (const Unfair& u : {Unfair{"a gap", {{{0, 4}, 0}, {{5, 10}, 1}}}, Unfair{"one has nearly all", {{{0, 9}, 0}, {{9, 10}, 1}}},
                          Unfair{"two runs of a device", {{{0, 3}, 0}, {{3, 6}, 1}, {{6, 10}, 0}}}, Unfair{"nothing", {}},
                          Unfair{"another device", {{{0, 5}, 0}, {{5, 10}, 7}}}}) {
    EXPECT_TRUE(cut_as_held(10, u.held, 2).empty()) << u.why;
  }
}

TEST(Decomposition, RunsGoWhereTheirBytesAre) {
  using Devices = std::vector<std::uint32_t>;
  EXPECT_EQ(assign({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}), (Devices{0, 1, 2}));
  EXPECT_EQ(assign({{0, 9}, {8, 0}}), (Devices{1, 0}));
  EXPECT_EQ(assign({{5, 0, 0}, {9, 0, 0}, {0, 0, 0}}), (Devices{1, 0, 2}));  // the second run has more of device 0
  EXPECT_EQ(assign({{0, 0, 7}, {0, 0, 0}}), (Devices{2, 1}));
}

TEST(Decomposition, ProductsAreCutSoThatTheSmallerOperandIsRepeated) {
  const auto grid = [](std::uint64_t m, std::uint64_t n, std::size_t p) {
    const Grid g = grid_of({m, n, 5, false, false, false}, p);
    return std::pair(g.rows, g.columns);
  };
  EXPECT_EQ(grid(100, 100, 4), (std::pair<std::size_t, std::size_t>(1, 4)));  // by columns, which are contiguous
  EXPECT_EQ(grid(200, 100, 4), (std::pair<std::size_t, std::size_t>(4, 1)));
  EXPECT_EQ(grid(100, 2, 4), (std::pair<std::size_t, std::size_t>(4, 1)));    // there are not enough columns
  EXPECT_EQ(grid(1, 3, 8), (std::pair<std::size_t, std::size_t>(1, 3)));
}

TEST(Decomposition, ATaskForEachPieceOfEachShare) {
  EXPECT_EQ(text_of(cut(Product{4, 5, 3, false, true, false}, Grid{1, 2}, {1, 0}, {Blocking{1, 2}, Blocking{1, 2}}, 2)),
            "device 1, lane 0: reads 0 [0, 4) x [0, 3), reads 1 [0, 2) x [0, 3), overwrites 2 [0, 4) x [0, 2)\n"
            "device 0, lane 0: reads 0 [0, 4) x [0, 3), reads 1 [3, 4) x [0, 3), overwrites 2 [0, 4) x [3, 4)\n"
            "device 1, lane 1: reads 0 [0, 4) x [0, 3), reads 1 [2, 3) x [0, 3), overwrites 2 [0, 4) x [2, 3)\n"
            "device 0, lane 1: reads 0 [0, 4) x [0, 3), reads 1 [4, 5) x [0, 3), overwrites 2 [0, 4) x [4, 5)\n");
  EXPECT_EQ(text_of(cut({{{0, 3}, 2}, {{3, 4}, 0}}, {Access::read, Access::read_write})),
            "device 2, lane 0: reads 0 [0, 3) x [0, 1), updates 1 [0, 3) x [0, 1)\n"
            "device 0, lane 0: reads 0 [3, 4) x [0, 1), updates 1 [3, 4) x [0, 1)\n");
}

std::uint64_t elements(const Rectangle& r) { return (r.row_end - r.row_begin) * (r.column_end - r.column_begin); }

// No call is cut so by itself (grid_of says why), though it brings fewer elements to four devices.
TEST(Decomposition, AGridOfRowsAndColumns) {
  const std::vector<Blocking> whole(4);
  EXPECT_EQ(text_of(cut(Product{5, 4, 3, false, false, false}, Grid{2, 2}, {3, 2, 1, 0}, whole, 1)),
            "device 3, lane 0: reads 0 [0, 3) x [0, 3), reads 1 [0, 3) x [0, 2), overwrites 2 [0, 3) x [0, 2)\n"
            "device 2, lane 0: reads 0 [3, 5) x [0, 3), reads 1 [0, 3) x [0, 2), overwrites 2 [3, 5) x [0, 2)\n"
            "device 1, lane 0: reads 0 [0, 3) x [0, 3), reads 1 [0, 3) x [2, 4), overwrites 2 [0, 3) x [2, 4)\n"
            "device 0, lane 0: reads 0 [3, 5) x [0, 3), reads 1 [0, 3) x [2, 4), overwrites 2 [3, 5) x [2, 4)\n");
  constexpr std::uint64_t n = 8;
  const Product square{n, n, n, false, false, false};
  const auto elements_to_devices = [&](const Grid& grid) {
    std::uint64_t sum = 0;
    for (const Task& t : cut(square, grid, {0, 1, 2, 3}, whole, 1)) {
      for (const TaskPart& part : t.parts) {
        if (part.mode != Access::overwrite) sum += elements(part.where);
      }
    }
    return sum;
  };
  EXPECT_EQ(elements_to_devices(grid_of(square, 4)), 5 * n * n);
  EXPECT_EQ(elements_to_devices({2, 2}), 4 * n * n);
  EXPECT_EQ(elements_to_devices({4, 1}), 5 * n * n);
}

// The shares of devices of different memory are cut in different ways. Where some terms of the sums come after others, they are added on the same
// lane.
TEST(Decomposition, EachShareIsCutForItself) {
  EXPECT_EQ(text_of(cut(Product{2, 4, 4, false, false, false}, Grid{1, 2}, {1, 0}, {Blocking{1, 1, 1}, Blocking{2, 1, 2, Stays::part_of_c}}, 2)),
            "device 1, lane 0: reads 0 [0, 2) x [0, 4), reads 1 [0, 4) x [0, 2), overwrites 2 [0, 2) x [0, 2)\n"
            "device 0, lane 0: reads 0 [0, 1) x [0, 2), reads 1 [0, 2) x [2, 4), overwrites 2 [0, 1) x [2, 4)\n"
            "device 0, lane 0: reads 0 [0, 1) x [2, 4), reads 1 [2, 4) x [2, 4), updates 2 [0, 1) x [2, 4)\n"
            "device 0, lane 1: reads 0 [1, 2) x [0, 2), reads 1 [0, 2) x [2, 4), overwrites 2 [1, 2) x [2, 4)\n"
            "device 0, lane 1: reads 0 [1, 2) x [2, 4), reads 1 [2, 4) x [2, 4), updates 2 [1, 2) x [2, 4)\n");
  // What stays decides the order: here two columns of B for all rows.
  EXPECT_EQ(text_of(cut(Product{2, 4, 1, true, true, true}, Grid{1, 1}, {0}, {Blocking{2, 2, 1, Stays::columns_of_b}}, 1)),
            "device 0, lane 0: reads 0 [0, 1) x [0, 1), reads 1 [0, 2) x [0, 1), updates 2 [0, 1) x [0, 2)\n"
            "device 0, lane 0: reads 0 [0, 1) x [1, 2), reads 1 [0, 2) x [0, 1), updates 2 [1, 2) x [0, 2)\n"
            "device 0, lane 0: reads 0 [0, 1) x [0, 1), reads 1 [2, 4) x [0, 1), updates 2 [0, 1) x [2, 4)\n"
            "device 0, lane 0: reads 0 [0, 1) x [1, 2), reads 1 [2, 4) x [0, 1), updates 2 [1, 2) x [2, 4)\n");
}

TEST(Decomposition, TheFirstTasksOfAProductUseSomeColumnsOfAEach) {
  EXPECT_EQ(text_of(cut(Product{3, 8, 5, false, false, false}, {1, 1}, {2}, {Blocking{1, 4, 1, Stays::rows_of_a, {2, 2}}}, 4)),
            "device 2, lane 0: reads 0 [0, 3) x [0, 3), reads 1 [0, 5) x [0, 4), overwrites 2 [0, 3) x [0, 4)\n"
            "device 2, lane 0: reads 0 [0, 3) x [3, 5), reads 1 [0, 5) x [0, 4), updates 2 [0, 3) x [0, 4)\n"
            "device 2, lane 1: reads 0 [0, 3) x [0, 5), reads 1 [0, 5) x [4, 6), overwrites 2 [0, 3) x [4, 6)\n"
            "device 2, lane 2: reads 0 [0, 3) x [0, 5), reads 1 [0, 5) x [6, 8), overwrites 2 [0, 3) x [6, 8)\n");
  // Where A is transposed, or there are too few pieces, they do not.
  EXPECT_EQ(cut(Product{3, 8, 5, true, false, false}, {1, 1}, {0}, {Blocking{1, 4, 1, Stays::rows_of_a, {2, 2}}}, 4).size(), 4u);
  EXPECT_EQ(cut(Product{3, 1, 5, false, false, false}, {1, 1}, {0}, {Blocking{1, 4, 1, Stays::rows_of_a, {2, 2}}}, 4).size(), 1u);
  const Blocking leading{1, 2, 1, Stays::rows_of_a, {2, 3}};
  for (const Task& t : cut(Product{3, 8, 5, false, true, false}, {1, 2}, {0, 1}, {leading, leading}, 1)) {
    EXPECT_EQ(t.parts[0].together.row_end, 3u);  // all of A lies in one piece, where later tasks find it
    EXPECT_EQ(t.parts[0].together.column_end, 5u);
    EXPECT_EQ(t.parts[1].where.column_end - t.parts[1].where.column_begin, 5u);
  }
}

/// Every element of the result is computed from each term once, whatever the shape, the grid and the memory, and of the first terms first.
TEST(Decomposition, TasksCoverTheResultOnce) {
  for (std::uint64_t m = 1; m < 9; ++m) {
    for (std::uint64_t n = 1; n < 9; ++n) {
      for (std::size_t p = 1; p <= 8; ++p) {
        for (const std::uint64_t budget : std::vector<std::uint64_t>{1, 9, 16, 30, 60, 3000}) {
          const std::uint64_t k = 1 + (m + n) % 5;
          const Product product{m, n, k, true, false, false};
          const Grid grid = grid_of(product, p);
          const std::vector<Blocking> blockings(grid.rows * grid.columns, blocking_that_fits(share_of(product, grid), 2, {budget, 1}, 1));
          std::vector<std::uint32_t> devices(grid.rows * grid.columns);
          for (std::uint32_t d = 0; d < devices.size(); ++d) devices[d] = d;
          std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> terms;
          for (const Task& t : cut(product, grid, devices, blockings, 4)) {
            const Rectangle& c = t.parts[2].where;
            EXPECT_FALSE(c.empty());
            for (std::uint64_t i = c.row_begin; i < c.row_end; ++i) {
              for (std::uint64_t j = c.column_begin; j < c.column_end; ++j) {
                EXPECT_EQ((terms[{i, j}]), t.parts[0].where.row_begin);
                terms[{i, j}] = t.parts[0].where.row_end;
              }
            }
            const Rectangle &a = t.parts[0].where, &b = t.parts[1].where;  // A is transposed
            EXPECT_EQ(a.column_begin, c.row_begin);
            EXPECT_EQ(a.column_end, c.row_end);
            EXPECT_EQ(b.column_begin, c.column_begin);
            EXPECT_EQ(b.column_end, c.column_end);
            EXPECT_EQ(b.row_begin, a.row_begin);
            EXPECT_EQ(b.row_end, a.row_end);
            EXPECT_EQ(t.parts[2].mode, a.row_begin == 0 ? Access::overwrite : Access::read_write);
            if (budget >= 16) {
              EXPECT_LE(elements(a) + elements(b) + elements(c), (budget - 6) / 2) << budget;
            }
          }
          EXPECT_EQ(terms.size(), m * n);
          for (const auto& [at, last] : terms) EXPECT_EQ(last, k);
        }
      }
    }
  }
}

/// The elements of A and B that one device gets for a product, if a task finds those of the task before it, and nothing else.
std::uint64_t elements_of_a_and_b(const Product& p, const Blocking& b) {
  std::uint64_t sum = 0;
  std::vector<TaskPart> last;
  for (const Task& t : cut(p, {1, 1}, {0}, {b}, 1)) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Rectangle& r = t.parts[i].where;
      const bool is_there = !last.empty() && r.row_begin == last[i].where.row_begin && r.row_end == last[i].where.row_end &&
                            r.column_begin == last[i].where.column_begin && r.column_end == last[i].where.column_end;
      if (!is_there) sum += elements(r);
    }
    last = t.parts;
  }
  return sum;
}

TEST(Decomposition, ProductsThatDoNotFitKeepWhatSavesMost) {
  const auto blocking = [](const Product& p, std::uint64_t budget) {
    const Blocking b = blocking_that_fits(p, 1, {budget, 1}, 1);
    return std::tuple(b.rows, b.columns, b.terms, b.stays);
  };
  using Is = std::tuple<std::size_t, std::size_t, std::size_t, Stays>;
  const Product square{1000, 1000, 1000, false, false, false};
  EXPECT_EQ(blocking(square, 9000000), (Is{1, 1, 1, Stays::rows_of_a}));
  EXPECT_EQ(blocking(square, 4000000), (Is{1, 8, 1, Stays::rows_of_a}));  // all of A, and 125 columns
  // B has less than A, and fits.
  EXPECT_EQ(std::get<3>(blocking({100000, 300, 300, false, false, false}, 1000000)), Stays::columns_of_b);
  // There are so many terms that C is small, and stays as a whole.
  EXPECT_EQ(std::get<3>(blocking({100, 100, 1000000, false, false, false}, 100000)), Stays::part_of_c);
  const Product long_sums{100, 100, 1000000, false, false, false};
  EXPECT_EQ(elements_of_a_and_b(long_sums, blocking_that_fits(long_sums, 1, {100000, 1}, 1)), 2u * 100 * 1000000);
  // Square parts of C: no blocking moves less than 2 m n k / sqrt(e) elements by much.
  for (const std::uint64_t size : {std::uint64_t{1000}, std::uint64_t{4000}, std::uint64_t{20000}}) {
    for (const std::uint64_t budget : {size * size / 10, size * size / 50}) {
      const Product p{size, size, size, false, false, false};
      const Blocking b = blocking_that_fits(p, 1, {budget, 1}, 1);
      EXPECT_EQ(b.stays, Stays::part_of_c);
      const double least = 2.0 * std::pow(static_cast<double>(size), 3) / std::sqrt(static_cast<double>(budget));
      const auto moved = static_cast<double>(elements_of_a_and_b(p, b));
      EXPECT_GT(moved, least) << size << ", " << budget;
      EXPECT_LT(moved, 2.2 * least) << size << ", " << budget;
    }
  }
}

TEST(Spread, WhatLiesOnOneDeviceMovesToOthersWhereThatPays) {
  constexpr std::uint64_t mib = 1 << 20;
  const auto product = [&](std::uint64_t a0, std::uint64_t a1, std::uint64_t c0, std::uint64_t c1) {
    return std::vector<HeldOperand>{{32 * mib, {a0 * mib, a1 * mib}, true, true, false},
                                    {32 * mib, {c0 * mib, c1 * mib}, false, true, true}};
  };
  const double nearly = 1.0 / (1 << 20);
  // All on device 0: A goes to device 1, and half of C goes there and back.
  EXPECT_NEAR(bytes_between_devices(product(32, 0, 32, 0), 2), (32 + 2 * 16) * static_cast<double>(mib) / 2, nearly);
  // On the host: nothing moves between devices. Where each device has its part: neither.
  EXPECT_NEAR(bytes_between_devices(product(0, 0, 0, 0), 2), 0, nearly);
  EXPECT_NEAR(bytes_between_devices(product(32, 32, 16, 16), 2), 0, nearly);
  EXPECT_NEAR(bytes_between_devices(product(32, 32, 16, 16), 1), 2 * 16 * static_cast<double>(mib), nearly);
  // 340 us on one device: the copies would take 100 us or more of the 170 us that are left.
  EXPECT_EQ(devices_that_pay(Spread::automatic, 340e-6, 2, product(32, 0, 32, 0)), 2u);
  EXPECT_EQ(devices_that_pay(Spread::automatic, 200e-6, 2, product(32, 0, 32, 0)), 1u);
  EXPECT_EQ(devices_that_pay(Spread::automatic, 200e-6, 2, product(0, 32, 0, 32)), 1u) << "wherever it lies";
  EXPECT_EQ(devices_that_pay(Spread::automatic, 200e-6, 2, product(0, 0, 0, 0)), 2u);
  EXPECT_EQ(devices_that_pay(Spread::automatic, 200e-6, 2, product(32, 32, 16, 16)), 2u) << "what is spread stays so";
  EXPECT_EQ(devices_that_pay(Spread::always, 1e-6, 2, product(32, 0, 32, 0)), 2u);
  EXPECT_EQ(devices_that_pay(Spread::automatic, 1e-6, 2, product(0, 0, 0, 0)), 1u) << "little work";
  EXPECT_EQ(devices_that_pay(Spread::never, 1, 2, product(0, 0, 0, 0)), 1u);
}

TEST(Spread, WhatDevicesLackOrHaveFetchedOfAResultMoves) {
  constexpr double second = bytes_between_devices_a_second;
  const auto moving = [&](std::uint64_t on_0, std::uint64_t on_1, bool is_read, bool is_written) {
    return seconds_of_moving({{64, {on_0, on_1}, false, is_read, is_written}}, 2) * second;
  };
  EXPECT_DOUBLE_EQ(moving(64, 0, true, false), 32) << "half of it goes to device 1";
  EXPECT_DOUBLE_EQ(moving(64, 32, true, false), 0) << "it is there";
  EXPECT_DOUBLE_EQ(moving(64, 32, false, true), 32) << "device 0 has fetched device 1's half";
  EXPECT_DOUBLE_EQ(moving(34, 34, false, true), 4) << "and here each something at the border";
  EXPECT_DOUBLE_EQ(moving(64, 0, false, true), 32) << "device 0 has taken device 1's half and changed it";
  EXPECT_DOUBLE_EQ(moving(0, 0, true, true), 0) << "the host has it";
  EXPECT_DOUBLE_EQ(moving(64, 0, true, true), 32);
}

TEST(Spread, CallsComeHomeWhenMovingVectorsHasLostWhatTheMatrixTakesHomeAndAreTriedAgainMuchLater) {
  constexpr double coming_home = 2e-3;
  SpreadOrHome calls;
  // Each call loses 10 us: the 201st one is the last.
  int spread = 0;
  for (; !calls.is_home(); ++spread) calls.count_spread(110e-6, 100e-6, coming_home);
  EXPECT_NEAR(spread, 201, 1);
  // At home the other devices would save 100 us a call, and a hundred times 2 ms are 2,000 calls.
  int home = 0;
  for (; calls.is_home(); ++home) calls.count_home(100e-6, coming_home);
  EXPECT_NEAR(home, 2001, 1);
  // What was saved long ago does not count, and a single loss is no reason.
  for (int i = 0; i < 1000; ++i) calls.count_spread(0, 100e-6, coming_home);
  calls.count_spread(1.9e-3, 0, coming_home);
  EXPECT_FALSE(calls.is_home());
  calls.count_spread(0.2e-3, 0, coming_home);
  EXPECT_TRUE(calls.is_home());
}

TEST(Spread, CallsGoHomeAtOnceWhereTheirOperandsAreAndAreTriedMuchLater) {
  SpreadOrHome calls;
  EXPECT_FALSE(calls.is_home());
  calls.go_home();
  EXPECT_TRUE(calls.is_home());
  EXPECT_FALSE(calls.is_trial());
  for (int i = 0; i < 99; ++i) calls.count_home(1e-3, 1e-3);
  EXPECT_TRUE(calls.is_home());
  for (int i = 0; i < 2; ++i) calls.count_home(1e-3, 1e-3);
  EXPECT_FALSE(calls.is_home());
  EXPECT_TRUE(calls.is_trial());
  calls.count_spread(1.1e-3, 0, 1e-3);  // it does not pay
  EXPECT_TRUE(calls.is_home());
  EXPECT_FALSE(calls.is_trial());
}

TEST(Spread, HomeIsWhereMostIs) {
  EXPECT_EQ(home_of({}, 3), 0U);
  EXPECT_EQ(home_of({{64, {0, 0, 0}}}, 3), 0U);
  EXPECT_EQ(home_of({{64, {32, 0, 0}}, {64, {0, 0, 64}}}, 3), 2U);
  EXPECT_EQ(home_of({{64, {32, 0, 0}}, {64, {0, 0, 64}}}, 2), 0U) << "of the devices that may be used";
  EXPECT_EQ(home_of({{64, {0, 64, 64}}}, 3), 1U) << "the first of several";
}

TEST(Spread, ACallIsBetterAtHomeWhereMovingTakesLonger) {
  constexpr std::uint64_t mib = 1 << 20;
  const auto vectors = [](std::uint64_t on_0, std::uint64_t on_1) {
    return std::vector<HeldOperand>{{64 * mib, {on_0 * mib, on_1 * mib}, false, true, true}, {64 * mib, {64 * mib, 64 * mib}, false, true, false}};
  };
  const double seconds = 3.0 * 64 * mib / 3e12;
  EXPECT_TRUE(is_better_at_home(vectors(64, 0), seconds, 2, 0));
  EXPECT_TRUE(is_better_at_home(vectors(0, 64), seconds, 2, 1));
  EXPECT_FALSE(is_better_at_home(vectors(32, 32), seconds, 2, 0)) << "each has its share";
  EXPECT_FALSE(is_better_at_home(vectors(0, 0), seconds, 2, 0)) << "the host has it";
  EXPECT_FALSE(is_better_at_home(vectors(64, 0), 1e-3, 2, 0)) << "there is much work";
}

TEST(Spread, WhatAllDevicesHaveFetchedIsNoUseAtHome) {
  const auto left = [](std::uint64_t on_0, std::uint64_t on_1) { return without_common_copies({64, {on_0, on_1}, false, true, true}, 2).on_devices; };
  using Bytes = std::vector<std::uint64_t>;
  EXPECT_EQ(left(64, 64), (Bytes{32, 32})) << "each has fetched the other's half";
  EXPECT_EQ(left(64, 32), (Bytes{64, 32})) << "one device alone has";
  EXPECT_EQ(left(64, 34), (Bytes{62, 32}));
  EXPECT_EQ(left(20, 0), (Bytes{20, 0}));
  EXPECT_EQ(without_common_copies({64, {64, 64}, true, true, false}, 2).on_devices, (Bytes{64, 64})) << "each needs all";
}

TEST(Decomposition, DevicesWithoutRoomForWhatIsNotCutAreLeftOut) {
  using Devices = std::vector<std::uint32_t>;
  const std::vector<Memory> memory{{100, 10}, {1000, 10}, {200, 10}, {1000, 10}};
  EXPECT_EQ(devices_with_room(memory, {50}), (Devices{0, 1, 2, 3}));
  EXPECT_EQ(devices_with_room(memory, {100}), (Devices{1, 2, 3})) << "it may begin anywhere in a page";
  EXPECT_EQ(devices_with_room(memory, {100, 90}), (Devices{1, 3}));
  EXPECT_EQ(devices_with_room(memory, {2000}), (Devices{0, 1, 2, 3})) << "none has room";
  EXPECT_EQ(devices_with_room(memory, {}), (Devices{0, 1, 2, 3}));
  // Two runs, of which device 0 holds one and device 3 the other, among devices 1 to 3.
  EXPECT_EQ(assign({{9, 0, 0, 0}, {0, 0, 0, 9}}, {1, 2, 3}), (Devices{1, 3}));
  EXPECT_EQ(assign({{0, 0, 0, 0}, {0, 0, 0, 0}}, {1, 3}), (Devices{1, 3}));
}

TEST(Spread, ADeviceMoreNeedsWorkForFiftyMicroseconds) {
  EXPECT_EQ(devices_that_pay(Spread::automatic, 10e-6, 8), 1u);
  EXPECT_EQ(devices_that_pay(Spread::automatic, 110e-6, 8), 2u);
  EXPECT_EQ(devices_that_pay(Spread::automatic, 1, 8), 8u);
  EXPECT_EQ(devices_that_pay(Spread::always, 0, 8), 8u);
  EXPECT_EQ(devices_that_pay(Spread::never, 1, 8), 1u);
  EXPECT_EQ(devices_that_pay(Spread::always, 1, 1), 1u);
}

}  // namespace
}  // namespace semcache::policy
