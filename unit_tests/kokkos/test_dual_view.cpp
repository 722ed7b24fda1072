// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_DualView.hpp>

namespace kokkos_dual_view {
using namespace test;

using Ours = semcache::DualView<double**, Left, Device>;
using Stock = Kokkos::DualView<double**, Left, Device>;
template <class A, class B>
inline constexpr bool exchangeable = std::is_convertible<A, B>::value && std::is_convertible<B, A>::value;
static_assert(exchangeable<Ours::t_dev, Stock::t_dev> && exchangeable<Ours::t_host, Stock::t_host>,
              "the same views as Kokkos::DualView (which may name them with more arguments)");
static_assert(exchangeable<Ours::t_dev_const, Stock::t_dev_const> && exchangeable<Ours::t_host_const, Stock::t_host_const>, "");
static_assert(exchangeable<Ours::t_dev_um, Stock::t_dev_um> && exchangeable<Ours::t_host_um, Stock::t_host_um>, "");

/// The interface that both share, exercised alike; results are compared with the contents that must follow.
template <class Dual>
void exercise() {
  Dual dv("dv", 30, 2);
  ASSERT_TRUE(dv.is_allocated());
  EXPECT_EQ(dv.extent(0), 30u);
  EXPECT_EQ(dv.extent_int(1), 2);
  EXPECT_EQ(dv.span(), 60u);
  EXPECT_TRUE(dv.span_is_contiguous());
  EXPECT_NE(static_cast<void*>(dv.view_host().data()), static_cast<void*>(dv.view_device().data()));

  dv.modify_host();
  dv.view_host()(3, 1) = 5;
  EXPECT_TRUE(dv.need_sync_device());
  EXPECT_FALSE(dv.need_sync_host());
  dv.sync_device();
  EXPECT_FALSE(dv.need_sync_device());

  auto d = dv.view_device();
  Kokkos::parallel_for("add", Range(0, 30), KOKKOS_LAMBDA(int i) { d(i, 1) += 1; });
  dv.modify_device();
  EXPECT_TRUE(dv.need_sync_host());
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(3, 1), 6.0);

  dv.template modify<Space>();
  EXPECT_TRUE(dv.template need_sync<HostMirrorSpace>());
  dv.template sync<HostMirrorSpace>();
  dv.template modify<HostMirrorSpace>();
  EXPECT_TRUE(dv.template need_sync<Device>());
  dv.template sync<Device>();
  dv.template modify<Exec>();
  EXPECT_TRUE(dv.need_sync_host());
  dv.clear_sync_state();
  EXPECT_FALSE(dv.need_sync_host());
  static_assert(std::is_same<std::decay_t<decltype(dv.template view<Space>())>, typename Dual::t_dev>::value, "");
  static_assert(std::is_same<std::decay_t<decltype(dv.template view<HostMirrorSpace>())>, typename Dual::t_host>::value, "");

  auto column = Kokkos::subview(dv, Kokkos::ALL(), 1);
  column.modify_host();
  column.view_host()(3) = 10;
  column.sync_device();
  Kokkos::parallel_for("add", Range(0, 30), KOKKOS_LAMBDA(int i) { d(i, 1) += 1; });
  dv.modify_device();
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(3, 1), 11.0);
  EXPECT_EQ(dv.view_host()(4, 1), 2.0);

  dv.resize(40, 2);
  EXPECT_EQ(dv.extent(0), 40u);
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(3, 1), 11.0);
  EXPECT_EQ(dv.view_host()(39, 1), 0.0);
  dv.realloc(50, 2);
  EXPECT_EQ(dv.view_host()(3, 1), 0.0);
  EXPECT_NE(static_cast<void*>(dv.view_host().data()), static_cast<void*>(dv.view_device().data()));

  Dual from(Kokkos::view_alloc(Kokkos::WithoutInitializing, "from"), 50, 2);
  from.modify_host();
  Kokkos::deep_copy(from.view_host(), 3.0);
  Kokkos::deep_copy(dv, from);
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(49, 1), 3.0);

  Dual empty;
  EXPECT_FALSE(empty.is_allocated());
  empty.sync_host();
  empty.modify_host();
  empty = dv;
  EXPECT_EQ(empty.view_device().data(), dv.view_device().data());
}

}  // namespace kokkos_dual_view
using namespace kokkos_dual_view;

KOKKOS_TEST(KokkosDualView, StockInterfaceOnOurSpaces) {
  const Since since;
  exercise<Stock>();
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
}
KOKKOS_TEST(KokkosDualView, OurInterface) {
  const Since since;
  exercise<Ours>();
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
}

