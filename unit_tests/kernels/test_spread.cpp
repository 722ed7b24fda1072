// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <semcache/semcache.hpp>

#include <cmath>
#include <vector>

// The compiler takes long over each type that a function of Kokkos-Kernels is called with, because it compiles Kokkos-Kernels' own kernels for it. So
// types that no other test passes to these functions, and products with vectors, are passed to what is behind them (semcache::kernels::spreading).
// The other files call the functions themselves, also with several devices (CMakeLists.txt).

// Calls of a process with several devices, of which each instance that is not on a device of its own uses all. The environment says how many
// there are (SEMCACHE_DEVICES=3 SEMCACHE_SPREAD=always).
namespace {
using namespace test;

template <class View>
View filled(const char* label, std::size_t rows, std::size_t columns, int seed) {
  const View v(std::string(label), rows, columns);
  fill(v, seed);
  return v;
}
Vector filled(const char* label, std::size_t rows, int seed) {
  const Vector v(std::string(label), rows);
  fill(v, seed);
  return v;
}

/// What a product of matrices is, element by element.
template <class A, class B>
Host product(char op_a, char op_b, const A& a, const B& b) {
  const Host ha = elements(a), hb = elements(b);
  const std::size_t m = op_a == 'N' ? ha.extent(0) : ha.extent(1), k = op_a == 'N' ? ha.extent(1) : ha.extent(0);
  const std::size_t n = op_b == 'N' ? hb.extent(1) : hb.extent(0);
  const Host c("expected", m, n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += (op_a == 'N' ? ha(i, l) : ha(l, i)) * (op_b == 'N' ? hb(l, j) : hb(j, l));
      c(i, j) = sum;
    }
  }
  return c;
}

template <class A, class B, class C>
void expect_products(const char* what) {
  for (const char op_a : {'N', 'T', 'C'}) {
    for (const char op_b : {'N', 'T'}) {
      const A a = op_a == 'N' ? filled<A>("a", 40, 17, 1) : filled<A>("a", 17, 40, 1);
      const B b = op_b == 'N' ? filled<B>("b", 17, 29, 2) : filled<B>("b", 29, 17, 2);
      const C c("c", 40, 29);
      KokkosBlas::gemm(&op_a, &op_b, 1.0, a, b, 0.0, c);
      EXPECT_EQ(devices_of(c), semcache::device_count()) << what << op_a << op_b;
      expect_equal(elements(c), product(op_a, op_b, a, b), std::string(what) + op_a + op_b);
    }
  }
}

}  // namespace

KOKKOS_TEST(Spread, ProductsOfAllLayouts) {
  expect_products<Matrix, Matrix, Matrix>("left ");
  expect_products<RightMatrix, RightMatrix, RightMatrix>("right ");
  expect_products<Matrix, RightMatrix, Matrix>("left right left ");
  expect_products<RightMatrix, Matrix, RightMatrix>("right left right ");
}

KOKKOS_TEST(Spread, ProductsOfTiles) {
  const Matrix a = filled<Matrix>("a", 50, 50, 1), b = filled<Matrix>("b", 50, 50, 2), c = filled<Matrix>("c", 50, 50, 3);
  const auto ta = Kokkos::subview(a, Pair(3, 33), Pair(5, 20)), tb = Kokkos::subview(b, Pair(1, 16), Pair(9, 40));
  const auto tc = Kokkos::subview(c, Pair(7, 37), Pair(2, 33));
  const Host before = elements(c), expected = product('N', 'N', ta, tb);
  KokkosBlas::gemm("N", "N", 1.0, ta, tb, 2.0, tc);
  EXPECT_EQ(devices_of(c), semcache::device_count());
  const Host after = elements(c);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      const bool inside = i >= 7 && i < 37 && j >= 2 && j < 33;
      ASSERT_EQ(after(i, j), inside ? 2 * before(i, j) + expected(i - 7, j - 2) : before(i, j)) << i << ' ' << j;
    }
  }
}

