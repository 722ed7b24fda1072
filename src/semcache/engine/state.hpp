// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/patience.hpp>
#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/directory/directory.hpp>
#include <semcache/engine/pending_copies.hpp>
#include <semcache/engine/surroundings.hpp>
#include <semcache/memory/adopted.hpp>
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
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace semcache::engine {

using memory::AdoptedMemory;
using memory::ArrayBlock;
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
using timeline::max_queues;
using base::Side;
using timeline::Mode;
using timeline::mode_of;
using timeline::QueueIndex;
using timeline::Queues;
using timeline::unknown_queue;

enum class Protocol : std::uint8_t { write_back, write_through, off };
/// Whether kernels and copies of one device use the memory of another. If not, content passes through the host.
enum class PeerAccess : std::uint8_t { where_possible, off };

struct Options {
  Protocol protocol = Protocol::write_back;
  PeerAccess peer_access = PeerAccess::where_possible;
  bool check = false;         ///< SEMCACHE_CHECK
  bool check_writes = false;  ///< SEMCACHE_CHECK_WRITES
  bool notices = true;  ///< the tracker notices host accesses; false: pages are never protected
  /// The tracker also notices the program's accesses to the memory of an emulated device, whose pages are then protected.
  bool device_faults = false;
  unsigned snapshot_share_percent = 25;   ///< of the budget, for copy-on-write snapshots
  std::uint64_t device_memory_bytes = 0;  ///< budget per device; 0: nine tenths of what is free at the start
  std::vector<std::uint64_t> device_budgets;  ///< for each device; empty: device_memory_bytes for all
  /// Bytes of address space for host arrays. 0: 256 GiB, but at most a quarter of what a limit on addresses leaves.
  std::uint64_t host_address_bytes = 0;
  std::uint64_t registration_bytes = 64 * 1024 * 1024;  ///< host pages are page-locked in pieces of this size
  /// The longest time that a thread waits for another thread which may be waiting for it.
  std::chrono::seconds patience{60};
  Surroundings* surroundings = nullptr;  ///< outlives the engine; nullptr: nothing is known of threads
  plan::Observer* observer = nullptr;    ///< sees every step; outlives the engine; may be nullptr

  /// Returns the budget of the device with this index; 0: the default. `device_budgets` is empty or has the index.
  [[nodiscard]] std::uint64_t budget_of(std::size_t device) const noexcept {
    return device_budgets.empty() ? device_memory_bytes : device_budgets[device];
  }
};

/// A device, and the objects that the engine keeps for it.
struct DeviceState {
  std::uint32_t index = 0;
  device::Device* device = nullptr;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Staging> staging;
  QueueIndex to_device_queue = 0, to_host_queue = 0, within_queue = 0;
  // Queues for work that whoever submits it waits for; invalid where kernels run in the caller's thread.
  QueueId checks;           ///< `Executor::content_of`, `digest_of`
  QueueId pageable_copies;  ///< copies that are made without the lock
  /// Represents, among the operands of a launch that may use any array, all arrays that need nothing done when that launch
  /// begins. Its pins and uses count for each array that is older than `everything.since`, the time at which the last such launch
  /// began.
  Memory everything;
  /// What represents this device's arrays: `everything`, or that of the first device where all devices reach each other, because then
  /// such a launch may use the same arrays whichever device it runs on.
  Memory* represented_by = nullptr;

  DeviceState() = default;
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState() {
    for (const QueueId queue : {checks, pageable_copies}) {
      if (queue.valid()) (void)device->close_queue(queue);
    }
  }
};

/// Marks, while it lives, that the calling thread prepares arrays for a launch that the engine does not see and that is not
/// submitted yet. Waiting for the device then does not show that the uses noted for that launch are over.
struct UnsubmittedLaunch : base::Uncopied {
  UnsubmittedLaunch() noexcept;
  ~UnsubmittedLaunch();
  UnsubmittedLaunch* outer;
  /// For each device, a position on the unknown queue: uses up to it need no further wait by this thread there.
  std::array<std::uint64_t, most_devices> waited{};
};

/// What the calling thread is doing.
struct Thread {
  /// The mirror whose content the thread's copy brings at the call. The copy waits for the transfers to this mirror that the thread
  /// submits meanwhile, so they are `Flight::expected`. nullptr: none
  const Memory* bringing = nullptr;
  UnsubmittedLaunch* unsubmitted = nullptr;
  /// The position on the unknown queue of the last launch of other code that the thread has made. What the thread announced before is
  /// submitted.
  std::uint64_t submitted = 0;
  std::uint64_t submitted_to = 0;             ///< `State::serial` of the engine to which that position belongs
  std::optional<base::Patience> for_room;     ///< set while the thread waits for launches, because no device memory can be evicted
  /// Set while the thread is in a driver's call. It may then hold a lock of the driver for which another thread's launch waits,
  /// so its waits for launches are limited by this patience.
  base::Patience* in_driver_call = nullptr;
  const std::byte* served_address = nullptr;  ///< the access whose fault the thread serves; nullptr: none
  std::uint64_t arguments_of = 0;             ///< `State::serial` of the engine that keeps arguments of its next launch; 0: none
};
[[nodiscard]] inline Thread& here() noexcept { return platform::per_thread<Thread>(); }

inline UnsubmittedLaunch::UnsubmittedLaunch() noexcept : outer(here().unsubmitted) { here().unsubmitted = this; }
inline UnsubmittedLaunch::~UnsubmittedLaunch() { here().unsubmitted = outer; }

/// An array with which a transaction goes on after a wait. Each attempt checks first whether it has been freed (`freed`), because
/// another thread may free it while the lock is given up.
struct Kept : Known {
  explicit Kept(Memory& m) noexcept : Known(m), label(m.label) {
    // It was freed after the caller found it, so `freed` returns true, also where the memory lives on as a saved copy.
    if (!m.live || m.snapshot()) --incarnation;
  }
  trace::LabelId label;
};

/// A part on the host (`Lifetimes::allocate_host_part`) with which the host's processor works now.
struct HostPartInUse {
  Memory* memory;
  bool writes;
};

/// The data that all parts of the engine share. Code outside the engine only reads it (`Engine::state`).
///
/// Threads: with the engine's lock, except the atomics, members that never change, and members whose comment says "No lock".
struct State : base::Uncopied {
  State(std::vector<std::unique_ptr<device::Device>> given_devices, std::unique_ptr<platform::Platform> given_platform,
        trace::Recorder& given_recorder, const Options& given_options);

  /// Returns the memory whose data contains `p`; nullptr for foreign addresses. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept;
  [[nodiscard]] Memory* find_device(const void* p) const noexcept;
  /// Is the address one that the engine gives to arrays, or in an adopted body? No lock.
  [[nodiscard]] bool in_any_arena(const void* p) const noexcept;
  [[nodiscard]] bool in_device_arena(const void* p) const noexcept;
  /// Returns whether [first, last] overlaps the engine's address ranges or adopted ones, so that it may contain arrays. No lock.
  [[nodiscard]] bool overlaps(const std::byte* first, const std::byte* last) const noexcept;
  /// Returns how many bytes of the devices' addresses are guarded, so that faults there are to be served.
  [[nodiscard]] std::uint64_t guarded_arena_bytes() const noexcept { return options.device_faults ? device_addresses->bytes() : 0; }
  /// Returns the label of the live array at `p`; nullptr for other addresses. No lock.
  [[nodiscard]] const char* label_of(const void* p) const noexcept {
    const Memory* m = find(p);
    return m != nullptr && m->live ? name(*m) : nullptr;
  }
  [[nodiscard]] Memory& memory_of(SlotId slot) const { return *by_slot[slot.value]; }
  /// Returns the stale pieces of `range`: those where the slot does not hold what is wanted.
  [[nodiscard]] base::Vector<Region> stale(SlotId slot, const Region& range) const {
    base::Vector<Region> pieces;
    directory.stale(slot, range, pieces);
    return pieces;
  }
  /// Returns the live memory of a slot that may have been removed meanwhile; nullptr if there is none.
  [[nodiscard]] Memory* find(SlotId slot) const noexcept {
    Memory* const m = slot.value < by_slot.size() ? by_slot[slot.value] : nullptr;
    return m != nullptr && m->live ? m : nullptr;
  }
  /// Returns true for host memory, and for device memory while all of it is mapped.
  [[nodiscard]] static bool is_resident(const Memory& m) noexcept { return m.on_host() || (m.flags.load() & Memory::resident) != 0; }
  /// Returns true for host memory, and for device memory while all blocks are mapped that have bytes of the region.
  [[nodiscard]] static bool is_resident(const Memory& m, const Region& where) { return is_resident(m) || m.blocks.mapped(where); }
  /// Returns the first device. It is Kokkos' own, where the program's default queue is.
  [[nodiscard]] DeviceState& home() const noexcept { return *devices.front(); }
  [[nodiscard]] DeviceState& device_of(const Memory& m) const { return *devices[device_index(m)]; }
  [[nodiscard]] DeviceState& device_of(SpaceId space) const { return *devices[space.value - 1]; }
  [[nodiscard]] DeviceState& device_of(QueueIndex queue) const { return *devices[queues->device_of(queue)]; }
  [[nodiscard]] static std::uint32_t device_index(const Memory& m) noexcept { return m.space.value - 1; }
  /// Returns "the device's memory budget", with the device's number where there are several, for messages.
  [[nodiscard]] std::string budget_of(const DeviceState& d) const {
    return (devices.size() == 1 ? "the device" : "device " + std::to_string(d.index)) + std::string("'s memory budget");
  }
  [[nodiscard]] const char* name(const Memory& m) const noexcept { return recorder.name(m.label); }
  [[nodiscard]] bool watched(const Memory& m) const noexcept { return pages->watched(m); }
  /// Does `everything` represent this array, so that its pins and uses count here?
  [[nodiscard]] bool in_everything(const Memory& m) const noexcept { return !m.on_host() && m.since.load() < everything(m).since.load(); }
  [[nodiscard]] Memory& everything(const Memory& m) const noexcept { return *devices[device_index(m)]->represented_by; }
  /// Is a launch that uses the memory between its check of the flags and its submission?
  [[nodiscard]] bool pinned(const Memory& m) const noexcept {
    return m.pins.load() != 0 || (in_everything(m) && everything(m).pins.load() != 0);
  }
  /// Returns the device's space in which memory lies that belongs to no array; the host's where no device knows it.
  [[nodiscard]] SpaceId foreign_space_at(const void* p) const noexcept;
  /// Returns the index of the device that carries out the work of a native stream that has a handle of its own; nothing if it is a stream
  /// of none of the devices.
  [[nodiscard]] std::optional<std::uint32_t> owner_of_stream(void* native) const noexcept;
  /// Returns the index of the device that carries out the work of a native stream. On emulated devices the handle is that index;
  /// other handles there are streams of the first device.
  /// @throws UsageError  there are several devices, and it is a stream of none of them
  [[nodiscard]] std::uint32_t device_of_stream(void* native) const;
  /// Return the positions on queue `q` of the last use of the device memory, or of any part of it, and of the last use that may have
  /// written it.
  [[nodiscard]] std::uint64_t last_use(const Memory& m, QueueIndex q) const noexcept {
    return std::max(m.uses.last(q), in_everything(m) ? everything(m).on(q).last() : 0);
  }
  [[nodiscard]] std::uint64_t last_write(const Memory& m, QueueIndex q) const noexcept {
    return std::max(m.uses.last_write(q), in_everything(m) ? everything(m).on(q).write.load() : 0);
  }
  /// Returns the position on queue `q` of the last use of the device memory as a whole with which work of this mode conflicts.
  [[nodiscard]] std::uint64_t last_conflict(const Memory& m, QueueIndex q, Mode mode) const noexcept {
    const auto last = [&](const Memory& of) { return mode == Mode::writes ? of.on(q).last() : of.on(q).write.load(); };
    return in_everything(m) ? std::max(last(m), last(everything(m))) : last(m);
  }
  /// Is an unknown use of the memory, at this position of the unknown queue, known to be over?
  /// @param own  a launch of the calling thread whose waits count, too; nullptr: none
  [[nodiscard]] bool unknown_use_over(const Memory& m, std::uint64_t position, const UnsubmittedLaunch* own = nullptr) const noexcept {
    if (position == 0) return true;
    DeviceSet users = m.unknown_on.load();
    for (std::uint32_t d = 0; own != nullptr && d < most_devices; ++d) {
      if (own->waited[d] >= position) users &= ~(DeviceSet{1} << d);
    }
    return queues->unknown_done(users, position);
  }
  /// Is this device memory guarded: are its pages protected according to its state, so that the program's own accesses are
  /// noticed?
  [[nodiscard]] bool guarded(const Memory& m) const noexcept { return options.device_faults && !m.on_host() && m.bytes > 0; }
  /// Checks that the array, which a caller named, has not been freed. Each attempt calls it first.
  /// @throws UsageError  another thread has freed the array
  void expect_not_freed(const Kept& array) const;

  static inline std::atomic<std::uint64_t> serials{0};
  const std::uint64_t serial = ++serials;  ///< differs for each engine of the process
  const std::vector<std::unique_ptr<device::Device>> owned_devices;
  std::unique_ptr<memory::DeviceAddresses> device_addresses;
  std::vector<std::unique_ptr<DeviceState>> devices;
  // What each launch looks at lies in one cache line, because at each launch the driver's own code has displaced what the processor's
  // first caches held.
  alignas(64) std::unique_ptr<Queues> queues;
  std::atomic<std::size_t> put_off_count{0};  ///< the size of `put_off`
  std::atomic<bool> projection_waits{false};  ///< a projection is left to the end of the next launch
  bool virtual_time = false;  ///< the devices keep a virtual time, and must be told what is done in their place
  Options options;
  std::unique_ptr<platform::Platform> platform;
  trace::Recorder& recorder;
  Surroundings nothing_known;
  Surroundings& surroundings;
  std::uint64_t page_bytes;
  memory::Mappings mappings;
  std::unique_ptr<HostMemory> host;
  AdoptedMemory adopted{page_bytes};
  /// Page-locked memory for large saved copies on the host, so that content that is evicted goes and comes at the link's speed; nullptr
  /// where transfers need no page-locking.
  std::unique_ptr<Staging> saved_on_host;
  bool lock_saved_copies = true;  ///< false: the driver has refused it
  Topology topology;
  directory::Directory directory;
  PendingCopies pending{directory};
  base::Deque<Memory> pool;  ///< all objects; each list of arrays has room for all of them
  base::Vector<Memory*> by_slot;  ///< by slot number; nullptr: no memory
  base::Vector<Memory*> put_off;  ///< arrays that are freed when the launches that pin them have ended
  std::uint32_t frees = 0;       ///< calls of `Lifetimes::deallocate` that are under way
  std::uint32_t waiting = 0;     ///< transactions that wait for an obstacle now
  std::uint32_t unlocked = 0;    ///< transactions that have given up the lock and will take it again, whatever they do meanwhile
  base::Vector<HostPartInUse> host_uses;  ///< with a pin of its memory for each
  std::uint64_t ended_host_uses = 0;     ///< how many have ended
  std::uint32_t copies_that_pin = 0;     ///< copies to pageable memory under way, each of which pins an array
  Flights flights;               ///< transfers and page-locking under way on host pages
  std::unique_ptr<HostPages> pages;
  base::Vector<Memory*> listed;  ///< arrays that any launch of other code may use
  std::atomic<std::size_t> listed_arrays{0};  ///< the size of `listed`
  std::atomic<std::uint64_t> clock{1};     ///< counts uses, launches and allocations, for `Memory::recently` and `Memory::since`
  std::atomic<std::uint64_t> links{0};     ///< copies and fills so far; each may have made another datum want what an array holds
  std::uint32_t launches_of_all = 0;  ///< launches under way that may use any array; counted under SEMCACHE_CHECK only
  std::atomic<std::uint32_t> kernels{0};   ///< kernels of ours under way; counted only where device memory is guarded
};

}  // namespace semcache::engine
