// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <limits>

namespace sparse {
using namespace test;

using Csr = KokkosSparse::CrsMatrix<double, int, Device, void, int>;
constexpr std::size_t matrix_rows = 50, matrix_columns = 40, per_row = 3;

/// Three entries in each row; the device has not seen them.
inline Csr matrix() {
  const Kokkos::View<int*, Device> row_map("row_map", matrix_rows + 1), entries("entries", matrix_rows * per_row);
  const Vector values("values", matrix_rows * per_row);
  const auto h_map = Kokkos::create_mirror_view(row_map);
  const auto h_entries = Kokkos::create_mirror_view(entries);
  for (std::size_t i = 0; i <= matrix_rows; ++i) h_map(i) = int(i * per_row);
  for (std::size_t i = 0; i < matrix_rows * per_row; ++i)
    h_entries(i) = int((i / per_row + i % per_row * 11) % matrix_columns);
  Kokkos::deep_copy(row_map, h_map);
  Kokkos::deep_copy(entries, h_entries);
  fill(values, 1);
  return {"matrix", int(matrix_rows), int(matrix_columns), int(matrix_rows * per_row), values, row_map, entries};
}

inline Host dense(const Csr& m) {
  const Host result("dense", matrix_rows, matrix_columns);
  const auto values = on_host(m.values);
  const auto entries = on_host(m.graph.entries);
  for (std::size_t i = 0; i < matrix_rows * per_row; ++i) result(i / per_row, entries(i)) += values(i);
  return result;
}

inline Host expected_product(const Host& a, bool transposed, double alpha, const Host& x, double beta, const Host& y) {
  const Host result("result", y.extent(0), y.extent(1));
  for (std::size_t i = 0; i < y.extent(0); ++i)
    for (std::size_t j = 0; j < y.extent(1); ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < x.extent(0); ++l) sum += (transposed ? a(l, i) : a(i, l)) * x(l, j);
      result(i, j) = alpha * sum + (beta == 0 ? 0 : beta * y(i, j));
    }
  return result;
}

template <class X, class Y>
void product(const Csr& a, const Host& dense_a, const char* mode, const X& x, double beta, const Y& y) {
  const bool transposed = mode[0] == 'T' || mode[0] == 'H';
  const Host expected = expected_product(dense_a, transposed, 2, elements(x), beta, elements(y));
  const Since since;
  KokkosSparse::spmv(mode, 2.0, a, x, beta, y);
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  EXPECT_EQ(since.native(), 0u);
  expect_equal(elements(y), expected, std::string("spmv ") + mode);
}

}  // namespace sparse
using namespace sparse;

KOKKOS_TEST(Spmv, VectorsInAllModes) {
  const Csr a = matrix();
  const Host dense_a = dense(a);
  for (const char* mode : {"N", "T", "C", "H"})
    for (const double beta : {0.0, 1.0, -2.0}) {
      const bool transposed = mode[0] == 'T' || mode[0] == 'H';
      const Vector x("x", transposed ? matrix_rows : matrix_columns), y("y", transposed ? matrix_columns : matrix_rows);
      fill(x, 2);
      fill(y, 3);
      if (beta == 0) Kokkos::deep_copy(y, std::numeric_limits<double>::quiet_NaN());
      product(a, dense_a, mode, x, beta, y);
    }
}

KOKKOS_TEST(Spmv, MultivectorsWithDistantColumns) {
  const Csr a = matrix();
  const Host dense_a = dense(a);
  for (const char* mode : {"N", "T"})
    for (const double beta : {0.0, -2.0}) {
      const bool transposed = mode[0] == 'T';
      const Matrix px("px", 60, 5), py("py", 60, 5);
      fill(px, 2);
      fill(py, 3);
      const Matrix x = Kokkos::subview(px, Pair(0, transposed ? matrix_rows : matrix_columns), Pair(0, 4));
      const Matrix y = Kokkos::subview(py, Pair(2, 2 + (transposed ? matrix_columns : matrix_rows)), Pair(1, 5));
      product(a, dense_a, mode, x, beta, y);
    }
}

KOKKOS_TEST(Spmv, EmptyMatrix) {
  const Csr a("empty", 0, 0, 0, Vector("values", 0), Kokkos::View<int*, Device>("row_map", 1),
              Kokkos::View<int*, Device>("entries", 0));
  KokkosSparse::spmv("N", 1.0, a, Vector("x", 0), 0.0, Vector("y", 0));
}

#if SEMCACHE_KERNELS_INSTANCES
KOKKOS_TEST(Spmv, HandlesAreKept) {
  const Csr a = matrix();
  const Host dense_a = dense(a);
  KokkosSparse::SPMVHandle<Exec, Csr, Vector, Vector> handle;
  const Vector x("x", matrix_columns), y("y", matrix_rows);
  for (int round = 0; round < 3; ++round) {
    fill(x, round);
    KokkosSparse::spmv(Exec(), &handle, "N", 1.0, a, x, 0.0, y);
    expect_equal(elements(y), expected_product(dense_a, false, 1, elements(x), 0, elements(y)), "y");
  }
  // Products on all devices do without the native library's description.
  if (semcache::device_count() == 1) EXPECT_NE(handle.tpl_rank1, nullptr);
}
#else
KOKKOS_TEST(Spmv, RowsBehindTheMatrixKeepTheirContent) {
  const Csr a = matrix();
  const Vector x("x", matrix_columns), y("y", matrix_rows + 7);
  fill(x, 2);
  fill(y, 3);
  const Host expected = elements(y);
  const Host product = expected_product(dense(a), false, 1, elements(x), 0, Host("size", matrix_rows, 1));
  for (std::size_t i = 0; i < matrix_rows; ++i) expected(i, 0) = product(i, 0);
  KokkosSparse::spmv("N", 1.0, a, x, 0.0, y);
  expect_equal(elements(y), expected, "y");
}
#endif
