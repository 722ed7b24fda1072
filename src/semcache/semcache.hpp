// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// The public C++ surface of SemCache's core. Kokkos programs include <semcache/kokkos.hpp> instead, which adds
/// the memory space, the execution space and overloads for views.
#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>
#include <semcache/trace/statistics.hpp>

#include <cstddef>

namespace semcache {

/// Announces a use of tracked bytes by code that nobody notices: a library call, MPI, a system call, a raw kernel.
///
/// Host address (a mirror): afterwards the bytes can be used at once, by system calls too, until the next launch or
/// copy that writes the array elsewhere. `read` fetches what is stale; `write`/`read_write` fetch and make the host
/// the only holder; `overwrite` fetches nothing inside the range (but the rest of its first and last page).
/// Device address: afterwards every stream of the device may use the bytes (transfers are complete); with a writing
/// mode the array counts as written now, and whoever reads it elsewhere later waits for the whole device.
///
/// @param address  first byte, inside one tracked array
/// @param bytes    length; 0 does nothing
/// @throws UsageError     the range is not inside one tracked array; nothing changed
/// @throws OutOfMemory    device memory: the working set exceeds the budget; nothing changed
/// Ordering: waits for kernels in flight that write the bytes. Threads: any; not from a signal handler.
SEMCACHE_API void access(const void* address, std::size_t bytes, Access mode);

/// Carries out what a lazy copy owes to these bytes: afterwards they hold their content physically, and for host
/// addresses the pages are readable. Same errors as `access`. Equivalent to access(address, bytes, Access::read).
SEMCACHE_API void settle(const void* address, std::size_t bytes);
/// Settles every tracked array.
SEMCACHE_API void settle();

/// Counts since the runtime started (all zero before). Threads: any; a consistent snapshot.
[[nodiscard]] SEMCACHE_API Statistics statistics();

/// True if the address lies in tracked memory (device array or host mirror).
[[nodiscard]] SEMCACHE_API bool is_tracked(const void* address) noexcept;

/// Ends the runtime: everything settled, pages open, handlers restored, threads joined, report written. Called by
/// Kokkos::finalize where the Kokkos package is used. Idempotent; the next use starts the runtime again.
SEMCACHE_API void finalize();

}  // namespace semcache
