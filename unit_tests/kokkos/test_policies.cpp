// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

namespace kokkos_policies {
using namespace test;

struct TagA {};
struct TagB {};
struct TagC {};
struct TagD {};
struct TagE {};

struct Tagged {
  using execution_space = Exec;
  Vector x;
  KOKKOS_FUNCTION void operator()(TagA, int i) const { x(i) = i; }
  KOKKOS_FUNCTION void operator()(TagB, int i, double& update) const { update += x(i); }
  KOKKOS_FUNCTION void operator()(TagC, int i, int j, double& update) const { update += x(i) * (j == 0); }
};

struct ArrayReduction {
  using execution_space = Exec;
  using value_type = double[];
  unsigned value_count;
  Vector x;
  KOKKOS_FUNCTION void operator()(int i, double* update) const {
    update[0] += x(i);
    update[1] += 1;
  }
  KOKKOS_FUNCTION void init(double* update) const { update[0] = update[1] = 0; }
  KOKKOS_FUNCTION void join(double* into, const double* from) const {
    into[0] += from[0];
    into[1] += from[1];
  }
  KOKKOS_FUNCTION void join(volatile double* into, const volatile double* from) const {
    into[0] = into[0] + from[0];
    into[1] = into[1] + from[1];
  }
};

struct MaximumPlusHalf {
  using execution_space = Exec;
  using value_type = double;
  Vector x;
  KOKKOS_FUNCTION void operator()(int i, double& update) const {
    if (x(i) > update) update = x(i);
  }
  KOKKOS_FUNCTION void init(double& update) const { update = -1e300; }
  KOKKOS_FUNCTION void join(double& into, const double& from) const {
    if (from > into) into = from;
  }
  KOKKOS_FUNCTION void join(volatile double& into, const volatile double& from) const {
    if (from > into) into = from;
  }
  KOKKOS_FUNCTION void final(double& result) const { result += 0.5; }
};

struct TaggedScan {
  using execution_space = Exec;
  Vector x;
  KOKKOS_FUNCTION void operator()(TagA, int i, long& update, bool last) const {
    if (last) x(i) = update;
    update += 1;
  }
};

/// Functors of all patterns that name their space, as most of Trilinos' do; by `Names`.
struct NamesSpace {
  using execution_space = Exec;
};
struct NamesDevice {
  using device_type = semcache::Device;
};
struct NamesBoth : NamesSpace, NamesDevice {};

template <class Names>
struct Named : Names {
  Vector x;
  explicit Named(const Vector& v) : x(v) {}
  KOKKOS_FUNCTION void operator()(TagA, int i) const { x(i) = i; }
  KOKKOS_FUNCTION void operator()(TagA, const Member& team) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 10), [&](int i) { x(team.league_rank() * 10 + i) += 1; });
  }
  KOKKOS_FUNCTION void operator()(TagA, int i, int j) const { x(10 * i + j) += 1; }
  KOKKOS_FUNCTION void operator()(TagB, int i, double& update) const { update += x(i); }
  KOKKOS_FUNCTION void operator()(TagD, const Member& team, double& update) const {
    double sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, 10), [&](int i, double& s) { s += x(team.league_rank() * 10 + i); }, sum);
    Kokkos::single(Kokkos::PerTeam(team), [&]() { update += sum; });
  }
  KOKKOS_FUNCTION void operator()(TagE, int i, int j, double& update) const { update += x(10 * i + j); }
  KOKKOS_FUNCTION void operator()(TagC, int i, double& update, bool last) const {
    if (last) x(i) = update;
    update += 1;
  }
};

