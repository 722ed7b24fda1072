// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"
#include "stand_ins.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>

// Operands in adopted memory that does not begin and end with a page. The tests of random products have such operands, too.
namespace semcache::linalg {
namespace {

using test::Block;

using Size = std::size_t;
constexpr Size page = Block::page;

/// Numbers in adopted memory that begins `shift` bytes behind a page. The host announces its accesses, for SEMCACHE_TRACKER=explicit.
template <class T>
class Lent {
 public:
  explicit Lent(Size count, Size shift = 1048, T value = T(0)) : count_(count), block_(count * sizeof(T), shift) {
    std::fill_n(data(), count, value);
    runtime::adopt(data(), count * sizeof(T), "lent");
  }
  ~Lent() { runtime::release(data()); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(block_.data()); }
  [[nodiscard]] Size count() const noexcept { return count_; }
  [[nodiscard]] std::vector<T> get() const {
    access(data(), count_ * sizeof(T), Access::read);
    return {data(), data() + count_};
  }
  void set(Size i, T value) const {
    data()[i] = value;
    access(data() + i, sizeof(T), Access::write);
  }
  void count_up() const {
    std::iota(data(), data() + count_, T(1));
    access(data(), count_ * sizeof(T), Access::write);
  }

 private:
  Size count_;
  Block block_;
};

std::int64_t number_of(Size n) { return static_cast<std::int64_t>(n); }
std::uint64_t bytes_of(Size n) { return n * sizeof(double); }

/// Adds up what `dot` and `nrm2` bring: a number for each block of elements.
Bytes without_sums(Bytes b) { return {b.h2d, 0, b.between}; }

class LinalgStandIns : public LinalgTest<::testing::TestWithParam<int>> {};
// What moves depends on the tracker: with SEMCACHE_TRACKER=userfaultfd or explicit all copies are made at the call.
class LinalgStandInBytes : public LinalgStandIns {};
INSTANTIATE_TEST_SUITE_P(Devices, LinalgStandIns, ::testing::Values(1, 2, 3, 4));
INSTANTIATE_TEST_SUITE_P(Devices, LinalgStandInBytes, ::testing::Values(1, 2, 4));

TEST_P(LinalgStandInBytes, WhatIsReadMovesOnceAndThenOnlyWhatHasChanged) {
  on_devices(GetParam(), [] {
    constexpr Size n = 8 * page / sizeof(double), shift = 1048, in_front = (page - shift) / sizeof(double), behind = shift / sizeof(double);
    const Lent<double> x(n, shift, 1.0), y(n, shift, 2.0);
    const auto moves = [&](double expected) {
      const Bytes before = moved();
      EXPECT_EQ(dot(number_of(n), x.data(), y.data()), expected);
      return without_sums(moved() - before);
    };
    EXPECT_EQ(moves(2.0 * n).h2d, 2 * bytes_of(n));
    EXPECT_EQ(moves(2.0 * n), (Bytes{0, 0, 0}));
    x.set(0, 3.0);  // in the edge in front
    EXPECT_EQ(moves(2.0 * n + 4.0).h2d, bytes_of(in_front));
    EXPECT_EQ(moves(2.0 * n + 4.0), (Bytes{0, 0, 0}));
    y.set(n - 1, 5.0);  // in the edge behind
    EXPECT_EQ(moves(2.0 * n + 7.0).h2d, bytes_of(behind));
    x.set(n / 2, 2.0);  // in the body
    EXPECT_EQ(moves(2.0 * n + 9.0).h2d, page);
    x.set(n / 2, 2.0);  // the same content, but the write is noticed
    EXPECT_EQ(moves(2.0 * n + 9.0).h2d, page);
    x.set(0, 3.0);  // the same content of an edge
    EXPECT_EQ(moves(2.0 * n + 9.0), (Bytes{0, 0, 0}));
  });
}

TEST_P(LinalgStandInBytes, OfAResultTheEdgesComeAtOnceAndTheBodyWhenItIsRead) {
  on_devices(GetParam(), [] {
    constexpr Size n = 8 * page / sizeof(double), edges = page / sizeof(double);  // both edges together
    const Lent<double> x(n, 1048, 1.0), y(n, 1048, std::nan(""));
    Bytes before = moved();
    axpby(number_of(n), 2.0, x.data(), 0.0, y.data());
    EXPECT_EQ((moved() - before).h2d, bytes_of(n));  // y is not read
    EXPECT_EQ((moved() - before).d2h, bytes_of(edges));
    before = moved();
    axpby(number_of(n), 2.0, x.data(), 0.0, y.data());
    EXPECT_EQ((moved() - before).h2d, 0U);
    EXPECT_EQ((moved() - before).d2h, bytes_of(edges));
    before = moved();
    EXPECT_EQ(y.get(), std::vector<double>(n, 2.0));
    EXPECT_EQ((moved() - before).d2h, bytes_of(n - edges));
    before = moved();
    axpby(number_of(n), 1.0, x.data(), 3.0, y.data());  // y is where it was computed
    EXPECT_EQ((moved() - before).h2d, 0U);
    EXPECT_EQ(y.get(), std::vector<double>(n, 7.0));
  });
}

// A range without a whole page is all edge. So is a part of an operand's range: what others have beside it neither moves nor changes.
TEST_P(LinalgStandInBytes, ARangeWithoutAPageAndPartsOfOne) {
  on_devices(GetParam(), [] {
    const Lent<double> small(100, 4000, 1.0), large(8 * page / sizeof(double), 1048, 1.0);
    for (const Lent<double>* v : {&small, &large}) {
      Bytes before = moved();
      EXPECT_EQ(nrm2(16, v->data()), 4.0);
      EXPECT_EQ((moved() - before).h2d, bytes_of(16));
      before = moved();
      EXPECT_EQ(nrm2(16, v->data()), 4.0);
      EXPECT_EQ((moved() - before).h2d, 0U);
      before = moved();
      scal(4, 0.5, v->data() + 2);
      EXPECT_EQ((moved() - before).d2h, bytes_of(4));
      EXPECT_EQ(nrm2(16, v->data()), std::sqrt(13.0));
      std::vector<double> expected(v->count(), 1.0);
      std::fill_n(expected.begin() + 2, 4, 0.5);
      EXPECT_EQ(v->get(), expected);
    }
  });
}

TEST_P(LinalgStandInBytes, APatternIsCutOnceAndAnewWhereAByteOfAnEdgeHasChanged) {
  on_devices(GetParam(), [] {
    constexpr Size n = 3000;
    const Lent<std::int64_t> rows(n + 1, 4008);
    const Lent<std::int32_t> columns(n, 1048);
    const Lent<double> values(n, 2096, 2.0), x(n, 8, 1.0), y(n, 16);
    for (Size i = 0; i < n; ++i) columns.data()[i] = static_cast<std::int32_t>(i);
    for (Size i = 0; i <= n; ++i) rows.data()[i] = number_of(i);
    const Csr<double, std::int64_t> a{number_of(n), number_of(n), number_of(n), rows.data(), columns.data(), values.data()};
    spmv(1.0, a, x.data(), 0.0, y.data());
    EXPECT_EQ(y.get(), std::vector<double>(n, 2.0));
    for (int call = 0; call < 3; ++call) {
      const Bytes before = moved();
      spmv(1.0, a, x.data(), 0.0, y.data());
      EXPECT_EQ((moved() - before).h2d, 0U);  // with a new cut come new row pointers of 32 bits
    }
    x.set(1, 5.0);
    columns.set(0, 1);  // the first row now has column 1
    const Bytes before = moved();
    spmv(1.0, a, x.data(), 0.0, y.data());
    EXPECT_GE((moved() - before).h2d, (n + 1) * sizeof(std::int32_t));
    std::vector<double> expected(n, 2.0);
    expected[0] = expected[1] = 10.0;
    EXPECT_EQ(y.get(), expected);
    columns.set(n - 1, static_cast<std::int32_t>(n));
    EXPECT_THROW(spmv(1.0, a, x.data(), 0.0, y.data()), UsageError);
    EXPECT_EQ(y.get(), expected);
  });
}

// Every kind of call, with matrices whose columns cross the borders between edges and body.
TEST_P(LinalgStandIns, EachKindOfCallIsRight) {
  on_devices(GetParam(), [] {
    constexpr Size n = 37, ld = 41;
    constexpr std::int64_t m = n, l = ld;
    const Lent<double> a(ld * n, 1048), b(ld * n, 3000), c(ld * n, 8), x(n, 4000, 1.0), y(n, 4088, 1.0);
    const auto fill = [&](const Lent<double>& matrix, double diagonal, double others) {
      for (Size j = 0; j < n; ++j) {
        for (Size i = 0; i < n; ++i) matrix.data()[j * ld + i] = i == j ? diagonal : others;
      }
      access(matrix.data(), matrix.count() * sizeof(double), Access::write);
    };
    const auto expect = [&](const Lent<double>& matrix, double diagonal, double lower, double upper, const char* call) {
      const std::vector<double> is = matrix.get();
      for (Size j = 0; j < n; ++j) {
        for (Size i = 0; i < n; ++i) ASSERT_DOUBLE_EQ(is[j * ld + i], i == j ? diagonal : i > j ? lower : upper) << call << ", " << i << ", " << j;
        for (Size i = n; i < ld; ++i) ASSERT_EQ(is[j * ld + i], 0.0) << call;
      }
    };
    fill(a, 2.0, 0.0);
    fill(b, 3.0, 1.0);
    gemm(Transpose::no, Transpose::yes, m, m, m, 1.0, a.data(), l, b.data(), l, 0.0, c.data(), l);
    expect(c, 6.0, 2.0, 2.0, "gemm");
    symm(Side::right, Triangle::upper, m, m, 1.0, a.data(), l, b.data(), l, 1.0, c.data(), l);
    expect(c, 12.0, 4.0, 4.0, "symm");
    syrk(Triangle::lower, Transpose::no, m, m, 1.0, a.data(), l, 0.0, c.data(), l);
    expect(c, 4.0, 0.0, 4.0, "syrk");
    syr2k(Triangle::upper, Transpose::no, m, m, 1.0, a.data(), l, b.data(), l, 1.0, c.data(), l);
    expect(c, 16.0, 0.0, 8.0, "syr2k");
    fill(c, 8.0, 4.0);
    trsm(Side::left, Triangle::lower, Transpose::no, Diagonal::non_unit, m, m, 1.0, a.data(), l, c.data(), l);
    expect(c, 4.0, 2.0, 2.0, "trsm");
    trmm(Side::right, Triangle::upper, Transpose::no, Diagonal::non_unit, m, m, 1.0, a.data(), l, c.data(), l);
    expect(c, 8.0, 4.0, 4.0, "trmm");
    trmm(Side::right, Triangle::upper, Transpose::no, Diagonal::non_unit, m, m, 0.0, a.data(), l, c.data(), l);
    expect(c, 0.0, 0.0, 0.0, "trmm by zero");
    gemv(Transpose::yes, m, m, 1.0, a.data(), l, x.data(), 3.0, y.data());
    EXPECT_EQ(y.get(), std::vector<double>(n, 5.0));
    scal(m, 2.0, y.data());
    EXPECT_EQ(y.get(), std::vector<double>(n, 10.0));
    EXPECT_EQ(dot(m, x.data(), y.data()), 10.0 * n);
    EXPECT_DOUBLE_EQ(nrm2(m, y.data()), 10.0 * std::sqrt(n));
    DeviceScalar<double> xy, yy;
    dot(m, x.data(), y.data(), xy);
    dot(m, y.data(), y.data(), yy);
    EXPECT_EQ(yy.get(), 100.0 * n);
    axpby(m, Factor<double>(yy, xy), x.data(), 1.0, y.data());
    EXPECT_EQ(y.get(), std::vector<double>(n, 20.0));
    EXPECT_GE(devices_of_vectors(y.data(), m, 1e9), 1U);
    gemm(Transpose::no, Transpose::no, m, m, m, 1.0, a.data(), l, a.data(), l, 0.0, b.data(), l);  // A twice
    expect(b, 4.0, 0.0, 0.0, "gemm of one matrix");
  });
}

TEST_P(LinalgStandIns, HermitianAndSparseProductsAreRight) {
  using Z = std::complex<double>;
  on_devices(GetParam(), [] {
    constexpr Size n = 70;
    constexpr std::int64_t m = n;
    const Lent<Z> a(n * n, 1048), b(n * n, 24, Z(0, 1)), c(n * n, 4000);
    for (Size i = 0; i < n; ++i) a.set(i * n + i, Z(2));
    hemm(Side::left, Triangle::lower, m, m, Z(1), a.data(), m, b.data(), m, Z(0), c.data(), m);
    EXPECT_EQ(c.get(), std::vector<Z>(n * n, Z(0, 2)));
    herk(Triangle::upper, Transpose::no, m, m, 1.0, a.data(), m, 0.0, c.data(), m);
    EXPECT_EQ(c.get()[0], Z(4));
    EXPECT_EQ(c.get()[n], Z(0));     // above the diagonal
    EXPECT_EQ(c.get()[1], Z(0, 2));  // below it
    her2k(Triangle::upper, Transpose::no, m, m, Z(1), a.data(), m, b.data(), m, 0.0, c.data(), m);
    EXPECT_EQ(c.get()[n], Z(0, 0));
    EXPECT_EQ(c.get()[1], Z(0, 2));
    // Two entries a row: the diagonal, and the column behind it.
    const Lent<std::int64_t> rows(n + 1, 4080);
    const Lent<std::int32_t> columns(2 * n, 3996);
    const Lent<Z> values(2 * n, 4072, Z(0, 1)), x(3 * n, 1048, Z(1)), y(3 * (n + 1), 2048, Z(7));
    for (Size i = 0; i < n; ++i) {
      rows.set(i + 1, number_of(2 * i + 2));
      columns.set(2 * i, static_cast<std::int32_t>(i));
      columns.set(2 * i + 1, static_cast<std::int32_t>((i + 1) % n));
    }
    const Csr<Z, std::int64_t> s{m, m, 2 * m, rows.data(), columns.data(), values.data()};
    for (int call = 0; call < 2; ++call) spmm(3, Z(1), s, x.data(), m, Z(0), y.data(), m + 1);
    std::vector<Z> expected(3 * (n + 1), Z(0, 2));
    for (Size j = 0; j < 3; ++j) expected[j * (n + 1) + n] = Z(7);
    EXPECT_EQ(y.get(), expected);
    spmv(Z(1), s, x.data(), Z(1), y.data());
    EXPECT_EQ(y.get()[n - 1], Z(0, 4));
    EXPECT_EQ(y.get()[n], Z(7));
  });
}

TEST_P(LinalgStandIns, NewContentAtTheSameAddressIsSeen) {
  on_devices(GetParam(), [] {
    constexpr Size n = 3 * page / sizeof(double);
    std::vector<double> memory(n + 7, 1.0);
    double* const x = memory.data() + 1;
    for (int round = 0; round < 4; ++round) {
      const Size count = round % 2 == 0 ? n - 600 : n;
      std::fill_n(x, count, round + 1.0);
      runtime::adopt(x, count * sizeof(double), round % 2 == 0 ? "x" : nullptr);
      EXPECT_EQ(dot(number_of(count), x, x), static_cast<double>(count) * (round + 1) * (round + 1));
      scal(number_of(count), 2.0, x);
      runtime::release(x);
      for (Size i = 0; i < count; ++i) ASSERT_EQ(x[i], 2.0 * (round + 1)) << i;
      std::fill(memory.begin(), memory.end(), -1.0);  // nobody follows it any more
    }
    EXPECT_THROW(scal(4, 2.0, x), UsageError);
  });
}

TEST_P(LinalgStandIns, TheMemoryMayBeFreedBehindItsReleaseAndBehindTheEnd) {
  auto* const x = static_cast<double*>(std::malloc(100000));
  std::fill_n(x, 12500, 1.0);
  on_devices(GetParam(), [&] {
    for (int round = 0; round < 3; ++round) {
      auto* const y = static_cast<double*>(std::malloc(100000));
      std::fill_n(y, 12500, 2.0);
      runtime::adopt(y, 100000, "y");
      if (round == 0) runtime::adopt(x, 100000, "x");
      axpby(12500, 1.0, x, 1.0, y);
      axpby(12500, 1.0, y, 0.0, x);
      runtime::release(y);
      std::memset(y, 0xff, 100000);
      std::free(y);
    }
  });
  for (Size i = 0; i < 12500; ++i) ASSERT_EQ(x[i], 7.0) << i;
  std::free(x);
}

// More ranges than stand-ins are kept.
TEST_P(LinalgStandIns, ManyRangesInTurn) {
  on_devices(GetParam(), [] {
    std::vector<std::unique_ptr<Lent<double>>> all;
    for (Size i = 0; i < 150; ++i) all.push_back(std::make_unique<Lent<double>>(700 + 10 * i, i * 24, 1.0));
    for (int round = 0; round < 3; ++round) {
      for (const auto& v : all) scal(number_of(v->count()), 2.0, v->data());
    }
    for (const auto& v : all) ASSERT_EQ(v->get(), std::vector<double>(v->count(), 8.0));
  });
}

// Two calls and the host use their own rows of one matrix. Rows are neighbours on every page, also in the edges.
TEST_P(LinalgStandIns, ThreadsUseTheirOwnRowsOfOneRange) {
  on_devices(GetParam(), [] {
    constexpr Size rows = 30, columns = 60;
    constexpr std::int64_t share = rows / 3;
    const Lent<double> c(rows * columns, 1048, 1.0), identity(share * share, 72);
    for (Size i = 0; i < share; ++i) identity.set(i * share + i, 1.0);
    constexpr int rounds = 50;
    std::vector<std::thread> threads;
    for (Size t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        double* const mine = c.data() + t * share;
        const Lent<double> copy(share * columns, 500 * sizeof(double));
        for (int round = 0; round < rounds; ++round) {
          // The copy is overwritten by the rows, and the rows become twice what they are.
          gemm(Transpose::no, Transpose::no, share, number_of(columns), share, 1.0, identity.data(), share, mine, number_of(rows), 0.0, copy.data(), share);
          gemm(Transpose::no, Transpose::no, share, number_of(columns), share, 1.0, identity.data(), share, copy.data(), share, 1.0, mine, number_of(rows));
        }
      });
    }
    threads.emplace_back([&] {
      double* const mine = c.data() + 2 * share;
      for (int round = 0; round < rounds * 20; ++round) {
        for (Size j = 0; j < columns; ++j) {
          for (Size i = 0; i < share; ++i) mine[j * rows + i] += 1.0;
        }
      }
      access_2d(mine, rows * sizeof(double), share * sizeof(double), columns, Access::write);
    });
    for (std::thread& t : threads) t.join();
    const std::vector<double> is = c.get();
    for (Size e = 0; e < is.size(); ++e) ASSERT_EQ(is[e], e % rows < 2 * share ? std::exp2(rounds) : 1.0 + rounds * 20) << e;
  });
}

