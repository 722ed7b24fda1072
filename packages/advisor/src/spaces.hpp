// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <string_view>

namespace semcache::advisor {

/// Which memory a copy's side is in, as far as the advisor must know.
enum class Memory : std::uint8_t {
  host,
  pinned,   ///< the host's, and kernels write it as well
  device,   ///< a GPU's, which the host cannot read
  managed,  ///< both can; the driver moves its pages
  other,    ///< a space that the advisor does not know, SemCache's own among them: not examined
};

[[nodiscard]] inline Memory memory_of(std::string_view space) noexcept {
  if (space == "Host" || space == "HBW") return Memory::host;
  if (space == "CudaHostPinned") return Memory::pinned;
  if (space == "Cuda") return Memory::device;
  if (space == "CudaUVM") return Memory::managed;
  return Memory::other;
}

[[nodiscard]] constexpr bool on_host(Memory m) noexcept { return m == Memory::host || m == Memory::pinned; }
/// Is memory of this kind read by the driver?
[[nodiscard]] constexpr bool of_driver(Memory m) noexcept { return m == Memory::device || m == Memory::managed; }

}  // namespace semcache::advisor
