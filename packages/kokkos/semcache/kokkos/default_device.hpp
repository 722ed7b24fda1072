// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/exec.hpp>

namespace semcache {

/// The device of programs that leave the choice to their build: semcache::Device with SEMCACHE_DEFAULT_DEVICE,
/// otherwise Kokkos' own default. Who links SemCache::kokkos_default has it, and everybody where SemCache was built with
/// SemCache_ENABLE_DEFAULT_DEVICE. All translation units of a program must agree.
#ifdef SEMCACHE_DEFAULT_DEVICE
using DefaultDevice = Device;
#else
using DefaultDevice = Kokkos::DefaultExecutionSpace::device_type;
#endif

}  // namespace semcache
