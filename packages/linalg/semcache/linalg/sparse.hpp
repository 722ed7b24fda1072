// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <complex>
#include <cstdint>

/// Products with sparse matrices, over all devices of the process. dense.hpp says what holds for all calls.
namespace semcache::linalg {

/// A sparse matrix in CSR (compressed sparse rows), in arrays of the program.
/// Offset: of the row pointers, std::int32_t or std::int64_t. It has fewer than 2^31 entries with either.
template <class T, class Offset = std::int32_t>
struct Csr {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;                    ///< that the arrays have; those before the first row pointer and from the last one on are not used
  const Offset* row_pointers = nullptr;        ///< rows + 1, not descending, between 0 and `entries`: row i has the entries from the i-th one to the
                                               ///< next. Of a part of the rows of a matrix the first one need not be 0
  const std::int32_t* column_indices = nullptr;  ///< by entry, from 0, in any order; a column may occur several times in a row
  const T* values = nullptr;                     ///< by entry
};

/// y = alpha A x + beta y. If beta is zero, y is not read. x and y are contiguous and do not overlap. T: float, double, std::complex of these.
///
/// The rows are cut so that the devices have about equally many entries. Each device keeps its part of the matrix. Of x it gets the entries that
/// its rows refer to and that it lacks. (Beyond four runs of such entries, what lies between neighbouring runs comes along.) For a new pattern
/// the host reads row pointers and columns once; a pattern is recognised by the content of its arrays, wherever they lie. Every row is summed
/// in the order of its entries, so the result has the same bits on any number of devices of one kind.
///
/// Devices use row pointers of 32 bits. Of those of 64 bits a copy of 32 bits is made with the pattern and kept as long: 4 bytes a row, in an array
/// of its own. Devices get their parts of the copy, and the row pointers of 64 bits stay where they are.
/// @throws UsageError  also where the row pointers descend, or do not lie between 0 and the number of entries, or a column is none of the matrix, or
///                     there are 2^31 entries or more, or x and y overlap; y is unchanged
template <class T, class Offset = std::int32_t>
SEMCACHE_API void spmv(T alpha, const Csr<T, Offset>& a, const T* x, T beta, T* y);

/// Y = alpha A X + beta Y, of matrices with so many columns. X and Y are column-major and do not overlap. If beta is zero, Y is not read. The entries
/// of A are loaded once for all columns. Each column has the bits that `spmv` gives it; what the comment of `spmv` states holds for all columns.
/// @param ldx, ldy  leading dimensions: elements from one column to the next, at least max(1, rows)
/// @throws UsageError  as `spmv`; also a negative size, or too small a leading dimension
template <class T, class Offset = std::int32_t>
SEMCACHE_API void spmm(std::int64_t columns, T alpha, const Csr<T, Offset>& a, const T* x, std::int64_t ldx, T beta, T* y, std::int64_t ldy);

}  // namespace semcache::linalg
