// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>

namespace semcache::mpi {

/// Returns whether the MPI library reports that it takes device addresses ("CUDA-aware"). Returns false for a library that
/// cannot be asked.
[[nodiscard]] bool library_takes_device_addresses();

/// Shorter messages of device arrays are in host memory unless SEMCACHE_MPI_CUDA=on, because through the host they need two
/// copies fewer within the device and overlap better with kernels (docs/measurements/2026-11-23-h200.md).
inline constexpr std::size_t shortest_device_message = 256 * 1024;

}  // namespace semcache::mpi
