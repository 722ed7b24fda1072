// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>

namespace semcache::mpi {

/// Does the MPI library say that it takes device addresses ("CUDA-aware")? False where it does not say.
[[nodiscard]] bool library_takes_device_addresses();

/// Shorter messages go by the host unless SEMCACHE_MPI_CUDA=on: there they need two copies fewer within the device, and
/// overlap better with kernels (docs/performance.md).
inline constexpr std::size_t shortest_device_message = 256 * 1024;

}  // namespace semcache::mpi
