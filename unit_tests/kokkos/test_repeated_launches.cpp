// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <variant>

// A launch remembers what the functor of its type captured the last time. Each test makes that memory wrong in one way,
// and looks at what the host sees.
namespace kokkos_repeated {
using namespace test;

constexpr int n = 3000;

struct Add {
  ConstVector from;
  Vector to;
  double factor;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += factor * from(i); }
};
void add(const Vector& from, const Vector& to, double factor = 1) {
  Kokkos::parallel_for("add", Range(0, n), Add{from, to, factor});
}

Vector filled(const std::string& label, double value) {
  Vector v(label, n);
  Kokkos::deep_copy(v, value);
  return v;
}

/// What the host reads, through a mirror that lives as long as the view.
struct Seen {
  explicit Seen(const Vector& v) : device(v), host(Kokkos::create_mirror_view(v)) {}
  double operator()() const {
    Kokkos::deep_copy(host, device);
    return host(n - 1);
  }
  void set(double value) const {
    for (int i = 0; i < n; ++i) host(i) = value;
    Kokkos::deep_copy(device, host);
  }
  Vector device;
  semcache::kokkos::host_mirror_t<Vector> host;
};

KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfTheSameArraysSeesWhatTheHostWroteBetween) {
  const Vector a = filled("a", 1), b = filled("b", 0);
  const Seen seen_a(a), seen_b(b);
  double expected = 0;
  for (int k = 1; k <= 5; ++k) {
    seen_a.set(k);
    expected += k;
    add(a, b);
    EXPECT_EQ(seen_b(), expected);
  }
}

KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfOtherArraysUsesThose) {
  const Vector a = filled("a", 1), b = filled("b", 10), c = filled("c", 0), d = filled("d", 0);
  const Seen seen_c(c), seen_d(d);
  for (int k = 1; k <= 4; ++k) {
    add(a, c);
    EXPECT_EQ(seen_c(), k);
    add(b, d);
    EXPECT_EQ(seen_d(), 10 * k);
    add(c, d, 0);
    add(a, c, 0);
  }
}

KOKKOS_TEST(KokkosRepeatedLaunch, WithOtherNumbersIsTheSameLaunch) {
  const Vector a = filled("a", 1), b = filled("b", 0);
  const Seen seen(b);
  const Since since;
  double expected = 0;
  // The last ones have the bits of addresses: they must not hide anything.
  const double numbers[] = {1, -2.5, 0, 1e300, 6.9e-310, 4.65e-310};
  for (const double x : numbers) {
    add(a, b, x);
    expected += x;
    EXPECT_EQ(seen(), expected);
  }
  EXPECT_EQ(since.launches(), 6u);
  // By chance they are addresses of the device's memory, of no array: then nobody knows what they lead to.
  EXPECT_LE(since.unknown(), 2u);
}

struct AddRows {
  Kokkos::View<const double**, semcache::Device> from;
  Vector to;
  std::int64_t rows;
  KOKKOS_FUNCTION void operator()(int i) const {
    if (i < rows) to(i) += from(i, 1);
  }
};

/// Extents of arrays of some size are no pointers, nor are other numbers like them: the functor's first launch is remembered
/// for all others.
KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfLargeArraysIsRemembered) {
  constexpr int rows = 100000;
  const Kokkos::View<double**, semcache::Device> from("from", rows, 2);
  const Vector to("to", rows);
  Kokkos::deep_copy(from, 1);
  for (int k = 1; k <= 3; ++k) {
    Kokkos::parallel_for("add rows", Range(0, rows), AddRows{from, to, rows * k});
    EXPECT_EQ(semcache::kokkos::MemoOf<AddRows>::of_this_thread().memo.count, 2u);
    EXPECT_EQ(semcache::kokkos::MemoOf<AddRows>::of_this_thread().memo.written, 1u);
  }
  const auto host = Kokkos::create_mirror_view(to);
  Kokkos::deep_copy(host, to);
  EXPECT_EQ(host(rows - 1), 3);
}

void add_by_lambda(const Vector& from, const Vector& to) {
  Kokkos::parallel_for("add", Range(0, n), KOKKOS_LAMBDA(int i) { to(i) += from(i); });
}

/// nvcc's host copy of a lambda holds the same handles once more, on the heap.
KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfALambdaIsRemembered) {
  const Vector to("to", n);
  const ConstVector from = filled("from", 2);
  const auto body = KOKKOS_LAMBDA(int i) { to(i) += from(i); };
  using Body = std::decay_t<decltype(body)>;
  for (int k = 1; k <= 3; ++k) {
    Kokkos::parallel_for("add", Range(0, n), body);
    EXPECT_EQ(semcache::kokkos::MemoOf<Body>::of_this_thread().memo.count, 2u);
    EXPECT_EQ(semcache::kokkos::MemoOf<Body>::of_this_thread().memo.written, 1u);
  }
  EXPECT_EQ(Seen(to)(), 6);
}

KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfALambdaWithOtherArraysUsesThose) {
  const Vector a = filled("a", 1), b = filled("b", 10), c = filled("c", 0), d = filled("d", 0);
  const Seen seen_a(a), seen_c(c), seen_d(d);
  double expected = 0;
  for (int k = 1; k <= 4; ++k) {
    seen_a.set(k);
    expected += k;
    add_by_lambda(a, c);
    EXPECT_EQ(seen_c(), expected);
    add_by_lambda(b, d);
    add_by_lambda(b, d);
    EXPECT_EQ(seen_d(), 20 * k);
  }
}

struct BarePointer {
  double* data;
  explicit BarePointer(double* d) : data(d) {}
  BarePointer(const BarePointer& other) : data(other.data) {}  // not trivial: a copy leaves out what is switched off
};
struct AddAndLogBare {
  Vector to;
  std::int64_t large = 400000;
  bool is_on = true;
  union {
    BarePointer log;
  };
  AddAndLogBare(const Vector& v, double* d) : to(v), log(d) {}
  AddAndLogBare(const AddAndLogBare& other) : to(other.to), large(other.large), is_on(other.is_on) {
    if (is_on) new (&log) BarePointer(other.log);
  }
  KOKKOS_FUNCTION ~AddAndLogBare() {}
  KOKKOS_FUNCTION void operator()(int i) const {
    to(i) += 1;
    if (is_on) log.data[i] += 1;
  }
};
/// A pointer that is switched off is in the functor, but not in its copy.
KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfABarePointerThatIsSwitchedOn) {
  const Vector a = filled("a", 0), log = filled("log", 0);
  const Seen seen(log);
  seen.set(10);
  AddAndLogBare f(a, log.data());
  for (int k = 1; k <= 3; ++k) {
    f.is_on = false;
    Kokkos::parallel_for(Range(0, n), f);
    f.is_on = true;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen(), 10 + k);
  }
}

KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, AfterAnArrayWasFreedAndAnotherTookItsPlace) {
  const Vector to = filled("to", 0);
  const Seen seen(to);
  double expected = 0;
  for (int k = 1; k <= 6; ++k) {
    // The same label and size: allocators like to give the same addresses, for the array and for its record.
    const Vector from = filled("from", k);
    add(from, to);
    expected += k;
    EXPECT_EQ(seen(), expected);
  }
  for (int k = 1; k <= 6; ++k) {
    const Vector fresh = filled("fresh", k);
    add(to, fresh);
    EXPECT_EQ(Seen(fresh)(), k + expected);
  }
}

using Unmanaged = Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged>;
struct AddToUnmanaged {
  Unmanaged to;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += 1; }
};
KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, AtTheSameAddressInAnotherArray) {
  // No record tells arrays apart here: only what lies at the address. Freed in either order, so that whatever the runtime
  // recycles comes back in another one.
  double* last = nullptr;
  int met_again = 0;
  for (int round = 0; round < 12; ++round) {
    Vector a("a", n), b("b", n);
    {
      const Seen seen(a), other(b);
      seen.set(5);
      other.set(7);
      Kokkos::parallel_for(Range(0, n), AddToUnmanaged{Unmanaged(a.data(), n)});
      EXPECT_EQ(seen(), 6) << "round " << round;
      EXPECT_EQ(other(), 7) << "round " << round;
    }
    met_again += a.data() == last;
    last = a.data();
    if (round % 2 == 0) a = Vector();
    b = Vector();
  }
  EXPECT_GT(met_again, 0);
}

KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfASubviewElsewhereInTheSameArray) {
  const Vector all = filled("all", 0), one = filled("one", 1);
  const Vector big("big", 2 * n);
  const auto host = Kokkos::create_mirror_view(big);
  Kokkos::deep_copy(big, 0.0);
  for (int k = 0; k < 2; ++k) {
    add(one, Kokkos::subview(big, std::make_pair(0, n)));
    add(one, Kokkos::subview(big, std::make_pair(n, 2 * n)), 2);
  }
  Kokkos::deep_copy(host, big);
  EXPECT_EQ(host(0), 2);
  EXPECT_EQ(host(2 * n - 1), 4);
}

