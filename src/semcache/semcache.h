/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SPDX-FileCopyrightText: The SemCache contributors */
#ifndef SEMCACHE_SEMCACHE_H
#define SEMCACHE_SEMCACHE_H

/** @file
 * The C interface of SemCache's core. C89 with <stdint.h>. It has the functions of <semcache/semcache.hpp>, with status
 * codes instead of exceptions. No function throws, and none ends the process because of an error that it can report.
 *
 * A tracked array is an array that SemCache keeps coherent; it has a device side, a host side (a mirror), or both. A copy is
 * lazy: it states which content the destination must have, and bytes move when the destination is read. A mirror is open when
 * its accesses are not noticed any more; copies to and from it move their bytes at the call.
 *
 * Threads: any thread may call any function. A signal handler may call only semcache_status_name, semcache_last_error and
 * semcache_version. A failed call leaves the runtime as it was.
 */

#include <stddef.h>
#include <stdint.h>

#define SEMCACHE_VERSION_MAJOR 0
#define SEMCACHE_VERSION_MINOR 1
#define SEMCACHE_VERSION_PATCH 0

#if defined(__GNUC__)
#define SEMCACHE_C_API __attribute__((visibility("default")))
#else
#define SEMCACHE_C_API
#endif

#ifdef __cplusplus
#define SEMCACHE_C_NOEXCEPT noexcept
extern "C" {
#else
#define SEMCACHE_C_NOEXCEPT
#endif

/** How a call ended. Later versions may add codes at the end: treat an unknown code as a failure. */
typedef enum semcache_status {
  SEMCACHE_SUCCESS = 0,
  SEMCACHE_ERROR_USAGE = 1,         /**< the caller broke a precondition: an untracked address, a null pointer */
  SEMCACHE_ERROR_CONFIGURATION = 2, /**< an environment variable, or semcache_use_devices, asks for what cannot be used */
  SEMCACHE_ERROR_OUT_OF_MEMORY = 3, /**< memory of a device or of the host is exhausted */
  SEMCACHE_ERROR_DEVICE = 4,        /**< the device's driver reported a failure */
  SEMCACHE_ERROR_SYSTEM = 5,        /**< the operating system refused a call */
  SEMCACHE_ERROR_INTERNAL = 6       /**< anything else */
} semcache_status;

/** How bytes are about to be used; see semcache_access. */
typedef enum semcache_access_mode {
  SEMCACHE_READ = 0,       /**< only read */
  SEMCACHE_WRITE = 1,      /**< some of the bytes may be written, the others keep their content */
  SEMCACHE_READ_WRITE = 2, /**< both */
  SEMCACHE_OVERWRITE = 3   /**< every byte will be written before it is read: nothing is fetched */
} semcache_access_mode;

typedef struct semcache_traffic {
  uint64_t bytes;
  uint64_t count;
} semcache_traffic;

/**
 * Exact counts since the runtime started. Set `size` to sizeof(struct semcache_statistics_t) before the call. Later
 * versions add fields only at the end. The library fills the fields that both sides know, and sets `size` to their length.
 */
struct semcache_statistics_t {
  size_t size;
  semcache_traffic h2d;           /**< host to device, over the link */
  semcache_traffic d2h;           /**< device to host, over the link */
  semcache_traffic d2d;           /**< within and between devices */
  semcache_traffic h2h;           /**< between host arrays */
  semcache_traffic filled;        /**< made in place from a known pattern */
  semcache_traffic saved_link;    /**< saved before a write, over the link (counted in h2d or d2h too) */
  semcache_traffic saved_device;  /**< saved before a write, within a device */
  semcache_traffic saved_host;    /**< saved before a write, within the host */
  semcache_traffic avoided;       /**< copies that moved nothing: the destination had the content */
  semcache_traffic deferred;      /**< copies that moved nothing at the call */
  semcache_traffic dropped;       /**< deferred bytes that no access needed before they were overwritten or freed */
  semcache_traffic write_through; /**< extra copies of the write-through protocol (counted in h2d or d2h too) */
  semcache_traffic read_ahead;    /**< made valid with a faulting page, or before it was needed (counted in d2h or filled too) */
  semcache_traffic unchanged;     /**< captured as writable, found unchanged */
  uint64_t host_faults;
  uint64_t evictions;
  uint64_t launches;
  uint64_t unknown_launches;
  uint64_t native_launches;       /**< the older name of native_captures */
  uint64_t device_waits;
  uint64_t opened;
  uint64_t live_device_bytes;
  uint64_t live_host_bytes;
  uint64_t mapped_device_bytes;
  uint64_t snapshot_bytes;
  uint64_t directory_bytes;
  uint64_t unannounced;           /**< uses that were neither captured nor announced, noticed before they took place */
  semcache_traffic written_back;  /**< part of saved_link: saved because of an eviction, or because one side was freed */
  semcache_traffic write_ahead;   /**< opened for writing with a faulting page */
  semcache_traffic read_ahead_lost; /**< part of read_ahead: fetched, and no later fault showed its use */
  uint64_t exposed;               /**< part of opened: mirrors into which a kernel holds a raw pointer */
  uint64_t uncaptured;            /**< part of unannounced: uses that took place while a launch ran */
  uint64_t changed;               /**< captured as writable, found changed */
  uint64_t device_budget_bytes;   /**< how much device memory may be used */
  uint64_t native_captures;       /**< captures of arrays by kernels outside semcache::Exec, summed over these kernels */
  semcache_traffic between_devices; /**< part of d2d: from one device to another, over the link between them */
  uint64_t peer_launches;         /**< launches that use an array from another device than its own, summed over these arrays */
  semcache_traffic rewritten;     /**< written on the host with the values that the device had */
  uint64_t hulls;                 /**< uses of strided columns, and messages of many pieces, that needed what lies between them, too */
};

/** Returns the library's version: 10000 * major + 100 * minor + patch. A library may be newer than this header. */
SEMCACHE_C_API int semcache_version(void) SEMCACHE_C_NOEXCEPT;

/**
 * Returns a name such as "usage error"; never null. `status` is a semcache_status; its type is int because a later library may
 * return new codes.
 */
SEMCACHE_C_API const char* semcache_status_name(int status) SEMCACHE_C_NOEXCEPT;

/**
 * Returns the message of the calling thread's last failed call. It names addresses, labels, variables and remedies. It is empty
 * if no call failed; a successful call does not change it. The text is valid until the thread's next failing call.
 */
SEMCACHE_C_API const char* semcache_last_error(void) SEMCACHE_C_NOEXCEPT;

/**
 * Announces a use of tracked bytes by code whose accesses the runtime does not notice: a library call, MPI, a system call, a
 * raw kernel.
 * Host address: after the call the bytes can be used, by system calls too, until the next launch or copy writes the array
 * elsewhere. Device address: after the call every stream of the device may use the bytes; with a writing mode they count as written
 * now. The range must lie inside one tracked array, otherwise the call returns SEMCACHE_ERROR_USAGE. A call with 0
 * bytes does nothing. The call waits for kernels in flight that write the bytes.
 * mode: a semcache_access_mode. Its type is int so that any other number is SEMCACHE_ERROR_USAGE instead of undefined behaviour.
 */
SEMCACHE_C_API semcache_status semcache_access(const void* address, size_t bytes, int mode) SEMCACHE_C_NOEXCEPT;

/**
 * Announces a use of a part of a matrix: `columns` runs of `width` bytes, which begin `pitch` bytes apart. Otherwise as
 * semcache_access. What lies between the columns is neither fetched nor counted as written on a device, and where it is whole pages of a mirror;
 * elsewhere all bytes from the first to the last are announced, of which none is overwritten unread.
 */
SEMCACHE_C_API semcache_status semcache_access_2d(const void* address, size_t pitch, size_t width, size_t columns,
                                                  int mode) SEMCACHE_C_NOEXCEPT;

/**
 * Announces that the host will read tracked bytes soon, in a mirror or in adopted memory. They cross the link as soon as the kernels that write them
 * are done, and the call does not wait for these. A later access finds the bytes there, or waits for their arrival.
 */
SEMCACHE_C_API semcache_status semcache_prefetch(const void* address, size_t bytes) SEMCACHE_C_NOEXCEPT;

/** Carries out the lazy copies that are pending for these bytes. The same as semcache_access with SEMCACHE_READ. */
SEMCACHE_C_API semcache_status semcache_settle(const void* address, size_t bytes) SEMCACHE_C_NOEXCEPT;
/** Settles every tracked array. */
SEMCACHE_C_API semcache_status semcache_settle_all(void) SEMCACHE_C_NOEXCEPT;

/**
 * Fills a consistent snapshot of the counts. Returns SEMCACHE_ERROR_USAGE if `size` is too small for the size field and one
 * figure.
 */
SEMCACHE_C_API semcache_status semcache_statistics(struct semcache_statistics_t* statistics) SEMCACHE_C_NOEXCEPT;

/** Returns 1 if the address lies in a tracked array (device array, host mirror, or adopted memory with a whole page), else 0. */
SEMCACHE_C_API int semcache_is_tracked(const void* address) SEMCACHE_C_NOEXCEPT;

/**
 * Allocates a device array, aligned to 512 bytes, or a host array, page aligned. The content is undefined, and the array costs
 * no memory until it is used. `label` (may be null) is copied; it names the array in messages and reports.
 * partner: null, or the first byte of a device array of the same size. The new host array becomes the host side of that device
 * array: both are one tracked array then, and a write on one side is seen on the other.
 * On failure *result is null.
 */
SEMCACHE_C_API semcache_status semcache_allocate_device(const char* label, size_t bytes,
                                                        void** result) SEMCACHE_C_NOEXCEPT;
SEMCACHE_C_API semcache_status semcache_allocate_host(const char* label, size_t bytes, const void* partner,
                                                      void** result) SEMCACHE_C_NOEXCEPT;
/**
 * Allocates a device array as semcache_allocate_device does, on device `device` of the process, counted from 0
 * (semcache_use_devices, semcache_device_count). Returns SEMCACHE_ERROR_USAGE if the process uses fewer devices.
 */
SEMCACHE_C_API semcache_status semcache_allocate_on_device(const char* label, size_t bytes, int device,
                                                           void** result) SEMCACHE_C_NOEXCEPT;
/** Frees an array that either function returned. Null and addresses of a runtime that has ended are ignored. */
SEMCACHE_C_API void semcache_deallocate(void* address) SEMCACHE_C_NOEXCEPT;

/**
 * Adopts memory of the program's own (malloc, static, anonymous mmap): from now on it is a tracked host array with the content that it
 * has. Copies of it are lazy as far as whole pages lie in it; the rest at its two ends is copied at each copy. Call
 * semcache_release(address) before it is freed or unmapped. Until then the program must not change the protection of these pages
 * (mprotect) either, because SemCache would not notice, and stale bytes could be read. `label` may be null. SEMCACHE_ERROR_USAGE: the
 * range is null or empty, overlaps tracked memory, or is no private readable and writable memory (a stack, a mapped file, shared
 * memory, hugetlb).
 */
SEMCACHE_C_API semcache_status semcache_adopt(void* address, size_t bytes, const char* label) SEMCACHE_C_NOEXCEPT;
/**
 * Ends the adoption of the range that begins at `address`. Its content is in the memory then, which can be read and written as before.
 * SEMCACHE_ERROR_USAGE: no adopted range begins there. Does nothing while no runtime runs.
 */
SEMCACHE_C_API semcache_status semcache_release(void* address) SEMCACHE_C_NOEXCEPT;

/**
 * Gives the destination the content that the source has now; bytes move only when an access needs them. Addresses that are not
 * tracked are taken for ordinary host memory, and are copied at the call. After the call the source may be changed and the
 * destination read.
 */
SEMCACHE_C_API semcache_status semcache_copy(void* to, const void* from, size_t bytes) SEMCACHE_C_NOEXCEPT;

/**
 * Copies a part of a matrix: `columns` runs of `width` bytes, which begin to_pitch and from_pitch bytes apart (of a column-major
 * matrix the pitch is the leading dimension in bytes). The bytes between the runs neither move nor change. Otherwise as
 * semcache_copy. SEMCACHE_ERROR_USAGE: a pitch is less than `width`, the columns leave an array, or source and destination
 * overlap.
 */
SEMCACHE_C_API semcache_status semcache_copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                                size_t columns) SEMCACHE_C_NOEXCEPT;

