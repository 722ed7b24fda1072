// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: particles are counted by a ScatterView, and sorted by cell with BinSort, while the host looks at them through mirrors.
// Prints: the particles of one cell and the sum of all cell numbers, counted before the sort and read off after it.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/particles
#include <semcache/kokkos.hpp>

#include <Kokkos_ScatterView.hpp>
#include <Kokkos_Sort.hpp>

#include <cstdio>

static void run() {
  using Values = Kokkos::View<double*, semcache::Device>;
  using Counts = Kokkos::View<int*, semcache::Device>;
  using Range = Kokkos::RangePolicy<semcache::Exec>;
  const int particles = 20000, cells = 50;
  const Values position("position", particles);
  Counts count("count", cells);

  const auto position_host = Kokkos::create_mirror_view(position);
  unsigned number = 1;
  for (int i = 0; i < particles; ++i) position_host(i) = cells * ((number = 1664525 * number + 1013904223) / 4294967296.0);
  Kokkos::deep_copy(position, position_host);

  const auto scatter = Kokkos::Experimental::create_scatter_view(count);
  Kokkos::parallel_for(
      "count", Range(0, particles), KOKKOS_LAMBDA(int i) { scatter.access()(int(position(i))) += 1; });
  Kokkos::Experimental::contribute(count, scatter);

  using Bins = Kokkos::BinOp1D<Values>;
  Kokkos::BinSort<Values, Bins> sort(position, Bins(cells, 0.0, double(cells)), true);
  sort.create_permute_vector();
  sort.sort(position);

  Kokkos::deep_copy(position_host, position);
  const auto count_host = Kokkos::create_mirror_view(count);
  Kokkos::deep_copy(count_host, count);
  long counted = 0, sorted = 0;
  int misplaced = 0, at = 0;
  for (int cell = 0; cell < cells; ++cell) {
    counted += long(cell) * count_host(cell);
    for (const int end = at + count_host(cell); at < end; ++at) {
      sorted += int(position_host(at));
      misplaced += int(position_host(at)) != cell;
    }
  }
  std::printf("cell 7 has %d particles, %d of all are misplaced\n", count_host(7), misplaced);
  std::printf("sum of cells: %ld counted, %ld sorted\n", counted, sorted);
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  run();
}
