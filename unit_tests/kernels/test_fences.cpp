// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <semcache/semcache.hpp>

// Fences wait for the parts of a call on all devices. By the clock of an emulated machine device 1 takes 8 s for half of a vector, and device 0 takes one
// (SEMCACHE_DEVICES=2 SEMCACHE_SPREAD=always SEMCACHE_EMULATED_MACHINE=two_speeds.txt). So a kernel on device 0 behind a call ends before device 1's
// part does, unless the host has waited for that.
namespace test {

constexpr int half = 1024;
constexpr double slow_part = 8, kernel_at_home = 1;

inline double seconds() { return semcache::statistics().virtual_time->seconds; }

inline void add_one_at_home(const Vector& y) {
  Kokkos::parallel_for("at home", Range(0, half), KOKKOS_LAMBDA(int i) { y(i) += 1; });
}
/// The host waits for all work on a vector.
inline double sum_on_host(const Vector& v) {
  const auto mirror = Kokkos::create_mirror_view(v);
  Kokkos::deep_copy(mirror, v);
  double sum = 0;
  for (std::size_t i = 0; i < v.extent(0); ++i) sum += mirror(i);
  return sum;
}

/// Returns how long a call on both devices and a kernel on device 0 take, with a fence between them.
template <class Fence>
double seconds_of_call_and_kernel(const Fence& fence) {
  const Vector x("x", 2 * half), y("y", half);
  fill(x, 1);
  fill(y, 2);
  const double sum_x = sum_on_host(x), sum_y = sum_on_host(y);
  KokkosBlas::scal(x, -1.0, x);
  add_one_at_home(y);
  EXPECT_EQ(sum_on_host(x), -sum_x);
  EXPECT_EQ(sum_on_host(y), sum_y + half);
  EXPECT_EQ(devices_of(x), 2);
  const double begin = seconds();
  KokkosBlas::scal(x, -1.0, x);
  fence();
  add_one_at_home(y);
  return seconds() - begin;
}

}  // namespace test

KOKKOS_TEST(Fences, WaitForThePartsOnAllDevices) {
  using namespace test;
  const Vector first("first", 1);  // starts the runtime
  if (!semcache::statistics().virtual_time) GTEST_SKIP() << "GPUs have no virtual clock";
  EXPECT_EQ(seconds_of_call_and_kernel([] {}), slow_part);
  EXPECT_EQ(seconds_of_call_and_kernel([] { Exec().fence(); }), slow_part + kernel_at_home);
  EXPECT_EQ(seconds_of_call_and_kernel([] { Kokkos::fence(); }), slow_part + kernel_at_home);
}
