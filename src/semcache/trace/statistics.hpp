// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>
#include <semcache/base/virtual_times.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace semcache {

/// Bytes and number of operations of one kind.
struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  Traffic& operator+=(Traffic o) noexcept {
    bytes += o.bytes;
    count += o.count;
    return *this;
  }
  friend bool operator==(Traffic a, Traffic b) noexcept { return a.bytes == b.bytes && a.count == b.count; }
};

/// The bytes that the runtime moved, saved and avoided since it started. All figures are exact counts.
/// A last holder is the only memory that holds some wanted content; it is saved before it is overwritten or dropped.
struct Counters {
  Traffic h2d;             ///< host to device, over the link
  Traffic d2h;             ///< device to host, over the link
  Traffic d2d;             ///< within and between devices, without saves. Between devices that do not reach each other: d2h and h2d
  Traffic h2h;             ///< between host mirrors
  Traffic filled;          ///< made in place from a known pattern, in any space
  Traffic saved_link;      ///< last holders saved over the link (counted in h2d/d2h too)
  Traffic saved_device;    ///< last holders saved within the device's memory
  Traffic saved_host;      ///< last holders saved within the host's memory
  Traffic avoided;         ///< deep_copy calls that moved nothing because the destination had the content already
  Traffic deferred;        ///< deep_copy calls that moved nothing at the call (each byte moves later, or never)
  Traffic dropped;         ///< deferred bytes overwritten or freed before an access needed them in that array
  Traffic write_through;   ///< extra copies of the write-through protocol (counted in h2d/d2h too)
  Traffic read_ahead;      ///< made valid with a faulting page or before it was needed: fetched (in d2h too) or filled
  Traffic unchanged;       ///< captured as writable, found unchanged by SEMCACHE_CHECK_WRITES=1
  Traffic written_back;    ///< part of saved_link: because an array was evicted, or one side of it freed
  Traffic write_ahead;     ///< opened for writing with a faulting page; counts as written
  Traffic read_ahead_lost; ///< part of read_ahead: fetched, and no fault showed its use until the array changed or was freed
  Traffic between_devices; ///< part of d2d: from one device to another, over the link between them
  Traffic rewritten;       ///< written on the host with the values that the device had, found by SEMCACHE_CHECK_WRITES=1; not moved
  std::uint64_t host_faults = 0;
  std::uint64_t evictions = 0;
  std::uint64_t launches = 0;
  std::uint64_t unknown_launches = 0;
  std::uint64_t native_captures = 0;  ///< captures of arrays by kernels outside semcache::Exec, summed over these kernels
  std::uint64_t device_waits = 0;     ///< waits for a whole device because the queue was unknown
  std::uint64_t opened = 0;           ///< mirrors that became open near the kernel's limit on mappings; adopted ranges that are open
  std::uint64_t exposed = 0;          ///< part of opened: because a kernel holds a raw pointer into them
  std::uint64_t unannounced = 0;      ///< uses that were neither captured nor announced, noticed before they took place
  std::uint64_t uncaptured = 0;       ///< part of unannounced: while a kernel of semcache::Exec ran
  std::uint64_t changed = 0;          ///< captured as writable, found changed by SEMCACHE_CHECK_WRITES=1
  std::uint64_t peer_launches = 0;    ///< launches that use an array from another device than its own, summed over these arrays
  std::uint64_t hulls = 0;            ///< uses of strided columns, and messages of many pieces, that needed what lies between them, too
};

/// Counters of one label ("A", "A_mirror"), call site ("cg.cpp:42 in solve") or functor.
struct NamedCounters {
  std::string name;
  Counters counters;
  std::string reason = {};  ///< for a functor with unknown launches: why its first one was unknown, and the remedy
};

/// One of the devices that the process uses.
struct DeviceStatistics {
  std::string name;
  int ordinal = 0;                ///< which of the visible devices
  std::uint64_t mapped_bytes = 0; ///< memory really in use, with saved copies
  std::uint64_t budget_bytes = 0; ///< how much may be in use (SEMCACHE_DEVICE_MEMORY)
};

/// What moved from one memory to another. What passes through the host counts on both links.
struct LinkStatistics {
  static constexpr int host = -1;
  int from = host;  ///< the host, or a device by its place in Statistics::devices
  int to = host;
  Traffic traffic;
};

/// Library calls that were cut in the same way, or stayed on one device for the same reason.
struct LibraryCalls {
  std::string what;   ///< "gemm d, 400 x 400 x 400: by columns on 2 devices, 2 tasks each"
  std::uint64_t count = 0;
};

struct Statistics {
  Counters total;
  std::vector<NamedCounters> labels;         ///< by label, largest traffic first
  std::vector<NamedCounters> call_sites;     ///< statements of the program; filled when SEMCACHE_REPORT is set
  std::vector<NamedCounters> unknown_launch_names;
  std::vector<LinkStatistics> links;         ///< those that carried anything, by `from` and `to`
  std::vector<LibraryCalls> library_calls;   ///< most calls first; filled when SEMCACHE_REPORT is set
  std::uint64_t live_device_bytes = 0;       ///< payload: sum of live device arrays
  std::uint64_t live_host_bytes = 0;         ///< payload: sum of live host mirrors
  std::uint64_t mapped_device_bytes = 0;     ///< device memory really in use, with snapshots (saved copies)
  std::uint64_t device_budget_bytes = 0;     ///< how much device memory may be in use (SEMCACHE_DEVICE_MEMORY)
  std::uint64_t snapshot_bytes = 0;
  std::uint64_t derived_bytes = 0;           ///< device memory of derived values that nobody uses now
  std::uint64_t directory_bytes = 0;
  std::string device_kind;                   ///< "emulated" or "cuda"
  std::string device_name;                   ///< of the first device
  int device_count = 0;
  int device_ordinal = 0;                    ///< which of the visible devices the first device is
  std::vector<DeviceStatistics> devices;     ///< all devices, the program's own first
  std::optional<VirtualTimes> virtual_time;  ///< nothing unless SEMCACHE_EMULATED_MACHINE is set
  std::string tracker;
  std::string device_tracker;                ///< how unannounced uses of device memory are noticed, or "none"
  std::string protocol;
  bool check_writes = false;                 ///< SEMCACHE_CHECK_WRITES=1
};

}  // namespace semcache
