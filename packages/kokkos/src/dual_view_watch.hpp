// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/bridge.hpp>

#include <cstddef>

namespace semcache::kokkos::detail {

/// Recognises stock Kokkos::DualViews, with SEMCACHE_CHECK=1 only. Their constructor allocates flags, then the device's side, then the host's, in
/// one thread. Kokkos tells its tools of the flags, so this is a tool, in front of that which is there. A DualView that is made of two Views, and
/// one that is resized, is not recognised.

/// Begins to watch, unless that has been done. To be called at the start, because a tool that is loaded later takes the place.
void watch_dual_views();
/// Takes note of an allocation of SemCache's. Costs a load where nothing watches.
void note_allocation(Side side, const void* data, std::size_t bytes);

}  // namespace semcache::kokkos::detail
