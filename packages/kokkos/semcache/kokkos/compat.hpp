// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Everything that depends on the version of Kokkos. The other headers test the features that are named here, never
/// KOKKOS_VERSION. Each threshold is taken from Kokkos' tags and has been compiled with versions on both sides of it.
#include <Kokkos_Core.hpp>

// This header has the bodies of the allocation record's members. Kokkos >= 3.7 guards it against direct inclusion.
#ifndef KOKKOS_IMPL_PUBLIC_INCLUDE
#define KOKKOS_IMPL_PUBLIC_INCLUDE
#define SEMCACHE_KOKKOS_UNDEFINE_PUBLIC_INCLUDE
#endif
#include <impl/Kokkos_SharedAlloc_timpl.hpp>
#ifdef SEMCACHE_KOKKOS_UNDEFINE_PUBLIC_INCLUDE
#undef KOKKOS_IMPL_PUBLIC_INCLUDE
#undef SEMCACHE_KOKKOS_UNDEFINE_PUBLIC_INCLUDE
#endif

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

/// The native execution space under semcache::Exec. All translation units of a program must agree on it.
#ifndef SEMCACHE_KOKKOS_BASE
#define SEMCACHE_KOKKOS_BASE Kokkos::DefaultExecutionSpace
#endif

/// Kokkos has a macro that defines the allocation record, and the record's constructor takes an execution space.
#define SEMCACHE_KOKKOS_RECORD_MACRO (KOKKOS_VERSION >= 40300)
/// The root record's constructor takes the label.
#define SEMCACHE_KOKKOS_RECORD_LABEL (KOKKOS_VERSION >= 30600)
/// View initialisation functors are parametrised by the device (execution and memory space), not by the execution space alone.
#define SEMCACHE_KOKKOS_INITIALISER_SEES_MEMORY (KOKKOS_VERSION >= 30500)
/// View initialisation functors have a third parameter, "is scalar".
#define SEMCACHE_KOKKOS_INITIALISER_IS_SCALAR (KOKKOS_VERSION < 40500)
/// A reduction's closure takes functor and reducer combined in one object.
#define SEMCACHE_KOKKOS_COMBINED_REDUCER (KOKKOS_VERSION >= 40100)
/// View is built on mdspan.
#ifdef KOKKOS_ENABLE_IMPL_VIEW_LEGACY
#define SEMCACHE_KOKKOS_MDSPAN_VIEW 0
#else
#define SEMCACHE_KOKKOS_MDSPAN_VIEW (KOKKOS_VERSION >= 40699)
#endif
/// DynamicView keeps its list of chunks in the space that ChunkArraySpace names. Since 3.5 it keeps one list in its own space and
/// one on the host.
#define SEMCACHE_KOKKOS_CHUNK_ARRAY_SPACE (KOKKOS_VERSION < 30500)
/// Signature: ZeroMemset<Exec>(exec, pointer, bytes).
#define SEMCACHE_KOKKOS_ZERO_MEMSET_POINTER (KOKKOS_VERSION >= 40500)
/// Signature: ZeroMemset<Exec, View>(exec, view); before 4.3 also with the value, and without the instance.
#define SEMCACHE_KOKKOS_ZERO_MEMSET_VIEW (KOKKOS_VERSION >= 40100 && KOKKOS_VERSION < 40500)
#define SEMCACHE_KOKKOS_ZERO_MEMSET_VIEW_AND_VALUE (KOKKOS_VERSION >= 40100 && KOKKOS_VERSION < 40300)
/// Signature: ZeroMemset<Exec, DataType, Properties...>(exec, view, value).
#define SEMCACHE_KOKKOS_ZERO_MEMSET_VALUE (KOKKOS_VERSION >= 30500 && KOKKOS_VERSION < 40100)
/// Host access checks are classes named RuntimeCheck...; before, the class is verify_space.
#define SEMCACHE_KOKKOS_RUNTIME_CHECK (KOKKOS_VERSION >= 30600)
#define SEMCACHE_KOKKOS_RUNTIME_CHECK_VIEW (KOKKOS_VERSION >= 30700 && !SEMCACHE_KOKKOS_MDSPAN_VIEW)
/// Kokkos Tools ask DeviceTypeTraits for the device's number.
#define SEMCACHE_KOKKOS_TOOLS_DEVICE_ID (KOKKOS_VERSION >= 30600)
/// get_tile_size_properties exists (MDRange on a GPU takes the limits of a block from it).
#define SEMCACHE_KOKKOS_TILE_PROPERTIES (KOKKOS_VERSION >= 30500)
/// Kokkos has deduction guides for MDRangePolicy, and for TeamPolicy.
#define SEMCACHE_KOKKOS_MDRANGE_GUIDES (KOKKOS_VERSION >= 40300)
#define SEMCACHE_KOKKOS_TEAM_GUIDES (KOKKOS_VERSION >= 40400)
/// sort(exec, view) and sort(exec, view, comparator) choose their algorithm by the type of the space; so does sort_by_key.
#define SEMCACHE_KOKKOS_SORT_DISPATCH (KOKKOS_VERSION >= 40200)
#define SEMCACHE_KOKKOS_SORT_BY_KEY (KOKKOS_VERSION >= 40300)
/// TeamMDRange exists: its nesting is looked up by the execution space of the team's member.
#define SEMCACHE_KOKKOS_TEAM_MDRANGE (KOKKOS_VERSION >= 40000)
/// partition_space exists in Kokkos::Experimental.
#define SEMCACHE_KOKKOS_PARTITION_SPACE (KOKKOS_VERSION >= 30500)
/// partition_space is implemented by a template that qualified calls find only as an explicit specialisation.
#define SEMCACHE_KOKKOS_IMPL_PARTITION_SPACE (KOKKOS_VERSION >= 40699)
/// Kokkos_Graph.hpp names GraphNodeKind in a way that does not find it once Kokkos_ScatterView.hpp has been included.
#define SEMCACHE_KOKKOS_GRAPH_NODE_KIND (KOKKOS_VERSION >= 50200)
/// Random_UniqueIndex is parametrised by the device, not by the execution space.
#define SEMCACHE_KOKKOS_RANDOM_BY_DEVICE (KOKKOS_VERSION >= 30500)

