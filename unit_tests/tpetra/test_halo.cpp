// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "laplace.hpp"

#include <BelosLinearProblem.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>

#include <gtest/gtest.h>

using namespace semcache::test;

namespace {

using Node = semcache::TpetraNode;
using MultiVector = Types<Node>::MultiVector;
using Operator = Types<Node>::Operator;

/// A rank's part of the matrix is `faces` faces of the box; neither is a whole number of pages.
constexpr Global nx = 31, ny = 29, faces = 5;

Teuchos::RCP<Types<Node>::Matrix> box() { return laplace<Node>(nx, ny, faces * Tpetra::getDefaultComm()->getSize()); }

std::uint64_t halo_bytes() {
  const auto comm = Tpetra::getDefaultComm();
  const std::uint64_t neighbours = (comm->getRank() > 0) + (comm->getRank() < comm->getSize() - 1);
  return neighbours * nx * ny * sizeof(Scalar);
}

struct Crossed {
  std::uint64_t to_device;
  std::uint64_t to_host;
};
/// Launches of Tpetra, Kokkos-Kernels and Belos are all understood.
template <class Work>
Crossed crossed(const Work& work) {
  const auto before = semcache::statistics().total;
  work();
  const auto after = semcache::statistics().total;
  EXPECT_GT(after.launches, before.launches);
  EXPECT_EQ(after.unknown_launches, before.unknown_launches);
  EXPECT_EQ(after.native_captures, before.native_captures);
  return {after.h2d.bytes - before.h2d.bytes, after.d2h.bytes - before.d2h.bytes};
}

TEST(Halo, AnApplyMovesItAndNothingElse) {
  const auto matrix = box();
  MultiVector x(matrix->getDomainMap(), 1), y(matrix->getRangeMap(), 1);
  double value = 1;
  x.putScalar(value);
  matrix->apply(x, y);
  x.scale(2);
  value *= 2;
  matrix->apply(x, y);

  for (int round = 0; round < 3; ++round) {
    x.scale(1.5);
    value *= 1.5;
    const Crossed bytes = crossed([&] { matrix->apply(x, y); });
    EXPECT_EQ(bytes.to_host, halo_bytes());
    EXPECT_EQ(bytes.to_device, halo_bytes());
    // A row has 6 on its diagonal and -1 for each neighbour.
    const auto result = y.getData(0);
    for (Local row = 0; row < Local(result.size()); ++row)
      ASSERT_EQ(result[row], value * (7 - double(matrix->getNumEntriesInLocalRow(row)))) << "round " << round;
  }
}

/// What n iterations move, for two n: the difference is what an iteration moves.
TEST(Halo, AnIterationOfCGMovesItAndNothingElse) {
  const auto matrix = box();
  const auto x = Teuchos::rcp(new MultiVector(matrix->getDomainMap(), 1));
  const auto b = Teuchos::rcp(new MultiVector(matrix->getRangeMap(), 1));
  b->randomize();
  const auto solve = [&](int iterations) {
    x->putScalar(0);
    const auto problem = Teuchos::rcp(new Belos::LinearProblem<Scalar, MultiVector, Operator>(matrix, x, b));
    problem->setProblem();
    auto parameters = Teuchos::rcp(new Teuchos::ParameterList);
    parameters->set("Maximum Iterations", iterations);
    parameters->set("Convergence Tolerance", 1e-30);
    parameters->set("Verbosity", int(Belos::Errors));
    Belos::PseudoBlockCGSolMgr<Scalar, MultiVector, Operator> solver(problem, parameters);
    solver.solve();
    EXPECT_EQ(solver.getNumIters(), iterations);
  };
  solve(5);
  const Crossed ten = crossed([&] { solve(10); });
  const Crossed thirty = crossed([&] { solve(30); });

  EXPECT_EQ(thirty.to_host - ten.to_host, 20 * halo_bytes());
  EXPECT_EQ(thirty.to_device - ten.to_device, 20 * halo_bytes());
}

}  // namespace
