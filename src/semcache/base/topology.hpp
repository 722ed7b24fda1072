// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

namespace semcache {

/// The distances between the machine's memories, as costs of copies relative to each other.
struct Topology {
  unsigned within_a_space = 1;
  unsigned between_devices = 2;
  unsigned over_a_host_link = 10;

  [[nodiscard]] constexpr unsigned copy_cost(SpaceId from, SpaceId to) const noexcept {
    if (from == to) return within_a_space;
    return from == host_space || to == host_space ? over_a_host_link : between_devices;
  }
};

}  // namespace semcache
