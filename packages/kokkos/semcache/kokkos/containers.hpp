// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/backend.hpp>

/// Kokkos' algorithms check whether a space can access their views. Within a team they check the space of the team's member,
/// which is the native space where the functor takes members of any type, so the native space may access views in
/// semcache::Space here. An algorithm that is given an instance of the native space does not compile, because it hands bare
/// pointers to its kernels, and SemCache would not notice which arrays these use. Both templates must be declared before
/// Kokkos' headers of algorithms.
namespace Kokkos {
namespace Experimental {
namespace Impl {
template <class... Arguments>
struct iterators_are_accessible_from;
template <class Iterator>
struct iterators_are_accessible_from<semcache::kokkos::NativeExec, Iterator> {
  using memory_space = typename Iterator::view_type::memory_space;
  static constexpr bool value = std::is_same<memory_space, semcache::Space>::value ||
                                SpaceAccessibility<semcache::kokkos::NativeExec, memory_space>::accessible;
};
template <class... Iterators,
          std::enable_if_t<(std::is_same<typename Iterators::view_type::memory_space, semcache::Space>::value || ...), int> = 0>
KOKKOS_INLINE_FUNCTION constexpr void static_assert_random_access_and_accessible(const semcache::kokkos::NativeExec&, Iterators...) {
  static_assert(sizeof...(Iterators) == 0, "Kokkos' algorithms need semcache::Exec for views in semcache::Space: name it instead of the "
                                           "native execution space");
}
}  // namespace Impl
}  // namespace Experimental
}  // namespace Kokkos

// Kokkos looks up the behaviour of these containers by execution space. The specialisations must come before the first use.
#if __has_include(<Kokkos_ScatterView.hpp>)
#include <Kokkos_ScatterView.hpp>
#if SEMCACHE_KOKKOS_GRAPH_NODE_KIND
#include <Kokkos_Graph_fwd.hpp>
#endif
namespace Kokkos {
namespace Impl {
namespace Experimental {
#if SEMCACHE_KOKKOS_GRAPH_NODE_KIND
using Kokkos::Experimental::GraphNodeKind;  // without it no Kokkos_Graph.hpp could follow
#endif
template <>
struct DefaultDuplication<semcache::Exec> : DefaultDuplication<semcache::kokkos::NativeExec> {};
template <class Duplication>
struct DefaultContribution<semcache::Exec, Duplication>
    : DefaultContribution<semcache::kokkos::NativeExec, Duplication> {};
}  // namespace Experimental
}  // namespace Impl
}  // namespace Kokkos
#endif

#if __has_include(<Kokkos_Random.hpp>)
// fill_random takes only containers that are declared before it.
#if __has_include(<Kokkos_DynRankView.hpp>)
#include <Kokkos_DynRankView.hpp>
#endif
#include <Kokkos_Random.hpp>
namespace Kokkos {
namespace Impl {
template <>
struct Random_XorShift1024_UseCArrayState<semcache::Exec>
    : Random_XorShift1024_UseCArrayState<semcache::kokkos::NativeExec> {};
#if defined(KOKKOS_ENABLE_CUDA) && SEMCACHE_KOKKOS_RANDOM_BY_DEVICE
/// Gives each thread a state of its own. Kokkos' default would silently give state 0 to every thread of a device space that it
/// does not know.
template <class MemorySpace>
struct Random_UniqueIndex<Kokkos::Device<semcache::Exec, MemorySpace>> {
  using locks_view_type = View<int**, Kokkos::Device<semcache::Exec, MemorySpace>>;
  KOKKOS_FUNCTION static int get_state_idx(const locks_view_type& locks) {
    using native_locks = View<int**, Kokkos::Device<semcache::kokkos::NativeExec, MemorySpace>>;
    return Random_UniqueIndex<Kokkos::Device<semcache::kokkos::NativeExec, MemorySpace>>::get_state_idx(
        native_locks(locks));
  }
};
#endif
}  // namespace Impl
}  // namespace Kokkos
#endif

#if SEMCACHE_KOKKOS_CHUNK_ARRAY_SPACE && __has_include(<Kokkos_DynamicView.hpp>)
#include <Kokkos_DynamicView.hpp>
namespace semcache {
namespace kokkos {
/// A type for compiler messages only. Before Kokkos 3.5 host kernels refuse the elements of a DynamicView in any memory but the
/// host's. Where the compiler names this type, use Kokkos 3.5 or newer, a View, or a DynamicView in Kokkos::HostSpace.
struct dynamic_view_in_semcache_space_needs_kokkos_3_5;
namespace detail {
template <bool on_device>
struct ChunkArraySpace {
  using memory_space = dynamic_view_in_semcache_space_needs_kokkos_3_5;
};
/// Host code writes the list of chunks and kernels read it, so it lies in memory that both can access, as with the native space.
template <>
struct ChunkArraySpace<true> : Kokkos::Experimental::Impl::ChunkArraySpace<NativeExec::memory_space> {};
}  // namespace detail
}  // namespace kokkos
}  // namespace semcache
namespace Kokkos {
namespace Experimental {
namespace Impl {
template <>
struct ChunkArraySpace<semcache::Space> : semcache::kokkos::detail::ChunkArraySpace<semcache::kokkos::native_is_device> {};
}  // namespace Impl
}  // namespace Experimental
}  // namespace Kokkos
#endif
