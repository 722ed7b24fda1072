// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <functional>

// All that travels into a closure beside the functor's own Views: whatever a kernel reaches through it must be valid and
// counts as written. The tests run without the tracker of device pages, too, which would come to the rescue.
namespace kokkos_travelling {
using namespace test;

constexpr int n = 1024;
using HostScalar = Kokkos::View<double, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;

/// An array whose new content is in its mirror, before each round.
struct Owing {
  Vector device{"source", n};
  semcache::kokkos::host_mirror_t<Vector> host = Kokkos::create_mirror_view(device);
  void set(double value) const {
    for (int i = 0; i < n; ++i) host(i) = value;
    Kokkos::deep_copy(device, host);
  }
  [[nodiscard]] double get(int i) const {
    Kokkos::deep_copy(host, device);
    return host(i);
  }
};

/// The array was on the device before: only its content is missing there.
template <class Body>
void check_reads(const Body& body) {
  const Owing x;
  iota(x.device);
  for (int round = 1; round <= 4; ++round) {
    x.set(1000.0 * round);
    EXPECT_EQ(body(x), 1000.0 * round) << "round " << round;
  }
}

struct Index {
  ConstVector in;
  KOKKOS_FUNCTION void operator()(int i, double& a) const {
    if (in(i) > a) a = in(i);
  }
};
struct IndexPlane {
  ConstVector in;
  KOKKOS_FUNCTION void operator()(int i, int, double& a) const { Index{in}(i, a); }
};
struct IndexTeams {
  ConstVector in;
  KOKKOS_FUNCTION void operator()(const Member& team, double& a) const { Index{in}(team.league_rank(), a); }
};

/// A maximum that starts where an array says. `Start` is how it knows that array.
template <class Start, class Result = HostScalar>
struct MaxFrom {
  using reducer = MaxFrom;
  using value_type = double;
  using result_view_type = Result;
  Start start;
  result_view_type result;
  KOKKOS_FUNCTION void join(double& a, const double& b) const { a = b > a ? b : a; }
  KOKKOS_FUNCTION void join(volatile double& a, const volatile double& b) const { a = b > a ? b : a; }
  KOKKOS_FUNCTION void init(double& a) const { a = start[0]; }
  KOKKOS_FUNCTION double& reference() const { return *result.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return result; }
  KOKKOS_FUNCTION bool references_scalar() const { return true; }
};

/// Views have no subscript everywhere.
struct FromView {
  ConstVector view;
  KOKKOS_FUNCTION double operator[](int i) const { return view(i); }
};
struct FromFarAway {
  double before[200];
  ConstVector view;
  KOKKOS_FUNCTION double operator[](int i) const { return view(i); }
};
struct alignas(64) FromAligned {
  ConstVector view;
  KOKKOS_FUNCTION double operator[](int i) const { return view(i); }
};
struct alignas(128) AlignedIndex {
  ConstVector in;
  KOKKOS_FUNCTION void operator()(int i, double& a) const { Index{in}(i, a); }
};

template <class Policy, class Functor, class Start>
double reduce(const Policy& policy, const Functor& functor, const Start& start) {
  double found = -1;
  Kokkos::parallel_reduce(policy, functor, MaxFrom<Start>{start, HostScalar(&found)});
  return found;
}
Vector small_values() {
  Vector x("x", n);
  iota(x);
  return x;
}

/// Writes in `final`.
struct SumAndNote {
  using reducer = SumAndNote;
  using value_type = double;
  using result_view_type = HostScalar;
  Vector note;
  result_view_type result;
  KOKKOS_FUNCTION void join(double& a, const double& b) const { a += b; }
  KOKKOS_FUNCTION void join(volatile double& a, const volatile double& b) const { a += b; }
  KOKKOS_FUNCTION void init(double& a) const { a = 0; }
  KOKKOS_FUNCTION void final(double& a) const { note(0) = a; }
  KOKKOS_FUNCTION double& reference() const { return *result.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return result; }
  KOKKOS_FUNCTION bool references_scalar() const { return true; }
};

struct Sum {
  ConstVector in;
  KOKKOS_FUNCTION void operator()(int i, double& a) const { a += in(i); }
};

/// The functor is its own reducer.
struct OwnReducer {
  using value_type = double;
  ConstVector start;
  Vector note;
  KOKKOS_FUNCTION void operator()(int i, double& a) const { a += i; }
  KOKKOS_FUNCTION void init(double& a) const { a = start(0); }
  KOKKOS_FUNCTION void join(double& a, const double& b) const { a += b - start(0); }
  KOKKOS_FUNCTION void join(volatile double& a, const volatile double& b) const { a += b; }
  KOKKOS_FUNCTION void final(double& a) const { note(0) = a; }
};

struct RunningSum {
  using value_type = double;
  ConstVector start;
  Vector to;
  KOKKOS_FUNCTION void init(double& a) const { a = start(0) - start(0); }  // of each thread's part
  KOKKOS_FUNCTION void join(double& a, const double& b) const { a += b; }
  KOKKOS_FUNCTION void join(volatile double& a, const volatile double& b) const { a += b; }
  KOKKOS_FUNCTION void operator()(int i, double& a, bool last) const {
    a += i == 0 ? 1 + start(0) : 1;
    if (last) to(i) = a;
  }
};

struct Read {
  ConstVector from;
  KOKKOS_FUNCTION double operator()(int i) const { return from(i); }
};
template <class Function>
struct Apply {
  Function function;
  Vector to;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) = function(i); }
};
template <class Function>
double apply(const Function& function) {
  const Owing out;
  Kokkos::parallel_for(Range(0, n), Apply<Function>{function, out.device});
  return out.get(n - 1);
}

}  // namespace kokkos_travelling
using namespace kokkos_travelling;

