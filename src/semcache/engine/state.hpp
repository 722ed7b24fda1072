// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/patience.hpp>
#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/directory/directory.hpp>
#include <semcache/engine/pending_copies.hpp>
#include <semcache/engine/surroundings.hpp>
#include <semcache/memory/device_memory.hpp>
#include <semcache/memory/ends.hpp>
#include <semcache/memory/host_memory.hpp>
#include <semcache/memory/mappings.hpp>
#include <semcache/memory/staging.hpp>
#include <semcache/memory/transit.hpp>
#include <semcache/pages/host_pages.hpp>
#include <semcache/plan/step.hpp>
#include <semcache/platform/per_thread.hpp>
#include <semcache/platform/platform.hpp>
#include <semcache/timeline/queues.hpp>
#include <semcache/trace/recorder.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

namespace semcache::engine {

using memory::DeviceMemory;
using memory::HostMemory;
using memory::Known;
using memory::LookupTable;
using memory::Memory;
using memory::PageState;
using memory::Staging;
using memory::TransitBlock;
using memory::TransitBuffer;
using pages::Flight;
using pages::Flights;
using pages::HostPages;
using timeline::Clock;
using timeline::max_queues;
using timeline::Mode;
using timeline::mode_of;
using timeline::QueueIndex;
using timeline::Queues;
using timeline::unknown_queue;

enum class Protocol : std::uint8_t { write_back, write_through, off };

struct Options {
  Protocol protocol = Protocol::write_back;
  std::uint64_t device_memory_bytes = 0;  ///< budget per device; 0: nine tenths of what is free at the start
  unsigned snapshot_share_percent = 25;   ///< of the budget, for copy-on-write snapshots
  bool check = false;
  bool check_writes = false;
  bool notices = true;  ///< the tracker notices host accesses; false: pages are never protected
  /// It also notices the program's accesses to the memory of an emulated device, whose pages are protected then.
  bool device_faults = false;
  /// Addresses for host arrays; 0: 256 GiB, but at most a quarter of what a limit on addresses leaves.
  std::uint64_t host_address_bytes = 0;
  std::uint64_t registration_bytes = 64 * 1024 * 1024;  ///< host pages are page-locked in pieces of this size
  /// Nobody waits longer for a thread that may be waiting for him.
  std::chrono::seconds patience{60};
  Surroundings* surroundings = nullptr;  ///< nullptr: nothing is known; outlives the engine
  plan::Observer* observer = nullptr;    ///< sees every step; outlives the engine
};

/// A device, and what the engine keeps for it.
struct DeviceState {
  std::uint32_t index = 0;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Staging> staging;
  std::unique_ptr<Queues> queues;
  QueueIndex to_device_queue = 0, to_host_queue = 0, within_queue = 0;
  /// Stands in a launch that may use any array for all that need nothing done when it begins: its pins and its uses are theirs, if
  /// they are older than `everything.since`, when the last such launch began.
  Memory everything;
};

/// While a thread settles handles for a launch outside our sight, that launch is not submitted yet: waiting for the
/// device does not show that the uses noted for it are over.
struct UnsubmittedLaunch : base::Uncopied {
  UnsubmittedLaunch() noexcept;
  ~UnsubmittedLaunch();
  UnsubmittedLaunch* outer;
  std::uint64_t waited = 0;  ///< uses up to this one need no further wait now
};

/// What the calling thread is at.
struct Thread {
  UnsubmittedLaunch* unsubmitted = nullptr;
  /// Of a thread that is in a driver's call: it may hold what another's launch waits for, so it never waits for that without end.
  base::Patience* in_driver_call = nullptr;
  const std::byte* served_address = nullptr;  ///< the access whose fault it serves
  std::uint64_t arguments_of = 0;             ///< the `ForeignUses` that keeps arguments of its next launch; 0: none
};
[[nodiscard]] inline Thread& here() noexcept { return platform::per_thread<Thread>(); }

inline UnsubmittedLaunch::UnsubmittedLaunch() noexcept : outer(here().unsubmitted) { here().unsubmitted = this; }
inline UnsubmittedLaunch::~UnsubmittedLaunch() { here().unsubmitted = outer; }

/// An array that a transaction goes on with after a wait: each attempt looks at this before anything else.
struct Kept : Known {
  explicit Kept(Memory& m) noexcept : Known(m), label(m.label) {
    if (!m.live) --incarnation;  // it has been freed since the caller found it
  }
  trace::LabelId label;
};

/// What all parts of the engine look at, and nobody else. Guarded by the engine's lock, but for the atomics, what never changes, and
/// the members that say so.
struct State : base::Uncopied {
  State(std::vector<std::unique_ptr<device::Device>> given_devices, std::unique_ptr<platform::Platform> given_platform,
        trace::Recorder& given_recorder, const Options& given_options);

