// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <semcache/kernels/triangular.hpp>
#include <semcache/semcache.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

// Random calls that use all devices, against their definitions. The views are of any shape and any strides, with parts of other memory around them.
namespace {
using namespace test;

template <class T>
using Any = Kokkos::View<T**, Kokkos::LayoutStride, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class T>
using Line = Kokkos::View<T*, Device>;

std::mt19937 random_numbers(7);
std::size_t below(std::size_t n) { return random_numbers() % n; }

template <class T>
T number() {
  const double re = double(below(7)) - 3;
  if constexpr (std::is_floating_point<T>::value) return T(re);
  else return T(re, double(below(5)) - 2);
}
template <class T>
T nan() {
  return T(std::numeric_limits<double>::quiet_NaN());
}
template <class T>
bool is_nan(const T& x) {
  return !(x == x);
}
inline double conj_of(double x) { return x; }
template <class R>
Kokkos::complex<R> conj_of(const Kokkos::complex<R>& x) { return Kokkos::complex<R>(x.real(), -x.imag()); }
template <class T>
double distance(const T& x, const T& y) { return std::abs(std::complex<double>(x - y)); }

/// A matrix in the midst of an array, of which the program has a copy.
template <class T>
struct Part {
  Part(std::size_t rows, std::size_t columns, bool filled) : rows(rows), columns(columns) {
    const std::size_t kind = below(5), more = below(3);
    if (kind < 2) {
      strides[0] = 1;
      strides[1] = std::max<std::size_t>(1, rows) + more;
    } else if (kind < 4) {
      strides[0] = std::max<std::size_t>(1, columns) + more;
      strides[1] = 1;
    } else {
      strides[0] = 2;
      strides[1] = 2 * rows + 3;
    }
    offset = below(4);
    const std::size_t reach = rows * columns == 0 ? 0 : (rows - 1) * strides[0] + (columns - 1) * strides[1] + 1;
    all = Line<T>("all", offset + reach + 5);
    host.resize(all.extent(0));
    for (T& x : host) x = T(77);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) at(i, j) = filled ? number<T>() : nan<T>();
    put();
    view = Any<T>(all.data() + offset, Kokkos::LayoutStride(rows, strides[0], columns, strides[1]));
  }
  void put() {
    const auto mirror = Kokkos::create_mirror_view(all);
    for (std::size_t i = 0; i < host.size(); ++i) mirror(i) = host[i];
    Kokkos::deep_copy(all, mirror);
  }
  T& at(std::size_t i, std::size_t j) { return host[offset + i * strides[0] + j * strides[1]]; }
  T get(char op, std::size_t i, std::size_t j) {
    return op == 'N' ? at(i, j) : op == 'T' ? at(j, i) : conj_of(at(j, i));  // C, H
  }
  /// Compares the array with the copy, which has what is expected.
  void expect(const std::string& what) {
    const auto mirror = Kokkos::create_mirror_view(all);
    Kokkos::deep_copy(mirror, all);
    for (std::size_t i = 0; i < host.size(); ++i) ASSERT_LE(distance(T(mirror(i)), host[i]), 1e-9) << what << " at " << i << " of " << text();
  }
  std::string text() const {
    return std::to_string(rows) + "x" + std::to_string(columns) + " strides " + std::to_string(strides[0]) + "," + std::to_string(strides[1]) + " offset " +
           std::to_string(offset);
  }
  std::size_t rows, columns, strides[2], offset;
  Line<T> all;
  std::vector<T> host;
  Any<T> view;
};

