// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <string>
#include <vector>

namespace semcache {

/// How long the work of emulated devices has taken by their virtual clock (SEMCACHE_EMULATED_MACHINE), in seconds.
struct VirtualTimes {
  struct Busy {
    std::string name;    ///< "device 0"; "host to device 0", "device 0 to device 1"
    double seconds = 0;  ///< how long it has been at work
  };
  double seconds = 0;  ///< until all work so far has ended
  std::vector<Busy> devices;
  std::vector<Busy> links;
};

}  // namespace semcache