// Calls that write the same bytes at the same time come one after the other, so no sum is lost.
TEST_P(LinalgStandIns, SumsOfSeveralThreadsInOneVectorAreComplete) {
  on_devices(GetParam(), [] {
    constexpr Size n = 2 * page / sizeof(double);
    const Lent<double> x(n, 64, 1.0), y(n, 1048);
    constexpr int rounds = 50, count = 3;
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        const Size first = static_cast<Size>(t) * 100;  // they overlap
        for (int round = 0; round < rounds; ++round) axpby(number_of(n - first), 1.0, x.data() + first, 1.0, y.data() + first);
      });
    }
    for (std::thread& t : threads) t.join();
    const std::vector<double> is = y.get();
    for (Size i = 0; i < n; ++i) ASSERT_EQ(is[i], rounds * static_cast<double>(std::min<Size>(count, i / 100 + 1))) << i;
  });
}

// A product with a block of rows does not touch the entries of x that these rows do not refer to, which another thread writes.
TEST_P(LinalgStandIns, SparseProductsOfBlocksBesideCallsThatWriteOtherEntries) {
  on_devices(GetParam(), [] {
    constexpr Size n = 1500, block = n / 3;
    const Lent<std::int32_t> rows(n + 1, 1048), columns(n, 80);
    const Lent<double> values(n, 24, 2.0), vectors(2 * n, 2000, 1.0);  // x and y in one range
    for (Size i = 0; i < n; ++i) columns.data()[i] = static_cast<std::int32_t>(i);
    for (Size i = 0; i <= n; ++i) rows.data()[i] = static_cast<std::int32_t>(i);
    access(rows.data(), (n + 1) * sizeof(std::int32_t), Access::write);
    access(columns.data(), n * sizeof(std::int32_t), Access::write);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (Size t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const Csr<double> mine{number_of(block), number_of(n), number_of(n), rows.data() + t * block, columns.data(), values.data()};
        double* const x = vectors.data();
        double* const y = vectors.data() + n + t * block;
        for (int round = 0; round < 40; ++round) {
          scal(number_of(block), round % 2 == 0 ? 4.0 : 0.25, x + t * block);
          spmv(1.0, mine, x, 0.0, y);
          wrong += dot(number_of(block), y, y) != (round % 2 == 0 ? 64.0 : 4.0) * block;
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    const std::vector<double> is = vectors.get();
    for (Size i = 0; i < 2 * n; ++i) ASSERT_EQ(is[i], i < n ? 1.0 : 2.0) << i;
  });
}

// A call that fails leaves the memory as it was, and the next one is right.
TEST_P(LinalgStandIns, ACallThatFailsChangesNothing) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "1M");
  on_devices(GetParam(), [] {
    constexpr Size n = 400, columns = 8;  // 1.25 MB of a triangular matrix, which must fit a device
    const Lent<double> a(n * n, 1048, 1.0), b(n * columns, 56);
    b.count_up();
    std::vector<double> expected = b.get();
    EXPECT_THROW(trmm(Side::left, Triangle::upper, Transpose::no, Diagonal::unit, number_of(n), number_of(columns), 1.0, a.data(), number_of(n), b.data(),
                      number_of(n)),
                 OutOfMemory);
    EXPECT_EQ(b.get(), expected);
    scal(number_of(b.count()), 2.0, b.data());
    for (double& e : expected) e *= 2.0;
    EXPECT_EQ(b.get(), expected);
    // A bad argument is found before anything moves.
    const Bytes before = moved();
    EXPECT_THROW(scal(number_of(b.count() + 1), 2.0, b.data()), UsageError);
    EXPECT_THROW(scal(number_of(b.count()), 2.0, b.data() + 1), UsageError);
    // From the first column to the last it is about 2^64 bytes.
    EXPECT_THROW(gemv(Transpose::no, 1, (1 << 30) + 1, 1.0, b.data(), (std::int64_t{1} << 31) - 1, a.data(), 0.0, b.data()), UsageError);
    EXPECT_EQ(moved() - before, (Bytes{0, 0, 0}));
    EXPECT_EQ(b.get(), expected);
  });
}

