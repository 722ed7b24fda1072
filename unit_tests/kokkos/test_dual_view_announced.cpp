// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Without a tracker, modify and sync of a DualView mean what they mean in Kokkos. Run with SEMCACHE_TRACKER=explicit and
/// with SEMCACHE_PROTOCOL=off.
#include <semcache/kokkos.hpp>

#include <gtest/gtest.h>

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

}  // namespace
