// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#if KOKKOS_VERSION >= 30500  // before, the compiler refuses it by name
#include <Kokkos_DynamicView.hpp>

// A view in chunks: kernels find them in a list of arrays.
namespace kokkos_dynamic_view {
using namespace test;

using Dynamic = Kokkos::Experimental::DynamicView<double*, Device>;
constexpr int n = 50000;

int different(const Vector& x, double step) {
  const auto host = on_host(x);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host(i) != step * i;
  return wrong;
}
void write(const Dynamic& d, double step) {
  Kokkos::parallel_for("write", Range(0, n), KOKKOS_LAMBDA(int i) { d(i) = step * i; });
}
void read(const Dynamic& d, const Vector& x) {
  Kokkos::parallel_for("read", Range(0, n), KOKKOS_LAMBDA(int i) { x(i) = d(i); });
}

}  // namespace kokkos_dynamic_view
using namespace kokkos_dynamic_view;

KOKKOS_TEST(KokkosDynamicView, KernelsFindItsChunks) {
  Dynamic d("d", 1024, 2 * n);
  d.resize_serial(n);
  EXPECT_EQ(d.size(), std::size_t{n});
  const Vector x("x", n);
  for (int round = 1; round <= 3; ++round) {
    write(d, round);
    read(d, x);
    EXPECT_EQ(different(x, round), 0) << "round " << round;
  }
}

KOKKOS_TEST(KokkosDynamicView, ChunksThatCameLaterToo) {
  Dynamic d("d", 1024, 2 * n);
  const Vector x("x", n);
  for (int size : {1000, n / 2, n}) {
    d.resize_serial(size);
    Kokkos::parallel_for("write", Range(0, size), KOKKOS_LAMBDA(int i) { d(i) = double(size) * i; });
    Kokkos::parallel_for("read", Range(0, size), KOKKOS_LAMBDA(int i) { x(i) = d(i); });
    const auto host = on_host(x);
    for (int i = 0; i < size; ++i) ASSERT_EQ(host(i), double(size) * i);
  }
  d.resize_serial(10);
  d.resize_serial(n);
  write(d, 2);
  read(d, x);
  EXPECT_EQ(different(x, 2), 0);
}

KOKKOS_TEST(KokkosDynamicView, ItsContentIsCopiedBothWays) {
  Dynamic d("d", 1024, 2 * n);
  d.resize_serial(n);
  const Vector x("x", n), y("y", n);
  for (int round = 1; round <= 3; ++round) {
    iota(x, 0, round);
    Kokkos::deep_copy(d, x);
    Kokkos::deep_copy(y, d);
    EXPECT_EQ(different(y, round), 0) << "round " << round;
  }
}

KOKKOS_TEST(KokkosDynamicView, NothingIsLeft) {
  const auto before = semcache::statistics().live_device_bytes;
  {
    Dynamic d("d", 1024, 2 * n);
    d.resize_serial(n);
    write(d, 1);
    Kokkos::fence();
  }
  EXPECT_EQ(semcache::statistics().live_device_bytes, before);
}
#endif
