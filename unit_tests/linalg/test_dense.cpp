// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <semcache/policy/decomposition.hpp>
#include <semcache/tasks/tasks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

namespace semcache::linalg {
namespace {

template <class T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return std::conj(x);
}

/// The product by its definition. Each element's sum has the order of the reference BLAS.
template <class T>
std::vector<T> product(Transpose ta, Transpose tb, std::size_t m, std::size_t n, std::size_t k, T alpha, const std::vector<T>& a, std::size_t lda,
                       const std::vector<T>& b, std::size_t ldb, T beta, std::vector<T> c, std::size_t ldc) {
  const auto element = [](Transpose t, const std::vector<T>& x, std::size_t ld, std::size_t i, std::size_t j) {
    return t == Transpose::no ? x[j * ld + i] : t == Transpose::yes ? x[i * ld + j] : conjugate(x[i * ld + j]);
  };
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) {
      T sum(0);
      for (std::size_t l = 0; l < k; ++l) sum += element(ta, a, lda, i, l) * element(tb, b, ldb, l, j);
      c[j * ldc + i] = alpha * sum + (beta == T(0) ? T(0) : beta * c[j * ldc + i]);
    }
  }
  return c;
}

template <class T>
class LinalgDense : public LinalgTest<> {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LinalgDense, Types, );

TYPED_TEST(LinalgDense, ProductsOfRandomShapesAreRightOnOneToEightDevices) {
  using T = TypeParam;
  test::RandomNumbers<T> number{std::mt19937_64(20261128)};
  std::mt19937_64 choice(5);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(choice() % n); };
  const Transpose transposes[] = {Transpose::no, Transpose::yes, Transpose::conjugate};
  const Where places[] = {Where::host, Where::home, Where::last_device, Where::adopted};
  for (int round = 0; round < 40; ++round) {
    const int devices = 1 + round % 8;
    const std::size_t m = pick(4) == 0 ? pick(3) : pick(70), n = pick(4) == 0 ? pick(3) : pick(70), k = pick(5) == 0 ? pick(2) : pick(50);
    const Transpose ta = transposes[pick(3)], tb = transposes[pick(3)];
    const std::size_t rows_a = ta == Transpose::no ? m : k, columns_a = ta == Transpose::no ? k : m;
    const std::size_t rows_b = tb == Transpose::no ? k : n, columns_b = tb == Transpose::no ? n : k;
    const auto leading = [&](std::size_t rows) { return std::max<std::size_t>(1, rows) + (pick(2) == 0 ? 0 : pick(5)); };
    const std::size_t lda = leading(rows_a), ldb = leading(rows_b), ldc = leading(m);
    const T alpha = pick(6) == 0 ? T(0) : number(), beta = pick(2) == 0 ? T(0) : pick(3) == 0 ? T(1) : number();
    set_options({Spread::always, 0, pick(7), pick(4)});
    SCOPED_TRACE("devices " + std::to_string(devices) + ", round " + std::to_string(round) + ", " + std::to_string(m) + " x " + std::to_string(n) +
                 " x " + std::to_string(k) + ", " + static_cast<char>(ta) + static_cast<char>(tb));
    on_devices(devices, [&] {
      const auto filled = [&](std::size_t count) {
        std::vector<T> v(count);
        for (T& x : v) x = number();
        return v;
      };
      std::vector<T> host_a = filled(lda * columns_a + 1), host_b = filled(ldb * columns_b + 1), host_c = filled(ldc * n + 1);
      Array<T> a(host_a.size(), places[pick(4)]), b(host_b.size(), places[pick(4)]), c(host_c.size(), places[pick(4)]);
      a.set(host_a);
      b.set(host_b);
      c.set(host_c);
      for (int call = 0; call < 2; ++call) {  // the second call finds tiles of the first
        gemm(ta, tb, static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), static_cast<std::int64_t>(k), alpha, a.data(),
             static_cast<std::int64_t>(lda), b.data(), static_cast<std::int64_t>(ldb), beta, c.data(), static_cast<std::int64_t>(ldc));
        host_c = product(ta, tb, m, n, k, alpha, host_a, lda, host_b, ldb, beta, host_c, ldc);
      }
      const std::vector<T> result = c.get();
      const double tolerance = 20.0 * static_cast<double>(k + 2) * std::numeric_limits<decltype(std::abs(T()))>::epsilon();
      for (std::size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(std::abs(result[i] - host_c[i]), 0.0, tolerance * 4) << i;
    });
  }
}

