// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A module that is linked to marked_blas.cpp, and calls both of its functions.
#include <cstddef>
#include <cstdint>

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*, std::size_t, std::size_t);
void daxpy_64_(const std::int64_t*, const double*, const double*, const std::int64_t*, double*, const std::int64_t*);

[[gnu::visibility("default")]] void call_both(double* results) {
  const double two = 2, zero = 0, x = 10;
  const int number = 1;
  const std::int64_t wide_number = 1;
  dgemm_("N", "N", &number, &number, &number, &two, &x, &number, &x, &number, &zero, &results[0], &number, 1, 1);
  daxpy_64_(&wide_number, &two, &x, &wide_number, &results[1], &wide_number);
}
}
