// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>
#include <kokkos/vendor_library.hpp>

#include <cstdio>
#include <cstdlib>

// Under SEMCACHE_CHECK=1: what nobody noticed ends the program with the array's label, and what is right goes on.
namespace kokkos_check {
using namespace test;

constexpr int n = 4096;
using NativeRange = Kokkos::RangePolicy<semcache::kokkos::NativeExec>;

void add_native(const Vector& v) {
  Kokkos::parallel_for("native", NativeRange(0, n), KOKKOS_LAMBDA(int i) { v(i) += 1; });
}
/// A kernel that leads to the array by a pointer that the runtime does not see.
void write_unnoticed(double* data, int count) {
  Kokkos::parallel_for("unnoticed", NativeRange(0, count), KOKKOS_LAMBDA(int i) { data[i] = -1; });
  Kokkos::fence();
}

/// On a GPU the driver's calls tell of such uses, unless nobody listens.
void without_device_tracker() {
  semcache::finalize();
  ::setenv("SEMCACHE_DEVICE_TRACKER", "off", 1);
}

void call_library_unannounced() {
  without_device_tracker();
  const VendorLibrary vendor;
  Vector x("x", n), y("changed by a library", n);
  auto h = Kokkos::create_mirror_view(y);
  iota(x);
  iota(y);
  Kokkos::deep_copy(h, y);
  semcache::access(h, semcache::Access::read);
  semcache::access(x, semcache::Access::read);
  vendor.axpy(n, 2, x.data(), y.data());
  if (vendor.wait() != 0) std::puts("the library failed");
  Kokkos::deep_copy(h, y);  // redundant, as far as anybody knows
}

#ifndef KOKKOS_ENABLE_CUDA
Vector* in_a_global = nullptr;
/// A kernel that captures one array and uses another, which lies in a global variable.
void use_a_global(const Vector& captured) {
  Kokkos::parallel_for("uses a global", Range(0, n), KOKKOS_LAMBDA(int i) { captured(i) = (*in_a_global)(i); });
}
#endif

}  // namespace kokkos_check
using namespace kokkos_check;

KOKKOS_TEST(KokkosCheck, APartlyWrittenArrayIsNoMisuse) {
  {
    Vector before("before", n);  // leaves its bytes where the next array lies
    iota(before, 7);
    Kokkos::fence();
  }
  Vector a(Kokkos::view_alloc("a", Kokkos::WithoutInitializing), n);
  auto h = Kokkos::create_mirror_view(a);
  h(0) = 1;
  for (int copies = 0; copies < 3; ++copies) {
    Kokkos::deep_copy(a, h);
    semcache::access(a, semcache::Access::read);
  }
  auto back = Kokkos::create_mirror(a);
  Kokkos::deep_copy(back, a);
  EXPECT_EQ(back(0), 1.0);
}

KOKKOS_TEST(KokkosCheck, AnUnnoticedChangeEndsWithItsLabel) {
  EXPECT_DEATH(
      {
        without_device_tracker();
        Vector a("changed behind our back", n);
        auto h = Kokkos::create_mirror_view(a);
        iota(a);
        Kokkos::deep_copy(h, a);
        semcache::access(h, semcache::Access::read);
        write_unnoticed(a.data(), n);
        Kokkos::deep_copy(h, a);  // redundant, as far as anybody knows
      },
      "'changed behind our back");
}

KOKKOS_TEST(KokkosCheck, AnUnannouncedLibraryCallEndsWithItsLabel) {
  if (const VendorLibrary vendor; !vendor.missing().empty()) GTEST_SKIP() << vendor.missing();
  EXPECT_DEATH(call_library_unannounced(), "'changed by a library'");
}

#ifndef KOKKOS_ENABLE_CUDA  // a GPU's kernel cannot use a global of the host
/// The arrays are small enough to lie in one granule of the device's memory.
KOKKOS_TEST(KokkosCheck, AKernelThatUsesAnArrayWithoutCapturingItEndsWithItsLabel) {
  Vector x("x", n), global("used by a global", n);
  iota(x);
  iota(global);
  in_a_global = &global;
  EXPECT_DEATH(use_a_global(x), "'used by a global' .* is used outside a kernel that captured it");
  EXPECT_EQ(sum(x), n * (n - 1.0) / 2);
  in_a_global = nullptr;
}
#endif

KOKKOS_TEST(KokkosCheck, NativeLaunchesAndAnnouncedUsesFindTheirMemoryOpen) {
  Vector a("a", n), b("b", n);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < n; ++i) h(i) = i;
  Kokkos::deep_copy(a, h);
  add_native(a);
  Kokkos::fence();
  iota(b);
  semcache::access(a, semcache::Access::read_write);
  write_unnoticed(a.data(), 10);
  Kokkos::deep_copy(h, a);
  EXPECT_EQ(h(9), -1.0);
  EXPECT_EQ(h(n - 1), n);
  EXPECT_EQ(sum(b), n * (n - 1.0) / 2);
}
