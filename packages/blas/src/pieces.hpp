// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "operand.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

/// Calls whose operands together exceed the device's memory: they are computed in pieces, each of which is a call of the same routine.
namespace semcache::tasks {
struct Matrix;
}

namespace semcache::blas {

struct Call;
class Routines;

/// What a call can be cut along: the rows or the columns of its result, if these are computed without each other, or the terms of its sums.
enum class Size : std::uint8_t { rows, columns, terms, whole };
inline constexpr std::size_t cut_sizes = 3;

/// Which of a call's sizes the rows and columns of an operand have, as it is stored; `whole`: neither, so each piece has all of them.
struct Stored {
  Size rows = Size::whole;
  Size columns = Size::whole;
};
[[nodiscard]] constexpr Stored stored(Size first, Size second, bool exchanged) noexcept {
  return exchanged ? Stored{second, first} : Stored{first, second};
}

/// How a call may be cut. With all three sizes it is a product of two matrices, whose operands are these and the result.
struct Cut {
  std::array<std::uint64_t, cut_sizes> sizes{};  ///< by `Size`; 0: not along this one
  std::array<Stored, most_operands> operands{};
  [[nodiscard]] std::uint64_t size(Size which) const noexcept { return sizes[static_cast<std::size_t>(which)]; }
};

/// A piece of a call.
struct Piece {
  std::array<std::int64_t, cut_sizes> sizes{};          ///< by `Size`
  std::array<std::int64_t, most_operands> leading{};    ///< of its operands
  bool adds = false;                                    ///< to what the pieces before it have left in the result
  [[nodiscard]] std::int64_t size(Size which) const noexcept { return sizes[static_cast<std::size_t>(which)]; }
};

/// Returns whether the operands fit the device's memory together.
[[nodiscard]] bool fit_together(const Call& call, std::uint32_t device);

/// Computes a call in pieces that fit the device, so that the operands pass through its memory.
/// @param operands  those of the call, each in an array or in adopted memory
/// @param done      becomes how many pieces have been computed, also where this throws
/// @return false if the call cannot be cut, or not enough for this device; nothing has been computed then
/// @throws OutOfMemory, DeviceError and others
[[nodiscard]] bool compute_in_pieces(const Call& call, const Routines& routines, const std::array<tasks::Matrix, most_operands>& operands, std::uint32_t device,
                       std::size_t& done);

}  // namespace semcache::blas
