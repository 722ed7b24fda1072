// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/room.hpp>
#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>
#include <semcache/memory/arena.hpp>
#include <semcache/memory/memory.hpp>
#include <semcache/policy/policy.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <vector>

namespace semcache::memory {

/// The addresses of all devices' arrays: one range, of which each device has an equal part. So one comparison tells whether an
/// address may lie in a device's array, and another process-wide list has one range to know. Threads: any.
class DeviceAddresses : base::Uncopied {
 public:
  /// @param reserver  one of the devices, which reserves the addresses and outlives the object
  /// @throws DeviceError, SystemError
  DeviceAddresses(device::Device& reserver, const std::vector<device::Device*>& devices);
  ~DeviceAddresses() { reserver_.release(base_, reserved_bytes_); }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t bytes_of_each() const noexcept { return each_; }
  [[nodiscard]] bool covers(const void* p) const noexcept { return offset(p) < bytes_; }
  /// Returns the index of the device in whose part the address lies. @pre `covers(p)`
  [[nodiscard]] std::uint32_t device_at(const void* p) const noexcept {
    return bytes_ == each_ ? 0 : static_cast<std::uint32_t>(offset(p) / each_);
  }

 private:
  [[nodiscard]] std::uint64_t offset(const void* p) const noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base_));
  }
  device::Device& reserver_;
  std::uint64_t reserved_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::uint64_t each_ = 0;
  std::uint64_t bytes_ = 0;
};

/// A block of an array's device memory (`Memory::blocks`).
struct ArrayBlock {
  Memory* memory = nullptr;
  std::size_t index = 0;
  friend bool operator==(const ArrayBlock& a, const ArrayBlock& b) noexcept { return a.memory == b.memory && a.index == b.index; }
  friend bool operator<(const ArrayBlock& a, const ArrayBlock& b) noexcept {
    return a.memory != b.memory ? std::less<>()(a.memory, b.memory) : a.index < b.index;
  }
};

/// One device's memory behind stable addresses. Blocks of arrays are mapped and unmapped within a budget, and the block that was used
/// longest ago is evicted first.
/// Threads: guarded by the engine's lock, except `find`, `covers`, `carry_out` and what never changes.
class DeviceMemory : Arena {
 public:
  /// @param budget_bytes  how much may be mapped; 0 for nine tenths of what is free now
  /// @param addresses  of all devices; outlives the object, which uses the part of device `index`
  DeviceMemory(device::Device& device, std::uint32_t index, const DeviceAddresses& addresses, std::uint64_t budget_bytes);
  /// Gives everything back. @pre the caller has waited for the device
  ~DeviceMemory();

  using Arena::base, Arena::bytes, Arena::covers, Arena::find;

  // --- addresses ---------------------------------------------------------------------------------------------------
  /// Gives the array addresses, and divides it into blocks; no memory is mapped. Memory that has a layout is one block.
  /// @param alignment  a power of two; at least 512 is used
  /// @throws OutOfMemory, std::bad_alloc  if the array has an address then, the caller must call `give_back`
  void place(Memory& m, const char* label, std::uint64_t alignment);
  /// Takes the array's addresses back. @pre the array is not mapped; its memory may have been asked for
  void give_back(Memory& m) noexcept;

