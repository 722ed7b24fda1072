// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The device's routines. These compute on emulated devices; with a stream they would launch kernels there. At the end of the process they tell on
// stderr how often each has run.
#include "device.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

struct Runs {
  std::map<std::string, int> of;
  ~Runs() {
    for (const auto& [name, count] : of) std::fprintf(stderr, "%s %d\n", name.c_str(), count);
  }
} runs;

void note(const char* name, const void* stream) {
  if (stream != nullptr) {
    std::fprintf(stderr, "%s: these routines are for emulated devices; set SEMCACHE_DEVICE=emulated\n", name);
    std::abort();
  }
  ++runs.of[name];
}
std::size_t at(int row, int column, int leading) { return static_cast<std::size_t>(column) * static_cast<std::size_t>(leading) + static_cast<std::size_t>(row); }

}  // namespace

extern "C" {
void device_product(void* stream, int m, int n, int k, const double* a, const double* b, double* c) {
  note("device_product", stream);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a[at(i, l, m)] * b[at(l, j, k)];
      c[at(i, j, m)] = sum;
    }
  }
}
void device_scale(void* stream, double factor, int n, double* values) {
  note("device_scale", stream);
  for (int i = 0; i < n; ++i) values[i] *= factor;
}
void device_axpy(void* stream, int n, const double* alpha, const double* x, double* y) {
  note("device_axpy", stream);
  for (int i = 0; i < n; ++i) {
    const double re = x[i], im = x[n + i];
    y[i] += alpha[0] * re - alpha[1] * im;
    y[n + i] += alpha[0] * im + alpha[1] * re;
  }
}

void rows_to_columns(void* stream, const double* value, double* form, int rows, int columns) {
  note("rows_to_columns", stream);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) form[at(i, j, rows)] = value[at(j, i, columns)];
  }
}
void columns_to_rows(void* stream, const double* form, double* value, int rows, int columns) {
  note("columns_to_rows", stream);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) value[at(j, i, columns)] = form[at(i, j, rows)];
  }
}
void gather(void* stream, const double* value, double* form, int n) {
  note("gather", stream);
  for (int i = 0, entry = 0; i < n; ++i, entry = static_cast<int>(value[2 * entry + 1])) form[i] = value[2 * entry];
}
void scatter(void* stream, const double* form, double* value, int n) {
  note("scatter", stream);
  for (int i = 0, entry = 0; i < n; ++i, entry = static_cast<int>(value[2 * entry + 1])) value[2 * entry] = form[i];
}
void split(void* stream, const double* value, double* form, int n) {
  note("split", stream);
  for (int i = 0; i < n; ++i) form[i] = value[2 * i], form[n + i] = value[2 * i + 1];
}
void join(void* stream, const double* form, double* value, int n) {
  note("join", stream);
  for (int i = 0; i < n; ++i) value[2 * i] = form[i], value[2 * i + 1] = form[n + i];
}
}
