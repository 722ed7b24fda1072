// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: Views, mirrors and deep_copy of stock Kokkos, with a copy in each step that is redundant and costs no bytes.
// Prints: the temperature in the middle, the one that a formula gives, and the bytes that crossed the link.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/heat
#include <semcache/kokkos.hpp>

#include <cmath>
#include <cstdio>
#include <utility>

static void run() {
  using Grid = Kokkos::View<double**, semcache::Device>;
  using Inner = Kokkos::MDRangePolicy<semcache::Exec, Kokkos::Rank<2>>;
  const int n = 129, steps = 200;
  const double angle = std::acos(-1.0) / (n - 1);
  Grid u("u", n, n), next("next", n, n), rate("rate", n, n);
  const auto u_host = Kokkos::create_mirror_view(u);
  const auto rate_host = Kokkos::create_mirror_view(rate);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      u_host(i, j) = std::sin(angle * i) * std::sin(angle * j);  // one wave, which keeps its form while it fades
      rate_host(i, j) = 0.2;
    }
  }
  Kokkos::deep_copy(u, u_host);

  for (int step = 0; step < steps; ++step) {
    Kokkos::deep_copy(rate, rate_host);      // redundant but for the first step
    const Grid::const_type t = u, r = rate;  // const: the kernel only reads them
    const Grid to = next;
    Kokkos::parallel_for(
        "heat", Inner({1, 1}, {n - 1, n - 1}),
        KOKKOS_LAMBDA(int i, int j) { to(i, j) = t(i, j) + r(i, j) * (t(i - 1, j) + t(i + 1, j) + t(i, j - 1) + t(i, j + 1) - 4 * t(i, j)); });
    std::swap(u, next);
  }
  Kokkos::deep_copy(u_host, u);

  const double fading = 1 - 8 * 0.2 * std::pow(std::sin(angle / 2), 2);
  const semcache::Counters moved = semcache::statistics().total;
  std::printf("temperature %.6f, by the formula %.6f\n", u_host(n / 2, n / 2), std::pow(fading, steps));
  std::printf("moved to the device: %llu copies of an array\n", static_cast<unsigned long long>(moved.h2d.bytes / (n * n * sizeof(double))));
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  run();
}
