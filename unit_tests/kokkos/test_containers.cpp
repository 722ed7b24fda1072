// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_Bitset.hpp>
#include <Kokkos_DynRankView.hpp>
#include <Kokkos_OffsetView.hpp>
#include <Kokkos_UnorderedMap.hpp>

namespace kokkos_containers {
using namespace test;
}  // namespace kokkos_containers
using namespace kokkos_containers;

// Sanitizers map terabytes: a small number with another int beside it may look like a pointer. Here 100 beside 0, and 1001
// beside anything, do not.
KOKKOS_STOCK_TEST(KokkosContainers, UnorderedMap) {
  const Since since;
  using Map = Kokkos::UnorderedMap<int, double, Device>;
  Map map(200);
  Kokkos::parallel_for("insert", Range(0, 100), KOKKOS_LAMBDA(int i) { map.insert(i, i * 2.0); });
  EXPECT_EQ(map.size(), 100u);
  using HostMap = Kokkos::UnorderedMap<int, double, HostMirrorSpace::device_type>;
  HostMap host;
  host.create_copy_view(map);  // a map of map.capacity() would round its capacity up once more
  EXPECT_TRUE(host.exists(7));
  EXPECT_FALSE(host.exists(170));
  EXPECT_EQ(host.value_at(host.find(7)), 14.0);
  map.rehash(400);
  EXPECT_EQ(map.size(), 100u);
  double total = 0;
  Kokkos::parallel_reduce(
      "values", Range(0, map.capacity()),
      KOKKOS_LAMBDA(int i, double& update) {
        if (map.valid_at(i)) update += map.value_at(i);
      },
      total);
  EXPECT_EQ(total, 9900.0);
  if (!reductions_are_native_too) {
    EXPECT_EQ(since.native(), 0u);
  }
}

KOKKOS_STOCK_TEST(KokkosContainers, DynRankView) {
  Kokkos::DynRankView<double, Left, Device> d("d", 10, 3);
  auto h = Kokkos::create_mirror_view(d);
  static_assert(std::is_same<decltype(h)::memory_space, HostMirrorSpace>::value, "");
  h(9, 2) = 5;
  Kokkos::deep_copy(d, h);
  Kokkos::parallel_for("add", Range(0, 10), KOKKOS_LAMBDA(int i) { d(i, 2) += 1; });
  Kokkos::deep_copy(h, d);
  EXPECT_EQ(h(9, 2), 6.0);
  Kokkos::deep_copy(d, 2.0);
  Kokkos::deep_copy(h, d);
  EXPECT_EQ(h(0, 0), 2.0);
  Kokkos::resize(d, 20, 3);
  EXPECT_EQ(d.extent(0), 20u);
}

KOKKOS_STOCK_TEST(KokkosContainers, Bitset) {
  const Since since;
  Kokkos::Bitset<Device> bits(1001);
  bits.set();
  EXPECT_EQ(bits.count(), 1001u);
  bits.reset();
  EXPECT_EQ(bits.count(), 0u);
  Kokkos::parallel_for("set", Range(0, 10), KOKKOS_LAMBDA(int i) { bits.set(3 * i); });
  EXPECT_EQ(bits.count(), 10u);
  Kokkos::ConstBitset<Device> constant = bits;
  EXPECT_EQ(constant.count(), 10u);
  if (!reductions_are_native_too) {
    EXPECT_EQ(since.native(), 0u);
  }
}

KOKKOS_STOCK_TEST(KokkosContainers, OffsetView) {
  Kokkos::Experimental::OffsetView<double*, Left, Device> offset("offset", {-5, 5});
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec, Kokkos::IndexType<int>>(-5, 6), KOKKOS_LAMBDA(int i) { offset(i) = i; });
  auto h = Kokkos::create_mirror_view(offset);
  Kokkos::deep_copy(h, offset);
  EXPECT_EQ(h(-5), -5.0);
  EXPECT_EQ(h(5), 5.0);
}
