// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vectors {
using namespace test;

constexpr std::size_t rows = 300, columns = 4;
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Columns further apart than there are rows, and packed ones.
inline std::vector<Matrix> multivectors(int seed) {
  const Matrix packed("packed", rows, columns), parent("parent", rows + 10, columns + 1);
  fill(packed, seed);
  fill(parent, seed + 1);
  return {packed, Kokkos::subview(parent, Pair(10, rows + 10), Pair(0, columns))};
}
inline Vector vector(int seed) {
  const Vector v("v", rows);
  fill(v, seed);
  return v;
}
inline double column_dot(const Host& x, const Host& y, std::size_t j) {
  double sum = 0;
  for (std::size_t i = 0; i < x.extent(0); ++i) sum += x(i, j) * y(i, j);
  return sum;
}
template <class Function>
Host each(const Host& x, Function&& f) {
  const Host result("result", x.extent(0), x.extent(1));
  for (std::size_t i = 0; i < x.extent(0); ++i)
    for (std::size_t j = 0; j < x.extent(1); ++j) result(i, j) = f(i, j);
  return result;
}

/// Results in our memory, in a mirror and in plain host memory.
template <class Check>
void into_all_kinds_of_results(Check&& check) {
  const Vector device("device", columns);
  Kokkos::deep_copy(device, not_a_number);
  check(device, [&] { return elements(device); });
  const auto mirror = Kokkos::create_mirror(device);
  Kokkos::deep_copy(mirror, device);
  const auto of_host = [](const auto& v) {
    const Host result("result", columns, 1);
    for (std::size_t j = 0; j < columns; ++j) result(j, 0) = v(j);
    return result;
  };
  check(mirror, [&] { return of_host(mirror); });
  const Kokkos::View<double*, Left, Kokkos::HostSpace> host("host", columns);
  check(host, [&] {
    Kokkos::fence();
    return of_host(host);
  });
}

}  // namespace vectors
using namespace vectors;

/// Kokkos' span of a strided view counts a whole stride for its last element.
KOKKOS_TEST(Vectors, AStridedViewOfAMirrorIsAnnouncedAsFarAsItReaches) {
  const Matrix device("device", rows, columns);
  fill(device, 1);
  const auto mirror = Kokkos::create_mirror(device);
  Kokkos::deep_copy(mirror, device);
  const auto last_row = Kokkos::subview(mirror, rows - 1, Kokkos::ALL);
  ASSERT_GT(last_row.data() + last_row.span(), mirror.data() + mirror.span());
  semcache::kernels::LibraryCall(Exec()).reads(last_row).overwrites(last_row).run([&] {
    for (std::size_t j = 0; j < columns; ++j) EXPECT_EQ(last_row(j), entry(rows - 1, j, 1));
  });
}

KOKKOS_TEST(Vectors, DotAndNormsOfOne) {
  const Vector x = vector(1), y = vector(2);
  const Host hx = elements(x), hy = elements(y);
  const Since since;
  EXPECT_EQ(KokkosBlas::dot(x, y), column_dot(hx, hy, 0));
  EXPECT_DOUBLE_EQ(KokkosBlas::nrm2(x), std::sqrt(column_dot(hx, hx, 0)));
  EXPECT_EQ(KokkosBlas::nrm2_squared(x), column_dot(hx, hx, 0));
  EXPECT_EQ(KokkosBlas::nrminf(x), 5);
  double one = 0;
  for (std::size_t i = 0; i < rows; ++i) one += std::abs(hx(i, 0));
  EXPECT_EQ(KokkosBlas::nrm1(x), one);
  EXPECT_EQ(std::abs(hx(KokkosBlas::iamax(x) - 1, 0)), 5);  // as BLAS counts
  EXPECT_EQ(since.launches(), 6u);
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  EXPECT_EQ(since.native(), 0u);

  const Kokkos::View<double, Device> r("r");
  KokkosBlas::dot(r, x, y);
  double result = 0;
  Kokkos::deep_copy(result, r);
  EXPECT_EQ(result, column_dot(hx, hy, 0));
}

#if !SEMCACHE_KERNELS_INSTANCES  // later versions sum in the elements' type
KOKKOS_TEST(Vectors, DotOfFloatsSumsInDouble) {
  const Kokkos::View<float*, Device> x("x", 1000);
  Kokkos::deep_copy(x, 0.1f);
  EXPECT_NEAR(KokkosBlas::dot(x, x), 10.0f, 1e-5);
}
#endif

KOKKOS_TEST(Vectors, DotsAndNormsOfMany) {
  for (const Matrix& x : multivectors(1))
    for (const Matrix& y : multivectors(3)) {
      const Host hx = elements(x), hy = elements(y);
      const Vector z = vector(5);
      const Host hz = elements(z);
      into_all_kinds_of_results([&](const auto& r, const auto& found) {
        const Since since;
        const auto expect = [&](auto&& value, const char* what) {
          const Host expected("expected", columns, 1);
          for (std::size_t j = 0; j < columns; ++j) expected(j, 0) = value(j);
          expect_equal(found(), expected, what);
        };
        KokkosBlas::dot(r, x, y);
        expect([&](std::size_t j) { return column_dot(hx, hy, j); }, "dot");
        KokkosBlas::nrm2_squared(r, x);
        expect([&](std::size_t j) { return column_dot(hx, hx, j); }, "nrm2_squared");
        KokkosBlas::nrm2(r, x);
        expect([&](std::size_t j) { return std::sqrt(column_dot(hx, hx, j)); }, "nrm2");
        KokkosBlas::nrminf(r, x);
        expect([&](std::size_t) { return 5.0; }, "nrminf");
        KokkosBlas::nrm1(r, x);
        expect(
            [&](std::size_t j) {
              double sum = 0;
              for (std::size_t i = 0; i < rows; ++i) sum += std::abs(hx(i, j));
              return sum;
            },
            "nrm1");
        KokkosBlas::sum(r, x);
        expect(
            [&](std::size_t j) {
              double sum = 0;
              for (std::size_t i = 0; i < rows; ++i) sum += hx(i, j);
              return sum;
            },
            "sum");
        EXPECT_EQ(since.unknown(), 0u) << unknown_names();
      });
    }
}

