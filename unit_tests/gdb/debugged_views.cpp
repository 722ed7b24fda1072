// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Views for debuggers: a kernel writes one, and its mirror is read after a breakpoint.
#include <semcache/kokkos.hpp>

#include <cstdio>

using Vector = Kokkos::View<double*, semcache::Space>;
using Matrix = Kokkos::View<float* [3], semcache::Space>;
using Exec = semcache::Exec;

// Breakpoints.
[[gnu::noinline]] void written_on_device() { asm volatile("# written"); }
[[gnu::noinline]] void in_kernel() { asm volatile("# in a kernel"); }

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  {
    const Vector x("x", 1000), y("y", 1000);
    const Matrix m("m", 4);
    const auto x_host = Kokkos::create_mirror_view(x);
    const auto m_host = Kokkos::create_mirror_view(m);
    const auto y_host = Kokkos::create_mirror_view(y);
    for (int i = 0; i < 1000; ++i) x_host(i) = 1;
    Kokkos::deep_copy(x, x_host);
    Kokkos::deep_copy(m, 7);
    Kokkos::deep_copy(m_host, m);
    Kokkos::parallel_for(
        "double", Kokkos::RangePolicy<Exec>(0, 1000), KOKKOS_LAMBDA(int i) { x(i) *= 2, y(i) = 1; });
    Kokkos::deep_copy(x_host, x);
    written_on_device();
    Kokkos::deep_copy(y_host, y);
    const Kokkos::View<const double*, semcache::Space> one = y;
    Kokkos::parallel_for(
        "add one", Kokkos::RangePolicy<Exec>(0, 1000), KOKKOS_LAMBDA(int i) {
          if (i == 500) in_kernel();
          x(i) += one(i);
        });
    Kokkos::deep_copy(x_host, x);
    std::printf("x_host(5) %g, y_host(5) %g, m_host(3, 2) %g\n", x_host(5), y_host(5), static_cast<double>(m_host(3, 2)));
  }
  Kokkos::finalize();
}
