// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <complex>
#include <cstdint>

namespace semcache::linalg {

/// The scalar types of BLAS, by its letters.
enum class Scalar : std::uint8_t { s, d, c, z };

template <class T>
inline constexpr Scalar scalar_of = Scalar::s;
template <>
inline constexpr Scalar scalar_of<double> = Scalar::d;
template <>
inline constexpr Scalar scalar_of<std::complex<float>> = Scalar::c;
template <>
inline constexpr Scalar scalar_of<std::complex<double>> = Scalar::z;

/// A quotient of numbers of a scalar type, at addresses of the device; one, where there is no numerator.
struct Quotient {
  const void* numerator = nullptr;
  const void* denominator = nullptr;
};

/// Whether rows of a sparse matrix are about equally long.
enum class RowLengths : std::uint8_t {
  alike,
  different,  ///< some neighbouring rows have so many entries that a GPU would work on them when all others are done
};

/// The routines that compute one task on one device. Sizes fit 32 bits. Coefficients are in host memory.
/// Threads: any. The calling thread is in a launch on the stream, and the stream's device is current.
class Library {
 public:
  virtual ~Library() = default;
  virtual void gemm(const runtime::Stream& stream, Scalar type, char transpose_a, char transpose_b, std::int32_t m, std::int32_t n,
                    std::int32_t k, const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta,
                    void* c, std::int32_t ldc) = 0;
  /// C = alpha A B + beta C with A on the left, or alpha B A + beta C, where A is symmetric or Hermitian. `side` and the like are BLAS' letters.
  virtual void symm(const runtime::Stream& stream, Scalar type, bool hermitian, char side, char triangle, std::int32_t m, std::int32_t n,
                    const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
                    std::int32_t ldc) = 0;
  /// B = alpha op(A) B, or alpha B op(A); or their solutions.
  virtual void trmm(const runtime::Stream& stream, Scalar type, char side, char triangle, char transpose, char diagonal, std::int32_t m,
                    std::int32_t n, const void* alpha, const void* a, std::int32_t lda, void* b, std::int32_t ldb) = 0;
  virtual void trsm(const runtime::Stream& stream, Scalar type, char side, char triangle, char transpose, char diagonal, std::int32_t m,
                    std::int32_t n, const void* alpha, const void* a, std::int32_t lda, void* b, std::int32_t ldb) = 0;
  /// The triangle of C = alpha A A' + beta C, or alpha A' A + beta C. Where Hermitian, both coefficients are real.
  virtual void syrk(const runtime::Stream& stream, Scalar type, bool hermitian, char triangle, char transpose, std::int32_t n, std::int32_t k,
                    const void* alpha, const void* a, std::int32_t lda, const void* beta, void* c, std::int32_t ldc) = 0;
  /// The triangle of C = alpha A B' + alpha' B A' + beta C, or alpha A' B + alpha' B' A + beta C. Where Hermitian, beta is real.
  virtual void syr2k(const runtime::Stream& stream, Scalar type, bool hermitian, char triangle, char transpose, std::int32_t n, std::int32_t k,
                     const void* alpha, const void* a, std::int32_t lda, const void* b, std::int32_t ldb, const void* beta, void* c,
                     std::int32_t ldc) = 0;
  /// y = alpha x + beta y. Where beta is zero y is not read, and may be x; where beta is not and alpha is, x is not read.
  virtual void axpby(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const void* x, const void* beta, void* y) = 0;
  /// The same with each factor times a quotient of numbers on the device.
  virtual void axpby_of_quotients(const runtime::Stream& stream, Scalar type, std::uint64_t n, const void* alpha, const Quotient& of_alpha,
                                  const void* x, const void* beta, const Quotient& of_beta, void* y) = 0;
  /// result = the sum of some numbers, in the order of `sum_of` (block_sums.hpp).
  virtual void sum(const runtime::Stream& stream, Scalar type, std::uint64_t count, const void* numbers, void* result) = 0;
  virtual void gemv(const runtime::Stream& stream, Scalar type, char transpose, std::int32_t m, std::int32_t n, const void* alpha, const void* a,
                    std::int32_t lda, const void* x, const void* beta, void* y) = 0;
  /// sums[i] = sum over block i of conj(x) y, for blocks of `block` elements, of which the last may be shorter; each in the same order always.
  virtual void block_dots(const runtime::Stream& stream, Scalar type, std::uint64_t n, std::uint64_t block, const void* x, const void* y,
                          void* sums) = 0;
  /// y = alpha A x + beta y for some rows of a sparse matrix (CSR). Each row is summed in the order of its entries, in the same way always.
  /// @param row_pointers  rows + 1 of them; they count from the first entry of the matrix, as do `columns` and `values`, whose entries before
  ///                      row_pointers[0] are not accessed
  /// @param entries, lengths  of these rows; they decide how fast the call is, and nothing else
  /// @param x  by column: x[c] belongs to column c; only columns that occur are accessed
  virtual void spmv(const runtime::Stream& stream, Scalar type, std::uint64_t rows, const void* alpha, const std::int32_t* row_pointers,
                    const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths, const void* x, const void* beta,
                    void* y) = 0;
  /// The same for each of `vectors` columns of X and Y, with these leading dimensions. Each has the bits that `spmv` gives it.
  virtual void spmm(const runtime::Stream& stream, Scalar type, std::uint64_t rows, std::int32_t vectors, const void* alpha,
                    const std::int32_t* row_pointers, const std::int32_t* columns, const void* values, std::uint64_t entries, RowLengths lengths,
                    const void* x, std::uint64_t leading_x, const void* beta, void* y, std::uint64_t leading_y) = 0;
};

/// Returns the library of the process's devices: the host's BLAS for emulated ones, cuBLAS, which is loaded at the first call, for GPUs.
/// @throws ConfigurationError  cuBLAS cannot be loaded; the text names the files that were looked for
[[nodiscard]] Library& library();
[[nodiscard]] Library& host_blas();
[[nodiscard]] Library& cublas();

}  // namespace semcache::linalg