/// A View's constructor hands the instance among its properties on to the allocation: view_alloc(semcache::on(1), label) allocates on
/// device 1. Before, only semcache::Space(1) among the properties does.
#define SEMCACHE_KOKKOS_ALLOCATES_WITH_INSTANCE (KOKKOS_VERSION >= 30700)
/// Kokkos::Cuda takes streams of other GPUs than its own.
#define SEMCACHE_KOKKOS_SEVERAL_GPUS (KOKKOS_VERSION >= 40300)

/// An attribute by which members without state take no room.
#ifdef MDSPAN_IMPL_NO_UNIQUE_ADDRESS
#define SEMCACHE_KOKKOS_NO_UNIQUE_ADDRESS MDSPAN_IMPL_NO_UNIQUE_ADDRESS
#else
#define SEMCACHE_KOKKOS_NO_UNIQUE_ADDRESS [[no_unique_address]]
#endif

/// Makes the padding of a trivially copyable object zero, where the compiler can do that; otherwise does nothing.
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
#define SEMCACHE_KOKKOS_CLEAR_PADDING(POINTER) __builtin_clear_padding(POINTER)
#endif
#endif
#ifndef SEMCACHE_KOKKOS_CLEAR_PADDING
#define SEMCACHE_KOKKOS_CLEAR_PADDING(POINTER) (void)(POINTER)
#endif

/// Compiles the statements in the host compilation pass only. Functions that use it must return void.
#ifdef KOKKOS_IF_ON_HOST
#define SEMCACHE_KOKKOS_ON_HOST(...) KOKKOS_IF_ON_HOST((__VA_ARGS__))
#elif defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define SEMCACHE_KOKKOS_ON_HOST(...)
#else
#define SEMCACHE_KOKKOS_ON_HOST(...) __VA_ARGS__
#endif

namespace semcache::kokkos {

using NativeExec = SEMCACHE_KOKKOS_BASE;

/// True where kernels of the native space run on a real device, whose memory is not the host's.
#ifdef KOKKOS_ENABLE_CUDA
inline constexpr bool native_is_device = std::is_same<NativeExec, Kokkos::Cuda>::value;
#else
inline constexpr bool native_is_device = false;
#endif

namespace detail {
template <class View, class = void>
struct HostMirrorOf {
  using type = typename View::HostMirror;
};
template <class View>
struct HostMirrorOf<View, std::void_t<typename View::host_mirror_type>> {
  using type = typename View::host_mirror_type;
};

/// The default of an extent in constructors of View and DualView: extents from the first one with this value on do not exist.
inline constexpr std::size_t no_extent = KOKKOS_IMPL_CTOR_DEFAULT_ARG;
}  // namespace detail

/// The host mirror type of a view type, under whichever name this version of Kokkos has it.
template <class View>
using host_mirror_t = typename detail::HostMirrorOf<View>::type;

}  // namespace semcache::kokkos
