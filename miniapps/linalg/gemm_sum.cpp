// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// D = AB + AC by two products and a sum, or D = AB; then the host reads each page of D (SemCache++, 5.6.1).
#include "run.hpp"

#include <cmath>

namespace linalg_miniapps {
namespace {

/// Writes numbers in [-1, 1) that look random, the same ones always, to a matrix of n rows.
void fill(const HostArray<double>& a, std::size_t n, std::uint64_t seed) {
  in_parts(a.size() / n, n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      std::uint64_t state = (seed << 32 | j) * 0x9e3779b97f4a7c15U;
      for (std::size_t i = 0; i < n; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        a[j * n + i] = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
      }
    }
  });
}

/// The host reads one element of each page, so that the clock shows what moves, and not a processor's additions.
constexpr std::size_t elements_of_page = 4096 / sizeof(double);

Outcome work(const Options& o, Variant& variant) {
  const auto n = static_cast<std::size_t>(o.n);
  const HostArray<double> a(variant, "A", n * n), b(variant, "B", n * n), c(variant, "C", o.single ? 0 : n * n), d(variant, "D", n * n);
  const std::unique_ptr<GemmSum> product = variant.gemm_sum(o.n, a.data(), b.data(), o.single ? nullptr : c.data(), d.data());
  Outcome out;
  out.problem_bytes = (o.single ? 3 : 4) * n * n * sizeof(double);
  double sum = 0;
  for (int round = 0; round < o.iterations; ++round) {
    const std::uint64_t seed = 3 * static_cast<std::uint64_t>(round);  // content of former rounds would be wrong
    fill(a, n, seed + 1);
    fill(b, n, seed + 2);
    if (!o.single) fill(c, n, seed + 3);
    const double begin = now();
    product->start();
    for (std::size_t i = 0, next = 0; i < n * n;) {
      i = product->await(i);
      for (; next < i; next += elements_of_page) sum += d[next];
    }
    out.seconds.push_back(now() - begin);
  }
  if (!o.verify) return out;
  // D v = A (B v + C v) for a vector v (Freivalds): an error in D shows there, but for special ones.
  const auto times = [&](const HostArray<double>& m, const std::vector<double>& v) {
    std::vector<double> result(n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) result[i] += m[j * n + i] * v[j];
    }
    return result;
  };
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 1.0 + static_cast<double>(i % 7) / 7;
  std::vector<double> bv = times(b, v);
  const std::vector<double> dv = times(d, v);
  if (!o.single) {
    const std::vector<double> cv = times(c, v);
    for (std::size_t i = 0; i < n; ++i) bv[i] += cv[i];
  }
  const std::vector<double> expected = times(a, bv);
  double scale = 1;
  for (std::size_t i = 0; i < n; ++i) {
    out.note_error(std::abs(dv[i] - expected[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  out.error = std::isfinite(sum) ? out.error / scale : sum;
  out.tolerance = 1e-15 * 10 * static_cast<double>(n + 10);
  return out;
}

}  // namespace
}  // namespace linalg_miniapps

int main(int argc, char** argv) {
  using namespace linalg_miniapps;
  Options defaults;
  defaults.n = 256;
  defaults.iterations = 1;
  constexpr const char* what = "D = AB + AC of n x n matrices, by two products and a sum, then the host reads each page of D";
  return run(argc, argv, {"gemm_sum", what, Kind::products, defaults, {}, &work});
}
