// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
// Shows: one array with a host side and a device side, used in turns, without modify and sync.
// Prints: a sum to which both sides have added; a forgotten copy would lose one side's part.
// Run: cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && build/dualview
#include <semcache/kokkos.hpp>

#include <cstdio>

using Array = semcache::DualView<int*, semcache::Device>;

static void add_on_device(const Array& array, int value) {
  const Array::t_dev x = array.view_device();
  Kokkos::parallel_for(
      "add", Kokkos::RangePolicy<semcache::Exec>(0, x.extent(0)), KOKKOS_LAMBDA(int i) { x(i) += value; });
}

static void double_on_host(const Array& array) {
  const Array::t_host x = array.view_host();
  for (std::size_t i = 0; i < x.extent(0); ++i) x(i) *= 2;
}

static long sum_on_device(const Array& array) {
  const Array::t_dev_const x = array.view_device();
  long sum = 0;
  Kokkos::parallel_reduce(
      "sum", Kokkos::RangePolicy<semcache::Exec>(0, x.extent(0)), KOKKOS_LAMBDA(int i, long& part) { part += x(i); }, sum);
  return sum;
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  const Array array("array", 1000);
  for (int round = 0; round < 4; ++round) {  // x = 2 (x + 1)
    add_on_device(array, 1);
    double_on_host(array);
  }
  std::printf("each of 1000 elements is %d, their sum %ld\n", array.view_host()(999), sum_on_device(array));
}
