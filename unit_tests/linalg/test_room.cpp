// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

/// Devices of different memory, of which some are too small for operands that no cut makes smaller.
namespace semcache::linalg {
namespace {

class LinalgRoom : public LinalgTest<> {};

constexpr const char* memories[] = {"1M,64M,64M", "64M,1M,1M"};

/// Runs it on three devices for each of these memories.
void on_each(const std::function<void()>& program) {
  for (const char* const memory : memories) {
    SCOPED_TRACE(memory);
    const Setting budget("SEMCACHE_DEVICE_MEMORY", memory);
    on_devices(3, program);
  }
}

/// A is 1.2 MiB, and each device that computes needs all of it.
TEST_F(LinalgRoom, AMatrixThatIsNotCutGoesToDevicesThatHaveRoom) {
  constexpr std::int64_t n = 400;
  on_each([] {
    Array<double> a(n * n, Where::host), b(n * n, Where::host), c(n * n, Where::host);
    for (std::int64_t i = 0; i < n * n; ++i) a.data()[i] = i % (n + 1) == 0 ? 2 : 0;
    b.set(std::vector<double>(n * n, 3.0));
    symm(Side::left, Triangle::lower, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
    EXPECT_EQ(c.get(), std::vector<double>(n * n, 6.0));
    trmm(Side::right, Triangle::upper, Transpose::no, Diagonal::non_unit, n, n, 1.0, a.data(), n, c.data(), n);
    EXPECT_EQ(c.get(), std::vector<double>(n * n, 12.0));
    trsm(Side::left, Triangle::lower, Transpose::no, Diagonal::non_unit, n, n, 1.0, a.data(), n, c.data(), n);
    EXPECT_EQ(c.get(), std::vector<double>(n * n, 6.0));
  });
}

/// x is 1.5 MiB, and a few rows refer to entries all over it; or one row has 100,000 entries.
TEST_F(LinalgRoom, RowsThatNeedMuchGoToDevicesThatHaveRoom) {
  constexpr std::int32_t n = 200000, entries = 100000;
  for (const bool is_one_row : {false, true}) {
    SCOPED_TRACE(is_one_row ? "one row" : "scattered");
    on_each([&] {
      const std::int32_t rows = is_one_row ? 1 : n, has = is_one_row ? entries : n;
      Array<std::int32_t> row_pointers(static_cast<std::size_t>(rows) + 1, Where::host), columns(static_cast<std::size_t>(has), Where::host);
      Array<double> values(static_cast<std::size_t>(has), Where::host), x(n, Where::host), y(static_cast<std::size_t>(rows), Where::host);
      for (std::int32_t i = 0; i <= rows; ++i) row_pointers.data()[i] = is_one_row ? i * entries : i;
      std::vector<double> expected(static_cast<std::size_t>(rows), 0.0);
      for (std::int32_t i = 0; i < n; ++i) x.data()[i] = i;
      for (std::int32_t i = 0; i < has; ++i) {
        columns.data()[i] = static_cast<std::int32_t>(std::int64_t{i} * 7919 % n);
        values.data()[i] = 1;
        expected[static_cast<std::size_t>(is_one_row ? 0 : i)] += columns.data()[i];
      }
      const Csr<double> a{rows, n, has, row_pointers.data(), columns.data(), values.data()};
      spmv(1.0, a, x.data(), 0.0, y.data());
      EXPECT_EQ(y.get(), expected);
      for (double& v : expected) v *= 2;
      scal(rows, 2.0, y.data());  // a vector is cut as the matrix
      EXPECT_EQ(y.get(), expected);
    });
  }
}

/// Two results of 100,000 terms: their terms are cut, so the smallest device computes, too.
TEST_F(LinalgRoom, TheTermsOfAProductWithAVectorAreCut) {
  constexpr std::int64_t results = 2, terms = 100000;
  for (const char* const memory : {"1M", "1M,64M", "64M,700K"}) {
    SCOPED_TRACE(memory);
    const Setting budget("SEMCACHE_DEVICE_MEMORY", memory);
    for (const bool transposed : {false, true}) {
      const Statistics s = on_devices(std::string(memory) == "1M" ? 1 : 2, [&] {
        Array<double> a(results * terms, Where::host), x(terms, Where::host), y(results, Where::host);
        std::vector<double> expected{5, 5};
        for (std::int64_t i = 0; i < terms; ++i) {
          x.data()[i] = static_cast<double>(i % 5);
          for (std::int64_t r = 0; r < results; ++r) {
            a.data()[transposed ? r * terms + i : i * results + r] = static_cast<double>(r + 1);
            expected[static_cast<std::size_t>(r)] += static_cast<double>((r + 1) * (i % 5));
          }
        }
        y.set({10, 10});
        gemv(transposed ? Transpose::yes : Transpose::no, transposed ? terms : results, transposed ? results : terms, 1.0, a.data(),
             transposed ? terms : results, x.data(), 0.5, y.data());
        EXPECT_EQ(y.get(), expected);
        y.set({NAN, NAN});
        gemv(transposed ? Transpose::yes : Transpose::no, transposed ? terms : results, transposed ? results : terms, 1.0, a.data(),
             transposed ? terms : results, x.data(), 0.0, y.data());
        EXPECT_EQ(y.get(), (std::vector<double>{expected[0] - 5, expected[1] - 5}));
      });
      for (const LinkStatistics& l : s.links) {
        if (l.from == LinkStatistics::host && l.to == 0) {
          EXPECT_GT(l.traffic.bytes, 0U);
        }
      }
    }
  }
}

/// Where no device has room, the call fails as before, and the error names the device and what does not fit.
TEST_F(LinalgRoom, WhatFitsNoDeviceIsRefused) {
  constexpr std::int64_t n = 400;
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "1M");
  on_devices(2, [] {
    Array<double> a(n * n, Where::host), b(n * n, Where::host);
    a.set(std::vector<double>(n * n, 1.0));
    b.set(std::vector<double>(n * n, 3.0));
    try {
      trmm(Side::left, Triangle::lower, Transpose::no, Diagonal::non_unit, n, n, 1.0, a.data(), n, b.data(), n);
      ADD_FAILURE() << "nothing failed";
    } catch (const OutOfMemory& e) {
      EXPECT_NE(std::string(e.what()).find("device 0"), std::string::npos) << e.what();
    }
    EXPECT_EQ(b.get(), std::vector<double>(n * n, 3.0));
  });
}

/// Each of three arrays fits the device, and they do not together. A task that uses some rows of an array on the device does not need those between
/// them. Adopted memory has such an array, too, where it neither begins nor ends with a page.
TEST_F(LinalgRoom, TasksUseRowsOfArraysOnTheDeviceApart) {
  constexpr std::int64_t n = 260;  // 528 KiB
  for (const char* const memory : {"1M", "1300K"}) {
    const Setting budget("SEMCACHE_DEVICE_MEMORY", memory);
    for (const Where where : {Where::home, Where::adopted}) {
      for (const bool transposed_a : {false, true}) {
        for (const bool transposed_b : {false, true}) {
          SCOPED_TRACE(std::string(memory) + (where == Where::home ? " home" : " adopted") + (transposed_a ? " T" : " N") + (transposed_b ? "T" : "N"));
          on_devices(1, [&] {
            Array<double> a(n * n, where), b(n * n, where), c(n * n, where);
            std::vector<double> ones(n * n), diagonal(n * n), expected(n * n);
            for (std::int64_t i = 0; i < n * n; ++i) {
              const std::int64_t row = i % n, column = i / n;
              ones[static_cast<std::size_t>(i)] = static_cast<double>((transposed_a ? column : row) % 7);  // of op(A): its row
              diagonal[static_cast<std::size_t>(i)] = row == column ? static_cast<double>(1 + row % 5) : 0;
              expected[static_cast<std::size_t>(i)] = static_cast<double>(row % 7 * (1 + column % 5)) + 2 * 3;
            }
            a.set(ones);
            b.set(diagonal);
            c.set(std::vector<double>(n * n, 3.0));
            gemm(transposed_a ? Transpose::yes : Transpose::no, transposed_b ? Transpose::yes : Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 2.0,
                 c.data(), n);
            EXPECT_TRUE(c.get() == expected);
            EXPECT_TRUE(a.get() == ones && b.get() == diagonal);
          });
        }
      }
    }
  }
}

/// All devices need the same parts of x, and the small one has its own, smaller memory around them (two unit matrices, one below the other).
TEST_F(LinalgRoom, ATightDeviceNeedsTheSamePartsAsOthers) {
  constexpr std::int32_t n = 1 << 18;
  struct Case {
    const char* memory;
    std::int32_t matrices;
    std::int64_t columns;
  };
  for (const Case& c : {Case{"2500K,5M", 2, 1}, Case{"2600K,5M", 2, 1}, Case{"5M,2500K,5M", 3, 2}}) {
    SCOPED_TRACE(std::string(c.memory) + ", " + std::to_string(c.columns) + " columns");
    const Setting budget("SEMCACHE_DEVICE_MEMORY", c.memory);
    on_devices(c.matrices, [&] {
      const std::int32_t rows = c.matrices * n;
      const auto count = static_cast<std::size_t>(rows), vectors = static_cast<std::size_t>(c.columns);
      Array<std::int32_t> row_pointers(count + 1, Where::host), columns(count, Where::host);
      Array<double> values(count, Where::host), x(n * vectors, Where::host), y(count * vectors, Where::host);
      std::vector<double> expected;
      for (std::int32_t i = 0; i <= rows; ++i) row_pointers.data()[i] = i;
      for (std::int32_t i = 0; i < rows; ++i) {
        columns.data()[i] = i % n;
        values.data()[i] = 2 + i / n;
      }
      for (std::size_t i = 0; i < x.count(); ++i) x.data()[i] = static_cast<double>(i % 1000);
      for (std::size_t v = 0; v < vectors; ++v) {
        for (std::int32_t i = 0; i < rows; ++i) expected.push_back((2 + i / n) * x.data()[v * n + static_cast<std::size_t>(i % n)]);
      }
      const Csr<double> a{rows, n, rows, row_pointers.data(), columns.data(), values.data()};
      if (c.columns == 1) spmv(1.0, a, x.data(), 0.0, y.data());
      else spmm(c.columns, 1.0, a, x.data(), n, 0.0, y.data(), rows);
      EXPECT_TRUE(y.get() == expected);
    });
  }
}

}  // namespace
}  // namespace semcache::linalg
