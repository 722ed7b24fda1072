// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

// Arrays of several registration chunks (64 MiB each) under SEMCACHE_DEVICE_MEMORY=400M: their transfers, direct and
// staged, and their evictions to a host side that is page-locked chunk by chunk.
namespace kokkos_large_arrays {
using namespace test;

constexpr int n = 20 << 20;  // 160 MiB: two whole chunks and a part
using Dual = semcache::DualView<double*, Left, Device>;

void add(const Vector& v, double x) {
  Kokkos::parallel_for("add", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) += x; });
}

}  // namespace kokkos_large_arrays
using namespace kokkos_large_arrays;

KOKKOS_TEST(KokkosLargeArrays, AreEvictedToTheirPageLockedHostSides) {
  std::vector<Dual> arrays;
  for (int k = 0; k < 3; ++k) {
    arrays.emplace_back("array" + std::to_string(k), n);
    auto host = arrays[k].view_host();
    for (int i = 0; i < n; ++i) host(i) = k + i;
  }
  const std::uint64_t evictions = semcache::statistics().total.evictions;
  for (int round = 0; round < 2; ++round) {
    for (Dual& a : arrays) add(a.view_device(), 1);  // the first time page-locks the host side
  }
  EXPECT_GE(semcache::statistics().total.evictions - evictions, 3u);
  for (int k = 0; k < 3; ++k) {
    auto host = arrays[k].view_host();
    int wrong = 0;
    for (int i = 0; i < n; i += 509) wrong += host(i) != k + i + 2;
    EXPECT_EQ(wrong, 0) << k;
    EXPECT_EQ(sum(arrays[k].view_device()), n * (k + 2.0) + n * (n - 1.0) / 2) << k;
  }
}

KOKKOS_TEST(KokkosLargeArrays, PiecesAcrossChunksAreCopied) {
  constexpr int chunk = 8 << 20;  // in elements
  Vector device("device", n);
  auto host = Kokkos::create_mirror_view(device);
  for (int i = 0; i < n; ++i) host(i) = i;
  Kokkos::deep_copy(device, host);
  add(device, 1);
  const auto piece = Kokkos::make_pair(chunk - 1000, 2 * chunk + 1000);
  Kokkos::deep_copy(Kokkos::subview(host, piece), Kokkos::subview(device, piece));
  for (const int i : {0, chunk - 1001, chunk - 1000, chunk, 2 * chunk, 2 * chunk + 999, 2 * chunk + 1000, n - 1}) {
    EXPECT_EQ(host(i), i + (i >= piece.first && i < piece.second ? 1.0 : 0.0)) << i;
  }
}
