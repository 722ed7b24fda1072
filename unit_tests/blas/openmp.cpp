// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The threads of OpenMP compute tiles of one matrix: in loops, as tasks that depend on each other, and while another thread reads and writes on the
// host.
#include "programs.hpp"

#include <omp.h>

namespace {

using namespace programs;

constexpr int tiles = 4, size = n / tiles;

double* tile(double* m, int row, int column) { return m + (std::ptrdiff_t{column} * n + row) * size; }

/// The tile (row, column) of C = C / 2 + A B / 100.
void compute(double* a, double* b, double* c, int row, int column) {
  gemm('N', 'N', size, size, n, 1e-2, tile(a, row, 0), n, tile(b, 0, column), n, 0.5, tile(c, row, column), n);
}

}  // namespace

int main() {
  double *const a = matrix(1), *const b = matrix(2), *const c = matrix(3), *const d = matrix(4);
  int most = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
  most = omp_get_num_threads();
  std::printf("threads: %d\n", most);
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(4)
    for (int row = 0; row < tiles; ++row) {
      for (int column = 0; column < tiles; ++column) compute(a, b, c, row, column);
    }
  }
  show("tiles of a loop", c);
  // Each task reads a column of tiles that the tasks before it have written.
#pragma omp parallel num_threads(4)
#pragma omp single
  {
    for (int column = 0; column < tiles; ++column) {
#pragma omp task depend(out : tile(c, 0, column)[0]) firstprivate(column)
      for (int row = 0; row < tiles; ++row) compute(a, b, c, row, column);
    }
    for (int column = 0; column < tiles; ++column) {
#pragma omp task depend(in : tile(c, 0, column)[0]) firstprivate(column)
      for (int row = 0; row < tiles; ++row) compute(a, c, d, row, column);
    }
  }
  show("tiles of tasks", d);
  // While half of C's columns are computed, the host adds up others and changes them.
  double sums[tiles] = {};
#pragma omp parallel for schedule(static, 1) num_threads(4)
  for (int column = 0; column < tiles; ++column) {
    for (int round = 0; round < 4; ++round) {
      if (column % 2 == 0) {
        for (int row = 0; row < tiles; ++row) compute(a, b, c, row, column);
        continue;
      }
      double* const mine = tile(c, 0, column);
      for (std::size_t i = 0; i < std::size_t{n} * size; i += 97) sums[column] += mine[i], mine[i] *= 0.5;
    }
  }
  show("sums", sums, sizeof sums);
  show("C", c);
}
