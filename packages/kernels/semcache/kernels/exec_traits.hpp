// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/compat.hpp>

#include <KokkosKernels_ExecSpaceUtils.hpp>

/// The traits that Kokkos-Kernels looks up by execution space. Without them its kernels would take the paths for processors on a
/// GPU, too.
namespace KokkosKernels {
namespace Impl {

template <>
KOKKOS_FORCEINLINE_FUNCTION ExecSpaceType kk_get_exec_space_type<semcache::Exec>() {
  return kk_get_exec_space_type<semcache::kokkos::NativeExec>();
}

#if SEMCACHE_KERNELS_INSTANCES
template <>
constexpr inline bool is_gpu_exec_space_v<semcache::Exec> = is_gpu_exec_space_v<semcache::kokkos::NativeExec>;
#else
template <>
constexpr KOKKOS_INLINE_FUNCTION bool kk_is_gpu_exec_space<semcache::Exec>() {
  return kk_is_gpu_exec_space<semcache::kokkos::NativeExec>();
}
#endif

#ifdef KOKKOS_ENABLE_CUDA
template <>
inline void kk_get_free_total_memory<semcache::Space>(size_t& free_bytes, size_t& total_bytes) {
  kk_get_free_total_memory<Kokkos::CudaSpace>(free_bytes, total_bytes);
}
#if SEMCACHE_KERNELS_INSTANCES
template <>
inline void kk_get_free_total_memory<semcache::Space>(size_t& free_bytes, size_t& total_bytes, int streams) {
  kk_get_free_total_memory<Kokkos::CudaSpace>(free_bytes, total_bytes, streams);
}
#endif
#endif

}  // namespace Impl
}  // namespace KokkosKernels
