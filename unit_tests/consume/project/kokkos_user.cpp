// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

/// A kernel on the device whose result the host reads.
static int run() {
  constexpr int count = 100000;
  Kokkos::View<double*, semcache::Device> values("values", count);
  Kokkos::parallel_for("square", Kokkos::RangePolicy<semcache::Exec>(0, count),
                       KOKKOS_LAMBDA(int i) { values(i) = double(i) * i; });
  const auto mirror = Kokkos::create_mirror_view(values);
  Kokkos::deep_copy(mirror, values);
  for (int i = 0; i < count; ++i) {
    if (mirror(i) != double(i) * i) {
      std::fprintf(stderr, "values(%d) is %g\n", i, mirror(i));
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  const int result = run();
  Kokkos::finalize();
  return result;
}