/** Stands for the host's processor in a list of devices. */
#define SEMCACHE_THE_HOST (-100)

/**
 * Asks for these devices, by their numbers; `devices` may be null, for any `count` devices. Without the call, and without the
 * variable SEMCACHE_DEVICES, the process uses one device. Call it before the first use of SemCache, or after semcache_finalize. It
 * takes the place of SEMCACHE_DEVICES, and holds for each later start of the runtime, until the next call.
 * SEMCACHE_THE_HOST in the list, at any place, says that packages may give shares of their work to the host's processor, too. It is
 * no device: semcache_device_count does not count it, and a list has at least one device. Nothing else changes by it.
 * SEMCACHE_ERROR_USAGE: the runtime runs already; the message names its devices. SEMCACHE_ERROR_CONFIGURATION: `count` is 0 or above
 * 16, or a number is negative, too large or appears twice. Whether the devices exist shows at the first use.
 */
SEMCACHE_C_API semcache_status semcache_use_devices(const int* devices, size_t count) SEMCACHE_C_NOEXCEPT;
/** Returns the number of devices that the runtime uses; 0 if no runtime runs. Starts nothing. */
SEMCACHE_C_API int semcache_device_count(void) SEMCACHE_C_NOEXCEPT;

/** Ends the runtime: settles every array and writes the report. The next use starts the runtime again. Idempotent. */
SEMCACHE_C_API semcache_status semcache_finalize(void) SEMCACHE_C_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
