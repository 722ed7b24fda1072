// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A BLAS whose integers have 64 bits, under the names of those with 32 (as libblas64.so and MKL's ILP64 libraries).
#include <cmath>
#include <cstddef>
#include <cstdint>

using Int = std::int64_t;

#pragma GCC visibility push(default)
extern "C" {
void dgemm_(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const double* alpha, const double* a, const Int* lda,
            const double* b, const Int* ldb, const double* beta, double* c, const Int* ldc, std::size_t, std::size_t) {
  for (Int j = 0; j < *n; ++j) {
    for (Int i = 0; i < *m; ++i) {
      double sum = 0;
      for (Int l = 0; l < *k; ++l) sum += (*ta == 'N' ? a[l * *lda + i] : a[i * *lda + l]) * (*tb == 'N' ? b[j * *ldb + l] : b[l * *ldb + j]);
      double& to = c[j * *ldc + i];
      to = *alpha * sum + (*beta == 0 ? 0 : *beta * to);
    }
  }
}
void cblas_dgemm(int, int, int, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b, Int ldb, double beta, double* c,
                 Int ldc) {
  dgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
double cblas_ddot(Int n, const double* x, Int incx, const double* y, Int incy) {
  double sum = 0;
  for (Int i = 0; i < n; ++i) sum += x[(incx < 0 ? i + 1 - n : i) * incx] * y[(incy < 0 ? i + 1 - n : i) * incy];
  return sum;
}
double ddot_(const Int* n, const double* x, const Int* incx, const double* y, const Int* incy) { return cblas_ddot(*n, x, *incx, y, *incy); }
Int idamax_(const Int* n, const double* x, const Int* incx) {
  Int most = 0;
  for (Int i = 1; i < *n; ++i) {
    if (std::fabs(x[i * *incx]) > std::fabs(x[most * *incx])) most = i;
  }
  return *n > 0 ? most + 1 : 0;
}
}
#pragma GCC visibility pop
