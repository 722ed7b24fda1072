// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/host_access.hpp>

namespace semcache::engine {

/// deep_copy: lazy between noticed slots, at the call where a side is open (I7 in either case). Threads: any.
class Copies : Parts {
 public:
  explicit Copies(const Parts& parts) noexcept : Parts(parts) {}

  void copy(void* to, const void* from, std::uint64_t bytes);
  void fill(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill);
  /// A kernel has written the pattern to the whole range: the value is known, the slot holds it.
  void filled(Memory& memory, std::uint64_t position, std::uint64_t bytes, const directory::Fill& fill);
  /// Copies that are pending for `range` are made, and nothing in flight uses what they took their content from.
  void settle(Memory& memory, ByteRange range);

 private:
  /// Afterwards the array, which the caller named, has what an access to it needs.
  void meet(Transaction& transaction, const Kept& array, ByteRange range, Access mode);
  [[nodiscard]] SpaceId space_at(const void* elsewhere) const noexcept;
  void copy_from_open(Transaction& transaction, Memory& to, std::uint64_t position, const void* from, std::uint64_t n);
  void copy_to_open(Transaction& transaction, void* to, Memory& from, std::uint64_t position, std::uint64_t n);
  [[nodiscard]] bool link(Transaction& transaction, Memory& to, std::uint64_t to_position, Memory& from,
                          std::uint64_t from_position, std::uint64_t n);
  void settle_early(Transaction& transaction, Memory& to, ByteRange range, Memory& from) noexcept;
  void bring(Transaction& transaction, Memory& to, ByteRange range, Memory& from) noexcept;
  void settle_copy(Transaction& transaction, Memory& to, ByteRange range);
  void copy_now(Transaction& transaction, Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                std::uint64_t n);
  /// What was copied to the memory's datum is pending where none of its slots holds it.
  void note_pending(const Memory& memory, ByteRange range) noexcept;
  /// What was pending for it is dropped where it wants something else now. @param earlier  what it wanted
  void count_replaced(const Memory& memory, const std::vector<directory::ExtentMap::Extent>& earlier) noexcept;
  /// SEMCACHE_CHECK=1: a copy is about to be elided; do both sides really have the same bytes?
  Obstacle check_elided(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position, std::uint64_t n);
};

}  // namespace semcache::engine
