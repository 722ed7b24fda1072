// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <unistd.h>

#include <stdexcept>
#include <utility>

/// deep_copy between host and device where views are parts of their arrays, or are laid out differently.
namespace kokkos_strided_copy {
using namespace test;

using Right = Kokkos::LayoutRight;
using Rows = std::pair<int, int>;

template <class Mirror>
void number(const Mirror& h, double first = 0) {
  for (std::size_t j = 0; j < h.extent(1); ++j)
    for (std::size_t i = 0; i < h.extent(0); ++i) h(i, j) = first + 1000.0 * j + i;
}

/// Writes 1000 j + i on the device.
inline void number_on_device(const Matrix& m) {
  Kokkos::parallel_for(
      "number", Range(0, m.extent(0) * m.extent(1)), KOKKOS_LAMBDA(int k) {
        const int rows = m.extent(0);
        m(k % rows, k / rows) = 1000.0 * (k / rows) + k % rows;
      });
}

}  // namespace kokkos_strided_copy
using namespace kokkos_strided_copy;

KOKKOS_STOCK_TEST(KokkosStridedCopy, ARowCrossesToTheDevice) {
  Matrix b("b", 20, 8);
  auto h = Kokkos::create_mirror_view(b);
  Kokkos::deep_copy(b, 1.0);
  number(h);
  const Since since;
  Kokkos::deep_copy(Kokkos::subview(b, 3, Kokkos::ALL()), Kokkos::subview(h, 4, Kokkos::ALL()));
  const auto got = on_host(b);
  EXPECT_EQ(got(3, 0), 4.0);
  EXPECT_EQ(got(3, 7), 7004.0);
  EXPECT_EQ(got(2, 7), 1.0);
  EXPECT_EQ(got(4, 7), 1.0);
  EXPECT_EQ(since.copies(), 1u);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, ARowCrossesToTheHost) {
  Matrix b("b", 20, 8);
  number_on_device(b);
  auto h = Kokkos::create_mirror_view(b);
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 20; ++i) h(i, j) = -1;
  Kokkos::deep_copy(Kokkos::subview(h, 4, Kokkos::ALL()), Kokkos::subview(b, 3, Kokkos::ALL()));
  EXPECT_EQ(h(4, 0), 3.0);
  EXPECT_EQ(h(4, 7), 7003.0);
  EXPECT_EQ(h(3, 7), -1.0);
  EXPECT_EQ(h(5, 7), -1.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, HalfOfTheRowsThereAndBackMoveTheirBytesOnly) {
  const int rows = 2048, columns = 16;  // a column is 16 KiB
  const std::uint64_t half = std::uint64_t{rows} / 2 * columns * sizeof(double);
  Matrix b("b", rows, columns);
  Kokkos::deep_copy(b, 0.0);
  Kokkos::fence();
  semcache::access(b, semcache::Access::read);  // the fill has been made
  auto h = Kokkos::create_mirror_view(b);
  number(h);
  const Since since;
  const auto upper = Rows(0, rows / 2);
  Kokkos::deep_copy(Kokkos::subview(b, upper, Kokkos::ALL()), Kokkos::subview(h, upper, Kokkos::ALL()));
  EXPECT_EQ(since.link(), 0u) << "nobody has asked for the content yet";
  Kokkos::parallel_for(
      "add", Range(0, rows), KOKKOS_LAMBDA(int i) {
        for (int j = 0; j < columns; ++j) b(i, j) += 1;
      });
  EXPECT_EQ(since.h2d(), half);
  EXPECT_EQ(since.d2h(), 0u);
  Kokkos::deep_copy(Kokkos::subview(h, upper, Kokkos::ALL()), Kokkos::subview(b, upper, Kokkos::ALL()));
  for (int j = 0; j < columns; ++j) semcache::access(&h(0, j), half / columns, semcache::Access::read);
  EXPECT_EQ(since.d2h(), half);
  EXPECT_EQ(h(7, 5), 5008.0);
  EXPECT_EQ(h(rows - 1, 5), 5000.0 + rows - 1);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, AfterOneElementWasWrittenOnTheHostItsPageCrosses) {
  const int rows = 4096, columns = 8;
  Matrix b("b", rows, columns);
  auto h = Kokkos::create_mirror_view(b);
  number(h);
  const auto upper = Rows(0, rows / 2);
  const auto there = Kokkos::subview(b, upper, Kokkos::ALL());
  const auto here = Kokkos::subview(h, upper, Kokkos::ALL());
  Kokkos::deep_copy(there, here);
  semcache::access(b, semcache::Access::read);
  const Since since;
  h(5, 3) = -1;
  Kokkos::deep_copy(there, here);
  semcache::access(b, semcache::Access::read);
  EXPECT_EQ(since.h2d(), static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(on_host(b)(5, 3), -1.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, ARedundantCopyMovesNothing) {
  Matrix b("b", 2000, 10);
  number_on_device(b);
  auto h = Kokkos::create_mirror_view(b);
  const auto there = Kokkos::subview(b, Rows(100, 900), Rows(2, 7));
  const auto here = Kokkos::subview(h, Rows(100, 900), Rows(2, 7));
  Kokkos::deep_copy(here, there);
  semcache::access(h, semcache::Access::read);
  const Since since;
  Kokkos::deep_copy(there, here);
  Kokkos::deep_copy(here, there);
  EXPECT_EQ(sum(Vector(b.data(), 2000)), 1999.0 * 2000 / 2);
  EXPECT_EQ(h(899, 6), 6899.0);
  EXPECT_EQ(since.link(), 0u);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, AnInstanceTakesTheContentOfItsKernels) {
  const Exec exec;
  Matrix b("b", 200, 6);
  auto h = Kokkos::create_mirror_view(b);
  number_on_device(b);
  Kokkos::deep_copy(exec, Kokkos::subview(h, Rows(10, 90), Kokkos::ALL()), Kokkos::subview(b, Rows(20, 100), Kokkos::ALL()));
  number_on_device(b);
  exec.fence();
  EXPECT_EQ(h(10, 5), 5020.0);
  EXPECT_EQ(h(89, 0), 99.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, PlainHostMemoryIsCopiedAtTheCall) {
  Matrix b("b", 200, 6);
  number_on_device(b);
  Kokkos::View<double**, Left, Kokkos::HostSpace> plain("plain", 200, 6);
  Kokkos::deep_copy(Kokkos::subview(plain, Rows(3, 50), Kokkos::ALL()), Kokkos::subview(b, Rows(3, 50), Kokkos::ALL()));
  EXPECT_EQ(plain(49, 5), 5049.0);
  EXPECT_EQ(plain(50, 5), 0.0);
  for (int i = 0; i < 200; ++i) plain(i, 2) = -i;
  Kokkos::deep_copy(Kokkos::subview(b, Rows(3, 50), Rows(2, 4)), Kokkos::subview(plain, Rows(3, 50), Rows(2, 4)));
  plain(10, 2) = 77;
  EXPECT_EQ(on_host(b)(10, 2), -10.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, LayoutsAndTypesAreConverted) {
  Matrix b("b", 20, 8);
  number_on_device(b);
  Kokkos::View<double**, Right, Kokkos::HostSpace> other("other", 20, 8);
  Kokkos::deep_copy(other, b);
  EXPECT_EQ(other(19, 7), 7019.0);
  EXPECT_EQ(other(3, 2), 2003.0);
  Kokkos::View<float**, Left, HostMirrorSpace> single("single", 20, 8);
  Kokkos::deep_copy(single, b);
  EXPECT_EQ(single(19, 7), 7019.0f);
  single(3, 3) = 0.5f;
  Kokkos::deep_copy(b, single);
  EXPECT_EQ(on_host(b)(3, 3), 0.5);
  other(4, 4) = -4;
  Kokkos::deep_copy(b, other);
  EXPECT_EQ(on_host(b)(4, 4), -4.0);
  EXPECT_EQ(on_host(b)(3, 3), 3003.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, PartsOfThreeDimensions) {
  Kokkos::View<int***, Left, Device> v("v", 10, 9, 8);
  auto h = Kokkos::create_mirror_view(v);
  for (int k = 0; k < 8; ++k)
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 10; ++i) h(i, j, k) = 100 * i + 10 * j + k;
  Kokkos::deep_copy(v, 0);
  const Rows a(2, 7), b(1, 5), c(3, 8);
  Kokkos::deep_copy(Kokkos::subview(v, a, b, c), Kokkos::subview(h, a, b, c));
  const auto got = on_host(v);
  int inside = 0;
  for (int k = 0; k < 8; ++k)
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 10; ++i) {
        const bool in = i >= 2 && i < 7 && j >= 1 && j < 5 && k >= 3;
        inside += in;
        ASSERT_EQ(got(i, j, k), in ? 100 * i + 10 * j + k : 0);
      }
  EXPECT_EQ(inside, 5 * 4 * 5);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, ManySmallPartsArePacked) {
  Kokkos::View<int****, Left, Device> v("v", 4, 5, 12, 11);
  auto h = Kokkos::create_mirror_view(v);
  const auto inner = [](const auto& x) { return Kokkos::subview(x, Rows(1, 3), Rows(1, 4), Kokkos::ALL(), Kokkos::ALL()); };
  for (int l = 0; l < 11; ++l)
    for (int k = 0; k < 12; ++k)
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 4; ++i) h(i, j, k, l) = ((i * 5 + j) * 12 + k) * 11 + l;
  Kokkos::deep_copy(v, -1);
  Kokkos::deep_copy(inner(v), inner(h));
  const auto got = on_host(v);
  for (int l = 0; l < 11; ++l)
    for (int k = 0; k < 12; ++k)
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 4; ++i) {
          const bool in = i >= 1 && i < 3 && j >= 1 && j < 4;
          ASSERT_EQ(got(i, j, k, l), in ? ((i * 5 + j) * 12 + k) * 11 + l : -1);
        }
  Kokkos::deep_copy(v, -2);
  Kokkos::deep_copy(inner(h), inner(v));
  EXPECT_EQ(h(1, 1, 0, 0), -2);
  EXPECT_EQ(h(0, 1, 0, 0), ((0 * 5 + 1) * 12 + 0) * 11 + 0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, EveryOtherElement) {
  Vector a("a", 100);
  iota(a);
  const Kokkos::View<double*, Kokkos::LayoutStride, Device> odd(a.data() + 1, Kokkos::LayoutStride(50, 2));
  Kokkos::View<double*, Left, HostMirrorSpace> h("h", 50);
  Kokkos::deep_copy(h, odd);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(h(i), 2 * i + 1.0);
  for (int i = 0; i < 50; ++i) h(i) = -i;
  Kokkos::deep_copy(odd, h);
  const auto got = on_host(a);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(got(2 * i), 2.0 * i);
    ASSERT_EQ(got(2 * i + 1), -1.0 * i);
  }
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, ASourceMayNameOneElementForAll) {
  double one = 3;
  const Kokkos::View<const double*, Kokkos::LayoutStride, Kokkos::HostSpace> same(&one, Kokkos::LayoutStride(40, 0));
  Vector a("a", 40);
  Kokkos::deep_copy(a, same);
  EXPECT_EQ(sum(a), 120.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, OtherExtentsAreKokkosError) {
  Matrix b("b", 20, 8);
  auto h = Kokkos::create_mirror_view(b);
  EXPECT_THROW(Kokkos::deep_copy(Kokkos::subview(b, Rows(0, 5), Kokkos::ALL()), Kokkos::subview(h, Rows(0, 6), Kokkos::ALL())),
               std::runtime_error);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, NoElementsAreNothing) {
  Matrix b("b", 20, 8);
  auto h = Kokkos::create_mirror_view(b);
  const Since since;
  Kokkos::deep_copy(Kokkos::subview(b, Rows(5, 5), Kokkos::ALL()), Kokkos::subview(h, Rows(6, 6), Kokkos::ALL()));
  EXPECT_EQ(since.copies(), 0u);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, SidesOfOneArrayStayCoherent) {
  semcache::DualView<double**, Left, Device> dual("dual", 300, 7);
  const auto d = dual.view_device();
  const auto h = dual.view_host();
  number(h);
  Kokkos::deep_copy(Kokkos::subview(d, Rows(0, 100), Kokkos::ALL()), Kokkos::subview(h, Rows(0, 100), Kokkos::ALL()));
  EXPECT_EQ(on_host(Matrix(d))(299, 6), 6299.0);
}

KOKKOS_STOCK_TEST(KokkosStridedCopy, AnAnnouncedPartOfAMirrorMovesItsPagesAlone) {
  const int page = static_cast<int>(sysconf(_SC_PAGESIZE)), rows = 4 * page / 8, columns = 6;
  Matrix b("b", rows, columns);
  number_on_device(b);
  auto h = Kokkos::create_mirror_view(b);
  Kokkos::deep_copy(h, b);
  const auto part = Kokkos::subview(h, Rows(page / 8, page / 8 + 10), Kokkos::ALL());
  const Since since;
  semcache::access(part, semcache::Access::read);
  EXPECT_EQ(since.d2h(), static_cast<std::uint64_t>(page) * columns);
  EXPECT_EQ(part(9, 5), 5000.0 + page / 8 + 9);
  EXPECT_EQ(since.faults(), 0u);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < 10; ++i) part(i, j) = -1;
  EXPECT_GT(since.faults(), 0u) << "it was announced as read";
  Kokkos::deep_copy(h, b);
  semcache::access(part, semcache::Access::overwrite);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < 10; ++i) part(i, j) = -2;
  EXPECT_EQ(h(page / 8 + 9, 5), -2.0);
  EXPECT_EQ(h(page / 8 + 10, 5), 5000.0 + page / 8 + 10);
}
