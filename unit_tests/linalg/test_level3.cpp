// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <semcache/policy/level3.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

// BLAS level 3 but for gemm, against its definitions.
namespace semcache::linalg {
namespace {

using Size = std::size_t;
template <class T>
using Elements = std::function<T(Size, Size)>;  // by row and column

template <class T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return std::conj(x);
}
template <class T>
T real_part(T x) {
  return T(std::real(x));
}
template <class T>
T not_a_number() {
  return T(std::numeric_limits<decltype(std::abs(T()))>::quiet_NaN());
}
std::int64_t number_of(Size n) { return static_cast<std::int64_t>(n); }

bool is_in(Triangle t, Size i, Size j) { return t == Triangle::lower ? i >= j : i <= j; }

template <class T>
Elements<T> transposed(Transpose t, const Elements<T>& a) {
  if (t == Transpose::no) return a;
  return [=](Size i, Size j) { return t == Transpose::yes ? a(j, i) : conjugate(a(j, i)); };
}
template <class T>
Elements<T> product(const Elements<T>& a, const Elements<T>& b, Size terms) {
  return [=](Size i, Size j) {
    T sum(0);
    for (Size l = 0; l < terms; ++l) sum += a(i, l) * b(l, j);
    return sum;
  };
}

/// A column-major matrix on the host, and the same as an operand.
template <class T>
struct TestMatrix {
  TestMatrix(Size rows_, Size columns_, Size leading_, Where where, test::RandomNumbers<T>& number)
      : rows(rows_), columns(columns_), leading(leading_), host(leading_ * columns_ + 1), array(host.size(), where) {
    for (T& x : host) x = number();
  }
  [[nodiscard]] T& at(Size i, Size j) { return host[j * leading + i]; }
  [[nodiscard]] Elements<T> elements() const {
    return [this](Size i, Size j) { return host[j * leading + i]; };
  }
  void send() { array.set(host); }
  T* data() { return array.data(); }
  std::int64_t ld() const { return static_cast<std::int64_t>(leading); }

  Size rows, columns, leading;
  std::vector<T> host;
  Array<T> array;
};

enum class Routine { symm, hemm, trmm, trsm, syrk, herk, syr2k, her2k };
const char* const names[] = {"symm", "hemm", "trmm", "trsm", "syrk", "herk", "syr2k", "her2k"};

template <class T>
class LinalgLevel3 : public LinalgTest<> {
 protected:
  using Real = decltype(std::abs(T()));
  static constexpr bool is_complex = !std::is_floating_point_v<T>;

  Size pick(Size n) { return static_cast<Size>(choice_() % n); }
  Size size() { return pick(4) == 0 ? pick(3) : pick(40); }
  Size leading(Size rows) { return std::max<Size>(1, rows) + (pick(2) == 0 ? 0 : pick(5)); }
  Where place() { return std::array<Where, 4>{Where::host, Where::home, Where::last_device, Where::adopted}[pick(4)]; }
  T coefficient() { return pick(5) == 0 ? T(0) : pick(4) == 0 ? T(1) : number_(); }

  void expect_near(const TestMatrix<T>& matrix, const std::vector<T>& expected, const std::function<bool(Size, Size)>& is_exact, Size terms) {
    const std::vector<T> result = matrix.array.get();
    const double tolerance = 100.0 * static_cast<double>(terms + 2) * std::numeric_limits<Real>::epsilon();
    for (Size e = 0; e < result.size(); ++e) {
      const Size i = e % matrix.leading, j = e / matrix.leading;
      if (i >= matrix.rows || j >= matrix.columns || is_exact(i, j)) {
        ASSERT_EQ(result[e], expected[e]) << i << ", " << j;
      } else {
        ASSERT_NEAR(std::abs(result[e] - expected[e]), 0.0, tolerance * (1 + std::abs(expected[e]))) << i << ", " << j;
      }
    }
  }

