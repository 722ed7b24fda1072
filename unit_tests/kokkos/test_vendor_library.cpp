// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>
#include <kokkos/vendor_library.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// What is promised to programs that call vendors' libraries on our arrays: announced calls are right; on mirrors,
// unannounced ones are right or end with the array's label. (On device arrays: test_unannounced.cpp.)
namespace kokkos_vendor_library {
using namespace test;

using semcache::Access;
using Mirror = semcache::kokkos::host_mirror_t<Vector>;
constexpr int n = 100003;
constexpr std::uint64_t all_bytes = n * sizeof(double);
constexpr double sum_of_indices = n * (n - 1.0) / 2;

/// A device array and its mirror; the mirror holds first + i, the device the same as a copy that is still pending.
struct Pending {
  Pending(const std::string& label, double first, int count = n) : device(label, count) {
    for (int i = 0; i < count; ++i) mirror(i) = first + i;
    Kokkos::deep_copy(device, mirror);
  }
  Vector device;
  Mirror mirror = Kokkos::create_mirror_view(device);
};

/// A routine of the host's.
void host_axpy(int count, double alpha, const double* x, double* y) {
  for (int i = 0; i < count; ++i) y[i] += alpha * x[i];
}

#ifdef KOKKOS_ENABLE_CUDA
// --- how programs end where the driver's calls tell nobody -----------------------------------------------------------
void without_device_tracker() {
  semcache::finalize();
  ::setenv("SEMCACHE_DEVICE_TRACKER", "off", 1);
}

void set_vector_from_a_stale_mirror() {
  without_device_tracker();
  const VendorLibrary vendor;
  Pending x("stale", 0), y("y", 0);
  semcache::access(x.device, Access::read);
  iota(x.device, 5);
  Kokkos::deep_copy(x.mirror, x.device);
  semcache::access(y.device, Access::overwrite);
  vendor.set_vector(n, x.mirror.data(), y.device.data());
}

void get_vector_into_a_shared_mirror() {  // the device's copy would be taken for the mirror's content
  without_device_tracker();
  const VendorLibrary vendor;
  Pending x("shared", 0), y("y", 0);
  semcache::access(x.device, Access::read);
  semcache::access(y.device, Access::read);
  vendor.get_vector(n, y.device.data(), x.mirror.data());
}

constexpr int refused_by_cuda = 3;
void give_a_mirror_to_the_gpu() {
  without_device_tracker();
  const VendorLibrary vendor;
  Pending x("x", 1), y("y", 2);
  semcache::access(x.device, Access::read);
  semcache::access(y.device, Access::read_write);
  vendor.axpy(n, 2, x.mirror.data(), y.device.data());
  const cudaError_t error = vendor.wait();
  std::fprintf(stderr, "the call ended with: %s\n", cudaGetErrorString(error));
  _exit(error == cudaSuccess ? 0 : refused_by_cuda);
}
#endif

}  // namespace kokkos_vendor_library
using namespace kokkos_vendor_library;

#define VENDOR_OR_SKIP(LIBRARY) \
  const VendorLibrary LIBRARY;  \
  if (!(LIBRARY).missing().empty()) GTEST_SKIP() << (LIBRARY).missing()

