// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/linalg/cut.hpp>
#include <semcache/policy/spread.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>

namespace semcache::linalg {

using policy::Spread;

/// How the calls of this package are spread over the devices of the process (`semcache::use_devices`). What a call computes does not depend on it,
/// but for the rounding of the vendor's routines.
struct Options {
  /// From SEMCACHE_SPREAD (`auto`, `always`, `never`) where the program does not set it.
  Spread spread = Spread::automatic;
  /// So many devices at most; 0: all of the process.
  std::size_t devices = 0;
  /// Into so many tasks each device's share of a product is cut, so that the operands of the next one arrive while one computes; 0: as its size
  /// suggests.
  std::size_t pieces = 0;
  /// Into so many tasks the first of these is cut along its sums, each of which begins when its columns of A have arrived; 1: it is not cut; 0: as
  /// the size of A suggests. It decides in which order the terms of these sums are added.
  std::size_t panels = 0;
  /// Where the spread is automatic: a device is used if it has work for so many seconds, because one device more costs the host some launches and
  /// transfers.
  double least_seconds = policy::least_seconds_of_device;
  /// Cuts calls as the program wants, instead of all that is above; empty: the package cuts them.
  CutFunction cut = {};
};

/// Returns the options of the next call. Starts the runtime. @throws ConfigurationError  it cannot start. Threads: any.
[[nodiscard]] SEMCACHE_API Options options();
/// Sets them. Threads: any; calls that have begun keep theirs.
SEMCACHE_API void set_options(const Options& options);

/// What a call would do now. A caller that has another way on one device asks before it calls. Where the program cuts calls itself, the answer is all
/// devices. Each starts the runtime.
/// @throws ConfigurationError  the runtime cannot start. Threads: any.
/// Returns on how many devices a dense product of so many multiplications of two numbers of type T is computed.
template <class T>
[[nodiscard]] SEMCACHE_API std::size_t devices_of_product(double multiplications);
/// Returns on how many devices a matrix of so many rows and entries is multiplied by a vector (`spmv`), or by so many at once (`spmm`).
template <class T>
[[nodiscard]] SEMCACHE_API std::size_t devices_of_sparse_product(std::uint64_t rows, std::uint64_t entries, std::uint64_t columns = 1);
/// Returns on how many devices a function of vectors is computed. Vectors stay where they are: it is as many as the sparse matrix of as many rows
/// has that was used last, or as hold this one already; otherwise as many as pay for so many bytes of all operands. One, where moving this vector
/// takes longer than other devices save, or has done so; the question then counts as a call, because its caller makes the call in another way.
/// @param vector  the one that decides, of n elements, in a tracked array
template <class T>
[[nodiscard]] SEMCACHE_API std::size_t devices_of_vectors(const T* vector, std::int64_t n, double bytes);

/// Waits until all calls of this package are done that any thread has made so far. Who uses results through SemCache (a launch, a copy, an
/// access of the host) need not wait.
SEMCACHE_API void wait();

}  // namespace semcache::linalg