TEST_P(LinalgStandIns, WithoutRoomForAStandInTheErrorNamesTheRange) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "64K");
  on_devices(GetParam(), [] {
    const Lent<double> large(12000, 1048, 1.0), small(100, 1048, 2.0);
    for (int call = 0; call < 2; ++call) {
      try {
        axpby(100, 1.0, large.data(), 1.0, small.data());
        FAIL() << "an array of 96000 bytes is in 64 KiB";
      } catch (const OutOfMemory& e) {
        EXPECT_NE(std::string(e.what()).find("array 'stand-in of lent (linalg)' of 96024 bytes is larger than"), std::string::npos) << e.what();
      }
      EXPECT_EQ(large.get(), std::vector<double>(12000, 1.0));
      scal(100, 2.0, small.data());
      EXPECT_EQ(small.get(), std::vector<double>(100, call == 0 ? 4.0 : 8.0));
    }
  });
}

// The content of a stand-in is nowhere any more when its range is released.
TEST_P(LinalgStandIns, AReleaseFreesTheStandIn) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "64K");
  on_devices(GetParam(), [] {
    const auto live_arrays = [] {
      try {
        runtime::deallocate(runtime::allocate_device("too large", 100000));
      } catch (const OutOfMemory& e) {
        return std::string(e.what());
      }
      return std::string("no error");
    };
    {
      const Lent<double> x(1000, 1048, 1.0);
      scal(1000, 2.0, x.data());
      EXPECT_NE(live_arrays().find("stand-in of lent"), std::string::npos) << live_arrays();
    }
    EXPECT_EQ(live_arrays().find("stand-in"), std::string::npos) << live_arrays();
  });
}

