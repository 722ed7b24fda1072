// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>
#include <semcache/directory/directory.hpp>
#include <semcache/memory/blocks.hpp>
#include <semcache/platform/platform.hpp>
#include <semcache/policy/policy.hpp>
#include <semcache/policy/read_ahead.hpp>
#include <semcache/timeline/uses.hpp>
#include <semcache/trace/recorder.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

/// The memory behind arrays: the objects that represent it, addresses, mapped device memory, and buffers. README.md has an
/// overview; the directory's README.md defines value, datum, slot, held, wanted and snapshot.
namespace semcache::memory {

/// The protection of host pages, as a property in an extent map.
struct PageState {
  platform::Protection protection = platform::Protection::read;
  [[nodiscard]] PageState advanced(std::uint64_t) const noexcept { return *this; }
  friend bool operator==(PageState a, PageState b) noexcept { return a.protection == b.protection; }
  friend bool operator!=(PageState a, PageState b) noexcept { return a.protection != b.protection; }
};

struct TransitBlock;
struct TransitBuffer;

/// The memory of one slot. Objects are recycled, never freed, so a thread that has found one through a lookup table may always
/// read its atomics. The fields that every launch touches come first, together.
/// Threads: fields are guarded by the engine's lock, except the atomics.
struct alignas(64) Memory {
  // --- device memory: a summary that launches read without a lock. A captured view needs nothing done if the first
  // five bits are set.
  static constexpr std::uint32_t resident = 1;       ///< all memory is mapped
  static constexpr std::uint32_t is_fresh = 2;       ///< held = wanted everywhere
  static constexpr std::uint32_t is_exclusive = 4;   ///< fresh, and held and wanted nowhere else
  static constexpr std::uint32_t idle = 8;           ///< launches are ordered after all transfers that write it
  static constexpr std::uint32_t unread = 128;       ///< launches are ordered after all transfers that read it, too
  static constexpr std::uint32_t read_elsewhere = 16;  ///< the host, or another device, has fetched from it: launches that write it record an event
  static constexpr std::uint32_t used_in_part = 256;   ///< `uses` may have partial uses, which only a thread with the lock can look at
  /// The flags that `Projection::revoke` clears.
  static constexpr std::uint32_t revocable = is_fresh | is_exclusive | idle | unread;
  // --- host memory: all pages can be read, or can be written. Set after pages are relaxed, cleared before they are tightened.
  static constexpr std::uint32_t host_readable = 32;
  static constexpr std::uint32_t host_writable = 64;
  std::atomic<std::uint32_t> flags{0};
  /// The number of launches between their check of `flags` and their submission. A thread that wants the memory for a transfer
  /// first revokes flags, then reads this count (both sequentially consistent). So either the launch sees the flags cleared, or
  /// the other thread sees the pin.
  std::atomic<std::uint32_t> pins{0};
  std::atomic<std::uint32_t> writing_launches{0};          ///< how many launches have written it so far
  std::uint32_t writing_launches_at_fetch = 0;             ///< that number when the host last asked for the whole array
  SpaceId space;
  bool live = false;
  bool part = false;  ///< it has memory for a part of its array only, and is found by no address
  /// Changes when the array is freed, so that anything remembered about the array becomes void.
  std::atomic<std::uint32_t> incarnation{0};
  /// The elements may be or contain views: a view of such a type was seen, or the program has filled the array itself.
  std::atomic<bool> holds_handles{false};
  bool used_unseen = false;       ///< a kernel whose end is not known may use it, so it stays reachable (SEMCACHE_CHECK)
  bool ordered = false;           ///< tasks use the array itself: the engine orders kernels that use it (`Launches::begin_launch`)
  policy::SweepHabit sweep_habit;  ///< of host memory; where a byte is free
  std::atomic<std::uint64_t> recently{0};                  ///< the engine's clock at the last use, for eviction
  timeline::Uses uses;
  std::atomic<DeviceSet> unknown_on{0};  ///< the devices whose unknown work may use it
  [[nodiscard]] const timeline::Use& on(timeline::QueueIndex q) const noexcept { return uses.on(q); }

