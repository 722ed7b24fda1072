// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: conjugate gradients with Tpetra on SemCache's node; the host writes and reads vectors between, without syncs.
// Prints: the number of steps, and the largest error of the solution, which is known.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && mpiexec -n 2 build/solver
#include <semcache/tpetra.hpp>

#include <Teuchos_CommHelpers.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_Vector.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using Map = Tpetra::Map<Tpetra::Map<>::local_ordinal_type, Tpetra::Map<>::global_ordinal_type, semcache::TpetraNode>;
using Global = Map::global_ordinal_type;
using Matrix = Tpetra::CrsMatrix<double, Map::local_ordinal_type, Global, semcache::TpetraNode>;
using Vector = Tpetra::Vector<double, Map::local_ordinal_type, Global, semcache::TpetraNode>;

/// -x(i-1) + 2 x(i) - x(i+1), with zeros beyond both ends.
static void fill(Matrix& matrix, Global rows) {
  for (std::size_t local = 0; local < matrix.getMap()->getNodeNumElements(); ++local) {
    const Global row = matrix.getMap()->getGlobalElement(int(local));
    const Global columns[] = {row, row - 1, row + 1};
    const double values[] = {2, -1, -1};
    matrix.insertGlobalValues(row, 1, values, columns);
    if (row > 0) matrix.insertGlobalValues(row, 1, values + 1, columns + 1);
    if (row + 1 < rows) matrix.insertGlobalValues(row, 1, values + 2, columns + 2);
  }
  matrix.fillComplete();
}

static int solve(const Matrix& matrix, Vector& r, Vector& x) {
  Vector p(r, Teuchos::Copy), q(r.getMap());
  double rr = r.dot(r);
  int steps = 0;
  for (; std::sqrt(rr) > 1e-10 && steps < 1000; ++steps) {
    matrix.apply(p, q);
    const double alpha = rr / p.dot(q), before = rr;
    x.update(alpha, p, 1);
    r.update(-alpha, q, 1);
    rr = r.dot(r);
    p.update(1, r, rr / before);
  }
  return steps;
}

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard scope(&argc, &argv);
  const Global rows = 400;
  const auto comm = Tpetra::getDefaultComm();
  const auto map = Teuchos::rcp(new Map(rows, 0, comm));
  Matrix matrix(map, 3);
  fill(matrix, rows);
  Vector b(map), x(map);
  const auto x_host = x.getLocalViewHost(Tpetra::Access::ReadOnly);  // may live on while the device computes
  const auto b_host = b.getLocalViewHost(Tpetra::Access::ReadWrite);
  for (std::size_t i = 0; i < b_host.extent(0); ++i) b_host(i, 0) = 1;

  const int steps = solve(matrix, b, x);
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < x_host.extent(0); ++i) {
    const double at = double(map->getGlobalElement(int(i)) + 1);
    error = std::max(error, std::abs(x_host(i, 0) - at * (rows + 1 - at) / 2));
  }
  Teuchos::reduceAll(*comm, Teuchos::REDUCE_MAX, error, Teuchos::outArg(largest));
  if (comm->getRank() == 0) std::printf("%d steps, error %s\n", steps, largest < 1e-6 ? "below 1e-6" : "too large");
}