/// The calls. Those of complex numbers go to what is behind the functions of Kokkos-Kernels, so that its own kernels need not be compiled for them.
/// Return false if they have been left to Kokkos-Kernels, which is not called then.
namespace call {
namespace behind = semcache::kernels::spreading;
template <class T>
constexpr bool is_public = std::is_floating_point<T>::value;

#define ATTACK_CALL(NAME, PUBLIC_CALL, CALL_BEHIND)       \
  template <class T, class... Arguments>                  \
  bool NAME(const char* ops, const Arguments&... all) {   \
    (void)ops;                                            \
    if constexpr (is_public<T>) {                         \
      PUBLIC_CALL;                                        \
      return true;                                        \
    } else {                                              \
      return CALL_BEHIND;                                 \
    }                                                     \
  }
ATTACK_CALL(gemm, KokkosBlas::gemm(ops, ops + 1, all...), behind::gemm(semcache::Exec(), ops[0], ops[1], all...))
ATTACK_CALL(gemv, KokkosBlas::gemv(ops, all...), behind::gemv(semcache::Exec(), ops[0], all...))
ATTACK_CALL(axpby, KokkosBlas::axpby(all...), behind::axpby(semcache::Exec(), all...))
ATTACK_CALL(scal, KokkosBlas::scal(all...), behind::scal(semcache::Exec(), all...))
ATTACK_CALL(trmm, KokkosBlas::trmm(ops, ops + 1, ops + 2, ops + 3, all...), behind::trmm(semcache::Exec(), ops[0], ops[1], ops[2], ops[3], all...))
ATTACK_CALL(trsm, KokkosBlas::trsm(ops, ops + 1, ops + 2, ops + 3, all...), behind::trsm(semcache::Exec(), ops[0], ops[1], ops[2], ops[3], all...))
#undef ATTACK_CALL
template <class T, class X, class Y>
bool dot(T& result, const X& x, const Y& y) {
  const Kokkos::View<T, Kokkos::HostSpace> in_host("dot");
  if constexpr (is_public<T>) result = KokkosBlas::dot(x, y);
  else if (!behind::dot(semcache::Exec(), in_host, x, y)) return false;
  else result = in_host();
  return true;
}
}  // namespace call

constexpr std::size_t sizes[] = {1, 1, 2, 3, 5, 8, 20};
std::size_t any_size() { return sizes[below(7)]; }
char any_op() { return "NTC"[below(3)]; }

template <class T>
void products() {
  int made = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t m = any_size(), n = any_size(), k = any_size();
    const char op_a = any_op(), op_b = any_op();
    const T alpha = below(5) == 0 ? T(0) : number<T>(), beta = below(3) == 0 ? T(0) : number<T>();
    const bool reads = alpha != T(0);
    // Kokkos-Kernels' own kernels read A and B where alpha is zero.
    Part<T> a(op_a == 'N' ? m : k, op_a == 'N' ? k : m, true), b(op_b == 'N' ? k : n, op_b == 'N' ? n : k, true), c(m, n, beta != T(0));
    const std::string what = std::to_string(trial) + " gemm " + op_a + op_b + " a " + a.text() + " b " + b.text() + " c " + c.text();
    const char ops[] = {op_a, op_b};
    const bool done = call::gemm<T>(ops, alpha, a.view, b.view, beta, c.view);
    made += done;
    for (std::size_t i = 0; i < m && done; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        T sum(0);
        for (std::size_t l = 0; l < k && reads; ++l) sum += a.get(op_a, i, l) * b.get(op_b, l, j);
        c.at(i, j) = (reads ? alpha * sum : T(0)) + (beta == T(0) ? T(0) : beta * c.at(i, j));
      }
    }
    if (done || beta != T(0)) {
      ASSERT_NO_FATAL_FAILURE(c.expect(what));
    }
  }
  EXPECT_GT(made, 80);
}

template <class T>
void by_vectors() {
  int made = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t m = any_size(), n = any_size();
    const char op = "NTCH"[below(4)];
    const T alpha = number<T>(), beta = below(3) == 0 ? T(0) : number<T>();
    if (alpha == T(0)) continue;
    Part<T> a(m, n, true), x(op == 'N' ? n : m, 1, true), y(op == 'N' ? m : n, 1, beta != T(0) || op != 'N');
    const auto vx = Kokkos::subview(x.view, Kokkos::ALL(), 0), vy = Kokkos::subview(y.view, Kokkos::ALL(), 0);
    const std::string what = std::to_string(trial) + " gemv " + op + " a " + a.text() + " x " + x.text() + " y " + y.text();
    const bool done = call::gemv<T>(&op, alpha, a.view, vx, beta, vy);
    made += done;
    for (std::size_t i = 0; i < y.rows && done; ++i) {
      T sum(0);
      for (std::size_t l = 0; l < x.rows; ++l) sum += a.get(op, i, l) * x.at(l, 0);
      y.at(i, 0) = alpha * sum + (beta == T(0) ? T(0) : beta * y.at(i, 0));
    }
    if (done || beta != T(0)) {
      ASSERT_NO_FATAL_FAILURE(y.expect(what));
    }
  }
  EXPECT_GT(made, 20);
}

