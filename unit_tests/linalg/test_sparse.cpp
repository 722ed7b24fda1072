// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <semcache/policy/decomposition.hpp>
#include <semcache/tasks/tasks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>

namespace semcache::linalg {
namespace {

template <class T>
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int32_t> row_pointers{0}, column_indices;
  std::vector<T> values;
  void add(std::int64_t column, T value) {
    column_indices.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
  void end_row() {
    row_pointers.push_back(static_cast<std::int32_t>(values.size()));
    ++rows;
  }
  [[nodiscard]] std::vector<T> times(const std::vector<T>& x) const {
    std::vector<T> y(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (auto e = static_cast<std::size_t>(row_pointers[i]); e < static_cast<std::size_t>(row_pointers[i + 1]); ++e) {
        y[i] += values[e] * x[static_cast<std::size_t>(column_indices[e])];
      }
    }
    return y;
  }
};

/// The matrix in arrays of SemCache.
template <class T>
struct OnArrays {
  OnArrays(const Matrix<T>& m, Where where)
      : row_pointers(m.row_pointers.size(), where), column_indices(std::max<std::size_t>(1, m.values.size()), where),
        values(std::max<std::size_t>(1, m.values.size()), where) {
    row_pointers.set(m.row_pointers);
    if (!m.values.empty()) {
      column_indices.set(m.column_indices);
      values.set(m.values);
    }
    csr = {m.rows, m.columns, static_cast<std::int64_t>(m.values.size()), row_pointers.data(), column_indices.data(), values.data()};
  }
  Array<std::int32_t> row_pointers, column_indices;
  Array<T> values;
  Csr<T> csr;
};

/// Row pointers of 64 bits for a matrix whose other arrays are there.
template <class T>
struct WideRowPointers {
  WideRowPointers(const Matrix<T>& m, const OnArrays<T>& others, Where where) : row_pointers(m.row_pointers.size(), where) {
    row_pointers.set({m.row_pointers.begin(), m.row_pointers.end()});
    csr = {others.csr.rows, others.csr.columns, others.csr.entries, row_pointers.data(), others.csr.column_indices, others.csr.values};
  }
  Array<std::int64_t> row_pointers;
  Csr<T, std::int64_t> csr;
};

Matrix<double> tridiagonal(std::int64_t n) {
  Matrix<double> m;
  m.columns = n;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) m.add(i - 1, -1);
    m.add(i, 2);
    if (i + 1 < n) m.add(i + 1, -1);
    m.end_row();
  }
  return m;
}
/// The 7-point Laplace on a cube.
Matrix<double> laplace(std::int64_t n) {
  Matrix<double> m;
  m.columns = n * n * n;
  for (std::int64_t z = 0; z < n; ++z) {
    for (std::int64_t y = 0; y < n; ++y) {
      for (std::int64_t x = 0; x < n; ++x) {
        const std::int64_t i = (z * n + y) * n + x;
        if (z > 0) m.add(i - n * n, -1);
        if (y > 0) m.add(i - n, -1);
        if (x > 0) m.add(i - 1, -1);
        m.add(i, 6);
        if (x + 1 < n) m.add(i + 1, -1);
        if (y + 1 < n) m.add(i + n, -1);
        if (z + 1 < n) m.add(i + n * n, -1);
        m.end_row();
      }
    }
  }
  return m;
}

/// An iteration of conjugate gradients: solution x, residual r, direction d, q = A d. Returns the square of the new residual's norm; `rr` is that of the old.
double iterate(const Csr<double>& a, const Array<double>& x, const Array<double>& r, const Array<double>& d, const Array<double>& q, double rr) {
  const std::int64_t n = a.rows;
  spmv(1.0, a, d.data(), 0.0, q.data());
  const double alpha = rr / dot(n, d.data(), q.data());
  axpby(n, alpha, d.data(), 1.0, x.data());
  axpby(n, -alpha, q.data(), 1.0, r.data());
  const double next = dot(n, r.data(), r.data());
  axpby(n, 1.0, r.data(), next / rr, d.data());
  return next;
}

constexpr Where places[] = {Where::host, Where::home, Where::last_device, Where::adopted};