template <class Names>
void expect_every_pattern_takes_functors_that_name() {
  Named<Names> f(Vector("x", 100));
  double sum = 0;
  Kokkos::parallel_for("range", Kokkos::RangePolicy<Exec, TagA>(0, 100), f);
  Kokkos::parallel_for("teams", Kokkos::TeamPolicy<Exec, TagA>(10, Kokkos::AUTO), f);
  using Teams = Kokkos::TeamPolicy<Exec, TagA>;
  Kokkos::parallel_for("teams", Teams(10, Teams(10, 1).team_size_max(f, Kokkos::ParallelForTag())), f);
  Kokkos::parallel_for("teams", Teams(10, Teams(10, 1).team_size_recommended(f, Kokkos::ParallelForTag())), f);
  Kokkos::parallel_for("2-D range", Kokkos::MDRangePolicy<Exec, TagA, Kokkos::Rank<2>>({0, 0}, {10, 10}), f);
  Kokkos::parallel_reduce("range", Kokkos::RangePolicy<Exec, TagB>(0, 100), f, sum);
  EXPECT_EQ(sum, 4950.0 + 400);
  Kokkos::parallel_reduce("teams", Kokkos::TeamPolicy<Exec, TagD>(10, Kokkos::AUTO), f, sum);
  EXPECT_EQ(sum, 4950.0 + 400);
  Kokkos::parallel_reduce("2-D range", Kokkos::MDRangePolicy<Exec, TagE, Kokkos::Rank<2>>({0, 0}, {10, 10}), f, sum);
  EXPECT_EQ(sum, 4950.0 + 400);
  Kokkos::parallel_scan("scan", Kokkos::RangePolicy<Exec, TagC>(0, 100), f);
  EXPECT_EQ(on_host(f.x)(99), 99.0);
}

/// Ten ones, summed up into `result`; no launch may be unknown.
template <class Result>
void sum_of_ten_into(const Result& result) {
  Vector x("x", 10);
  Kokkos::deep_copy(x, 1.0);
  Kokkos::parallel_reduce(
      "sum of ten", Range(0, 10), KOKKOS_LAMBDA(int i, double& update) { update += x(i); }, result);
  Kokkos::fence();
}

/// Every team of 16 sums 0 .. 999 by way of scratch memory of a level.
void expect_right_scratch(int level) {
  using Scratch = Kokkos::View<double*, Exec::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  Vector out("out", 16);
  Kokkos::parallel_for(
      "scratch",
      Team(Exec(), 16, Kokkos::AUTO)
          .set_scratch_size(level, Kokkos::PerTeam(Scratch::shmem_size(1000)))
          .set_chunk_size(2),
      KOKKOS_LAMBDA(const Member& team) {
        Scratch s(team.team_scratch(level), 1000);
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, 1000), [&](int i) { s(i) = i; });
        team.team_barrier();
        double r = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, 1000), [&](int i, double& w) { w += s(i); }, r);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { out(team.league_rank()) = r; });
      });
  auto h = on_host(out);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(h(i), 499500.0) << i;
}

}  // namespace kokkos_policies
using namespace kokkos_policies;

KOKKOS_STOCK_TEST(KokkosRange, TagsScheduleBoundsAndIndexType) {
  Vector x("x", 1000);
  double result = 0;
  Kokkos::parallel_for("tag",
                       Kokkos::RangePolicy<Exec, TagA, Kokkos::LaunchBounds<128, 2>, Kokkos::IndexType<long>,
                                           Kokkos::Schedule<Kokkos::Dynamic>>(0, 1000),
                       Tagged{x});
  Kokkos::parallel_reduce("tag", Kokkos::RangePolicy<TagB, Exec>(0, 1000), Tagged{x}, result);
  EXPECT_EQ(result, 499500.0);
  Kokkos::parallel_reduce("tag", Kokkos::MDRangePolicy<Exec, TagC, Kokkos::Rank<2>>({0, 0}, {1000, 3}), Tagged{x},
                          result);
  EXPECT_EQ(result, 499500.0);
}

KOKKOS_STOCK_TEST(KokkosPolicies, TakeFunctorsThatNameTheirSpace) {
  expect_every_pattern_takes_functors_that_name<NamesSpace>();
  expect_every_pattern_takes_functors_that_name<NamesDevice>();
  expect_every_pattern_takes_functors_that_name<NamesBoth>();
}

KOKKOS_STOCK_TEST(KokkosRange, ReducersArraysAndUserDefinedJoins) {
  Vector x("x", 1000);
  iota(x);
  double largest = 0;
  Kokkos::parallel_reduce(
      "max", Range(0, 1000),
      KOKKOS_LAMBDA(int i, double& update) {
        if (x(i) > update) update = x(i);
      },
      Kokkos::Max<double>(largest));
  EXPECT_EQ(largest, 999.0);
  Kokkos::parallel_reduce("final", Range(0, 1000), MaximumPlusHalf{x}, largest);
  EXPECT_EQ(largest, 999.5);
  Kokkos::parallel_reduce("empty", Range(0, 0), MaximumPlusHalf{x}, largest);
  double two[2] = {0, 0};
  ArrayReduction array{2, x};
  Kokkos::parallel_reduce("array", Range(0, 1000), array, two);
  EXPECT_EQ(two[0], 499500.0);
  EXPECT_EQ(two[1], 1000.0);
  Kokkos::MinMaxScalar<double> both;
  Kokkos::parallel_reduce(
      "minmax", Range(0, 1000),
      KOKKOS_LAMBDA(int i, Kokkos::MinMaxScalar<double>& update) {
        if (x(i) > update.max_val) update.max_val = x(i);
        if (x(i) < update.min_val) update.min_val = x(i);
      },
      Kokkos::MinMax<double>(both));
  EXPECT_EQ(both.max_val, 999.0);
  EXPECT_EQ(both.min_val, 0.0);
}