KOKKOS_STOCK_TEST(KokkosTravelling, AViewInAReducer) {
  const Vector x = small_values();
  check_reads([&](const Owing& from) { return reduce(Range(0, 100), Index{x}, FromView{from.device}); });
  check_reads([&](const Owing& from) { return reduce(Range(0, 100), Index{x}, FromFarAway{{}, from.device}); });
}

KOKKOS_STOCK_TEST(KokkosTravelling, AViewInAReducerOfRectanglesAndTeams) {
  const Vector x = small_values();
  check_reads([&](const Owing& from) {
    return reduce(Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {10, 10}), IndexPlane{x}, FromView{from.device});
  });
  check_reads([&](const Owing& from) { return reduce(Team(10, 1), IndexTeams{x}, FromView{from.device}); });
}

KOKKOS_STOCK_TEST(KokkosTravelling, AViewInAReducerThatIsAligned) {
  const Vector x = small_values();
  check_reads([&](const Owing& from) { return reduce(Range(0, 100), Index{x}, FromAligned{from.device}); });
  check_reads([&](const Owing& from) { return reduce(Range(0, 100), AlignedIndex{x}, FromView{from.device}); });
  check_reads([&](const Owing& from) { return reduce(Range(0, 100), AlignedIndex{x}, FromAligned{from.device}); });
}

KOKKOS_STOCK_TEST(KokkosTravelling, ARawPointerInAReducer) {
  const Vector x = small_values();
  check_reads([&](const Owing& from) { return reduce(Range(0, 100), Index{x}, static_cast<const double*>(from.device.data())); });
}

KOKKOS_STOCK_TEST(KokkosTravelling, AViewInAReducerWithItsResultOnTheDevice) {
  using Result = Kokkos::View<double, Device>;
  const Vector x = small_values();
  const Result result("result");
  const auto host = Kokkos::create_mirror_view(result);
  check_reads([&](const Owing& from) {
    Kokkos::parallel_reduce(Range(0, 100), Index{x}, MaxFrom<FromView, Result>{{from.device}, result});
    Kokkos::deep_copy(host, result);
    return host();
  });
  check_reads([&](const Owing& from) {
    Kokkos::parallel_reduce(Range(0, 100), Index{x}, MaxFrom<const double*, Result>{from.device.data(), result});
    Kokkos::deep_copy(host, result);
    return host();
  });
}