KOKKOS_TEST(KokkosDualView, IsOneDatum) {
  Ours dv("dv", 30, 2);
  dv.view_host()(3, 1) = 5;
  auto d = dv.view_device();
  Kokkos::parallel_for("add", Range(0, 30), KOKKOS_LAMBDA(int i) { d(i, 1) += 1; });
  EXPECT_EQ(dv.view_host()(3, 1), 6.0);
  dv.view_host()(3, 1) = 8;
  Kokkos::parallel_for("add", Range(0, 30), KOKKOS_LAMBDA(int i) { d(i, 1) += 1; });
  EXPECT_EQ(dv.view_host()(3, 1), 9.0);
  EXPECT_EQ(dv.view_host()(4, 1), 2.0);
}

KOKKOS_TEST(KokkosDualView, SyncMovesNothingAndNeverAborts) {
  Ours dv("dv", 512, 2);
  dv.view_host()(3, 1) = 5;
  const Since since;
  dv.modify_host();
  dv.modify_device();  // Kokkos::DualView aborts: "concurrent modification"
  dv.sync_host();
  dv.sync_device();
  dv.sync<Device>();
  dv.sync_host(Exec());
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(dv.view_host()(3, 1), 5.0);
}

KOKKOS_TEST(KokkosDualView, CopiesAndSubviewsShareTheDatum) {
  Ours dv("dv", 20, 8);
  Ours copy = dv;
  semcache::DualView<const double**, Left, Device> constant = dv;
  auto rows = Kokkos::subview(dv, std::make_pair(5, 10), Kokkos::ALL());
  auto columns = semcache::subview(dv, Kokkos::ALL(), std::make_pair(2, 4));
  auto d = rows.view_device();
  Kokkos::parallel_for("rows", Range(0, 5), KOKKOS_LAMBDA(int i) { d(i, 3) = i; });
  EXPECT_EQ(copy.view_host()(9, 3), 4.0);
  EXPECT_EQ(constant.view_host()(9, 3), 4.0);
  EXPECT_EQ(columns.view_host()(9, 1), 4.0);
  columns.view_host()(0, 0) = 7;
  auto c = constant.view_device();
  double value = 0;
  Kokkos::parallel_reduce(
      "read", Range(0, 1), KOKKOS_LAMBDA(int, double& update) { update += c(0, 2); }, value);
  EXPECT_EQ(value, 7.0);
}

KOKKOS_TEST(KokkosDualView, MayBeCapturedWhole) {
  Ours dv("dv", 20, 8);
  dv.view_host()(1, 1) = 1;
  const Since since;
  Kokkos::parallel_for("whole", Range(0, 20), KOKKOS_LAMBDA(int i) { dv.view_device()(i, 1) += 1; });
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  EXPECT_EQ(dv.view_host()(1, 1), 2.0);
}

KOKKOS_TEST(KokkosDualView, UsesNoMemoryBeforeItIsTouched) {
  const auto before = semcache::statistics();
  const Since since;
  Ours dv("dv", 4096, 16);
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(since.faults(), 0u);
  EXPECT_EQ(semcache::statistics().live_device_bytes - before.live_device_bytes, 4096u * 16 * 8);
}

KOKKOS_TEST(KokkosDualView, FromItsTwoSides) {
  Ours dv("dv", 20, 8);
  Ours again(dv.view_device(), dv.view_host());
  again.view_host()(1, 1) = 3;
  auto d = again.view_device();
  Kokkos::parallel_for("add", Range(0, 1), KOKKOS_LAMBDA(int) { d(1, 1) += 1; });
  EXPECT_EQ(dv.view_host()(1, 1), 4.0);
  Ours other("other", 3, 8);
  EXPECT_THROW(Ours(dv.view_device(), other.view_host()), semcache::UsageError);
}

KOKKOS_TEST(KokkosDualView, OutlivesEitherSide) {
  Ours::t_host host;
  Ours::t_dev device;
  {
    Ours dv("dv", 20, 8);
    auto d = dv.view_device();
    Kokkos::parallel_for("set", Range(0, 20), KOKKOS_LAMBDA(int i) { d(i, 1) = i; });
    host = dv.view_host();
  }
  EXPECT_EQ(host(19, 1), 19.0);  // I4: the device side had the only copy
  {
    Ours dv("dv", 20, 8);
    dv.view_host()(2, 2) = 22;
    device = dv.view_device();
  }
  EXPECT_EQ(on_host(device)(2, 2), 22.0);
}
