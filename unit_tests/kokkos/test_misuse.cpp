// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <thread>

// Programs that hide what they use: right although unknown, and reported.
namespace kokkos_misuse {
using namespace test;

/// A device array whose content is a copy that has not been made yet, and the host array that it comes from.
struct Pending {
  Pending() : device("pending", 4096), host(Kokkos::create_mirror_view(device)) {
    for (int i = 0; i < 4096; ++i) host(i) = i;
    Kokkos::deep_copy(device, host);
  }
  Vector device;
  semcache::kokkos::host_mirror_t<Vector> host;
  [[nodiscard]] double back(int i) const {
    Kokkos::deep_copy(host, device);
    return host(i);
  }
};

}  // namespace kokkos_misuse
using namespace kokkos_misuse;

#ifndef KOKKOS_ENABLE_CUDA  // a GPU cannot follow these pointers at all
KOKKOS_TEST(KokkosMisuse, StructOfViewsBehindAPointer) {
  Pending x;
  struct Holder {
    Vector view;
  } holder{x.device};
  Holder* pointer = &holder;
  const Since since;
  Kokkos::parallel_for("pointer", Range(0, 4096), KOKKOS_LAMBDA(int i) { pointer->view(i) += 1; });
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}

KOKKOS_TEST(KokkosMisuse, CaptureByReference) {
  Pending x;
  const Since since;
  Kokkos::parallel_for("reference", Range(0, 4096), [&](int i) { x.device(i) += 1; });
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}

KOKKOS_TEST(KokkosMisuse, ViewOfViews) {
  Pending x;
  Kokkos::View<Vector*, Left, Device> outer(Kokkos::view_alloc("outer", Kokkos::WithoutInitializing), 2);
  Vector inner = x.device;
  Kokkos::parallel_for(
      "place", Range(0, 1), KOKKOS_LAMBDA(int) {
        new (&outer(0)) Vector(inner);
        new (&outer(1)) Vector(inner);
      });
  for (int i = 0; i < 4096; ++i) x.host(i) = 7;
  Kokkos::deep_copy(x.device, x.host);
  const Since since;
  Kokkos::parallel_for("nested", Range(0, 4096), KOKKOS_LAMBDA(int i) { outer(1)(i) += 1; });
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 8.0);
  Kokkos::parallel_for(
      "end", Range(0, 2), KOKKOS_LAMBDA(int i) { outer(i).~Vector(); });
}
#endif

KOKKOS_TEST(KokkosMisuse, RawPointerInALambda) {
  Pending x;
  double* raw = x.device.data();
  Kokkos::parallel_for("raw", Range(0, 4096), KOKKOS_LAMBDA(int i) { raw[i] += 1; });
  Kokkos::fence();
  EXPECT_EQ(x.back(4095), 4096.0);
}

KOKKOS_TEST(KokkosMisuse, FreeingAViewWithAPendingCopy) {
  Vector target("target", 4096);
  {
    Vector source("source", 4096);
    iota(source);
    Kokkos::deep_copy(target, source);
  }
  EXPECT_EQ(sum(target), 4096 * 4095 / 2.0);
  auto h = Kokkos::create_mirror_view(target);
  {
    Vector source("source", 4096);
    iota(source, 1, 0);
    Kokkos::deep_copy(h, source);
  }
  EXPECT_EQ(h(4095), 1.0);
  {
    auto from = Kokkos::create_mirror_view(target);
    for (int i = 0; i < 4096; ++i) from(i) = 2;
    Kokkos::deep_copy(target, from);
  }
  EXPECT_EQ(sum(target), 8192.0);
}

KOKKOS_TEST(KokkosMisuse, FreeingTheTargetOfAPendingCopy) {
  Vector source("source", 4096);
  iota(source);
  for (int round = 0; round < 10; ++round) {
    Vector target("target", 4096);
    Kokkos::deep_copy(target, source);
  }
  EXPECT_EQ(sum(source), 4096 * 4095 / 2.0);
}

KOKKOS_TEST(KokkosMisuse, OverwritingASourceBehindACopy) {
  Vector a("a", 4096);
  auto h = Kokkos::create_mirror_view(a);
  for (int round = 0; round < 10; ++round) {
    iota(a, round, 0);
    Kokkos::deep_copy(h, a);
    iota(a, -1, 0);  // before anybody read h
    ASSERT_EQ(h(4095), round);
    ASSERT_EQ(sum(a), -4096.0);
  }
}

KOKKOS_TEST(KokkosMisuse, LeakedView) {
  // Kokkos::finalize and the end of the process must pass. Static, so that a leak checker sees that this is on purpose.
  static auto* const leaked = new Vector("leaked", 1000);
  static auto* const mirror = new semcache::kokkos::host_mirror_t<Vector>(Kokkos::create_mirror_view(*leaked));
  iota(*leaked);
  Kokkos::deep_copy(*mirror, *leaked);
  EXPECT_EQ((*mirror)(999), 999.0);
}

KOKKOS_TEST(KokkosMisuse, HostThreadsOnOneMirror) {
  Vector a("a", 1 << 16);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(h, a);
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1 << 16; ++i) sums[t] += h(i);
    });
  for (auto& thread : threads) thread.join();
  for (double s : sums) EXPECT_EQ(s, 65536.0 * 65535 / 2);
}
