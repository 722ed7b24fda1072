// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <complex>
#include <cstdint>

/// Dense linear algebra over all devices of the process. Operands are in arrays that SemCache keeps coherent: device arrays, mirrors, adopted
/// memory (in whole pages of it), or sub-matrices of such arrays. Matrices are column-major, as in BLAS. Sizes and leading dimensions count elements.
///
/// A call comes behind all work on its operands that was submitted before, and before all that is submitted later. On GPUs it returns before
/// it is done, and its result stays on the devices until somebody needs it elsewhere. Only what a device lacks moves there.
///
/// Every function throws UsageError where an operand is in no array, leaves it, or has a leading dimension that is too small (nothing has
/// changed then), OutOfMemory where a task's operands exceed a device's budget, DeviceError where a device fails. Threads: any.
namespace semcache::linalg {

enum class Transpose : char { no = 'N', yes = 'T', conjugate = 'C' };

/// C = alpha op(A) op(B) + beta C, where op(A) is m x k, op(B) k x n, and C m x n. If beta is zero, C is not read (NaN there does not matter).
/// C overlaps neither A nor B. T: float, double, std::complex of these.
template <class T>
SEMCACHE_API void gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                       std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc);

/// y = alpha op(A) x + beta y, where A is m x n, and x and y are contiguous. If beta is zero, y is not read. If m or n is zero, y stays as it is.
/// y overlaps neither A nor x.
template <class T>
SEMCACHE_API void gemv(Transpose transpose, std::int64_t m, std::int64_t n, T alpha, const T* a, std::int64_t lda, const T* x, T beta, T* y);

}  // namespace semcache::linalg