class LinalgSparse : public LinalgTest<> {};

TEST_F(LinalgSparse, RandomMatricesHaveTheSameBitsOnOneToEightDevices) {
  std::mt19937_64 choice(3);
  const auto pick = [&](std::uint64_t n) { return static_cast<std::int64_t>(choice() % n); };
  for (int round = 0; round < 24; ++round) {
    Matrix<double> m;
    const std::int64_t rows = round == 0 ? 1 : 1 + pick(400);
    m.columns = 1 + pick(300);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t length = pick(4) == 0 ? 0 : pick(50) == 0 ? 3 * m.columns : pick(9);  // columns repeat, in any order
      for (std::int64_t e = 0; e < length; ++e) m.add(pick(static_cast<std::uint64_t>(m.columns)), static_cast<double>(pick(1000)) / 999);
      m.end_row();
    }
    std::vector<double> x(static_cast<std::size_t>(m.columns));
    for (double& v : x) v = static_cast<double>(pick(1000)) / 777;
    const std::vector<double> expected = m.times(x);
    for (int devices = 1; devices <= 8; ++devices) {
      SCOPED_TRACE("round " + std::to_string(round) + ", devices " + std::to_string(devices));
      on_devices(devices, [&] {
        const OnArrays<double> a(m, places[pick(4)]);
        Array<double> ax(x.size(), places[pick(4)]), ay(static_cast<std::size_t>(rows), places[pick(4)]);
        ax.set(x);
        for (int call = 0; call < 2; ++call) {
          spmv(1.0, a.csr, ax.data(), 0.0, ay.data());
          ASSERT_EQ(ay.get(), expected);
        }
        spmv(2.0, a.csr, ax.data(), -1.0, ay.data());
        std::vector<double> again = expected;
        for (double& v : again) v = 2.0 * v - v;
        ASSERT_EQ(ay.get(), again);
        const WideRowPointers<double> wide(m, a, places[pick(4)]);
        for (int call = 0; call < 2; ++call) {
          spmv(1.0, wide.csr, ax.data(), 0.0, ay.data());
          ASSERT_EQ(ay.get(), expected);
        }
      });
    }
  }
}

/// Each column of a product with several vectors is that with one, bit for bit, wherever the matrices lie and however little memory there is.
TEST_F(LinalgSparse, ProductsWithSeveralVectorsAreThoseWithEach) {
  std::mt19937_64 choice(9);
  const auto pick = [&](std::uint64_t n) { return static_cast<std::int64_t>(choice() % n); };
  for (int round = 0; round < 12; ++round) {
    Matrix<double> m;
    const std::int64_t rows = 1 + pick(300), vectors = round == 0 ? 0 : 1 + pick(20);
    m.columns = 1 + pick(200);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t e = pick(9); e > 0; --e) m.add(pick(static_cast<std::uint64_t>(m.columns)), static_cast<double>(pick(1000)) / 999);
      m.end_row();
    }
    const std::int64_t ldx = m.columns + pick(3), ldy = rows + pick(3);
    std::vector<double> x(static_cast<std::size_t>(ldx * vectors + 1)), y(static_cast<std::size_t>(ldy * vectors + 1));
    for (double& v : x) v = static_cast<double>(pick(1000)) / 777;
    for (double& v : y) v = static_cast<double>(pick(1000)) / 555;
    std::vector<double> expected = y;
    for (std::int64_t v = 0; v < vectors; ++v) {
      const std::vector<double> product = m.times({x.begin() + v * ldx, x.begin() + v * ldx + m.columns});
      for (std::int64_t r = 0; r < rows; ++r) expected[static_cast<std::size_t>(v * ldy + r)] = 2.0 * product[static_cast<std::size_t>(r)] - 0.5 * y[static_cast<std::size_t>(v * ldy + r)];
    }
    for (const int devices : {1, 2, 3, 5, 8}) {
      SCOPED_TRACE("round " + std::to_string(round) + ", devices " + std::to_string(devices));
      on_devices(devices, [&] {
        const OnArrays<double> a(m, places[pick(4)]);
        Array<double> ax(x.size(), places[pick(4)]), ay(y.size(), places[pick(4)]);
        ax.set(x);
        ay.set(y);
        spmm(vectors, 2.0, a.csr, ax.data(), ldx, -0.5, ay.data(), ldy);
        ASSERT_EQ(ay.get(), expected);
        const WideRowPointers<double> wide(m, a, Where::host);
        ay.set(y);
        spmm(vectors, 2.0, wide.csr, ax.data(), ldx, -0.5, ay.data(), ldy);
        ASSERT_EQ(ay.get(), expected);
      });
    }
  }
  EXPECT_THROW(spmm(-1, 1.0, Csr<double>{}, static_cast<const double*>(nullptr), 1, 0.0, static_cast<double*>(nullptr), 1), UsageError);
  Csr<double> some;
  some.rows = some.columns = 4;
  EXPECT_THROW(spmm(2, 1.0, some, static_cast<const double*>(nullptr), 3, 0.0, static_cast<double*>(nullptr), 4), UsageError);
  EXPECT_THROW(spmm(2, 1.0, some, static_cast<const double*>(nullptr), 4, 0.0, static_cast<double*>(nullptr), 3), UsageError);
}

