// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A module that is linked to other_blas.cpp, as NumPy's is to its OpenBLAS. programs.cpp loads it for itself alone.
#include <cstddef>
#include <cstdint>

extern "C" {
void scipy_dgemm_64_(const char*, const char*, const std::int64_t*, const std::int64_t*, const std::int64_t*, const double*, const double*,
                     const std::int64_t*, const double*, const std::int64_t*, const double*, double*, const std::int64_t*, std::size_t, std::size_t);
void dgemm_64_(const char*, const char*, const std::int64_t*, const std::int64_t*, const std::int64_t*, const double*, const double*,
               const std::int64_t*, const double*, const std::int64_t*, const double*, double*, const std::int64_t*, std::size_t, std::size_t);
void scipy_cblas_dgemm64_(int, int, int, std::int64_t, std::int64_t, std::int64_t, double, const double*, std::int64_t, const double*, std::int64_t,
                          double, double*, std::int64_t);

/// C = A B by the first, D = B C by the second, C = C D by the third of its functions; at the end a product of numbers, as parts of huge matrices.
[[gnu::visibility("default")]] void module_chain(std::int64_t n, const double* a, const double* b, double* c, double* d) {
  const double one = 1, zero = 0, small = 1e-2;
  scipy_dgemm_64_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
  dgemm_64_("N", "T", &n, &n, &n, &small, b, &n, c, &n, &zero, d, &n, 1, 1);
  scipy_cblas_dgemm64_(101, 111, 112, n, n, n, 1e-2, a, n, d, n, 0.5, c, n);
  const std::int64_t number = 1, huge = std::int64_t{1} << 40;
  dgemm_64_("N", "N", &number, &number, &number, &one, a + 1, &huge, b + 1, &huge, &one, c, &huge, 1, 1);
}
}