#if KOKKOS_VERSION >= 30200
KOKKOS_STOCK_TEST(KokkosRange, SeveralReducersAtOnce) {
  Vector x("x", 1000);
  iota(x);
  double total = 0, largest = 0;
  Kokkos::parallel_reduce(
      "multi", Range(0, 1000),
      KOKKOS_LAMBDA(int i, double& u, double& w) {
        u += x(i);
        if (x(i) > w) w = x(i);
      },
      total, Kokkos::Max<double>(largest));
  EXPECT_EQ(total, 499500.0);
  EXPECT_EQ(largest, 999.0);
}
#endif

KOKKOS_STOCK_TEST(KokkosRange, ResultInHostSpace) {
  Kokkos::View<double, Kokkos::HostSpace> host("host");
  sum_of_ten_into(host);
  EXPECT_EQ(host(), 10.0);
}

KOKKOS_STOCK_TEST(KokkosRange, ResultInAMirror) {
  Kokkos::View<double, HostMirrorSpace> mirror("mirror");
  sum_of_ten_into(mirror);
  EXPECT_EQ(mirror(), 10.0);
}

KOKKOS_STOCK_TEST(KokkosRange, ResultOnTheDevice) {
  Kokkos::View<double, Device> device("device");
  sum_of_ten_into(device);
  EXPECT_EQ(on_host(device)(), 10.0);
}

KOKKOS_STOCK_TEST(KokkosRange, ResultOnTheDeviceByAReducer) {
  Kokkos::View<double, Device> device("device");
  sum_of_ten_into(Kokkos::Sum<double, Device>(device));
  EXPECT_EQ(on_host(device)(), 10.0);
}

KOKKOS_STOCK_TEST(KokkosRange, DeviceResultIsReadByTheNextKernel) {
  Vector x("x", 100);
  iota(x);
  Kokkos::View<double, Device> total("total");
  Kokkos::parallel_reduce(
      "sum", Range(0, 100), KOKKOS_LAMBDA(int i, double& u) { u += x(i); }, total);
  Kokkos::parallel_for("divide", Range(0, 100), KOKKOS_LAMBDA(int i) { x(i) /= total(); });
  EXPECT_DOUBLE_EQ(sum(x), 1.0);
}

KOKKOS_STOCK_TEST(KokkosScan, WithoutTotal) {
  Vector a("a", 100);
  Kokkos::parallel_scan(
      "scan", Range(0, 100), KOKKOS_LAMBDA(int i, double& update, bool last) {
        update += 1;
        if (last) a(i) = update;
      });
  EXPECT_EQ(on_host(a)(99), 100.0);
}

KOKKOS_STOCK_TEST(KokkosScan, WithTotal) {
  Vector a("a", 100);
  double total = 0;
  Kokkos::parallel_scan(
      "scan", Range(0, 100),
      KOKKOS_LAMBDA(int i, double& update, bool last) {
        update += 2;
        if (last) a(i) = update;
      },
      total);
  EXPECT_EQ(total, 200.0);
  EXPECT_EQ(on_host(a)(17), 36.0);
}

KOKKOS_STOCK_TEST(KokkosScan, OfATaggedFunctorWithTotal) {
  Vector a("a", 100);
  long total = 0;
  Kokkos::parallel_scan("tag", Kokkos::RangePolicy<Exec, TagA>(0, 100), TaggedScan{a}, total);
  EXPECT_EQ(total, 100);
  EXPECT_EQ(on_host(a)(17), 17.0);
}