TEST_F(LinalgSparse, TheMatrixOfAProductWithSeveralVectorsMovesOnce) {
  const Matrix<double> m = laplace(12);
  const auto rows = static_cast<std::uint64_t>(m.rows), entries = static_cast<std::uint64_t>(m.values.size());
  constexpr std::uint64_t vectors = 3, plane = 12 * 12;
  for (int p = 1; p <= 8; ++p) {
    SCOPED_TRACE(p);
    on_devices(p, [&] {
      const OnArrays<double> a(m, Where::host);
      Array<double> x(rows * vectors, Where::host), y(rows * vectors, Where::host), z(rows * vectors, Where::host);
      x.set(std::vector<double>(rows * vectors, 1.0));
      const auto product = [&](const Array<double>& from, const Array<double>& to) {
        const Bytes before = moved();
        spmm(static_cast<std::int64_t>(vectors), 1.0, a.csr, from.data(), m.rows, 0.0, to.data(), m.rows);
        return moved() - before;
      };
      const auto others = static_cast<std::uint64_t>(p - 1);
      const std::uint64_t planes = vectors * 2 * others * plane * 8;
      EXPECT_EQ(product(x, y), (Bytes{12 * entries + 4 * (rows + 1) + vectors * 8 * rows, 0, 4 * others + planes}));
      EXPECT_EQ(product(x, y), (Bytes{0, 0, 0}));
      EXPECT_EQ(product(y, z), (Bytes{0, 0, planes}));
    });
  }
}

// With little memory a product with several vectors is several products. An error of the caller is found before the first one.
TEST_F(LinalgSparse, AProductWithSeveralVectorsIsRefusedAsAWhole) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "1M", 1);
  const base::AtEnd as_before([] { ::unsetenv("SEMCACHE_DEVICE_MEMORY"); });
  const Matrix<double> m = tridiagonal(8000);
  for (const bool short_x : {false, true}) {
    on_devices(2, [&] {
      constexpr std::size_t n = 8000, columns = 20;
      const OnArrays<double> a(m, Where::host);
      Array<double> x(n * (columns - (short_x ? 3 : 0)), Where::host), y(n * (columns - (short_x ? 0 : 3)), Where::host);
      x.set(std::vector<double>(x.count(), 1.0));
      y.set(std::vector<double>(y.count(), 5.0));
      EXPECT_THROW(spmm(columns, 1.0, a.csr, x.data(), n, 0.0, y.data(), n), UsageError);
      EXPECT_EQ(y.get(), std::vector<double>(y.count(), 5.0));
    });
  }
}