/// A launch that is remembered: the functor's words stay, those of the reducer change.
KOKKOS_STOCK_TEST(KokkosTravelling, AnotherViewInTheReducerOfAFunctorThatIsRemembered) {
  const Vector x = small_values();
  const Owing a, b;
  iota(a.device);
  iota(b.device);
  for (int round = 1; round <= 4; ++round) {
    a.set(1000 * round);
    b.set(2000 * round);
    double found = 0;
    Kokkos::parallel_reduce(Range(0, 100), Index{x}, Kokkos::Max<double>(found));
    EXPECT_EQ(found, 99);
    EXPECT_EQ(reduce(Range(0, 100), Index{x}, FromView{a.device}), 1000 * round);
    EXPECT_EQ(reduce(Range(0, 100), Index{x}, FromView{b.device}), 2000 * round);
    EXPECT_EQ(reduce(Range(0, 100), Index{x}, static_cast<const double*>(a.device.data())), 1000 * round);
  }
}

KOKKOS_STOCK_TEST(KokkosTravelling, WhatAReducerWritesInTheEnd) {
  const Vector x("x", n);
  const Owing note;
  for (int round = 1; round <= 3; ++round) {
    note.set(-1);
    iota(x, round, 0);
    double found = 0;
    Kokkos::parallel_reduce(Range(0, 100), Sum{x}, SumAndNote{note.device, HostScalar(&found)});
    EXPECT_EQ(note.get(0), 100 * round);
  }
}

KOKKOS_STOCK_TEST(KokkosTravelling, AFunctorThatIsItsOwnReducer) {
  const Owing note;
  check_reads([&](const Owing& from) {
    double found = 0;
    Kokkos::parallel_reduce(Range(0, 1), OwnReducer{from.device, note.device}, found);
    EXPECT_EQ(note.get(0), found);
    return found;
  });
}

KOKKOS_STOCK_TEST(KokkosTravelling, AScanThatStartsSomewhere) {
  const Owing to;
  check_reads([&](const Owing& from) {
    double total = 0;
    Kokkos::parallel_scan(Range(0, n), RunningSum{from.device, to.device}, total);
    EXPECT_EQ(to.get(n - 1), total);
    return total - n;
  });
}

/// Reducers of Kokkos' own hold a view of their result, which leads nowhere.
KOKKOS_STOCK_TEST(KokkosTravelling, StockReducersLeadNowhere) {
  const Vector x = small_values();
  double sum = 0, most = 0;
  Kokkos::parallel_reduce(Range(0, n), KOKKOS_LAMBDA(int i, double& a) { a += x(i); }, Kokkos::Sum<double>(sum));
  EXPECT_EQ(sum, n * (n - 1) / 2.0);
  Kokkos::parallel_reduce(Range(0, n), Index{x}, Kokkos::Max<double>(most));
  EXPECT_EQ(most, n - 1);
  Kokkos::MinMaxLoc<double, int>::value_type range;
  Kokkos::parallel_reduce(
      Range(0, n),
      KOKKOS_LAMBDA(int i, Kokkos::MinMaxLoc<double, int>::value_type& a) {
        if (x(i) < a.min_val) a.min_val = x(i), a.min_loc = i;
        if (x(i) > a.max_val) a.max_val = x(i), a.max_loc = i;
      },
      Kokkos::MinMaxLoc<double, int>(range));
  EXPECT_EQ(range.max_loc, n - 1);
  // A result of its own memory, on the host and in a mirror.
  Kokkos::View<double, Kokkos::HostSpace> managed("result");
  Kokkos::parallel_reduce(Range(0, n), Index{x}, Kokkos::Max<double, Kokkos::HostSpace>(managed));
  Kokkos::fence();
  EXPECT_EQ(managed(), n - 1);
  const auto mirror = Kokkos::create_mirror_view(Kokkos::View<double, Device>("result"));
  Kokkos::parallel_reduce(Range(0, n), Index{x}, Kokkos::Max<double, HostMirrorSpace>(mirror));
  Kokkos::fence();
  EXPECT_EQ(mirror(), n - 1);
}

/// The short way of a launch is taken with reducers, too.
KOKKOS_STOCK_TEST(KokkosTravelling, FunctorsWithStockReducersAreRemembered) {
  struct Local {
    static double most(const Vector& x, double& found) {
      Kokkos::parallel_reduce(Range(0, n), Index{x}, Kokkos::Max<double>(found));
      return found;
    }
  };
  const Vector x = small_values();
  double one = 0, other = 0;
  Local::most(x, one);
  const auto written = semcache::kokkos::MemoOf<Index>::of_this_thread().memo.written;
  for (int k = 0; k < 3; ++k) {
    Local::most(x, one);
    Local::most(x, other);
  }
  EXPECT_EQ(semcache::kokkos::MemoOf<Index>::of_this_thread().memo.count, 1u);
  EXPECT_EQ(semcache::kokkos::MemoOf<Index>::of_this_thread().memo.written, written);
}

