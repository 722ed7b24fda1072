// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "kokkos_rules.hpp"

#include <kokkos/support.hpp>

// DualViews whose host side only libraries use.
namespace kokkos_announced {
using namespace test;

using Dual = semcache::DualView<double*, Device>;
using semcache::Access;
constexpr int n = 3000;

/// What a library does with a buffer: nobody notices.
double library_sum(const double* p) {
  double total = 0;
  for (int i = 0; i < n; ++i) total += p[i];
  return total;
}
void library_fill(double* p, double x) {
  for (int i = 0; i < n; ++i) p[i] = x + i;
}
constexpr double sum_of_indices = n * (n - 1.0) / 2;

}  // namespace kokkos_announced
using namespace kokkos_announced;

KOKKOS_TEST(KokkosAnnounced, ExchangesAreRightAndMoveEachBufferOnce) {
  Dual sent(semcache::announced, "sent", n), received(semcache::announced, "received", n);
  EXPECT_FALSE(semcache::runtime::notices_host_accesses(sent.view_host().data()));
  const Since since;
  for (int round = 1; round <= 20; ++round) {
    iota(sent.view_device(), round);
    semcache::access(sent.view_host(), Access::read);
    ASSERT_EQ(library_sum(sent.view_host().data()), n * double(round) + sum_of_indices);
    semcache::access(received.view_host(), Access::overwrite);
    library_fill(received.view_host().data(), -round);
    ASSERT_EQ(sum(received.view_device()), -n * double(round) + sum_of_indices);
  }
  EXPECT_EQ(since.faults(), 0u);
  EXPECT_EQ(since.h2d(), 20 * n * sizeof(double));
  // A reduction's result counts where Kokkos copies it over the link.
  EXPECT_LE(since.d2h(), 20 * (n + 1) * sizeof(double));
  EXPECT_GE(since.d2h(), 20 * n * sizeof(double));
}

KOKKOS_TEST(KokkosAnnounced, ModifyAndSyncAreAnnouncements) {
  Dual d(semcache::announced, "d", n);
  d.sync_host();
  library_fill(d.view_host().data(), 5);
  d.modify_host();
  EXPECT_EQ(sum(d.view_device()), n * 5.0 + sum_of_indices);
  iota(d.view_device(), 9);
  d.modify_device();
  d.sync_host();
  EXPECT_EQ(library_sum(d.view_host().data()), n * 9.0 + sum_of_indices);
}

KOKKOS_TEST(KokkosAnnounced, ObeyKokkosRules) {
  kokkos_rules::expect_kokkos_rules([](const char* label, int size) { return Dual(semcache::announced, label, size); });
}

KOKKOS_TEST(KokkosAnnounced, ThePromiseOutlivesResizeAndReachesSubviews) {
  Dual d(semcache::announced, "d", n / 2);
  iota(d.view_device(), 3);
  d.resize(n);
  EXPECT_FALSE(semcache::runtime::notices_host_accesses(d.view_host().data()));
  semcache::access(d.view_host(), Access::read);
  EXPECT_EQ(d.view_host()(n / 2 - 1), 3 + n / 2 - 1.0);
  EXPECT_EQ(d.view_host()(n - 1), 0.0);
  d.realloc(2 * n);
  EXPECT_FALSE(semcache::runtime::notices_host_accesses(d.view_host().data()));
  const Dual copy = d;
  iota(copy.view_device(), 1);
  Dual part(copy, std::pair<int, int>(10, 20));
  part.sync_host();
  EXPECT_EQ(part.view_host()(0), 11.0);
}

KOKKOS_TEST(KokkosAnnounced, OtherViewsAreStillWatched) {
  Dual promised(semcache::announced, "promised", n), watched("watched", n);
  EXPECT_TRUE(semcache::runtime::notices_host_accesses(watched.view_host().data()));
  iota(watched.view_device(), 4);
  iota(promised.view_device(), 4);
  Kokkos::deep_copy(watched.view_host(), promised.view_device());
  EXPECT_EQ(library_sum(watched.view_host().data()), n * 4.0 + sum_of_indices);
}
