// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace linalg_miniapps {

/// A way to read memory: how many loads of 16 bytes a thread has in flight, and how many threads there are.
struct Reading {
  int loads;
  unsigned blocks, threads;
};
[[nodiscard]] std::vector<Reading> readings(int multiprocessors);
[[nodiscard]] std::string to_string(const Reading& reading);

/// Makes every element 1.
void launch_fill(cudaStream_t stream, double* data, std::size_t count);
/// Reads `pairs` times two elements, all of them. @param sums  of each thread
void launch_read(cudaStream_t stream, const Reading& reading, const double* data, std::size_t pairs, double* sums);

}  // namespace linalg_miniapps
