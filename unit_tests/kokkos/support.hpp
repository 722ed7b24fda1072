// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

/// One source set for every Kokkos: a device is two macros away (the Kokkos that is found, SEMCACHE_KOKKOS_BASE).
///
/// Bodies are free functions: extended lambdas may not stand in GoogleTest's private member functions. Types that
/// kernels see have names that nvcc can write down: no unnamed namespaces, no local classes.
#define KOKKOS_TEST(SUITE, NAME)               \
  void SUITE##_##NAME##_body();                \
  TEST(SUITE, NAME) { SUITE##_##NAME##_body(); } \
  void SUITE##_##NAME##_body()

/// The same for a stock part of Kokkos: every launch within is shown to touch only what was recognised.
#define KOKKOS_STOCK_TEST(SUITE, NAME)                           \
  void SUITE##_##NAME##_body();                                  \
  TEST(SUITE, NAME) {                                            \
    const test::Since since;                                     \
    SUITE##_##NAME##_body();                                     \
    if (test::numbers_look_like_pointers) return;                \
    EXPECT_EQ(since.unknown(), 0u) << test::unknown_names();     \
    EXPECT_EQ(since.unannounced(), 0u);                          \
  }                                                              \
  void SUITE##_##NAME##_body()

namespace test {

using semcache::Device;
using semcache::Exec;
using semcache::HostMirrorSpace;
using semcache::Space;

using Left = Kokkos::LayoutLeft;
using Vector = Kokkos::View<double*, Left, Device>;
using ConstVector = Kokkos::View<const double*, Left, Device>;
using Matrix = Kokkos::View<double**, Left, Device>;
using Range = Kokkos::RangePolicy<Exec>;
using Team = Kokkos::TeamPolicy<Exec>;
using Member = Team::member_type;

/// ThreadSanitizer maps terabytes, in which numbers, and what was left in the heap, may look like pointers: launches are unknown
/// then, which is right, and slow.
#ifdef __SANITIZE_THREAD__
constexpr bool numbers_look_like_pointers = true;
#else
constexpr bool numbers_look_like_pointers = false;
#endif

/// Counters that passed between construction and `counters()`.
class Since {
 public:
  Since() : begin_(semcache::statistics()) {}
  [[nodiscard]] std::uint64_t launches() const { return now().launches - begin_.total.launches; }
  [[nodiscard]] std::uint64_t unknown() const { return now().unknown_launches - begin_.total.unknown_launches; }
  [[nodiscard]] std::uint64_t unannounced() const { return now().unannounced - begin_.total.unannounced; }
  [[nodiscard]] std::uint64_t device_waits() const { return now().device_waits - begin_.total.device_waits; }
  [[nodiscard]] std::uint64_t native() const { return now().native_captures - begin_.total.native_captures; }
  [[nodiscard]] std::uint64_t h2d() const { return now().h2d.bytes - begin_.total.h2d.bytes; }
  [[nodiscard]] std::uint64_t d2h() const { return now().d2h.bytes - begin_.total.d2h.bytes; }
  [[nodiscard]] std::uint64_t d2d() const { return now().d2d.bytes - begin_.total.d2d.bytes; }
  [[nodiscard]] std::uint64_t link() const { return h2d() + d2h(); }
  /// Transfers over the link, and copies within the device, that were made.
  [[nodiscard]] std::uint64_t h2d_count() const { return now().h2d.count - begin_.total.h2d.count; }
  [[nodiscard]] std::uint64_t d2h_count() const { return now().d2h.count - begin_.total.d2h.count; }
  [[nodiscard]] std::uint64_t d2d_count() const { return now().d2d.count - begin_.total.d2d.count; }
  /// deep_copy calls between arrays of ours, whether they moved anything or not.
  [[nodiscard]] std::uint64_t copies() const {
    return now().deferred.count + now().avoided.count - begin_.total.deferred.count - begin_.total.avoided.count;
  }
  [[nodiscard]] std::uint64_t faults() const { return now().host_faults - begin_.total.host_faults; }
  [[nodiscard]] std::uint64_t filled() const { return now().filled.bytes - begin_.total.filled.bytes; }

 private:
  static semcache::Counters now() { return semcache::statistics().total; }
  semcache::Statistics begin_;
};

/// Kokkos' Threads takes kernels from the main thread only, and crashes where a program ends without Kokkos::finalize.
#ifdef KOKKOS_ENABLE_THREADS
inline constexpr bool host_is_threads = std::is_same<Kokkos::DefaultHostExecutionSpace, Kokkos::Threads>::value;
#else
inline constexpr bool host_is_threads = false;
#endif

/// Kokkos 4.1 to 4.3 copy a reduction's functor before its closure exists: the launch counts as a native one, too.
inline constexpr bool reductions_are_native_too = KOKKOS_VERSION >= 40100 && KOKKOS_VERSION < 40400;

/// Names of the unknown launches so far, for messages.
inline std::string unknown_names() {
  std::string names;
  for (const auto& entry : semcache::statistics().unknown_launch_names) names += entry.name + ": " + entry.reason + "\n";
  return names;
}

/// The content of a contiguous view in plain host memory.
template <class View>
auto on_host(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// Two instances that may work at the same time, where the native space has threads for them.
inline std::vector<Exec> two_instances() {
#ifdef KOKKOS_ENABLE_OPENMP
  if (std::is_same<Exec::native_type, Kokkos::OpenMP>::value && Exec().concurrency() < 2) return {Exec(), Exec()};
#endif
  const auto parts = Kokkos::Experimental::partition_space(Exec(), 1, 1);
  return {parts.begin(), parts.end()};
}

/// v(i) = first + i * step, on the device.
inline void iota(const Vector& v, double first = 0, double step = 1) {
  Kokkos::parallel_for(
      "iota", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) = first + i * step; });
}

inline double sum(const ConstVector& v) {
  double result = 0;
  Kokkos::parallel_reduce(
      "sum", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i, double& update) { update += v(i); }, result);
  return result;
}

}  // namespace test
