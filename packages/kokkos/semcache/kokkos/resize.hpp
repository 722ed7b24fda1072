// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/strided_copy.hpp>

/// Kokkos::resize and realloc of views in semcache::Space: the new array is on the device of the old one, and the kernels that copy its
/// content run there. What the arguments name (an instance, a Space) counts more. A view that has no array yet gets one on device 0.
namespace semcache::kokkos::detail {

// Kokkos' own functions. They are named in front of our overloads, so the qualified names find Kokkos' functions only.
template <class... Arguments>
void stock_resize(Arguments&&... arguments) {
  Kokkos::resize(std::forward<Arguments>(arguments)...);
}
template <class... Arguments>
void stock_realloc(Arguments&&... arguments) {
  Kokkos::realloc(std::forward<Arguments>(arguments)...);
}

template <class View>
using enable_resize = std::enable_if_t<is_in_space<View> && IsOrdinaryView<View>::value>;

}  // namespace semcache::kokkos::detail

namespace Kokkos {

// The parameters are Kokkos' own. The compiler prefers these overloads, because they name one more property of the view (D0).
#define SEMCACHE_KOKKOS_RESIZE(FUNCTION, EXTENTS, ARGUMENTS)                                                                        \
  template <class D, class D0, class... Ds>                                                                                         \
  semcache::kokkos::detail::enable_resize<View<D, D0, Ds...>> FUNCTION(View<D, D0, Ds...>& view, SEMCACHE_KOKKOS_##EXTENTS) {       \
    const semcache::kokkos::detail::DefaultDeviceScope scope(semcache::runtime::device_of(view.data()));                            \
    semcache::kokkos::detail::stock_##FUNCTION(view, SEMCACHE_KOKKOS_##ARGUMENTS);                                                  \
  }                                                                                                                                 \
  template <class Property, class D, class D0, class... Ds>                                                                         \
  semcache::kokkos::detail::enable_resize<View<D, D0, Ds...>> FUNCTION(const Property& property, View<D, D0, Ds...>& view,          \
                                                                       SEMCACHE_KOKKOS_##EXTENTS) {                                 \
    const semcache::kokkos::detail::DefaultDeviceScope scope(semcache::runtime::device_of(view.data()));                            \
    semcache::kokkos::detail::stock_##FUNCTION(property, view, SEMCACHE_KOKKOS_##ARGUMENTS);                                        \
  }                                                                                                                                 \
  template <class... Properties, class D, class D0, class... Ds>                                                                    \
  semcache::kokkos::detail::enable_resize<View<D, D0, Ds...>> FUNCTION(const Impl::ViewCtorProp<Properties...>& properties,         \
                                                                       View<D, D0, Ds...>& view, SEMCACHE_KOKKOS_##EXTENTS) {       \
    const semcache::kokkos::detail::DefaultDeviceScope scope(semcache::runtime::device_of(view.data()));                            \
    semcache::kokkos::detail::stock_##FUNCTION(properties, view, SEMCACHE_KOKKOS_##ARGUMENTS);                                      \
  }
#define SEMCACHE_KOKKOS_EXTENTS                                                                                          \
  const std::size_t n0 = semcache::kokkos::detail::no_extent, const std::size_t n1 = semcache::kokkos::detail::no_extent, \
  const std::size_t n2 = semcache::kokkos::detail::no_extent, const std::size_t n3 = semcache::kokkos::detail::no_extent, \
  const std::size_t n4 = semcache::kokkos::detail::no_extent, const std::size_t n5 = semcache::kokkos::detail::no_extent, \
  const std::size_t n6 = semcache::kokkos::detail::no_extent, const std::size_t n7 = semcache::kokkos::detail::no_extent
#define SEMCACHE_KOKKOS_EXTENT_ARGUMENTS n0, n1, n2, n3, n4, n5, n6, n7
#define SEMCACHE_KOKKOS_LAYOUT const typename View<D, D0, Ds...>::array_layout& layout
#define SEMCACHE_KOKKOS_LAYOUT_ARGUMENT layout
SEMCACHE_KOKKOS_RESIZE(resize, EXTENTS, EXTENT_ARGUMENTS)
SEMCACHE_KOKKOS_RESIZE(resize, LAYOUT, LAYOUT_ARGUMENT)
SEMCACHE_KOKKOS_RESIZE(realloc, EXTENTS, EXTENT_ARGUMENTS)
SEMCACHE_KOKKOS_RESIZE(realloc, LAYOUT, LAYOUT_ARGUMENT)
#undef SEMCACHE_KOKKOS_LAYOUT_ARGUMENT
#undef SEMCACHE_KOKKOS_LAYOUT
#undef SEMCACHE_KOKKOS_EXTENT_ARGUMENTS
#undef SEMCACHE_KOKKOS_EXTENTS
#undef SEMCACHE_KOKKOS_RESIZE

}  // namespace Kokkos
