// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

namespace kokkos_deep_copy {
using namespace test;

template <class Mirror>
void fill_columns(const Mirror& h) {
  for (std::size_t j = 0; j < h.extent(1); ++j)
    for (std::size_t i = 0; i < h.extent(0); ++i) h(i, j) = 100.0 * j + i;
}

struct Triple {
  double x, y, z;
};

}  // namespace kokkos_deep_copy
using namespace kokkos_deep_copy;

KOKKOS_STOCK_TEST(KokkosDeepCopy, FromAMirrorGoesToTheDevice) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 1000; ++i) h(i) = i;
  const Since since;
  Kokkos::deep_copy(a, h);
  semcache::access(a, semcache::Access::read);
  EXPECT_EQ(since.h2d(), 8000u);
  EXPECT_EQ(since.d2h(), 0u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, FromAMirrorIsOneCopy) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 1000; ++i) h(i) = i;
  const Since since;
  Kokkos::deep_copy(a, h);
  EXPECT_EQ(since.copies(), 1u);
  EXPECT_EQ(since.link(), 0u) << "nobody has asked for the content yet";
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, AKernelSeesWhatTheMirrorHeld) {
  const int n = 1000;
  Vector a("a", n);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < n; ++i) h(i) = i;
  Kokkos::deep_copy(a, h);
  EXPECT_EQ(sum(a), n * (n - 1) / 2.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, IntoAMirrorIsOneCopyToTheHost) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  iota(a);
  const Since since;
  Kokkos::deep_copy(h, a);
  semcache::access(h, semcache::Access::read);
  EXPECT_EQ(since.copies(), 1u);
  EXPECT_EQ(since.d2h(), 8000u);
  EXPECT_EQ(since.h2d(), 0u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, TheMirrorSeesWhatAKernelWrote) {
  const int n = 1000;
  Vector a("a", n);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < n; ++i) h(i) = i;
  Kokkos::deep_copy(a, h);
  Kokkos::parallel_for("scale", Range(0, n), KOKKOS_LAMBDA(int i) { a(i) *= 2; });
  Kokkos::deep_copy(h, a);
  for (int i = 0; i < n; ++i) ASSERT_EQ(h(i), 2.0 * i);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, OfAMatrixIsOneCopy) {
  Matrix b("b", 20, 8);
  auto hb = Kokkos::create_mirror_view(b);
  fill_columns(hb);
  const Since since;
  Kokkos::deep_copy(b, hb);
  EXPECT_EQ(since.copies(), 1u);
  EXPECT_EQ(on_host(b)(19, 7), 719.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, TakesTheContentOfTheCall) {  // I7
  Vector a("a", 100);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 100; ++i) h(i) = 1;
  Kokkos::deep_copy(a, h);
  for (int i = 0; i < 100; ++i) h(i) = 2;
  EXPECT_EQ(sum(a), 100.0);
  Kokkos::deep_copy(h, a);
  Kokkos::deep_copy(a, 5.0);
  EXPECT_EQ(h(42), 1.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, HostSpaceBothWays) {
  Kokkos::View<double**, Left, Kokkos::HostSpace> plain("plain", 20, 8), back("back", 20, 8);
  fill_columns(plain);
  Matrix a("a", 20, 8);
  Kokkos::deep_copy(a, plain);
  plain(1, 0) = -1;
  Kokkos::deep_copy(back, a);
  EXPECT_EQ(back(1, 0), 1.0);
  EXPECT_EQ(back(19, 7), 719.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, HostSpaceBothWaysIsOneTransferEach) {
  Matrix a("a", 20, 8);
  Kokkos::View<double**, Left, Kokkos::HostSpace> plain("plain", 20, 8);
  Kokkos::parallel_for("set", Range(0, 20), KOKKOS_LAMBDA(int i) { a(i, 1) = i; });
  const Since since;
  Kokkos::deep_copy(plain, a);
  EXPECT_EQ(since.d2h_count(), 1u);
  EXPECT_EQ(since.d2h(), 20u * 8 * 8);
  Kokkos::deep_copy(a, plain);
  EXPECT_EQ(since.h2d_count(), 1u);
  EXPECT_EQ(since.h2d(), 20u * 8 * 8);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, BetweenMirrorAndHostSpace) {
  Kokkos::View<double*, Left, HostMirrorSpace> mirror("mirror", 10), other("other", 10);
  Kokkos::View<double*, Left, Kokkos::HostSpace> plain("plain", 10);
  for (int i = 0; i < 10; ++i) plain(i) = i;
  Kokkos::deep_copy(mirror, plain);
  Kokkos::deep_copy(other, mirror);
  Kokkos::deep_copy(plain, 0.0);
  Kokkos::deep_copy(plain, other);
  EXPECT_EQ(plain(9), 9.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, DeviceToDevice) {
  Vector a("a", 100), b("b", 100);
  iota(a);
  const Since since;
  Kokkos::deep_copy(b, a);
  Kokkos::deep_copy(a, 0.0);
  EXPECT_EQ(sum(b), 4950.0);
  EXPECT_EQ(since.h2d(), 0u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, DeviceToDeviceIsOneCopy) {
  Matrix a("a", 20, 8), b("b", 20, 8);
  Kokkos::parallel_for("set", Range(0, 20), KOKKOS_LAMBDA(int i) { a(i, 1) = i; });
  const Since since;
  Kokkos::deep_copy(b, a);
  semcache::access(b, semcache::Access::read);
  EXPECT_EQ(since.copies(), 1u);
  EXPECT_EQ(since.d2d(), 20u * 8 * 8);
  EXPECT_EQ(since.link(), 0u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, WithAnInstance) {
  Vector a("a", 100);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 100; ++i) h(i) = i;
  Exec exec;
  Kokkos::deep_copy(exec, a, h);
  Kokkos::deep_copy(exec, h, a);
  exec.fence();
  EXPECT_EQ(h(99), 99.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, WithAnInstanceIsOneCopyEach) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  h(0) = 1;
  const Since since;
  Kokkos::deep_copy(Exec(), a, h);
  EXPECT_EQ(since.copies(), 1u);
  iota(a);
  Kokkos::deep_copy(Exec(), h, a);
  EXPECT_EQ(since.copies(), 2u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ScalarWithAnInstance) {
  Vector a("a", 100);
  auto h = Kokkos::create_mirror_view(a);
  iota(a);
  Kokkos::deep_copy(Exec(), a, 9.0);
  Kokkos::deep_copy(h, a);
  EXPECT_EQ(h(3), 9.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, WithANativeAndAHostInstance) {
  Vector a("a", 100);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 100; ++i) h(i) = i;
  Kokkos::deep_copy(semcache::kokkos::NativeExec(), a, h);
  Kokkos::deep_copy(Kokkos::DefaultHostExecutionSpace(), h, a);
  Kokkos::fence();
  EXPECT_EQ(h(99), 99.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ScalarIntoDeviceAndMirror) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(a, 7.0);
  EXPECT_EQ(sum(a), 7000.0);
  Kokkos::deep_copy(h, 8.0);
  EXPECT_EQ(h(999), 8.0);
  Kokkos::deep_copy(a, h);
  EXPECT_EQ(sum(a), 8000.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ScalarFillOfAContiguousViewIsNoKernelAndFetchesNothing) {
  Vector a("a", 4096);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 4096; ++i) h(i) = i;
  Kokkos::deep_copy(a, h);  // pending or done, its content is about to be overwritten
  const Since since;
  Kokkos::deep_copy(a, 7.0);
  EXPECT_EQ(since.launches(), 0u);
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(sum(a), 7.0 * 4096);
  EXPECT_EQ(since.h2d(), 0u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ScalarOfEveryWidth) {
  const auto check = [](auto value) {
    using T = decltype(value);
    Kokkos::View<T*, Left, Device> a("a", 33);
    Kokkos::deep_copy(a, value);
    auto h = on_host(a);
    for (int i = 0; i < 33; ++i) ASSERT_EQ(h(i), value) << sizeof(T);
  };
  check(std::int8_t(-3));
  check(std::int16_t(-3000));
  check(std::int32_t(-70000));
  check(std::int64_t(-5000000000));
  check(2.25f);
  check(Kokkos::complex<double>(1, 2));
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ScalarOfAnOddWidthIsAKernel) {
  Kokkos::View<Triple*, Left, Device> a("a", 10);
  Kokkos::deep_copy(a, Triple{1, 2, 3});
  auto h = on_host(a);
  EXPECT_EQ(h(9).z, 3.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ScalarIntoStridedAndColumnSubviews) {
  Matrix m("m", 20, 8);
  Kokkos::deep_copy(m, 1.0);
  Kokkos::deep_copy(Kokkos::subview(m, Kokkos::ALL(), 3), 2.0);
  Kokkos::deep_copy(Kokkos::subview(m, 5, Kokkos::ALL()), 3.0);
  auto h = on_host(m);
  EXPECT_EQ(h(4, 3), 2.0);
  EXPECT_EQ(h(5, 3), 3.0);
  EXPECT_EQ(h(5, 7), 3.0);
  EXPECT_EQ(h(6, 7), 1.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, ContiguousSubviews) {
  Matrix b("b", 20, 8);
  auto hb = Kokkos::create_mirror_view(b);
  fill_columns(hb);
  Kokkos::deep_copy(b, hb);
  Kokkos::deep_copy(Kokkos::subview(b, Kokkos::ALL(), std::make_pair(2, 5)),
                    Kokkos::subview(hb, Kokkos::ALL(), std::make_pair(5, 8)));
  Kokkos::deep_copy(Kokkos::subview(b, Kokkos::ALL(), 0), Kokkos::subview(hb, Kokkos::ALL(), 7));
  auto h = on_host(b);
  EXPECT_EQ(h(1, 0), 701.0);
  EXPECT_EQ(h(1, 2), 501.0);
  EXPECT_EQ(h(19, 4), 719.0);
  EXPECT_EQ(h(19, 5), 519.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, StridedWithinTheDevice) {
  Matrix b("b", 20, 8);
  auto hb = Kokkos::create_mirror_view(b);
  fill_columns(hb);
  Kokkos::deep_copy(b, hb);
  Kokkos::deep_copy(Kokkos::subview(b, 3, Kokkos::ALL()), Kokkos::subview(b, 4, Kokkos::ALL()));
  EXPECT_EQ(on_host(b)(3, 7), 704.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, StridedWithinTheMirror) {
  Kokkos::View<double**, Left, HostMirrorSpace> h("h", 20, 8);
  fill_columns(h);
  Kokkos::deep_copy(Kokkos::subview(h, 3, Kokkos::ALL()), Kokkos::subview(h, 4, Kokkos::ALL()));
  EXPECT_EQ(h(3, 7), 704.0);
}

#ifdef KOKKOS_ENABLE_CUDA
KOKKOS_STOCK_TEST(KokkosDeepCopy, CudaSpaceIsCopiedAtTheCallOnceEach) {
  Vector a("a", 1000);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::View<double*, Left, Kokkos::CudaSpace> cuda("cuda", 1000);
  const Since since;
  Kokkos::deep_copy(cuda, a);
  EXPECT_EQ(since.d2d_count(), 1u);
  Kokkos::deep_copy(a, cuda);
  EXPECT_EQ(since.d2d_count(), 2u);
  Kokkos::deep_copy(h, cuda);
  EXPECT_EQ(since.d2h_count(), 1u);
  EXPECT_EQ(since.h2d_count(), 0u);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, CudaSpaceGivesBackWhatItGot) {
  Vector a("a", 1000);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::View<double*, Left, Kokkos::CudaSpace> cuda("cuda", 1000);
  Kokkos::deep_copy(cuda, a);
  Kokkos::deep_copy(a, 0.0);
  Kokkos::deep_copy(h, cuda);
  EXPECT_EQ(h(999), 999.0);
  Kokkos::deep_copy(a, cuda);
  EXPECT_EQ(sum(a), 499500.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, CudaHostPinnedSpaceGetsTheContent) {
  Vector a("a", 1000);
  iota(a);
  Kokkos::View<double*, Left, Kokkos::CudaHostPinnedSpace> pinned("pinned", 1000);
  Kokkos::deep_copy(pinned, a);
  EXPECT_EQ(pinned(999), 999.0);
}

KOKKOS_STOCK_TEST(KokkosDeepCopy, CudaUVMSpaceGetsTheContent) {
  Vector a("a", 1000);
  iota(a);
  Kokkos::View<double*, Left, Kokkos::CudaUVMSpace> managed("managed", 1000);
  Kokkos::deep_copy(managed, a);
  Kokkos::fence();
  EXPECT_EQ(managed(997), 997.0);
}

KOKKOS_TEST(KokkosDeepCopy, KernelsMixOurViewsWithCudaSpaces) {
  Vector a("a", 1000);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::View<double*, Left, Kokkos::CudaSpace> cuda("cuda", 1000);
  Kokkos::View<double*, Left, Kokkos::CudaHostPinnedSpace> pinned("pinned", 1000);
  pinned(1) = 1;
  const Since since;
  Kokkos::parallel_for(
      "mixed", Range(0, 1000), KOKKOS_LAMBDA(int i) { cuda(i) = a(i) + pinned(1); });
  EXPECT_EQ(since.unknown(), 1u) << "nobody looks into Kokkos' own spaces: they may hold views";
  Kokkos::deep_copy(h, cuda);
  EXPECT_EQ(h(10), 11.0);
  Kokkos::deep_copy(cuda, h);
  Kokkos::deep_copy(a, cuda);
  EXPECT_EQ(sum(a), 499500.0 + 1000);
}
#endif
