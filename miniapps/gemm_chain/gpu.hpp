// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gemm_chain {

/// A device as programs with copies of their own use it. Work is carried out in the order of its lane; lanes are independent but for `follow`.
class Gpu {
 public:
  static constexpr int lanes = 3;
  virtual ~Gpu() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual double* allocate(std::size_t bytes) = 0;
  /// Page-locked memory.
  [[nodiscard]] virtual double* allocate_host(std::size_t bytes) = 0;
  virtual void to_device(double* to, const double* from, std::size_t bytes, int lane) = 0;
  virtual void to_host(double* to, const double* from, std::size_t bytes, int lane) = 0;
  /// A plain copy (cudaMemcpy), from or to any memory of the host, after all work of all lanes. To the host it is done when it returns; from the host
  /// the memory may be changed then, and later work of all lanes follows.
  virtual void to_device_plainly(double* to, const double* from, std::size_t bytes) = 0;
  virtual void to_host_plainly(double* to, const double* from, std::size_t bytes) = 0;
  /// to = left right, for some columns of n rows.
  virtual void gemm(std::int64_t n, std::int64_t columns, const double* left, const double* right, double* to, int lane) = 0;
  /// What is submitted to `lane` from now on waits for what `other` has so far.
  virtual void follow(int lane, int other) = 0;
  virtual void wait(int lane) = 0;
};

/// Memory of the host, and its BLAS.
[[nodiscard]] std::unique_ptr<Gpu> make_emulated_gpu();
/// The first GPU, by CUDA's runtime and cuBLAS, which are loaded now. @throws std::runtime_error  they are missing, or there is no GPU
[[nodiscard]] std::unique_ptr<Gpu> make_cuda_gpu();

}  // namespace gemm_chain
