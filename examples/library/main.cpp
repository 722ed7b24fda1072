// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: a library has allocated an array and works on it with the host; the program adopts it and computes on it with kernels.
// Prints: the library's sum of what the kernels have made of its array, and its own part afterwards.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/library
#include <semcache/semcache.h>
#include <semcache/kokkos.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

/// Stands for a library that knows neither Kokkos nor SemCache.
class Mesh {
 public:
  explicit Mesh(int points) : values(points, 1.0) {}
  void scale(double factor) {
    for (double& value : values) value *= factor;
  }
  double sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }
  std::vector<double> values;
};

static void must(semcache_status status) {
  if (status == SEMCACHE_SUCCESS) return;
  std::fprintf(stderr, "%s\n", semcache_last_error());
  std::exit(1);
}

static void compute(Mesh& mesh) {
  const int n = int(mesh.values.size());
  // A View of the library's memory takes part in lazy copies from here on, as a mirror does.
  must(semcache_adopt(mesh.values.data(), n * sizeof(double), "values of the mesh"));
  const Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> values(mesh.values.data(), n);
  const Kokkos::View<double*, semcache::Device> x("x", n);

  for (int round = 0; round < 3; ++round) {
    Kokkos::deep_copy(x, values);
    Kokkos::parallel_for(
        "add", Kokkos::RangePolicy<semcache::Exec>(0, n), KOKKOS_LAMBDA(int i) { x(i) += 1; });
    Kokkos::deep_copy(values, x);  // nothing moves yet; the library's loop fetches what it reads
    mesh.scale(2);
  }
  must(semcache_release(mesh.values.data()));  // before the library frees it; it has all of its content then
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  Mesh mesh(100000);
  compute(mesh);
  std::printf("the library's sum is %.10g\n", mesh.sum());
}
