// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "variant.hpp"

namespace linalg_miniapps {

/// A variant that is a library: its calls take arrays of the host, and the algorithms are calls. Such variants differ in nothing else.
class Calls : public Variant {
 public:
  /// C = A B, of n x n matrices.
  virtual void multiply(std::int64_t n, const double* a, const double* b, double* c) = 0;
  /// y = alpha A x + beta y, of an n x n matrix.
  virtual void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) = 0;
  /// y = A x
  virtual void multiply(const Csr& a, const double* x, double* y) = 0;
  /// y = alpha x + beta y
  virtual void add(std::int64_t n, double alpha, const double* x, double beta, double* y) = 0;
  virtual double dot(std::int64_t n, const double* x, const double* y) = 0;
  /// Begins a dot product that the host reads later, by `end_dot` of the same place, 0 or 1.
  virtual void begin_dot(std::size_t place, std::int64_t n, const double* x, const double* y) { dots_[place] = dot(n, x, y); }
  virtual double end_dot(std::size_t place) { return dots_[place]; }
  /// The host will read these numbers next.
  virtual void expect_reading(const double* /*first*/, std::int64_t /*count*/) {}
  /// Waits until the host may read what the calls have computed.
  virtual void wait() {}

  [[nodiscard]] std::unique_ptr<GemmSum> gemm_sum(std::int64_t n, const double* a, const double* b, const double* c, double* d) final;
  void jacobi(std::int64_t n, const double* a, const double* b, double* x, Iterations& iterations) final;
  double cg(const Csr& a, const double* b, double* x, Iterations& iterations) final;

 private:
  double dots_[2] = {};
};

}  // namespace linalg_miniapps
