// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <array>

namespace semcache {

/// The largest number of devices of one process.
inline constexpr std::uint32_t most_devices = 16;
/// Some of the process's devices, one bit for each.
using DeviceSet = std::uint32_t;
inline constexpr DeviceSet all_devices = ~DeviceSet{0};

/// The distances between the machine's memories, as costs of copies relative to each other.
struct Topology {
  unsigned within_a_space = 1;
  unsigned between_devices = 2;
  unsigned over_a_host_link = 10;
  /// Bit k of element i is set if devices i and k do not reach each other, so that copies between them pass through the host.
  std::array<std::uint32_t, most_devices> apart{};

  void separate(std::uint32_t one, std::uint32_t other) noexcept {
    apart[one] |= std::uint32_t{1} << other;
    apart[other] |= std::uint32_t{1} << one;
  }
  /// Returns whether copies between the two spaces need not pass through the memory of a third.
  [[nodiscard]] constexpr bool linked(SpaceId one, SpaceId other) const noexcept {
    return one == host_space || other == host_space || (apart[one.value - 1] >> (other.value - 1) & 1) == 0;
  }
  [[nodiscard]] constexpr unsigned copy_cost(SpaceId from, SpaceId to) const noexcept {
    if (from == to) return within_a_space;
    if (from == host_space || to == host_space) return over_a_host_link;
    return linked(from, to) ? between_devices : 2 * over_a_host_link;
  }
};

}  // namespace semcache
