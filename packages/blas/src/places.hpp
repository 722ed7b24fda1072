// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "blocks.hpp"
#include "call.hpp"
#include "in_place.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace semcache::blas {

/// Finds how each operand of a call reaches the device, before it is decided whether it does.
class Places {
 public:
  explicit Places(const Call& call) noexcept;
  /// Adds what is known of the operands' bytes to the facts of the call.
  void add_to(Facts& facts) const;

  /// Brings the bytes of operands home that the host lacks, because it computes the call: in a few transfers instead of a page fault for each page.
  /// Does nothing for what it cannot bring: it comes when the host uses it.
  void bring_home() const noexcept;

  /// Brings the operands to a device, has `routines` compute there, and lets the program see the results.
  /// @throws OutOfMemory, DeviceError and others; the operands have the content that they had, or can be computed anew by the host
  /// @return `on_device`, `in_pieces`, or `no_memory` if nothing has been computed
  Verdict compute(const Routines& routines);

 private:
  /// To be called where a call fails that has computed. The host computes anew what it overwrites. Where it adds to a result, some of that has been
  /// added already: this ends the process.
  void refuse_added_twice(const char* why) const;
  enum class How : std::uint8_t { sent, block, in_place };
  using Hows = std::array<How, most_operands>;
  /// Whether the blocks that were found at the beginning are taken for what they were. They are not once one of them has been released.
  enum class Known : std::uint8_t { still, not_any_more };
  /// Adopts what an operand lies in. `are_adopted` has to confirm it while nobody can release it.
  [[nodiscard]] How adopt(std::size_t operand, Known known) const;
  /// Is everything adopted still that `how` says is?
  [[nodiscard]] bool are_adopted(const Hows& how) const noexcept;
  /// `compute` where all operands lie in adopted blocks, and fit the device together: nothing is made for the time of the call.
  Verdict compute_in_blocks(const Routines& routines) const;
  /// `compute` wherever the operands are. @param fits  they fit the device together; otherwise the call is cut
  Verdict compute_anywhere(const Routines& routines, const Hows& how, bool fits) const;
  /// The array for which a tile stands: what the program has asked for of the block in which the operand lies, so that a matrix that fills it is used
  /// as a whole, or the whole pages of an adopted range.
  [[nodiscard]] std::pair<const std::byte*, std::size_t> datum_of(std::size_t operand) const noexcept;
  const Call& call_;
  const std::uint64_t changes_, epoch_;  ///< of the blocks, and of the runtime, before the blocks were found
  std::array<std::optional<blocks::Block>, most_operands> blocks_;  ///< those in which the operands lie
};

}  // namespace semcache::blas
