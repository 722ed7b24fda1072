// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <thread>

// Several instances at work on one array. Large enough that on a GPU copies are in flight for a while.
namespace kokkos_instances {
using namespace test;

constexpr int n = 1 << 22;  // 32 MiB

void iota_on(const Exec& exec, const Vector& v, double first) {
  Kokkos::parallel_for(
      "iota", Kokkos::RangePolicy<Exec>(exec, 0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) = first + i; });
}
void copy_on(const Exec& exec, const Vector& to, const ConstVector& from) {
  Kokkos::parallel_for(
      "copy", Kokkos::RangePolicy<Exec>(exec, 0, to.extent(0)), KOKKOS_LAMBDA(int i) { to(i) = from(i); });
}

}  // namespace kokkos_instances
using namespace kokkos_instances;

KOKKOS_STOCK_TEST(KokkosInstances, AKernelOverwritesAViewWhileItsCopyToTheHostIsInFlightOnAnotherStream) {
  const auto parts = two_instances();
  Vector a("a", n);
  auto h = Kokkos::create_mirror_view(a);
  for (int round = 0; round < 4; ++round) {
    iota_on(parts[0], a, round);
    Kokkos::deep_copy(h, a);
    parts[0].fence();  // the program orders its own kernels
    int wrong = 0;
    std::thread reader([&] {
      for (int i = n - 1; i >= 0; i -= 511) wrong += h(i) != round + i;
    });
    iota_on(parts[1], a, -1);
    reader.join();
    parts[1].fence();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(sum(a), n * (n - 1.0) / 2 - n);
  }
}

KOKKOS_STOCK_TEST(KokkosInstances, TwoReadAnArrayWhileAThreadWritesItsMirror) {
  const auto parts = two_instances();
  Vector a("a", n), left("left", n), right("right", n);
  auto h = Kokkos::create_mirror_view(a);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) h(i) = round + i;
    Kokkos::deep_copy(a, h);
    copy_on(parts[0], left, a);
    std::thread writer([&] {
      for (int i = 0; i < n; i += 509) h(i) = -1;
    });
    copy_on(parts[1], right, a);
    writer.join();
    Kokkos::fence();
    EXPECT_EQ(sum(left), n * (n - 1.0) / 2 + static_cast<double>(round) * n);
    EXPECT_EQ(sum(right), sum(left));
  }
}

KOKKOS_STOCK_TEST(KokkosInstances, DestroyedWithCopiesPending) {
  Vector a("a", n), b("b", n);
  auto ha = Kokkos::create_mirror_view(a);
  auto hb = Kokkos::create_mirror_view(b);
  for (int i = 0; i < n; ++i) hb(i) = 2.0 * i;
  {
    const auto parts = two_instances();
    iota_on(parts[0], a, 3);
    Kokkos::deep_copy(parts[0], ha, a);
    Kokkos::deep_copy(parts[1], b, hb);
  }
  EXPECT_EQ(ha(n - 1), 3.0 + n - 1);
  EXPECT_EQ(sum(b), n * (n - 1.0));
}

/// A new stream often has the handle of one that has just been destroyed, and nothing that was known of that one holds for it.
KOKKOS_STOCK_TEST(KokkosInstances, ManyOneAfterTheOther) {
  constexpr int size = 1 << 18;
  Vector a("a", size), b("b", size), c("c", size);
  auto ha = Kokkos::create_mirror_view(a);
  auto hc = Kokkos::create_mirror_view(c);
  for (int round = 0; round < 150; ++round) {
    for (int i = 0; i < size; ++i) ha(i) = round + i;
    Kokkos::deep_copy(a, ha);
    {
      const auto first = two_instances();
      copy_on(first[0], b, a);
    }
    const auto second = two_instances();
    second[0].fence();
    copy_on(second[1], c, b);  // on a GPU, the kernel that writes b has ended with its instance
    Kokkos::deep_copy(second[1], hc, c);
    second[1].fence();
    for (int i = round % 97; i < size; i += 5003) ASSERT_EQ(hc(i), round + i);
  }
}
