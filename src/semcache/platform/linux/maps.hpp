// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

namespace semcache::platform::detail {

/// One line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
};

/// The mapping that contains `address`. False where there is none or /proc cannot be read.
/// Async-signal-safe: open, read and close on a small buffer of the caller's stack. Cost: O(mappings).
[[nodiscard]] bool find_mapping(std::uintptr_t address, Mapping& found) noexcept;

}  // namespace semcache::platform::detail
