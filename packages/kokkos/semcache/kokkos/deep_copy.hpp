// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/relations.hpp>

/// Kokkos carries out every contiguous deep_copy by Kokkos::Impl::DeepCopy. The specialisations here hand those to or from
/// semcache::Space or HostMirrorSpace to the runtime.
namespace semcache::kokkos::detail {

template <class MemorySpace>
inline constexpr bool is_tracked_space =
    std::is_same<MemorySpace, Space>::value || std::is_same<MemorySpace, HostMirrorSpace>::value;

/// True for layouts that strides describe.
template <class Layout>
inline constexpr bool is_strided_layout =
    std::is_same<Layout, Kokkos::LayoutLeft>::value || std::is_same<Layout, Kokkos::LayoutRight>::value ||
    std::is_same<Layout, Kokkos::LayoutStride>::value;

template <class Destination, class Source, class E>
struct TrackedDeepCopy {
  /// Copies after all work so far (Kokkos fences before and after the two-argument deep_copy).
  TrackedDeepCopy(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes, QueueId{}, is_tracked_space<Destination>, is_tracked_space<Source>);
  }
  /// Copies at this place in the order of `exec`.
  TrackedDeepCopy(const E& exec, void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    copy(to, from, bytes, queue_of(exec), is_tracked_space<Destination>, is_tracked_space<Source>);
  }
};

}  // namespace semcache::kokkos::detail

namespace Kokkos {
namespace Impl {

#define SEMCACHE_KOKKOS_DEEP_COPY(DESTINATION, SOURCE)                                                    \
  template <class E>                                                                                      \
  struct DeepCopy<DESTINATION, SOURCE, E> : semcache::kokkos::detail::TrackedDeepCopy<DESTINATION, SOURCE, E> { \
    using semcache::kokkos::detail::TrackedDeepCopy<DESTINATION, SOURCE, E>::TrackedDeepCopy;             \
  };
#define SEMCACHE_KOKKOS_DEEP_COPY_BOTH(OURS, THEIRS) \
  SEMCACHE_KOKKOS_DEEP_COPY(OURS, THEIRS)            \
  SEMCACHE_KOKKOS_DEEP_COPY(THEIRS, OURS)
SEMCACHE_KOKKOS_DEEP_COPY(semcache::Space, semcache::Space)
SEMCACHE_KOKKOS_DEEP_COPY(semcache::HostMirrorSpace, semcache::HostMirrorSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::Space, semcache::HostMirrorSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::Space, Kokkos::HostSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::HostMirrorSpace, Kokkos::HostSpace)
#ifdef KOKKOS_ENABLE_CUDA
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::Space, Kokkos::CudaSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::Space, Kokkos::CudaUVMSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::Space, Kokkos::CudaHostPinnedSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::HostMirrorSpace, Kokkos::CudaSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::HostMirrorSpace, Kokkos::CudaUVMSpace)
SEMCACHE_KOKKOS_DEEP_COPY_BOTH(semcache::HostMirrorSpace, Kokkos::CudaHostPinnedSpace)
#endif
#undef SEMCACHE_KOKKOS_DEEP_COPY_BOTH
#undef SEMCACHE_KOKKOS_DEEP_COPY

}  // namespace Impl
}  // namespace Kokkos
