// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <complex>
#include <cstdint>

/// Dense linear algebra over all devices of the process. Operands are in arrays that SemCache keeps coherent: device arrays, mirrors, adopted
/// memory, or sub-matrices of such arrays. Matrices are column-major, as in BLAS. Sizes and leading dimensions count elements.
///
/// A call comes behind all work on its operands that was submitted before, and before all that is submitted later. On GPUs it returns before
/// it is done, and its result stays on the devices until somebody needs it elsewhere. Only what a device lacks moves there. A result that has bytes
/// in an edge of adopted memory (`runtime::adopt`) is waited for, because these bytes come at once. Nobody may write the operands of a call that
/// touch an edge while it is under way, but for other calls of this package.
///
/// Every function throws UsageError where an operand is in no array, leaves it, or has a leading dimension that is too small, or an option (side,
/// triangle, transpose, diagonal) is none that the call takes, or the result overlaps an operand (but for A on one side); nothing has changed then.
/// It throws OutOfMemory where a task's operands exceed a device's budget, DeviceError where a device fails. Threads: any.
namespace semcache::linalg {

enum class Transpose : char { no = 'N', yes = 'T', conjugate = 'C' };
/// On which side of the other matrix A stands.
enum class Side : char { left = 'L', right = 'R' };
/// Which triangle of a matrix is used, with the diagonal. The elements of the other one are neither computed with nor changed, so NaN there does
/// not matter.
enum class Triangle : char { upper = 'U', lower = 'L' };
/// Whether the diagonal of a triangular matrix is used, or taken for ones.
enum class Diagonal : char { non_unit = 'N', unit = 'U' };

/// C = alpha op(A) op(B) + beta C, where op(A) is m x k, op(B) k x n, and C m x n. If beta is zero, C is not read (NaN there does not matter).
/// C overlaps neither A nor B. T: float, double, std::complex of these.
template <class T>
SEMCACHE_API void gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                       std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc);

/// y = alpha op(A) x + beta y, where A is m x n, and x and y are contiguous. If beta is zero, y is not read. If m or n is zero, y stays as it is.
/// y overlaps neither A nor x.
template <class T>
SEMCACHE_API void gemv(Transpose transpose, std::int64_t m, std::int64_t n, T alpha, const T* a, std::int64_t lda, const T* x, T beta, T* y);

/// C = alpha A B + beta C with A on the left (m x m), or C = alpha B A + beta C with A on the right (n x n), where A is symmetric and B and C are
/// m x n. One triangle of A is read; the imaginary parts of a Hermitian diagonal are not. If alpha is zero, A and B are not read; if beta is zero,
/// C is not. C overlaps neither A nor B. T: float, double, std::complex of these.
template <class T>
SEMCACHE_API void symm(Side side, Triangle triangle, std::int64_t m, std::int64_t n, T alpha, const T* a, std::int64_t lda, const T* b,
                       std::int64_t ldb, T beta, T* c, std::int64_t ldc);
/// The same where A is Hermitian. Real: float, double.
template <class Real>
SEMCACHE_API void hemm(Side side, Triangle triangle, std::int64_t m, std::int64_t n, std::complex<Real> alpha, const std::complex<Real>* a,
                       std::int64_t lda, const std::complex<Real>* b, std::int64_t ldb, std::complex<Real> beta, std::complex<Real>* c,
                       std::int64_t ldc);

/// B = alpha op(A) B with A on the left (m x m), or B = alpha B op(A) with A on the right (n x n), where A is triangular and B is m x n. If alpha
/// is zero, B becomes zero, and neither A nor B is read. B does not overlap A. T: float, double, std::complex of these.
template <class T>
SEMCACHE_API void trmm(Side side, Triangle triangle, Transpose transpose, Diagonal diagonal, std::int64_t m, std::int64_t n, T alpha,
                       const T* a, std::int64_t lda, T* b, std::int64_t ldb);
/// B = alpha inverse(op(A)) B with A on the left, or B = alpha B inverse(op(A)) with A on the right; else as `trmm`. Whether A is singular is not
/// checked: the result has infinities or NaN then, as that of BLAS.
template <class T>
SEMCACHE_API void trsm(Side side, Triangle triangle, Transpose transpose, Diagonal diagonal, std::int64_t m, std::int64_t n, T alpha,
                       const T* a, std::int64_t lda, T* b, std::int64_t ldb);

/// One triangle of the symmetric n x n matrix C = alpha A A^T + beta C (Transpose::no, A is n x k), or C = alpha A^T A + beta C (yes, A is k x n;
/// for real matrices conjugate, too). The other triangle of C keeps its content. If alpha is zero, A is not read; if beta is zero, the triangle
/// of C is not. C does not overlap A. T: float, double, std::complex of these.
template <class T>
SEMCACHE_API void syrk(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda, T beta,
                       T* c, std::int64_t ldc);
/// One triangle of the Hermitian n x n matrix C = alpha A A^H + beta C (Transpose::no, A is n x k), or C = alpha A^H A + beta C (conjugate, A is
/// k x n); else as `syrk`. The imaginary parts of C's diagonal are taken for zero, and become zero unless C stays as it is (beta is one, and
/// alpha or k is zero). Real: float, double.
template <class Real>
SEMCACHE_API void herk(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, Real alpha, const std::complex<Real>* a,
                       std::int64_t lda, Real beta, std::complex<Real>* c, std::int64_t ldc);
/// One triangle of the symmetric n x n matrix C = alpha (A B^T + B A^T) + beta C (Transpose::no, A and B are n x k), or
/// C = alpha (A^T B + B^T A) + beta C (yes, they are k x n); else as `syrk`.
template <class T>
SEMCACHE_API void syr2k(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda,
                        const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc);
/// One triangle of the Hermitian n x n matrix C = alpha A B^H + conj(alpha) B A^H + beta C (Transpose::no, A and B are n x k), or
/// C = alpha A^H B + conj(alpha) B^H A + beta C (conjugate, they are k x n); else as `herk`.
template <class Real>
SEMCACHE_API void her2k(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k, std::complex<Real> alpha,
                        const std::complex<Real>* a, std::int64_t lda, const std::complex<Real>* b, std::int64_t ldb, Real beta,
                        std::complex<Real>* c, std::int64_t ldc);

}  // namespace semcache::linalg
