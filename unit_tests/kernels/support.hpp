// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <kokkos/support.hpp>
#include <semcache/kernels.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace test {

using Pair = std::pair<std::size_t, std::size_t>;
using RightMatrix = Kokkos::View<double**, Kokkos::LayoutRight, Device>;
using StrideMatrix = Kokkos::View<double**, Kokkos::LayoutStride, Device>;
using Host = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Entries that are exact in sums of a few thousand products: results must be equal, whatever the order of additions.
inline double entry(std::size_t i, std::size_t j, int seed) { return double((i * 7 + j * 3 + seed * 5) % 11) - 5; }

/// Fills a view through its parent's mirror: the device has not seen the content yet.
template <class View>
void fill(const View& view, int seed) {
  const auto mirror = Kokkos::create_mirror_view(view);
  for (std::size_t j = 0; j < view.extent(1); ++j)
    for (std::size_t i = 0; i < view.extent(0); ++i) mirror(i, j) = entry(i, j, seed);
  Kokkos::deep_copy(view, mirror);
}
inline void fill(const Vector& view, int seed) {
  const auto mirror = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < view.extent(0); ++i) mirror(i) = entry(i, 0, seed);
  Kokkos::deep_copy(view, mirror);
}

/// Any view's elements, fetched by a kernel and a copy.
template <class View>
Host elements(const View& view) {
  const RightMatrix packed("packed", view.extent(0), view.extent(1));
  Kokkos::parallel_for(
      "pack", Range(0, view.extent(0)), KOKKOS_LAMBDA(int i) {
        for (std::size_t j = 0; j < view.extent(1); ++j) packed(i, j) = view(i, j);
      });
  const Host host("host", view.extent(0), view.extent(1));
  Kokkos::deep_copy(host, packed);
  return host;
}
inline Host elements(const Vector& view) {
  return elements(Kokkos::View<double**, Left, Device>(view.data(), view.extent(0), 1));
}

/// The vectors of a product with a sparse matrix may be longer than that, where Kokkos-Kernels allows it: the version 3.4 does, later ones refuse
/// them. Then this is the part that the matrix has rows or columns for.
template <class View>
auto as_long_as_allowed(const View& v, std::size_t count) {
#if SEMCACHE_KERNELS_INSTANCES
  if constexpr (View::rank == 1) return Kokkos::subview(v, Pair(0, count));
  else return Kokkos::subview(v, Pair(0, count), Kokkos::ALL());
#else
  (void)count;
  return v;
#endif
}

/// How many devices hold a part of the array.
template <class View>
int devices_of(const View& v) {
  std::set<std::uint32_t> devices;
  const std::size_t bytes = semcache::kokkos::detail::reach(v) * sizeof(typename View::value_type);
  for (const semcache::runtime::HeldBytes& h : semcache::runtime::holders(v.data(), bytes)) devices.insert(h.device);
  return static_cast<int>(devices.size());
}

inline void expect_equal(const Host& found, const Host& expected, const std::string& what) {
  ASSERT_EQ(found.extent(0), expected.extent(0)) << what;
  ASSERT_EQ(found.extent(1), expected.extent(1)) << what;
  for (std::size_t i = 0; i < found.extent(0); ++i)
    for (std::size_t j = 0; j < found.extent(1); ++j)
      ASSERT_EQ(found(i, j), expected(i, j)) << what << " at " << i << ", " << j;
}

}  // namespace test
