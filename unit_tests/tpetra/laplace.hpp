// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/tpetra.hpp>

#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_MultiVector.hpp>
#include <Tpetra_Vector.hpp>

namespace semcache::test {

using Scalar = Tpetra::MultiVector<>::scalar_type;
using Local = Tpetra::Map<>::local_ordinal_type;
using Global = Tpetra::Map<>::global_ordinal_type;
/// What the distribution's Tpetra was built for.
using StockNode = Kokkos::Compat::KokkosSerialWrapperNode;

template <class Node>
struct Types {
  using Map = Tpetra::Map<Local, Global, Node>;
  using Matrix = Tpetra::CrsMatrix<Scalar, Local, Global, Node>;
  using MultiVector = Tpetra::MultiVector<Scalar, Local, Global, Node>;
  using Operator = Tpetra::Operator<Scalar, Local, Global, Node>;
};

template <class Node>
Teuchos::RCP<const typename Types<Node>::Map> uniform_map(Global rows) {
  return Teuchos::rcp(new typename Types<Node>::Map(rows, 0, Tpetra::getDefaultComm()));
}

/// The 7-point Laplace matrix on a box, rows in slabs of z over the ranks.
template <class Node>
Teuchos::RCP<typename Types<Node>::Matrix> laplace(Global nx, Global ny, Global nz) {
  const auto map = uniform_map<Node>(nx * ny * nz);
  auto matrix = Teuchos::rcp(new typename Types<Node>::Matrix(map, 7));
  const auto rows = static_cast<Local>(map->getNodeNumElements());
  for (Local row = 0; row < rows; ++row) {
    const Global g = map->getGlobalElement(row);
    const Global x = g % nx, y = g / nx % ny, z = g / (nx * ny);
    Global columns[7];
    Scalar values[7];
    int count = 0;
    const auto add = [&](bool inside, Global column, Scalar value) {
      if (!inside) return;
      columns[count] = column;
      values[count++] = value;
    };
    add(true, g, 6);
    add(x > 0, g - 1, -1);
    add(x < nx - 1, g + 1, -1);
    add(y > 0, g - nx, -1);
    add(y < ny - 1, g + nx, -1);
    add(z > 0, g - nx * ny, -1);
    add(z < nz - 1, g + nx * ny, -1);
    matrix->insertGlobalValues(g, count, values, columns);
  }
  matrix->fillComplete();
  return matrix;
}

}  // namespace semcache::test
