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

template <class Dual>
void add_one_to_column(const Dual& dv, int column) {
  auto d = dv.view_device();
  Kokkos::parallel_for("add", Range(0, d.extent(0)), KOKKOS_LAMBDA(int i) { d(i, column) += 1; });
}

}  // namespace kokkos_dual_view
using namespace kokkos_dual_view;

// --- the interface that Kokkos' DualView and ours share, exercised alike ---------------------------------------------
#define BOTH_DUAL_VIEWS(NAME)                                                        \
  template <class Dual>                                                              \
  void kokkos_dual_view_##NAME();                                                    \
  KOKKOS_STOCK_TEST(KokkosStockDualView, NAME) { kokkos_dual_view_##NAME<Stock>(); } \
  KOKKOS_STOCK_TEST(KokkosDualView, NAME) { kokkos_dual_view_##NAME<Ours>(); }       \
  template <class Dual>                                                              \
  void kokkos_dual_view_##NAME()

BOTH_DUAL_VIEWS(HasTwoSidesOfOneSize) {
  Dual dv("dv", 30, 2);
  ASSERT_TRUE(dv.is_allocated());
  EXPECT_EQ(dv.extent(0), 30u);
  EXPECT_EQ(dv.extent_int(1), 2);
  EXPECT_EQ(dv.span(), 60u);
  EXPECT_TRUE(dv.span_is_contiguous());
  EXPECT_EQ(dv.view_host().span(), dv.view_device().span());
}

BOTH_DUAL_VIEWS(SidesAreMemoryOfTheirOwn) {
  Dual dv("dv", 30, 2);
  EXPECT_NE(static_cast<void*>(dv.view_host().data()), static_cast<void*>(dv.view_device().data()));
}

BOTH_DUAL_VIEWS(SidesAreNamedBySpaces) {
  Dual dv("dv", 30, 2);
  const auto device = dv.template view<Space>();
  const auto host = dv.template view<HostMirrorSpace>();
  static_assert(std::is_same<decltype(device), const typename Dual::t_dev>::value, "");
  static_assert(std::is_same<decltype(host), const typename Dual::t_host>::value, "");
  EXPECT_EQ(device.data(), dv.view_device().data());
  EXPECT_EQ(host.data(), dv.view_host().data());
}

BOTH_DUAL_VIEWS(ModifyHostAsksForSyncDevice) {
  Dual dv("dv", 30, 2);
  EXPECT_FALSE(dv.need_sync_device());
  dv.modify_host();
  EXPECT_TRUE(dv.need_sync_device());
  EXPECT_FALSE(dv.need_sync_host());
}

BOTH_DUAL_VIEWS(SyncDeviceClearsTheFlag) {
  Dual dv("dv", 30, 2);
  dv.modify_host();
  dv.sync_device();
  EXPECT_FALSE(dv.need_sync_device());
}

BOTH_DUAL_VIEWS(ModifyDeviceAsksForSyncHost) {
  Dual dv("dv", 30, 2);
  EXPECT_FALSE(dv.need_sync_host());
  dv.modify_device();
  EXPECT_TRUE(dv.need_sync_host());
  EXPECT_FALSE(dv.need_sync_device());
}

BOTH_DUAL_VIEWS(ClearForgetsTheFlags) {
  Dual dv("dv", 30, 2);
  dv.modify_device();
  dv.clear_sync_state();
  EXPECT_FALSE(dv.need_sync_host());
}

BOTH_DUAL_VIEWS(AKernelAddsToWhatTheHostWrote) {
  Dual dv("dv", 30, 2);
  dv.modify_host();
  dv.view_host()(3, 1) = 5;
  dv.sync_device();
  add_one_to_column(dv, 1);
  dv.modify_device();
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(3, 1), 6.0);
}

BOTH_DUAL_VIEWS(ModifyByMemorySpaceAsksForSyncOfTheMirror) {
  Dual dv("dv", 30, 2);
  dv.template modify<Space>();
  EXPECT_TRUE(dv.template need_sync<HostMirrorSpace>());
  dv.template sync<HostMirrorSpace>();
  EXPECT_FALSE(dv.template need_sync<HostMirrorSpace>());
}

BOTH_DUAL_VIEWS(ModifyByMirrorSpaceAsksForSyncOfTheDevice) {
  Dual dv("dv", 30, 2);
  dv.template modify<HostMirrorSpace>();
  EXPECT_TRUE(dv.template need_sync<Device>());
  dv.template sync<Device>();
  EXPECT_FALSE(dv.template need_sync<Device>());
}

BOTH_DUAL_VIEWS(SubviewsAreSynchronised) {
  Dual dv("dv", 30, 2);
  auto column = Kokkos::subview(dv, Kokkos::ALL(), 1);
  column.modify_host();
  column.view_host()(3) = 10;
  column.sync_device();
  add_one_to_column(dv, 1);
  dv.modify_device();
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(3, 1), 11.0);
  EXPECT_EQ(dv.view_host()(4, 1), 1.0);
}

