// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <type_traits>

// One program, built twice: SEMCACHE_DEFAULT_DEVICE chooses its device.
namespace kokkos_default {
using Vector = Kokkos::View<double*, semcache::DefaultDevice>;
using Range = Kokkos::RangePolicy<semcache::DefaultDevice::execution_space>;
using Dual = semcache::DualView<double*, semcache::DefaultDevice>;

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

void add_one(const Vector& x) {
  Kokkos::parallel_for(Range(0, x.extent(0)), KOKKOS_LAMBDA(int i) { x(i) += 1; });
}

/// Host and kernel in turn, with the calls that a pair of two arrays needs.
void expect_in_step(Dual& dual, int n) {
  for (int i = 0; i < n; ++i) dual.view_host()(i) = i;
  dual.modify_host();
  dual.sync<semcache::DefaultDevice>();
  add_one(dual.view_device());
  dual.modify<semcache::DefaultDevice>();
  dual.sync_host();
  for (int i = 0; i < n; ++i) ASSERT_EQ(dual.view_host()(i), i + 1);
}

KOKKOS_TEST(KokkosDefaultDevice, HasADualView) {
  const test::Since since;
  Dual dual("dual", 100);
  expect_in_step(dual, 100);
  EXPECT_EQ(dual.view_host()(99), 100);
  dual.resize(200);
  EXPECT_EQ(dual.view_host()(99), 100) << "resize keeps the content on both sides";
  EXPECT_EQ(dual.view_host()(199), 0);
  expect_in_step(dual, 200);
  dual.realloc(50);
  expect_in_step(dual, 50);
  EXPECT_EQ(since.launches() > 0, ours);
  EXPECT_EQ(semcache::is_tracked(dual.view_device().data()), ours);
}

KOKKOS_TEST(KokkosDefaultDevice, CopiesPartsOfADualView) {
  Dual dual("dual", 100), other(semcache::announced, "other", 10);
  expect_in_step(dual, 100);
  Kokkos::deep_copy(other, Kokkos::subview(dual, Kokkos::make_pair(90, 100)));
  other.sync_host();
  semcache::access(other.view_host(), semcache::Access::read);
  EXPECT_EQ(other.view_host()(9), 100);
  Dual same(dual.view_device(), dual.view_host());
  same.clear_sync_state();
  expect_in_step(same, 100);
  EXPECT_FALSE(same.need_sync_host() || same.need_sync_device());
}

}  // namespace kokkos_default
