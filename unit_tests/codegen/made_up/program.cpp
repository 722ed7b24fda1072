// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program that calls the library and knows nothing of devices. It prints sums of what it sees.
#include "made_up.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

double* numbers(std::size_t count, int seed) {
  auto* const data = static_cast<double*>(std::malloc(count * sizeof(double)));
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<double>((i * 7919 + static_cast<std::size_t>(seed)) % 1009) / 1009 - 0.5;
  return data;
}
void show(const char* what, const double* data, std::size_t count) {
  double sum = 0, weighted = 0;
  for (std::size_t i = 0; i < count; ++i) sum += data[i], weighted += data[i] * static_cast<double>(i % 101);
  std::printf("%s %.17g %.17g\n", what, sum, weighted);
}

}  // namespace

int main() {
  const int m = 400, n = 500, k = 450;
  double *const a = numbers(400 * 450, 1), *const b = numbers(450 * 500, 2), *const c = numbers(400 * 500, 3), *const d = numbers(500 * 500, 4);
  double* const e = numbers(400 * 500, 5);
  row_product(m, n, k, a, b, c);
  row_product(m, n, k, a, b, c);  // a and b are as they were
  row_product(m, n, n, c, d, e);  // the form of c is what the device has written
  show("e", e, 400 * 500);
  a[7] = 3;
  row_product(m, n, k, a, b, c);  // a alone has changed
  show("c", c, 400 * 500);

  const int entries = 150000;
  double* const list = numbers(2 * 150000, 6);
  for (int i = 0; i < entries; ++i) list[2 * i + 1] = static_cast<double>((static_cast<long>(i) + 7919) % entries);
  list_scale(entries, 3, list);
  list_scale(entries, 0.5, list);
  show("list", list, 2 * 150000);

  const double alpha[] = {0.5, -2};
  double *const x = numbers(2 * 150000, 7), *const y = numbers(2 * 150000, 8);
  for (int i = 0; i < 3; ++i) complex_axpy(entries, alpha, x, y);
  show("y", y, 2 * 150000);
  double small[] = {1, 2, 3, 4};
  complex_axpy(2, alpha, small, y);  // small is an operand that is sent at each call
  show("y", y, 4);
  row_product(0, n, k, nullptr, nullptr, nullptr);
}
