// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The kernels of packages/linalg, compiled ahead of time, for variants that launch them without SemCache.
namespace linalg_miniapps {

/// How many neighbouring elements of a vector have a sum of their own, for vectors of this length: as in packages/linalg.
[[nodiscard]] std::int64_t elements_of_sum(std::int64_t length) noexcept;

/// y = alpha x + beta y. If beta is zero, y is not read. @throws std::runtime_error  CUDA's error
void launch_axpby(cudaStream_t stream, std::int64_t n, double alpha, const double* x, double beta, double* y);

/// sums[i] = the dot product of the i-th `block` elements of x and y. @param block  of elements_of_sum  @throws std::runtime_error  CUDA's error
void launch_block_dots(cudaStream_t stream, std::int64_t n, std::int64_t block, const double* x, const double* y, double* sums);

/// Part of the rows of a sparse matrix, on a device. Rows and entries keep their numbers, so `columns` and `values` may begin before their memory.
struct DeviceRows {
  std::int64_t rows = 0;
  std::int64_t entries = 0;
  const std::int32_t* row_pointers = nullptr;
  const std::int32_t* columns = nullptr;
  const double* values = nullptr;
};
/// y = A x. @param x  where the element of column 0 lies, or would  @throws std::runtime_error  CUDA's error
void launch_spmv(cudaStream_t stream, const DeviceRows& a, const double* x, double* y);

}  // namespace linalg_miniapps
