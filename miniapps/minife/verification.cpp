// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/mpi_support.hpp>
#include <minife/verification.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace minife {
namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double tolerance = 0.06;
constexpr double half_width = 0.05;

/// sinh(l x) / sinh(l) for 0 <= x <= 1, l > 0, also where the sines overflow.
double sinh_ratio(double l, double x) {
  return std::exp(l * (x - 1)) * (1 - std::exp(-2 * l * x)) / (1 - std::exp(-2 * l));
}

/// Whether a node counts as central on an axis of n elements: |position - 1/2| < 0.05, or nearest.
bool central(int node, int n) {
  const double distance = std::abs(static_cast<double>(node) / n - 0.5);
  const double nearest = n % 2 == 0 ? 0.0 : 0.5 / n;
  return distance < half_width || distance <= nearest + 1e-12;
}

double exact_at(const Index3& node, const Index3& n) {
  if (node[0] == n[0]) return 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (node[axis] == 0 || node[axis] == n[axis]) return 0;
  }
  return analytic_temperature(static_cast<double>(node[0]) / n[0], static_cast<double>(node[1]) / n[1],
                              static_cast<double>(node[2]) / n[2]);
}

}  // namespace

double analytic_temperature(double x, double y, double z) {
  constexpr int terms = 301;
  double total = 0;
  for (int p = 0; p < terms; ++p) {
    const double a = (2 * p + 1) * pi;
    if (a * (1 - x) > 45) break;  // exp(-45) is below the last bit of the sum
    for (int q = 0; q < terms; ++q) {
      const double b = (2 * q + 1) * pi;
      const double l = std::sqrt(a * a + b * b);
      if (l * (1 - x) > 45) break;
      total += std::sin(a * y) / (2 * p + 1) * (std::sin(b * z) / (2 * q + 1)) * sinh_ratio(l, x);
    }
  }
  return 16 / (pi * pi) * total;
}

SolutionSummary summarise(const LocalGrid& grid, const double* solution, MPI_Comm comm) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double total = 0;
  for (std::int32_t row = 0; row < grid.rows(); ++row) {
    low = std::min(low, solution[row]);
    high = std::max(high, solution[row]);
    total += solution[row];
  }
  SolutionSummary s;
  s.minimum = minimum(low, comm);
  s.maximum = maximum(high, comm);
  s.mean = sum(total, comm) / static_cast<double>(grid.total_rows());
  return s;
}

Verification verify(const LocalGrid& grid, const double* solution, MPI_Comm comm) {
  const Index3& n = grid.elements();
  Verification v;
  double compared = 0;
  double finite = 1;
  for_each(grid.owned(), [&](const Index3& node) {
    if (!central(node[0], n[0]) || !central(node[1], n[1]) || !central(node[2], n[2])) return;
    const double error = std::abs(solution[grid.row_of(node)] - exact_at(node, n));
    if (!std::isfinite(error)) finite = 0;  // a NaN would get lost in the maximum
    v.largest_error = std::max(v.largest_error, error);
    compared += 1;
  });
  const bool finite_everywhere = minimum(finite, comm) > 0;
  v.largest_error = maximum(v.largest_error, comm);
  v.nodes_compared = static_cast<std::int64_t>(sum(compared, comm));
  v.passed = finite_everywhere && v.nodes_compared > 0 && v.largest_error <= tolerance;
  return v;
}

}  // namespace minife
