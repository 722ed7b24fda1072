// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Jacobi iterations for a dense system (SemCache++, 5.6.2).
#include "run.hpp"

#include <cmath>
#include <vector>

namespace linalg_miniapps {
namespace {

/// Returns x after so many iterations from zero on, computed by the host.
std::vector<double> iterated_on_host(std::size_t n, const HostArray<double>& a, const HostArray<double>& b, int iterations) {
  std::vector<double> x(n, 0.0), r(n);
  for (int k = 0; k < iterations; ++k) {
    in_parts(n, n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) r[i] = b[i];
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = begin; i < end; ++i) r[i] -= a[j * n + i] * x[j];
      }
    });
    for (std::size_t i = 0; i < n; ++i) x[i] += r[i];
  }
  return x;
}

/// The system's diagonal is 1, so an iteration is r = b - A x, x = x + r. Its solution is 1 everywhere.
Outcome work(const Options& o, Variant& variant) {
  const auto n = static_cast<std::size_t>(o.n);
  const HostArray<double> a(variant, "A", n * n), b(variant, "b", n), x(variant, "x", n);
  Outcome out;
  out.problem_bytes = (n * n + 2 * n) * sizeof(double);
  for (int solve = 0; solve < o.solves; ++solve) {
    const auto element = [n](std::size_t i, std::size_t j) {
      return i == j ? 1.0 : 0.5 * static_cast<double>((i * 31 + j * 17) % 101) / (101.0 * static_cast<double>(n));
    };
    in_parts(n, n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) {
        for (std::size_t i = 0; i < n; ++i) a[j * n + i] = element(i, j);
      }
    });
    in_parts(n, n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        x[i] = b[i] = 0;
        for (std::size_t j = 0; j < n; ++j) b[i] += element(i, j);
      }
    });
    out.seconds.clear();
    out.residuals.clear();
    Iterations iterations(o.iterations, out.seconds, out.residuals);
    variant.jacobi(o.n, a.data(), b.data(), x.data(), iterations);
    out.note_solve();
  }
  if (!o.verify) return out;
  // An iteration that were lost would be seen: the error is that of the rounding in sums of other order.
  const std::vector<double> expected = iterated_on_host(n, a, b, o.iterations);
  for (std::size_t i = 0; i < n; ++i) out.note_error(std::abs(x[i] - expected[i]));
  out.tolerance = 1e-12;
  return out;
}

}  // namespace
}  // namespace linalg_miniapps

int main(int argc, char** argv) {
  using namespace linalg_miniapps;
  Options defaults;
  defaults.n = 512;
  defaults.iterations = 20;
  return run(argc, argv, {"jacobi", "Jacobi iterations for a dense system of n unknowns", Kind::dense, defaults, {}, &work});
}