  /// symm, hemm, trmm, trsm. What A has in the other triangle, and on a diagonal of ones, is NaN.
  void with_a_at_a_side(Routine routine) {
    const Side side = pick(2) == 0 ? Side::left : Side::right;
    const Triangle triangle = pick(2) == 0 ? Triangle::upper : Triangle::lower;
    const Transpose transpose = std::array<Transpose, 3>{Transpose::no, Transpose::yes, Transpose::conjugate}[pick(3)];
    const Diagonal diagonal = pick(2) == 0 ? Diagonal::unit : Diagonal::non_unit;
    const Size m = size(), n = size(), order = side == Side::left ? m : n;
    const bool triangular = routine == Routine::trmm || routine == Routine::trsm, hermitian = routine == Routine::hemm;
    const T alpha = coefficient(), beta = coefficient();
    SCOPED_TRACE(std::string(static_cast<char>(side) + std::string(1, static_cast<char>(triangle))) + static_cast<char>(transpose) +
                 static_cast<char>(diagonal) + ", " + std::to_string(m) + " x " + std::to_string(n));
    TestMatrix<T> a(order, order, leading(order), place(), number_), b(m, n, leading(m), place(), number_), c(m, n, leading(m), place(), number_);
    for (Size j = 0; j < order; ++j) {
      for (Size i = 0; i < order; ++i) {
        T& x = a.at(i, j);
        if (!is_in(triangle, i, j) || (triangular && diagonal == Diagonal::unit && i == j)) x = not_a_number<T>();
        if (routine == Routine::trsm) x = i == j ? x + T(4) : x / T(static_cast<Real>(order));  // far from singular
      }
    }
    const std::vector<T> plain = a.host;
    const Elements<T> full = [&](Size i, Size j) -> T {
      if (triangular) {
        if (i == j && diagonal == Diagonal::unit) return T(1);
        return is_in(triangle, i, j) ? a.at(i, j) : T(0);
      }
      if (i == j) return hermitian ? real_part(a.at(i, i)) : a.at(i, i);
      if (is_in(triangle, i, j)) return a.at(i, j);
      return hermitian ? conjugate(a.at(j, i)) : a.at(j, i);
    };
    if (alpha == T(0)) {
      if (triangular) b.at(0, 0) = m * n > 0 ? not_a_number<T>() : b.at(0, 0);
      std::fill(a.host.begin(), a.host.end(), not_a_number<T>());
    }
    if (!triangular && beta == T(0)) std::fill_n(c.host.begin(), m * n > 0 ? m : 0, not_a_number<T>());
    a.send();
    b.send();
    c.send();
    const auto zero_or = [&](const T& factor, const std::function<T()>& value) { return factor == T(0) ? T(0) : factor * value(); };
    for (int call = 0; call < 2; ++call) {  // the second call finds tiles of the first
      const Elements<T> op = transposed(transpose, full);
      TestMatrix<T>& result = triangular ? b : c;
      std::vector<T> expected = result.host;
      const auto mm = number_of(m), nn = number_of(n);
      switch (routine) {
        case Routine::symm: symm(side, triangle, mm, nn, alpha, a.data(), a.ld(), b.data(), b.ld(), beta, c.data(), c.ld()); break;
        case Routine::hemm:
          if constexpr (is_complex) hemm(side, triangle, mm, nn, alpha, a.data(), a.ld(), b.data(), b.ld(), beta, c.data(), c.ld());
          break;
        case Routine::trmm: trmm(side, triangle, transpose, diagonal, mm, nn, alpha, a.data(), a.ld(), b.data(), b.ld()); break;
        default: trsm(side, triangle, transpose, diagonal, mm, nn, alpha, a.data(), a.ld(), b.data(), b.ld()); break;
      }
      if (routine == Routine::trsm) {
        // What is solved: op(A) times the result is alpha B.
        const std::vector<T> solution = b.array.get(), right = b.host;
        b.host = solution;
        const Elements<T> back = side == Side::left ? product<T>(op, b.elements(), order) : product<T>(b.elements(), op, order);
        const double tolerance = 100.0 * static_cast<double>(order + 2) * std::numeric_limits<Real>::epsilon();
        for (Size e = 0; e < solution.size(); ++e) {
          const Size i = e % b.leading, j = e / b.leading;
          if (i >= m || j >= n) {
            ASSERT_EQ(solution[e], right[e]) << i << ", " << j;
          } else if (alpha == T(0)) {
            ASSERT_EQ(solution[e], T(0)) << i << ", " << j;
          } else {
            ASSERT_NEAR(std::abs(back(i, j) - alpha * right[e]), 0.0, tolerance) << i << ", " << j;
          }
        }
        continue;
      }
      const Elements<T> terms = triangular ? (side == Side::left ? product<T>(op, b.elements(), order) : product<T>(b.elements(), op, order))
                                           : (side == Side::left ? product<T>(full, b.elements(), order) : product<T>(b.elements(), full, order));
      for (Size j = 0; j < n; ++j) {
        for (Size i = 0; i < m; ++i) {
          T& x = expected[j * result.leading + i];
          x = zero_or(alpha, [&] { return terms(i, j); }) + (triangular ? T(0) : zero_or(beta, [&] { return x; }));
        }
      }
      expect_near(result, expected, [&](Size, Size) { return alpha == T(0) && (beta == T(0) || beta == T(1) || triangular); }, order);
      result.host = result.array.get();
    }
  }

