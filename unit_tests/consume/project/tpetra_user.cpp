// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/mpi.hpp>
#include <semcache/tpetra.hpp>

#include <Teuchos_CommHelpers.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_MultiVector.hpp>

#include <cstdio>
#include <type_traits>

// The node that Tpetra takes by itself is the build's choice.
static_assert(std::is_same<Tpetra::Map<>::node_type, semcache::TpetraNode>::value == (DEFAULT_IS_OURS == 1));

/// A product on our node, a host view kept all the while, and a message of the installed Teuchos through the layer.
static int run() {
  using Matrix = Tpetra::CrsMatrix<double, Tpetra::Map<>::local_ordinal_type, Tpetra::Map<>::global_ordinal_type,
                                   semcache::TpetraNode>;
  using Vector = Tpetra::MultiVector<double, Matrix::local_ordinal_type, Matrix::global_ordinal_type,
                                     semcache::TpetraNode>;
  using Global = Matrix::global_ordinal_type;
  constexpr Global rows = 1000;
  const auto comm = Tpetra::getDefaultComm();
  const auto map = Teuchos::rcp(new Matrix::map_type(rows, 0, comm));
  Matrix matrix(map, 1);
  for (Global row = 0; row < rows; ++row) {
    const double value = double(row);
    matrix.insertGlobalValues(row, 1, &value, &row);
  }
  matrix.fillComplete();

  const Vector::dual_view_type::t_dev mine("mine", rows, 1);
  Vector x(map, 1), y(map, mine);
  const auto kept = y.getLocalViewHost(Tpetra::Access::ReadOnly);
  x.putScalar(2);
  matrix.apply(x, y);
  int failures = 0;
  for (Global row = 0; row < rows; ++row) failures += kept(row, 0) != 2. * double(row);

  const auto in = x.getLocalViewHost(Tpetra::Access::ReadWrite);
  const auto request = Teuchos::ireceive<int, double>(Teuchos::arcp(in.data(), 0, rows, false), 0, 0, *comm);
  const std::size_t pending = semcache::mpi::pending_requests();  // 0: Teuchos' calls pass by the layer
  Teuchos::send<int, double>(kept.data(), int(rows), 0, 0, *comm);
  request->wait();
  failures += in(3, 0) != 6;
  if (failures == 0 && pending == 1) return 0;
  std::fprintf(stderr, "wrong values: %d, pending: %zu\n", failures, pending);
  return 1;
}

int main(int argc, char** argv) {
  const Tpetra::ScopeGuard scope(&argc, &argv);
  return run();
}