// --- functors that their words do not describe: host backends only, a GPU cannot follow ---------------------------------
#ifndef KOKKOS_ENABLE_CUDA
struct AddOfList {
  std::vector<Vector> to;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (const Vector& v : to) v(i) += 1;
  }
};
TEST(KokkosRepeatedLaunch, OfAListThatHasChangedInPlace) {
  const Vector a = filled("a", 0), b = filled("b", 0);
  const Seen seen_a(a), seen_b(b);
  AddOfList f{{a}};
  for (int k = 1; k <= 3; ++k) {
    f.to[0] = a;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_a(), k);
    f.to[0] = b;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_b(), k);
  }
}

struct AddBehindAPointer {
  std::shared_ptr<Vector> to;
  KOKKOS_FUNCTION void operator()(int i) const { (*to)(i) += 1; }
};
TEST(KokkosRepeatedLaunch, OfWhatAPointerLeadsTo) {
  const Vector a = filled("a", 0), b = filled("b", 0);
  const Seen seen_a(a), seen_b(b);
  const AddBehindAPointer f{std::make_shared<Vector>(a)};
  for (int k = 1; k <= 3; ++k) {
    *f.to = a;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_a(), k);
    *f.to = b;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_b(), k);
  }
}

/// A view that is switched off leaves its words behind: only a flag tells.
struct AddAndLog {
  Vector to;
  std::optional<Vector> log;
  KOKKOS_FUNCTION void operator()(int i) const {
    to(i) += 1;
    if (log) (*log)(i) += 1;
  }
};
TEST(KokkosRepeatedLaunch, OfAViewThatIsSwitchedOnAndOff) {
  const Vector a = filled("a", 0), b = filled("b", 0), log = filled("log", 0);
  const Seen seen_log(log), seen_a(a);
  AddAndLog f{a, log};
  double logged = 0, added = 0;
  for (int k = 0; k < 12; ++k) {
    f.to = k / 2 % 2 == 0 ? a : b;
    added += k / 2 % 2 == 0;
    f.log.reset();
    if (k % 3 != 0) {
      f.log = log;
      ++logged;
    }
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_log(), logged) << k;
    EXPECT_EQ(seen_a(), added) << k;
  }
}

/// The same view, the same words, but for an index: once to be read, once to be written.
struct ReadOrWrite {
  std::variant<ConstVector, Vector> view;
  Vector to;
  KOKKOS_FUNCTION void operator()(int i) const {
    if (const auto* read = std::get_if<0>(&view)) {
      to(i) = (*read)(i);
    } else {
      std::get<1>(view)(i) = 5;
    }
  }
};
TEST(KokkosRepeatedLaunch, AsWritableAfterAsConst) {
  const Vector a = filled("a", 1), to = filled("to", 0);
  const Seen seen(a);
  for (int k = 0; k < 3; ++k) {
    seen.set(1);
    Kokkos::parallel_for(Range(0, n), ReadOrWrite{ConstVector(a), to});
    EXPECT_EQ(seen(), 1);
    Kokkos::parallel_for(Range(0, n), ReadOrWrite{a, to});
    EXPECT_EQ(seen(), 5);
  }
}
#endif

/// Holds a view of its own choice: the copy's handle is not a copy of the original's.
struct AddElsewhere {
  static inline Vector* chosen = nullptr;
  Vector to;
  explicit AddElsewhere(const Vector& v) : to(v) {}
  AddElsewhere(const AddElsewhere& other) : to(chosen != nullptr ? *chosen : other.to) {}
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += 1; }
};
KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, OfAFunctorWhoseCopyHoldsAnotherArray) {
  Vector a = filled("a", 0), b = filled("b", 0);
  const Seen seen_a(a), seen_b(b);
  const AddElsewhere f(a);
  AddElsewhere::chosen = nullptr;
  Kokkos::parallel_for(Range(0, n), f);
  EXPECT_EQ(seen_b(), 0);
  AddElsewhere::chosen = &b;
  Kokkos::parallel_for(Range(0, n), f);
  EXPECT_EQ(seen_b(), 1);
  Kokkos::deep_copy(a, 0.0);
  Kokkos::deep_copy(b, 0.0);
  for (int k = 1; k <= 3; ++k) {
    AddElsewhere::chosen = &a;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_a(), k);
    AddElsewhere::chosen = &b;
    Kokkos::parallel_for(Range(0, n), f);
    EXPECT_EQ(seen_b(), k);
  }
  AddElsewhere::chosen = nullptr;
}