template <class T>
void of_vectors() {
  int made = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n = below(3) == 0 ? 1 + below(2000) : any_size();
    const T alpha = number<T>(), beta = below(3) == 0 ? T(0) : number<T>();
    Part<T> x(n, 1, true), y(n, 1, beta != T(0)), z(n, 1, false);
    const auto vx = Kokkos::subview(x.view, Kokkos::ALL(), 0), vy = Kokkos::subview(y.view, Kokkos::ALL(), 0),
               vz = Kokkos::subview(z.view, Kokkos::ALL(), 0);
    const std::string what = std::to_string(trial) + " x " + x.text() + " y " + y.text();
    const bool added = call::axpby<T>("", alpha, vx, beta, vy), scaled = call::scal<T>("", vz, beta, vx);
    T dot(0), found(0);
    for (std::size_t i = 0; i < n; ++i) {
      if (added) y.at(i, 0) = alpha * x.at(i, 0) + (beta == T(0) ? T(0) : beta * y.at(i, 0));
      if (scaled) z.at(i, 0) = beta * x.at(i, 0);
      dot += conj_of(x.at(i, 0)) * y.at(i, 0);
    }
    if (added || beta != T(0)) {
      ASSERT_NO_FATAL_FAILURE(y.expect("axpby " + what));
    }
    if (scaled) {
      ASSERT_NO_FATAL_FAILURE(z.expect("scal " + what));
    }
    if (added && call::dot(found, vx, vy)) {
      ++made;
      ASSERT_LE(distance(found, dot), 1e-9) << what;
    }
  }
  EXPECT_GT(made, 20);
}

template <class T>
void triangles() {
  int made = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t m = any_size(), n = any_size();
    const char op = any_op(), side = "LR"[below(2)], uplo = "UL"[below(2)], diagonal = "UN"[below(2)];
    const std::size_t order = side == 'L' ? m : n;
    const T alpha = below(5) == 0 ? T(0) : number<T>();
    Part<T> a(order, order, false), b(m, n, alpha != T(0));
    if (a.strides[0] != 1 && a.strides[1] != 1 && order > 1) continue;
    if (b.strides[0] != 1 && b.strides[1] != 1 && m > 1 && n > 1) continue;
    for (std::size_t i = 0; i < order; ++i)
      for (std::size_t j = 0; j < order; ++j)
        if (alpha != T(0) && (uplo == 'U' ? i < j : i > j)) a.at(i, j) = number<T>() / T(8);
    // The version 3.4's own kernels read a diagonal of ones.
    for (std::size_t i = 0; i < order && alpha != T(0); ++i) a.at(i, i) = diagonal == 'U' ? T(1) : T(2);
    a.put();
    const auto element = [&](std::size_t i, std::size_t j) {
      const std::size_t r = op == 'N' ? i : j, c = op == 'N' ? j : i;
      if (r == c) return diagonal == 'U' ? T(1) : conj_of(a.at(r, c));
      if (uplo == 'U' ? r > c : r < c) return T(0);
      return op == 'C' ? conj_of(a.at(r, c)) : a.at(r, c);
    };
    const std::string what = std::to_string(trial) + " " + side + uplo + op + diagonal + " a " + a.text() + " b " + b.text();
    const std::vector<T> before = b.host;
    const char ops[] = {side, uplo, op, diagonal};
    if (!call::trmm<T>(ops, alpha, a.view, b.view)) {
      if (alpha != T(0)) {
        ASSERT_NO_FATAL_FAILURE(b.expect("no trmm " + what));
      }
      continue;
    }
    ++made;
    Part<T> expected = b;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        T sum(0);
        for (std::size_t l = 0; l < order && alpha != T(0); ++l) sum += side == 'L' ? element(i, l) * b.at(l, j) : b.at(i, l) * element(l, j);
        expected.at(i, j) = alpha == T(0) ? T(0) : alpha * sum;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expected.expect("trmm " + what));
    if (alpha == T(0)) continue;
    EXPECT_TRUE(call::trsm<T>(ops, T(1) / alpha, a.view, b.view));
    ASSERT_NO_FATAL_FAILURE(b.expect("trsm " + what));
  }
  EXPECT_GT(made, 20);
}

}  // namespace

