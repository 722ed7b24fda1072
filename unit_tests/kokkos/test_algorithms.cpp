// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_Random.hpp>
#include <Kokkos_ScatterView.hpp>
#include <Kokkos_Sort.hpp>

#include <algorithm>

namespace kokkos_algorithms {
using namespace test;

template <class Pool>
int duplicates(const Pool& pool) {
  Vector r("r", 1000);
  Kokkos::fill_random(r, pool, 1.0);
  auto h = on_host(r);
  int found = 0;
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < i; ++j) found += h(i) == h(j);
  return found;
}
}  // namespace kokkos_algorithms
using namespace kokkos_algorithms;

// SILENT on a device space that Kokkos does not know: all threads would share state 0.
KOKKOS_STOCK_TEST(KokkosSilent, RandomNumbersDiffer) {
  EXPECT_EQ(duplicates(Kokkos::Random_XorShift64_Pool<Exec>(1234)), 0);
}

KOKKOS_STOCK_TEST(KokkosSilent, RandomNumbersOfTheLongStateDiffer) {
  static_assert(Kokkos::Impl::Random_XorShift1024_UseCArrayState<Exec>::value ==
                    Kokkos::Impl::Random_XorShift1024_UseCArrayState<semcache::kokkos::NativeExec>::value,
                "the state lies where the native space keeps it");
  EXPECT_EQ(duplicates(Kokkos::Random_XorShift1024_Pool<Exec>(1234)), 0);
}

KOKKOS_STOCK_TEST(KokkosAlgorithms, Sort) {
  const int n = 100;  // why not more: test_containers.cpp
  Vector x("x", n);
  Kokkos::parallel_for("fill", Range(0, n), KOKKOS_LAMBDA(int i) { x(i) = (i * 7919) % n; });
  Kokkos::sort(x);
  auto h = on_host(x);
  for (int i = 0; i < n; ++i) ASSERT_EQ(h(i), i);
}

KOKKOS_STOCK_TEST(KokkosAlgorithms, ScatterView) {
  Vector t("t", 4);
  auto scatter = Kokkos::Experimental::create_scatter_view(t);
  Kokkos::parallel_for(
      "scatter", Range(0, 40), KOKKOS_LAMBDA(int i) {
        auto access = scatter.access();
        access(i % 4) += 1;
      });
  Kokkos::Experimental::contribute(t, scatter);
  EXPECT_EQ(on_host(t)(1), 10.0);
}

KOKKOS_STOCK_TEST(KokkosAlgorithms, UniqueToken) {
  Kokkos::Experimental::UniqueToken<Exec> token;
  Kokkos::Experimental::UniqueToken<Exec, Kokkos::Experimental::UniqueTokenScope::Global> global;
  Kokkos::View<int*, Device> used("used", 1000);
  const int size = std::max<int>(token.size(), global.size());
  Kokkos::parallel_for(
      "token", Range(0, 1000), KOKKOS_LAMBDA(int i) {
        const int mine = token.acquire();
        const int ours = global.acquire();
        used(i) = mine < size && ours < size;
        global.release(ours);
        token.release(mine);
      });
  auto h = on_host(used);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(h(i), 1);
}