KOKKOS_TEST(Spread, MatrixByVector) {
  for (const char op : {'N', 'T'}) {
    const Matrix a = filled<Matrix>("a", 30, 21, 1);
    const RightMatrix r = filled<RightMatrix>("r", 30, 21, 1);
    const Vector x = filled("x", op == 'N' ? 21 : 30, 2), y = filled("y", op == 'N' ? 30 : 21, 3), z = filled("z", y.extent(0), 3);
    const Host hx = elements(x), ha = elements(a), hy = elements(y);
    EXPECT_TRUE(semcache::kernels::spreading::gemv(semcache::Exec(), op, 3.0, a, x, -1.0, y));
    EXPECT_EQ(devices_of(y), semcache::device_count());
    EXPECT_TRUE(semcache::kernels::spreading::gemv(semcache::Exec(), op, 3.0, r, x, -1.0, z));
    const Host found = elements(y), of_right = elements(z);
    for (std::size_t i = 0; i < y.extent(0); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < x.extent(0); ++j) sum += (op == 'N' ? ha(i, j) : ha(j, i)) * hx(j, 0);
      ASSERT_EQ(found(i, 0), 3 * sum - hy(i, 0)) << op << i;
      ASSERT_EQ(of_right(i, 0), 3 * sum - hy(i, 0)) << op << i;
    }
  }
}

KOKKOS_TEST(Spread, VectorsAndNumbers) {
  const std::size_t n = 3000;
  const Vector x = filled("x", n, 1), y = filled("y", n, 2), z = filled("z", n, 3);
  const Host hx = elements(x), hy = elements(y);
  KokkosBlas::axpby(2.0, x, 3.0, y);
  EXPECT_EQ(devices_of(y), semcache::device_count());
  KokkosBlas::scal(z, -1.0, x);
  KokkosBlas::scal(x, 4.0, x);
  double dot = 0, square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    hy(i, 0) = 2 * hx(i, 0) + 3 * hy(i, 0);
    hx(i, 0) *= 4;
    dot += hx(i, 0) * hy(i, 0);
    square += hx(i, 0) * hx(i, 0);
  }
  expect_equal(elements(y), hy, "y");
  expect_equal(elements(x), hx, "x");
  EXPECT_EQ(elements(z)(5, 0), -hx(5, 0) / 4);
  EXPECT_EQ(KokkosBlas::dot(x, y), dot);
  EXPECT_DOUBLE_EQ(KokkosBlas::nrm2(x), std::sqrt(square));
  EXPECT_EQ(KokkosBlas::nrm2_squared(x), square);
  const Kokkos::View<double, Device> on_device("on device");
  KokkosBlas::dot(on_device, x, y);
  const auto mirror = Kokkos::create_mirror_view(on_device);
  Kokkos::deep_copy(mirror, on_device);
  EXPECT_EQ(mirror(), dot);
  const auto in_mirror = Kokkos::create_mirror_view(on_device);
  KokkosBlas::dot(in_mirror, x, y);
  EXPECT_EQ(in_mirror(), dot);
}