// The addresses of a runtime that keeps no arrays are given back.
TEST_P(LinalgStandIns, ARuntimeWithStandInsEnds) {
  std::vector<double> x(3000, 1.0);
  const auto one = [&] {
    on_devices(GetParam(), [&] {
      runtime::adopt(x.data(), x.size() * sizeof(double), "x");
      scal(number_of(x.size()), -1.0, x.data());
    });
  };
  one();
  const long before = kib_of_addresses();
  for (int i = 0; i < 5; ++i) one();
  EXPECT_LT(kib_of_addresses() - before, 1L << 20);
  EXPECT_EQ(x, std::vector<double>(3000, 1.0));
}

// A stand-in that lies on two pages of the device, which has one.
TEST_P(LinalgStandIns, EdgesForWhichThereIsNoRoom) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "64K"), large_pages("SEMCACHE_DEVICE_TRACKER", "off");
  on_devices(GetParam(), [] {
    void* const in_front = runtime::allocate_device("in front", 50000);  // also where arrays begin with pages of the host (SEMCACHE_CHECK)
    const Lent<double> x(2000, 1048, 1.0);
    for (int call = 0; call < 2; ++call) {  // the second one waits for nothing
      EXPECT_THROW(scal(2000, 2.0, x.data()), OutOfMemory);
      EXPECT_EQ(x.get(), std::vector<double>(2000, 1.0));
    }
    runtime::deallocate(in_front);
  });
}