  // --- what is mapped ----------------------------------------------------------------------------------------------
  // The driver maps and unmaps memory without the engine's lock: its calls are made later, and by one thread at a time
  // (`Chores`).
  /// Asks for memory for those of the blocks that have none. The other blocks are not evicted until the chores have ended. The
  /// memory counts as mapped from now on.
  /// @pre not `working`; what is missing fits
  /// @throws std::bad_alloc  nothing has been asked for
  void ask(const base::Vector<ArrayBlock>& blocks);
  /// Gives up a block's memory: it no longer counts, and is to be unmapped where no neighbour needs it.
  /// @pre the block is mapped or asked for
  void unmap(const ArrayBlock& block) noexcept;
  /// The same for all blocks of the array that are mapped or asked for.
  void unmap(Memory& m) noexcept;
  /// Which accesses newly mapped memory permits.
  enum class Reach : std::uint8_t {
    open,
    closed,   ///< the host cannot reach it, from its first moment on
    nowhere,  ///< kernels cannot reach it either, until `Device::set_accessible` permits it
  };
  struct Segment {  ///< one mapping
    std::uint64_t begin, end;  // offsets
    std::uint32_t residents;   ///< how many blocks need it
    bool there;                ///< it is mapped; false if it has only been asked for
  };
  using Segments = base::Map<std::uint64_t, Segment>;  // by begin
  /// The calls of the driver that are to be made.
  struct Chores {
    Segments leaving;
    base::Vector<ByteRange> coming;
    std::size_t come = 0;  ///< how many ranges of `coming` have been mapped
    struct Asked {
      ArrayBlock block;
      std::size_t coming;  ///< the block has all of its memory when the first `coming` ranges have been mapped
    };
    base::Vector<Asked> asked;
    std::exception_ptr refused;  ///< the driver's OutOfMemory: less is free than the budget assumes
    std::exception_ptr error;    ///< any other error of the driver
  };
  /// Returns whether any call of the driver is to be made.
  [[nodiscard]] bool any_chores() const noexcept { return !chores_.leaving.empty() || !chores_.asked.empty(); }
  /// Returns whether a thread is making the driver's calls. Until it has ended, nothing may be asked for.
  [[nodiscard]] bool working() const noexcept { return told_ != nullptr; }
  /// Hands the list of calls over to the caller. @param chores  lives until `end_chores`  @pre not `working`
  void begin_chores(Chores& chores) noexcept;
  /// Makes the driver's calls: unmaps, then maps, and moves memory from one place to another of the same size. Threads: without the
  /// engine's lock.
  /// @param reach  `open` or `closed`: what newly mapped memory permits
  void carry_out(Chores& chores, Reach reach) noexcept;
  /// Notes the result of `carry_out`, and leaves in `chores.asked` the blocks that have got memory; they count as mapped from
  /// `note_mapped` on. After a refusal the amount mapped so far counts as the end of the budget, until more is mapped or
  /// `forget_refusal` is called at the end of the transaction.
  /// @param reach  `nowhere` to close the new memory to kernels, too; otherwise it stays as it was mapped
  void end_chores(Chores& chores, Reach reach) noexcept;
  /// Marks the block as mapped, and as a candidate for eviction.
  void note_mapped(const ArrayBlock& block) noexcept;
  /// Makes the whole budget available again.
  void forget_refusal() noexcept {
    limit_bytes_ = budget_bytes_;
    refused_ = nullptr;
  }
  /// To be called when there is no room and nothing can be evicted.
  /// @throws OutOfMemory  the driver's own error, if the driver has refused memory; otherwise the function returns
  void rethrow_refusal();
  /// What the blocks of a set need at the same time, in whole granules; each granule is counted once.
  struct Need {
    std::uint64_t total = 0;
    std::uint64_t missing = 0;  ///< of `total`, the part that is neither mapped nor asked for
  };
  [[nodiscard]] Need need_of(const base::Vector<ArrayBlock>& set) const;
  [[nodiscard]] bool fits(std::uint64_t more) const noexcept { return mapped_bytes_ + more <= limit_bytes_; }
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept { return mapped_bytes_; }
  [[nodiscard]] std::uint64_t budget_bytes() const noexcept { return budget_bytes_; }
  /// Calls `visit(address, bytes)` for each mapping.
  template <class Visit>
  void for_each_mapping(const Visit& visit) const {
    for (const auto& [begin, s] : segments_) {
      if (s.there) visit(base() + begin, s.end - begin);
    }
  }
  /// Permits or forbids all accesses, of the host and of kernels, to those pages of the array that are mapped.
  /// @pre the array shares pages of `page_bytes` bytes with no other (`place`)
  void set_accessible(Memory& m, bool accessible, std::uint64_t page_bytes) noexcept;