KOKKOS_TEST(KokkosVendorLibrary, AnAnnouncedCallSeesTheHostsContentAndIsSeen) {
  VENDOR_OR_SKIP(vendor);
  Pending x("x", 1), y("y", 2);
  for (int round = 1; round <= 3; ++round) {
    semcache::access(x.device, Access::read);
    semcache::access(y.device, Access::read_write);
    vendor.axpy(n, 2, x.device.data(), y.device.data());
    ASSERT_EQ(vendor.wait(), 0);

    EXPECT_EQ(sum(y.device), (2.0 + 2 * round) * n + (1 + 2 * round) * sum_of_indices);
    Kokkos::deep_copy(y.mirror, y.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(y.mirror(i), 2.0 + i + 2.0 * round * (1 + i)) << round;
  }
}

KOKKOS_TEST(KokkosVendorLibrary, WhatIsAnnouncedAsReadStaysValidOnBothSides) {
  VENDOR_OR_SKIP(vendor);
  Pending x("x", 1), y("y", 2);
  const Since since;
  for (int round = 0; round < 3; ++round) {
    semcache::access(x.device, Access::read);
    semcache::access(y.device, Access::read_write);
    vendor.axpy(n, 2, x.device.data(), y.device.data());
    ASSERT_EQ(vendor.wait(), 0);
    Kokkos::deep_copy(x.mirror, x.device);
    ASSERT_EQ(x.mirror(n - 1), n);
  }
  EXPECT_EQ(since.h2d(), 2 * all_bytes) << "either array once";
  EXPECT_EQ(since.d2h(), 0u);
}

KOKKOS_TEST(KokkosVendorLibrary, WhatACallOverwritesIsNotFetched) {
  VENDOR_OR_SKIP(vendor);
  constexpr int size = 64;
  Pending a("a", 0, size * size), b("b", 1, size * size), c("c", 2, size * size);
  const Since since;
  semcache::access(a.device, Access::read);
  semcache::access(b.device, Access::read);
  semcache::access(c.device, Access::overwrite);
  vendor.multiply(size, a.device.data(), b.device.data(), c.device.data());
  ASSERT_EQ(vendor.wait(), 0);

  EXPECT_EQ(since.h2d(), 2 * size * size * sizeof(double));
  Kokkos::deep_copy(c.mirror, c.device);
  for (const int i : {0, 7, size - 1}) {
    for (const int j : {0, 9, size - 1}) {
      double expected = 0;
      for (int k = 0; k < size; ++k) expected += a.mirror(i + k * size) * b.mirror(k + j * size);
      EXPECT_EQ(c.mirror(i + j * size), expected) << i << " " << j;  // whole numbers below 2^53: exact in any order
    }
  }
}

KOKKOS_TEST(KokkosVendorLibrary, ACallOnASubviewChangesThatPartOnly) {
  VENDOR_OR_SKIP(vendor);
  Pending x("x", 1), y("y", 2);
  constexpr int first = 1001, last = 30003;
  const auto part = std::make_pair(first, last);
  const auto x_part = Kokkos::subview(x.device, part);
  const auto y_part = Kokkos::subview(y.device, part);

  semcache::access(x_part, Access::read);
  semcache::access(y_part, Access::read_write);
  vendor.axpy(last - first, -1, x_part.data(), y_part.data());
  ASSERT_EQ(vendor.wait(), 0);

  Kokkos::deep_copy(y.mirror, y.device);
  for (int i = 0; i < n; ++i) ASSERT_EQ(y.mirror(i), i >= first && i < last ? 1.0 : 2.0 + i) << i;
}

KOKKOS_TEST(KokkosVendorLibrary, AHostRoutineOnMirrorsNeedsNoAnnouncement) {
  Pending x("x", 0), y("y", 0);
  iota(x.device, 1);
  Kokkos::deep_copy(x.mirror, x.device);  // pages without access
  semcache::access(y.device, Access::read);  // pages that may be read

  host_axpy(n, 2, x.mirror.data(), y.mirror.data());

  EXPECT_EQ(sum(y.device), sum_of_indices) << "the device's array is another one";
  Kokkos::deep_copy(y.device, y.mirror);
  EXPECT_EQ(sum(y.device), 2.0 * n + 3 * sum_of_indices);
}

#ifdef KOKKOS_ENABLE_CUDA
KOKKOS_TEST(KokkosVendorLibrary, AnAnnouncedCallThatStillRunsIsWaitedFor) {
  VENDOR_OR_SKIP(vendor);
  constexpr int large = 1 << 23, calls = 200;
  Vector x("x", large), y("y", large);
  Mirror mirror = Kokkos::create_mirror_view(y);
  iota(x, 1, 0);
  iota(y, 0, 0);
  Kokkos::fence();  // access orders transfers; kernels are the program's

  semcache::access(x, Access::read);
  semcache::access(y, Access::read_write);
  for (int i = 0; i < calls; ++i) vendor.axpy(large, 1, x.data(), y.data());
  Kokkos::deep_copy(Exec(), mirror, y);  // an instance that knows nothing of the library's stream

  EXPECT_EQ(mirror(large - 1), calls);
  EXPECT_EQ(mirror(0), calls);
}

KOKKOS_TEST(KokkosVendorLibrary, AnnouncedTransfersOfMirrorsAreRight) {
  VENDOR_OR_SKIP(vendor);
  Pending x("x", 0), y("y", 0);
  iota(x.device, 5);
  Kokkos::deep_copy(x.mirror, x.device);

  semcache::access(x.mirror, Access::read);
  semcache::access(y.device, Access::overwrite);
  vendor.set_vector(n, x.mirror.data(), y.device.data());
  EXPECT_EQ(sum(y.device), 5.0 * n + sum_of_indices);

  semcache::access(y.device, Access::read);
  semcache::access(x.mirror, Access::overwrite);
  vendor.axpy(n, 1, x.device.data(), y.device.data());
  ASSERT_EQ(vendor.wait(), 0);
  vendor.get_vector(n, y.device.data(), x.mirror.data());
  EXPECT_EQ(x.mirror(n - 1), 2 * (5.0 + n - 1));
}

KOKKOS_TEST(KokkosVendorLibrary, AnUnannouncedTransferFromAFreshMirrorIsRight) {
  VENDOR_OR_SKIP(vendor);
  Pending x("x", 5), y("y", 0);
  semcache::access(x.device, Access::read);  // page-locked from now on
  semcache::access(y.device, Access::overwrite);
  vendor.set_vector(n, x.mirror.data(), y.device.data());
  EXPECT_EQ(sum(y.device), 5.0 * n + sum_of_indices);
}

KOKKOS_TEST(KokkosVendorLibrary, AnUnannouncedTransferFromAStaleMirrorEndsWithItsLabel) {
  if (const VendorLibrary vendor; !vendor.missing().empty()) GTEST_SKIP() << vendor.missing();
  EXPECT_DEATH(set_vector_from_a_stale_mirror(), "'stale_mirror'");
}

KOKKOS_TEST(KokkosVendorLibrary, AnUnannouncedTransferIntoASharedMirrorEndsWithItsLabel) {
  if (const VendorLibrary vendor; !vendor.missing().empty()) GTEST_SKIP() << vendor.missing();
  EXPECT_DEATH(get_vector_into_a_shared_mirror(), "'shared_mirror'");
}

KOKKOS_TEST(KokkosVendorLibrary, AMirrorTakenForADeviceArrayIsCudasError) {
  if (const VendorLibrary vendor; !vendor.missing().empty()) GTEST_SKIP() << vendor.missing();
  int reaches_pageable_memory = 0;
  cudaDeviceGetAttribute(&reaches_pageable_memory, cudaDevAttrPageableMemoryAccess, Exec().cuda_device());
  if (reaches_pageable_memory != 0) GTEST_SKIP() << "this GPU reaches all memory of the host";
  EXPECT_EXIT(give_a_mirror_to_the_gpu(), testing::ExitedWithCode(refused_by_cuda), "illegal memory access");
}
#endif
