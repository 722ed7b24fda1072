// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>
#include <semcache/kokkos/porting.hpp>

#include <type_traits>

// A program that names no device, with `semcache::` for `Kokkos::`; built twice, as test_default_device.cpp.
namespace kokkos_porting {
using DefaultDevice = semcache::DefaultDevice;
using E = DefaultDevice::execution_space;
using Traits = Kokkos::MemoryTraits<Kokkos::RandomAccess>;

template <class A, class B>
constexpr bool same = std::is_same<A, B>::value;
static_assert(same<semcache::View<double*>, Kokkos::View<double*, DefaultDevice>>);
static_assert(
    same<semcache::View<double*, Kokkos::LayoutLeft>, Kokkos::View<double*, Kokkos::LayoutLeft, DefaultDevice>>);
static_assert(same<semcache::View<const int*, Traits>, Kokkos::View<const int*, DefaultDevice, Traits>>);
static_assert(same<semcache::View<int*, Kokkos::LayoutRight, Kokkos::MemoryUnmanaged>,
                   Kokkos::View<int*, Kokkos::LayoutRight, DefaultDevice, Kokkos::MemoryUnmanaged>>);
static_assert(same<semcache::View<double*, Kokkos::HostSpace>, Kokkos::View<double*, Kokkos::HostSpace>>);
static_assert(same<semcache::View<double*, Kokkos::LayoutLeft, Kokkos::HostSpace, Traits>,
                   Kokkos::View<double*, Kokkos::LayoutLeft, Kokkos::HostSpace, Traits>>);

struct Tag {};
static_assert(same<semcache::RangePolicy<>, Kokkos::RangePolicy<E>>);
static_assert(same<semcache::RangePolicy<Tag>, Kokkos::RangePolicy<E, Tag>>);
static_assert(same<semcache::RangePolicy<Kokkos::DefaultHostExecutionSpace, Tag>,
                   Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Tag>>);
static_assert(same<semcache::MDRangePolicy<Kokkos::Rank<2>>, Kokkos::MDRangePolicy<E, Kokkos::Rank<2>>>);
static_assert(same<semcache::TeamPolicy<>, Kokkos::TeamPolicy<E>>);

/// All of its launches are on the device of the build.
class ExpectOnDevice {
 public:
  explicit ExpectOnDevice(unsigned launches) : launches_(semcache_is_chosen ? launches : 0) {}
  ~ExpectOnDevice() {
    EXPECT_EQ(since_.launches(), launches_);
    EXPECT_TRUE(test::reductions_are_native_too || since_.native() == 0);
  }

 private:
  static constexpr bool semcache_is_chosen = std::is_same<DefaultDevice, semcache::Device>::value;
  test::Since since_;
  unsigned launches_;
};
}  // namespace kokkos_porting
using namespace kokkos_porting;

KOKKOS_TEST(KokkosPorting, BareCounts) {
  const semcache::View<double*> x("x", 100);
  const ExpectOnDevice on_device(8);
  semcache::parallel_for(
      100, KOKKOS_LAMBDA(int i) { x(i) = i; });
  semcache::parallel_for(
      "named", x.extent(0), KOKKOS_LAMBDA(int i) { x(i) += 1; });
  semcache::parallel_for(
      std::string("named"), 100L, KOKKOS_LAMBDA(int i) { x(i) += 1; });
  double total = 0, largest = 0;
  semcache::parallel_reduce(
      100, KOKKOS_LAMBDA(int i, double& update) { update += x(i); }, total);
  EXPECT_EQ(total, 99 * 50 + 200);
  semcache::parallel_reduce(
      "largest", 100, KOKKOS_LAMBDA(int i, double& update) { update = x(i) > update ? x(i) : update; },
      Kokkos::Max<double>(largest));
  EXPECT_EQ(largest, 101);
  const semcache::View<double> result("result");
  semcache::parallel_reduce(
      "view", 100, KOKKOS_LAMBDA(int i, double& update) { update += x(i); }, result);
  semcache::parallel_scan(
      100, KOKKOS_LAMBDA(int i, double& update, bool last) {
        update += 1;
        if (last) x(i) = update;
      });
  long count = 0;
  semcache::parallel_scan(
      "scan", 100, KOKKOS_LAMBDA(int, long& update, bool) { update += 1; }, count);
  EXPECT_EQ(count, 100);
  EXPECT_EQ(test::on_host(x)(99), 100);
  EXPECT_EQ(test::on_host(result)(), 99 * 50 + 200);
}

KOKKOS_TEST(KokkosPorting, Policies) {
  const semcache::View<double**> x("x", 10, 10);
  const ExpectOnDevice on_device(4);
  semcache::parallel_for(
      semcache::MDRangePolicy<Kokkos::Rank<2>>({0, 0}, {10, 10}), KOKKOS_LAMBDA(int i, int j) { x(i, j) = i + j; });
  semcache::parallel_for(
      "range", semcache::RangePolicy<Kokkos::Schedule<Kokkos::Static>>(0, 10), KOKKOS_LAMBDA(int i) { x(i, i) = 1; });
  using Teams = semcache::TeamPolicy<>;
  semcache::parallel_for(
      Teams(10, 1), KOKKOS_LAMBDA(const Teams::member_type& team) { x(team.league_rank(), 0) = 2; });
  double total = 0;
  semcache::parallel_reduce(
      "teams", Teams(10, 1),
      KOKKOS_LAMBDA(const Teams::member_type& team, double& update) { update += x(team.league_rank(), 0); }, total);
  EXPECT_EQ(total, 20);
}

KOKKOS_TEST(KokkosPorting, WhatNamesASpaceKeepsIt) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  const semcache::View<double*, Kokkos::HostSpace> x("x", 10);
  const ExpectOnDevice on_device(0);
  semcache::parallel_for(
      semcache::RangePolicy<Host>(0, 10), KOKKOS_LAMBDA(int i) { x(i) = i; });
  Kokkos::fence();
  EXPECT_EQ(x(9), 9);
}