namespace {

/// y = alpha A x + beta y on all devices, where x and y are vectors or multivectors.
/// @return false, for multivectors: alpha is zero, and nothing was done
template <class Matrix, class X, class Y>
bool multiply(double alpha, const Matrix& a, const X& x, double beta, const Y& y) {
  if constexpr (std::is_same<typename Matrix::size_type, const int>::value || std::is_same<typename Matrix::size_type, int>::value) {
    KokkosSparse::spmv("N", alpha, a, x, beta, y);
    return true;
  } else {
    return semcache::kernels::spreading::spmv(semcache::Exec(), 'N', alpha, a, x, beta, y);
  }
}

/// Products with a tridiagonal matrix whose row pointers are of type Size, and kernels on what they have computed.
template <class Size>
void expect_sparse_products() {
  const int n = 2000;
  using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, Size>;
  const typename Crs::row_map_type::non_const_type rows("rows", n + 1);
  const typename Crs::index_type columns("columns", 3 * n - 2);
  const typename Crs::values_type values("values", 3 * n - 2);
  {
    const auto r = Kokkos::create_mirror_view(rows);
    const auto c = Kokkos::create_mirror_view(columns);
    const auto v = Kokkos::create_mirror_view(values);
    int e = 0;
    for (int i = 0; i < n; ++i) {
      r(i) = e;
      for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) {
        c(e) = j;
        v(e++) = i == j ? 2 : -1;
      }
    }
    r(n) = e;
    Kokkos::deep_copy(rows, r);
    Kokkos::deep_copy(columns, c);
    Kokkos::deep_copy(values, v);
  }
  const Crs a("tridiagonal", n, n, 3 * n - 2, values, rows, columns);
  const Vector x = filled("x", n, 1), y("y", n);
  for (int round = 0; round < 3; ++round) {
    const Host hx = elements(x);
    EXPECT_TRUE(multiply(1.0, a, x, 0.0, y));
    EXPECT_EQ(devices_of(y), semcache::device_count());
    Kokkos::fence();
    const Host hy = elements(y);
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(hy(i, 0), 2 * hx(i, 0) - (i > 0 ? hx(i - 1, 0) : 0) - (i + 1 < n ? hx(i + 1, 0) : 0)) << i;
    }
    // Columns further apart than the matrix has rows, and packed ones. Rows behind those of the product keep their content.
    const Matrix many_x = filled<Matrix>("many x", n + 4, 5, round), many_y = filled<Matrix>("many y", n + 2, 3, 7);
    const auto three = Kokkos::subview(many_x, Pair(0, n), Pair(1, 4));
    const Host h3 = elements(three);
    const auto y_of_product = as_long_as_allowed(many_y, n);
    EXPECT_TRUE(multiply(2.0, a, three, -1.0, y_of_product));
    EXPECT_EQ(devices_of(Kokkos::subview(many_y, Pair(0, n), Pair(0, 1))), semcache::device_count());
    const Host found = elements(many_y);
    for (int i = 0; i < n + 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        const double product = i >= n ? 0 : 2 * h3(i, j) - (i > 0 ? h3(i - 1, j) : 0) - (i + 1 < n ? h3(i + 1, j) : 0);
        ASSERT_EQ(found(i, j), i >= n ? entry(i, j, 7) : 2 * product - entry(i, j, 7)) << i << ", " << j;
      }
    }
    // Where alpha is zero, neither matrix nor vectors are read.
    Kokkos::deep_copy(three, std::nan(""));
    const double times = multiply(0.0, a, three, 2.0, y_of_product) ? 2 : 1;
    EXPECT_EQ(times == 2, (std::is_same<Size, int>::value)) << "the others leave this to Kokkos-Kernels";
    const Host doubled = elements(many_y);
    for (int i = 0; i < n; ++i) ASSERT_EQ(doubled(i, 0), times * found(i, 0)) << i;
    // A kernel at home reads and writes what lies on all devices.
    Kokkos::parallel_for("next", Range(0, n), KOKKOS_LAMBDA(int i) { x(i) = y(i) + 1; });
    semcache::Exec().fence();
  }
}

}  // namespace

KOKKOS_TEST(Spread, SparseByVectorAndKernelsOnItsResult) { expect_sparse_products<int>(); }
KOKKOS_TEST(Spread, SparseWithRowPointersOf64Bits) {
  expect_sparse_products<std::size_t>();
  expect_sparse_products<std::int64_t>();
}

// The squares of these elements are beyond the range of their type, their norm is not: Kokkos-Kernels' routine for the native device decides what
// that is. (The one for GPUs does not scale.)
KOKKOS_TEST(Spread, NormsOfVeryLargeAndVerySmallElements) {
  const std::size_t n = 1000;
  for (const double element : {1e200, 1e-200, 1e-160, 0.0, HUGE_VAL}) {
    const Vector x("x", n);
    const Kokkos::View<double*, Left, semcache::kernels::NativeDevice> native("native", n);
    Kokkos::deep_copy(x, element);
    Kokkos::deep_copy(native, element);
    const double found = KokkosBlas::nrm2(x), expected = KokkosBlas::nrm2(native);
    if (std::isnan(expected)) EXPECT_TRUE(std::isnan(found)) << element << ": " << found;
    else EXPECT_DOUBLE_EQ(found, expected) << element;
  }
}