TEST_F(LinalgSparse, EachByteOfTheMatrixCrossesOnceAndThenOnlyWhatHasChanged) {
  const Matrix<double> m = laplace(12);
  const auto rows = static_cast<std::uint64_t>(m.rows), entries = static_cast<std::uint64_t>(m.values.size());
  constexpr std::uint64_t plane = 12 * 12;
  for (int p = 1; p <= 8; ++p) {
    SCOPED_TRACE(p);
    on_devices(p, [&] {
      OnArrays<double> a(m, Where::host);
      Array<double> x(rows, Where::host), y(rows, Where::host), z(rows, Where::host);
      x.set(std::vector<double>(rows, 1.0));
      const auto product = [&] {
        const Bytes before = moved();
        spmv(1.0, a.csr, x.data(), 0.0, y.data());
        return moved() - before;
      };
      const auto others = static_cast<std::uint64_t>(p - 1);
      EXPECT_EQ(product(), (Bytes{8 * entries + 4 * entries + 4 * (rows + 1) + 8 * rows, 0, 4 * others + 2 * others * plane * 8}));
      EXPECT_EQ(product(), (Bytes{0, 0, 0}));
      const Bytes before_next = moved();
      // The product stays where it is, and the next one needs what lies behind the borders.
      spmv(1.0, a.csr, y.data(), 0.0, z.data());
      EXPECT_EQ(moved() - before_next, (Bytes{0, 0, 2 * others * plane * 8}));
      std::fill(a.values.data(), a.values.data() + entries, 1.5);
      EXPECT_EQ(product(), (Bytes{8 * entries, 0, 0}));
      a.values.data()[entries / 2] = 2.5;
      const Bytes one = product();
      EXPECT_TRUE(one.h2d > 0 && one.h2d <= 16384 && one.d2h == 0 && one.between == 0) << one;
      // One index: its page, and no value, because the cut stays.
      a.column_indices.data()[entries / 2] = a.column_indices.data()[entries / 2 + 1];
      const Bytes index = product();
      EXPECT_TRUE(index.h2d > 0 && index.h2d <= 4096 && index.d2h == 0 && index.between <= 8) << index;
    });
  }
}

TEST_F(LinalgSparse, RowPointersOf64BitsAreReadOnceAndThenTheirCopyIsUsed) {
  const Matrix<double> m = laplace(12);
  const auto rows = static_cast<std::uint64_t>(m.rows);
  for (int p = 1; p <= 8; ++p) {
    SCOPED_TRACE(p);
    on_devices(p, [&] {
      const OnArrays<double> a(m, Where::host);
      WideRowPointers<double> wide(m, a, Where::host);
      Array<double> x(rows, Where::host), y(rows, Where::host);
      x.set(std::vector<double>(rows, 1.0));
      const auto product = [&] {
        const Bytes before = moved();
        spmv(1.0, wide.csr, x.data(), 0.0, y.data());
        return moved() - before;
      };
      // The host reads its own array. The copy goes to the first device, and from there to the others: their rows, and the row behind them.
      spmv(1.0, a.csr, x.data(), 0.0, y.data());
      const Bytes first = product();
      EXPECT_TRUE(first.h2d == 4 * (rows + 1) && first.d2h == 0 && first.between <= 4 * (rows + 1)) << first;
      EXPECT_EQ(product(), (Bytes{0, 0, 0}));
      {
        const WideRowPointers<double> same(m, a, Where::home);
        wide.csr.row_pointers = same.csr.row_pointers;
        const Bytes other = product();  // another array is another content, unless it has been copied
        EXPECT_TRUE(other.h2d <= 2 * 8 * (rows + 1)) << other;
        EXPECT_EQ(product(), (Bytes{0, 0, 0}));
      }
      wide.csr.row_pointers = wide.row_pointers.data();
      EXPECT_EQ(product(), (Bytes{0, 0, 0}));
      // A row that loses its last entry to the next one.
      const std::vector<double> before = y.get();
      wide.row_pointers.data()[rows / 2] -= 1;
      (void)product();
      EXPECT_NE(y.get(), before);
      wide.row_pointers.data()[rows / 2] += 1;
      (void)product();
      EXPECT_EQ(y.get(), before);
    });
  }
}

