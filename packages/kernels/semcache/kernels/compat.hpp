// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Everything that depends on the version of Kokkos-Kernels, except the interface of the sparse product (spmv.hpp).
#include <KokkosKernels_config.h>

#include <semcache/kokkos.hpp>

/// 1 if functions and their implementations take an execution space instance as first argument. Kokkos-Kernels 3, where they do
/// not, has no macro KOKKOSKERNELS_VERSION.
#ifdef KOKKOSKERNELS_VERSION
#define SEMCACHE_KERNELS_INSTANCES 1
#if KOKKOSKERNELS_VERSION < 40300
#error "SemCache::kernels knows Kokkos-Kernels 3.4 (Trilinos 13) and 4.3 or later"
#endif
#else
#define SEMCACHE_KERNELS_INSTANCES 0
#endif

/// The instance as a template argument (of Exec and of the native space), as a parameter, as the instance of a LibraryCall, and
/// as the argument of a native function.
#if SEMCACHE_KERNELS_INSTANCES
#define SEMCACHE_KERNELS_EXEC semcache::Exec,
#define SEMCACHE_KERNELS_NATIVE_EXEC semcache::kokkos::NativeExec,
#define SEMCACHE_KERNELS_PARAMETER const semcache::Exec &exec,
#define SEMCACHE_KERNELS_INSTANCE exec
#define SEMCACHE_KERNELS_ARGUMENT exec.native(),
#else
#define SEMCACHE_KERNELS_EXEC
#define SEMCACHE_KERNELS_NATIVE_EXEC
#define SEMCACHE_KERNELS_PARAMETER
#define SEMCACHE_KERNELS_INSTANCE semcache::Exec()
#define SEMCACHE_KERNELS_ARGUMENT
#endif

/// A view on semcache::Device in the head of a partial specialisation: its parameters and its type.
#define SEMCACHE_KERNELS_OPERAND(NAME) class NAME##Data, class NAME##Layout, class NAME##Traits
#define SEMCACHE_KERNELS_VIEW(NAME) Kokkos::View<NAME##Data, NAME##Layout, semcache::Device, NAME##Traits>
