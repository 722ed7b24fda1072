// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/hazards.hpp>

namespace semcache::engine {

/// The objects of arrays and of saved copies: they are made, bound to their slots of the directory, and recycled.
///
/// Threads: with the engine's lock.
class Arrays : Parts {
 public:
  explicit Arrays(const Parts& parts) noexcept : Parts(parts) {}

  /// Without an address, or a slot. @throws std::bad_alloc  nothing has changed
  Memory* new_memory(SpaceId space, const char* label, std::uint64_t bytes);
  void bind(Memory& memory, SlotId slot);
  void place_on_device(Memory& memory);
  void release_place(Memory& memory) noexcept;
  /// The memory is needed no more, and nothing in flight uses it. Also what an allocation that failed has made so far (I9).
  void destroy(Memory& memory) noexcept;
  /// None: `copy` is one for a value that is to be saved. On a device it is ready in the attempt behind the obstacle: nobody wants it
  /// until then, so it goes at the transaction's end if it is not asked for again. @throws OutOfMemory
  [[nodiscard]] Memory* ready_saved_copy(SpaceId space, std::uint64_t bytes, trace::LabelId label) const noexcept;
  Obstacle new_saved_copy(SpaceId space, std::uint64_t bytes, trace::LabelId label, Memory*& copy);
  /// Frees the saved copies that nobody wants any more.
  void collect_orphans() noexcept;
  [[nodiscard]] std::string describe_live_buffers(std::uint32_t device) const;
  [[nodiscard]] std::uint64_t host_snapshot_bytes() const noexcept { return host_snapshot_bytes_; }

 private:
  void recycle(Memory& memory) noexcept;
  Memory* make_saved_copy(SpaceId space, std::uint64_t bytes, trace::LabelId label);

  std::vector<Memory*> free_;  ///< objects that are no array's
  std::uint64_t host_snapshot_bytes_ = 0;
  std::vector<Memory*> new_copies_;  ///< of which the memory is being mapped, or is mapped and not used yet
};

}  // namespace semcache::engine