struct MaximumInto {
  ConstVector from;
  KOKKOS_FUNCTION void operator()(int i, double& most) const {
    if (from(i) > most) most = from(i);
  }
};
KOKKOS_STOCK_TEST(KokkosRepeatedLaunch, WithItsResultInAnotherView) {
  using Result = Kokkos::View<double, Device>;
  const Vector a = filled("a", 3);
  const Seen seen(a);
  const Result first("first"), second("second");
  const auto host_first = Kokkos::create_mirror_view(first), host_second = Kokkos::create_mirror_view(second);
  for (int k = 1; k <= 3; ++k) {
    seen.set(k);
    Kokkos::parallel_reduce(Range(0, n), MaximumInto{a}, Kokkos::Max<double, Space>(first));
    seen.set(10 * k);
    Kokkos::parallel_reduce(Range(0, n), MaximumInto{a}, Kokkos::Max<double, Space>(second));
    Kokkos::deep_copy(host_first, first);
    Kokkos::deep_copy(host_second, second);
    EXPECT_EQ(host_first(), k);
    EXPECT_EQ(host_second(), 10 * k);
  }
}

TEST(KokkosRepeatedLaunch, OnAnotherThread) {
  if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads takes kernels from the main thread only";
  const Vector a = filled("a", 1), b = filled("b", 0), c = filled("c", 0);
  const Seen seen_b(b), seen_c(c);
  add(a, b);
  for (int k = 1; k <= 3; ++k) {
    std::thread([&] { add(a, c); }).join();
    add(a, b);
    EXPECT_EQ(seen_b(), k + 1);
    EXPECT_EQ(seen_c(), k);
  }
}

/// There is a type for each test, because memos belong to types.
template <int test>
struct AddOne {
  Vector to;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += 1; }
};
using AddOfThreads = AddOne<0>;
/// A thread that has ended remembers nothing: the memo is the next one's.
TEST(KokkosRepeatedLaunch, AfterAThreadThatWasTheFirst) {
  if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads takes kernels from the main thread only";
  const Vector a = filled("a", 0), b = filled("b", 0);
  const Seen seen_a(a), seen_b(b);
  const auto launch = [](const Vector& v) { Kokkos::parallel_for(Range(0, n), AddOfThreads{v}); };
  const auto& memo = semcache::kokkos::MemoOf<AddOfThreads>::of_this_thread().memo;
  for (int k = 1; k <= 3; ++k) {
    std::thread([&] {
      launch(a);
      launch(a);
      EXPECT_EQ(semcache::kokkos::MemoOf<AddOfThreads>::of_this_thread().memo.count, 1u) << "thread " << k;
    }).join();
    EXPECT_EQ(seen_a(), 2 * k);
    launch(b);
    const std::uint32_t written = memo.written;
    for (int again = 0; again < 3; ++again) launch(b);
    EXPECT_EQ(memo.count, 1u);
    EXPECT_EQ(memo.written, written);
    EXPECT_EQ(seen_b(), 4 * k);
  }
}

using AddOfTwoThreads = AddOne<1>;
TEST(KokkosRepeatedLaunch, OfTwoThreadsIsRememberedInEach) {
  if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads takes kernels from the main thread only";
  const Vector a = filled("a", 0), b = filled("b", 0);
  const Seen seen_a(a), seen_b(b);
  const auto launch_twice = [](const Vector& v) {
    for (int k = 0; k < 2; ++k) {
      Kokkos::parallel_for(Range(0, n), AddOfTwoThreads{v});
      const auto& memo = semcache::kokkos::MemoOf<AddOfTwoThreads>::of_this_thread().memo;
      EXPECT_EQ(memo.count, 1u);
      EXPECT_EQ(memo.written, 1u);
    }
  };
  launch_twice(a);
  std::thread([&] { launch_twice(b); }).join();
  launch_twice(a);
  EXPECT_EQ(seen_a(), 4);
  EXPECT_EQ(seen_b(), 2);
}

/// Nor is anything mixed up while threads begin and end.
TEST(KokkosRepeatedLaunch, OfThreadsThatComeAndGo) {
  if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads takes kernels from the main thread only";
  constexpr int lanes = 4, rounds = 50;
  std::vector<Vector> arrays;
  for (int t = 0; t < lanes; ++t) arrays.push_back(filled("of a lane", 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < lanes; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < rounds; ++k) {
        std::thread([&] {
          for (int again = 0; again < 3; ++again) Kokkos::parallel_for(Range(0, n), AddOfThreads{arrays[t]});
        }).join();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  Kokkos::fence();
  for (const Vector& v : arrays) EXPECT_EQ(Seen(v)(), 3 * rounds);
}

}  // namespace kokkos_repeated