// Whatever stays on the device: rows of A, columns of B, or a part of C to which tasks add some terms each.
TYPED_TEST(LinalgDense, ProductsLargerThanADeviceAreRightForAllTransposes) {
  using T = TypeParam;
  const test::Setting memory("SEMCACHE_DEVICE_MEMORY", "512K");
  std::mt19937_64 choice(3);
  const auto whole_number = [&] {  // sums of products are exact
    const auto part = [&] { return static_cast<float>(choice() % 5) - 2; };
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(part());
    else return T(part(), part());
  };
  const auto filled = [&](std::size_t count) {
    std::vector<T> v(count);
    std::generate(v.begin(), v.end(), whole_number);
    return v;
  };
  struct Shape {
    std::size_t m, n, k;
  };
  for (const Shape& shape : {Shape{190, 180, 170}, Shape{900, 20, 100}, Shape{20, 900, 100}, Shape{24, 20, 3000}}) {
    for (const Transpose ta : {Transpose::no, Transpose::yes, Transpose::conjugate}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes, Transpose::conjugate}) {
        const auto [m, n, k] = shape;
        const std::size_t rows_a = ta == Transpose::no ? m : k, columns_a = ta == Transpose::no ? k : m;
        const std::size_t rows_b = tb == Transpose::no ? k : n, columns_b = tb == Transpose::no ? n : k;
        const std::size_t lda = rows_a + 3, ldb = rows_b + 1, ldc = m + 2;
        const T beta = tb == Transpose::yes ? T(2) : T(0);
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + ", " + static_cast<char>(ta) +
                     static_cast<char>(tb));
        const std::vector<T> host_a = filled(lda * columns_a), host_b = filled(ldb * columns_b), host_c = filled(ldc * n);
        const std::vector<T> expected = product(ta, tb, m, n, k, T(3), host_a, lda, host_b, ldb, beta, host_c, ldc);
        on_devices(ta == Transpose::no ? 1 : 2, [&, rows = m, columns = n, terms = k] {
          Array<T> a(host_a.size(), Where::host), b(host_b.size(), Where::host), c(host_c.size(), Where::host);
          a.set(host_a);
          b.set(host_b);
          c.set(host_c);
          gemm(ta, tb, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), static_cast<std::int64_t>(terms), T(3), a.data(),
               static_cast<std::int64_t>(lda), b.data(), static_cast<std::int64_t>(ldb), beta, c.data(), static_cast<std::int64_t>(ldc));
          EXPECT_EQ(c.get(), expected);
        });
      }
    }
  }
}

TYPED_TEST(LinalgDense, SumsOfVectorsAreRightOnOneToEightDevices) {
  using T = TypeParam;
  test::RandomNumbers<T> number{std::mt19937_64(7)};
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{1000}, std::size_t{4099}}) {
    for (int devices = 1; devices <= 8; ++devices) {
      for (const T beta : {T(0), T(1), T(-0.5)}) {
        for (const T alpha : {T(1), T(0.25)}) {
          on_devices(devices, [&] {
            std::vector<T> x(n), y(n);
            for (std::size_t i = 0; i < n; ++i) {
              x[i] = number();
              y[i] = beta == T(0) ? T(std::numeric_limits<float>::quiet_NaN()) : number();
            }
            Array<T> ax(n + 1, alpha == T(1) ? Where::host : Where::adopted), ay(n + 1, devices % 2 == 0 ? Where::adopted : Where::home);
            x.push_back(T(3));
            y.push_back(T(4));
            ax.set(x);
            ay.set(y);
            axpby(static_cast<std::int64_t>(n), alpha, ax.data(), beta, ay.data());
            const std::vector<T> result = ay.get();
            for (std::size_t i = 0; i < n; ++i) {
              ASSERT_NEAR(std::abs(result[i] - (alpha * x[i] + (beta == T(0) ? T(0) : beta * y[i]))), 0.0, 1e-6) << i;
            }
            EXPECT_EQ(result[n], T(4));
          });
        }
      }
    }
  }
}

class LinalgBytes : public LinalgTest<> {
 protected:
  LinalgBytes() : LinalgTest({Spread::always, 0, 2}) {}
};

