// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Kokkos::DualView on semcache::Device: one array with two sides, or the two arrays of a caller.
#include "one_dual_view.hpp"

#include <semcache/tpetra.hpp>

#include <Tpetra_Details_DualViewUtil.hpp>
#include <Tpetra_Details_WrappedDualView.hpp>

#include <kokkos/support.hpp>

#include <utility>
#include <vector>

namespace {

using Device = semcache::Device;
using Dual = Kokkos::DualView<double*, Device>;
using ConstDual = Kokkos::DualView<const double*, Device>;
using Policy = Kokkos::RangePolicy<semcache::Exec>;
namespace Access = Tpetra::Access;

constexpr int n = 1000;

template <class View>
double on_device(const View& view, int i) {
  double value = 0;
  Kokkos::parallel_reduce("read", Policy(0, 1), KOKKOS_LAMBDA(int, double& sum) { sum += view(i); }, value);
  return value;
}
/// i + 1 at i.
void count_up(const Dual::t_dev& view) {
  Kokkos::parallel_for("count up", Policy(0, int(view.extent(0))), KOKKOS_LAMBDA(int i) { view(i) = i + 1; });
}
/// Of one array: what either side writes the other has, without a word.
void expect_coherent(const Dual& dual) {
  const auto device = dual.view_device();
  const auto host = dual.view_host();
  host(1) = 50;
  EXPECT_EQ(on_device(device, 1), 50);
  Kokkos::parallel_for("write", Policy(0, 1), KOKKOS_LAMBDA(int) { device(2) = 60; });
  EXPECT_EQ(host(2), 60);
  EXPECT_EQ(dual.d_view.use_count(), dual.h_view.use_count()) << "Tpetra would refuse a side";
  EXPECT_FALSE(dual.need_sync_host());
  EXPECT_FALSE(dual.need_sync_device());
}
Dual::t_host filled(double value) {
  Dual::t_host host("filled", n);
  for (int i = 0; i < n; ++i) host(i) = value;
  return host;
}

// --- two arrays ------------------------------------------------------------------------------------------------------

/// A host view that the caller keeps is an array of its own: Kokkos' rules, with its flags.
KOKKOS_TEST(DualViewOfTwoArrays, ObeysModifyAndSync) {
  const Dual::t_dev device("device", 10);
  const Dual::t_host host = Kokkos::create_mirror_view(device);
  Dual both(device, host);

  host(3) = 5;
  both.modify_host();
  EXPECT_TRUE(both.need_sync_device());
  both.sync_device();
  EXPECT_EQ(on_device(device, 3), 5);
  EXPECT_EQ(both.view_host().data(), host.data());

  Kokkos::parallel_for("change", Policy(0, 1), KOKKOS_LAMBDA(int) { device(3) = 6; });
  both.modify_device();
  EXPECT_EQ(host(3), 5);
  both.sync_host();
  EXPECT_EQ(host(3), 6);
}

TEST(DualViewOfTwoArrays, KeepsWhatAHostViewHeldThatWasMadeForIt) {
  const Dual::t_dev device("device", n);
  Dual both(device, filled(7));
  EXPECT_EQ(both.h_view(5), 7);
  both.modify_host();
  both.sync_device();
  EXPECT_EQ(on_device(device, 5), 7);
}

TEST(DualViewOfTwoArrays, KeepsWhatAMirrorHeldThatWasMovedIn) {
  const Dual::t_dev device("device", n);
  auto mirror = Kokkos::create_mirror_view(device);
  mirror(5) = 7;
  Dual both(device, std::move(mirror));
  EXPECT_EQ(both.h_view(5), 7);
  both.modify_host();
  both.sync_device();
  EXPECT_EQ(on_device(device, 5), 7);
}

TEST(DualViewOfTwoArrays, SubviewOfAKeptHostViewStaysTheCallers) {
  const Dual::t_dev device("device", n);
  const Dual::t_host host("host", n);
  Dual both(device, Kokkos::subview(host, Kokkos::ALL()));
  both.modify_device();
  both.sync_host();
  EXPECT_EQ(both.view_host().data(), host.data());
  host(5) = 8;
  both.modify_host();
  both.sync_device();
  EXPECT_EQ(on_device(device, 5), 8);
}

TEST(DualViewOfTwoArrays, ResizeKeepsTheNewerSide) {
  const Dual::t_dev device("device", 10);
  const auto mirror = Kokkos::create_mirror_view(device);
  Dual both(device, mirror);
  mirror(3) = 4;
  both.modify_host();
  both.resize(20);
  both.sync_host();
  EXPECT_EQ(both.h_view(3), 4);
  EXPECT_EQ(on_device(both.d_view, 3), 4);
}

// --- sides that are assigned -----------------------------------------------------------------------------------------

TEST(DualViewSides, AnotherHostViewMakesItTwoArrays) {
  Dual both("both", n);
  both.h_view(3) = 4;
  both.modify_host();
  both.sync_device();

  const Dual::t_host other = filled(8);
  both.h_view = other;
  both.modify_host();
  EXPECT_TRUE(both.need_sync_device());
  both.sync_device();
  EXPECT_EQ(on_device(both.view_device(), 3), 8);
  EXPECT_EQ(both.view_host().data(), other.data());
}

TEST(DualViewSides, TpetrasOwnWayToReplaceTheHostView) {
  Dual both("both", n);
  Tpetra::Details::makeDualViewFromOwningHostView(both, filled(8));
  EXPECT_EQ(on_device(both.view_device(), 3), 8);
  EXPECT_EQ(both.view_host()(3), 8);

  const std::vector<double> values(n, 3.);
  Tpetra::Details::makeDualViewFromVector(both, values, "values");
  EXPECT_EQ(on_device(both.view_device(), 999), 3);
}

TEST(DualViewSides, AnotherDeviceViewMakesItTwoArrays) {
  Dual both("both", n);
  const Dual::t_dev other("other", n);
  count_up(other);
  both.d_view = other;
  both.modify_device();
  EXPECT_TRUE(both.need_sync_host());
  both.sync_host();
  EXPECT_EQ(both.h_view(9), 10);
}

TEST(DualViewSides, SubviewsOfBothKeepItOneArray) {
  Dual both("both", n);
  both.d_view = Kokkos::subview(both.d_view, std::make_pair(100, 200));
  both.h_view = Kokkos::subview(both.h_view, std::make_pair(100, 200));
  expect_coherent(both);

  Dual anew;
  anew.d_view = both.d_view;
  anew.h_view = Kokkos::subview(both.h_view, Kokkos::ALL());
  expect_coherent(anew);
}

TEST(DualViewSides, OfTwoDifferentArraysAreTwoArrays) {
  Dual a("a", n), b("b", n);
  count_up(b.d_view);
  Dual mixed(a.view_device(), b.view_host());
  mixed.modify_host();
  EXPECT_TRUE(mixed.need_sync_device());
  mixed.sync_device();
  EXPECT_EQ(a.h_view(9), 10);
}

/// A device array may be freed before its host side, and another one get its address.
TEST(DualViewSides, AHostViewThatOutlivedItsArrayBelongsToNoOther) {
  for (int round = 0; round < 20; ++round) {
    Dual::t_host kept;
    {
      Dual gone("gone", n);
      kept = gone.view_host();
      kept(3) = 4;
    }
    Dual both("both", n);
    count_up(both.d_view);
    EXPECT_EQ(kept(3), 4);
    EXPECT_EQ(both.h_view(9), 10);
    expect_coherent(both);
    EXPECT_NE(both.h_view.data(), kept.data());
  }
}

// --- one array -------------------------------------------------------------------------------------------------------

TEST(DualViewOfOneArray, NeverNeedsSync) {
  Dual both("both", 4096);
  both.h_view(1) = 1;
  both.modify_host();
  EXPECT_FALSE(both.need_sync_device());
  const auto before = semcache::statistics().total;
  both.sync_device();
  EXPECT_EQ(semcache::statistics().total.h2d.bytes, before.h2d.bytes);

  const auto part = Kokkos::subview(both, Kokkos::pair<int, int>(0, 10));
  EXPECT_EQ(part.extent(0), 10u);
  EXPECT_EQ(part.h_view(1), 1);

  both.resize(8192);
  EXPECT_EQ(both.h_view.extent(0), 8192u);
  EXPECT_EQ(both.h_view(1), 1);
}

/// As Tpetra::MultiVector makes its own.
TEST(DualViewOfOneArray, OfADeviceViewAndItsMirrorThatIsMarkedAsOld) {
  const Dual::t_dev device("device", n);
  count_up(device);
  Dual both(device, Kokkos::create_mirror_view(device));
  both.modify_device();
  EXPECT_EQ(both.h_view(9), 10);
  expect_coherent(both);
}

TEST(DualViewOfOneArray, OfTheSidesOfAnother) {
  Dual first("first", n);
  expect_coherent(Dual(first.view_device(), first.view_host()));
  expect_coherent(Dual(Kokkos::subview(first.view_device(), std::make_pair(10, 20)),
                       Kokkos::subview(first.view_host(), std::make_pair(10, 20))));
}

/// Memory that the caller keeps: a part of the vector's own, say.
TEST(DualViewOfOneArray, OfAnUnmanagedDeviceView) {
  const Dual::t_dev device("device", n);
  count_up(device);
  const Dual::t_dev part(device.data() + 100, 10);
  const Dual dual(semcache::tpetra::one_array, part);
  EXPECT_EQ(dual.h_view(0), 101);
  expect_coherent(dual);
}

TEST(DualViewOfOneArray, WithMemoryTraitsAndNoLayout) {
  using Traits = Kokkos::MemoryTraits<Kokkos::RandomAccess>;
  Kokkos::DualView<double*, Device, Traits> both("both", n);
  both.h_view(3) = 4;
  EXPECT_EQ(on_device(both.view_device(), 3), 4);
  both.modify_host();
  EXPECT_FALSE(both.need_sync_device());

  Kokkos::DualView<double**, Kokkos::LayoutLeft, Device, Traits> matrix("matrix", n, 2);
  matrix.h_view(3, 1) = 4;
  EXPECT_EQ(on_device(Kokkos::subview(matrix.view_device(), Kokkos::ALL(), 1), 3), 4);
}

/// Other files of the program include <semcache/kokkos.hpp> alone.
TEST(DualViewOfOneArray, IsTheSameClassInFilesThatDoNotNameTpetra) {
  EXPECT_EQ(one_dual_view::size(), sizeof(Dual));
  Dual both = one_dual_view::make(n);
  EXPECT_EQ(both.h_view(3), 4);
  EXPECT_EQ(on_device(both.view_device(), 3), 4);
  EXPECT_FALSE(both.need_sync_device());
}

// --- Tpetra's wrapper ------------------------------------------------------------------------------------------------

using Wrapped = Tpetra::Details::WrappedDualView<Dual>;
using ConstWrapped = Tpetra::Details::WrappedDualView<ConstDual>;

TEST(WrappedDualView, OfADeviceViewHasItsContentOnTheHost) {
  const Dual::t_dev device("device", n);
  count_up(device);
  Wrapped first(device);
  Wrapped second(device);
  EXPECT_EQ(first.getHostView(Access::ReadOnly)(9), 10);
  second.getHostView(Access::ReadWrite)(9) = 77;
  EXPECT_EQ(first.getHostView(Access::ReadOnly)(9), 77);
  EXPECT_EQ(on_device(device, 9), 77);
}

KOKKOS_TEST(WrappedDualView, OfAPartOfADeviceViewSharesIt) {
  const Dual::t_dev device("device", n);
  count_up(device);
  const Dual::t_dev part = Kokkos::subview(device, std::make_pair(100, 200));
  Wrapped wrapped(part);
  const auto host = wrapped.getHostView(Access::ReadWrite);
  ASSERT_EQ(host.extent(0), 100u);
  EXPECT_EQ(host(0), 101);
  host(0) = 5;
  EXPECT_EQ(on_device(device, 100), 5);
  EXPECT_EQ(on_device(device, 99), 100);
  Kokkos::parallel_for("write", Policy(0, 1), KOKKOS_LAMBDA(int) { part(99) = 6; });
  EXPECT_EQ(host(99), 6);
}

TEST(WrappedDualView, OfConstDataOfAViewThatHasAHostSide) {
  Dual dual("dual", n);
  count_up(dual.view_device());
  const ConstWrapped wrapped(ConstDual::t_dev(dual.view_device()));
  EXPECT_EQ(wrapped.getHostView(Access::ReadOnly)(9), 10);
  EXPECT_EQ(on_device(wrapped.getDeviceView(Access::ReadOnly), 9), 10);
}

/// semcache::DualView has made the host side: it stays that one's.
TEST(WrappedDualView, OfConstDataOfAViewThatHasAHostSideElsewhere) {
  semcache::DualView<double*, Device> dual("dual", n);
  count_up(dual.view_device());
  const ConstWrapped constant(ConstDual::t_dev(dual.view_device()));
  EXPECT_EQ(constant.getHostView(Access::ReadOnly)(9), 10);
  Wrapped wrapped(dual.view_device());
  EXPECT_EQ(wrapped.getHostView(Access::ReadOnly)(9), 10);
  wrapped.getHostView(Access::ReadWrite)(9) = 77;
  wrapped.getDeviceView(Access::ReadOnly);
  EXPECT_EQ(dual.view_host()(9), 77);
}

// --- with its flags, also where nobody notices host accesses (SEMCACHE_PROTOCOL=off) -----------------------------

void sync_host(Dual& dual) {
  if (dual.need_sync_host()) dual.sync_host();
}

TEST(DualViewFlags, ResizeKeepsWhatTheHostWrote) {
  Dual dual("dual", 10);
  dual.h_view(3) = 4;
  dual.modify_host();
  dual.resize(20);
  sync_host(dual);
  EXPECT_EQ(dual.h_view(3), 4);
}

TEST(DualViewFlags, ResizeKeepsWhatTheDeviceWrote) {
  Dual dual("dual", 10);
  count_up(dual.view_device());
  dual.modify_device();
  dual.resize(20);
  sync_host(dual);
  EXPECT_EQ(dual.h_view(3), 4);
}

TEST(DualViewFlags, AWrappedDeviceViewIsReadOnTheHost) {
  const Dual::t_dev device("device", n);
  count_up(device);
  EXPECT_EQ(Wrapped(device).getHostView(Access::ReadOnly)(9), 10);
  EXPECT_EQ(ConstWrapped(ConstDual::t_dev(device)).getHostView(Access::ReadOnly)(9), 10);
}

TEST(DualViewFlags, TwoWrappersOfOneDeviceView) {
  const Dual::t_dev device("device", n);
  count_up(device);
  Wrapped first(device);
  first.getHostView(Access::ReadWrite)(9) = 77;
  first.getDeviceView(Access::ReadOnly);
  Wrapped second(device);
  EXPECT_EQ(second.getHostView(Access::ReadOnly)(9), 77);
}

/// The elements of a row are not neighbours, and Kokkos' span of a row ends behind the array.
TEST(DualViewFlags, ARowWrittenOnTheHost) {
  using Matrix = Kokkos::DualView<double**, Kokkos::LayoutLeft, Device>;
  const Matrix matrix("matrix", 4, 3);
  Kokkos::DualView<double*, Kokkos::LayoutStride, Device> row(matrix, 3, Kokkos::ALL());
  for (int j = 0; j < 3; ++j) row.h_view(j) = j + 1;
  row.modify_host();
  if (row.need_sync_device()) row.sync_device();
  const auto device = row.view_device();
  for (int j = 0; j < 3; ++j) EXPECT_EQ(on_device(device, j), j + 1);
}

/// After sync the host may write its next content, and say so later.
TEST(DualViewFlags, SyncTakesWhatTheHostHoldsThen) {
  Dual dual("dual", n);
  dual.h_view(3) = 4;
  dual.modify_host();
  if (!dual.need_sync_device()) GTEST_SKIP() << "whatever the host writes is noticed";
  dual.sync_device();
  dual.h_view(3) = 5;
  EXPECT_EQ(on_device(dual.view_device(), 3), 4);
  dual.modify_host();
  dual.sync_device();
  EXPECT_EQ(on_device(dual.view_device(), 3), 5);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