TEST_F(LinalgSparse, SomeRowsOfAMatrixAreAMatrix) {
  const Matrix<double> m = laplace(10);
  const auto n = static_cast<std::size_t>(m.rows);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i % 17) - 8;
  const std::vector<double> whole = m.times(x);
  for (int p = 1; p <= 4; ++p) {
    on_devices(p, [&] {
      const OnArrays<double> a(m, Where::host);
      const WideRowPointers<double> wide(m, a, Where::host);
      for (const auto& [begin, end] : {std::pair(0, 700), std::pair(333, 1000), std::pair(400, 401)}) {
        SCOPED_TRACE("rows " + std::to_string(begin) + " to " + std::to_string(end) + " on " + std::to_string(p));
        Array<double> ax(n, Where::host), ay(static_cast<std::size_t>(end - begin), Where::home);
        ax.set(x);
        const std::vector<double> expected(whole.begin() + begin, whole.begin() + end);
        Csr<double> some = a.csr;
        some.rows = end - begin;
        some.row_pointers += begin;
        spmv(1.0, some, ax.data(), 0.0, ay.data());
        EXPECT_EQ(ay.get(), expected);
        Csr<double, std::int64_t> some_wide = wide.csr;
        some_wide.rows = end - begin;
        some_wide.row_pointers += begin;
        spmv(2.0, some_wide, ax.data(), -1.0, ay.data());
        EXPECT_EQ(ay.get(), expected);
      }
    });
  }
}

TEST_F(LinalgSparse, RowPointersOf64BitsThatAreNoneAreRefused) {
  on_devices(3, [] {
    const Matrix<double> m = tridiagonal(100);
    const OnArrays<double> a(m, Where::host);
    const Array<double> x(100, Where::host), y(100, Where::host);
    const auto expect_refused = [&](const Csr<double, std::int64_t>& csr, const std::string& words) {
      std::fill(y.data(), y.data() + 100, 3.0);
      try {
        spmv(1.0, csr, x.data(), 0.0, y.data());
        ADD_FAILURE() << "not refused: " << words;
      } catch (const UsageError& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
      }
      EXPECT_EQ(y.get(), std::vector<double>(100, 3.0));
    };
    for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{1} << 32, INT64_MAX, INT64_MIN}) {
      WideRowPointers<double> wide(m, a, Where::host);
      wide.row_pointers.data()[7] = wrong;
      expect_refused(wide.csr, "row pointer 7 is " + std::to_string(wrong));
    }
    WideRowPointers<double> wide(m, a, Where::host);
    wide.row_pointers.data()[7] = 0;
    expect_refused(wide.csr, "must not descend");
    wide.csr.entries = std::int64_t{1} << 31;
    expect_refused(wide.csr, "2147483648 entries");
  });
}

/// Factors that devices compute from sums there have the bits of those that the host computes, and no number crosses the host's link.
TEST_F(LinalgSparse, ConjugateGradientsWhoseScalarsStayOnTheDevicesHaveTheSameBits) {
  ::setenv("SEMCACHE_DEVICE_TRACKER", "off", 1);
  const base::AtEnd on_again([] { ::unsetenv("SEMCACHE_DEVICE_TRACKER"); });
  const Matrix<double> m = laplace(12);
  const auto n = static_cast<std::size_t>(m.rows);
  const auto size = static_cast<std::int64_t>(n);
  const std::uint64_t border = 12 * 12, blocks = (n + policy::block_elements(n) - 1) / policy::block_elements(n);
  std::vector<double> bits;
  for (int p = 1; p <= 8; ++p) {
    SCOPED_TRACE(p);
    on_devices(p, [&] {
      const OnArrays<double> a(m, Where::host);
      const auto others = static_cast<std::uint64_t>(p - 1);
      for (const bool on_host : {true, false}) {
        Array<double> x(n, Where::host), r(n, Where::host), d(n, Where::host), q(n, Where::host);
        x.set(std::vector<double>(n, 0.0));
        r.set(std::vector<double>(n, 1.0));
        axpby(size, 1.0, r.data(), 0.0, d.data());
        DeviceScalar<double> one, two, dq;
        DeviceScalar<double>*rr = &one, *next = &two;
        double host_rr = 0;
        if (on_host) host_rr = dot(size, r.data(), r.data());
        else dot(size, r.data(), r.data(), *rr);
        for (int i = 0; i < 5; ++i) {
          const Bytes before = moved();
          spmv(1.0, a.csr, d.data(), 0.0, q.data());
          if (on_host) {
            const double alpha = host_rr / dot(size, d.data(), q.data());
            axpby(size, alpha, d.data(), 1.0, x.data());
            axpby(size, -alpha, q.data(), 1.0, r.data());
            const double host_next = dot(size, r.data(), r.data());
            axpby(size, 1.0, r.data(), host_next / host_rr, d.data());
            host_rr = host_next;
            continue;
          }
          dot(size, d.data(), q.data(), dq);
          axpby(size, Factor<double>(*rr, dq), d.data(), 1.0, x.data());
          axpby(size, Factor<double>(*rr, dq, -1.0), q.data(), 1.0, r.data());
          dot(size, r.data(), r.data(), *next);
          axpby(size, 1.0, r.data(), Factor<double>(*next, *rr), d.data());
          std::swap(rr, next);
          // Each device gets the others' sums of blocks.
          if (i > 0 && bytes_go_between_devices()) {
            EXPECT_EQ(moved() - before, (Bytes{0, 0, 2 * others * border * 8 + 2 * others * blocks * 8}));
          }
        }
        std::vector<double> result = x.get();
        result.push_back(on_host ? host_rr : rr->get());
        if (bits.empty()) bits = result;
        EXPECT_EQ(std::memcmp(bits.data(), result.data(), bits.size() * sizeof(double)), 0) << on_host;
      }
    });
  }
}

