// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "operand.hpp"

#include <cstdint>

/// Memory of the program's own that is adopted where it lies (class (b) in README.md): the whole pages within an operand. It is adopted only
/// where its end will be noticed. Records are outside of malloc. Threads: any.
namespace semcache::blas::in_place {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// --- births and ends, as the interposed functions tell ---------------------------------------------------------------

/// Notes memory that the program has got. One that is too small to be guarded is not noted.
void born(void* address, std::size_t bytes) noexcept;
/// Notes that memory is a stack from now on: it is not adopted.
void is_stack(void* address, std::size_t bytes) noexcept;
/// To be called before the memory ends, or moves. What is adopted of it is released: its content dies, or comes home, when calls that use it have
/// ended. @return false if that fails: the memory must stay then
enum class End : std::uint8_t {
  dies,   ///< it ends, and nothing can keep it from that
  moves,  ///< it may end, move or change its kind, or stay if that fails
  stays   ///< it stays the program's memory, of the same kind
};
[[nodiscard]] bool ends(void* address, std::size_t bytes, End how) noexcept;
/// Returns whether any of these bytes is adopted.
[[nodiscard]] bool is_adopted(const void* address, std::size_t bytes) noexcept;
/// Returns whether the end of a heap block of this size concerns anybody: small ones are not noted, but may lie in what is adopted.
[[nodiscard]] bool concerns(std::size_t bytes) noexcept;
/// Returns whether anything has been noted or adopted; one load.
[[nodiscard]] bool any() noexcept;

// --- calls -----------------------------------------------------------------------------------------------------------

/// Adopts the memory of an operand, unless it is adopted already. To be called while this thread has no `DeviceUse`.
/// @return false if it cannot be guarded: it is sent at each call then
/// @throws what runtime::adopt and runtime::release throw
[[nodiscard]] bool adopt(const Operand& operand);
/// Returns the adopted range in which the operand lies.
[[nodiscard]] bool find(const Operand& operand, Range& range) noexcept;

}  // namespace semcache::blas::in_place
