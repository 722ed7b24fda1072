// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <complex>
#include <cstdint>
#include <memory>

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

/// y = alpha x + beta y, of n elements. If beta is zero, y is not read. The vectors do not overlap, but may be the same.
/// @throws UsageError  they overlap
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

/// A number that stays on the devices: a sum that `dot` leaves there, for factors of `axpby`. A loop of such calls waits for nothing, so the devices
/// work while the host submits what comes next.
/// Lifetime: it ends before the runtime does (`finalize`); calls that use it may still be under way then. Threads: one at a time for each object.
template <class T>
class SEMCACHE_API DeviceScalar {
 public:
  /// It has no value yet. Starts the runtime.
  DeviceScalar();
  ~DeviceScalar();
  DeviceScalar(const DeviceScalar&) = delete;
  DeviceScalar& operator=(const DeviceScalar&) = delete;
  /// Waits for the number, and returns it. It has the bits that `dot` returns. @throws UsageError  no call has computed it; DeviceError
  [[nodiscard]] T get() const;

 private:
  friend struct DeviceScalarAccess;
  struct State;
  std::unique_ptr<State> state_;
};

/// A factor: a number, or one times a quotient of two numbers that stay on the devices.
template <class T>
struct Factor {
  Factor(T number) noexcept : times(number) {}  // NOLINT: numbers are factors
  Factor(const DeviceScalar<T>& a, const DeviceScalar<T>& b, T factor = T(1)) noexcept : times(factor), numerator(&a), denominator(&b) {}
  T times;
  const DeviceScalar<T>* numerator = nullptr;
  const DeviceScalar<T>* denominator = nullptr;
};
/// The type by which calls take factors, so that numbers are converted to it.
template <class T>
struct FactorOf {
  using type = Factor<T>;
};

/// result = the sum of conj(x) y over n elements, as the other `dot` returns it. The call does not wait. If it throws, `result` has no value.
/// @throws OutOfMemory  the devices or the host have no memory for the sums of blocks
template <class T>
SEMCACHE_API void dot(std::int64_t n, const T* x, const T* y, DeviceScalar<T>& result);
/// y = alpha x + beta y, of n elements, as the other `axpby`, with factors that devices compute. Where beta is the number zero, y is not read.
/// @throws UsageError  a factor has no value yet, or its runtime has ended
template <class T>
SEMCACHE_API void axpby(std::int64_t n, const typename FactorOf<T>::type& alpha, const T* x, const typename FactorOf<T>::type& beta, T* y);

}  // namespace semcache::linalg