// What a call that fails has done to the stand-in is not taken for content of the memory.
TEST_P(LinalgStandIns, WithoutAWriteBackTheMemoryKeepsItsContent) {
  on_devices(GetParam(), [] {
    constexpr Size n = 3 * page / sizeof(double);
    const Lent<double> x(n, 1048, 1.0);
    const Size bytes = n * sizeof(double);
    const auto fail = [&](Access mode) {
      Matrix m = vector_of(x.data(), number_of(n));
      const StandIns stand_ins({{&m, mode}});
      EXPECT_NE(m.data, x.data());
      const std::vector<double> result(n, 7.0);
      runtime::copy(const_cast<void*>(m.data), result.data(), bytes, runtime::queue_of(nullptr));  // as a task
    };
    for (const Access mode : {Access::read_write, Access::overwrite}) {
      fail(mode);
      EXPECT_EQ(x.get(), std::vector<double>(n, 1.0));
      EXPECT_EQ(dot(number_of(n), x.data(), x.data()), n);
    }
  });
}

// A call neither waits for what others do between its parts, nor undoes it.
TEST_P(LinalgStandIns, CallsOnOtherPartsOfARangeDoNotMeet) {
  on_devices(GetParam(), [] {
    const Lent<double> x(1000, 1048, 1.0);
    Matrix even = vector_of(x.data(), 1000), odd = even;
    const auto write = [](const Matrix& m, Size first, Size end, double value) {
      const std::vector<double> result(end - first, value);
      runtime::copy(static_cast<double*>(const_cast<void*>(m.data)) + first, result.data(), bytes_of(end - first), runtime::queue_of(nullptr));
    };
    StandIns mine({{&even, Access::read_write, {{0, 100, 0, 1}, {200, 300, 0, 1}, {700, 800, 0, 1}}}});
    for (const Size first : {0, 200, 700}) write(even, first, first + 100, 7.0);
    x.set(150, 5.0);
    StandIns other({{&odd, Access::read_write, {{100, 200, 0, 1}, {300, 700, 0, 1}, {800, 1000, 0, 1}}}});
    write(odd, 300, 700, 9.0);
    mine.write_back();
    other.write_back();
    std::vector<double> expected(1000, 1.0);
    for (const Size first : {0, 200, 700}) std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(first), 100, 7.0);
    std::fill_n(expected.begin() + 300, 400, 9.0);
    expected[150] = 5.0;
    EXPECT_EQ(x.get(), expected);
    EXPECT_EQ(even.data, odd.data);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(even.data) % 512, 1048U % 512);
  });
}

}  // namespace
}  // namespace semcache::linalg
