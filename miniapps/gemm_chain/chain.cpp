// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "gemm_chain.hpp"
#include "host_gemm.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace gemm_chain {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Writes numbers in [-1, 1) that look random, the same ones always.
void fill(double* m, std::int64_t n, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U;
  for (std::int64_t i = 0; i < n * n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    m[i] = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
  }
}

class Plain : public Variant {
 public:
  double* allocate(std::size_t bytes) override {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<double*>(memory);
  }
  void start(const double* left, const double* right, double* to) override { host_gemm(start_n, start_n, left, right, to); }
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    host_gemm(n, n, host[a], host[b], host[c]);
    host_gemm(n, n, host[b], host[c], host[d]);
    host_gemm(n, n, host[c], host[d], host[e]);
  }
};

std::vector<double> times(const double* m, std::int64_t n, const std::vector<double>& v) {
  std::vector<double> result(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) result[static_cast<std::size_t>(i)] += m[j * n + i] * v[static_cast<std::size_t>(j)];
  }
  return result;
}

/// E v = A B (B A B v) for a vector v, from A, B and E alone (Freivalds): the host touches no other result.
double error_of(std::int64_t n, double* const (&host)[matrices]) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.0 + static_cast<double>(i % 7) / 7;
  const auto through = [&](const std::vector<double>& x) { return times(host[a], n, times(host[b], n, x)); };
  const std::vector<double> expected = through(times(host[b], n, through(v))), found = times(host[e], n, v);
  double largest = 0, scale = 1e-300;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    if (!(difference <= largest)) largest = difference;
    scale = std::max(scale, std::abs(expected[i]));
  }
  return largest / scale;
}

}  // namespace

std::unique_ptr<Variant> make_plain() { return std::make_unique<Plain>(); }

Outcome run_here(const Options& o, const std::function<std::unique_ptr<Variant>()>& make) {
  Outcome out;
  std::vector<double> left(start_n * start_n), right(left.size()), product(left.size());
  fill(left.data(), start_n, 3);
  fill(right.data(), start_n, 5);
  const double before = now();
  const std::unique_ptr<Variant> made = make();
  Variant& variant = *made;
  if (o.start) {
    variant.start(left.data(), right.data(), product.data());
    out.start_seconds = now() - before;
    if (!std::isfinite(product.back())) throw std::runtime_error("the first product is no number");
  }
  const std::size_t count = static_cast<std::size_t>(o.n * o.n);
  double* host[matrices];
  for (double*& m : host) {
    m = variant.allocate(count * sizeof(double));
    fill(m, o.n, 7);  // touched, so that no page is new to the system on the clock
  }
  double sum = 0;
  for (int round = 0; round < o.rounds; ++round) {
    if (round == 0 || o.rewrite) {
      const double begin = now();
      fill(host[a], o.n, static_cast<std::uint64_t>(2 * round + 1));
      fill(host[b], o.n, static_cast<std::uint64_t>(2 * round + 2));
      variant.host_has_written(a);
      variant.host_has_written(b);
      out.rewrite_seconds.push_back(now() - begin);
    }
    const double begin = now();
    variant.chain(o.n, host);
    for (std::int64_t i = 0; i < o.n * o.n; i += page_elements) {  // the host reads each page of E
      variant.host_will_read(e, host[e], i, std::min(page_elements, o.n * o.n - i));
      sum += host[e][i];
    }
    out.seconds.push_back(now() - begin);
  }
  if (!std::isfinite(sum)) out.error = sum;
  if (variant.counts_moves()) out.moved = variant.moved();
  out.device = variant.device();
  if (o.verify && std::isfinite(sum)) out.error = error_of(o.n, host);
  return out;  // the matrices are left to the end of the process: nobody reads C and D
}

}  // namespace gemm_chain
