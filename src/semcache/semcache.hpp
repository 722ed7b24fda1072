// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// The public C++ surface of SemCache's core. Kokkos programs include <semcache/kokkos.hpp> instead, which adds
/// the memory space, the execution space and overloads for views.
///
/// A tracked array is an array that SemCache keeps coherent; it has a device side, a host side (a mirror), or both. A copy is
/// lazy: it states which content the destination must have, and bytes move when the destination is read.
#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>
#include <semcache/trace/statistics.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace semcache {

/// Announces a use of tracked bytes by code whose accesses the runtime does not notice: a library call, MPI, a system call, a raw
/// kernel.
///
/// Host address (in a mirror): after the call the bytes can be used, by system calls too, until the next launch or copy
/// writes the array elsewhere. `read` fetches stale bytes. `write` and `read_write` fetch them and make the host the only
/// holder of the content. `overwrite` fetches nothing inside the range, only the rest of its first and last page.
/// Device address: after the call every stream of the device may use the bytes, because transfers to them are complete. With a
/// writing mode the bytes count as written now, and a later reader of the array on another side waits for the whole device. `overwrite`
/// fetches nothing. The rest of the array is neither fetched nor counted as written. (Where the driver's calls are watched, a kernel that
/// is given an address in the array finds all of it valid, if there is room for all of it. If not, it finds the announced parts, and beside
/// them valid content or no memory.)
///
/// @param address  first byte, inside one tracked array
/// @param bytes    length; 0 does nothing
/// @throws UsageError     the range is not inside one tracked array; nothing changed
/// @throws OutOfMemory    device memory: the working set exceeds the budget; nothing changed
/// Ordering: waits for kernels in flight that write the bytes. Threads: any; not from a signal handler.
SEMCACHE_API void access(const void* address, std::size_t bytes, Access mode);

/// Announces a use of a part of a matrix: `columns` runs of `width` bytes, which begin `pitch` bytes apart (of a column-major matrix the
/// pitch is the leading dimension in bytes). Otherwise as `access`. What lies between the columns is neither fetched nor counted as
/// written on a device, and in a mirror where it is whole pages: where the pitch is a number of pages, and wider than a column's pages.
/// Elsewhere in a mirror the call is an announcement of all bytes from the first to the last, of which none is overwritten unread.
/// @throws UsageError  as `access`; the columns overlap
SEMCACHE_API void access_2d(const void* address, std::size_t pitch, std::size_t width, std::size_t columns, Access mode);

/// Announces that the host will read tracked bytes soon: they are brought to the host, and the call does not wait for them. Each part crosses the link
/// as soon as the kernels that write it are done, while others run. A later access finds the bytes there, or waits for their arrival. Without the call
/// they cross the link when the host accesses them.
///
/// Only when bytes move changes, and they move in vain if a launch or a copy overwrites them before the host reads them. Other transfers to the host
/// from the same device queue behind these.
/// @param address  first byte, inside one mirror, or in adopted memory
/// @param bytes    length; 0 does nothing
/// @throws UsageError  the range is not inside one tracked array of the host; nothing changed
/// @throws OutOfMemory  a transfer cannot be submitted; every byte has its content
/// @throws DeviceError  the same
/// Ordering: behind all launches, copies and calls that were submitted before. It waits for other work only where the array's pages are not
/// page-locked yet, where an earlier transfer of the same bytes is under way (of a prefetch that a launch has followed, say), or where other code's
/// kernels write the bytes. It brings nothing if some of the bytes are just being written in a part on the host (runtime::HostUse).
/// Threads: any; not from a signal handler.
SEMCACHE_API void prefetch(const void* address, std::size_t bytes);

/// Carries out the lazy copies that are pending for these bytes. After the call the memory holds its content physically, and
/// the pages of host addresses are readable. Throws the same errors as `access`. Equivalent to access(address, bytes,
/// Access::read).
SEMCACHE_API void settle(const void* address, std::size_t bytes);
/// Settles every tracked array.
SEMCACHE_API void settle();

/// Returns the counts since the runtime started, as a consistent snapshot; all are zero before. Threads: any.
[[nodiscard]] SEMCACHE_API Statistics statistics();

/// Returns whether the address lies in tracked memory: a device array, a host mirror, or adopted memory that contains a whole page.
[[nodiscard]] SEMCACHE_API bool is_tracked(const void* address) noexcept;

/// Asks for `count` devices. Without the call, and without SEMCACHE_DEVICES, the process uses one.
///
/// Call it before the first use of SemCache; with Kokkos at any time before the first allocation in semcache::Space and before the
/// first semcache::Exec is made. The first device is the one on which the program's own framework (Kokkos) computes. Which ones the
/// others are is chosen as for SEMCACHE_DEVICES=count (docs/reference/devices.md): process r of a node takes the devices from r * count on.
/// The call takes the place of SEMCACHE_DEVICES, of which a line on stderr then says that it has no effect, and of earlier calls. It
/// holds for each later start of the runtime, until the next call.
/// @throws UsageError          the runtime runs already; the text names its devices. Or the process was forked from one that uses
///                             SemCache. Nothing changed
/// @throws ConfigurationError  `count` is not from 1 to 16; nothing changed
/// Whether there are as many devices shows when the runtime starts: the first use throws ConfigurationError if not.
/// Threads: any; not from a signal handler.
SEMCACHE_API void use_devices(int count);
/// Stands for the host's processor in a list of devices.
inline constexpr int the_host = -100;
/// Asks for exactly these devices, by their numbers (CUDA: as CUDA_VISIBLE_DEVICES numbers them). If the program's own framework
/// (Kokkos) computes on one GPU only, that one must be among them, and becomes the first; the others keep their order.
/// Otherwise as above.
/// `the_host` in the list, at any place, says that packages may give shares of their work to the host's processor, too. It is no device:
/// it is not counted, and a list has at least one device. Nothing else changes by it.
/// @throws UsageError          as above
/// @throws ConfigurationError  the list is empty or too long, has no device, or a number is negative, too large or appears twice; nothing changed
/// Whether the devices exist shows when the runtime starts: the first use throws ConfigurationError if not.
SEMCACHE_API void use_devices(const std::vector<int>& devices);
/// The same for a list in braces, so that use_devices({1}) is device 1 alone and not a number of devices.
inline void use_devices(std::initializer_list<int> devices) { use_devices(std::vector<int>(devices)); }

/// Returns the number of devices that the runtime uses; 0 if no runtime runs. Starts nothing. Threads: any.
[[nodiscard]] SEMCACHE_API int device_count() noexcept;

/// Ends the runtime: settles every array, opens all pages, joins the runtime's threads and writes the report. Its SIGSEGV handler stays installed, and
/// passes every fault to the one that was there before, because a thread may have touched an array just before its pages were opened. Kokkos::finalize calls it where the Kokkos package is used. Idempotent; the next use starts the runtime again.
/// Threads: any. It waits for the calls, kernels and uses of parts that other threads have under way. Calls that they begin meanwhile wait for
/// the end, and get the next runtime; if it takes longer than a second, some are let through, because a kernel may wait for a thread of its own
/// that makes a call. Calls of libraries above (SemCache::linalg, the Kokkos-Kernels TPL) are several such calls: the program ends
/// them first. @throws UsageError  the calling thread itself has a kernel or such a use under way
SEMCACHE_API void finalize();

}  // namespace semcache
