// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <semcache/semcache.hpp>

#include <string>
#include <vector>

// Why calls of a process with several devices stay on one: each reason is in the report. The environment says that there is one, and how many
// devices there are (SEMCACHE_DEVICES=2 SEMCACHE_REPORT=FILE). The calls go to what is behind the functions of Kokkos-Kernels (test_spread.cpp says why).
namespace {
using namespace test;
namespace spreading = semcache::kernels::spreading;

/// Expects that the call stays at home, and that the report then has one more of this text.
template <class Call>
void expect_at_home(const std::string& routine, const std::string& why, const Call& call) {
  const std::string text = routine + " of Kokkos-Kernels: on the instance's device, " + why;
  const auto count = [&] {
    for (const auto& c : semcache::statistics().library_calls) {
      if (c.what == text) return c.count;
    }
    return std::uint64_t{0};
  };
  const std::uint64_t before = count();
  EXPECT_FALSE(call()) << text;
  EXPECT_EQ(count(), before + 1) << text;
}

constexpr int n = 20;
const char* const untracked = "because an operand is in no array of SemCache";
const char* const overlapping = "because its result shares memory with an operand";
const char* const strides = "because an operand has gaps in both directions, or 2^31 elements in a row";
const char* const conjugate = "because BLAS has no conjugate of a matrix that is not transposed, as these layouts need";
const char* const types = "because of its operands' ranks, scalars, or coefficients that are views";
const char* const does_not_pay = "because more devices do not pay";

}  // namespace

KOKKOS_TEST(Reasons, OfProductsOfMatrices) {
  const semcache::Exec exec;
  const Matrix a("a", n, n), b("b", n, n), c("c", n, n);
  std::vector<double> memory(n * n);
  const Kokkos::View<double**, Left, Device, Kokkos::MemoryUnmanaged> foreign(memory.data(), n, n);
  expect_at_home("gemm", does_not_pay, [&] { return spreading::gemm(exec, 'N', 'N', 1.0, a, b, 0.0, c); });
  expect_at_home("gemm", untracked, [&] { return spreading::gemm(exec, 'N', 'N', 1.0, foreign, b, 0.0, c); });
  expect_at_home("gemm", overlapping, [&] { return spreading::gemm(exec, 'N', 'N', 1.0, a, c, 0.0, c); });
  const StrideMatrix gaps(Kokkos::subview(Kokkos::View<double***, Left, Device>("gaps", 2, n, n), 0, Kokkos::ALL, Kokkos::ALL));
  expect_at_home("gemm", strides, [&] { return spreading::gemm(exec, 'N', 'N', 1.0, gaps, b, 0.0, c); });
  const Kokkos::View<int**, Left, Device> whole("whole", n, n);
  expect_at_home("gemm", types, [&] { return spreading::gemm(exec, 'N', 'N', 1, whole, whole, 0, whole); });
  const Kokkos::View<Kokkos::complex<double>**, Left, Device> z("z", 900, 900), w("w", 900, 900);  // large enough for two devices
  const Kokkos::View<Kokkos::complex<double>**, Kokkos::LayoutRight, Device> right("right", 900, 900);
  expect_at_home("gemm", conjugate, [&] { return spreading::gemm(exec, 'C', 'N', 1.0, right, z, 0.0, w); });
  expect_at_home("trmm", untracked, [&] { return spreading::trmm(exec, 'L', 'L', 'N', 'N', 1.0, foreign, b); });
  expect_at_home("trsm", overlapping, [&] { return spreading::trsm(exec, 'L', 'L', 'N', 'N', 1.0, b, b); });
}

