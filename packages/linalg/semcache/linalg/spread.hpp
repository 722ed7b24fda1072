// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/policy/spread.hpp>

#include <cstddef>

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
};

/// Returns the options of the next call. Starts the runtime. @throws ConfigurationError  it cannot start. Threads: any.
[[nodiscard]] SEMCACHE_API Options options();
/// Sets them. Threads: any; calls that have begun keep theirs.
SEMCACHE_API void set_options(const Options& options);

/// Waits until all calls of this package are done that any thread has made so far. Who uses results through SemCache (a launch, a copy, an
/// access of the host) need not wait.
SEMCACHE_API void wait();

}  // namespace semcache::linalg