KOKKOS_TEST(SpreadAttacks, RandomProducts) {
  products<double>();
  products<Kokkos::complex<double>>();
}
// What a call overwrites is not fetched. The device's memory has NaN of an array before it, which must not get into the result: kernels of
// Kokkos-Kernels 3.4 multiply the old result of a transposed product by zero.
KOKKOS_TEST(SpreadAttacks, AProductByAVectorIntoMemoryWithNan) {
  const std::size_t n = 40;
  const Line<double> of_x("x", 2 * n), of_a("a", 4 * n * n + 2 * n);
  Kokkos::deep_copy(of_x, 1.0);
  Kokkos::deep_copy(of_a, 1.0);
  for (const char op : {'N', 'T', 'C'}) {
    {
      const test::Vector before("before", n);
      Kokkos::parallel_for("nan", Range(0, int(n)), KOKKOS_LAMBDA(int i) { before(i) = std::nan(""); });
      semcache::Exec().fence();
    }
    const test::Vector y("y", n);
    fill(y, 1);
    // The types are those of random products.
    const Any<double> a(of_a.data(), Kokkos::LayoutStride(n, 2, n, 2 * n)), x(of_x.data(), Kokkos::LayoutStride(n, 1, 1, n)),
        result(y.data(), Kokkos::LayoutStride(n, 1, 1, n));
    KokkosBlas::gemv(&op, 2.0, a, Kokkos::subview(x, Kokkos::ALL(), 0), 0.0, Kokkos::subview(result, Kokkos::ALL(), 0));
    const Host found = elements(y);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(found(i, 0), 2.0 * n) << op << i;
  }
}
KOKKOS_TEST(SpreadAttacks, RandomProductsByVectors) {
  by_vectors<double>();
  by_vectors<Kokkos::complex<double>>();
}
KOKKOS_TEST(SpreadAttacks, RandomFunctionsOfVectors) {
  of_vectors<double>();
  of_vectors<Kokkos::complex<double>>();
}
KOKKOS_TEST(SpreadAttacks, RandomTriangles) {
  triangles<double>();
  triangles<Kokkos::complex<double>>();
}

// An operand without columns whose rows begin at the same place. (Kokkos-Kernels 3.4 itself does not come here where a sum has no terms.)
KOKKOS_TEST(SpreadAttacks, AProductWithoutTerms) {
  const std::size_t m = 6, n = 5;
  const Line<double> memory("memory", 100), c("c", m * n);
  Kokkos::deep_copy(c, 2.0);
  const Any<double> a(memory.data(), Kokkos::LayoutStride(0, m, m, 1)), b(memory.data(), Kokkos::LayoutStride(n, 0, 0, 1));
  const Any<double> result(c.data(), Kokkos::LayoutStride(m, 1, n, m));
  const bool spread = semcache::kernels::spreading::gemm(semcache::Exec(), 'T', 'T', 1.0, a, b, 3.0, result);
  EXPECT_EQ(spread, semcache::device_count() > 1 || semcache::runtime::spread() == semcache::policy::Spread::always);
  if (!spread) return;
  const Host found = elements(result);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) ASSERT_EQ(found(i, j), 6.0);
  }
}