BOTH_DUAL_VIEWS(ResizeKeepsTheContent) {
  Dual dv("dv", 30, 2);
  add_one_to_column(dv, 1);
  dv.modify_device();
  dv.resize(40, 2);
  EXPECT_EQ(dv.extent(0), 40u);
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(3, 1), 1.0);
  EXPECT_EQ(dv.view_host()(39, 1), 0.0);
}

BOTH_DUAL_VIEWS(ReallocForgetsTheContent) {
  Dual dv("dv", 30, 2);
  dv.modify_host();
  dv.view_host()(3, 1) = 5;
  dv.realloc(50, 2);
  EXPECT_EQ(dv.extent(0), 50u);
  EXPECT_EQ(dv.view_host()(3, 1), 0.0);
}

BOTH_DUAL_VIEWS(ReallocLeavesTwoSides) {
  Dual dv("dv", 30, 2);
  dv.realloc(50, 2);
  EXPECT_NE(static_cast<void*>(dv.view_host().data()), static_cast<void*>(dv.view_device().data()));
  EXPECT_EQ(dv.view_host().extent(0), dv.view_device().extent(0));
}

BOTH_DUAL_VIEWS(DeepCopyTakesTheSideWrittenLast) {
  Dual dv("dv", 50, 2), from(Kokkos::view_alloc(Kokkos::WithoutInitializing, "from"), 50, 2);
  from.modify_host();
  Kokkos::deep_copy(from.view_host(), 3.0);
  Kokkos::deep_copy(dv, from);
  dv.sync_host();
  EXPECT_EQ(dv.view_host()(49, 1), 3.0);
}

BOTH_DUAL_VIEWS(MayBeEmptyAndAssigned) {
  Dual dv("dv", 50, 2), empty;
  EXPECT_FALSE(empty.is_allocated());
  empty.sync_host();
  empty.modify_host();
  empty = dv;
  EXPECT_EQ(empty.view_device().data(), dv.view_device().data());
}

// --- Kokkos' DualView on our spaces: two arrays, a copy at each sync -------------------------------------------------

KOKKOS_STOCK_TEST(KokkosStockDualView, SyncDeviceIsOneCopy) {
  Stock dv("dv", 30, 2);
  dv.modify_host();
  dv.view_host()(3, 1) = 5;
  const Since since;
  dv.sync_device();
  EXPECT_EQ(since.copies(), 1u);
}

KOKKOS_STOCK_TEST(KokkosStockDualView, SyncHostIsOneCopy) {
  Stock dv("dv", 30, 2);
  add_one_to_column(dv, 1);
  dv.modify_device();
  const Since since;
  dv.sync_host();
  EXPECT_EQ(since.copies(), 1u);
}

KOKKOS_STOCK_TEST(KokkosStockDualView, SyncOfTheMirrorSpaceIsOneCopy) {
  Stock dv("dv", 30, 2);
  dv.modify<Space>();
  const Since since;
  dv.sync<HostMirrorSpace>();
  EXPECT_EQ(since.copies(), 1u);
}

KOKKOS_STOCK_TEST(KokkosStockDualView, SyncOfTheDeviceIsOneCopy) {
  Stock dv("dv", 30, 2);
  dv.modify<HostMirrorSpace>();
  const Since since;
  dv.sync<Device>();
  EXPECT_EQ(since.copies(), 1u);
}

// --- ours ------------------------------------------------------------------------------------------------------------

