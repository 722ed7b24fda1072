// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos/patterns.hpp>

namespace semcache {
namespace kokkos::detail {
template <class View>
using enable_for_views = decltype(std::declval<const View&>().data(), std::declval<const View&>().span(),
                                  std::declval<typename View::value_type>(), std::declval<typename View::memory_space>());

/// From the first element to behind the last one. (Kokkos' span() of a strided view ends behind a last whole stride, which
/// may lie outside of the array.)
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

/// Whatever lies between the view's elements is announced as they are.
template <class View>
void announce(const View& view, Access mode) {
  const void* address = view.data();
  const std::size_t bytes = reach(view) * sizeof(typename View::value_type);
  if (bytes > 0 && semcache_foreign_io_1()->overlaps(address, address)) semcache::access(address, bytes, mode);
}
}  // namespace kokkos::detail

/// Announces a use of a view's elements by code that nobody notices: a library call, MPI, a system call, a raw kernel on
/// `view.data()`. See semcache::access(address, bytes, mode) for what holds afterwards.
///
/// A strided view announces all from its first to its last element, so `overwrite` is right only for contiguous views (a
/// strided one is announced as `write`). Views in memory that is not the cache's need no announcement: nothing happens.
/// @throws OutOfMemory device memory: the working set exceeds the budget; nothing changed
/// @throws UsageError  the view's array has been freed
/// Ordering: waits for kernels in flight that write the elements. Threads: any.
template <class View, class = kokkos::detail::enable_for_views<View>>
void access(const View& view, Access mode) {
  if (mode == Access::overwrite && !view.span_is_contiguous()) mode = Access::write;
  kokkos::detail::announce(view, mode);
}

/// Carries out what lazy copies owe to a view's elements. The same as access(view, Access::read), errors too.
template <class View, class = kokkos::detail::enable_for_views<View>>
void settle(const View& view) {
  access(view, Access::read);
}

}  // namespace semcache
