// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A file that sees the definitions of Tpetra's templates, as one does that instantiates them for a scalar of its own:
// the members that differ for our node are the library's all the same.
#include <semcache/tpetra.hpp>

#include <Tpetra_Core.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_MultiVector_decl.hpp>
#include <Tpetra_Vector_decl.hpp>

#include <Tpetra_MultiVector_def.hpp>
#include <Tpetra_Vector_def.hpp>

#include <kokkos/support.hpp>

namespace {

using Node = semcache::TpetraNode;
using Map = Tpetra::Map<Tpetra::Map<>::local_ordinal_type, Tpetra::Map<>::global_ordinal_type, Node>;
using MultiVector = Tpetra::MultiVector<double, Map::local_ordinal_type, Map::global_ordinal_type, Node>;
namespace Access = Tpetra::Access;

KOKKOS_TEST(Definitions, AVectorOverACallersDeviceViewIsTheLibrarys) {
  const auto map = Teuchos::rcp(new Map(100 * Tpetra::getDefaultComm()->getSize(), 0, Tpetra::getDefaultComm()));
  const MultiVector::dual_view_type::t_dev mine("mine", 100, 1);
  MultiVector x(map, mine);
  const auto host = x.getLocalViewHost(Access::ReadWrite);
  host(3, 0) = 5;
  x.scale(2);
  EXPECT_EQ(host(3, 0), 10);
  double seen = 0;
  Kokkos::parallel_reduce(
      "see", Kokkos::RangePolicy<semcache::Exec>(0, 1), KOKKOS_LAMBDA(int, double& sum) { sum += mine(3, 0); }, seen);
  EXPECT_EQ(seen, 10);
}

}  // namespace
