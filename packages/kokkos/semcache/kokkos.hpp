// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// SemCache for Kokkos programs. A program names semcache::Device where it named its Kokkos device. Its views, mirrors,
/// DualViews and deep_copy calls need no other change.
///
/// Include this header before any other header that uses views in semcache::Space, in every translation unit alike,
/// because it specialises templates of Kokkos.
#include <semcache/kokkos/announce.hpp>
#include <semcache/kokkos/backend.hpp>
#include <semcache/kokkos/containers.hpp>
#include <semcache/kokkos/default_device.hpp>
#include <semcache/kokkos/dual_view.hpp>
#include <semcache/kokkos/handles.hpp>
#include <semcache/kokkos/patterns.hpp>
#include <semcache/kokkos/records.hpp>
#include <semcache/kokkos/resize.hpp>
#include <semcache/kokkos/sort.hpp>
#include <semcache/kokkos/strided_copy.hpp>
#include <semcache/semcache.hpp>

// Programs that link SemCache::tpetra have this macro. For them Kokkos::DualView on semcache::Device is another class, and it
// must be the same class in all files of the program, also in those that do not use Tpetra.
#ifdef SEMCACHE_ENABLE_TPETRA
#include <semcache/tpetra/dual_view.hpp>
#endif
