// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "read_kernels.hpp"

#include "cuda_support.hpp"

#include <stdexcept>

namespace linalg_miniapps {

namespace {

__global__ void fill(double* data, std::size_t count) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) data[i] = 1.0;
}

template <int loads>
__global__ void read(const double2* __restrict__ data, std::size_t pairs, double* sums) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x, self = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  double sum = 0;
  std::size_t i = self;
  for (; i + (loads - 1) * step < pairs; i += loads * step) {
    double2 next[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) next[k] = __ldcs(data + i + k * step);
#pragma unroll
    for (int k = 0; k < loads; ++k) sum += next[k].x + next[k].y;
  }
  for (; i < pairs; i += step) {
    const double2 next = __ldcs(data + i);
    sum += next.x + next.y;
  }
  sums[self] = sum;  // so the compiler keeps every load
}

template <int loads>
void launch(cudaStream_t stream, const Reading& r, const double* data, std::size_t pairs, double* sums) {
  read<loads><<<r.blocks, r.threads, 0, stream>>>(reinterpret_cast<const double2*>(data), pairs, sums);
}

}  // namespace

std::vector<Reading> readings(int multiprocessors) {
  std::vector<Reading> all;
  for (const int loads : {2, 4, 8, 16}) {
    for (const unsigned threads : {256U, 512U}) {
      for (const unsigned blocks : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) all.push_back({loads, blocks * static_cast<unsigned>(multiprocessors), threads});
    }
  }
  return all;
}

std::string to_string(const Reading& r) {
  return std::to_string(r.blocks) + " blocks of " + std::to_string(r.threads) + " threads, " + std::to_string(r.loads) + " loads in flight";
}

void launch_fill(cudaStream_t stream, double* data, std::size_t count) {
  fill<<<2048, 256, 0, stream>>>(data, count);
  expect_launched("fill");
}

void launch_read(cudaStream_t stream, const Reading& r, const double* data, std::size_t pairs, double* sums) {
  switch (r.loads) {
    case 2: launch<2>(stream, r, data, pairs, sums); break;
    case 4: launch<4>(stream, r, data, pairs, sums); break;
    case 8: launch<8>(stream, r, data, pairs, sums); break;
    case 16: launch<16>(stream, r, data, pairs, sums); break;
    default: throw std::logic_error("there is no kernel with " + std::to_string(r.loads) + " loads in flight");
  }
  expect_launched("read");
}

}  // namespace linalg_miniapps
