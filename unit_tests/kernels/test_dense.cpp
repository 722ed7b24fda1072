// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <limits>

namespace dense {
using namespace test;

/// rows x columns inside a larger array: its columns are further apart than it has rows.
struct Inner {
  using type = Matrix;
  static type make(std::size_t rows, std::size_t columns, int seed) {
    const Matrix parent("parent", rows + 5, columns + 2);
    fill(parent, seed);
    return Kokkos::subview(parent, Pair(3, 3 + rows), Pair(1, 1 + columns));
  }
};
struct Packed {
  using type = Matrix;
  static type make(std::size_t rows, std::size_t columns, int seed) {
    const Matrix view("packed", rows, columns);
    fill(view, seed);
    return view;
  }
};
struct ByRows {
  using type = RightMatrix;
  static type make(std::size_t rows, std::size_t columns, int seed) {
    const RightMatrix parent("parent", rows + 1, columns + 3);
    fill(parent, seed);
    return Kokkos::subview(parent, Pair(1, 1 + rows), Pair(2, 2 + columns));
  }
};
/// Every second row.
struct Strided {
  using type = StrideMatrix;
  static type make(std::size_t rows, std::size_t columns, int seed) {
    const Kokkos::View<double***, Left, Device> parent("parent", 2, rows, columns);
    fill(Matrix(parent.data(), 2 * rows, columns), seed);
    return Kokkos::subview(parent, 1, Kokkos::ALL, Kokkos::ALL);
  }
};

inline double at(const Host& m, char transpose, std::size_t i, std::size_t j) {
  return transpose == 'N' ? m(i, j) : m(j, i);
}

template <class A, class B, class C>
void multiply(char ta, char tb, std::size_t m, std::size_t n, std::size_t k, double alpha, double beta) {
  const auto a = ta == 'N' ? A::make(m, k, 1) : A::make(k, m, 1);
  const auto b = tb == 'N' ? B::make(k, n, 2) : B::make(n, k, 2);
  const auto c = C::make(m, n, 3);
  const Host ha = elements(a), hb = elements(b), expected = elements(c);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += at(ha, ta, i, l) * at(hb, tb, l, j);
      expected(i, j) = alpha * sum + beta * expected(i, j);
    }
  const Since since;
  const char transpose_a[] = {ta, 0}, transpose_b[] = {tb, 0};
  KokkosBlas::gemm(transpose_a, transpose_b, alpha, a, b, beta, c);
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  EXPECT_EQ(since.native(), 0u);
  const std::string what =
      std::string("gemm ") + ta + tb + " " + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
  expect_equal(elements(c), expected, what);
}

template <class A, class B, class C>
void multiply_all() {
  for (const char ta : {'N', 'T', 'C'})
    for (const char tb : {'N', 'T', 'C'}) {
      multiply<A, B, C>(ta, tb, 7, 5, 40, 2, -1);
      multiply<A, B, C>(ta, tb, 33, 4, 4, 1, 0);
      multiply<A, B, C>(ta, tb, 1, 3, 9, 1, 1);
      // Version 4 takes a single column by rows for a contiguous one.
      const bool by_rows = std::is_same<B, ByRows>::value || std::is_same<C, ByRows>::value;
      if (!SEMCACHE_KERNELS_INSTANCES || !by_rows) multiply<A, B, C>(ta, tb, 6, 1, 3, -1, 0);
    }
}

}  // namespace dense
using namespace dense;

KOKKOS_TEST(Gemm, Packed) { multiply_all<Packed, Packed, Packed>(); }
KOKKOS_TEST(Gemm, PartsOfLargerMatrices) { multiply_all<Inner, Inner, Inner>(); }
KOKKOS_TEST(Gemm, ByRows) { multiply_all<ByRows, ByRows, ByRows>(); }
KOKKOS_TEST(Gemm, MixedLayouts) { multiply_all<Packed, ByRows, Inner>(); }
KOKKOS_TEST(Gemm, Strided) {
  multiply_all<Strided, Strided, Strided>();
  multiply_all<Inner, Strided, Packed>();
}

