// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "calls.hpp"

#include <cmath>

namespace linalg_miniapps {

namespace {

class GemmSumByCalls : public GemmSum {
 public:
  GemmSumByCalls(Calls& calls, std::int64_t n, const double* a, const double* b, const double* c, double* d)
      : calls_(calls), n_(n), a_(a), b_(b), c_(c), d_(d), ac_(calls, "AC", static_cast<std::size_t>(c == nullptr ? 0 : n * n)) {}
  void start() override {
    calls_.multiply(n_, a_, b_, d_);
    if (c_ == nullptr) return calls_.expect_reading(d_, n_ * n_);
    calls_.multiply(n_, a_, c_, ac_.data());
    calls_.add(n_ * n_, 1.0, ac_.data(), 1.0, d_);
    calls_.expect_reading(d_, n_ * n_);
  }
  std::size_t await(std::size_t) override {
    calls_.wait();
    return static_cast<std::size_t>(n_ * n_);
  }

 private:
  Calls& calls_;
  std::int64_t n_;
  const double *a_, *b_, *c_;
  double* d_;
  HostArray<double> ac_;
};

}  // namespace

std::unique_ptr<GemmSum> Calls::gemm_sum(std::int64_t n, const double* a, const double* b, const double* c, double* d) {
  return std::make_unique<GemmSumByCalls>(*this, n, a, b, c, d);
}

void Calls::jacobi(std::int64_t n, const double* a, const double* b, double* x, Iterations& iterations) {
  const HostArray<double> r(*this, "r", static_cast<std::size_t>(n));
  iterations.begin();
  for (int k = 0; k <= iterations.count(); ++k) {
    if (k < iterations.count()) {
      add(n, 1.0, b, 0.0, r.data());
      multiply(n, -1.0, a, x, 1.0, r.data());
      add(n, 1.0, r.data(), 1.0, x);
      begin_dot(static_cast<std::size_t>(k % 2), n, r.data(), r.data());
    }
    // The host reads a norm while the devices are at the next iteration.
    if (k > 0) iterations.end(std::sqrt(end_dot(static_cast<std::size_t>((k - 1) % 2))));
  }
  wait();
}

double Calls::cg(const Csr& a, const double* b, double* x, Iterations& iterations) {
  const std::int64_t rows = a.rows;
  const auto count = static_cast<std::size_t>(rows);
  const HostArray<double> r(*this, "r", count), p(*this, "p", count), q(*this, "q", count);
  iterations.begin();
  // r = b - A x, p = r
  multiply(a, x, q.data());
  add(rows, 1.0, b, 0.0, r.data());
  add(rows, -1.0, q.data(), 1.0, r.data());
  add(rows, 1.0, r.data(), 0.0, p.data());
  double rr = dot(rows, r.data(), r.data());
  for (int k = 0; k < iterations.count() && rr > 0; ++k) {
    multiply(a, p.data(), q.data());
    const double alpha = rr / dot(rows, p.data(), q.data());
    add(rows, alpha, p.data(), 1.0, x);
    add(rows, -alpha, q.data(), 1.0, r.data());
    const double next = dot(rows, r.data(), r.data());
    add(rows, 1.0, r.data(), next / rr, p.data());
    rr = next;
    iterations.end(std::sqrt(rr));
  }
  wait();
  return rr;
}

}  // namespace linalg_miniapps