#ifndef KOKKOS_ENABLE_CUDA
KOKKOS_STOCK_TEST(KokkosTravelling, SeveralReducersAtOnce) {
  const Vector x = small_values();
  for (int round = 0; round < 3; ++round) {
    double sum = 0, most = 0;
    int last = 0;
    Kokkos::parallel_reduce(
        "several", Range(0, n),
        KOKKOS_LAMBDA(int i, double& a, double& b, int& c) {
          a += x(i);
          if (x(i) > b) b = x(i);
          if (i > c) c = i;
        },
        sum, Kokkos::Max<double>(most), Kokkos::Max<int>(last));
    EXPECT_EQ(sum, n * (n - 1) / 2.0);
    EXPECT_EQ(most, n - 1);
    EXPECT_EQ(last, n - 1);
  }
}

KOKKOS_STOCK_TEST(KokkosTravelling, AViewInOneOfSeveralReducers) {
  const Vector x = small_values();
  check_reads([&](const Owing& from) {
    double sum = 0, most = 0;
    Kokkos::parallel_reduce(
        "several", Range(0, 100),
        KOKKOS_LAMBDA(int i, double& a, double& b) {
          a += x(i);
          if (x(i) > b) b = x(i);
        },
        Kokkos::Sum<double>(sum), MaxFrom<FromView>{{from.device}, HostScalar(&most)});
    EXPECT_EQ(sum, 4950);
    return most;
  });
}
#endif

KOKKOS_STOCK_TEST(KokkosTravelling, AReducerWithinATeam) {
  const Owing out;
  check_reads([&](const Owing& x) {
    const ConstVector from = x.device;
    const Vector to = out.device;
    Kokkos::parallel_for(
        "hierarchy", Team(1, 1), KOKKOS_LAMBDA(const Member& team) {
          double most = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, 10), [&](int i, double& a) { a = from(i) > a ? from(i) : a; },
              Kokkos::Max<double>(most));
          to(0) = most;
        });
    return out.get(0);
  });
}

KOKKOS_STOCK_TEST(KokkosTravelling, FunctorsWithinFunctors) {
  check_reads([](const Owing& from) { return apply(Read{from.device}); });
  check_reads([](const Owing& from) { return apply(Apply<Read>{{from.device}, from.device}.function); });
  check_reads([](const Owing& x) {
    const ConstVector from = x.device;
    const auto inner = KOKKOS_LAMBDA(int i) { return from(i); };
    const auto outer = KOKKOS_LAMBDA(int i) { return inner(i); };
    return apply(outer);
  });
}

// Right, and unknown: whoever leads a kernel to a functor elsewhere leads it anywhere.
#ifndef KOKKOS_ENABLE_CUDA
TEST(KokkosTravelling, AFunctorByReference) {
  check_reads([](const Owing& from) {
    const Read read{from.device};
    return apply(std::cref(read));
  });
  check_reads([](const Owing& from) {
    const Read read{from.device};
    return apply([&](int i) { return read(i); });
  });
  check_reads([](const Owing& from) {
    const Read read{from.device};
    const std::function<double(int)> function = read;
    return apply(function);
  });
  check_reads([](const Owing& from) {
    const Vector x = small_values();
    const FromView start{from.device};
    struct ByPointer {
      const FromView* start;
      double operator[](int i) const { return (*start)[i]; }
    };
    return reduce(Range(0, 100), Index{x}, ByPointer{&start});
  });
}
#endif

#if KOKKOS_VERSION >= 40200
KOKKOS_STOCK_TEST(KokkosTravelling, AScanWithItsTotalOnTheDevice) {
  const Owing to;
  const Kokkos::View<double, Device> total("total");
  const auto host = Kokkos::create_mirror_view(total);
  check_reads([&](const Owing& from) {
    Kokkos::parallel_scan(Range(0, n), RunningSum{from.device, to.device}, total);
    Kokkos::deep_copy(host, total);
    EXPECT_EQ(to.get(n - 1), host());
    return host() - n;
  });
}
#endif
