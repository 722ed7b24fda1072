// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Views of one side kept alive while the other is used: Tpetra itself throws in every one of these tests where host and
// device memory differ ("Cannot access data on device while a host view is alive").
#include "laplace.hpp"

#include <kokkos/support.hpp>

#include <vector>

using namespace semcache::test;

namespace {

using Node = semcache::TpetraNode;
using Map = Types<Node>::Map;
using Matrix = Types<Node>::Matrix;
using MultiVector = Types<Node>::MultiVector;
using Vector = Tpetra::Vector<Scalar, Local, Global, Node>;
using Policy = Kokkos::RangePolicy<semcache::Exec>;
namespace Access = Tpetra::Access;

constexpr Global rows_per_rank = 1000;

Teuchos::RCP<const Map> map() { return uniform_map<Node>(rows_per_rank * Tpetra::getDefaultComm()->getSize()); }

TEST(ViewsAlive, HostViewSeesKernelsThatCameAfterIt) {
  MultiVector x(map(), 2), y(map(), 2);
  x.putScalar(3);
  const auto kept = x.getLocalViewHost(Access::ReadOnly);
  EXPECT_EQ(kept(0, 0), 3);

  y.putScalar(10);
  x.update(2, y, 1);

  EXPECT_EQ(kept(0, 0), 23);
  EXPECT_EQ(kept(rows_per_rank - 1, 1), 23);
  x.scale(2);
  EXPECT_EQ(kept(7, 1), 46);
}

TEST(ViewsAlive, AMatrixMadeOfAnothersDeviceViewsSharesThem) {
  const auto a = laplace<Node>(10, 10, 10 * Tpetra::getDefaultComm()->getSize());
  Matrix b(a->getLocalMatrixDevice(), a->getRowMap(), a->getColMap(), a->getDomainMap(), a->getRangeMap());
  EXPECT_EQ(b.getLocalMatrixHost().values(0), a->getLocalMatrixHost().values(0));
  b.resumeFill();
  const Local diagonal = a->getColMap()->getLocalElement(a->getRowMap()->getGlobalElement(0));
  const Scalar value = 100;
  b.replaceLocalValues(0, 1, &value, &diagonal);
  b.fillComplete(a->getDomainMap(), a->getRangeMap());

  // The device's values are the same array: what reached them through one is seen through the other.
  MultiVector x(a->getDomainMap(), 1), y(a->getRangeMap(), 1), z(a->getRangeMap(), 1);
  x.putScalar(1);
  b.apply(x, y);
  a->apply(x, z);
  EXPECT_GT(y.getData(0)[0], 90) << "the row's diagonal is 100";
  EXPECT_EQ(z.getData(0)[0], y.getData(0)[0]);
  const auto middle = static_cast<Teuchos::Ordinal>(a->getNodeNumRows() / 2);
  EXPECT_EQ(z.getData(0)[middle], y.getData(0)[middle]);
}

TEST(ViewsAlive, KernelsSeeWhatAKeptHostViewWrites) {
  MultiVector x(map(), 1);
  const auto kept = x.getLocalViewHost(Access::ReadWrite);

  for (int round = 1; round <= 3; ++round) {
    for (Local i = 0; i < rows_per_rank; ++i) kept(i, 0) = round;
    std::vector<double> norm(1);
    x.norm1(Teuchos::arrayViewFromVector(norm));
    EXPECT_EQ(norm[0], double(round) * double(x.getGlobalLength()));
  }
}

KOKKOS_TEST(ViewsAlive, BothSidesAtOnce) {
  MultiVector x(map(), 1);
  const auto host = x.getLocalViewHost(Access::ReadWrite);
  const auto device = x.getLocalViewDevice(Access::ReadWrite);
  const auto host_again = x.getLocalViewHost(Access::ReadOnly);

  for (int round = 0; round < 3; ++round) {
    for (Local i = 0; i < rows_per_rank; ++i) host(i, 0) = round * 100 + i;
    Kokkos::parallel_for("double", Policy(0, rows_per_rank), KOKKOS_LAMBDA(int i) { device(i, 0) *= 2; });
    for (Local i = 0; i < rows_per_rank; ++i) ASSERT_EQ(host_again(i, 0), 2 * (round * 100 + i)) << round;
  }
}

TEST(ViewsAlive, ArraysOfGetDataAcrossAnApply) {
  const auto matrix = laplace<Node>(10, 10, 4 * Tpetra::getDefaultComm()->getSize());
  Vector x(matrix->getDomainMap()), y(matrix->getRangeMap());
  x.putScalar(1);
  Teuchos::ArrayRCP<const Scalar> result = y.getData();
  Teuchos::ArrayRCP<Scalar> input = x.getDataNonConst();

  matrix->apply(x, y);
  double sum = 0;
  for (const Scalar value : result) sum += value;
  for (Scalar& value : input) value = 2;
  matrix->apply(x, y);
  double doubled = 0;
  for (const Scalar value : result) doubled += value;

  EXPECT_GT(sum, 0);
  EXPECT_EQ(doubled, 2 * sum);
}

KOKKOS_TEST(ViewsAlive, ColumnsAndRowsOfAMultiVector) {
  MultiVector x(map(), 3);
  x.putScalar(1);
  const auto whole = x.getLocalViewHost(Access::ReadOnly);
  const auto column = x.getVectorNonConst(1);
  const auto column_device = column->getLocalViewDevice(Access::ReadWrite);
  const auto column_host = column->getLocalViewHost(Access::ReadWrite);
  const auto pair = x.subViewNonConst(Teuchos::Range1D(1, 2));

  column->scale(5);
  pair->update(1, *pair, 1);
  column_host(3, 0) += 0.5;
  Kokkos::parallel_for("add", Policy(0, 1), KOKKOS_LAMBDA(int) { column_device(3, 0) += 100; });

  EXPECT_EQ(whole(3, 0), 1);
  EXPECT_EQ(whole(2, 1), 10);
  EXPECT_EQ(whole(3, 1), 110.5);
  EXPECT_EQ(whole(3, 2), 2);
}

KOKKOS_TEST(ViewsAlive, HostAndDeviceMatrixAtOnce) {
  const auto matrix = laplace<Node>(10, 10, 4 * Tpetra::getDefaultComm()->getSize());
  const auto on_host = matrix->getLocalMatrixHost();
  const auto on_device = matrix->getLocalMatrixDevice();
  const auto row_map = matrix->getCrsGraph()->getLocalGraphHost().row_map;

  matrix->resumeFill();
  matrix->scale(3);
  matrix->fillComplete();
  double host_sum = 0;
  for (std::size_t k = 0; k < on_host.values.extent(0); ++k) host_sum += on_host.values(k);
  const auto values = on_device.values;
  double device_sum = 0;
  Kokkos::parallel_reduce(
      "sum", Policy(0, int(values.extent(0))), KOKKOS_LAMBDA(int k, double& sum) { sum += values(k); }, device_sum);

  double entries = 0;
  for (std::size_t i = 0; i + 1 < row_map.extent(0); ++i) entries += 3. * (7. - double(row_map(i + 1) - row_map(i)));
  EXPECT_EQ(host_sum, entries);
  EXPECT_EQ(device_sum, entries);
}

KOKKOS_TEST(ViewsAlive, VectorOverACallersDeviceView) {
  using Dual = MultiVector::dual_view_type;
  Dual::t_dev mine("mine", rows_per_rank, 1);
  MultiVector x(map(), mine);
  const auto host = x.getLocalViewHost(Access::ReadWrite);
  const auto device = x.getLocalViewDevice(Access::ReadOnly);

  Kokkos::parallel_for("mine", Policy(0, rows_per_rank), KOKKOS_LAMBDA(int i) { mine(i, 0) = i; });
  EXPECT_EQ(host(17, 0), 17);
  host(17, 0) = -1;
  double sum = 0;
  Kokkos::parallel_reduce(
      "sum", Policy(0, rows_per_rank), KOKKOS_LAMBDA(int i, double& s) { s += device(i, 0); }, sum);

  EXPECT_EQ(sum, rows_per_rank * (rows_per_rank - 1) / 2 - 18);
}

/// Of a vector over another one's device view, or over a part of it.
TEST(ViewsAlive, VectorOverAnothersDeviceView) {
  MultiVector x(map(), 2);
  x.putScalar(2);
  MultiVector y(map(), x.getLocalViewDevice(Access::ReadWrite));
  const auto column = Kokkos::subview(x.getLocalViewDevice(Access::ReadWrite), Kokkos::ALL(), std::make_pair(1, 2));
  MultiVector z(map(), column);
  const auto of_y = y.getLocalViewHost(Access::ReadWrite);
  EXPECT_EQ(of_y(0, 0), 2);

  of_y(1, 1) = 9;
  z.scale(2);
  EXPECT_EQ(x.getData(1)[1], 18);
  EXPECT_EQ(z.getData(0)[0], 4);
  x.getDataNonConst(1)[2] = 20;
  EXPECT_EQ(of_y(2, 1), 20);
  EXPECT_EQ(z.getLocalViewHost(Access::ReadOnly)(2, 0), 20);
  std::vector<double> norms(2);
  y.norm1(Teuchos::arrayViewFromVector(norms));
  const auto ranks = double(Tpetra::getDefaultComm()->getSize());
  EXPECT_EQ(norms[0], ranks * 2 * rows_per_rank);
  EXPECT_EQ(norms[1], ranks * (4 * (rows_per_rank - 2) + 18 + 20));
}

/// What another vector or view has written outlives it.
TEST(ViewsAlive, VectorOverTheDeviceViewOfAFreedOne) {
  MultiVector::dual_view_type::t_dev device;
  MultiVector::dual_view_type::t_host kept;
  {
    MultiVector gone(map(), 1);
    gone.putScalar(3);
    kept = gone.getLocalViewHost(Access::ReadWrite);
    kept(1, 0) = 5;
    device = gone.getLocalViewDevice(Access::ReadWrite);
  }
  MultiVector y(map(), device);
  EXPECT_EQ(y.getData(0)[1], 5);
  y.scale(2);
  EXPECT_EQ(kept(1, 0), 10);
  EXPECT_EQ(y.getData(0)[2], 6);
}

}  // namespace
