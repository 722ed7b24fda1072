// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The library, as the host has it.
#include "made_up.h"

#include <cstddef>

extern "C" {
void row_product(int m, int n, int k, const double* a, const double* b, double* c) {
  const auto at = [](int row, int column, int columns) { return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column); };
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a[at(i, l, k)] * b[at(l, j, n)];
      c[at(i, j, n)] = sum;
    }
  }
}
void list_scale(int n, double factor, double* list) {
  for (int i = 0, entry = 0; i < n; ++i, entry = static_cast<int>(list[2 * entry + 1])) list[2 * entry] *= factor;
}
void complex_axpy(int n, const double* alpha, const double* x, double* y) {
  for (int i = 0; i < n; ++i) {
    const double re = x[2 * i], im = x[2 * i + 1];
    y[2 * i] += alpha[0] * re - alpha[1] * im;
    y[2 * i + 1] += alpha[0] * im + alpha[1] * re;
  }
}
}
