// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/capture.hpp>
#include <semcache/kokkos/deep_copy.hpp>

/// Data handles whose copies into a closure are noticed, for both implementations of View.
#if SEMCACHE_KOKKOS_MDSPAN_VIEW
#include <semcache/kokkos/handles_mdspan.hpp>
#else
#include <semcache/kokkos/handles_legacy.hpp>
#endif
