// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "../../miniapps/linalg/calls.hpp"
#include "../../miniapps/linalg/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

// The clock of the programs jacobi and cg begins before their data move.
namespace linalg_miniapps {
namespace {

constexpr double seconds_of_transfer = 0.05;

/// Calls on the host, of which the first one takes as long as if its operands came to a device.
class SlowAtFirst : public Calls {
 public:
  void* allocate_host(const char*, std::size_t bytes) override { return std::malloc(bytes); }
  void deallocate_host(void* data) noexcept override { std::free(data); }
  void multiply(std::int64_t, const double*, const double*, double*) override {
    ADD_FAILURE() << "neither program multiplies matrices";
  }
  void multiply(std::int64_t n, double alpha, const double* a, const double* x, double beta, double* y) override {
    begin_call();
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += a[j * n + i] * x[j];
      y[i] = alpha * sum + beta * y[i];
    }
  }
  void multiply(const Csr& a, const double* x, double* y) override {
    begin_call();
    for (std::int64_t i = 0; i < a.rows; ++i) {
      y[i] = 0;
      for (std::int32_t e = a.row_pointers[i]; e < a.row_pointers[i + 1]; ++e) y[i] += a.values[e] * x[a.column_indices[e]];
    }
  }
  void add(std::int64_t n, double alpha, const double* x, double beta, double* y) override {
    begin_call();
    for (std::int64_t i = 0; i < n; ++i) y[i] = alpha * x[i] + (beta == 0 ? 0 : beta * y[i]);
  }
  double dot(std::int64_t n, const double* x, const double* y) override {
    begin_call();
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
  }
  Facts facts() override { return {}; }

 private:
  void begin_call() {
    if (std::exchange(is_first_, false)) std::this_thread::sleep_for(std::chrono::duration<double>(seconds_of_transfer));
  }
  bool is_first_ = true;
};

/// The matrix has 1 to 4 on its diagonal, so that conjugate gradients take four iterations.
struct Diagonal {
  const std::vector<std::int32_t> row_pointers{0, 1, 2, 3, 4}, columns{0, 1, 2, 3};
  const std::vector<double> values{1, 2, 3, 4}, b{1, 1, 1, 1};
  std::vector<double> x{0, 0, 0, 0};
};

TEST(Clock, OfConjugateGradientsHasTheFirstTransfers) {
  SlowAtFirst calls;
  Diagonal d;
  Outcome out;
  Iterations iterations(3, out.seconds, out.residuals);

  (void)calls.cg({4, 4, 4, d.row_pointers.data(), d.columns.data(), d.values.data()}, d.b.data(), d.x.data(), iterations);
  out.note_solve();

  ASSERT_EQ(out.seconds.size(), 3u);
  EXPECT_GE(out.seconds[0], seconds_of_transfer);
  EXPECT_GE(out.solve_seconds[0], seconds_of_transfer);
}

TEST(Clock, OfJacobiHasTheFirstTransfers) {
  SlowAtFirst calls;
  const std::vector<double> a{1, 0.25, 0.25, 1}, b{1, 1};
  std::vector<double> x{0, 0};
  Outcome out;
  Iterations iterations(3, out.seconds, out.residuals);

  calls.jacobi(2, a.data(), b.data(), x.data(), iterations);
  out.note_solve();

  ASSERT_EQ(out.seconds.size(), 3u);
  EXPECT_GE(out.seconds[0], seconds_of_transfer);
  EXPECT_GE(out.solve_seconds[0], seconds_of_transfer);
}

}  // namespace
}  // namespace linalg_miniapps
