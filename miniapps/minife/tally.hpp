// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

namespace minife {

struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;

  void add(std::uint64_t more_bytes) noexcept {
    bytes += more_bytes;
    ++count;
  }
  friend Traffic operator-(Traffic a, Traffic b) noexcept { return {a.bytes - b.bytes, a.count - b.count}; }
};

/// Counts of what moved, for one rank or summed over ranks.
struct Tally {
  Traffic h2d;
  Traffic d2h;
  Traffic d2d;
  Traffic saved_link;
  Traffic saved_device;
  Traffic avoided;
  Traffic between_devices;  ///< from one device's memory to another's
  Traffic results;  ///< results of reductions that the kernels themselves write over the link (not part of d2h)
  std::uint64_t host_faults = 0;
  std::uint64_t evictions = 0;
  std::uint64_t unknown_launches = 0;
  std::uint64_t peer_launches = 0;  ///< uses of an array by a kernel of another device than the array's
};

}  // namespace minife