  /// syrk, herk, syr2k, her2k. The other triangle of C has numbers that stay as they are.
  void update_of_a_triangle(Routine routine) {
    const bool hermitian = routine == Routine::herk || routine == Routine::her2k, two = routine == Routine::syr2k || routine == Routine::her2k;
    const Triangle triangle = pick(2) == 0 ? Triangle::upper : Triangle::lower;
    const Transpose crossed = hermitian || (!is_complex && pick(2) == 0) ? Transpose::conjugate : Transpose::yes;
    const Transpose transpose = pick(2) == 0 ? Transpose::no : crossed;
    const Size n = size(), k = pick(5) == 0 ? pick(2) : pick(20);
    const T beta = hermitian ? real_part(coefficient()) : coefficient(), alpha = routine == Routine::herk ? real_part(coefficient()) : coefficient();
    SCOPED_TRACE(std::string(1, static_cast<char>(triangle)) + static_cast<char>(transpose) + ", " + std::to_string(n) + " of " + std::to_string(k));
    const bool no = transpose == Transpose::no;
    const Size rows = no ? n : k, columns = no ? k : n;
    TestMatrix<T> a(rows, columns, leading(rows), place(), number_), b(rows, columns, leading(rows), place(), number_),
        c(n, n, leading(n), place(), number_);
    if (alpha == T(0)) std::fill(a.host.begin(), a.host.end(), not_a_number<T>());
    if (beta == T(0)) {
      for (Size j = 0; j < n; ++j) {
        for (Size i = 0; i < n; ++i) {
          if (is_in(triangle, i, j)) c.at(i, j) = not_a_number<T>();
        }
      }
    }
    a.send();
    b.send();
    c.send();
    for (int call = 0; call < 2; ++call) {
      std::vector<T> expected = c.host;
      const auto nn = number_of(n), kk = number_of(k);
      switch (routine) {
        case Routine::syrk: syrk(triangle, transpose, nn, kk, alpha, a.data(), a.ld(), beta, c.data(), c.ld()); break;
        case Routine::syr2k: syr2k(triangle, transpose, nn, kk, alpha, a.data(), a.ld(), b.data(), b.ld(), beta, c.data(), c.ld()); break;
        case Routine::herk:
          if constexpr (is_complex) herk(triangle, transpose, nn, kk, std::real(alpha), a.data(), a.ld(), std::real(beta), c.data(), c.ld());
          break;
        default:
          if constexpr (is_complex) her2k(triangle, transpose, nn, kk, alpha, a.data(), a.ld(), b.data(), b.ld(), std::real(beta), c.data(), c.ld());
          break;
      }
      const auto times = [&](TestMatrix<T>& x, TestMatrix<T>& y) {
        return no ? product<T>(x.elements(), transposed(crossed, y.elements()), k) : product<T>(transposed(crossed, x.elements()), y.elements(), k);
      };
      const Elements<T> first = two ? times(a, b) : times(a, a), second = times(b, a);
      const bool stays = (alpha == T(0) || k == 0) && beta == T(1);
      for (Size j = 0; j < n; ++j) {
        for (Size i = 0; i < n; ++i) {
          if (!is_in(triangle, i, j) || stays) continue;
          T& x = expected[j * c.leading + i];
          const T before = hermitian && i == j ? real_part(x) : x;
          x = beta == T(0) ? T(0) : beta * before;
          if (alpha != T(0)) x += alpha * first(i, j) + (two ? (hermitian ? conjugate(alpha) : alpha) * second(i, j) : T(0));
          if (hermitian && i == j) {
            x = real_part(x);
            ASSERT_EQ(std::imag(c.array.get()[j * c.leading + i]), Real(0)) << i;
          }
        }
      }
      expect_near(c, expected, [&](Size i, Size j) { return !is_in(triangle, i, j) || stays; }, 2 * k);
      c.host = c.array.get();
    }
  }