KOKKOS_TEST(Reasons, OfCallsOnVectors) {
  const semcache::Exec exec;
  const Matrix a("a", n, n);
  const Vector x("x", n), y("y", n);
  std::vector<double> memory(n, 1.0);
  const Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged> foreign(memory.data(), n);
  const auto row = Kokkos::subview(a, 1, Kokkos::ALL);
  const Kokkos::View<int*, Device> whole("whole", n);
  Kokkos::View<double, Kokkos::HostSpace> number("number");
  Kokkos::View<int, Kokkos::HostSpace> whole_number("whole number");
  expect_at_home("gemv", does_not_pay, [&] { return spreading::gemv(exec, 'N', 1.0, a, x, 0.0, y); });
  expect_at_home("gemv", untracked, [&] { return spreading::gemv(exec, 'N', 1.0, a, foreign, 0.0, y); });
  expect_at_home("gemv", overlapping, [&] { return spreading::gemv(exec, 'N', 1.0, a, y, 0.0, y); });
  expect_at_home("gemv", strides, [&] { return spreading::gemv(exec, 'N', 1.0, a, row, 0.0, y); });
  expect_at_home("axpby", does_not_pay, [&] { return spreading::axpby(exec, 1.0, x, 1.0, y); });
  expect_at_home("axpby", untracked, [&] { return spreading::axpby(exec, 1.0, foreign, 1.0, y); });
  expect_at_home("axpby", overlapping, [&] { return spreading::axpby(exec, 1.0, y, 1.0, y); });
  expect_at_home("axpby", strides, [&] { return spreading::axpby(exec, 1.0, row, 1.0, y); });
  expect_at_home("axpby", types, [&] { return spreading::axpby(exec, 1, whole, 1, whole); });
  expect_at_home("axpby", types, [&] { return spreading::axpby(exec, x, x, 1.0, y); });
  expect_at_home("scal", does_not_pay, [&] { return spreading::scal(exec, y, 2.0, x); });
  expect_at_home("scal", strides, [&] { return spreading::scal(exec, y, 2.0, row); });
  expect_at_home("scal", untracked, [&] { return spreading::scal(exec, y, 2.0, foreign); });
  expect_at_home("dot", does_not_pay, [&] { return spreading::dot(exec, number, x, y); });
  expect_at_home("dot", untracked, [&] { return spreading::dot(exec, number, foreign, y); });
  expect_at_home("dot", strides, [&] { return spreading::dot(exec, number, row, y); });
  expect_at_home("dot", types, [&] { return spreading::dot(exec, whole_number, whole, whole); });
  expect_at_home("nrm2", does_not_pay, [&] { return spreading::nrm2(exec, number, x, true); });
}

KOKKOS_TEST(Reasons, OfProductsWithASparseMatrix) {
  const semcache::Exec exec;
  using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, int>;
  const Kokkos::View<int*, Device> row_map("rows", n + 1), columns("columns", n);
  const Vector values("values", n), x("x", n), y("y", n);
  const auto r = Kokkos::create_mirror_view(row_map);
  const auto c = Kokkos::create_mirror_view(columns);
  for (int i = 0; i <= n; ++i) r(i) = i;
  for (int i = 0; i < n; ++i) c(i) = i;
  Kokkos::deep_copy(row_map, r);
  Kokkos::deep_copy(columns, c);
  const Crs a("a", n, n, n, values, row_map, columns);
  std::vector<double> memory(n);
  const Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged> foreign(memory.data(), n);
  const Matrix several("several", n, 3), more("more", n, 3);
  const RightMatrix by_rows("by rows", n, 3);
  expect_at_home("spmv", does_not_pay, [&] { return spreading::spmv(exec, 'N', 1.0, a, x, 0.0, y); });
  expect_at_home("spmv", "because the matrix is transposed or conjugate", [&] { return spreading::spmv(exec, 'T', 1.0, a, x, 0.0, y); });
  expect_at_home("spmv", untracked, [&] { return spreading::spmv(exec, 'N', 1.0, a, foreign, 0.0, y); });
  expect_at_home("spmv", overlapping, [&] { return spreading::spmv(exec, 'N', 1.0, a, y, 0.0, y); });
  expect_at_home("spmv", "because a multivector is kept by rows", [&] { return spreading::spmv(exec, 'N', 1.0, a, by_rows, 0.0, several); });
  expect_at_home("spmv", "because alpha is zero", [&] { return spreading::spmv(exec, 'N', 0.0, a, several, 1.0, more); });
  const Kokkos::View<int*, Device> whole("whole", n);
  expect_at_home("spmv", "because of its operands' ranks or scalars, or columns of 64 bits",
                 [&] { return spreading::spmv(exec, 'N', 1.0, a, whole, 0.0, y); });
}
