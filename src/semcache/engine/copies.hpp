// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/host_access.hpp>
#include <semcache/engine/pageable_copies.hpp>

namespace semcache::engine {

/// Carries out deep_copy and fills: lazily between noticed slots, at the call where a side is open (I7 in either case). Threads:
/// any.
class Copies : Parts {
 public:
  explicit Copies(const Parts& parts) noexcept : Parts(parts), pageable_copies_(parts) {}

  /// What a copy moves: `columns` runs of `width` bytes, which begin `to_pitch` and `from_pitch` bytes apart.
  struct Columns {
    std::uint64_t width = 0;
    std::uint64_t columns = 1;
    std::uint64_t to_pitch = 0;
    std::uint64_t from_pitch = 0;
    [[nodiscard]] Region to(std::uint64_t position) const noexcept { return {position, width, columns, to_pitch}; }
    [[nodiscard]] Region from(std::uint64_t position) const noexcept { return {position, width, columns, from_pitch}; }
  };
  /// Copies between arrays, or between an array and other memory. Columns are copied lazily where both sides have them equally far
  /// apart, or where they are few and wide (64 columns of a page or more); otherwise the copy is made at the call.
  /// @throws UsageError  an address is in the range of arrays, but no array is there, the bytes leave their array, or columns overlap
  void copy(void* to, const void* from, Columns what);
  void copy(void* to, const void* from, std::uint64_t bytes) { copy(to, from, Columns{bytes}); }
  /// Fills the range with the pattern: as a value of known content, or at the call if the memory is open or the protocol is
  /// `off`.
  void fill(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill);
  /// Notes that a kernel has written the pattern to the whole range, so that the value's content is known and the slot holds it.
  void filled(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill);
  /// Carries out the copies pending for `range`. Afterwards no transfer in flight uses the memory from which they took their
  /// content.
  void settle(Memory& memory, ByteRange range);

 private:
  PageableCopies pageable_copies_;
  /// @param most  the bytes that are copied at once
  template <class Copy>
  void in_pieces(Transaction& transaction, Memory* to, std::uint64_t to_position, Memory* from, std::uint64_t from_position, const Columns& what,
                 std::uint64_t most, const Copy& copy);
  template <class Submit>
  void complete_also_if_refused(Transaction& transaction, const timeline::Work& work, const Submit& submit);
  void expect_unused(Transaction& transaction, Memory* to, const Region& there, Memory* from, const Region& here);
  /// Returns the array in which `what`, as a region from `p` on, lies; nullptr if no array is at `p`.
  /// @throws UsageError  it leaves the array, its columns overlap, or what was at `p` has been freed
  [[nodiscard]] Memory* array_at(const void* p, const char* preposition, const Region& what, std::uint64_t pitch) const;
  [[nodiscard]] std::uint64_t bytes_together(const std::byte* p, const std::byte* end) const noexcept;
  /// Does `what`, as a region from `p` on, lie partly in an adopted body and partly elsewhere?
  [[nodiscard]] bool crosses_a_border(const void* p, const Region& what) const noexcept;
  void copy_in_parts(void* to, const void* from, const Columns& what);
  /// Waits until the requirement of an access to the array is met. @throws UsageError  the array, which the caller named, is
  /// freed
  void meet(Transaction& transaction, const Kept& array, const Region& range, Access mode);
  /// Copies at the call from memory that belongs to no array. The program may change that memory when the work is done.
  /// @param work  is set to the work that is submitted
  void copy_from_open(Transaction& transaction, const Kept& to, std::uint64_t position, const void* from, const Columns& what, timeline::Work& work);
  /// Copies at the call to memory that belongs to no array.
  void copy_to_open(Transaction& transaction, void* to, const Kept& from, std::uint64_t position, const Columns& what);
  /// Makes the copy lazily, in the directory. Returns false, and does not make it, if a side is open or becomes open, or if the
  /// maps of `to` would become long.
  [[nodiscard]] bool link(Transaction& transaction, Memory& to, std::uint64_t to_position, Memory& from,
                          std::uint64_t from_position, const Columns& what);
  /// Returns what a copy that overwrites the region needs, which is also what it is noted to have written: the region, if the
  /// array's maps have its shape or its columns are few; otherwise the hull, with the content that lies between the columns.
  [[nodiscard]] Requirement overwritten(Memory& memory, const Region& region);
  /// Carries out at the call those lazy copies that must not, or should not, stay pending. A failure is not reported,
  /// because the copy has been made lazily (I9). Ends the process if an announced host side, which the program may change without
  /// notice, can neither be copied nor saved.
  void settle_early(Transaction& transaction, Memory& to, const Region& range, Memory& from) noexcept;
  /// Brings the content of a small copy to a mirror that the host is expected to read next. Its pages stay readable meanwhile.
  void bring(Transaction& transaction, Memory& to, ByteRange range, Memory& from) noexcept;
  /// See `settle`.
  void settle_copy(Transaction& transaction, Memory& to, const Region& range);
  /// Copies at the call between two arrays.
  void copy_now(Transaction& transaction, Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                const Columns& what);
  /// Notes as pending the bytes of `range` that no slot of the memory's datum holds.
  void note_pending(const Memory& memory, const Region& range) noexcept;
  /// Counts as dropped the pending bytes where the datum now wants something else. @param earlier  what it wanted before
  void count_replaced(const Memory& memory, const base::Vector<directory::ExtentMap::Extent>& earlier) noexcept;
  /// SEMCACHE_CHECK=1: checks that both sides of a copy that is elided have the same bytes, and ends the process if not.
  /// @return no obstacle when they are checked; otherwise the first obstacle
  Obstacle check_elided(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, std::uint64_t n);
};

}  // namespace semcache::engine
