// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "host_system.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace minife::testing {

/// Conjugate gradients in plain loops on the assembled systems: the numbers that every variant must reproduce, without
/// Kokkos, MPI or a device in the way.
inline std::vector<double> residual_history(const Ensemble& a) {
  std::vector<double> history;
  Ensemble::Vector x = a.zeros();
  Ensemble::Vector p = a.zeros();
  Ensemble::Vector r = a.zeros();
  for (std::size_t rank = 0; rank < a.parts.size(); ++rank) r[rank] = a.parts[rank].rhs;
  double rr = Ensemble::dot(r, r);
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
    const double alpha = rr / Ensemble::dot(p, ap);
    for (std::size_t rank = 0; rank < p.size(); ++rank) {
      for (std::size_t i = 0; i < p[rank].size(); ++i) {
        x[rank][i] += alpha * p[rank][i];
        r[rank][i] -= alpha * ap[rank][i];
      }
    }
    previous = rr;
    rr = Ensemble::dot(r, r);
  }
  return history;
}

}  // namespace minife::testing