  std::mt19937_64 choice_{77};
  test::RandomNumbers<T> number_{std::mt19937_64(20261128)};
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LinalgLevel3, Types, );

TYPED_TEST(LinalgLevel3, CallsOfRandomShapesAreRightOnOneToEightDevices) {
  for (int round = 0; round < 40; ++round) {
    const int devices = 1 + round % 8;
    set_options({Spread::always, 0, this->pick(4)});
    on_devices(devices, [&] {
      (void)runtime::device_ordinal(0);
      for (int r = 0; r < 8; ++r) {
        const auto routine = static_cast<Routine>(r);
        const bool hermitian = routine == Routine::hemm || routine == Routine::herk || routine == Routine::her2k;
        if (hermitian && !TestFixture::is_complex) continue;
        SCOPED_TRACE("devices " + std::to_string(devices) + ", round " + std::to_string(round) + ", " + names[r]);
        if (routine < Routine::syrk) {
          this->with_a_at_a_side(routine);
        } else {
          this->update_of_a_triangle(routine);
        }
        if (this->HasFatalFailure()) return;
      }
    });
    if (this->HasFatalFailure()) return;
  }
}

class LinalgLevel3Bytes : public LinalgTest<> {
 protected:
  LinalgLevel3Bytes() : LinalgTest({Spread::always, 0, 2}) {}
};

/// Each operand crosses the host's link once, A reaches the other devices from its shares, a second solution moves nothing.
TEST_F(LinalgLevel3Bytes, OfATriangularSolution) {
  constexpr Size n = 64, columns = 96;
  constexpr std::uint64_t a_bytes = n * n * sizeof(double), b_bytes = n * columns * sizeof(double);
  for (const Side side : {Side::left, Side::right}) {
    for (int p = 1; p <= 8; ++p) {
      SCOPED_TRACE(p);
      on_devices(p, [&] {
        Array<double> a(n * n, Where::host), b(n * columns, Where::host);
        for (Size i = 0; i < n * n; ++i) a.data()[i] = i % (n + 1) == 0 ? 2.0 : 0.0;  // twice the identity
        for (Size i = 0; i < n * columns; ++i) b.data()[i] = static_cast<double>(i);
        const std::int64_t rows_of_b = side == Side::left ? n : columns, columns_of_b = side == Side::left ? columns : n;
        const Bytes before = moved();
        const auto solve = [&] {
          trsm(side, Triangle::lower, Transpose::no, Diagonal::non_unit, rows_of_b, columns_of_b, 1.0, a.data(), n, b.data(), rows_of_b);
        };
        solve();
        const Bytes first = moved();
        EXPECT_EQ(first - before, (Bytes{a_bytes + b_bytes, 0, static_cast<std::uint64_t>(p - 1) * a_bytes}));
        solve();
        EXPECT_EQ(moved(), first);
        EXPECT_EQ(b.data()[100], 25.0);
        EXPECT_EQ(b.get().back(), static_cast<double>(n * columns - 1) / 4);
        EXPECT_EQ(moved() - first, (Bytes{0, b_bytes, 0}));
      });
    }
  }
}

/// A device that holds columns of the result already computes them.
TEST_F(LinalgLevel3Bytes, OfColumnsThatADeviceHolds) {
  constexpr Size n = 48;
  constexpr std::uint64_t a_bytes = n * n * sizeof(double);
  on_devices(2, [&] {
    Array<double> a(n * n, Where::host), b(n * n, Where::host);
    for (Size i = 0; i < n * n; ++i) a.data()[i] = i % (n + 1) == 0 ? 2.0 : 0.0;
    std::fill(b.data(), b.data() + n * n, 8.0);
    const auto solve = [&](double* first, Size columns) {
      trsm(Side::left, Triangle::upper, Transpose::no, Diagonal::non_unit, n, number_of(columns), 1.0, a.data(), n, first, n);
    };
    set_options({Spread::always, 1, 1});
    solve(b.data() + n * n / 2, n / 2);  // on device 0
    const Bytes before = moved();
    set_options({Spread::always, 0, 1});
    solve(b.data(), n);
    EXPECT_EQ(moved() - before, (Bytes{a_bytes / 2, 0, a_bytes}));
    EXPECT_EQ(b.data()[0], 4.0);
    EXPECT_EQ(b.data()[n * n - 1], 2.0);
  });
}

/// The input of syrk crosses the host's link once, whichever rows or columns of it the devices need; so do the parts of C, of which only the blocks
/// on the diagonal are read where beta is zero.
TEST_F(LinalgLevel3Bytes, OfAnUpdateOfATriangle) {
  constexpr Size n = 96, k = 40;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
      for (int p = 1; p <= 8; ++p) {
        SCOPED_TRACE(std::to_string(p) + " " + static_cast<char>(triangle) + static_cast<char>(transpose));
        on_devices(p, [&] {
          Array<double> a(n * k, Where::host), c(n * n, Where::host);
          a.set(std::vector<double>(n * k, 1.0));
          c.set(std::vector<double>(n * n, 2.0));
          const auto update = [&](double beta) {
            syrk(triangle, transpose, n, k, 1.0, a.data(), transpose == Transpose::no ? n : k, beta, c.data(), n);
          };
          const auto part = triangle == Triangle::lower ? policy::Independent::columns_of_lower : policy::Independent::columns_of_upper;
          std::uint64_t blocks = 0;  // elements
          for (const policy::Run& share : policy::cut_by_area({0, n}, n, part, static_cast<Size>(p))) {
            for (const policy::Run& r : policy::cut_by_area(share, n, part, 2)) blocks += r.size() * r.size();
          }
          const Bytes before = moved();
          update(0.0);
          const Bytes first = moved();
          EXPECT_EQ(first.h2d - before.h2d, (n * k + blocks) * sizeof(double));
          EXPECT_EQ(first.d2h, before.d2h);
          EXPECT_LE(first.between - before.between, static_cast<std::uint64_t>(p - 1) * n * k * sizeof(double));
          update(1.0);
          EXPECT_EQ(moved(), first);
          const std::vector<double> result = c.get();
          for (Size e = 0; e < result.size(); ++e) ASSERT_EQ(result[e], is_in(triangle, e % n, e / n) ? 2.0 * k : 2.0) << e;
        });
      }
    }
  }
}