  /// The live memory whose data contains `p`; nullptr for foreign addresses. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept;
  [[nodiscard]] Memory* find_device(const void* p) const noexcept;
  [[nodiscard]] bool in_any_arena(const void* p) const noexcept;
  [[nodiscard]] bool in_device_arena(const void* p) const noexcept;
  /// Could memory of ours be among [first, last]? No lock.
  [[nodiscard]] bool overlaps(const std::byte* first, const std::byte* last) const noexcept;
  /// Of the first device: how much of it is memory of which faults are to be served.
  [[nodiscard]] std::uint64_t guarded_arena_bytes() const noexcept { return options.device_faults ? home().memory->bytes() : 0; }
  /// Of the live array at `p`; nullptr for other addresses. No lock.
  [[nodiscard]] const char* label_of(const void* p) const noexcept {
    const Memory* m = find(p);
    return m != nullptr && m->live ? name(*m) : nullptr;
  }
  [[nodiscard]] Memory& memory_of(SlotId slot) const { return *by_slot[slot.value]; }
  /// Pieces of `range` that the slot does not hold as they are wanted.
  [[nodiscard]] std::vector<ByteRange> stale(SlotId slot, ByteRange range) const {
    std::vector<ByteRange> pieces;
    directory.stale(slot, range, pieces);
    return pieces;
  }
  /// Of a slot that may have been removed meanwhile; nullptr: no memory that lives.
  [[nodiscard]] Memory* find(SlotId slot) const noexcept {
    Memory* const m = slot.value < by_slot.size() ? by_slot[slot.value] : nullptr;
    return m != nullptr && m->live ? m : nullptr;
  }
  /// Host memory is; device memory while it is mapped.
  [[nodiscard]] static bool is_resident(const Memory& m) noexcept { return m.on_host() || (m.flags.load() & Memory::resident) != 0; }
  /// The first device: Kokkos' own, where the program's queues are.
  [[nodiscard]] DeviceState& home() const noexcept { return *devices.front(); }
  [[nodiscard]] DeviceState& device_of(const Memory& m) const { return *devices[device_index(m)]; }
  [[nodiscard]] static std::uint32_t device_index(const Memory& m) noexcept { return m.space.value - 1; }
  [[nodiscard]] const char* name(const Memory& m) const noexcept { return recorder.name(m.label); }
  [[nodiscard]] bool watched(const Memory& m) const noexcept { return pages->watched(m); }
  [[nodiscard]] bool in_everything(const Memory& m) const noexcept { return !m.on_host() && m.since.load() < everything(m).since.load(); }
  [[nodiscard]] Memory& everything(const Memory& m) const noexcept { return devices[device_index(m)]->everything; }
  /// Is a launch that uses the memory between its check and its submission?
  [[nodiscard]] bool pinned(const Memory& m) const noexcept {
    return m.pins.load() != 0 || (in_everything(m) && everything(m).pins.load() != 0);
  }
  /// Positions on a queue of the device memory's last use, and of the last one that may have written it.
  [[nodiscard]] std::uint64_t last_use(const Memory& m, QueueIndex q) const noexcept {
    return std::max(m.on(q).use.load(), in_everything(m) ? everything(m).on(q).use.load() : 0);
  }
  [[nodiscard]] std::uint64_t last_write(const Memory& m, QueueIndex q) const noexcept {
    return std::max(m.on(q).write.load(), in_everything(m) ? everything(m).on(q).write.load() : 0);
  }
  /// Are the pages of this device memory protected by its state, so that the program's own accesses are noticed?
  [[nodiscard]] bool guarded(const Memory& m) const noexcept { return options.device_faults && !m.on_host() && m.bytes > 0; }
  /// For the array that a caller named: first of all in each attempt. @throws UsageError
  void expect_not_freed(const Kept& array) const;

  std::vector<std::unique_ptr<DeviceState>> devices;
  std::unique_ptr<platform::Platform> platform;
  trace::Recorder& recorder;
  Options options;
  Surroundings nothing_known;
  Surroundings& surroundings;
  std::uint64_t page_bytes;
  memory::Mappings mappings;
  std::unique_ptr<HostMemory> host;
  Topology topology;
  directory::Directory directory;
  PendingCopies pending;
  std::deque<Memory> pool;  ///< lists of arrays have room for all of them
  std::vector<Memory*> by_slot;
  std::vector<Memory*> put_off;  ///< to be freed when their launches have ended
  std::uint32_t frees = 0;       ///< that are under way
  std::uint32_t waiting = 0;     ///< attempts that are made anew later
  Flights flights;               ///< what is under way
  std::unique_ptr<HostPages> pages;
  std::vector<Memory*> listed;  ///< that any launch of somebody else's may use
  std::atomic<std::size_t> listed_arrays{0};  ///< how many these are
  std::atomic<std::uint64_t> clock{1};
  std::atomic<std::uint64_t> links{0};     ///< copies and fills so far: others may want what an array holds since
  std::uint32_t running_launches = 0;      ///< counted under SEMCACHE_CHECK only
  std::atomic<std::uint32_t> kernels{0};   ///< launches under way, where uses of device memory fault (Options::device_faults)
};

}  // namespace semcache::engine