KOKKOS_TEST(Gemm, OverwritesNaN) {
  const Matrix a = Packed::make(8, 3, 1), b = Packed::make(3, 6, 2), c("c", 8, 6);
  Kokkos::deep_copy(c, std::numeric_limits<double>::quiet_NaN());
  KokkosBlas::gemm("N", "N", 1.0, a, b, 0.0, c);
  const Matrix clean("clean", 8, 6);
  KokkosBlas::gemm("N", "N", 1.0, a, b, 0.0, clean);
  expect_equal(elements(c), elements(clean), "c");
}

KOKKOS_TEST(Gemm, EmptyMatricesAreLeftAlone) {
  const Matrix none("none", 0, 0), flat("flat", 0, 5), c = Packed::make(4, 5, 3);
  KokkosBlas::gemm("N", "N", 1.0, none, flat, 0.0, flat);
  const Host before = elements(c);
  KokkosBlas::gemm("T", "N", 1.0, Matrix("a", 0, 4), flat, 1.0, c);
  expect_equal(elements(c), before, "c");
}

KOKKOS_TEST(Gemm, NeighboursOfASubviewKeepTheirContent) {
  const Matrix parent("parent", 9, 8), a = Packed::make(5, 3, 1), b = Packed::make(3, 4, 2);
  fill(parent, 4);
  const Host expected = elements(parent);
  KokkosBlas::gemm("N", "N", 1.0, a, b, 0.0, Kokkos::subview(parent, Pair(2, 7), Pair(3, 7)));
  const Matrix product("product", 5, 4);
  KokkosBlas::gemm("N", "N", 1.0, a, b, 0.0, product);
  const Host part = elements(product);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) expected(2 + i, 3 + j) = part(i, j);
  expect_equal(elements(parent), expected, "parent");
}

KOKKOS_TEST(Gemm, OtherScalars) {
  using Complex = Kokkos::complex<double>;
  const Kokkos::View<Complex**, Left, Device> a("a", 2, 2), c("c", 2, 2);
  Kokkos::parallel_for(
      "fill", Range(0, 2), KOKKOS_LAMBDA(int i) {
        a(i, 0) = Complex(i + 1, 2);
        a(i, 1) = Complex(0, i - 3);
      });
  KokkosBlas::gemm("C", "N", Complex(1), a, a, Complex(0), c);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), c);
  EXPECT_EQ(host(0, 0), Complex(13, 0));    // |1+2i|^2 + |2+2i|^2
  EXPECT_EQ(host(0, 1), Complex(-10, -7));  // (1-2i)(-3i) + (2-2i)(-2i)
  EXPECT_EQ(host(1, 0), Complex(-10, 7));

  const Kokkos::View<float**, Left, Device> f("f", 3, 2), g("g", 2, 2);
  Kokkos::deep_copy(f, 2.0f);
  KokkosBlas::gemm("T", "N", 1.0f, f, f, 0.0f, g);
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), g)(1, 0), 12.0f);
}

KOKKOS_TEST(Gemv, AllTransposes) {
  for (const char t : {'N', 'T', 'C'})
    for (const double beta : {0.0, 3.0}) {
      const Matrix a = Inner::make(6, 11, 1);
      const Vector x("x", t == 'N' ? 11 : 6), y("y", t == 'N' ? 6 : 11);
      fill(x, 2);
      fill(y, 3);
      const Host ha = elements(a), hx = elements(x), expected = elements(y);
      if (beta == 0) Kokkos::deep_copy(y, std::numeric_limits<double>::quiet_NaN());
      for (std::size_t i = 0; i < y.extent(0); ++i) {
        double sum = 0;
        for (std::size_t l = 0; l < x.extent(0); ++l) sum += at(ha, t, i, l) * hx(l, 0);
        expected(i, 0) = 2 * sum + beta * expected(i, 0);
      }
      const Since since;
      const char transpose[] = {t, 0};
      KokkosBlas::gemv(transpose, 2.0, a, x, beta, y);
      EXPECT_EQ(since.unknown(), 0u) << unknown_names();
      expect_equal(elements(y), expected, std::string("gemv ") + t);
    }
}
