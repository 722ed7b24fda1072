// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#if KOKKOS_VERSION >= 40200  // earlier algorithms take no team
#include <Kokkos_NestedSort.hpp>
#include <Kokkos_StdAlgorithms.hpp>

// Kokkos' algorithms that a team runs within a kernel, on views that the kernel captured.
namespace kokkos_team_algorithms {
using namespace test;
namespace KE = Kokkos::Experimental;
}  // namespace kokkos_team_algorithms
using namespace kokkos_team_algorithms;

KOKKOS_STOCK_TEST(KokkosTeamAlgorithms, FillAndScan) {
  Vector x("x", 100), sums("sums", 100);
  Kokkos::parallel_for(
      "fill and scan", Team(1, 1), KOKKOS_LAMBDA(const Member& team) {
        KE::fill(team, x, 2.0);
        team.team_barrier();
        KE::exclusive_scan(team, x, sums, 0.0);
      });
  EXPECT_EQ(on_host(sums)(99), 198);
}

namespace kokkos_team_algorithms {
struct FillOfAnyMember {
  Vector x;
  template <class AnyMember>
  KOKKOS_FUNCTION void operator()(const AnyMember& team) const {
    KE::fill(team, x, 3.0);
  }
};
}  // namespace kokkos_team_algorithms

KOKKOS_STOCK_TEST(KokkosTeamAlgorithms, OfAFunctorThatTakesAnyMember) {
  Vector x("x", 100);
  Kokkos::parallel_for("fill", Team(1, 1), FillOfAnyMember{x});
  EXPECT_EQ(on_host(x)(99), 3);
}

KOKKOS_STOCK_TEST(KokkosTeamAlgorithms, Sort) {
  Vector x("x", 100);
  Kokkos::parallel_for(
      "fill", Range(0, 100), KOKKOS_LAMBDA(int i) { x(i) = i * 7919 % 100; });
  Kokkos::parallel_for(
      "sort", Team(1, 1), KOKKOS_LAMBDA(const Member& team) { KE::sort_team(team, x); });
  const auto h = on_host(x);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(h(i), i);
}
#endif
