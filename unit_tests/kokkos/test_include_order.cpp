// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Programs include Kokkos' headers in any order: some before ours, as this one, some behind it.
#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <kokkos/support.hpp>

#include <Kokkos_DynRankView.hpp>
#include <Kokkos_Random.hpp>

#include <algorithm>

namespace kokkos_include_order {
using namespace test;
}  // namespace kokkos_include_order
using namespace kokkos_include_order;

// Kokkos_Random.hpp knows the containers that are declared before it.
#if KOKKOS_VERSION >= 30700  // before, it fills views alone
namespace kokkos_include_order {
template <class D>
double largest_random_number() {
  const Kokkos::DynRankView<double, D> x("x", 30, 4);
  Kokkos::fill_random(x, Kokkos::Random_XorShift64_Pool<typename D::execution_space>(1234), 1.0);
  const auto h = Kokkos::create_mirror_view(x);
  Kokkos::deep_copy(h, x);
  double largest = 0;
  for (int i = 0; i < 30; ++i)
    for (int j = 0; j < 4; ++j) largest = std::max(largest, h(i, j));
  return largest;
}
}  // namespace kokkos_include_order

KOKKOS_STOCK_TEST(KokkosIncludeOrder, RandomNumbersFillADynRankView) {
  EXPECT_GT(largest_random_number<Device>(), 0.5);
  EXPECT_GT(largest_random_number<Kokkos::DefaultExecutionSpace::device_type>(), 0.5);
}
#endif

#if SEMCACHE_KOKKOS_SORT_DISPATCH
KOKKOS_STOCK_TEST(KokkosIncludeOrder, SortIsOneLaunchWhereItsHeaderCameFirst) {
  const Vector x("x", 3);
  Kokkos::parallel_for("fill", Range(0, 3), KOKKOS_LAMBDA(int i) { x(i) = -i; });
  const Since since;
  Kokkos::sort(x);
  Kokkos::sort(Exec(), x);
  EXPECT_EQ(since.launches(), 2u);
  EXPECT_EQ(on_host(x)(0), -2);
}
#endif
