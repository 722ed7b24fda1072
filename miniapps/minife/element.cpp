// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/element.hpp>

namespace minife {
namespace {

/// Integrals of the two linear shape functions on an interval: of their products, of the products of their slopes, and of the
/// functions themselves. On a brick the quadrature over the element is the product of the quadratures over its edges.
struct EdgeIntegrals {
  double mass[2][2] = {{0, 0}, {0, 0}};
  double stiffness[2][2] = {{0, 0}, {0, 0}};
  double load[2] = {0, 0};
};

EdgeIntegrals integrate_edge(double length) {
  // The two-point Gauss rule. The abscissa is rounded to nine digits as in the reference, so that residual histories can be
  // compared beyond the ninth digit, although 1/sqrt(3) would be nearer to the exact integral.
  constexpr double abscissa = 0.577350269;
  const double jacobian = length / 2;
  const double slope[2] = {-0.5 / jacobian, 0.5 / jacobian};
  EdgeIntegrals e;
  for (const double t : {-abscissa, abscissa}) {
    const double shape[2] = {0.5 * (1 - t), 0.5 * (1 + t)};
    for (int a = 0; a < 2; ++a) {
      e.load[a] += shape[a] * jacobian;
      for (int b = 0; b < 2; ++b) {
        e.mass[a][b] += shape[a] * shape[b] * jacobian;
        e.stiffness[a][b] += slope[a] * slope[b] * jacobian;
      }
    }
  }
  return e;
}

}  // namespace

ElementSystem element_system(const std::array<double, 3>& edges) {
  const EdgeIntegrals x = integrate_edge(edges[0]);
  const EdgeIntegrals y = integrate_edge(edges[1]);
  const EdgeIntegrals z = integrate_edge(edges[2]);
  ElementSystem e;
  for (unsigned a = 0; a < 8; ++a) {
    const unsigned ax = a & 1U;
    const unsigned ay = a >> 1U & 1U;
    const unsigned az = a >> 2U;
    e.load[a] = x.load[ax] * y.load[ay] * z.load[az];
    for (unsigned b = 0; b < 8; ++b) {
      const unsigned bx = b & 1U;
      const unsigned by = b >> 1U & 1U;
      const unsigned bz = b >> 2U;
      e.matrix[a][b] = x.stiffness[ax][bx] * y.mass[ay][by] * z.mass[az][bz] +
                       x.mass[ax][bx] * y.stiffness[ay][by] * z.mass[az][bz] +
                       x.mass[ax][bx] * y.mass[ay][by] * z.stiffness[az][bz];
    }
  }
  return e;
}

}  // namespace minife