  SlotId slot;
  DatumId datum;  ///< invalid for a snapshot
  float seconds_to_make = 0;  ///< of a derived value: about so long it takes to compute it
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  /// The positions of which it has memory, for a part of an array and for a saved copy; the memory has the columns side by side. Empty: as
  /// many as it has bytes, from 0 on.
  Region layout;
  std::uint64_t snapshot_bytes = 0;  ///< of a saved copy on a device: the bytes that are mapped, or were asked for when it was made
  std::uint64_t reserved_bytes = 0;  ///< of address space, with at least header_gap_bytes behind the data
  trace::LabelId label;
  bool counted_snapshot = false;     ///< `snapshot_bytes` of its bytes are counted in `DeviceMemory::snapshot_bytes`
  bool owns_allocation = false;      ///< a saved copy, or a part, on the host: in memory of the engine's own, whose pages are never protected
  bool from_pool = false;            ///< that memory is page-locked, and goes back to `State::saved_on_host`
  bool adopted = false;              ///< pages of the program's own memory (`AdoptedMemory`), which are never discarded or replaced
  bool derived = false;              ///< of a value that the engine derives from arrays
  bool spare = false;                ///< nobody uses this derived value (`policy::SpareMemory`)
  bool freeing = false;              ///< being freed, so it is not evicted
  bool perhaps_unwanted = false;     ///< a saved copy that is listed in `Projection`
  bool awaits_projection = false;    ///< listed in `Projection`
  bool perhaps_unready = false;      ///< listed in `Projection`
  bool stands_for_all = false;       ///< this is a `DeviceState::everything`
  /// Is the content stale at `exception_at`? Otherwise it is only not exclusive there.
  bool exception_is_stale = true;
  /// Where `Projection` last found content that is not fresh or, if all is, not exclusive; `Directory::nowhere` if there was none. So next time it
  /// looks at what has changed since, or from here on. A launch behind a transfer looks at nothing, and each task of a tiling at its own tiles.
  std::uint64_t exception_at = not_looked_at;
  static constexpr std::uint64_t not_looked_at = UINT64_MAX - 1;
  static constexpr std::uint64_t never = UINT64_MAX;
  std::atomic<std::uint64_t> since{never};       ///< the engine's clock when it became an array; see `DeviceState::everything`
  /// What is known of uses of parts of the array; made where there is one.
  struct InPart {
    struct Announced {
      Region where;
      bool writes;
    };
    struct Opened {
      ByteRange pages;
      bool writable;
    };
    base::Vector<Announced> announced;  ///< the parts that `announced_use` is for
    base::Vector<Opened> opened;        ///< the pages that permit more than `access`
  };
  base::Owned<InPart> in_part;
  /// Device memory whose pages are protected (`Options::device_faults`): what they permit; never less than `flags` promise.
  platform::Protection access = platform::Protection::none;
  /// Some of these pages permit more than `access`, because parts of the array are used. They are closed when their content is no longer
  /// as these uses need it, and no launch pins the array.
  bool opened_in_part = false;
  bool leaving = false;  ///< a side of an array that is about to be freed: its tiles need not stay for it
  // Host memory only:
  bool locks_fail = false;        ///< page-locking failed when it was tried last
  std::uint16_t edge_before = 0;  ///< an adopted body: the bytes of the range in front of it, less than a page
  std::uint16_t edge_behind = 0;  ///< the same behind it
  bool open = false;              ///< never protected, so copies happen at the call
  bool announced = false;         ///< never protected, because the program promised to announce every access, or nobody would notice any
  bool promised = false;          ///< the program did promise that
  bool lock_refused = false;      ///< page-locking failed; it is tried again after pages close or the host announces a use
  static constexpr std::uint32_t tile_has_left = std::uint32_t{1} << 31;
  /// Of a tile, which is memory of a device, where bytes are free: how many calls use it, and `tile_has_left` once its array has been freed.
  std::atomic<std::uint32_t> tile_users{0};
  std::uint64_t sent_ahead = 0;   ///< so many bytes were transferred by `forecast`, and the host has not asked for them since
  /// An announced use of the device memory, with the values of `recently` and of the engine's `State::links` after it. The
  /// announcement holds as long as both values are the same, and no launch that may use any array has begun since.
  struct Announcement {
    std::atomic<std::uint64_t> at{0};
    std::atomic<std::uint64_t> links{0};
    std::atomic<bool> writes{false};
    std::atomic<bool> in_part{false};  ///< it is an announcement of `InPart::announced` only
    std::atomic<const void*> by{nullptr};  ///< identifies the thread that has made it; nullptr: several have
  };
  Announcement announced_use;  ///< by semcache::access
  Announcement captured_use;   ///< by a copy of a handle for a launch on a native space
  /// How many threads wait for launches that use the array. Launches that begin meanwhile let these threads go first.
  std::atomic<std::uint32_t> awaited{0};
  bool listed = false;            ///< in `State::listed`: any launch outside `semcache::Exec` may use it
  bool reported_unreachable = false;  ///< a message has been written that a GPU cannot reach this host side
  std::uint16_t launches = 0;     ///< launches under way that use it; counted under SEMCACHE_CHECK only
  std::uint64_t asked_end = 0;    ///< host memory: the host has asked for all bytes before this, in consecutive pieces

