// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/compat.hpp>

#include <algorithm>
#include <utility>

namespace semcache::kernels {

using NativeExec = kokkos::NativeExec;
using NativeDevice = Kokkos::Device<NativeExec, NativeExec::memory_space>;

namespace detail {

template <class T>
struct Native {
  using type = T;
  static const T& of(const T& value) { return value; }
};

template <class Data, class Layout, class Traits>
struct Native<Kokkos::View<Data, Layout, Device, Traits>> {
  using view = Kokkos::View<Data, Layout, Device, Traits>;
  using type = Kokkos::View<Data, Layout, NativeDevice, Traits>;
  // Kokkos 3.4 makes a random access view on CUDA only from another view.
  using plain = Kokkos::View<Data, Layout, NativeDevice, Kokkos::MemoryUnmanaged>;

  static type of(const view& v) {
    if constexpr (view::rank == 2 && std::is_same<Layout, Kokkos::LayoutLeft>::value) {
      // The layouts of old versions do not keep the distance of columns. It is kept as the height of a view of which this view
      // has the upper rows.
      const std::size_t rows = v.extent(0);
      const plain columns(v.data(), std::max<std::size_t>(v.stride(1), rows), v.extent(1));
      return Kokkos::subview(columns, std::make_pair(std::size_t{0}, rows), Kokkos::ALL);
    } else if constexpr (view::rank == 2 && std::is_same<Layout, Kokkos::LayoutRight>::value) {
      const std::size_t columns = v.extent(1);
      const plain rows(v.data(), v.extent(0), std::max<std::size_t>(v.stride(0), columns));
      return Kokkos::subview(rows, Kokkos::ALL, std::make_pair(std::size_t{0}, columns));
    } else {
      return plain(v.data(), v.layout());
    }
  }
};

/// A result in a mirror becomes a view in HostSpace.
template <class Data, class Layout, class E, class Traits>
struct Native<Kokkos::View<Data, Layout, Kokkos::Device<E, HostMirrorSpace>, Traits>> {
  using type = Kokkos::View<Data, Layout, Kokkos::Device<E, Kokkos::HostSpace>, Traits>;
  static type of(const Kokkos::View<Data, Layout, Kokkos::Device<E, HostMirrorSpace>, Traits>& v) {
    return type(v.data(), v.layout());
  }
};

}  // namespace detail

/// The native type for a view in memory of SemCache; other types stay as they are.
template <class T>
using native_t = typename detail::Native<T>::type;

/// Returns a native view of the same memory; other values are returned as they are. SemCache does not notice uses of the native
/// view.
template <class T>
decltype(auto) native(const T& value) {
  return detail::Native<T>::of(value);
}

/// The type of a multivector without gaps as a native vector.
template <class V>
using flat_t = Kokkos::View<typename V::value_type*, typename V::array_layout, NativeDevice, typename V::memory_traits>;
/// Returns the multivector as a native vector of all its elements.
/// @pre it has no gaps
template <class V>
flat_t<V> flat(const V& v) {
  return Kokkos::View<typename V::value_type*, typename V::array_layout, NativeDevice, Kokkos::MemoryUnmanaged>(v.data(),
                                                                                                          v.span());
}

/// Calls `body` with the operands as native views. Libraries take vectors only, so multivectors of one layout become vectors
/// where they have no gaps and each coefficient is the same for all columns.
template <class... Coefficients, class Body, class First, class... Rest>
void with_native(const Body& body, const First& first, const Rest&... rest) {
  using Layout = typename First::array_layout;
  if constexpr (First::rank == 2 && !std::is_same<Layout, Kokkos::LayoutStride>::value &&
                (std::is_same<Layout, typename Rest::array_layout>::value && ...) &&
                (!Kokkos::is_view<Coefficients>::value && ...)) {
    if (first.span_is_contiguous() && (rest.span_is_contiguous() && ...)) return body(flat(first), flat(rest)...);
  }
  body(native(first), native(rest)...);
}

}  // namespace semcache::kernels