/// D = AB + AC by two products and a sum (SemCache++, 5.6.1): each operand crosses the link once, A reaches the other devices from its shares,
/// the sum moves nothing, and D comes back once.
TEST_F(LinalgBytes, OfTwoProductsAndASum) {
  constexpr std::size_t n = 96;
  constexpr std::uint64_t matrix = n * n * sizeof(double);
  for (int p = 1; p <= 8; ++p) {
    SCOPED_TRACE(p);
    on_devices(p, [&] {
      Array<double> a(n * n, Where::host), b(n * n, Where::host), c(n * n, Where::host), d(n * n, Where::host), q(n * n, Where::host);
      for (std::size_t i = 0; i < n * n; ++i) {
        a.data()[i] = static_cast<double>(i % 7);
        b.data()[i] = static_cast<double>(i % 5);
        c.data()[i] = static_cast<double>(i % 3);
      }
      for (int round = 0; round < 2; ++round) {
        const Bytes before = moved();
        gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, d.data(), n);
        gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, c.data(), n, 0.0, q.data(), n);
        const Bytes products = moved();
        const bool first = round == 0;
        EXPECT_EQ(products - before,
                  (Bytes{first ? 3 * matrix : 0, 0, first ? static_cast<std::uint64_t>(p - 1) * matrix : 0}));
        axpby(static_cast<std::int64_t>(n * n), 1.0, q.data(), 1.0, d.data());
        EXPECT_EQ(moved(), products);
        double sum = 0;
        for (std::size_t i = 0; i < n * n; ++i) sum += d.data()[i];
        const Bytes after = moved();
        EXPECT_EQ(after - products, (Bytes{0, matrix, 0}));
        double expected = 0;
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t l = 0; l < n; ++l) {
            double column = 0;
            for (std::size_t i = 0; i < n; ++i) column += a.data()[l * n + i];
            expected += column * (b.data()[j * n + l] + c.data()[j * n + l]);
          }
        }
        EXPECT_EQ(sum, expected);
      }
      EXPECT_EQ(statistics().total.device_waits, 0u);
    });
  }
}

/// One device has all of A, which all of them need. It is large enough to pass from each to the next, in pieces.
TEST_F(LinalgBytes, OfAMatrixThatPassesFromDeviceToDevice) {
  constexpr std::int64_t n = 32, k = 100000;
  constexpr std::uint64_t matrix = n * k * sizeof(double);
  for (const int p : {4, 8}) {
    SCOPED_TRACE(p);
    for (const bool is_piece : {false, true}) {  // all of an array, or some rows of a larger one
      on_devices(p, [&] {
        const std::int64_t ld = is_piece ? n + 5 : n;
        EXPECT_GT(policy::pieces_of_chain(matrix, static_cast<std::size_t>(p)), 1u);
        Array<double> a(static_cast<std::size_t>(ld * k), Where::last_device), b(n * k, Where::host), c(n * n, Where::host);
        std::vector<double> of_a(static_cast<std::size_t>(ld * k), 100.0);
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = 0; i < n; ++i) of_a[static_cast<std::size_t>(l * ld + i)] = static_cast<double>((l + i) % 3);
        }
        a.set(of_a);
        const runtime::LibraryUse all{a.data(), of_a.size() * sizeof(double), Access::read};
        { const runtime::Launch there(tasks::lane(static_cast<std::uint32_t>(device_count() - 1), 0).queue, &all, 1); }
        std::fill(b.data(), b.data() + n * k, 1.0);
        const Bytes before = moved();
        gemm(Transpose::no, Transpose::no, n, n, k, 1.0, a.data(), ld, b.data(), k, 0.0, c.data(), n);
        EXPECT_EQ(moved() - before, (Bytes{matrix, 0, static_cast<std::uint64_t>(device_count() - 1) * matrix})) << "B, and A";
        for (std::int64_t i = 0; i < n; ++i) {
          const double sum = static_cast<double>(k + (i % 3 == 0 ? -1 : i % 3 == 1 ? 0 : 1));
          for (std::int64_t j = 0; j < n; ++j) ASSERT_EQ(c.data()[j * n + i], sum) << i << ", " << j;
        }
      });
    }
  }
}

