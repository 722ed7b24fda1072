// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "gpu_kernels.hpp"

#include "cuda_support.hpp"

#include <algorithm>

namespace linalg_miniapps {

namespace kernels {
#include "../../packages/linalg/src/gpu_kernels.cuh"
}  // namespace kernels

namespace {

// As packages/linalg launches them.
constexpr std::int64_t entries_of_long_row = 12, rows_of_block = 512, long_rows_of_block = 128;

unsigned blocks_for(std::int64_t count, std::int64_t of_block) { return static_cast<unsigned>((count + of_block - 1) / of_block); }

}  // namespace

std::int64_t elements_of_sum(std::int64_t length) noexcept {
  std::int64_t block = 4096;
  while (block > 1 && block * 64 > length) block /= 2;
  return block;
}

void launch_axpby(cudaStream_t stream, std::int64_t n, double alpha, const double* x, double beta, double* y) {
  if (n == 0) return;
  constexpr std::int64_t of_block = kernels::threads * kernels::elements_of_thread<double>;
  kernels::axpby_d<<<blocks_for(n, of_block), kernels::threads, 0, stream>>>(static_cast<unsigned long long>(n), alpha, x, beta, y);
  expect_launched("axpby");
}

void launch_block_dots(cudaStream_t stream, std::int64_t n, std::int64_t block, const double* x, const double* y, double* sums) {
  if (n == 0) return;
  const unsigned blocks = blocks_for(n, std::max<std::int64_t>(block, kernels::threads));
  kernels::block_dots_d<<<blocks, kernels::threads, 0, stream>>>(static_cast<unsigned long long>(n), static_cast<unsigned>(block), x, y, sums);
  expect_launched("block_dots");
}

void launch_spmv(cudaStream_t stream, const DeviceRows& a, const double* x, double* y) {
  if (a.rows == 0) return;
  const std::int64_t of_block = a.entries > entries_of_long_row * a.rows ? long_rows_of_block : rows_of_block;
  const auto rows = static_cast<unsigned long long>(a.rows);
  kernels::spmv_d<<<blocks_for(a.rows, of_block), kernels::threads, 0, stream>>>(rows, static_cast<int>(of_block), 1.0, a.row_pointers, a.columns,
                                                                                 a.values, x, 0.0, y);
  expect_launched("spmv");
}

}  // namespace linalg_miniapps
