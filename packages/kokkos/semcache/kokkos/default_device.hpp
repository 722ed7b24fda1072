// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/exec.hpp>

namespace semcache {

/// The device of programs that leave the choice to their build. It is semcache::Device where SEMCACHE_DEFAULT_DEVICE is
/// defined, otherwise Kokkos' own default. A target that links SemCache::kokkos_default has the macro; where SemCache was
/// built with SemCache_ENABLE_DEFAULT_DEVICE, so has each target that links SemCache::kokkos. All translation units of a
/// program must agree.
#ifdef SEMCACHE_DEFAULT_DEVICE
using DefaultDevice = Device;
#else
using DefaultDevice = Kokkos::DefaultExecutionSpace::device_type;
#endif

}  // namespace semcache