KOKKOS_STOCK_TEST(KokkosMDRange, RanksTwoAndThree) {
  Matrix b("b", 20, 8);
  Kokkos::parallel_for(
      "md2", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {20, 8}),
      KOKKOS_LAMBDA(int i, int j) { b(i, j) = 100 * j + i; });
  EXPECT_EQ(on_host(b)(19, 7), 719.0);
  Kokkos::View<double***, Kokkos::LayoutRight, Device> y("y", 7, 8, 9);
  Kokkos::parallel_for(
      "md3", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<3>>({0, 0, 0}, {7, 8, 9}, {4, 4, 4}),
      KOKKOS_LAMBDA(int i, int j, int k) { y(i, j, k) = i + j + k; });
  double result = 0;
  Kokkos::parallel_reduce(
      "md3", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<3, Kokkos::Iterate::Right, Kokkos::Iterate::Right>>({0, 0, 0}, {7, 8, 9}),
      KOKKOS_LAMBDA(int i, int j, int k, double& update) { update += y(i, j, k); }, result);
  EXPECT_EQ(result, 504 * (3 + 3.5 + 4));
}

KOKKOS_STOCK_TEST(KokkosMDRange, ResultOnTheDevice) {
  Matrix b("b", 20, 8);
  Kokkos::deep_copy(b, 1.0);
  Kokkos::View<double, Device> device("device");
  Kokkos::parallel_reduce(
      "md device", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {20, 8}),
      KOKKOS_LAMBDA(int i, int j, double& update) { update += b(i, j); }, device);
  EXPECT_EQ(on_host(device)(), 160.0);
}

KOKKOS_STOCK_TEST(KokkosMDRange, MaximumOnTheHost) {
  Matrix b("b", 20, 8);
  Kokkos::parallel_for("set", Range(0, 20), KOKKOS_LAMBDA(int i) { b(i, 7) = 700 + i; });
  double largest = 0;
  Kokkos::parallel_reduce(
      "md max", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {20, 8}),
      KOKKOS_LAMBDA(int i, int j, double& update) {
        if (b(i, j) > update) update = b(i, j);
      },
      Kokkos::Max<double>(largest));
  EXPECT_EQ(largest, 719.0);
}

KOKKOS_STOCK_TEST(KokkosTeam, AddsToWhatTheHostAndAnMDRangeWrote) {
  Matrix b("b", 20, 8);
  auto h = Kokkos::create_mirror_view(b);
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 20; ++i) h(i, j) = 100 * j + i;
  Kokkos::deep_copy(b, h);
  Kokkos::parallel_for(
      "md add", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {20, 8}),
      KOKKOS_LAMBDA(int i, int j) { b(i, j) += 1; });
  Kokkos::parallel_for(
      "team add", Team(8, 1), KOKKOS_LAMBDA(const Member& team) {
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 20), [&](int i) { b(i, team.league_rank()) += 1; });
      });
  Kokkos::deep_copy(h, b);
  EXPECT_EQ(h(1, 0), 3.0);
  EXPECT_EQ(h(19, 7), 721.0);
}

KOKKOS_STOCK_TEST(KokkosTeam, ReducesWithAnAutomaticSize) {
  Vector zero("zero", 1);
  double total = 0;
  Kokkos::parallel_reduce(
      "auto", Team(Exec(), 64, Kokkos::AUTO), KOKKOS_LAMBDA(const Member& team, double& update) {
        double inner = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, 100), [&](int i, double& w) { w += i; }, inner);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { update += inner + zero(0); });
      },
      total);
  EXPECT_EQ(total, 64 * 4950.0);
}

// Kokkos' own algorithms ask a member which space it is on, and which memory that may use.
KOKKOS_STOCK_TEST(KokkosTeam, AMemberIsOnTheSpaceOfItsPolicy) {
  static_assert(std::is_same<Member::execution_space, Exec>::value);
  static_assert(std::is_same<Member::team_handle, Member>::value);
  static_assert(Kokkos::SpaceAccessibility<Member::execution_space, Vector::memory_space>::accessible);
  Vector sums("sums", 16);
  Kokkos::parallel_for(
      "member", Team(16, Kokkos::AUTO), KOKKOS_LAMBDA(const Member& team) {
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, 10), [&](int i, double& w) { w += i * team.league_rank(); }, sum);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { sums(team.league_rank()) = sum; });
      });
  auto h = Kokkos::create_mirror_view(sums);
  Kokkos::deep_copy(h, sums);
  EXPECT_EQ(h(0), 0.0);
  EXPECT_EQ(h(15), 675.0);
}

