// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/policy/decomposition.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// How calls of BLAS level 3 with a symmetric, Hermitian or triangular matrix are cut into tasks. Everything here is a pure function of its
/// arguments. `text_of` prints the tasks.
namespace semcache::policy {

/// Which parts of a result are computed without each other.
enum class Independent : std::uint8_t {
  columns,           ///< its columns: symm, hemm, trmm and trsm with A on the left
  rows,              ///< its rows: the same calls with A on the right
  columns_of_lower,  ///< the columns of its lower triangle, which alone is written: syrk, herk, syr2k, her2k
  columns_of_upper,  ///< the same with the upper triangle
};

/// A call of BLAS level 3 other than gemm.
///
/// Where columns or rows are independent, its operands are 0 (the k x k matrix A, all of which every task reads), `inputs` others, which are cut
/// as the result is, and the result. Where columns of a triangle are, its operands are `inputs` of n x k elements, and the result of n x n.
struct Level3 {
  Independent independent = Independent::columns;
  std::uint64_t m = 0, n = 0;  ///< rows and columns of the result
  std::uint64_t k = 0;         ///< terms of each sum; 0: no input is read
  std::uint32_t inputs = 0;    ///< beside A: 0 where the result is computed in place (trmm, trsm), 1 (symm, hemm; syrk, herk) or 2 (syr2k, her2k)
  bool transposed = false;     ///< the inputs of a triangle have k x n elements
  bool reads_result = true;

  [[nodiscard]] constexpr bool is_triangle() const noexcept {
    return independent == Independent::columns_of_lower || independent == Independent::columns_of_upper;
  }
  [[nodiscard]] constexpr std::uint32_t result() const noexcept { return inputs + (is_triangle() ? 0 : 1); }
};

/// Cuts columns of a triangle of `order` columns into at most `pieces` runs, none of them empty, of about equally many elements of the triangle.
/// @param triangle  `columns_of_lower` or `columns_of_upper`
[[nodiscard]] SEMCACHE_API std::vector<Run> cut_by_area(const Run& columns, std::uint64_t order, Independent triangle, std::size_t pieces);

/// Returns what each device computes, for so many devices at most: runs of the result's columns, or of its rows.
[[nodiscard]] SEMCACHE_API std::vector<Run> shares_of(const Level3& call, std::size_t devices);

/// Cuts each share into tasks. A task has one part for each operand, in their order; but one of a triangle has these:
/// - for each input, its rows (columns, if transposed) that belong to columns of the task's part of the result, and those that belong to its rows;
/// - a block on the diagonal. It is square, and half of it is the other triangle, which no task writes;
/// - a rectangle below the block, or above it.
/// A part that a task does not have is empty.
/// @param devices   for each share its device
/// @param pieces    so many tasks for each share at least, if it has as many columns: the next one's operands arrive while one computes
/// @param elements  for each share: that have room on its device. Three tasks' operands fit together (A counts once), if that is possible. The parts
///                  of triangles are cut by rows, too
/// @param lanes     of each device
[[nodiscard]] SEMCACHE_API std::vector<Task> cut(const Level3& call, const std::vector<Run>& shares, const std::vector<std::uint32_t>& devices,
                                                 std::size_t pieces, const std::vector<std::uint64_t>& elements, std::uint32_t lanes);

}  // namespace semcache::policy
