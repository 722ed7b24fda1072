// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// SemCache for Kokkos-Kernels: its functions on views of semcache::Device are the native library's (BLAS on hosts,
/// cuBLAS and cuSPARSE on GPUs, or whatever the installed Kokkos-Kernels takes for native views), and the cache knows
/// what they read and write.
///
/// Include this header before any use of Kokkos-Kernels on such views, in every translation unit alike: it specialises
/// its templates. Functions that are not specialised here run as kernels on semcache::Exec, noticed as any kernel is.
#include <semcache/kernels/dense.hpp>
#include <semcache/kernels/exec_traits.hpp>
#include <semcache/kernels/spmv.hpp>
#include <semcache/kernels/vectors.hpp>
