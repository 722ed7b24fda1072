// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/patterns.hpp>
#include <semcache/kokkos/strided_copy.hpp>

namespace semcache {
namespace kokkos::detail {
template <class View>
using enable_for_views = decltype(std::declval<const View&>().data(), std::declval<const View&>().span(),
                                  std::declval<typename View::value_type>(), std::declval<typename View::memory_space>());

/// Returns the number of elements from the first one up to and including the last one, gaps included. (Kokkos' span() of a
/// strided view counts a whole stride for the last one, which may reach beyond the array.)
template <class View>
std::size_t reach(const View& view) {
  if (view.span() == 0 || view.span_is_contiguous()) return view.span();
  std::size_t strides[9] = {};
  view.stride(strides);
  std::size_t elements = 1;
  for (unsigned r = 0; r < 8; ++r) {
    if (view.extent(r) == 0) return 0;
    if (view.extent(r) > 1) elements += (view.extent(r) - 1) * strides[r];
  }
  return elements;
}

/// Announces all bytes from the view's first to its last element, so the gaps between elements are announced, too. Does
/// nothing for memory that cannot be tracked.
template <class View>
void announce(const View& view, Access mode) {
  const void* address = view.data();
  const std::size_t bytes = reach(view) * sizeof(typename View::value_type);
  if (bytes > 0 && semcache_foreign_io_1()->overlaps(address, address)) semcache::access(address, bytes, mode);
}

/// The same, but without the gaps between columns where these can be told apart (access_2d).
template <class View>
void announce_elements(const View& view, Access mode) {
  const void* address = view.data();
  if (view.span() == 0 || !semcache_foreign_io_1()->overlaps(address, address)) return;
  if constexpr (Kokkos::is_view<View>::value && IsOrdinaryView<View>::value && has_strided_layout<View>) {
    if (!view.span_is_contiguous() && view.size() > 0 && access_columns(address, elements_of(view, view), mode)) return;
  }
  announce(view, mode == Access::overwrite && !view.span_is_contiguous() ? Access::write : mode);
}
}  // namespace kokkos::detail

/// Announces a use of a view's elements by code whose accesses SemCache does not notice: a library call, MPI, a system call, a
/// raw kernel on `view.data()`. See semcache::access(address, bytes, mode) for what holds afterwards.
///
/// The announcement covers the elements, and whatever lies between them on the same pages of a mirror. Of views with more than 64 groups
/// of equal columns it covers all bytes from the first to the last element. `overwrite` spares the fetch only where it covers the elements
/// alone. Views in memory that SemCache does not track need no announcement: nothing happens.
/// @throws OutOfMemory device memory: the working set exceeds the budget; nothing changed
/// @throws UsageError  the view's array has been freed
/// Ordering: waits for kernels in flight that write the elements. Threads: any.
template <class View, class = kokkos::detail::enable_for_views<View>>
void access(const View& view, Access mode) {
  kokkos::detail::announce_elements(view, mode);
}

/// Announces that the host will read a host view soon: its bytes, from the first to the last element, are brought to the host, and the call does not
/// wait for them. See semcache::prefetch(address, bytes). Nothing happens for views in memory that SemCache does not track.
/// @throws UsageError  the view lies on a device, or its array has been freed
template <class View, class = kokkos::detail::enable_for_views<View>>
void prefetch(const View& view) {
  const void* address = view.data();
  const std::size_t bytes = kokkos::detail::reach(view) * sizeof(typename View::value_type);
  if (bytes > 0 && semcache_foreign_io_1()->overlaps(address, address)) semcache::prefetch(address, bytes);
}

/// Carries out the pending copies into a view's elements. Equivalent to access(view, Access::read), with the same errors.
template <class View, class = kokkos::detail::enable_for_views<View>>
void settle(const View& view) {
  access(view, Access::read);
}

}  // namespace semcache