KOKKOS_TEST(Vectors, WeightedNorms) {
  const Vector x = vector(1), w = vector(2);
  Kokkos::deep_copy(w, 2.0);
  const Host hx = elements(x);
  EXPECT_EQ(KokkosBlas::nrm2w_squared(x, w), column_dot(hx, hx, 0) / 4);
#if SEMCACHE_KERNELS_INSTANCES  // version 3 divides multivectors by themselves
  const Matrix many = multivectors(1)[1], weights("weights", rows, columns);
  Kokkos::deep_copy(weights, 2.0);
  const Host hm = elements(many);
  const Vector r("r", columns);
  KokkosBlas::nrm2w_squared(r, many, weights);
  const Host found = elements(r);
  for (std::size_t j = 0; j < columns; ++j) EXPECT_EQ(found(j, 0), column_dot(hm, hm, j) / 4);
#endif
}

KOKKOS_TEST(Vectors, SumsOfMultivectors) {
  for (const Matrix& x : multivectors(1)) {
    const Host hx = elements(x);
    for (const double b : {0.0, 1.0, -3.0}) {
      const Matrix y = multivectors(3)[0];
      const Host hy = elements(y);
      if (b == 0) Kokkos::deep_copy(y, not_a_number);
      const Since since;
      KokkosBlas::axpby(2.0, x, b, y);
      EXPECT_EQ(since.launches(), 1u);
      EXPECT_EQ(since.unknown(), 0u);
      expect_equal(elements(y), each(hx, [&](auto i, auto j) { return 2 * hx(i, j) + b * hy(i, j); }), "axpby");

      const Matrix z = multivectors(5)[1];
      const Host hz = elements(z);
      KokkosBlas::update(2.0, x, -1.0, x, b, z);
      expect_equal(elements(z), each(hx, [&](auto i, auto j) { return hx(i, j) + b * hz(i, j); }), "update");
    }
    const Vector coefficients("coefficients", columns);
    fill(coefficients, 1);
    const Host hc = elements(coefficients);
    const Matrix y = multivectors(3)[1];
    const Host hy = elements(y);
    KokkosBlas::axpby(coefficients, x, coefficients, y);
    expect_equal(elements(y), each(hx, [&](auto i, auto j) { return hc(j, 0) * (hx(i, j) + hy(i, j)); }),
                 "axpby, views");
  }
}

KOKKOS_TEST(Vectors, SumsOfVectors) {
  const Vector x = vector(1), y = vector(2), z = vector(3);
  const Host hx = elements(x), hy = elements(y);
  KokkosBlas::axpby(2.0, x, 1.0, y);
  expect_equal(elements(y), each(hx, [&](auto i, auto) { return 2 * hx(i, 0) + hy(i, 0); }), "y");
  Kokkos::deep_copy(z, not_a_number);
  KokkosBlas::axpby(2.0, x, 0.0, z);
  expect_equal(elements(z), each(hx, [&](auto i, auto) { return 2 * hx(i, 0); }), "z");
}

KOKKOS_TEST(Vectors, Scaling) {
  for (const Matrix& x : multivectors(1)) {
    const Host hx = elements(x);
    const Matrix r("r", rows, columns);
    Kokkos::deep_copy(r, not_a_number);
    KokkosBlas::scal(r, 3.0, x);
    expect_equal(elements(r), each(hx, [&](auto i, auto j) { return 3 * hx(i, j); }), "scal");
    const Vector coefficients("coefficients", columns);
    fill(coefficients, 1);
    const Host hc = elements(coefficients);
    KokkosBlas::scal(x, coefficients, x);
    expect_equal(elements(x), each(hx, [&](auto i, auto j) { return hc(j, 0) * hx(i, j); }), "scal in place");
  }
}

KOKKOS_TEST(Vectors, ElementByElement) {
  const Matrix x = multivectors(1)[1], r("r", rows, columns);
  const Vector a = vector(7);
  const Host hx = elements(x), ha = elements(a);
  Kokkos::deep_copy(r, not_a_number);
  KokkosBlas::mult(0.0, r, 2.0, a, x);
  expect_equal(elements(r), each(hx, [&](auto i, auto j) { return 2 * ha(i, 0) * hx(i, j); }), "mult");
  KokkosBlas::abs(r, x);
  expect_equal(elements(r), each(hx, [&](auto i, auto j) { return std::abs(hx(i, j)); }), "abs");
  Kokkos::deep_copy(x, 4.0);
  KokkosBlas::reciprocal(x, x);
  expect_equal(elements(x), each(hx, [&](auto, auto) { return 0.25; }), "reciprocal");
}

KOKKOS_TEST(Vectors, EmptyOnes) {
  const Vector none("none", 0);
  EXPECT_EQ(KokkosBlas::dot(none, none), 0);
  EXPECT_EQ(KokkosBlas::nrm2(none), 0);
  KokkosBlas::axpby(1.0, none, 2.0, none);
  const Matrix flat("flat", 0, columns);
  KokkosBlas::scal(flat, 2.0, flat);
}