TEST_F(LinalgSparse, ScalarsOnDevicesAreRefusedBeforeTheyHaveAValueAndAfterTheirRuntime) {
  std::unique_ptr<DeviceScalar<float>> old;
  on_devices(2, [&] {
    Array<float> x(100, Where::host), y(100, Where::home);
    x.set(std::vector<float>(100, 2));
    y.set(std::vector<float>(100, 3));
    DeviceScalar<float> four_hundred, six_hundred, none;
    EXPECT_THROW((void)none.get(), UsageError);
    dot(100, x.data(), x.data(), four_hundred);
    dot(100, x.data(), y.data(), six_hundred);
    EXPECT_EQ(four_hundred.get(), 400);
    EXPECT_THROW(axpby(100, Factor<float>(four_hundred, none), x.data(), 1.0F, y.data()), UsageError);
    EXPECT_EQ(y.get(), std::vector<float>(100, 3)) << "nothing has changed";
    axpby(100, Factor<float>(six_hundred, four_hundred), x.data(), Factor<float>(four_hundred, four_hundred, -1), y.data());
    EXPECT_EQ(y.get(), std::vector<float>(100, 0)) << "1.5 * 2 - 3";
    // Where beta is zero, y is not read.
    y.set(std::vector<float>(100, std::numeric_limits<float>::quiet_NaN()));
    axpby(100, Factor<float>(six_hundred, four_hundred), x.data(), 0.0F, y.data());
    EXPECT_EQ(y.get(), std::vector<float>(100, 3));
    dot(0, x.data(), x.data(), none);
    EXPECT_EQ(none.get(), 0);
    std::vector<float> nowhere(100);
    EXPECT_THROW(dot(100, nowhere.data(), x.data(), none), UsageError);
    EXPECT_THROW((void)none.get(), UsageError) << "a call that failed leaves no value";
    dot(50, x.data(), x.data(), none);  // of another length
    EXPECT_EQ(none.get(), 200);
    DeviceScalar<std::complex<double>> a, b;
    Array<std::complex<double>> z(3, Where::host);
    z.set({{0, 1}, {0, 1}, {0, 1}});
    Array<std::complex<double>> w(3, Where::host);
    w.set({{1, 1}, {1, 1}, {1, 1}});
    dot(3, z.data(), w.data(), a);
    dot(3, z.data(), z.data(), b);
    EXPECT_EQ(a.get(), (std::complex<double>{3, -3}));
    axpby(3, Factor<std::complex<double>>(a, b), z.data(), std::complex<double>(0), w.data());
    EXPECT_EQ(w.get()[2], (std::complex<double>{1, 1}));
    old = std::make_unique<DeviceScalar<float>>();
    dot(100, x.data(), x.data(), *old);
  });
  on_devices(1, [&] {
    Array<float> x(100, Where::host);
    x.set(std::vector<float>(100, 2));
    EXPECT_THROW((void)old->get(), UsageError);
    EXPECT_THROW(dot(100, x.data(), x.data(), *old), UsageError);
    old.reset();
  });
}