/// A Cholesky factorization in place: operands are parts of one array, and the other triangle stays.
TEST_F(LinalgLevel3Bytes, OperandsMayBePartsOfOneArray) {
  constexpr Size n = 60, block = 20, ld = 63;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (const int devices : {1, 3}) {
      on_devices(devices, [&] {
        std::vector<double> factor(ld * n, -7.0), whole(ld * n, -5.0);
        const auto at = [&](std::vector<double>& x, Size i, Size j) -> double& {  // of the lower triangle
          return triangle == Triangle::lower ? x[j * ld + i] : x[i * ld + j];
        };
        for (Size j = 0; j < n; ++j) {
          for (Size i = j; i < n; ++i) at(factor, i, j) = i == j ? 3.0 : static_cast<double>((i * 7 + j) % 5) / 8;
        }
        for (Size j = 0; j < n; ++j) {
          for (Size i = j; i < n; ++i) {
            double sum = 0;
            for (Size l = 0; l <= j; ++l) sum += at(factor, i, l) * at(factor, j, l);
            at(whole, i, j) = sum;
          }
        }
        Array<double> a(whole.size(), Where::host);
        a.set(whole);
        const auto pointer = [&](Size i, Size j) { return a.data() + (triangle == Triangle::lower ? j * ld + i : i * ld + j); };
        for (Size j = 0; j < n; j += block) {
          for (Size c = j; c < j + block; ++c) {  // the block on the diagonal, by the host
            for (Size i = c; i < j + block; ++i) {
              double sum = *pointer(i, c);
              for (Size l = j; l < c; ++l) sum -= *pointer(i, l) * *pointer(c, l);
              *pointer(i, c) = i == c ? std::sqrt(sum) : sum / *pointer(c, c);
            }
          }
          const Size below = n - j - block;
          if (below == 0) break;
          const bool lower = triangle == Triangle::lower;
          trsm(lower ? Side::right : Side::left, triangle, Transpose::yes, Diagonal::non_unit, number_of(lower ? below : block),
               number_of(lower ? block : below), 1.0, pointer(j, j), ld, pointer(j + block, j), ld);
          syrk(triangle, lower ? Transpose::no : Transpose::yes, number_of(below), block, -1.0, pointer(j + block, j), ld, 1.0,
               pointer(j + block, j + block), ld);
        }
        const std::vector<double> result = a.get();
        for (Size j = 0; j < n; ++j) {
          for (Size i = 0; i < ld; ++i) {
            const bool written = i < n && is_in(triangle, i, j);
            if (written) ASSERT_NEAR(result[j * ld + i], factor[j * ld + i], 1e-12) << i << ", " << j;
            else ASSERT_EQ(result[j * ld + i], -5.0) << i << ", " << j;
          }
        }
      });
    }
  }
}

