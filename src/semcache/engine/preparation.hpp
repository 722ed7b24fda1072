// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/operand.hpp>
#include <semcache/engine/residency.hpp>

namespace semcache::engine {

/// An operand of an unknown launch, or of a driver's call, that another thread has freed while the lock was given up; its
/// object may be another array's.
[[nodiscard]] inline bool is_no_array(const Memory& m) noexcept { return !m.live || m.on_host() || m.snapshot(); }

/// Nothing need be done for this operand. No lock.
[[nodiscard]] inline bool ready(const Operand& operand) noexcept {
  const std::uint32_t need = Memory::resident | Memory::is_fresh | Memory::idle |
                             (operand.writable ? Memory::is_exclusive | Memory::unread : 0u);
  return (operand.memory->flags.load() & need) == need;
}

/// What an access needs before it uses bytes of an array.
struct Requirement {
  Memory* memory;   ///< the array, and the place where the bytes are used: this memory's
  ByteRange range;
  Access mode;      ///< `overwrite` needs no content; all but `read` take from nobody what he wants of the former content
};

/// What accesses require is made so: the one function for all accesses (`meet`), and the one for operands of launches (`prepare`).
///
/// Threads: with the engine's lock. Both are parts of an attempt (Transaction).
class Preparation : Parts {
 public:
  explicit Preparation(const Parts& parts) noexcept : Parts(parts) {}

  /// None: all of them are met, at once. Each is resident, has its content, and what others want of content that will be overwritten
  /// is saved. No work that is known reads or writes what they concern; kernels of launches that follow are ordered by
  /// `Launches::pin` instead. @pre none of the arrays is freed
  Obstacle meet(const Requirement* requirements, std::size_t count);
  Obstacle meet(Memory& memory, ByteRange range, Access mode) {
    const Requirement requirement{&memory, range, mode};
    return meet(&requirement, 1);
  }
  /// None: all operands are resident and fresh, what others want of the writable ones is saved, and the directory is told of the
  /// writes, one after the other: of two operands that hold the same wanted value, the second is its last holder (I4). A write that
  /// is told of early, or of a launch that fails, only gives unchanged content a new number.
  /// @param overwritten  bytes of each operand that are certain to be written before they are read; nullptr: none
  Obstacle prepare(const Operand* operands, std::size_t count, const ByteRange* overwritten);

};

}  // namespace semcache::engine
