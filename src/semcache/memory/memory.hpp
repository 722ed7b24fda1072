// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/directory/directory.hpp>
#include <semcache/platform/platform.hpp>
#include <semcache/policy/policy.hpp>
#include <semcache/policy/read_ahead.hpp>
#include <semcache/timeline/uses.hpp>
#include <semcache/trace/recorder.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// The memory behind arrays: objects that stand for it, addresses, what is mapped, and buffers.
namespace semcache::memory {

/// Protection of host pages, as the property of an extent map.
struct PageState {
  platform::Protection protection = platform::Protection::read;
  [[nodiscard]] PageState advanced(std::uint64_t) const noexcept { return *this; }
  friend bool operator==(PageState a, PageState b) noexcept { return a.protection == b.protection; }
  friend bool operator!=(PageState a, PageState b) noexcept { return a.protection != b.protection; }
};

struct TransitBlock;
struct TransitBuffer;

/// One slot's memory. Objects are recycled, never freed: whoever found one through a lookup table may look at it.
/// Fields are guarded by the engine's lock, except the atomics. What every launch touches comes first, together.
struct alignas(64) Memory {
  // --- device memory: lock-free summary for launches; every bit set = a captured view needs nothing done
  static constexpr std::uint32_t resident = 1;       ///< memory is mapped
  static constexpr std::uint32_t is_fresh = 2;       ///< held = wanted everywhere
  static constexpr std::uint32_t is_exclusive = 4;   ///< and nobody else holds or wants it
  static constexpr std::uint32_t idle = 8;           ///< no transfer writes it that launches are not ordered after
  static constexpr std::uint32_t unread = 128;       ///< and none reads it either
  static constexpr std::uint32_t read_on_host = 16;  ///< the host fetched from it: record an event after it is written
  /// What `Projection::revoke` takes away.
  static constexpr std::uint32_t revocable = is_fresh | is_exclusive | idle | unread;
  // --- host memory: all pages can be read, or written; set after relaxing, cleared before tightening
  static constexpr std::uint32_t host_readable = 32;
  static constexpr std::uint32_t host_writable = 64;
  std::atomic<std::uint32_t> flags{0};
  /// Launches between their check of `flags` and their submission. Revoke flags first, then look at this (both
  /// sequentially consistent): either the launch sees the flags cleared, or the other side sees the pin.
  std::atomic<std::uint32_t> pins{0};
  std::atomic<std::uint32_t> writing_launches{0};          ///< how many wrote it so far
  std::uint32_t writing_launches_at_fetch = 0;             ///< when the host last asked for all
  SpaceId space;
  bool live = false;
  /// Changes when the array is freed: what was remembered of it is void.
  std::atomic<std::uint32_t> incarnation{0};
  std::atomic<bool> holds_handles{false};  ///< there was a view of what may be or contain views, or the program has filled it itself
  std::atomic<std::uint64_t> recently{0};                  ///< clock of the last use, for eviction
  timeline::Uses uses;
  [[nodiscard]] const timeline::Use& on(timeline::QueueIndex q) const noexcept { return uses.on(q); }