/// Operands that exceed a device's memory are cut into tasks that fit.
TEST_F(LinalgLevel3Bytes, OfOperandsLargerThanADevice) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "1M", 1);
  const base::AtEnd default_again([] { ::unsetenv("SEMCACHE_DEVICE_MEMORY"); });
  for (const int devices : {1, 3}) {
    for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
      on_devices(devices, [&] {
        constexpr Size n = 500, k = 260;  // C: 1.9 MiB, A and B: 1 MiB
        Array<double> a(n * k, Where::host), b(n * k, Where::host), c(n * n, Where::host);
        a.set(std::vector<double>(n * k, 1.0));
        b.set(std::vector<double>(n * k, 2.0));
        c.set(std::vector<double>(n * n, -1.0));
        syr2k(triangle, Transpose::no, n, k, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
        syrk(triangle, Transpose::yes, n, k, 1.0, a.data(), k, 1.0, c.data(), n);
        const std::vector<double> result = c.get();
        for (Size e = 0; e < result.size(); ++e) ASSERT_EQ(result[e], is_in(triangle, e % n, e / n) ? 5.0 * k : -1.0) << e;

        constexpr Size order = 100;  // A: 78 KiB, B and C: 1.5 MiB
        Array<double> t(order * order, Where::host), x(order * 2000, Where::host), y(order * 2000, Where::host);
        std::vector<double> ones(order * order, 0.0);
        for (Size j = 0; j < order; ++j) {
          for (Size i = 0; i < order; ++i) ones[j * order + i] = is_in(triangle, i, j) ? 1.0 : not_a_number<double>();
        }
        t.set(ones);
        x.set(std::vector<double>(order * 2000, 1.0));
        for (const Side side : {Side::left, Side::right}) {
          const std::int64_t rows = side == Side::left ? order : 2000, columns = side == Side::left ? 2000 : order;
          symm(side, triangle, rows, columns, 1.0, t.data(), order, x.data(), rows, 0.0, y.data(), rows);
          ASSERT_EQ(y.get(), std::vector<double>(order * 2000, order));
          trmm(side, triangle, Transpose::no, Diagonal::non_unit, rows, columns, 1.0, t.data(), order, x.data(), rows);
          trsm(side, triangle, Transpose::no, Diagonal::non_unit, rows, columns, 1.0, t.data(), order, x.data(), rows);
          ASSERT_EQ(x.get(), std::vector<double>(order * 2000, 1.0));
        }
      });
    }
  }
}

/// A matrix A that no device has room for is an error that says so, and nothing has changed.
TEST_F(LinalgLevel3Bytes, OfAMatrixThatNoDeviceHasRoomFor) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "64K", 1);
  const base::AtEnd default_again([] { ::unsetenv("SEMCACHE_DEVICE_MEMORY"); });
  on_devices(2, [&] {
    constexpr Size n = 128;
    Array<double> a(n * n, Where::host), b(n * n, Where::host);
    a.set(std::vector<double>(n * n, 1.0));
    b.set(std::vector<double>(n * n, 3.0));
    EXPECT_THROW(trsm(Side::left, Triangle::lower, Transpose::no, Diagonal::unit, n, n, 1.0, a.data(), n, b.data(), n), OutOfMemory);
    EXPECT_EQ(b.get(), std::vector<double>(n * n, 3.0));
    Array<double> wide(n * 64 * 5, Where::host);  // one element's terms: 40 KiB twice
    EXPECT_THROW(syrk(Triangle::lower, Transpose::yes, 8, n * 40, 1.0, wide.data(), n * 40, 1.0, b.data(), n), OutOfMemory);
    EXPECT_EQ(b.get(), std::vector<double>(n * n, 3.0));
  });
}

