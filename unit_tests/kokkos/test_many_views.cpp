// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

// More mirrors than the kernel permits mappings (vm.max_map_count, 65530 by default), each in another state than its
// neighbours in memory: no two of them can share a mapping.
namespace kokkos_many_views {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;
constexpr int count = 100000;
constexpr int n = 8;  // a page each all the same

struct Pair {
  Vector device;
  Mirror host;
};

/// What the program last wrote to element i of array k.
double value(int k, int i, int round) { return k + 0.5 * i + 1000000.0 * round; }

void write_on_host(const Pair& p, int k, int round) {
  for (int i = 0; i < n; ++i) p.host(i) = value(k, i, round);
}
void write_on_device(const Pair& p, int k, int round) { iota(p.device, value(k, 0, round), 0.5); }

int wrong_on_host(const Pair& p, int k, int round) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += p.host(i) != value(k, i, round);
  return wrong;
}

}  // namespace kokkos_many_views
using namespace kokkos_many_views;

KOKKOS_TEST(KokkosManyViews, AHundredThousandWithMirrorsInAlternatingStates) {
  const auto before = semcache::statistics();
  std::vector<Pair> pairs(count);
  for (int k = 0; k < count; ++k) {
    pairs[k].device = Vector("many", n);
    pairs[k].host = Kokkos::create_mirror_view(pairs[k].device);
  }
  EXPECT_EQ(semcache::statistics().live_device_bytes - before.live_device_bytes, std::uint64_t{count} * n * 8);

  // Every second mirror is written (its page open), the ones between become stale (theirs closed).
  for (int k = 0; k < count; ++k) {
    if (k % 2 == 0) {
      write_on_host(pairs[k], k, 1);
    } else {
      write_on_device(pairs[k], k, 1);
      Kokkos::deep_copy(pairs[k].host, pairs[k].device);
    }
  }
  // The other way round, while all are alive; in another order.
  int wrong = 0;
  for (int j = 0; j < count; ++j) {
    const int k = static_cast<int>(j * 7919LL % count);
    if (k % 2 == 0) {
      Kokkos::deep_copy(pairs[k].device, pairs[k].host);
      write_on_device(pairs[k], k, 2);
    } else {
      wrong += wrong_on_host(pairs[k], k, 1);
      write_on_host(pairs[k], k, 2);
    }
  }
  EXPECT_EQ(wrong, 0);
  for (int k = 0; k < count; ++k) {
    if (k % 2 == 0) {
      Kokkos::deep_copy(pairs[k].host, pairs[k].device);
    } else {
      Kokkos::deep_copy(pairs[k].device, pairs[k].host);
    }
  }
  for (int k = 0; k < count; ++k) wrong += wrong_on_host(pairs[k], k, 2);
  EXPECT_EQ(wrong, 0);
  for (int k = 1; k < count; k += 1000) {
    EXPECT_EQ(sum(pairs[k].device), n * (value(k, 0, 2) + value(k, n - 1, 2)) / 2) << k;
  }
  std::printf("%llu mirrors were opened\n",
              static_cast<unsigned long long>(semcache::statistics().total.opened - before.total.opened));

  pairs.clear();
  EXPECT_EQ(semcache::statistics().live_device_bytes, before.live_device_bytes);
  EXPECT_EQ(semcache::statistics().live_host_bytes, before.live_host_bytes);
  EXPECT_EQ(semcache::statistics().snapshot_bytes, before.snapshot_bytes);
}
