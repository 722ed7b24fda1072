// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "laplace.hpp"

#include <BelosBlockCGSolMgr.hpp>
#include <BelosBlockGmresSolMgr.hpp>
#include <BelosLinearProblem.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace semcache::test;

namespace {

struct Outcome {
  bool converged = false;
  int iterations = 0;
  std::vector<double> residuals;  ///< relative, computed afresh
  std::vector<double> solution;   ///< this rank's part
};

/// Solves A X = A X0 for an X0 that is known on all ranks alike.
template <class Node, template <class, class, class> class Solver>
Outcome solve(int columns, const Teuchos::RCP<Teuchos::ParameterList>& parameters) {
  using MultiVector = typename Types<Node>::MultiVector;
  using Operator = typename Types<Node>::Operator;
  const Teuchos::RCP<typename Types<Node>::Matrix> matrix = laplace<Node>(16, 16, 16);
  const auto map = matrix->getRowMap();
  const auto exact = Teuchos::rcp(new MultiVector(map, columns));
  const auto x = Teuchos::rcp(new MultiVector(map, columns));
  const auto b = Teuchos::rcp(new MultiVector(map, columns));
  {
    const auto view = exact->getLocalViewHost(Tpetra::Access::OverwriteAll);
    for (std::size_t j = 0; j < view.extent(1); ++j)
      for (std::size_t i = 0; i < view.extent(0); ++i)
        view(i, j) = 1 + 0.25 * std::sin(0.1 * double(map->getGlobalElement(Local(i))) * double(j + 1));
  }
  matrix->apply(*exact, *b);

  const auto problem = Teuchos::rcp(new Belos::LinearProblem<Scalar, MultiVector, Operator>(matrix, x, b));
  EXPECT_TRUE(problem->setProblem());
  Solver<Scalar, MultiVector, Operator> solver(problem, parameters);
  Outcome outcome;
  outcome.converged = solver.solve() == Belos::Converged;
  outcome.iterations = solver.getNumIters();

  MultiVector residual(*b, Teuchos::Copy);
  matrix->apply(*x, residual, Teuchos::NO_TRANS, -1, 1);
  std::vector<double> norms(columns), scale(columns);
  residual.norm2(Teuchos::arrayViewFromVector(norms));
  b->norm2(Teuchos::arrayViewFromVector(scale));
  for (int j = 0; j < columns; ++j) outcome.residuals.push_back(norms[j] / scale[j]);
  const auto view = x->getLocalViewHost(Tpetra::Access::ReadOnly);
  for (std::size_t j = 0; j < view.extent(1); ++j)
    for (std::size_t i = 0; i < view.extent(0); ++i) outcome.solution.push_back(view(i, j));
  return outcome;
}

template <template <class, class, class> class Solver>
void expect_same_as_stock(int columns, const Teuchos::RCP<Teuchos::ParameterList>& parameters) {
  const Outcome stock = solve<StockNode, Solver>(columns, parameters);
  const Outcome ours = solve<semcache::TpetraNode, Solver>(columns, parameters);

  EXPECT_TRUE(stock.converged);
  EXPECT_TRUE(ours.converged);
  EXPECT_GT(stock.iterations, 5);
  EXPECT_EQ(ours.iterations, stock.iterations);
  for (int j = 0; j < columns; ++j) EXPECT_NEAR(ours.residuals[j], stock.residuals[j], 1e-6 * stock.residuals[j]) << j;
  ASSERT_EQ(ours.solution.size(), stock.solution.size());
  for (std::size_t i = 0; i < ours.solution.size(); ++i) ASSERT_NEAR(ours.solution[i], stock.solution[i], 1e-11) << i;
}

Teuchos::RCP<Teuchos::ParameterList> parameters() {
  auto list = Teuchos::rcp(new Teuchos::ParameterList);
  list->set("Maximum Iterations", 200);
  list->set("Convergence Tolerance", 1e-8);
  list->set("Verbosity", int(Belos::Errors));
  return list;
}

template <class S, class MV, class OP>
using PseudoBlockCG = Belos::PseudoBlockCGSolMgr<S, MV, OP>;
template <class S, class MV, class OP>
using BlockCG = Belos::BlockCGSolMgr<S, MV, OP>;
template <class S, class MV, class OP>
using BlockGmres = Belos::BlockGmresSolMgr<S, MV, OP>;

TEST(Belos, CGIsThatOfTheStockNode) { expect_same_as_stock<PseudoBlockCG>(1, parameters()); }

TEST(Belos, PseudoBlockCGIsThatOfTheStockNode) { expect_same_as_stock<PseudoBlockCG>(3, parameters()); }

TEST(Belos, BlockCGIsThatOfTheStockNode) {
  const auto list = parameters();
  list->set("Block Size", 3);
  expect_same_as_stock<BlockCG>(3, list);
}

TEST(Belos, GmresIsThatOfTheStockNode) {
  const auto list = parameters();
  list->set("Num Blocks", 30);
  expect_same_as_stock<BlockGmres>(1, list);
}

}  // namespace
