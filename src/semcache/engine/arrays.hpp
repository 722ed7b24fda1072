// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/hazards.hpp>

namespace semcache::engine {

/// Makes the objects of arrays and of saved copies (snapshots), binds them to their slots of the directory, and recycles them.
///
/// Threads: with the engine's lock.
class Arrays : Parts {
 public:
  explicit Arrays(const Parts& parts) noexcept : Parts(parts) {}

  /// An object that is not complete yet: it is destroyed, with what it has so far, unless the caller releases it (I9).
  struct Destroy {
    Arrays* arrays;
    void operator()(Memory* memory) const noexcept { arrays->destroy(*memory); }
  };
  using NewMemory = std::unique_ptr<Memory, Destroy>;
  /// Returns an object that has neither an address nor a slot yet. @throws std::bad_alloc  nothing has changed
  NewMemory new_memory(SpaceId space, const char* label, std::uint64_t bytes);
  /// Makes the object of an adopted body, whose pages are open, and enters it in the table. @throws std::bad_alloc
  NewMemory new_adopted(const char* label, std::byte* body, std::uint64_t bytes);
  /// Binds the object to its slot, and shows the observer the allocation. @throws std::bad_alloc
  void bind(Memory& memory, SlotId slot);
  /// Gives the memory addresses on its device. @throws OutOfMemory, std::bad_alloc
  void place_on_device(Memory& memory);
  /// Gives host memory that is no mirror its bytes: page-locked ones that are kept for the next such memory (`State::saved_on_host`) if they
  /// are many, else ordinary ones. No array is found there, and pages are not protected.
  /// @param purpose  completes "no host memory to ...", for the message  @throws OutOfMemory, std::bad_alloc
  void place_on_host(Memory& memory, const char* purpose);
  /// @return no obstacle when `place_on_host` need not page-lock memory, which takes long; otherwise that
  [[nodiscard]] Obstacle room_on_host(std::uint64_t bytes) const noexcept;
  /// Gives back the addresses of the memory, and the pages of host memory.
  /// @param content  what the memory of a mirror holds, if that is known
  void release_place(Memory& memory, directory::Content content = directory::Content::unknown) noexcept;
  /// Frees the memory, its slot, and its datum behind the last slot, and recycles the object. It also frees what an allocation that
  /// failed has made so far.
  /// @pre the content is needed no more, and nothing in flight uses the memory
  void destroy(Memory& memory) noexcept;
  /// Forgets a datum that no slot belongs to any more. Copies that are pending for it are counted as dropped, with this label.
  void remove_datum(DatumId datum, trace::LabelId label) noexcept;
  /// Returns a saved copy of this kind that `new_saved_copy` has made on a device, that is mapped by now, and that is not used
  /// yet; nullptr if there is none.
  [[nodiscard]] Memory* ready_saved_copy(SpaceId space, const Region& saved, trace::LabelId label) const noexcept;
  /// Provides memory for a value that is to be saved. On a device the memory must be mapped first, so the first call returns an
  /// obstacle, and the same call in the next attempt finds the memory ready. Its content is not wanted until then, so it is freed
  /// at the transaction's end if it is not asked for again.
  /// @param saved  which bytes, from 0 on: several columns are kept side by side
  /// @param copy  is set to the memory when there is no obstacle
  /// @throws OutOfMemory
  Obstacle new_saved_copy(SpaceId space, const Region& saved, trace::LabelId label, Memory*& copy);
  /// Frees the saved copies whose values are wanted no more and that nothing in flight uses.
  void collect_orphans() noexcept;
  /// Returns a list of the largest live arrays of the device, for messages.
  [[nodiscard]] std::string describe_live_buffers(std::uint32_t device) const;
  /// Is host memory of this size that is no mirror page-locked?
  [[nodiscard]] bool from_pool(std::uint64_t bytes) const noexcept;
  [[nodiscard]] std::uint64_t host_snapshot_bytes() const noexcept { return host_snapshot_bytes_; }
  /// Counts host memory that is no mirror as a saved copy, until it is freed.
  void count_saved_on_host(Memory& memory) noexcept {
    memory.counted_snapshot = true;
    host_snapshot_bytes_ += memory.bytes;
  }

 private:
  Memory* make_saved_copy(SpaceId space, const Region& saved, trace::LabelId label);
  /// Smaller memory that is no mirror is ordinary memory, so transfers are staged.
  static constexpr std::uint64_t least_from_pool = std::uint64_t{1} << 20;
  [[nodiscard]] bool flights_have_ended(const Memory& saved) noexcept;

  base::Vector<Memory*> free_;  ///< objects that belong to no array now
  std::uint64_t host_snapshot_bytes_ = 0;
  base::Vector<Memory*> new_copies_;  ///< saved copies whose memory is being mapped, or is mapped and not used yet
};

}  // namespace semcache::engine
