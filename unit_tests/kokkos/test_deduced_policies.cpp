// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <cstdint>
#include <type_traits>

// Policies that say nothing but an instance of semcache::Exec, as programs write them that take any execution space.
namespace kokkos_deduced {
using namespace test;

template <class Policy>
constexpr bool is_on_exec = std::is_same<typename Policy::execution_space, Exec>::value;

template <class Begin, class End>
void expect_range(Begin begin, End end) {
  const Exec exec;
  const auto range = Kokkos::RangePolicy(exec, begin, end);
  static_assert(is_on_exec<std::decay_t<decltype(range)>>);
  EXPECT_EQ(static_cast<int>(range.begin()), 0);
  EXPECT_EQ(static_cast<int>(range.end()), 5);
  const auto chunked = Kokkos::RangePolicy(Exec(), begin, end, Kokkos::ChunkSize(4));
  static_assert(is_on_exec<std::decay_t<decltype(chunked)>>);
  EXPECT_EQ(static_cast<int>(chunked.end()), 5);
  EXPECT_EQ(static_cast<int>(chunked.chunk_size()), 4);
}

enum Bound { none = 0, five = 5 };

template <class League>
void expect_teams(League league) {
  Exec exec;
  const auto one = Kokkos::TeamPolicy(exec, league, 1);
  const auto vectors = Kokkos::TeamPolicy(exec, league, 1, 1);
  const auto automatic = Kokkos::TeamPolicy(exec, league, Kokkos::AUTO);
  const auto automatic_vectors = Kokkos::TeamPolicy(exec, league, Kokkos::AUTO, 1);
  const auto all_automatic = Kokkos::TeamPolicy(exec, league, Kokkos::AUTO, Kokkos::AUTO);
  const auto team_of_one = Kokkos::TeamPolicy(exec, league, 1, Kokkos::AUTO);
  static_assert(is_on_exec<std::decay_t<decltype(one)>> && is_on_exec<std::decay_t<decltype(vectors)>>);
  static_assert(is_on_exec<std::decay_t<decltype(automatic)>> && is_on_exec<std::decay_t<decltype(automatic_vectors)>>);
  static_assert(is_on_exec<std::decay_t<decltype(all_automatic)>> && is_on_exec<std::decay_t<decltype(team_of_one)>>);
  EXPECT_EQ(one.league_size() + vectors.league_size() + automatic.league_size(), 15);
  EXPECT_EQ(automatic_vectors.league_size() + all_automatic.league_size() + team_of_one.league_size(), 15);
}
}  // namespace kokkos_deduced
using namespace kokkos_deduced;

KOKKOS_TEST(KokkosDeduced, RangeOfAnyIntegers) {
  expect_range(0, 5);
  expect_range(0L, 5L);
  expect_range(0, 5L);
  expect_range(0L, 5);
  expect_range(0, std::size_t{5});
  expect_range(std::size_t{0}, std::size_t{5});
  expect_range(std::int64_t{0}, std::int64_t{5});
  expect_range(0U, 5U);
  expect_range(none, five);
}

KOKKOS_TEST(KokkosDeduced, TeamsOfAnyIntegers) {
  expect_teams(5);
  expect_teams(5L);
  expect_teams(std::size_t{5});
}

#if SEMCACHE_KOKKOS_MDRANGE_GUIDES
KOKKOS_TEST(KokkosDeduced, MDRangeOfListsAndArrays) {
  Exec exec;
  const int n = 5;
  const Kokkos::Array<std::int64_t, 2> begin{{0, 0}}, end{{5, 5}};
  const int lower[3] = {0, 0, 0}, upper[3] = {5, 5, 5};
  const auto lists = Kokkos::MDRangePolicy(exec, {0, 0}, {n, n});
  const auto tiled = Kokkos::MDRangePolicy(exec, {0, 0}, {n, n}, {4, 4});
  const auto arrays = Kokkos::MDRangePolicy(exec, begin, end);
  const auto three = Kokkos::MDRangePolicy(exec, lower, upper);
  static_assert(is_on_exec<std::decay_t<decltype(lists)>> && is_on_exec<std::decay_t<decltype(tiled)>>);
  static_assert(is_on_exec<std::decay_t<decltype(arrays)>> && is_on_exec<std::decay_t<decltype(three)>>);
  EXPECT_EQ(three.m_upper[2], 5);
}
#endif

KOKKOS_STOCK_TEST(KokkosDeduced, KernelsAreLaunchesOnExec) {
  const Since since;
  const Exec exec;
  Vector x("x", 100);
  Kokkos::parallel_for("range", Kokkos::RangePolicy(exec, 0, 100), KOKKOS_LAMBDA(int i) { x(i) = i; });
  Kokkos::parallel_for(
      "teams", Kokkos::TeamPolicy(exec, 100, 1), KOKKOS_LAMBDA(const Member& team) { x(team.league_rank()) += 1; });
  double total = 0;
  Kokkos::parallel_reduce(
      "sum", Kokkos::RangePolicy(exec, 0, 100), KOKKOS_LAMBDA(int i, double& update) { update += x(i); }, total);
  EXPECT_EQ(total, 100 * 99 / 2 + 100.0);
  EXPECT_EQ(since.launches(), 3u);
  EXPECT_TRUE(reductions_are_native_too || since.native() == 0);
}
