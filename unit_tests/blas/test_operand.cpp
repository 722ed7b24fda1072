// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "operand.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace semcache::blas;
using semcache::Access;

namespace {

std::set<std::uintptr_t> bytes_of(const Operand& o) {
  std::set<std::uintptr_t> bytes;
  for (std::uint64_t c = 0; c < o.columns; ++c) {
    for (std::size_t i = 0; i < o.width(); ++i) bytes.insert(o.begin() + c * o.pitch() + i);
  }
  return bytes;
}
bool share(const Operand& a, const Operand& b) {
  const std::set<std::uintptr_t> of_a = bytes_of(a), of_b = bytes_of(b);
  return std::any_of(of_a.begin(), of_a.end(), [&](std::uintptr_t byte) { return of_b.count(byte) > 0; });
}

}  // namespace

TEST(BlasOperand, PartsOfOneMatrixAreComparedExactly) {
  static char memory[200];
  std::vector<Operand> all;
  for (std::size_t first = 0; first < 40; first += 2) {
    for (std::uint64_t rows : {1, 2, 5}) {
      for (std::uint64_t columns : {1, 2, 3}) all.push_back({memory + first, rows, columns, 5, 2, Access::read});
    }
  }
  for (const Operand& a : all) {
    for (const Operand& b : all) {
      ASSERT_EQ(share(a, b), may_overlap(a, b)) << a.begin() - all[0].begin() << " " << a.rows << "x" << a.columns << ", "
                                                << b.begin() - all[0].begin() << " " << b.rows << "x" << b.columns;
    }
  }
}

TEST(BlasOperand, OtherOperandsOverlapIfTheirRangesDo) {
  static char memory[200];
  EXPECT_TRUE(may_overlap({memory, 1, 3, 10, 2, Access::read}, {memory + 2, 1, 3, 12, 2, Access::read}));
  EXPECT_FALSE(may_overlap({memory, 1, 3, 10, 2, Access::read}, {memory + 42, 1, 3, 12, 2, Access::read}));
  EXPECT_FALSE(may_overlap({memory, 0, 3, 10, 2, Access::read}, {memory, 1, 3, 12, 2, Access::read}));
}

TEST(BlasOperand, ATrianglesColumnsAreItsOwn) {
  const auto columns = [](Part part) {
    Operand o{nullptr, 3, 3, 5, 8, Access::read_write};
    o.part = part;
    std::vector<std::vector<std::uint64_t>> found;
    for_each_column_of_part(o, [&](std::uint64_t c, std::uint64_t first, std::uint64_t end) { found.push_back({c, first, end}); });
    return found;
  };
  using List = std::vector<std::vector<std::uint64_t>>;
  EXPECT_EQ((List{{0, 0, 1}, {1, 0, 2}, {2, 0, 3}}), columns(Part::upper));
  EXPECT_EQ((List{{0, 0, 3}, {1, 1, 3}, {2, 2, 3}}), columns(Part::lower));
}