  SlotId slot;
  DatumId datum;  ///< invalid: a snapshot
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t reserved_bytes = 0;  ///< of address space; at least header_bytes of it behind the data
  trace::LabelId label;
  bool counted_snapshot = false;     ///< its bytes count as saved copies
  bool owns_allocation = false;      ///< host snapshot in ordinary memory
  bool freeing = false;              ///< being freed: no victim of an eviction
  bool asked = false;                ///< the driver is to be told of it (`DeviceMemory::ask`): it is not evicted
  std::uint32_t listed_by_age = 0;   ///< in the heaps of what is mapped, a bit for each device
  bool perhaps_unwanted = false;     ///< a saved copy that is listed in `Projection`
  bool awaits_projection = false;    ///< listed in `Projection`
  bool perhaps_unready = false;      ///< listed in `Projection`
  bool stands_for_all = false;       ///< see `DeviceState::everything`
  std::uint64_t projected = 0;       ///< the projection that set `flags` last
  static constexpr std::uint64_t never = UINT64_MAX;
  std::atomic<std::uint64_t> since{never};       ///< the engine's clock when it became an array; see `DeviceState::everything`
  platform::Protection access = platform::Protection::none;  ///< what guarded pages permit; never less than `flags` promise
  // Host memory only:
  bool open = false;              ///< never protected: copies happen at the call
  bool announced = false;         ///< never protected: the program promised to announce every access
  bool lock_refused = false;      ///< page-locking is tried again when pages have closed, or the host's use has been announced
  bool sent_ahead = false;        ///< by `forecast`, and the host has not asked since
  /// A use of the device memory that was announced, and `recently` and the engine's `State::links` behind it: it holds as long as
  /// these are the same, and no launch that may use any array has begun since.
  struct Announcement {
    std::atomic<std::uint64_t> at{0};
    std::atomic<std::uint64_t> links{0};
    std::atomic<bool> writes{false};
  };
  Announcement announced_use;  ///< by semcache::access
  Announcement captured_use;   ///< by a handle's copy for a launch on a native space
  std::atomic<std::uint32_t> awaited{0};  ///< threads that wait for launches that use it: launches that begin let them go first
  bool listed = false;            ///< any foreign launch may use it
  bool reported_unreachable = false;
  bool used_unseen = false;          ///< a kernel that we cannot see the end of may use it: stays reachable (SEMCACHE_CHECK)
  bool arriving = false;          ///< host memory: a copy at the call brings its content; the flights are `expected`
  std::uint64_t asked_end = 0;    ///< host memory: the host asked for what lies before, one piece behind the other

  [[nodiscard]] bool on_host() const noexcept { return space == host_space; }
  [[nodiscard]] bool snapshot() const noexcept { return !datum.valid(); }
  [[nodiscard]] ByteRange all() const noexcept { return {0, bytes}; }

  alignas(16) std::byte header[128];

  std::vector<TransitBuffer*> expected_in;    ///< messages that will be asked for next
  std::weak_ptr<TransitBlock> transit_block;  ///< of its persistent messages

  /// SEMCACHE_CHECK_WRITES: what the array held before launches that may have written it.
  struct WriteCheck : base::Uncopied {
    WriteCheck(directory::Directory& d, std::uint64_t sum, std::vector<directory::ExtentMap::Extent> extents)
        : directory(d), digest(sum), wanted(std::move(extents)) {
      directory.watch(wanted);
    }
    ~WriteCheck() { directory.unwatch(wanted); }
    directory::Directory& directory;
    std::uint64_t digest;
    std::vector<directory::ExtentMap::Extent> wanted;
  };
  std::unique_ptr<WriteCheck> write_check;

  // --- host memory ---
  /// Of its pages, and of the page between it and the next array, if there is one: that is as its last one, or readable.
  directory::BasicExtentMap<PageState> pages{0, {}};
  std::unique_ptr<policy::ReadAhead> read_ahead;  ///< of this host phase, which begins anew when pages close; none before the first fault
  std::vector<std::uint8_t> used;         ///< per huge page: the host, or a transfer, has put something there
  /// Per registration chunk: the address under which the device knows its page-locked pages; nullptr: not page-locked.
  std::vector<std::byte*> locked;
  policy::FetchForecast forecast;
  policy::ReadHabit read_habit;
};

/// An array as somebody has seen it. Once it has been freed, its object may be another array's.
struct Known {
  explicit Known(Memory& m) noexcept : memory(&m), incarnation(m.incarnation.load()) {}
  [[nodiscard]] bool freed() const noexcept { return memory->incarnation.load() != incarnation; }
  Memory* memory;
  std::uint32_t incarnation;
};

}  // namespace semcache::memory
