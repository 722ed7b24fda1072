// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program that knows nothing of SemCache: no header, no node, Tpetra's defaults throughout. It is linked to
// SemCache::tpetra_default.
#include <BelosBlockCGSolMgr.hpp>
#include <BelosLinearProblem.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_MultiVector.hpp>
#include <Tpetra_Vector.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace {

TEST(DefaultNode, IsOurs) {
  EXPECT_EQ(Tpetra::Map<>::node_type::name(), "SemCache/Wrapper");
  EXPECT_STREQ(Tpetra::Vector<>::device_type::memory_space::name(), "SemCache");
}

TEST(DefaultNode, SolvesOnOurDevice) {
  using Matrix = Tpetra::CrsMatrix<>;
  using MultiVector = Tpetra::MultiVector<>;
  using Operator = Tpetra::Operator<>;
  using Global = Tpetra::Map<>::global_ordinal_type;
  const auto comm = Tpetra::getDefaultComm();
  const Global n = 400;
  const auto map = Teuchos::rcp(new Tpetra::Map<>(n, 0, comm));
  const auto matrix = Teuchos::rcp(new Matrix(map, 3));
  for (const Global row : map->getNodeElementList()) {
    matrix->insertGlobalValues(row, Teuchos::tuple<Global>(row), Teuchos::tuple<double>(2.1));
    if (row > 0) matrix->insertGlobalValues(row, Teuchos::tuple<Global>(row - 1), Teuchos::tuple<double>(-1));
    if (row < n - 1) matrix->insertGlobalValues(row, Teuchos::tuple<Global>(row + 1), Teuchos::tuple<double>(-1));
  }
  matrix->fillComplete();
  const auto x = Teuchos::rcp(new MultiVector(map, 1));
  const auto b = Teuchos::rcp(new MultiVector(map, 1));
  MultiVector ones(map, 1);
  ones.putScalar(1);
  matrix->apply(ones, *b);

  const auto problem = Teuchos::rcp(new Belos::LinearProblem<double, MultiVector, Operator>(matrix, x, b));
  problem->setProblem();
  Belos::BlockCGSolMgr<double, MultiVector, Operator> solver(problem, Teuchos::rcp(new Teuchos::ParameterList));
  EXPECT_EQ(solver.solve(), Belos::Converged);

  x->update(-1, ones, 1);
  EXPECT_LT(x->getVector(0)->normInf(), 1e-6);
}

}  // namespace