KOKKOS_STOCK_TEST(KokkosTeam, ScratchOfLevelZero) { expect_right_scratch(0); }
KOKKOS_STOCK_TEST(KokkosTeam, ScratchOfLevelOne) { expect_right_scratch(1); }

KOKKOS_STOCK_TEST(KokkosTeam, ResultOnTheDevice) {
  Vector one("one", 1);
  Kokkos::deep_copy(one, 1.0);
  Kokkos::View<double, Device> device("device");
  Kokkos::parallel_reduce(
      "team device", Team(8, Kokkos::AUTO), KOKKOS_LAMBDA(const Member& team, double& update) {
        Kokkos::single(Kokkos::PerTeam(team), [&]() { update += one(0); });
      },
      device);
  EXPECT_EQ(on_host(device)(), 8.0);
}

KOKKOS_STOCK_TEST(KokkosTeam, SizesAreTheNativeOnes) {
  Matrix b("b", 20, 8);
  const auto body = KOKKOS_LAMBDA(const Member& team) { b(0, 0) = team.league_rank(); };
  const Team policy(1, 1);
  EXPECT_GE(policy.team_size_max(body, Kokkos::ParallelForTag()), 1);
  EXPECT_GE(policy.team_size_recommended(body, Kokkos::ParallelForTag()), 1);
#ifdef KOKKOS_ENABLE_CUDA
  EXPECT_GE(policy.team_size_max(body, Kokkos::ParallelForTag()), 256);
#endif
}

#ifdef KOKKOS_ENABLE_CUDA
KOKKOS_STOCK_TEST(KokkosInstances, KeepTheStreamTheyWereMadeOf) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  {
    const Exec exec(stream), copy = exec;
    EXPECT_EQ(exec.cuda_stream(), stream);
    EXPECT_EQ(copy.cuda_stream(), stream);
    EXPECT_NE(Exec().cuda_stream(), stream);
  }
  cudaStreamDestroy(stream);
}
#endif

KOKKOS_STOCK_TEST(KokkosInstances, OrderTheirWork) {
  std::vector<Exec> instances = two_instances();
#ifdef KOKKOS_ENABLE_CUDA
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  instances.emplace_back(stream);
#endif
  Vector q("q", 1000);
  auto hq = Kokkos::create_mirror_view(q);
  for (int i = 0; i < 1000; ++i) hq(i) = i;
  for (const Exec& exec : instances) {
    Kokkos::deep_copy(exec, q, hq);
    Kokkos::parallel_for("add", Kokkos::RangePolicy<Exec>(exec, 0, 1000), KOKKOS_LAMBDA(int i) { q(i) += 1; });
    Kokkos::deep_copy(exec, hq, q);
    exec.fence();
  }
  EXPECT_EQ(hq(999), 999.0 + static_cast<double>(instances.size()));
#ifdef KOKKOS_ENABLE_CUDA
  instances.clear();
  cudaStreamDestroy(stream);
#endif
}

KOKKOS_STOCK_TEST(KokkosInstances, TwoReadOneArray) {
  const auto parts = two_instances();
  static_assert(std::is_same<std::decay_t<decltype(parts[0])>, Exec>::value, "");
  ASSERT_EQ(parts.size(), 2u);
  Vector a("a", 1000), left("left", 1000), right("right", 1000);
  auto h = Kokkos::create_mirror_view(a);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 1000; ++i) h(i) = round + i;
    Kokkos::deep_copy(a, h);
    Kokkos::parallel_for("l", Kokkos::RangePolicy<Exec>(parts[0], 0, 1000), KOKKOS_LAMBDA(int i) { left(i) = a(i); });
    Kokkos::parallel_for("r", Kokkos::RangePolicy<Exec>(parts[1], 0, 1000), KOKKOS_LAMBDA(int i) { right(i) = a(i); });
    for (int i = 0; i < 1000; ++i) h(i) = -1;  // while both may still read a
    Kokkos::fence();
    EXPECT_EQ(on_host(left)(999), round + 999.0);
    EXPECT_EQ(on_host(right)(0), round);
  }
}

KOKKOS_STOCK_TEST(KokkosInstances, DestroyedWithResultsPending) {
  Vector a("a", 1000);
  {
    const auto parts = two_instances();
    Kokkos::parallel_for("w", Kokkos::RangePolicy<Exec>(parts[1], 0, 1000), KOKKOS_LAMBDA(int i) { a(i) = i; });
  }
  EXPECT_EQ(sum(a), 499500.0);
}
