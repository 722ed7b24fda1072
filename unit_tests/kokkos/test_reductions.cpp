// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

// What a reduction shows of the kernels before it: nothing where it had nothing to launch.
namespace kokkos_reductions {
using namespace test;

constexpr int n = 1 << 12;
/// On a GPU some milliseconds: whoever does not wait reads what was there before.
constexpr int rounds = semcache::kokkos::native_is_device ? 1 << 20 : 8;

void write_slowly(const Vector& v, double value) {
  Kokkos::parallel_for(
      "write slowly", Range(0, n), KOKKOS_LAMBDA(int i) {
        double x = 0;
        for (int k = 0; k < rounds; ++k) x = x * 0.5 + value * 0.5;
        v(i) = x > value * 0.99 ? value : -1;
      });
}

/// Reduces over `count` of something behind a slow kernel, whose result the host asks for then.
template <class Reduce>
void check(const Reduce& reduce) {
  // No deep_copy here: Kokkos fences around it.
  semcache::DualView<double*, Left, Device> v("v", n);
  Vector w("w", n);
  Kokkos::deep_copy(w, 3.0);
  static double value = 0;  // never twice: memory that was used before must not look right
  for (int count : {0, 7, 0, 0, 7, 0}) {
    value += 1;
    write_slowly(v.view_device(), value);
    double result = -1;
    reduce(w, count, result);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += v.view_host()(i) != value;
    EXPECT_EQ(result, 3.0 * count);
    EXPECT_EQ(wrong, 0) << "behind a reduction over " << count;
  }
}

/// What the report says of the link: a reduction's result is written to pinned memory and copied by nobody, the total of
/// a scan is copied where there was something to scan.
template <class Reduce>
void check_link(const Reduce& reduce, std::uint64_t copies_behind_something) {
  Vector w("w", n);
  Kokkos::deep_copy(w, 3.0);
  for (int count : {0, 7, 0}) {
    const std::uint64_t expected = semcache::kokkos::native_is_device && count > 0 ? copies_behind_something : 0;
    double result = 0;
    const Since since;
    reduce(w, count, result);
    EXPECT_EQ(result, 3.0 * count);
    EXPECT_EQ(since.d2h_count(), expected) << "behind " << count;
    EXPECT_EQ(since.d2h(), expected * sizeof(double)) << "behind " << count;
  }
}

struct Add {
  ConstVector w;
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += w(i); }
};
struct AddColumn {
  ConstVector w;
  KOKKOS_FUNCTION void operator()(int i, int, double& sum) const { sum += w(i); }
};
struct AddTeams {
  ConstVector w;
  KOKKOS_FUNCTION void operator()(const Member& team, double& sum) const {
    Kokkos::single(Kokkos::PerTeam(team), [&] { sum += w(team.league_rank()); });
  }
};

/// Asks for a kernel even where there is nothing to add.
struct AddFrom0 : Add {
  using value_type = double;
  KOKKOS_FUNCTION void init(double& sum) const { sum = 0; }
};

void over_a_range(const Vector& w, int count, double& result) {
  Kokkos::parallel_reduce(Range(0, count), Add{w}, result);
}
void over_a_range_with_init(const Vector& w, int count, double& result) {
  Kokkos::parallel_reduce(Range(0, count), AddFrom0{{w}}, result);
}
void over_rectangles(const Vector& w, int count, double& result) {
  Kokkos::parallel_reduce(Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {count, 1}), AddColumn{w}, result);
}
void over_teams(const Vector& w, int count, double& result) {
  Kokkos::parallel_reduce(Team(count, Kokkos::AUTO), AddTeams{w}, result);
}
void with_a_reducer(const Vector& w, int count, double& result) {
  Kokkos::parallel_reduce(Range(0, count), Add{w}, Kokkos::Sum<double>(result));
}
void with_a_reducer_over_teams(const Vector& w, int count, double& result) {
  Kokkos::parallel_reduce(Team(count, Kokkos::AUTO), AddTeams{w}, Kokkos::Sum<double>(result));
}
void scan_a_range(const Vector& w, int count, double& result) {
  Kokkos::parallel_scan(
      "scan", Range(0, count), KOKKOS_LAMBDA(int i, double& sum, bool) { sum += w(i); }, result);
}
void into_host_memory(const Vector& w, int count, double& result) {
  const Kokkos::View<double, Kokkos::HostSpace> sum("sum");
  Kokkos::parallel_reduce(Range(0, count), Add{w}, sum);
  if (count > 0) Kokkos::fence();  // behind nothing it would wait in the reduction's place
  result = sum();
}
void into_a_mirror(const Vector& w, int count, double& result) {
  const Kokkos::View<double, Device> device("sum");
  const auto sum = Kokkos::create_mirror_view(device);
  Kokkos::parallel_reduce(Team(count, Kokkos::AUTO), AddTeams{w}, sum);
  result = sum();
}
void into_device_memory(const Vector& w, int count, double& result) {
  const Kokkos::View<double, Device> sum("sum");
  Kokkos::parallel_reduce(Team(count, Kokkos::AUTO), AddTeams{w}, sum);
  const auto seen = Kokkos::create_mirror_view(sum);
  Kokkos::deep_copy(seen, sum);
  result = seen();
}

}  // namespace kokkos_reductions
using namespace kokkos_reductions;

KOKKOS_STOCK_TEST(KokkosReductions, OverARange) { check(over_a_range); }
KOKKOS_STOCK_TEST(KokkosReductions, OverARangeWithInit) { check(over_a_range_with_init); }
KOKKOS_STOCK_TEST(KokkosReductions, OverRectangles) { check(over_rectangles); }
KOKKOS_STOCK_TEST(KokkosReductions, OverTeams) { check(over_teams); }
KOKKOS_STOCK_TEST(KokkosReductions, WithAReducer) { check(with_a_reducer); }
KOKKOS_STOCK_TEST(KokkosReductions, WithAReducerOverTeams) { check(with_a_reducer_over_teams); }
KOKKOS_STOCK_TEST(KokkosReductions, IntoHostMemory) { check(into_host_memory); }
KOKKOS_STOCK_TEST(KokkosReductions, IntoAMirror) { check(into_a_mirror); }
KOKKOS_STOCK_TEST(KokkosReductions, IntoDeviceMemory) { check(into_device_memory); }
KOKKOS_STOCK_TEST(KokkosReductions, ResultsAreNotCopied) {
  check_link(over_a_range, 0);
  check_link(over_a_range_with_init, 0);
  check_link(over_rectangles, 0);
  check_link(over_teams, 0);
  check_link(with_a_reducer_over_teams, 0);
  check_link(into_host_memory, 0);
}
KOKKOS_STOCK_TEST(KokkosReductions, TotalsOfScansAre) { check_link(scan_a_range, 1); }
