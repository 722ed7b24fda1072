// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <array>
#include <new>

// What a kernel is known to use. `expect_const` and `expect_written` look at the consequence: after a launch that only
// read, the host mirror of the same content is still good, and copying it over moves nothing.
namespace kokkos_captures {
using namespace test;

/// An array that is equal on both sides, and what a kernel does to that.
struct Observed {
  Observed() : device("observed", 4096), host(Kokkos::create_mirror_view(device)) {
    for (int i = 0; i < 4096; ++i) host(i) = i;
    Kokkos::deep_copy(device, host);
    semcache::access(device, semcache::Access::read);
  }
  Vector device;
  semcache::kokkos::host_mirror_t<Vector> host;

  [[nodiscard]] std::uint64_t bytes_back() const {
    const Since since;
    Kokkos::deep_copy(host, device);
    semcache::access(host, semcache::Access::read);
    return since.d2h();
  }
};

void expect_const(const Observed& x) {
  EXPECT_EQ(x.bytes_back(), 0u);
}
void expect_written(const Observed& x) {
  EXPECT_EQ(x.bytes_back(), 4096u * 8);
}

struct Axpy {
  Vector y;
  ConstVector x;
  KOKKOS_FUNCTION void operator()(int i) const { y(i) += x(i); }
};
struct BigAxpy {
  Axpy axpy;
  double padding[600] = {};
  KOKKOS_FUNCTION void operator()(int i) const { axpy(i); }
};
struct Dot {
  using execution_space = Exec;
  ConstVector x;
  KOKKOS_FUNCTION void operator()(int i, double& update) const { update += x(i) * x(i); }
};
struct RunningSum {
  using execution_space = Exec;
  Vector x;
  KOKKOS_FUNCTION void operator()(int i, double& update, bool last) const {
    update += 1;
    if (last) x(i) = update;
  }
};
struct TeamDot {
  using execution_space = Exec;
  ConstVector x;
  KOKKOS_FUNCTION void operator()(const Member& team, double& update) const { update += x(team.league_rank()); }
};
#ifdef KOKKOS_CLASS_LAMBDA
struct Members {
  Vector written;
  Vector unused;
  void run() {
    Kokkos::parallel_for("class lambda", Range(0, 10), KOKKOS_CLASS_LAMBDA(int i) { written(i) = 1; });
  }
};
#endif

/// As containers do: UnorderedMap carries its size in a view.
struct CarriesItsSize {
  Kokkos::View<int, Kokkos::HostSpace> size;
  Vector y;
  KOKKOS_FUNCTION void operator()(int i) const { y(i) = 1; }
};

constexpr int count = 300;
struct Many {
  Vector views[count];
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int k = 0; k < count; ++k) views[k](i) = k;
  }
};

}  // namespace kokkos_captures
using namespace kokkos_captures;

