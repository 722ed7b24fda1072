// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A BLAS with the names and the integers of pip's NumPy, as a library that others load for themselves alone.
#include <cstddef>
#include <cstdint>

namespace {

template <class Int>
void product(bool ta, bool tb, Int m, Int n, Int k, double alpha, const double* a, Int lda, const double* b, Int ldb, double beta, double* c,
             Int ldc) {
  for (Int j = 0; j < n; ++j) {
    for (Int i = 0; i < m; ++i) {
      double sum = 0;
      for (Int l = 0; l < k; ++l) sum += (ta ? a[i * lda + l] : a[l * lda + i]) * (tb ? b[l * ldb + j] : b[j * ldb + l]);
      double& to = c[j * ldc + i];
      to = alpha * sum + (beta == 0 ? 0 : beta * to);
    }
  }
}

template <class Int>
void fortran(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const double* alpha, const double* a, const Int* lda,
             const double* b, const Int* ldb, const double* beta, double* c, const Int* ldc) {
  product<Int>(*ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
void scipy_dgemm_64_(const char* ta, const char* tb, const std::int64_t* m, const std::int64_t* n, const std::int64_t* k, const double* alpha,
                     const double* a, const std::int64_t* lda, const double* b, const std::int64_t* ldb, const double* beta, double* c,
                     const std::int64_t* ldc, std::size_t, std::size_t) {
  fortran(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void dgemm_64_(const char* ta, const char* tb, const std::int64_t* m, const std::int64_t* n, const std::int64_t* k, const double* alpha,
               const double* a, const std::int64_t* lda, const double* b, const std::int64_t* ldb, const double* beta, double* c,
               const std::int64_t* ldc, std::size_t, std::size_t) {
  fortran(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void scipy_cblas_dgemm64_(int order, int ta, int tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a, std::int64_t lda,
                          const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  if (order == 101) product<std::int64_t>(tb != 111, ta != 111, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
  else product<std::int64_t>(ta != 111, tb != 111, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
}
#pragma GCC visibility pop
