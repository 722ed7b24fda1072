// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "host_system.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace minife::testing {

inline constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

/// A sum of products, by groups: one rounding after another, in an order that the group's size decides.
inline double dot(const Ensemble::Vector& a, const Ensemble::Vector& b, std::size_t group) {
  double sum = 0;
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    double local = 0;
    for (std::size_t begin = 0; begin < a[rank].size(); begin += group) {
      double partial = 0;
      const std::size_t end = begin + std::min(group, a[rank].size() - begin);
      for (std::size_t i = begin; i < end; ++i) partial += a[rank][i] * b[rank][i];
      local += partial;
    }
    sum += local;
  }
  return sum;
}

/// Conjugate gradients in plain loops on the assembled systems: the numbers that every variant must reproduce, without
/// Kokkos, MPI or a device in the way.
inline std::vector<double> residual_history(const Ensemble& a, std::size_t group = everything) {
  std::vector<double> history;
  Ensemble::Vector x = a.zeros();
  Ensemble::Vector p = a.zeros();
  Ensemble::Vector r = a.zeros();
  for (std::size_t rank = 0; rank < a.parts.size(); ++rank) r[rank] = a.parts[rank].rhs;
  double rr = dot(r, r, group);
  double previous = rr;
  double norm = std::sqrt(rr);
  while (history.size() < 200 && norm > std::numeric_limits<double>::epsilon()) {
    const double beta = history.empty() ? 0 : rr / previous;
    norm = std::sqrt(rr);
    history.push_back(norm);
    for (std::size_t rank = 0; rank < p.size(); ++rank) {
      for (std::size_t i = 0; i < p[rank].size(); ++i) p[rank][i] = r[rank][i] + beta * p[rank][i];
    }
    const Ensemble::Vector ap = a.multiply(p);
    const double alpha = rr / dot(p, ap, group);
    for (std::size_t rank = 0; rank < p.size(); ++rank) {
      for (std::size_t i = 0; i < p[rank].size(); ++i) {
        x[rank][i] += alpha * p[rank][i];
        r[rank][i] -= alpha * ap[rank][i];
      }
    }
    previous = rr;
    rr = dot(r, r, group);
  }
  return history;
}

}  // namespace minife::testing
