// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstddef>

/// SemCache's layer between a program and its MPI library. The program needs none of this: it calls MPI (docs/mpi.md).
namespace semcache::mpi {

/// Does MPI get messages of device views in the device's memory, if they span so many bytes? (SEMCACHE_MPI_CUDA; where it
/// does not decide, the MPI library must take such addresses, and the message must be long enough: docs/mpi.md.)
/// Starts the runtime.
[[nodiscard]] SEMCACHE_API bool uses_device_addresses(std::size_t bytes);

/// Requests with tracked buffers that are not completed, and persistent ones that are not freed. Threads: any.
[[nodiscard]] SEMCACHE_API std::size_t pending_requests() noexcept;

}  // namespace semcache::mpi
