// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/exec.hpp>

/// Tells Kokkos which space can access, assign and copy which memory, and what a host access to device memory does.
namespace semcache::kokkos::detail {

/// The types of the mirror of a view in semcache::Space, under the names that any version of Kokkos asks for.
struct MirrorInCache {
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using memory_space = HostMirrorSpace;
  using device_type = Kokkos::Device<execution_space, HostMirrorSpace>;
  using Space = HostMirrorSpace;
};

/// Counts kernels of semcache::Exec that begin (1) or end (-1), for an optional check of host accesses: on the emulated device
/// host code could read device memory unnoticed. SEMCACHE_KOKKOS_CHECK_HOST_ACCESS, which all translation units must define
/// alike, switches the check on. It is off by default because it costs a load per element access.
SEMCACHE_API void count_kernels(int change) noexcept;
/// Aborts with Kokkos' message unless a kernel of semcache::Exec is running. `label` is named if it is not empty.
SEMCACHE_API void abort_outside_kernels(const char* label) noexcept;
#ifdef SEMCACHE_KOKKOS_CHECK_HOST_ACCESS
inline void enter_kernel() noexcept { count_kernels(1); }
inline void leave_kernel() noexcept { count_kernels(-1); }
inline void check_host_access(const char* label) noexcept { abort_outside_kernels(label); }
#else
inline void enter_kernel() noexcept {}
inline void leave_kernel() noexcept {}
inline void check_host_access(const char*) noexcept {}
#endif

}  // namespace semcache::kokkos::detail

namespace Kokkos {
namespace Impl {

#define SEMCACHE_KOKKOS_RELATION(DESTINATION, SOURCE, ASSIGNABLE, ACCESSIBLE) \
  template <>                                                                 \
  struct MemorySpaceAccess<DESTINATION, SOURCE> {                             \
    enum : bool { assignable = ASSIGNABLE };                                  \
    enum : bool { accessible = ACCESSIBLE };                                  \
    enum : bool { deepcopy = true };                                          \
  };
SEMCACHE_KOKKOS_RELATION(Kokkos::HostSpace, semcache::Space, false, false)
SEMCACHE_KOKKOS_RELATION(semcache::Space, Kokkos::HostSpace, false, false)
SEMCACHE_KOKKOS_RELATION(Kokkos::HostSpace, semcache::HostMirrorSpace, true, true)
SEMCACHE_KOKKOS_RELATION(semcache::HostMirrorSpace, Kokkos::HostSpace, false, true)
SEMCACHE_KOKKOS_RELATION(semcache::Space, semcache::HostMirrorSpace, false, false)
SEMCACHE_KOKKOS_RELATION(semcache::HostMirrorSpace, semcache::Space, false, false)
#ifdef KOKKOS_ENABLE_CUDA
// Device code cannot tell Exec from Cuda, so it checks what CudaSpace can access.
inline constexpr bool semcache_cuda_sees_device = semcache::kokkos::native_is_device;
SEMCACHE_KOKKOS_RELATION(Kokkos::CudaSpace, semcache::Space, false, semcache_cuda_sees_device)
SEMCACHE_KOKKOS_RELATION(semcache::Space, Kokkos::CudaSpace, false, semcache_cuda_sees_device)
SEMCACHE_KOKKOS_RELATION(semcache::Space, Kokkos::CudaUVMSpace, false, semcache_cuda_sees_device)
SEMCACHE_KOKKOS_RELATION(semcache::Space, Kokkos::CudaHostPinnedSpace, false, true)
SEMCACHE_KOKKOS_RELATION(Kokkos::CudaUVMSpace, semcache::Space, false, semcache_cuda_sees_device)
SEMCACHE_KOKKOS_RELATION(Kokkos::CudaHostPinnedSpace, semcache::Space, false, false)
SEMCACHE_KOKKOS_RELATION(Kokkos::CudaSpace, semcache::HostMirrorSpace, false, false)
SEMCACHE_KOKKOS_RELATION(semcache::HostMirrorSpace, Kokkos::CudaSpace, false, false)
SEMCACHE_KOKKOS_RELATION(semcache::HostMirrorSpace, Kokkos::CudaUVMSpace, false, true)
SEMCACHE_KOKKOS_RELATION(semcache::HostMirrorSpace, Kokkos::CudaHostPinnedSpace, false, true)
SEMCACHE_KOKKOS_RELATION(Kokkos::CudaUVMSpace, semcache::HostMirrorSpace, false, false)
SEMCACHE_KOKKOS_RELATION(Kokkos::CudaHostPinnedSpace, semcache::HostMirrorSpace, false, true)
#endif
#undef SEMCACHE_KOKKOS_RELATION

/// Kernels on Exec use the native space's scratch memory.
template <>
struct MemorySpaceAccess<semcache::Space, semcache::kokkos::NativeExec::scratch_memory_space> {
  enum : bool { assignable = false };
  enum : bool { accessible = true };
  enum : bool { deepcopy = false };
};

template <>
struct HostMirror<semcache::Space> : semcache::kokkos::detail::MirrorInCache {};
// For View<T, semcache::Exec>, whose mirrors would otherwise be ordinary memory.
template <>
struct HostMirror<semcache::Exec> : semcache::kokkos::detail::MirrorInCache {};
// Kokkos up to 5.0 looks mirrors up by device, too.
template <class E>
struct HostMirror<Kokkos::Device<E, semcache::Space>> : semcache::kokkos::detail::MirrorInCache {};

// On a real device Kokkos' own check is right: it checks the host's default space on the host and the device's space on the
// device. On the emulated device kernels are host code, so they need another check.
#if !SEMCACHE_KOKKOS_RUNTIME_CHECK
template <>
struct verify_space<Kokkos::HostSpace, semcache::Space, false> {
  static void check() { semcache::kokkos::detail::check_host_access(""); }
};
#elif !defined(KOKKOS_ENABLE_CUDA)
template <class E>
struct RuntimeCheckMemoryAccessViolation<semcache::Space, E, false> {
  RuntimeCheckMemoryAccessViolation(const char* const) { semcache::kokkos::detail::check_host_access(""); }
};
#if SEMCACHE_KOKKOS_RUNTIME_CHECK_VIEW
template <class E>
struct RuntimeCheckViewMemoryAccessViolation<semcache::Space, E, false> {
  template <class Tracker, class Map, class... Indices>
  RuntimeCheckViewMemoryAccessViolation(const char* const, const Tracker& tracker, const Map&, Indices...) {
#ifdef SEMCACHE_KOKKOS_CHECK_HOST_ACCESS
    semcache::kokkos::detail::check_host_access(tracker.m_tracker.template get_label<semcache::Space>().c_str());
#else
    (void)tracker;
#endif
  }
};
#endif
#if SEMCACHE_KOKKOS_MDSPAN_VIEW
template <class E>
struct RuntimeCheckBasicViewMemoryAccessViolation<semcache::Space, E, false> {
  RuntimeCheckBasicViewMemoryAccessViolation(const SharedAllocationTracker& tracker) {
#ifdef SEMCACHE_KOKKOS_CHECK_HOST_ACCESS
    semcache::kokkos::detail::check_host_access(tracker.template get_label<semcache::Space>().c_str());
#else
    (void)tracker;
#endif
  }
};
#endif
#endif

}  // namespace Impl
}  // namespace Kokkos