/// What a call refuses names the argument, and nothing has changed.
TEST_F(LinalgLevel3Bytes, OfRefusedCalls) {
  Array<double> a(100, Where::host), b(100, Where::host), c(100, Where::host);
  Array<std::complex<double>> z(100, Where::host), w(100, Where::host);
  std::vector<double> untracked(100);
  c.set(std::vector<double>(100, 9.0));
  w.set(std::vector<std::complex<double>>(100, 9.0));
  const auto says = [&](const std::function<void()>& call, const std::string& part) {
    std::string text = "no error";
    try {
      call();
    } catch (const UsageError& e) {
      text = e.what();
    }
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto no = Transpose::no;
  const auto lower = Triangle::lower;
  const auto left = Side::left, right = Side::right;
  const auto unit = Diagonal::unit;
  using Z = std::complex<double>;
  says([&] { symm(left, lower, -1, 1, 1.0, a.data(), 10, b.data(), 10, 0.0, c.data(), 10); }, "linalg::symm: m is -1");
  says([&] { symm(left, lower, 10, 5, 1.0, a.data(), 9, b.data(), 10, 0.0, c.data(), 10); }, "leading dimension of A is 9, but it has 10 rows");
  says([&] { symm(right, lower, 5, 10, 1.0, a.data(), 9, b.data(), 10, 0.0, c.data(), 10); }, "leading dimension of A is 9, but it has 10 rows");
  says([&] { symm(left, lower, 10, 5, 1.0, a.data(), 10, b.data(), 9, 0.0, c.data(), 10); }, "leading dimension of B is 9");
  says([&] { symm(left, lower, 10, 5, 1.0, a.data(), 10, b.data(), 10, 0.0, c.data(), 9); }, "leading dimension of C is 9");
  says([&] { symm(static_cast<Side>('X'), lower, 1, 1, 1.0, a.data(), 1, b.data(), 1, 0.0, c.data(), 1); },
       "the side is 'X'; it must be Side::left or Side::right");
  says([&] { trsm(left, static_cast<Triangle>(0), no, unit, 1, 1, 1.0, a.data(), 1, c.data(), 1); }, "the triangle is 0; it must be Triangle::upper or");
  says([&] { trsm(left, lower, static_cast<Transpose>('H'), unit, 1, 1, 1.0, a.data(), 1, c.data(), 1); }, "linalg::trsm: the transpose is 'H'");
  says([&] { trmm(left, lower, no, static_cast<Diagonal>('x'), 1, 1, 1.0, a.data(), 1, c.data(), 1); }, "linalg::trmm: the diagonal is 'x'");
  says([&] { trmm(right, lower, no, unit, 3, std::int64_t{1} << 32, 1.0, a.data(), 10, c.data(), 10); }, "n is 4294967296");
  says([&] { syrk(lower, no, 10, -3, 1.0, a.data(), 10, 0.0, c.data(), 10); }, "linalg::syrk: k is -3");
  says([&] { syrk(lower, Transpose::yes, 10, 5, 1.0, a.data(), 4, 0.0, c.data(), 10); }, "leading dimension of A is 4, but it has 5 rows");
  says([&] { syrk(lower, Transpose::conjugate, 10, 5, Z(1), z.data(), 5, Z(0), w.data(), 10); },
       "linalg::syrk: the transpose is 'C'; it must be Transpose::no or Transpose::yes");
  says([&] { herk(lower, Transpose::yes, 10, 5, 1.0, z.data(), 5, 0.0, w.data(), 10); },
       "linalg::herk: the transpose is 'T'; it must be Transpose::no or Transpose::conjugate");
  says([&] { her2k(lower, no, 10, 5, Z(1), z.data(), 10, z.data(), 9, 0.0, w.data(), 10); }, "linalg::her2k: the leading dimension of B is 9");
  says([&] { hemm(left, lower, 10, 5, Z(1), z.data(), 10, z.data(), 9, Z(0), w.data(), 10); }, "linalg::hemm: the leading dimension of B is 9");
  EXPECT_THROW(trsm(left, lower, no, unit, 10, 5, 1.0, untracked.data(), 10, c.data(), 10), UsageError);
  EXPECT_THROW(syrk(lower, no, 10, 11, 1.0, a.data(), 10, 0.0, c.data(), 10), UsageError);  // A leaves its array
  EXPECT_EQ(c.get(), std::vector<double>(100, 9.0));
  EXPECT_EQ(w.get(), std::vector<Z>(100, 9.0));
}

}  // namespace
}  // namespace semcache::linalg