/// Devices that do not reach each other get what all of them need from the host: a way over another device would use two host links.
TEST_F(LinalgBytes, OfAMatrixForDevicesThatDoNotReachEachOther) {
  constexpr std::size_t n = 96;
  constexpr std::uint64_t matrix = n * n * sizeof(double);
  const test::Setting peer_access("SEMCACHE_PEER_ACCESS", "off");
  for (int p = 1; p <= 8; ++p) {
    SCOPED_TRACE(p);
    on_devices(p, [&] {
      Array<double> a(n * n, Where::host), b(n * n, Where::host), c(n * n, Where::host);
      std::fill(a.data(), a.data() + n * n, 2.0);
      std::fill(b.data(), b.data() + n * n, 3.0);
      for (const bool first : {true, false}) {
        const Bytes before = moved();
        gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
        const auto devices = static_cast<std::uint64_t>(device_count());
        EXPECT_EQ(moved() - before, (Bytes{first ? (devices + 1) * matrix : 0, 0, 0})) << "A to each device, and B once";
      }
      for (std::size_t i = 0; i < n * n; ++i) ASSERT_EQ(c.data()[i], 6.0 * n) << i;
    });
  }
}

/// A product on devices of which one has memory for a small part of its operands: that one gets what its own cut says, and the others get all once.
TEST_F(LinalgBytes, OfAProductOnDevicesOfDifferentMemory) {
  constexpr std::size_t n = 480, share = n / 3;
  constexpr std::uint64_t budget = 512 * 1024, all_of_a = n * n * sizeof(double), share_of_b = n * share * sizeof(double);
  const test::Setting memory("SEMCACHE_DEVICE_MEMORY", "512K,8M,8M");
  std::vector<double> a(n * n), b(n * n), expected(n * n, 0.0);
  for (std::size_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<double>(i % 7);
    b[i] = static_cast<double>(i % 5);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t l = 0; l < n; ++l) {
      for (std::size_t i = 0; i < n; ++i) expected[j * n + i] += a[l * n + i] * b[j * n + l];
    }
  }
  std::uint64_t page = 0;
  const Statistics s = on_devices(3, [&] {
    Array<double> aa(n * n, Where::host), ab(n * n, Where::host), ac(n * n, Where::host);
    aa.set(a);
    ab.set(b);
    page = runtime::device_page_bytes(0);
    gemm(Transpose::no, Transpose::no, n, n, n, 1.0, aa.data(), n, ab.data(), n, 0.0, ac.data(), n);
    EXPECT_EQ(ac.get(), expected);
  });
  std::uint64_t to[3] = {};
  for (const LinkStatistics& l : s.links) {
    if (l.to != LinkStatistics::host) to[static_cast<std::size_t>(l.to)] += l.traffic.bytes;
    // Both large devices need all of A: each gets a half, and the other one's from there.
    if (l.from + l.to == 3 && l.from > 0 && l.to > 0) {
      EXPECT_EQ(l.traffic.bytes, all_of_a / 2) << l.from;
    }
  }
  const policy::Blocking cut = policy::blocking_that_fits({n, share, n, false, false, false}, 2, {budget, page}, sizeof(double));
  EXPECT_EQ(cut.stays, policy::Stays::part_of_c);
  EXPECT_EQ(to[0], cut.columns * all_of_a + cut.rows * share_of_b) << cut.rows << " x " << cut.columns << " x " << cut.terms;
  EXPECT_EQ(to[1], all_of_a + share_of_b);
  EXPECT_EQ(to[2], all_of_a + share_of_b);
  EXPECT_EQ(s.total.d2h.bytes, n * n * sizeof(double)) << "each part of C once";
}

/// y = A x with a matrix of 1.9 times one device's budget: two devices hold it together, one streams it, and both are right.
TEST_F(LinalgBytes, OfAMatrixLargerThanADevice) {
  constexpr std::size_t n = 1024;
  constexpr std::uint64_t matrix = n * n * sizeof(double);
  ::setenv("SEMCACHE_DEVICE_MEMORY", std::to_string(matrix * 10 / 19).c_str(), 1);
  const base::AtEnd default_again([] { ::unsetenv("SEMCACHE_DEVICE_MEMORY"); });
  std::vector<double> a(n * n), x(n), expected(n, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 11);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i % 3);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) expected[i] += a[j * n + i] * x[j];
  }
  for (const int devices : {1, 2}) {
    SCOPED_TRACE(devices);
    const Statistics s = on_devices(devices, [&] {
      Array<double> aa(n * n, Where::host), ax(n, Where::host), ay(n, Where::host);
      aa.set(a);
      ax.set(x);
      for (int call = 0; call < 3; ++call) {
        gemv(Transpose::no, n, n, 1.0, aa.data(), n, ax.data(), 0.0, ay.data());
        EXPECT_EQ(ay.get(), expected);
      }
    });
    EXPECT_EQ(s.total.evictions == 0, devices == 2);
    if (devices == 2) {
      EXPECT_EQ(s.total.h2d.bytes, matrix + n * sizeof(double));
    }
  }
}