  [[nodiscard]] bool on_host() const noexcept { return space == host_space; }
  [[nodiscard]] bool snapshot() const noexcept { return !datum.valid(); }
  /// Returns all positions of the slot.
  [[nodiscard]] Region positions() const noexcept { return layout.empty() ? Region(ByteRange{0, bytes}) : layout; }
  /// Returns the range in which they lie. Of arrays that are no part it has no gaps.
  [[nodiscard]] ByteRange all() const noexcept { return positions().hull(); }

  Blocks blocks;  ///< of device memory: what is mapped and evicted at once

  /// Notes a use, for the order of eviction. An announcement of parts goes on to hold if other bytes are used.
  /// Threads: any for a use of the whole memory.
  /// @param where  which bytes of the memory
  void note_recent(const Region& where, std::uint64_t now) {
    const std::uint64_t before = recently.load(std::memory_order_relaxed);
    if (where.size() < bytes) {
      blocks.note_use(where, now, before);
      const auto meets = [&](const InPart::Announced& part) { return may_overlap(part.where, where); };
      if (announced_use.in_part.load() && announced_use.at.load() == before && before != 0 &&
          std::none_of(in_part->announced.begin(), in_part->announced.end(), meets)) {
        announced_use.at.store(now);
      }
    }
    recently.store(now, std::memory_order_relaxed);
  }

  /// The header that a framework puts in front of the array's data (Kokkos' record), kept here (`runtime::header_of`).
  alignas(16) std::byte header[128];

  base::Vector<TransitBuffer*> expected_in;    ///< buffers of persistent messages that will ask for its content next
  std::weak_ptr<TransitBlock> transit_block;  ///< the memory of its persistent messages

  /// SEMCACHE_CHECK_WRITES: a digest of what the array held before launches that may have written it, and the values that it
  /// wanted then.
  struct WriteCheck {
    WriteCheck(directory::Directory& d, std::uint64_t sum, base::Vector<directory::ExtentMap::Extent> extents)
        : digest(sum), wanted(d, std::move(extents)) {}
    std::uint64_t digest;
    directory::Watch wanted;
  };
  std::unique_ptr<WriteCheck> write_check;

  // --- host memory ---
  /// The protection of its pages, and of the gap page between it and the next array, if there is one. The gap page has the
  /// protection of the last page, or is readable.
  directory::BasicExtentMap<PageState> pages{0, {}};
  /// The state of this host phase, which begins anew when pages close; nullptr before the first fault.
  base::Owned<policy::ReadAhead> read_ahead;
  base::Vector<std::uint8_t> used;         ///< per huge page: not 0 if the host, or a transfer, has put something there
  /// Per registration chunk: the address under which the device knows its page-locked pages; nullptr if they are not page-locked.
  base::Vector<std::byte*> locked;
  policy::FetchForecast forecast;
  policy::ReadHabit read_habit;
};

/// An array as a thread has found it. Once the array has been freed, the object may belong to another array.
struct Known {
  explicit Known(Memory& m) noexcept : memory(&m), incarnation(m.incarnation.load()) {}
  [[nodiscard]] bool freed() const noexcept { return memory->incarnation.load() != incarnation; }
  Memory* memory;
  std::uint32_t incarnation;
};

}  // namespace semcache::memory
