// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <kokkos/support.hpp>

#include <string>

namespace test {

/// Returns an array on the last of the process's devices: the only one, or another than Kokkos' own (SEMCACHE_DEVICES).
inline Vector on_last_device(const std::string& label, int size) {
  (void)semcache::runtime::device_ordinal(0);  // starts the runtime
  return Vector(Kokkos::view_alloc(Space(static_cast<std::uint32_t>(semcache::device_count()) - 1), label), size);
}

}  // namespace test
