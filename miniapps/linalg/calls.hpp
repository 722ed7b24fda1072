// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/linalg.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace linalg_miniapps {

/// An array of the host that SemCache keeps coherent.
template <class T>
class HostArray {
 public:
  HostArray(const char* label, std::size_t count);
  ~HostArray();
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_;
  std::size_t count_;
};

/// The library calls of the programs, on arrays of the host. The variants of a program differ in nothing else.
class Calls {
 public:
  virtual ~Calls() = default;
  /// C = A B, of n x n matrices.
  virtual void multiply(std::int64_t n, const double* a, const double* b, double* c) = 0;
  /// y = alpha A x + beta y, of an n x n matrix.
  virtual void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) = 0;
  /// y = A x
  virtual void multiply(const semcache::linalg::Csr<double>& a, const double* x, double* y) = 0;
  /// y = alpha x + beta y
  virtual void add(std::int64_t n, double alpha, const double* x, double beta, double* y) = 0;
  virtual double dot(std::int64_t n, const double* x, const double* y) = 0;
};

/// `semcache`: the calls of packages/linalg on the host's arrays, over all devices. `copy-every-call`: each call copies its operands to the first
/// device, computes there and copies its result back, as a library without a cache must.
/// @throws std::invalid_argument  there is no such variant
[[nodiscard]] std::unique_ptr<Calls> make_calls(const std::string& variant);

}  // namespace linalg_miniapps