TEST_F(LinalgSparse, ConjugateGradientsMoveOnlyWhatLiesBehindTheBorders) {
  // Where an emulated device's own pages are protected, uses of arrays on it count as whole pages.
  ::setenv("SEMCACHE_DEVICE_TRACKER", "off", 1);
  const base::AtEnd on_again([] { ::unsetenv("SEMCACHE_DEVICE_TRACKER"); });
  for (const auto& [planes, where] : {std::pair(false, Where::home), std::pair(true, Where::home), std::pair(false, Where::host), std::pair(true, Where::host)}) {
    const Matrix<double> m = planes ? laplace(12) : tridiagonal(1000);
    const auto n = static_cast<std::size_t>(m.rows);
    std::vector<double> bits;
    for (int p = 1; p <= 8; ++p) {
      SCOPED_TRACE(std::string(planes ? "7-point" : "tridiagonal") + " on " + std::to_string(p));
      on_devices(p, [&] {
        const OnArrays<double> a(m, Where::host);
        Array<double> x(n, where), r(n, where), d(n, where), q(n, where);
        x.set(std::vector<double>(n, 0.0));
        r.set(std::vector<double>(n, 1.0));
        const auto size = static_cast<std::int64_t>(n);
        axpby(size, 1.0, r.data(), 0.0, d.data());
        double rr = dot(size, r.data(), r.data());
        std::vector<double> history{rr};
        const std::uint64_t border = planes ? 12 * 12 : 1, blocks = (n + policy::block_elements(n) - 1) / policy::block_elements(n);
        for (int i = 0; i < 5; ++i) {
          const Bytes before = moved();
          rr = iterate(a.csr, x, r, d, q, rr);
          history.push_back(rr);
          const Bytes after = moved() - before;
          if (i == 0 || !bytes_go_between_devices()) continue;  // the matrix comes
          EXPECT_EQ(after, (Bytes{0, 2 * blocks * 8, 2 * static_cast<std::uint64_t>(p - 1) * border * 8})) << i;
        }
        const std::vector<double> result = x.get();
        history.insert(history.end(), result.begin(), result.end());
        if (p == 1) bits = history;
        EXPECT_EQ(std::memcmp(bits.data(), history.data(), bits.size() * sizeof(double)), 0);
      });
    }
  }
}

/// A kernel on device 0 between the calls makes x of y. Spread calls would move half of both in each iteration, which takes longer than the other device
/// saves. So after some of them nothing moves any more. In a loop without such a kernel they are spread again, after so many more. It is the same where the kernel may change y: kernels of other code count as such.
TEST_F(LinalgSparse, CallsComeHomeWhereAKernelOnOneDeviceUsesTheVectorsInBetween) {
  constexpr std::size_t n = 16 * 16 * 16;
  const auto size = static_cast<std::int64_t>(n);
  const Matrix<double> m = laplace(16);
  Options o;
  o.spread = Spread::automatic;
  o.least_seconds = 1e-12;  // small as it is, the matrix is worth two devices
  set_options(o);
  const auto loop = [&](Access of_y) {
    const OnArrays<double> a(m, Where::host);
    Array<double> x(n, Where::home), y(n, Where::home);
    std::vector<double> is_x(n, 1.0);
    x.set(is_x);
    y.set(std::vector<double>(n, 0.0));
    const auto kernel_at_home = [&] {
      const runtime::LibraryUse uses[] = {{x.data(), n * 8, Access::overwrite}, {y.data(), n * 8, of_y}};
      const runtime::Launch launch(tasks::lane(0, 1).queue, uses, 2);
      for (std::size_t i = 0; i < n; ++i) x.data()[i] = 0.0625 * y.data()[i] + 1;
    };
    const auto devices_of_y = [&] {
      std::set<std::uint32_t> devices;
      for (const runtime::HeldBytes& h : runtime::holders(y.data(), n * 8)) devices.insert(h.device);
      return devices.size();
    };
    std::uint64_t moved_by_first = 0, moved_by_last = 0;
    for (int call = 0; call < 40; ++call) {
      const std::uint64_t before = statistics().total.between_devices.bytes;
      spmv(1.0, a.csr, x.data(), 0.0, y.data());
      if (call == 0) {
        EXPECT_EQ(devices_of_y(), 2u);
      }
      kernel_at_home();
      std::vector<double> product = m.times(is_x);
      for (std::size_t i = 0; i < n; ++i) is_x[i] = 0.0625 * product[i] + 1;
      (call < 10 ? moved_by_first : moved_by_last) += call < 10 || call >= 30 ? statistics().total.between_devices.bytes - before : 0;
    }
    EXPECT_EQ(x.get(), is_x);
    EXPECT_GE(moved_by_first, 10 * n * 8 / 2);
    EXPECT_EQ(moved_by_last, 0u);
    // Vectors come home with their matrix.
    axpby(size, 1.0, x.data(), 0.0, y.data());
    EXPECT_EQ(devices_of_y(), 1u);
    int calls = 0;
    for (; devices_of_y() == 1 && calls < 2000; ++calls) spmv(1.0, a.csr, x.data(), 0.0, y.data());
    EXPECT_GT(calls, 100);
    EXPECT_LT(calls, 2000);
    EXPECT_EQ(y.get(), m.times(is_x));
  };
  for (const Access of_y : {Access::read, Access::read_write}) on_devices(2, [&] { loop(of_y); });
}

