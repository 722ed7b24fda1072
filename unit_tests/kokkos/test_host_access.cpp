// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#define SEMCACHE_KOKKOS_CHECK_HOST_ACCESS  // a program of its own: all its translation units agree
#include <kokkos/support.hpp>

namespace kokkos_host_access {
using namespace test;
}  // namespace kokkos_host_access
using namespace kokkos_host_access;

KOKKOS_TEST(KokkosHostAccess, ToADeviceViewAborts) {
  Vector a("a", 3);
  EXPECT_DEATH(a(0) = 1, "attempt to access inaccessible memory space");
}

KOKKOS_TEST(KokkosHostAccess, ToAnUnmanagedDeviceViewAborts) {
  Vector a("a", 3);
  Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged> u = a;
  EXPECT_DEATH(u(0) = 1, "attempt to access inaccessible memory space");
}

KOKKOS_TEST(KokkosHostAccess, OfKernelsAndMirrorsIsFine) {
  Vector a("a", 3);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(h, a);
  EXPECT_EQ(h(2), 2.0);
}
