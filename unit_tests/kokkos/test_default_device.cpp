// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <type_traits>

// One program, built twice: SEMCACHE_DEFAULT_DEVICE chooses its device.
namespace kokkos_default {
using Vector = Kokkos::View<double*, semcache::DefaultDevice>;
using Range = Kokkos::RangePolicy<semcache::DefaultDevice::execution_space>;

#ifdef SEMCACHE_DEFAULT_DEVICE
constexpr bool ours = true;
#else
constexpr bool ours = false;
#endif
static_assert(std::is_same<semcache::DefaultDevice, semcache::Device>::value == ours);
static_assert(std::is_same<semcache::DefaultDevice, Kokkos::DefaultExecutionSpace::device_type>::value != ours);

KOKKOS_TEST(KokkosDefaultDevice, IsWhatTheBuildChose) {
  const test::Since since;
  const Vector x("x", 100);
  const auto host = Kokkos::create_mirror_view(x);
  for (int i = 0; i < 100; ++i) host(i) = i;
  Kokkos::deep_copy(x, host);
  Kokkos::parallel_for(Range(0, 100), KOKKOS_LAMBDA(int i) { x(i) += 1; });
  Kokkos::deep_copy(host, x);
  EXPECT_EQ(host(99), 100);
  EXPECT_EQ(since.launches() > 0, ours);
  EXPECT_EQ(semcache::is_tracked(x.data()), ours);
}

}  // namespace kokkos_default