  // --- the order of eviction ---------------------------------------------------------------------------------------
  using Question = std::function<bool(const ArrayBlock&)>;
  using Describe = std::function<policy::SpareMemory(const Memory&)>;
  /// Returns the block to evict next among those for which `may_leave(block)` holds: the block whose eviction has begun, unless it
  /// has been used since then other than by that eviction; otherwise a block of spare memory that leaves before arrays (`policy::order_of`);
  /// otherwise the block that was used longest ago. Its `memory` is nullptr if there is none.
  /// @param describe  returns what is known of spare memory
  [[nodiscard]] ArrayBlock victim(const Question& may_leave, const Describe& describe) noexcept;
  /// Notes that the eviction of this block has begun and continues later, and that its uses so far belong to the eviction.
  void eviction_begun(const ArrayBlock& block) noexcept {
    begun_ = block;
    begun_used_ = used(block);
  }
  void eviction_ended() noexcept { begun_ = {}; }
  /// Forgets the object, which may be another array's from now on.
  void forget(Memory& m) noexcept {
    if (begun_.memory == &m) begun_ = {};
    if (m.space != device_space(index_) || !m.derived) return;
    set_spare(m, false);
    m.derived = false;
    m.seconds_to_make = 0;
    --derived_;
  }
  /// Marks memory of a derived value. @throws std::bad_alloc
  void note_derived(Memory& m) {
    base::make_room_for(spare_, derived_ + 1);
    m.derived = true;
    ++derived_;
  }
  /// Sets whether nobody uses memory of a derived value now.
  void set_spare(Memory& m, bool spare) noexcept;
  /// Returns whether any array matches that has a mapped block.
  template <class Matches>
  [[nodiscard]] bool any_mapped(const Matches& matches) const {
    return std::any_of(by_age_.begin(), by_age_.end(), [&](const Aged& a) { return is_mapped(a.block) && matches(*a.block.memory); });
  }

  std::uint64_t snapshot_bytes = 0;  ///< of saved copies

  /// Returns the first contradiction found; empty if there is none. @param arrays  all live arrays
  [[nodiscard]] std::string audit(const base::Vector<Memory*>& arrays) const;

 private:
  /// An entry of the heap of all mapped blocks, with the longest unused block in front as far as the heap knows. A block that
  /// has been used since moves when it gets to the front, and a block that is no longer mapped is removed there. Each block of each
  /// object has at most one entry, whichever array the object belongs to.
  struct Aged {
    std::uint64_t used;  ///< when the block was used last, when that was last read
    ArrayBlock block;
    [[nodiscard]] bool operator<(const Aged& other) const noexcept { return used > other.used; }
  };

  [[nodiscard]] ByteRange granules(const ArrayBlock& block) const noexcept;
  [[nodiscard]] std::uint64_t missing_bytes(ByteRange granules) const;
  /// Returns the first segment that ends behind `at`.
  template <class Map>
  [[nodiscard]] static auto first_behind(Map& segments, std::uint64_t at) {
    auto s = segments.upper_bound(at);
    return s != segments.begin() && std::prev(s)->second.end > at ? std::prev(s) : s;
  }
  /// If it fails, segments without residents stay, which the caller drops. @throws std::bad_alloc
  void ask_for(const ArrayBlock& block);
  /// Notes that the block no longer needs its segments.
  void leave(const ArrayBlock& block) noexcept;
  void drop(Segments::iterator segment) noexcept;
  /// Drops those of the ranges that no block needs.
  void drop_unneeded(const base::Vector<ByteRange>& coming) noexcept;
  [[nodiscard]] std::uint16_t bit() const noexcept { return static_cast<std::uint16_t>(1u << index_); }
  [[nodiscard]] bool is_mapped(const ArrayBlock& b) const noexcept {
    const Memory& m = *b.memory;
    return m.live && m.space == device_space(index_) && b.index < m.blocks.count() && m.blocks[b.index].mapped;
  }
  [[nodiscard]] static std::uint64_t used(const ArrayBlock& b) noexcept { return b.memory->blocks.used(b.index, b.memory->recently.load()); }
  [[nodiscard]] ArrayBlock longest_unused(const Question& may_leave) noexcept;
  [[nodiscard]] ArrayBlock first_spare(const Question& may_leave, const Describe& describe) const noexcept;

  device::Device& device_;
  const std::uint32_t index_;
  const std::uint64_t granule_bytes_;
  const std::uint64_t budget_bytes_;
  Segments segments_;  ///< what is mapped and what has been asked for
  Chores chores_;
  Chores* told_ = nullptr;  ///< the calls that a thread is making now; nullptr if none is
  std::uint64_t mapped_bytes_ = 0;  ///< of `segments_`
  std::uint64_t limit_bytes_ = budget_bytes_;
  std::exception_ptr refused_;
  base::Vector<Aged> by_age_;
  base::Vector<Memory*> spare_;
  std::size_t derived_ = 0;
  ArrayBlock begun_;
  std::uint64_t begun_used_ = 0;  ///< when `begun_` was used last, which the eviction itself did
};

}  // namespace semcache::memory
