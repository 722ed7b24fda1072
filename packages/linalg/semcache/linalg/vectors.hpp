// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <complex>
#include <cstdint>

/// Functions of vectors, over all devices of the process. Vectors are contiguous. dense.hpp says what holds for all calls.
/// T: float, double, std::complex of these.
namespace semcache::linalg {

/// float for float and std::complex<float>, double for double and std::complex<double>.
template <class T>
struct RealType {
  using type = T;
};
template <class R>
struct RealType<std::complex<R>> {
  using type = R;
};
template <class T>
using RealOf = typename RealType<T>::type;

/// y = alpha x + beta y, of n elements. If beta is zero, y is not read. The vectors do not overlap.
template <class T>
SEMCACHE_API void axpby(std::int64_t n, T alpha, const T* x, T beta, T* y);
/// x = alpha x, of n elements.
template <class T>
SEMCACHE_API void scal(std::int64_t n, T alpha, T* x);
/// Returns the sum of conj(x) y over n elements. The call waits for it. The sum adds fixed blocks of elements in a fixed order, so it has the same
/// bits on any number of devices of one kind. x and y may be the same vector.
template <class T>
[[nodiscard]] SEMCACHE_API T dot(std::int64_t n, const T* x, const T* y);
/// Returns the Euclidean norm of n elements, the root of `dot`. Sums of squares beyond the type's range become infinite or zero.
template <class T>
[[nodiscard]] SEMCACHE_API RealOf<T> nrm2(std::int64_t n, const T* x);

}  // namespace semcache::linalg