KOKKOS_STOCK_TEST(KokkosCapture, ConstViewInALambda) {
  Observed x;
  Vector y("y", 4096);
  ConstVector cx = x.device;
  Kokkos::parallel_for("axpy", Range(0, 4096), KOKKOS_LAMBDA(int i) { y(i) += cx(i); });
  expect_const(x);
  EXPECT_EQ(sum(y), 4096 * 4095 / 2.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, WritableViewInALambda) {
  Observed x;
  Vector d = x.device;
  Kokkos::parallel_for("write", Range(0, 4096), KOKKOS_LAMBDA(int i) { d(i) = 2; });
  expect_written(x);
  EXPECT_EQ(x.host(17), 2.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, FunctorSmallAndBig) {
  Observed x;
  Vector y("y", 4096);
  Kokkos::parallel_for("axpy", Range(0, 4096), Axpy{y, x.device});
  expect_const(x);
  BigAxpy big;
  big.axpy = Axpy{y, x.device};
  Kokkos::parallel_for("big axpy", Range(0, 4096), big);
  expect_const(x);
  EXPECT_EQ(sum(y), 4096 * 4095.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, Reductions) {
  Observed x;
  double result = 0;
  Kokkos::View<double, Device> device("device");
  Kokkos::parallel_reduce("dot", Range(0, 10), Dot{x.device}, result);
  EXPECT_EQ(result, 285.0);
  Kokkos::parallel_reduce("dot", 10, Dot{x.device}, result);
  EXPECT_EQ(result, 285.0);
  Kokkos::parallel_reduce("dot", Range(0, 10), Dot{x.device}, device);
  Kokkos::deep_copy(result, device);
  EXPECT_EQ(result, 285.0);
  Kokkos::parallel_reduce("team", Team(100, Kokkos::AUTO), TeamDot{x.device}, result);
  EXPECT_GE(Team(1, 1).team_size_max(TeamDot{x.device}, Kokkos::ParallelReduceTag()), 1);
  expect_const(x);
}

KOKKOS_STOCK_TEST(KokkosCapture, Scans) {
  Observed x;
  Vector d = x.device;
  double total = 0;
  Kokkos::parallel_scan("scan", Range(0, 4096), RunningSum{d});
  Kokkos::parallel_scan("scan", 4096, RunningSum{d}, total);
  EXPECT_EQ(total, 4096.0);
  expect_written(x);
  EXPECT_EQ(x.host(4095), 4096.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, MDRangeAndTeam) {
  Observed x;
  ConstVector cx = x.device;
  Matrix m("m", 10, 10);
  Kokkos::parallel_for(
      "md", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {10, 10}), KOKKOS_LAMBDA(int i, int j) { m(i, j) = cx(i); });
  Kokkos::parallel_for(
      "team", Team(10, 1), KOKKOS_LAMBDA(const Member& team) {
        auto column = Kokkos::subview(m, Kokkos::ALL(), team.league_rank());
        column(0) = cx(1);
      });
  expect_const(x);
  EXPECT_EQ(on_host(m)(0, 9), 1.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, UnmanagedConstFromPointerAndFromView) {
  Observed x;
  Vector y("y", 10);
  using Unmanaged = Kokkos::View<const double*, Left, Device, Kokkos::MemoryTraits<Kokkos::RandomAccess | Kokkos::Unmanaged>>;
  Unmanaged from_pointer(x.device.data(), 4096), from_view = x.device;
  Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged> out = y;
  Kokkos::parallel_for("unmanaged", Range(0, 10), KOKKOS_LAMBDA(int i) { out(i) = from_pointer(i) + from_view(i); });
  expect_const(x);
  EXPECT_EQ(on_host(y)(9), 18.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, AtomicManagedAndUnmanaged) {
  Observed x;
  Kokkos::View<double*, Left, Device, Kokkos::MemoryTraits<Kokkos::Atomic>> atomic = x.device;
  Kokkos::View<double*, Left, Device, Kokkos::MemoryTraits<Kokkos::Atomic | Kokkos::Unmanaged>> unmanaged(x.device.data(), 4096);
  Kokkos::parallel_for(
      "atomic", Range(0, 10), KOKKOS_LAMBDA(int) {
        atomic(0) += 1;
        unmanaged(1) += 1;
      });
  expect_written(x);
  EXPECT_EQ(x.host(0), 10.0);
  EXPECT_EQ(x.host(1), 11.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, RandomAccessManaged) {
  Observed x;
  Vector y("y", 10);
  Kokkos::View<const double*, Left, Device, Kokkos::MemoryTraits<Kokkos::RandomAccess>> random = x.device;
  Kokkos::parallel_for("random", Range(0, 10), KOKKOS_LAMBDA(int i) { y(i) = random(9 - i); });
  expect_const(x);
  EXPECT_EQ(on_host(y)(0), 9.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, SameMemoryConstAndWritable) {
  Observed x;
  Vector d = x.device;
  ConstVector cd = x.device;
  Kokkos::parallel_for("both", Range(0, 10), KOKKOS_LAMBDA(int i) { d(i) = cd(i) + 1; });
  expect_written(x);
}

#ifdef KOKKOS_CLASS_LAMBDA
KOKKOS_STOCK_TEST(KokkosCapture, ClassLambdaTakesAllMembers) {
  Observed x, unused;
  Members members{x.device, unused.device};
  members.run();
  EXPECT_EQ(x.bytes_back(), 4096u * 8);
}
#endif

KOKKOS_STOCK_TEST(KokkosCapture, KernelWithoutViewsTouchesNothing) {
  Observed x;
  double result = 0;
  const Since since;
  Kokkos::parallel_reduce("none", Range(0, 10), KOKKOS_LAMBDA(int i, double& update) { update += i; }, result);
  EXPECT_EQ(result, 45.0);
  EXPECT_EQ(since.launches(), 1u);
  expect_const(x);
}

KOKKOS_STOCK_TEST(KokkosCapture, ClosureThatIsNeverExecutedLeavesNothing) {
  Observed x;
  Vector d = x.device, y("y", 10);
  const auto write = KOKKOS_LAMBDA(int i) { d(i) = 1; };
  using Closure = Kokkos::Impl::ParallelFor<std::decay_t<decltype(write)>, Range>;
  Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_disable();
  { Closure never(write, Range(0, 10)); }
  Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enable();
  Kokkos::parallel_for("other", Range(0, 10), KOKKOS_LAMBDA(int i) { y(i) = 1; });
  expect_const(x);
}

KOKKOS_STOCK_TEST(KokkosCapture, ClosureThatIsExecutedTwice) {
  Observed x;
  Vector d = x.device;
  const auto add = KOKKOS_LAMBDA(int i) { d(i) += 1; };
  using Closure = Kokkos::Impl::ParallelFor<std::decay_t<decltype(add)>, Range>;
  Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_disable();
  Closure twice(add, Range(0, 4096));
  Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enable();
  twice.execute();
  EXPECT_EQ(x.bytes_back(), 4096u * 8);
  for (int i = 0; i < 4096; ++i) x.host(i) = 10;
  Kokkos::deep_copy(x.device, x.host);
  twice.execute();
  Kokkos::fence();
  EXPECT_EQ(x.bytes_back(), 4096u * 8);
  EXPECT_EQ(x.host(4095), 11.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, LaunchOnTheNativeSpaceIsSettledAndCounted) {
  Observed x;
  Vector d = x.device;
  for (int i = 0; i < 4096; ++i) x.host(i) = 5;
  Kokkos::deep_copy(d, x.host);
  const Since since;
  Kokkos::parallel_for(
      "native", Kokkos::RangePolicy<semcache::kokkos::NativeExec>(0, 4096), KOKKOS_LAMBDA(int i) { d(i) += 1; });
  Kokkos::fence();
  EXPECT_GE(since.native(), 1u);
  EXPECT_EQ(x.bytes_back(), 4096u * 8);
  EXPECT_EQ(x.host(4095), 6.0);
}

KOKKOS_STOCK_TEST(KokkosCapture, DefaultPolicyFollowsTheFunctorsSpace) {
  Observed x;
  const Since since;
  double result = 0;
  Kokkos::parallel_reduce("default", 10, Dot{x.device}, result);
  EXPECT_EQ(since.launches(), 1u);
  if (!reductions_are_native_too) {
    EXPECT_EQ(since.native(), 0u);
  }
}

KOKKOS_STOCK_TEST(KokkosCapture, SmallHostViewLeadsNowhere) {
  // A view of rank 0 has a word that nobody initialises, and copies take it along: here it looks like a pointer.
  alignas(CarriesItsSize) std::uintptr_t memory[sizeof(CarriesItsSize) / sizeof(std::uintptr_t)];
  for (std::uintptr_t& word : memory) word = reinterpret_cast<std::uintptr_t>(memory);
  auto* functor = ::new (memory) CarriesItsSize{Kokkos::View<int, Kokkos::HostSpace>("size"), Vector("y", 10)};
  Kokkos::parallel_for("carries its size", Range(0, 10), *functor);
  functor->~CarriesItsSize();
}

KOKKOS_STOCK_TEST(KokkosCapture, ThreeHundredViews) {
  Many many;
  for (int k = 0; k < count; ++k) {
    many.views[k] = Vector("many", 4);
    auto h = Kokkos::create_mirror_view(many.views[k]);
    h(0) = -1;
    Kokkos::deep_copy(many.views[k], h);
  }
  Kokkos::parallel_for("many", Range(0, 4), many);
  for (int k = 0; k < count; ++k) ASSERT_EQ(on_host(many.views[k])(3), k);
}

#ifndef KOKKOS_ENABLE_CUDA
namespace kokkos_captures {
/// Copied as bytes, with what lay in its padding.
struct BytesAndPadding {
  double* values;
  char by;
  void operator()(int i) const { values[i] += by; }
};
/// As functors of Kokkos' algorithms do, it holds a copy of the reducer: the address of the result, which is on the stack.
template <class Reducer>
struct SumWithItsReducer {
  ConstVector x;
  Reducer reducer;
  void operator()(int i, double& update) const { reducer.join(update, x(i)); }
};
}  // namespace kokkos_captures

KOKKOS_STOCK_TEST(KokkosCapture, PaddingLeadsNowhere) {
#ifdef __has_builtin
#if __has_builtin(__builtin_clear_padding)
  const Observed x, bystander;
  std::array<const void*, 2> left;
  static_assert(sizeof left == sizeof(BytesAndPadding), "");
  left.fill(&left);  // the stack
  __asm__ volatile("" : : "r"(&left) : "memory");  // nobody drops what the object does not use
  auto* const functor = ::new (&left) BytesAndPadding;
  functor->values = x.device.data();
  functor->by = 8;  // with what lies beside it, an address that is aligned
  Kokkos::parallel_for("add", Range(0, 4096), *functor);
  expect_const(bystander);
  expect_written(x);
#endif
#endif
}

KOKKOS_STOCK_TEST(KokkosCapture, AReducerInAFunctorLeadsToItsResultOnly) {
  const Observed x, bystander;
  for (int round = 0; round < 3; ++round) {
    double result = 0;
    const Kokkos::Sum<double, Kokkos::HostSpace> reducer(result);
    Kokkos::parallel_reduce("sum", Range(0, 4096), SumWithItsReducer<decltype(reducer)>{x.device, reducer}, reducer);
    EXPECT_EQ(result, 4096 * 4095 / 2.0);
  }
  expect_const(bystander);
  expect_const(x);
}
#endif

#if SEMCACHE_KOKKOS_MDSPAN_VIEW && !defined(KOKKOS_ENABLE_CUDA)
namespace kokkos_captures {
template <class Handle>
struct HandleAndPointer {
  Handle from;
  double* to;
  void operator()(int i) const { to[i] += static_cast<const double*>(from)[i]; }
};
template <class Handle>
HandleAndPointer(Handle, double*) -> HandleAndPointer<Handle>;
}  // namespace kokkos_captures

/// Outside its View a handle has somebody else's word behind it.
KOKKOS_STOCK_TEST(KokkosCapture, AHandleWithoutItsViewAndABarePointer) {
  const Observed from, to;
  const Kokkos::View<const double*, Left, Device, Kokkos::MemoryUnmanaged> unmanaged(from.device.data(), 4096);
  const ConstVector managed = from.device;
  const auto expect_added = [&](const auto& functor) {
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < 4096; ++i) to.host(i) = round;
      Kokkos::deep_copy(to.device, to.host);
      Kokkos::parallel_for("add", Range(0, 4096), functor);
      Kokkos::deep_copy(to.host, to.device);
      ASSERT_EQ(to.host(4095), round + 4095);
    }
  };
  expect_added(HandleAndPointer{unmanaged.data_handle(), to.device.data()});
  expect_added(HandleAndPointer{managed.data_handle(), to.device.data()});
  expect_const(from);
}
#endif
