// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Calls of which other files test one type: random shapes in all four types, on 1 to 8 devices, against sums by the host.
namespace semcache::linalg {
namespace {

constexpr Where places[] = {Where::host, Where::home, Where::last_device, Where::adopted};
constexpr int most_devices = 8;

template <class T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return std::conj(x);
}

template <class T>
class LinalgTypes : public LinalgTest<> {
 protected:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(choice_() % n); }
  Where place() { return places[pick(4)]; }
  std::vector<T> filled(std::size_t count) {
    std::vector<T> v(count);
    for (T& x : v) x = number_();
    return v;
  }
  /// Fails for the first element that differs by more than sums of so many terms may.
  static void expect_near(const std::vector<T>& is, const std::vector<T>& expected, std::size_t terms) {
    const double tolerance = 40.0 * static_cast<double>(terms + 2) * std::numeric_limits<decltype(std::abs(T()))>::epsilon();
    ASSERT_EQ(is.size(), expected.size());
    for (std::size_t i = 0; i < is.size(); ++i) ASSERT_NEAR(std::abs(is[i] - expected[i]), 0.0, tolerance) << i;
  }
  T number() { return number_(); }

 private:
  std::mt19937_64 choice_{17};
  test::RandomNumbers<T> number_{std::mt19937_64(20261129)};
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LinalgTypes, Types, );

