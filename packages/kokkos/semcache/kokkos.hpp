// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// SemCache for Kokkos. A program names semcache::Device where it named its Kokkos device; views, mirrors, DualView and
/// deep_copy go on as they were.
///
/// Include this header before any other that uses views in semcache::Space, in every translation unit alike: it
/// specialises templates of Kokkos.
#include <semcache/kokkos/announce.hpp>
#include <semcache/kokkos/backend.hpp>
#include <semcache/kokkos/containers.hpp>
#include <semcache/kokkos/default_device.hpp>
#include <semcache/kokkos/dual_view.hpp>
#include <semcache/kokkos/handles.hpp>
#include <semcache/kokkos/patterns.hpp>
#include <semcache/kokkos/records.hpp>
#include <semcache/kokkos/sort.hpp>
#include <semcache/semcache.hpp>

// Programs with Tpetra (who links SemCache::tpetra has it) have another Kokkos::DualView on semcache::Device: in all
// files, whether they name Tpetra or not.
#ifdef SEMCACHE_ENABLE_TPETRA
#include <semcache/tpetra/dual_view.hpp>
#endif
