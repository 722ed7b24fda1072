// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/engine/residency.hpp>

namespace semcache::engine {

/// Is the object no longer an array in device memory? Another thread may free an operand of an unknown launch, or of a driver's
/// call, while the lock is given up. The object is then free, a saved copy, or another array's.
[[nodiscard]] inline bool is_no_array(const Memory& m) noexcept { return !m.live || m.on_host() || m.snapshot(); }

/// Returns whether nothing need be done for this operand before a launch uses it. No lock.
[[nodiscard]] inline bool ready(const Operand& operand) noexcept {
  const std::uint32_t need = Memory::resident | Memory::is_fresh | Memory::idle |
                             (operand.writable ? Memory::is_exclusive | Memory::unread : 0u);
  return (operand.memory->flags.load() & need) == need;
}

/// Meets the requirements of accesses: `meet` is the one function for all accesses, and `prepare` the one for operands of
/// launches.
///
/// Threads: with the engine's lock. Both are parts of an attempt (Transaction).
class Preparation : Parts {
 public:
  explicit Preparation(const Parts& parts) noexcept : Parts(parts) {}

  /// Meets all requirements together. Each array is then resident and has its content, and what others want of content that will
  /// be overwritten is saved. No known work reads or writes the bytes in conflict with the access. (Kernels of launches that
  /// follow are ordered by `Launches::pin` instead.)
  /// @pre none of the arrays is freed
  /// @return no obstacle when all are met at the same time; otherwise the first obstacle
  Obstacle meet(const Requirement* requirements, std::size_t count);
  Obstacle meet(Memory& memory, const Region& range, Access mode) {
    const Requirement requirement{&memory, range, mode};
    return meet(&requirement, 1);
  }
  /// Makes all operands resident and fresh, saves what others want of the writable ones, and notes their writes in the directory.
  /// The writes are noted one after the other, so of two operands that hold the same wanted value the second is its last holder
  /// (I4). If a write is noted early, or its launch fails, unchanged content only gets a new number. Operands that are freed are
  /// skipped.
  /// @param parts  of operands that are not used as a whole. Only these bytes are made fresh, and only those of parts that are written
  ///               count as written
  /// @return no obstacle when all operands are ready; otherwise the first obstacle
  Obstacle prepare(const Operand* operands, std::size_t count, const OperandParts& parts = {});
  /// Saves what others want of bytes of the memory that are all to be written.
  /// @return no obstacle when all is saved; otherwise the first obstacle
  Obstacle save_for_write(Memory& memory, const base::Vector<Region>& written);

 private:
  /// Saves what others want of bytes that are to be written, if no use of a part on the host stands in the way.
  /// @param together  all ranges of the memory that are to be written
  Obstacle save(Memory& memory, const Region& range, const base::Vector<Region>& together = {});
  /// @param first  see `Requirement`
  Obstacle prepare_whole(Memory& memory, Mode mode, SpaceId first);
  Obstacle prepare_parts(Memory& memory, const OperandParts& parts);
};

}  // namespace semcache::engine