TYPED_TEST(LinalgTypes, AMatrixTimesAVector) {
  using T = TypeParam;
  const Transpose transposes[] = {Transpose::no, Transpose::yes, Transpose::conjugate};
  for (int round = 0; round < 32; ++round) {
    const int devices = 1 + round % most_devices;
    const std::size_t m = this->pick(4) == 0 ? this->pick(3) : this->pick(90), n = this->pick(4) == 0 ? this->pick(3) : this->pick(90);
    const std::size_t ld = std::max<std::size_t>(1, m) + this->pick(4);
    const Transpose t = transposes[this->pick(3)];
    const std::size_t results = t == Transpose::no ? m : n, terms = t == Transpose::no ? n : m;
    const T alpha = this->number(), beta = this->pick(2) == 0 ? T(0) : this->number();
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + ", " + static_cast<char>(t) + " on " + std::to_string(devices));
    on_devices(devices, [&] {
      const std::vector<T> host_a = this->filled(ld * n + 1), host_x = this->filled(terms + 1);
      std::vector<T> host_y = this->filled(results + 1);
      Array<T> a(host_a.size(), this->place()), x(host_x.size(), this->place()), y(host_y.size(), this->place());
      a.set(host_a);
      x.set(host_x);
      y.set(host_y);
      for (int call = 0; call < 2; ++call) {  // the second call finds tiles of the first
        gemv(t, static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), alpha, a.data(), static_cast<std::int64_t>(ld), x.data(), beta, y.data());
        for (std::size_t i = 0; i < results && m > 0 && n > 0; ++i) {
          T sum(0);
          for (std::size_t k = 0; k < terms; ++k) {
            const T element = t == Transpose::no ? host_a[k * ld + i] : host_a[i * ld + k];
            sum += (t == Transpose::conjugate ? conjugate(element) : element) * host_x[k];
          }
          host_y[i] = alpha * sum + (beta == T(0) ? T(0) : beta * host_y[i]);
        }
      }
      this->expect_near(y.get(), host_y, terms * 4);
    });
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(LinalgTypes, ASparseMatrixTimesOneAndSeveralVectors) {
  using T = TypeParam;
  for (int round = 0; round < 16; ++round) {
    const std::size_t rows = 1 + this->pick(300), columns = 1 + this->pick(200), vectors = 1 + this->pick(9);
    std::vector<std::int32_t> row_pointers{0}, column_indices;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t e = this->pick(4) == 0 ? 0 : this->pick(9); e > 0; --e) {
        column_indices.push_back(static_cast<std::int32_t>(this->pick(columns)));
      }
      row_pointers.push_back(static_cast<std::int32_t>(column_indices.size()));
    }
    const std::vector<T> values = this->filled(column_indices.size() + 1), host_x = this->filled(columns * vectors);
    const std::vector<T> before = this->filled(rows * vectors);
    const T alpha = this->number(), beta = this->pick(2) == 0 ? T(0) : this->number();
    std::vector<T> expected = before;
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t i = 0; i < rows; ++i) {
        T sum(0);
        for (auto e = static_cast<std::size_t>(row_pointers[i]); e < static_cast<std::size_t>(row_pointers[i + 1]); ++e) {
          sum += values[e] * host_x[v * columns + static_cast<std::size_t>(column_indices[e])];
        }
        T& y = expected[v * rows + i];
        y = alpha * sum + (beta == T(0) ? T(0) : beta * y);
      }
    }
    std::vector<T> bits;
    column_indices.push_back(0);  // so that no array is empty
    for (int devices = 1; devices <= most_devices; ++devices) {
      SCOPED_TRACE("round " + std::to_string(round) + ", devices " + std::to_string(devices));
      on_devices(devices, [&] {
        Array<std::int32_t> r(row_pointers.size(), this->place()), c(column_indices.size(), this->place());
        Array<T> a(values.size(), this->place()), x(host_x.size(), this->place()), y(before.size(), this->place()), z(rows, this->place());
        r.set(row_pointers);
        c.set(column_indices);
        a.set(values);
        x.set(host_x);
        y.set(before);
        z.set({before.begin(), before.begin() + static_cast<std::ptrdiff_t>(rows)});
        const auto m = static_cast<std::int64_t>(rows), n = static_cast<std::int64_t>(columns);
        const Csr<T> matrix{m, n, row_pointers.back(), r.data(), c.data(), a.data()};
        spmv(alpha, matrix, x.data(), beta, z.data());
        spmm(static_cast<std::int64_t>(vectors), alpha, matrix, x.data(), n, beta, y.data(), m);
        const std::vector<T> all = y.get(), first = z.get();
        this->expect_near(all, expected, 9 * 4);
        EXPECT_EQ(std::memcmp(first.data(), all.data(), rows * sizeof(T)), 0) << "each column has the bits of the product with one vector";
        if (bits.empty()) bits = all;
        EXPECT_EQ(std::memcmp(bits.data(), all.data(), all.size() * sizeof(T)), 0) << "the bits of one device";
      });
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(LinalgTypes, SumsAndDotProductsOfVectors) {
  using T = TypeParam;
  for (const std::size_t n : {std::size_t{1}, 2 + this->pick(60), 100 + this->pick(900), 5000 + this->pick(5000)}) {
    const std::vector<T> host_x = this->filled(n), host_y = this->filled(n);
    const T factor = this->number();
    std::vector<T> scaled = host_x;
    std::complex<double> sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      scaled[i] *= factor;
      const std::complex<double> x(host_x[i]), y(host_y[i]);
      sum += std::conj(x) * y;
      squares += std::norm(x);
    }
    std::vector<T> bits;
    for (int devices = 1; devices <= most_devices; ++devices) {
      SCOPED_TRACE(std::to_string(n) + " elements on " + std::to_string(devices));
      on_devices(devices, [&] {
        Array<T> x(n, this->place()), y(n, this->place());
        x.set(host_x);
        y.set(host_y);
        const auto count = static_cast<std::int64_t>(n);
        const T product = dot(count, x.data(), y.data());
        const auto norm = nrm2(count, x.data());
        const double tolerance = 4.0 * static_cast<double>(n + 20) * std::numeric_limits<decltype(std::abs(T()))>::epsilon();
        EXPECT_NEAR(std::abs(std::complex<double>(product) - sum), 0.0, tolerance);
        EXPECT_NEAR(static_cast<double>(norm) / std::sqrt(squares), 1.0, tolerance);
        const std::vector<T> sums{product, T(norm)};
        if (bits.empty()) bits = sums;
        EXPECT_EQ(std::memcmp(bits.data(), sums.data(), 2 * sizeof(T)), 0) << "the bits of one device";
        scal(count, factor, x.data());
        this->expect_near(x.get(), scaled, 1);
        EXPECT_EQ(y.get(), host_y);
      });
      if (this->HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace semcache::linalg
