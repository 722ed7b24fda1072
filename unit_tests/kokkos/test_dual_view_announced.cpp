// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Without a tracker, modify and sync of a DualView mean what they mean in Kokkos. Run with SEMCACHE_TRACKER=explicit and
/// with SEMCACHE_PROTOCOL=off.
#include "kokkos_rules.hpp"

namespace {

using Dual = semcache::DualView<double*, semcache::Device>;

struct AddOne {
  Dual::t_dev v;
  KOKKOS_FUNCTION void operator()(int i) const { v(i) += 1.0; }
};

TEST(DualViewWithoutTracker, ModifyAndSyncMoveTheData) {
  constexpr int n = 10000;
  Dual d("d", n);
  ASSERT_FALSE(semcache::runtime::notices_host_accesses(d.view_host().data()));

  for (int i = 0; i < n; ++i) d.view_host()(i) = i;
  d.modify_host();
  d.sync_device();
  Kokkos::parallel_for(Kokkos::RangePolicy<semcache::Exec>(0, n), AddOne{d.view_device()});
  d.modify_device();
  d.sync_host();

  for (int i = 0; i < n; ++i) ASSERT_EQ(d.view_host()(i), i + 1.0);
  d.view_host()(7) = -1;
  d.modify_host();
  Kokkos::parallel_for(Kokkos::RangePolicy<semcache::Exec>(0, n), AddOne{d.view_device()});
  d.modify_device();
  d.sync_host();
  EXPECT_EQ(d.view_host()(7), 0.0);
  EXPECT_EQ(d.view_host()(8), 10.0);
}

TEST(DualViewWithoutTracker, ObeysKokkosRules) {
  kokkos_rules::expect_kokkos_rules([](const char* label, int n) { return Dual(label, n); });
}

TEST(DualViewWithoutTracker, OfTwoArraysObeysKokkosRules) {
  kokkos_rules::expect_kokkos_rules([](const char* label, int n) {
    const Dual::t_dev device(std::string(label), n);
    return Dual(device, Kokkos::create_mirror(device));
  });
}

TEST(DualViewWithoutTracker, SubviewsMayHaveGaps) {
  const semcache::DualView<double**, Kokkos::LayoutLeft, semcache::Device> matrix("matrix", 8, 100);
  auto row = Kokkos::subview(matrix, 3, Kokkos::ALL());
  for (int i = 0; i < 100; ++i) row.view_host()(i) = i;
  row.modify_host();
  row.sync_device();
  const Kokkos::View<const double*, Kokkos::LayoutLeft, semcache::Device, Kokkos::MemoryUnmanaged> all(
      matrix.view_device().data(), matrix.span());
  EXPECT_EQ(kokkos_rules::device_sum(all), 4950);
}

}  // namespace