// Rows of a larger matrix, whose row pointers neither begin with 0 nor end with the number of entries.
KOKKOS_TEST(Spread, SomeRowsOfASparseMatrix) {
  using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, std::size_t>;
  const int n = 600, first = 100, count = 400;
  const Crs::row_map_type::non_const_type rows("rows", n + 1);
  const Crs::index_type columns("columns", n + 50);
  const Crs::values_type values("values", n + 50);
  const auto r = Kokkos::create_mirror_view(rows);
  const auto c = Kokkos::create_mirror_view(columns);
  const auto v = Kokkos::create_mirror_view(values);
  for (int i = 0; i <= n; ++i) r(i) = i;
  for (int i = 0; i < n + 50; ++i) {
    c(i) = i < n ? n - 1 - i : 12345;
    v(i) = i;
  }
  Kokkos::deep_copy(rows, r);
  Kokkos::deep_copy(columns, c);
  Kokkos::deep_copy(values, v);
  const Crs a("some rows", count, n, n + 50, values, Kokkos::subview(rows, Pair(first, first + count + 1)), columns);
  const Vector x = filled("x", n, 1), y("y", count);
  KokkosSparse::spmv("N", 1.0, a, x, 0.0, y);
  EXPECT_EQ(devices_of(y), semcache::device_count());
  const Host hx = elements(x), hy = elements(y);
  for (int i = 0; i < count; ++i) ASSERT_EQ(hy(i, 0), (first + i) * hx(n - 1 - first - i, 0)) << i;
}

// Kokkos-Kernels multiplies by a matrix that has room for more entries than its rows have.
KOKKOS_TEST(Spread, AMatrixWithRoomForMoreEntries) {
  using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, int>;
  constexpr int n = 500;
  const Crs::row_map_type::non_const_type rows("rows", n + 1);
  const Crs::index_type columns("columns", n + 9);
  const Crs::values_type values("values", n + 9);
  const auto r = Kokkos::create_mirror_view(rows);
  const auto c = Kokkos::create_mirror_view(columns);
  const auto v = Kokkos::create_mirror_view(values);
  for (int i = 0; i <= n; ++i) r(i) = i + 3;
  for (int e = 0; e < n + 9; ++e) {
    c(e) = e < 3 || e >= n + 3 ? 1 << 30 : e - 3;
    v(e) = e < 3 || e >= n + 3 ? std::nan("") : 2;
  }
  Kokkos::deep_copy(rows, r);
  Kokkos::deep_copy(columns, c);
  Kokkos::deep_copy(values, v);
  const Crs a("diagonal", n, n, n + 9, values, rows, columns);
  const Vector x("x", n + 2), y("y", n + 4);
  fill(x, 1);
  fill(y, 2);
  const Host hx = elements(x), hy = elements(y);
  KokkosSparse::spmv("N", 3.0, a, as_long_as_allowed(x, n), -1.0, as_long_as_allowed(y, n));
  EXPECT_EQ(devices_of(Kokkos::subview(y, Pair(0, n))), semcache::device_count());
  const Host found = elements(y);
  for (int i = 0; i < n + 4; ++i) ASSERT_EQ(found(i, 0), i < n ? 6 * hx(i, 0) - hy(i, 0) : hy(i, 0)) << i;
}

KOKKOS_TEST(Spread, CallsOnAnInstanceOfADeviceStayThere) {
#if SEMCACHE_KERNELS_INSTANCES
  const std::uint32_t last = static_cast<std::uint32_t>(semcache::device_count()) - 1;
  const Vector x(Kokkos::view_alloc(semcache::Space(last), "x"), 1000), y(Kokkos::view_alloc(semcache::Space(last), "y"), 1000);
  KokkosBlas::axpby(semcache::on(last), 2.0, x, 3.0, y);
  EXPECT_EQ(devices_of(y), 1);
#else
  GTEST_SKIP() << "functions of this Kokkos-Kernels take no instance";
#endif
}