KOKKOS_STOCK_TEST(KokkosDualView, IsOneDatum) {
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

KOKKOS_STOCK_TEST(KokkosDualView, SyncMovesNothingAndNeverAborts) {
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

KOKKOS_STOCK_TEST(KokkosDualView, CopiesAndSubviewsShareTheDatum) {
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

KOKKOS_STOCK_TEST(KokkosDualView, MayBeCapturedWhole) {
  Ours dv("dv", 20, 8);
  dv.view_host()(1, 1) = 1;
  Kokkos::parallel_for("whole", Range(0, 20), KOKKOS_LAMBDA(int i) { dv.view_device()(i, 1) += 1; });
  EXPECT_EQ(dv.view_host()(1, 1), 2.0);
}

KOKKOS_STOCK_TEST(KokkosDualView, UsesNoMemoryBeforeItIsTouched) {
  const auto before = semcache::statistics();
  const Since since;
  Ours dv("dv", 4096, 16);
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(since.faults(), 0u);
  EXPECT_EQ(semcache::statistics().live_device_bytes - before.live_device_bytes, 4096u * 16 * 8);
}

KOKKOS_STOCK_TEST(KokkosDualView, FromItsTwoSides) {
  Ours dv("dv", 20, 8);
  Ours again(dv.view_device(), dv.view_host());
  again.view_host()(1, 1) = 3;
  auto d = again.view_device();
  Kokkos::parallel_for("add", Range(0, 1), KOKKOS_LAMBDA(int) { d(1, 1) += 1; });
  EXPECT_EQ(dv.view_host()(1, 1), 4.0);
  Ours other("other", 3, 8);
  EXPECT_THROW(Ours(dv.view_device(), other.view_host()), semcache::UsageError);
}

/// Where the source's host side is newer Kokkos copies that.
/// Newer versions of Kokkos keep an array whose extents stay as they were. (Their DualView then keeps what the host wrote, too.)
KOKKOS_STOCK_TEST(KokkosDualView, ReallocToTheSameExtentsForgetsTheContent) {
  Ours dv("dv", 30, 2);
  for (int round = 1; round <= 3; ++round) {
    dv.modify_host();
    dv.view_host()(3, 1) = 5;
    if (round % 2 == 0) dv.sync_device();
    dv.realloc(30, 2);
    EXPECT_EQ(dv.view_host()(3, 1), 0.0);
    const auto host = Kokkos::create_mirror(dv.view_device());
    Kokkos::deep_copy(host, dv.view_device());
    EXPECT_EQ(host(3, 1), 0.0);
    EXPECT_FALSE(dv.need_sync_host() || dv.need_sync_device());
  }
}

KOKKOS_STOCK_TEST(KokkosDualView, CopiedFromTwoArrays) {
  const Matrix d("d", 20, 8);
  Ours from(d, Kokkos::create_mirror_view(d)), to("to", 20, 8);
  from.view_host()(1, 1) = 3;
  from.modify_host();
  Kokkos::deep_copy(to, from);
  EXPECT_EQ(to.view_host()(1, 1), 3.0);
  semcache::DualView<const double**, Left, Device> read_only(to);
  read_only.sync<Device>();
  EXPECT_EQ(on_host(to.view_device())(1, 1), 3.0);
}

/// Kokkos' own way to give a device view a host side; the two stay two arrays.
KOKKOS_STOCK_TEST(KokkosDualView, OfTwoArraysNeedsModifyAndSync) {
  const Matrix d("d", 20, 8);
  Ours dv(d, Kokkos::create_mirror_view(d));
  dv.view_host()(1, 1) = 3;
  dv.modify_host();
  dv.sync_device();
  Ours shallow(dv);
  Kokkos::parallel_for("add", Range(0, 1), KOKKOS_LAMBDA(int) { d(1, 1) += 1; });
  shallow.modify_device();
  shallow.sync_host();
  EXPECT_EQ(dv.view_host()(1, 1), 4.0);

  dv.view_host()(2, 2) = 5;
  dv.modify_host();
  dv.resize(30, 8);
  EXPECT_EQ(dv.view_host()(2, 2), 5.0);
  dv.view_host()(2, 2) = 6;  // one array from now on
  const auto e = dv.view_device();
  Kokkos::parallel_for("add", Range(0, 1), KOKKOS_LAMBDA(int) { e(2, 2) += 1; });
  EXPECT_EQ(dv.view_host()(2, 2), 7.0);
}

KOKKOS_STOCK_TEST(KokkosDualView, OfTwoArraysIsReallocatedToTheSameExtents) {
  const Ours owner("owner", 20, 8);
  const Matrix alone("alone", 20, 8);
  for (const Matrix& d : {alone, Matrix(owner.view_device())}) {  // without a host side of its own, and with one
    Ours dv(d, Kokkos::create_mirror(d));
    dv.view_host()(1, 1) = 3;
    dv.modify_host();
    dv.realloc(20, 8);
    EXPECT_EQ(dv.view_host()(1, 1), 0.0);
    EXPECT_FALSE(dv.need_sync_host() || dv.need_sync_device());
  }
}

KOKKOS_STOCK_TEST(KokkosDualView, OutlivesEitherSide) {
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
