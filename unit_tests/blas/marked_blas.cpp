// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A library with two names of BLAS, whose results tell which library it is (TEST_BLAS_MARK).
#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double* c, const int*, std::size_t, std::size_t) {
  *c = TEST_BLAS_MARK;
}
void daxpy_64_(const std::int64_t*, const double*, const double*, const std::int64_t*, double* y, const std::int64_t*) { *y = TEST_BLAS_MARK; }
}
#pragma GCC visibility pop
