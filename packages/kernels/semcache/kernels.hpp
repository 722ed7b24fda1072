// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// SemCache for Kokkos-Kernels. The functions of Kokkos-Kernels on views of semcache::Device call the native library (BLAS on
/// hosts, cuBLAS and cuSPARSE on GPUs, or what else the installed Kokkos-Kernels uses for native views), and SemCache is told
/// what they read and write.
///
/// Include this header before any use of Kokkos-Kernels on such views, in every translation unit alike, because it
/// specialises templates of Kokkos-Kernels. Functions that are not specialised here run as kernels on semcache::Exec, and are
/// noticed like any kernel.
#include <semcache/kernels/dense.hpp>
#include <semcache/kernels/exec_traits.hpp>
#include <semcache/kernels/spmv.hpp>
#include <semcache/kernels/vectors.hpp>
#if SEMCACHE_KERNELS_INSTANCES
#include <semcache/kernels/triangular.hpp>
#endif
