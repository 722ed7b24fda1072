// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: a kernel that is not launched through Kokkos, and the two lines that announce what it reads and what it writes.
// Prints: two sums. The host's first look at y comes after the kernel, and x is not fetched again, because it was only read.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/raw_kernel
#include <semcache/kokkos.hpp>

#include <cstdio>

// With CUDA a kernel of its own; on the emulated device, whose memory is the host's, a loop.
#ifdef KOKKOS_ENABLE_CUDA
__global__ void square(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}
static void launch_square(const double* x, double* y, int n) { square<<<(n + 255) / 256, 256>>>(x, y, n); }
#else
static void launch_square(const double* x, double* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * x[i];
}
#endif

static void run() {
  const int n = 1000;
  const Kokkos::View<double*, semcache::Device> x("x", n), y("y", n);
  const auto x_host = Kokkos::create_mirror_view(x);
  const auto y_host = Kokkos::create_mirror_view(y);
  for (int i = 0; i < n; ++i) x_host(i) = i + 1;
  Kokkos::deep_copy(x, x_host);

  semcache::access(x, semcache::Access::read);       // brings x to the device, and the mirror stays valid
  semcache::access(y, semcache::Access::overwrite);  // every element is written: nothing is fetched
  launch_square(x.data(), y.data(), n);

  Kokkos::deep_copy(y_host, y);
  double of_x = 0, of_y = 0;
  for (int i = 0; i < n; ++i) {
    of_x += x_host(i);
    of_y += y_host(i);
  }
  const semcache::Counters moved = semcache::statistics().total;
  std::printf("sum of x %g, of its squares %.10g\n", of_x, of_y);
  std::printf("moved: %llu to the device, %llu to the host\n", static_cast<unsigned long long>(moved.h2d.bytes),
              static_cast<unsigned long long>(moved.d2h.bytes));
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  run();
}
