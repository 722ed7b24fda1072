// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: MPI gets addresses in device Views; SemCache's MPI layer moves the halo's bytes alone, and waits for what writes them.
// Prints: a value that has wandered once around all ranks, and the bytes of rank 0's messages: one number in each step.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && mpiexec -n 2 build/halo
#include <semcache/kokkos.hpp>

#include <mpi.h>

#include <cstdio>
#include <utility>

using Values = Kokkos::View<double*, semcache::Device>;

/// Element 0 of each rank's array is the halo: the last element of the rank on the left.
static void fill_halo(const Values& x, int n, int left, int right) {
  MPI_Sendrecv(x.data() + n, 1, MPI_DOUBLE, right, 0, x.data(), 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void run(int rank, int ranks) {
  const int n = 1000, steps = n * ranks;
  Values x("x", n + 1), next("next", n + 1);
  const auto x_host = Kokkos::create_mirror_view(x);
  for (int i = 1; i <= n; ++i) x_host(i) = rank * n + i;
  Kokkos::deep_copy(x, x_host);

  const semcache::Counters before = semcache::statistics().total;
  for (int step = 0; step < steps; ++step) {  // everything moves on by one element
    fill_halo(x, n, (rank + ranks - 1) % ranks, (rank + 1) % ranks);
    const Values::const_type from = x;
    const Values to = next;
    Kokkos::parallel_for(
        "shift", Kokkos::RangePolicy<semcache::Exec>(1, n + 1), KOKKOS_LAMBDA(int i) { to(i) = from(i - 1); });
    std::swap(x, next);
  }
  const semcache::Counters after = semcache::statistics().total;

  const auto end = Kokkos::create_mirror_view(x);
  Kokkos::deep_copy(end, x);
  int wrong = 0, all = 0;
  for (int i = 1; i <= n; ++i) wrong += end(i) != rank * n + i;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("x(5) is %g after %d steps, %d values of all ranks are wrong\n", end(5), steps, all);
    std::printf("to the host: %llu bytes\n", static_cast<unsigned long long>(after.d2h.bytes - before.d2h.bytes));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run(rank, ranks);
  Kokkos::finalize();
  MPI_Finalize();
}
