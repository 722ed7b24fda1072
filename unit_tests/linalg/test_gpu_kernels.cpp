// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "../../packages/linalg/src/block_sums.hpp"
#include "../../packages/linalg/src/gpu_kernels.hpp"
#include "../../packages/linalg/src/library.hpp"
#include "kernels_on_host.hpp"

#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace semcache::linalg {
namespace {

using on_host::Complex;

template <class T>
using Real = typename on_host::RealOf<T>::Type;
template <class T>
constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

template <class T>
T make([[maybe_unused]] double re, [[maybe_unused]] double im) {
  if constexpr (is_complex<T>) return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  else return static_cast<T>(re);
}
template <class T>
T random_number(std::mt19937_64& engine) {
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  const double re = number(engine);
  return make<T>(re, is_complex<T> ? number(engine) : 0.0);
}
template <class T>
std::vector<T> random_numbers(std::size_t n, std::mt19937_64& engine) {
  std::vector<T> all(n);
  for (T& one : all) one = random_number<T>(engine);
  return all;
}
template <class T>
Complex<long double> wide(T x) {
  if constexpr (is_complex<T>) return {x.re, x.im};
  else return {x, 0.0L};
}
Complex<long double> product(Complex<long double> a, Complex<long double> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Complex<long double> sum(Complex<long double> a, Complex<long double> b) { return {a.re + b.re, a.im + b.im}; }
template <class T>
double distance(T x, Complex<long double> right) {
  return static_cast<double>(std::hypot(wide(x).re - right.re, wide(x).im - right.im));
}
template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// A copy of a part of an array in memory of its own, whose ends a sanitizer guards, `shift` elements behind a border of 16 bytes.
template <class T>
class Part {
 public:
  Part(const std::vector<T>& whole, std::size_t first, std::size_t last, std::size_t shift) : memory_(new T[last - first + shift]), shift_(shift) {
    std::copy(whole.begin() + static_cast<std::ptrdiff_t>(first), whole.begin() + static_cast<std::ptrdiff_t>(last), data());
  }
  T* data() const { return memory_.get() + shift_; }
  /// Where the array's first element would be.
  const T* origin(std::size_t first) const {
    return reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(data()) - first * sizeof(T));
  }

 private:
  std::unique_ptr<T[]> memory_;
  std::size_t shift_;
};

template <class T>
class LinalgGpuKernels : public ::testing::Test {};
using Types = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(LinalgGpuKernels, Types, );

/// What lies behind the vectors is guarded by a sanitizer.
template <class T>
std::vector<T> sums(T alpha, const std::vector<T>& x, T beta, const std::vector<T>& y) {
  const Part<T> part_x(x, 0, x.size(), 1), part_y(y, 0, y.size(), 0);
  const std::size_t n = x.size(), of_thread_block = on_host::threads * on_host::elements_of_thread<T>;
  on_host::launch((n + of_thread_block - 1) / of_thread_block, [&] { on_host::axpby<T>(n, alpha, part_x.data(), beta, part_y.data()); });
  return std::vector<T>(part_y.data(), part_y.data() + n);
}

TYPED_TEST(LinalgGpuKernels, SumsOfVectorsAreRight) {
  using T = TypeParam;
  std::mt19937_64 engine(5);
  const T zero{}, one = make<T>(1, 0), factor = make<T>(-1.5, 0.25), other = make<T>(0.75, -2);
  for (const std::size_t n : {1, 127, 128, 511, 512, 1024, 2500}) {
    const std::vector<T> x = random_numbers<T>(n, engine), y = random_numbers<T>(n, engine);
    for (const T alpha : {zero, one, factor}) {
      for (const T beta : {zero, one, other}) {
        const std::vector<T> result = sums(alpha, x, beta, y);
        for (std::size_t i = 0; i < n; ++i) {
          const Complex<long double> right = sum(product(wide(alpha), wide(x[i])), product(wide(beta), wide(y[i])));
          ASSERT_LE(distance(result[i], right), 16.0 * std::numeric_limits<Real<T>>::epsilon()) << n << ' ' << i;
        }
      }
    }
  }
}

TYPED_TEST(LinalgGpuKernels, NumbersAreAddedInTheOrderOfTheHost) {
  using T = TypeParam;
  std::mt19937_64 engine(6);
  for (const std::size_t n : {1, 2, 127, 128, 129, 1000, 1024, 4096, 5001}) {
    const std::vector<T> numbers = random_numbers<T>(n, engine);
    T result = make<T>(7, 7);
    on_host::launch(1, [&] { on_host::sum<T>(n, numbers.data(), &result); });
    Complex<long double> right{};
    for (const T& x : numbers) right = sum(right, wide(x));
    ASSERT_LE(distance(result, right), static_cast<double>(n) * std::numeric_limits<Real<T>>::epsilon()) << n;
    if constexpr (!is_complex<T>) {
      ASSERT_TRUE(same_bits(result, sum_of(numbers.data(), n))) << n;
    }
  }
}

TYPED_TEST(LinalgGpuKernels, FactorsMayBeQuotientsOfNumbersInMemory) {
  using T = TypeParam;
  std::mt19937_64 engine(8);
  const std::vector<T> x = random_numbers<T>(700, engine), y = random_numbers<T>(700, engine);
  const T a = make<T>(3, 1), b = make<T>(2, -1), minus = make<T>(-1, 0), one = make<T>(1, 0);
  const Part<T> result(y, 0, y.size(), 0);
  on_host::launch(2, [&] { on_host::axpby_of_quotients<T>(700, minus, &a, &b, x.data(), one, &b, &a, result.data()); });
  const std::vector<T> right = sums(on_host::multiply(minus, on_host::divided(a, b)), x, on_host::multiply(one, on_host::divided(b, a)), y);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(same_bits(result.data()[i], right[i])) << i;
  on_host::launch(2, [&] { on_host::axpby_of_quotients<T>(700, a, nullptr, nullptr, x.data(), make<T>(0, 0), nullptr, nullptr, result.data()); });
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(same_bits(result.data()[i], on_host::multiply(a, x[i]))) << i;
  const Complex<long double> quotient = wide(on_host::divided(a, b));
  const Complex<long double> back = product(quotient, wide(b));
  EXPECT_NEAR(static_cast<double>(std::hypot(back.re - wide(a).re, back.im - wide(a).im)), 0, 1e-5);
}

TYPED_TEST(LinalgGpuKernels, SumsOfVectorsReadWhatTheyNeedAlone) {
  using T = TypeParam;
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const T zero{}, one = make<T>(1, 0), two = make<T>(2, 0), number = make<T>(3, 4);
  const std::vector<T> numbers(5, number), nans(5, make<T>(nan, nan)), infinities(5, make<T>(infinity, 1));
  const T twice = make<T>(6, 8);
  EXPECT_TRUE(same_bits(sums(one, numbers, zero, nans).back(), number)) << "y is not read";
  EXPECT_TRUE(same_bits(sums(zero, nans, two, numbers).back(), twice)) << "x is not read";
  // A factor of one multiplies nothing: an infinity stays one.
  EXPECT_TRUE(same_bits(sums(one, infinities, zero, numbers).back(), infinities[0]));
  EXPECT_TRUE(same_bits(sums(zero, numbers, one, infinities).back(), infinities[0]));
  EXPECT_TRUE(same_bits(sums(one, std::vector<T>(5, zero), one, infinities).back(), infinities[0]));
  // x = alpha x
  const Part<T> part(numbers, 0, numbers.size(), 0);
  on_host::launch(1, [&] { on_host::axpby<T>(5, two, part.data(), zero, part.data()); });
  EXPECT_TRUE(same_bits(part.data()[4], twice));
}

template <class T>
std::vector<T> dots(std::size_t block, const std::vector<T>& x, const std::vector<T>& y, std::size_t first, std::size_t last) {
  const Part<T> part_x(x, first, last, first % 3), part_y(y, first, last, 1);
  const std::size_t n = last - first, of_thread_block = std::max<std::size_t>(block, on_host::threads);
  std::vector<T> sums((n + block - 1) / block);
  on_host::launch((n + of_thread_block - 1) / of_thread_block,
                  [&] { on_host::block_dots<T>(n, static_cast<unsigned>(block), part_x.data(), part_y.data(), sums.data()); });
  return sums;
}

TYPED_TEST(LinalgGpuKernels, DotsOfBlocksAreRightAndDoNotDependOnTheirNumber) {
  using T = TypeParam;
  std::mt19937_64 engine(11);
  for (const std::size_t block : {1, 2, 16, 64, 128, 256, 1024, 4096}) {
    const std::size_t n = std::min<std::size_t>(2 * block + 300, 9000);
    const std::vector<T> x = random_numbers<T>(n, engine), y = random_numbers<T>(n, engine);
    const std::vector<T> all = dots(block, x, y, 0, n);
    const std::vector<T> rest = dots(block, x, y, block, n);
    ASSERT_EQ(all.size(), rest.size() + 1);
    for (std::size_t b = 0; b < all.size(); ++b) {
      Complex<long double> right{};
      for (std::size_t i = b * block; i < std::min(n, (b + 1) * block); ++i) right = sum(right, product(wide(on_host::conjugate(x[i])), wide(y[i])));
      ASSERT_LE(distance(all[b], right), 4.0 * static_cast<double>(block + 2) * std::numeric_limits<Real<T>>::epsilon()) << block << ' ' << b;
      if (b > 0) {
        ASSERT_TRUE(same_bits(all[b], rest[b - 1])) << block << ' ' << b;
      }
    }
  }
}

template <class T>
struct Matrix {
  std::vector<std::int32_t> row_pointers, columns;
  std::vector<T> values;
};
/// Columns are in no order and occur repeatedly.
template <class T>
Matrix<T> random_matrix(const std::vector<std::size_t>& lengths, std::size_t columns, std::mt19937_64& engine) {
  Matrix<T> a;
  a.row_pointers.push_back(0);
  for (const std::size_t length : lengths) {
    for (std::size_t e = 0; e < length; ++e) a.columns.push_back(static_cast<std::int32_t>(engine() % columns));
    a.row_pointers.push_back(static_cast<std::int32_t>(a.columns.size()));
  }
  a.values = random_numbers<T>(a.columns.size(), engine);
  return a;
}
/// Multiplies rows [first, last). The kernel sees their entries alone, and these begin `shift` elements behind a border of 16 bytes.
template <class T>
void multiply_rows(const Matrix<T>& a, std::size_t first, std::size_t last, std::size_t shift, T alpha, const std::vector<T>& x, T beta,
                   std::vector<T>& y) {
  const auto first_entry = static_cast<std::size_t>(a.row_pointers[first]), last_entry = static_cast<std::size_t>(a.row_pointers[last]);
  const Part<std::int32_t> row_pointers(a.row_pointers, first, last + 1, 0), columns(a.columns, first_entry, last_entry, shift);
  const Part<T> values(a.values, first_entry, last_entry, shift / 2);
  const std::size_t rows = last - first, rows_of_block = shift == 0 ? on_host::most_rows_of_block : 128;
  on_host::launch((rows + rows_of_block - 1) / rows_of_block, [&] {
    on_host::multiply_rows<false, T>(rows, static_cast<int>(rows_of_block), alpha, row_pointers.data(), columns.origin(first_entry),
                                     values.origin(first_entry), x.data(), beta, y.data() + first);
  });
}

/// Lengths of rows for each path of the kernel, and on both sides of its borders.
std::vector<std::size_t> lengths_of_rows(int kind, std::mt19937_64& engine) {
  std::vector<std::size_t> all;
  const auto add = [&](std::size_t rows, const auto& length) {
    for (std::size_t r = 0; r < rows; ++r) all.push_back(length());
  };
  switch (kind) {
    case 0: add(150, [] { return 7; }), add(390, [&] { return engine() % 33; }); break;
    case 1: add(128, [] { return 32; }), add(60, [] { return 27; }), add(100, [] { return 0; }), add(100, [] { return 1; }), add(20, [] { return 27; }); break;
    case 2: add(130, [] { return 0; }); break;
    case 3:
      add(40, [&] { return engine() % 60; }), add(1, [] { return 961; }), add(12, [] { return 81; }), add(20, [&] { return engine() % 4; }), add(1, [] { return 960; });
      add(5, [] { return 33; }), add(1, [] { return 3001; }), add(20, [&] { return engine() % 33; }), add(1, [] { return 1200; });
      break;
    case 4: add(900, [] { return 1; }), add(1, [] { return 20000; }), add(3, [] { return 5000; }), add(700, [&] { return engine() % 3; }); break;
    default: add(1, [] { return 5; }); break;
  }
  return all;
}

TYPED_TEST(LinalgGpuKernels, SparseProductsAreRightAndDoNotDependOnTheRowsOfTheCall) {
  using T = TypeParam;
  std::mt19937_64 engine(12);
  for (int kind = 0; kind < 6; ++kind) {
    const std::vector<std::size_t> lengths = lengths_of_rows(kind, engine);
    const std::size_t rows = lengths.size(), columns = 500;
    const Matrix<T> a = random_matrix<T>(lengths, columns, engine);
    const std::vector<T> x = random_numbers<T>(columns, engine), before = random_numbers<T>(rows, engine);
    for (const bool reads_y : {false, true}) {
      const T alpha = random_number<T>(engine), beta = reads_y ? random_number<T>(engine) : T{};
      const double nan = std::numeric_limits<double>::quiet_NaN();
      const std::vector<T> old = reads_y ? before : std::vector<T>(rows, make<T>(nan, nan));
      std::vector<T> y = old;
      multiply_rows(a, 0, rows, 0, alpha, x, beta, y);
      for (std::size_t r = 0; r < rows; ++r) {
        Complex<long double> right{};
        T partial[on_host::lanes] = {};
        const auto begin = static_cast<std::size_t>(a.row_pointers[r]);
        for (std::size_t e = begin; e < static_cast<std::size_t>(a.row_pointers[r + 1]); ++e) {
          const T element = x[static_cast<std::size_t>(a.columns[e])];
          right = sum(right, product(wide(a.values[e]), wide(element)));
          T& own = partial[(e - begin) % on_host::lanes];
          own = on_host::add_product(a.values[e], element, own);
        }
        right = product(wide(alpha), right);
        if (reads_y) right = sum(right, product(wide(beta), wide(old[r])));
        ASSERT_LE(distance(y[r], right), 4.0 * static_cast<double>(lengths[r] + 4) * std::numeric_limits<Real<T>>::epsilon()) << kind << ' ' << r;
        if (lengths[r] <= on_host::entries_of_short && !reads_y) {
          const T sum = on_host::add(on_host::add(partial[0], partial[2]), on_host::add(partial[1], partial[3]));
          ASSERT_TRUE(same_bits(y[r], on_host::multiply(alpha, sum))) << kind << ' ' << r;
        }
      }

      // Of several vectors, each product has these bits.
      const std::size_t leading_x = columns + 3, leading_y = rows + 5;
      std::vector<T> several_x = random_numbers<T>(3 * leading_x, engine), several_y = random_numbers<T>(3 * leading_y, engine);
      std::copy(x.begin(), x.end(), several_x.begin() + static_cast<std::ptrdiff_t>(leading_x));
      std::copy(old.begin(), old.end(), several_y.begin() + static_cast<std::ptrdiff_t>(leading_y));
      const std::vector<T> several_before = several_y;
      on_host::launch((rows + 127) / 128, [&] {
        on_host::multiply_rows<true, T>(rows, 128, alpha, a.row_pointers.data(), a.columns.data(), a.values.data(), several_x.data(), beta,
                                        several_y.data(), 3, leading_x, leading_y);
      });
      for (std::size_t r = 0; r < rows; ++r) ASSERT_TRUE(same_bits(several_y[leading_y + r], y[r])) << kind << ' ' << r;
      for (std::size_t r = rows; r < leading_y; ++r) ASSERT_TRUE(same_bits(several_y[r], several_before[r])) << "between the columns";

      // By thread blocks of about equally many entries, too.
      std::vector<T> by_entries = old, several_by_entries = several_before;
      const std::size_t weight = a.values.size() + rows * (on_host::weight_of_block / on_host::most_rows_of_block);
      const std::size_t blocks = (weight + on_host::weight_of_block - 1) / on_host::weight_of_block;
      on_host::launch(blocks, [&] {
        on_host::multiply_uneven_rows<false, T>(rows, alpha, a.row_pointers.data(), a.columns.data(), a.values.data(), x.data(), beta,
                                                by_entries.data());
        on_host::multiply_uneven_rows<true, T>(rows, alpha, a.row_pointers.data(), a.columns.data(), a.values.data(), several_x.data(), beta,
                                               several_by_entries.data(), 3, leading_x, leading_y);
      });
      for (std::size_t r = 0; r < rows; ++r) ASSERT_TRUE(same_bits(by_entries[r], y[r])) << kind << ' ' << r;
      for (std::size_t r = 0; r < 3 * leading_y; ++r) ASSERT_TRUE(same_bits(several_by_entries[r], several_y[r])) << kind << ' ' << r;

      std::vector<T> in_parts = old;
      const std::size_t border = rows / 3;
      multiply_rows(a, 0, border, 1, alpha, x, beta, in_parts);
      multiply_rows(a, border, rows, 3, alpha, x, beta, in_parts);
      for (std::size_t r = 0; r < rows; ++r) ASSERT_TRUE(same_bits(in_parts[r], y[r])) << kind << ' ' << r;
    }
  }
}

/// Thread blocks get equally many entries only where one of equally many rows would have much more work than the others.
TEST(LinalgGpuKernelsSource, LengthsOfRowsAreNoticed) {
  const auto lengths = [](std::size_t rows, const auto& length_of) {
    std::vector<std::int32_t> row_pointers{3};  // those of a part need not begin with 0
    for (std::size_t r = 0; r < rows; ++r) row_pointers.push_back(row_pointers.back() + static_cast<std::int32_t>(length_of(r)));
    return gpu::lengths_of(row_pointers.data(), 0, rows);
  };
  EXPECT_EQ(lengths(0, [](std::size_t) { return 0; }), RowLengths::alike);
  EXPECT_EQ(lengths(100000, [](std::size_t) { return 0; }), RowLengths::alike);
  EXPECT_EQ(lengths(100, [](std::size_t r) { return r == 0 ? 100000 : 1; }), RowLengths::alike) << "there is one thread block";
  EXPECT_EQ(lengths(100000, [](std::size_t r) { return r % 1000 == 0 ? 4 : 7; }), RowLengths::alike);
  EXPECT_EQ(lengths(100000, [](std::size_t r) { return r % 27; }), RowLengths::alike);
  EXPECT_EQ(lengths(100000, [](std::size_t r) { return r == 70000 ? 50000 : 7; }), RowLengths::different) << "one long row";
  EXPECT_EQ(lengths(100000, [](std::size_t r) { return 1 + 100000 / (r + 1); }), RowLengths::different) << "a power law";
  EXPECT_EQ(lengths(4000000, [](std::size_t r) { return r < 512 ? 36 : 7; }), RowLengths::alike) << "the long rows are little of all work";
}

TEST(LinalgGpuKernelsSource, NvrtcCompilesThem) {
  try {
    for (const char* const architecture : {"sm_80", "sm_90"}) EXPECT_GT(gpu::compile(architecture).size(), 1000U) << architecture;
  } catch (const ConfigurationError& error) {
    GTEST_SKIP() << error.what();
  }
  try {
    (void)gpu::compile("sm_1");
    ADD_FAILURE() << "there is no such GPU";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("sm_1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("gpu-architecture"), std::string::npos) << "NVRTC's log is missing: " << error.what();
  }
}

// A program that notices that there is no cuBLAS goes on, and the runtime ends as always.
TEST(LinalgWithoutCublas, TheRuntimeEnds) {
  use_devices(1);
  (void)runtime::device_ordinal(0);
  try {
    (void)cublas();
    finalize();
    GTEST_SKIP() << "there is one";
  } catch (const ConfigurationError& error) {
    EXPECT_NE(std::string(error.what()).find("cuBLAS cannot be loaded"), std::string::npos) << error.what();
  }
  finalize();
  EXPECT_EQ(device_count(), 0);
}

}  // namespace
}  // namespace semcache::linalg
