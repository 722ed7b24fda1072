// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Stock views and stock MPI calls. Argument: whether Kokkos or MPI ends first.
#include <semcache/kokkos.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>

namespace {

using Vector = Kokkos::View<double*, semcache::Device>;
using Range = Kokkos::RangePolicy<semcache::Exec>;

int rank_of() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int size_of() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
int left() { return (rank_of() + size_of() - 1) % size_of(); }
int right() { return (rank_of() + 1) % size_of(); }

constexpr int rows = 4000;
constexpr int halo = 60;
constexpr int whole = rows + 2 * halo;

/// A local vector with the neighbours' parts in front and behind.
struct Local {
  Vector x{"x", whole};
  double* own() const { return x.data() + halo; }
};

}  // namespace

// Lambdas of device code stand in functions with external linkage.
namespace mpi_kokkos {

void fill(const Vector& x, double first) {
  Kokkos::parallel_for(
      "fill", Range(halo, halo + rows), KOKKOS_LAMBDA(int i) { x(i) = first + i; });
}
void scale_interior(const Vector& x) {
  Kokkos::parallel_for(
      "interior", Range(2 * halo, rows), KOKKOS_LAMBDA(int i) { x(i) *= 2; });
}
double sum_of(const Vector& x, int begin, int end) {
  const Kokkos::View<const double*, semcache::Device> in = x;
  double sum = 0;
  Kokkos::parallel_reduce(
      "sum", Range(begin, end), KOKKOS_LAMBDA(int i, double& s) { s += in(i); }, sum);
  return sum;
}

}  // namespace mpi_kokkos
using namespace mpi_kokkos;

TEST(MpiKokkos, AHaloExchangeOnDeviceViewsMovesTheHaloEveryIteration) {
  const Local v;
  for (int iteration = 0; iteration < 5; ++iteration) {
    fill(v.x, 10000.0 * rank_of() + iteration);
    const semcache::Counters before = semcache::statistics().total;
    MPI_Request requests[4];
    MPI_Irecv(v.x.data(), halo, MPI_DOUBLE, left(), 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(v.own() + rows, halo, MPI_DOUBLE, right(), 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(v.own() + rows - halo, halo, MPI_DOUBLE, right(), 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(v.own(), halo, MPI_DOUBLE, left(), 1, MPI_COMM_WORLD, &requests[3]);
    scale_interior(v.x);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    const semcache::Counters after = semcache::statistics().total;

    const double front = halo * (10000.0 * left() + iteration + rows) + halo * (halo - 1) / 2.0;
    const double back = halo * (10000.0 * right() + iteration + halo) + halo * (halo - 1) / 2.0;
    EXPECT_EQ(sum_of(v.x, 0, halo), front);
    EXPECT_EQ(sum_of(v.x, halo + rows, whole), back);
    EXPECT_EQ(after.d2h.bytes - before.d2h.bytes, 2 * halo * sizeof(double));
    EXPECT_EQ(after.h2d.bytes - before.h2d.bytes, 2 * halo * sizeof(double));
    EXPECT_EQ(after.unknown_launches, before.unknown_launches);
  }
}

TEST(MpiKokkos, MirrorsAndDualViews) {
  const Local v;
  fill(v.x, 10000.0 * rank_of());
  const auto mirror = Kokkos::create_mirror_view(v.x);
  Kokkos::deep_copy(mirror, v.x);
  semcache::DualView<double*, semcache::Device> dual("dual", halo);

  MPI_Sendrecv(mirror.data() + halo, halo, MPI_DOUBLE, right(), 0, dual.view_host().data(), halo, MPI_DOUBLE, left(), 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  EXPECT_EQ(dual.view_host()(1), 10000.0 * left() + halo + 1);
  EXPECT_EQ(sum_of(dual.view_device(), 0, halo), halo * (10000.0 * left() + halo) + halo * (halo - 1) / 2.0);
}

TEST(MpiKokkos, ReductionsOfViews) {
  const Vector result("result", 1);
  const auto mirror = Kokkos::create_mirror_view(result);
  mirror(0) = rank_of() + 1;
  MPI_Allreduce(MPI_IN_PLACE, mirror.data(), 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(mirror(0), size_of() * (size_of() + 1) / 2.0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (argc == 2 && std::strcmp(argv[1], "mpi_first") == 0) {
    MPI_Finalize();
    Kokkos::finalize();
  } else {
    Kokkos::finalize();
    MPI_Finalize();
  }
  return failed;
}