/// Matrix and vectors of 1.9 times one device's budget: two devices hold them together, because a device has each vector in one piece of memory, with
/// the room for what its rows refer to beside them. One device streams them, and both are right.
TEST_F(LinalgSparse, ConjugateGradientsThatTwoDevicesHoldTogether) {
  const Matrix<double> m = laplace(40);
  const auto n = static_cast<std::size_t>(m.rows);
  const auto size = static_cast<std::int64_t>(n);
  const std::uint64_t bytes = 12 * m.values.size() + 4 * (n + 1) + 5 * 8 * n;
  const base::AtEnd default_again([] { ::unsetenv("SEMCACHE_DEVICE_MEMORY"); });
  std::vector<double> bits;
  // With less memory two devices stream, too. No call that has room for its parts is refused.
  for (const auto& [devices, share] : {std::pair(1, 1.0), std::pair(2, 1.0), std::pair(2, 0.95), std::pair(2, 0.9), std::pair(2, 0.85), std::pair(2, 0.8),
                                       std::pair(2, 0.75), std::pair(2, 0.7), std::pair(2, 0.65), std::pair(2, 0.6), std::pair(2, 0.5)}) {
    SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(share));
    ::setenv("SEMCACHE_DEVICE_MEMORY", std::to_string(static_cast<std::uint64_t>(share * static_cast<double>(bytes * 10 / 19))).c_str(), 1);
    const Statistics s = on_devices(devices, [&] {
      const OnArrays<double> a(m, Where::host);
      Array<double> b(n, Where::host), x(n, Where::host), r(n, Where::host), d(n, Where::host), q(n, Where::host);
      b.set(m.times(std::vector<double>(n, 1.0)));
      x.set(std::vector<double>(n, 0.0));
      spmv(1.0, a.csr, x.data(), 0.0, q.data());
      axpby(size, 1.0, b.data(), 0.0, r.data());
      axpby(size, -1.0, q.data(), 1.0, r.data());
      axpby(size, 1.0, r.data(), 0.0, d.data());
      double rr = dot(size, r.data(), r.data());
      for (int i = 0; i < 5; ++i) rr = iterate(a.csr, x, r, d, q, rr);
      const std::vector<double> result = x.get();
      if (bits.empty()) bits = result;
      EXPECT_EQ(std::memcmp(bits.data(), result.data(), n * sizeof(double)), 0);
    });
    const bool fits = devices == 2 && share == 1.0;
    EXPECT_EQ(s.total.evictions == 0, fits) << s.total.evictions;
    if (fits && bytes_go_between_devices()) {
      EXPECT_EQ(s.total.h2d.bytes, bytes - 3 * 8 * n) << "r, d and q are made on the devices";
    }
  }
}

}  // namespace
}  // namespace semcache::linalg