/// What a call refuses names the argument, and nothing has changed.
TEST_F(LinalgBytes, OfRefusedCalls) {
  Array<double> a(100, Where::host), b(100, Where::host), c(100, Where::host);
  std::vector<double> untracked(100);
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const UsageError& e) {
      return e.what();
    }
    return "no error";
  };
  const auto no = Transpose::no;
  const auto says = [&](const std::function<void()>& call, const std::string& part) {
    const std::string text = message(call);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says([&] { gemm(no, no, -1, 1, 1, 1.0, a.data(), 10, b.data(), 10, 0.0, c.data(), 10); }, "m is -1");
  says([&] { gemm(no, no, 10, 10, 10, 1.0, a.data(), 9, b.data(), 10, 0.0, c.data(), 10); }, "leading dimension of A is 9, but it has 10 rows");
  says([&] { gemm(no, no, 10, 10, 10, 1.0, a.data(), 10, b.data(), 10, 0.0, c.data(), 5); }, "leading dimension of C is 5");
  says([&] { gemm(no, no, 10, 10, 10, 1.0, untracked.data(), 10, b.data(), 10, 0.0, c.data(), 10); }, "is in no tracked array");
  says([&] { gemm(no, no, 10, 11, 10, 1.0, a.data(), 10, b.data(), 10, 0.0, c.data(), 10); }, "leaves");
  says([&] { (void)dot<double>(-3, a.data(), b.data()); }, "n is -3");
  // A result in an operand, also where only the last column of one meets the first of the other.
  says([&] { gemm(no, no, 10, 10, 10, 1.0, a.data(), 10, b.data(), 10, 0.0, a.data(), 10); },
       "gemm: A and C overlap: column 0 of A shares memory with column 0 of C");
  says([&] { gemm(no, no, 5, 3, 5, 1.0, a.data(), 5, b.data(), 5, 0.0, b.data() + 14, 5); }, "gemm: B and C overlap: column 2 of B");
  says([&] { gemv(no, 10, 5, 1.0, a.data(), 10, b.data(), 0.0, b.data() + 4); }, "gemv: x and y overlap");
  says([&] { gemv(no, 10, 5, 1.0, a.data(), 10, b.data(), 0.0, a.data() + 40); },
       "gemv: A and y overlap: column 4 of A shares memory with column 0 of y");
  says([&] { symm(Side::left, Triangle::lower, 5, 5, 1.0, a.data(), 5, b.data(), 5, 0.0, b.data(), 5); }, "symm: B and C overlap");
  says([&] { syrk(Triangle::lower, no, 5, 5, 1.0, a.data(), 5, 0.0, a.data(), 5); }, "syrk: A and C overlap");
  const std::int32_t none[6] = {};
  says([&] { spmv(1.0, {5, 5, 0, none, none, a.data()}, b.data(), 0.0, b.data()); }, "spmv: x and y overlap");
  says([&] { spmm(2, 1.0, {5, 5, 0, none, none, a.data()}, b.data(), 5, 0.0, b.data() + 9, 5); }, "spmm: X and Y overlap: column 1 of X");
  EXPECT_EQ(moved(), (Bytes{0, 0, 0}));
  // Rows of one matrix that lie beside each other share no element.
  a.set(std::vector<double>(100, 1.0));
  b.set(std::vector<double>(100, 1.0));
  EXPECT_NO_THROW(gemm(no, no, 4, 10, 5, 1.0, b.data(), 4, a.data(), 10, 0.0, a.data() + 5, 10));
  EXPECT_EQ(a.data()[5], 5.0);
  EXPECT_EQ(a.data()[9], 1.0);
}

}  // namespace
}  // namespace semcache::linalg
