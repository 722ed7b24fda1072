// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/memory/arena.hpp>
#include <semcache/memory/memory.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <vector>

namespace semcache::memory {

/// One device's memory behind stable addresses: it comes and goes within a budget, and the array that was used longest ago
/// leaves first. Guarded by the engine's lock, except `find`.
class DeviceMemory : base::Uncopied {
 public:
  /// @param budget_bytes  how much may be mapped; 0: nine tenths of what is free now
  DeviceMemory(device::Device& device, std::uint32_t index, std::uint64_t budget_bytes);
  /// Gives everything back. The caller has waited for the device.
  ~DeviceMemory();

  [[nodiscard]] std::byte* base() const noexcept { return arena_.base(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return arena_.bytes(); }
  [[nodiscard]] bool covers(const void* p) const noexcept { return arena_.covers(p); }
  /// The memory whose data contains `p`, or nullptr. No lock.
  [[nodiscard]] Memory* find(const void* p) const noexcept { return arena_.find(p); }

  // --- addresses ---------------------------------------------------------------------------------------------------
  /// @param alignment  a power of two; at least 512 is used
  /// @throws OutOfMemory, std::bad_alloc  `give_back` it where it has an address then
  void place(Memory& m, const char* label, std::uint64_t alignment);
  /// @pre not mapped. It may have been asked for.
  void give_back(Memory& m) noexcept;

  // --- what is mapped ----------------------------------------------------------------------------------------------
  // The driver maps and unmaps memory without the engine's lock: it is told later, and by one thread at a time (`Chores`).
  /// Those of the arrays that have no memory shall get some, and the others are not evicted meanwhile. Their memory counts from now on.
  /// @pre not `working`; what is missing fits  @throws std::bad_alloc  nothing is asked for
  void ask(const std::vector<Memory*>& arrays);
  /// Its memory counts no more, and leaves unless a neighbour needs it.
  void unmap(Memory& m) noexcept;
  enum class Reach : std::uint8_t {
    open,
    closed,   ///< to the host, from its first moment on
    nowhere,  ///< not even kernels reach it, until they are let (`Device::set_accessible`)
  };
  struct Segment {  ///< one mapping
    std::uint64_t begin, end;  // offsets
    std::uint32_t residents;
    bool there;  ///< false: it is asked for
  };
  using Segments = std::map<std::uint64_t, Segment>;  // by begin
  /// What the driver has to be told.
  struct Chores {
    Segments leaving;
    std::vector<ByteRange> coming;
    std::size_t come = 0;  ///< how many of these have come
    struct Asked {
      Memory* memory;
      std::size_t coming;  ///< it has all of its memory when so many have come
    };
    std::vector<Asked> asked;
    std::exception_ptr refused;  ///< OutOfMemory: less is free than the budget assumes
    std::exception_ptr error;    ///< another one of the driver's
  };
  /// Is there anything to tell?
  [[nodiscard]] bool any_chores() const noexcept { return !chores_.leaving.empty() || !chores_.asked.empty(); }
  /// Is a thread telling the driver? Until it has ended nothing may be asked for.
  [[nodiscard]] bool working() const noexcept { return told_ != nullptr; }
  /// @param chores  lives until `end_chores`  @pre not `working`
  void begin_chores(Chores& chores) noexcept;
  /// Without the engine's lock. @param reach  open or closed: of what comes
  void carry_out(Chores& chores, Reach reach) noexcept;
  /// Leaves in `asked` the arrays that have got memory, which are resident when `note_mapped` is told so. What was refused counts as
  /// the end of the budget until some is mapped, or until `forget_refusal`: for this transaction.
  /// @param reach  open: as it was carried out
  void end_chores(Chores& chores, Reach reach) noexcept;
  void note_mapped(Memory& m) noexcept;
  void forget_refusal() noexcept {
    limit_bytes_ = budget_bytes_;
    refused_ = nullptr;
  }
  /// There is no room, and nothing can leave. @throws OutOfMemory  the driver's, if it has refused more
  void rethrow_refusal();
  /// What the arrays of a set need at once, in whole granules, each counted once: in all, and beyond what is mapped.
  struct Need {
    std::uint64_t total = 0;
    std::uint64_t missing = 0;
  };
  [[nodiscard]] Need need_of(const std::vector<Memory*>& set) const;
  [[nodiscard]] std::uint64_t missing_bytes(const Memory& m) const { return missing_bytes(granules(m)); }
  [[nodiscard]] bool fits(std::uint64_t more) const noexcept { return mapped_bytes_ + more <= limit_bytes_; }
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  [[nodiscard]] std::uint64_t budget_bytes() const noexcept { return budget_bytes_; }
  /// Calls `visit(address, bytes)` for everything that is mapped.
  template <class Visit>
  void for_each_mapping(const Visit& visit) const {
    for (const auto& [begin, s] : segments_) {
      if (s.there) visit(arena_.base() + begin, s.end - begin);
    }
  }
  /// Lets the host, and kernels, reach the array's granules, or nobody.
  void set_accessible(const Memory& m, bool accessible) noexcept;

  // --- who leaves --------------------------------------------------------------------------------------------------
  /// There are at most so many arrays: listing them fails no more. @throws std::bad_alloc
  void make_room_for(std::size_t arrays);
  /// The array that leaves next, of those that may: the one whose eviction has begun, unless somebody has used it since (what was
  /// written back of it on the way was a use, too), or the one that was used longest ago. nullptr: there is none.
  template <class Question>
  [[nodiscard]] Memory* victim(const Question& may_leave) noexcept {
    return victim([](const void* f, const Memory& m) { return (*static_cast<const Question*>(f))(m); }, &may_leave);
  }
  /// Its eviction goes on later.
  void eviction_begun(Memory& m) noexcept {
    begun_ = &m;
    begun_used_ = m.recently.load();
  }
  void eviction_ended() noexcept { begun_ = nullptr; }
  /// The object may be another array's from now on.
  void forget(const Memory& m) noexcept {
    if (begun_ == &m) begun_ = nullptr;
  }
  template <class Matches>
  [[nodiscard]] bool any_mapped(const Matches& matches) const {
    return std::any_of(by_age_.begin(), by_age_.end(), [&](const Aged& a) { return matches(*a.memory); });
  }

  std::uint64_t snapshot_bytes = 0;  ///< of saved copies

  /// The first contradiction; empty if there is none. @param arrays  all that live
  [[nodiscard]] std::string audit(const std::vector<const Memory*>& arrays) const;

 private:
  /// Of a heap of all that is mapped, longest unused in front, as far as is known: who is used since moves when he gets there. Who is
  /// not mapped any more leaves then; each once, so there is room for all.
  struct Aged {
    std::uint64_t used;  ///< `Memory::recently`, when it was looked at
    Memory* memory;
    [[nodiscard]] bool operator<(const Aged& other) const noexcept { return used > other.used; }
  };

  static Arena reserve(device::Device& device);
  [[nodiscard]] ByteRange granules(const Memory& m) const noexcept;
  [[nodiscard]] std::uint64_t missing_bytes(ByteRange granules) const;
  /// The first segment that ends behind `at`.
  template <class Map>
  [[nodiscard]] static auto first_behind(Map& segments, std::uint64_t at) {
    auto s = segments.upper_bound(at);
    return s != segments.begin() && std::prev(s)->second.end > at ? std::prev(s) : s;
  }
  void ask(Memory& m);
  /// The array needs its segments no more.
  void leave(const Memory& m) noexcept;
  void drop(Segments::iterator segment) noexcept;
  [[nodiscard]] std::uint32_t bit() const noexcept { return std::uint32_t{1} << index_; }
  [[nodiscard]] bool is_mapped(const Memory& m) const noexcept {
    return m.live && m.space == device_space(index_) && (m.flags.load() & Memory::resident) != 0;
  }
  using MayLeave = bool (*)(const void* context, const Memory& m);
  [[nodiscard]] Memory* victim(MayLeave may_leave, const void* context) noexcept;
  [[nodiscard]] Memory* longest_unused(MayLeave may_leave, const void* context) noexcept;

  device::Device& device_;
  const std::uint32_t index_;
  const std::uint64_t granule_bytes_;
  const std::uint64_t budget_bytes_;
  Arena arena_;
  Segments segments_;  ///< what is mapped, and what is asked for
  Chores chores_;
  Chores* told_ = nullptr;  ///< what the driver is being told
  std::uint64_t mapped_bytes_ = 0;  ///< of `segments_`
  std::uint64_t limit_bytes_ = budget_bytes_;
  std::exception_ptr refused_;
  std::vector<Aged> by_age_;
  Memory* begun_ = nullptr;
  std::uint64_t begun_used_ = 0;  ///< its `recently`, after what the eviction itself has used it for
};

}  // namespace semcache::memory
