// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstddef>

/// SemCache's layer between a program and its MPI library. A program calls MPI as usual and does not need this header
/// (docs/how-to/mpi.md).
namespace semcache::mpi {

/// Returns whether MPI gets a message of a device view at a device address, if the message spans `bytes` bytes.
/// SEMCACHE_MPI_CUDA=on or off decides. Otherwise the MPI library must take device addresses and the message must be long
/// enough (docs/how-to/mpi.md). The call starts the runtime. Returns false in a program without SemCache.
[[nodiscard]] SEMCACHE_API bool uses_device_addresses(std::size_t bytes);

/// Returns the number of requests with tracked buffers that have not completed, or, if persistent, that have not been freed.
/// Threads: any.
[[nodiscard]] SEMCACHE_API std::size_t pending_requests() noexcept;

}  // namespace semcache::mpi
