// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <semcache/trace/report.hpp>

#include <cstdlib>
#include <string>
#include <vector>

// Whole programs, and what the report tells their authors to do: what helps, and nothing else. (Each line of advice by
// itself: unit_tests/trace/test_report.cpp.)
namespace kokkos_advice {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;

/// The runtime of one test, with an environment of its own. No array is alive outside.
class Runtime {
 public:
  explicit Runtime(const char* name = "SEMCACHE_CHECK_WRITES", const char* value = "0") : name_(name) {
    semcache::finalize();
    ::setenv(name, value, 1);
  }
  ~Runtime() {
    semcache::finalize();
    ::unsetenv(name_);
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

 private:
  const char* name_;
};

/// The sentence that has `part`; empty if there is none.
std::string advice_with(const std::string& part) {
  for (const semcache::trace::Advice& advice : semcache::trace::advice(semcache::statistics())) {
    if (advice.text.find(part) != std::string::npos) return advice.text;
  }
  return {};
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void add_index(const Vector& a) {
  Kokkos::parallel_for("add", Range(0, a.extent(0)), KOKKOS_LAMBDA(int i) { a(i) += i; });
}
void double_it(const Vector& a) {
  Kokkos::parallel_for("double", Range(0, a.extent(0)), KOKKOS_LAMBDA(int i) { a(i) *= 2; });
}

#ifndef KOKKOS_ENABLE_CUDA
double* global = nullptr;
void use_global(int n) {
  Kokkos::parallel_for("uses a global", Range(0, n), KOKKOS_LAMBDA(int i) { global[i] += 1; });
}
#endif

constexpr const char* short_memory = "Device memory was short";
constexpr const char* pending = "still pending";
constexpr const char* came_back = "Came back from a device";
constexpr const char* many_faults = "Many host faults";
constexpr const char* outside = "outside semcache::Exec";
constexpr const char* not_captured = "had not captured";

}  // namespace kokkos_advice
using namespace kokkos_advice;

KOKKOS_TEST(KokkosAdvice, EvictionIsNotTakenForACopyThatIsOwedNorForAnArrayThatIsOnlyRead) {
  const Runtime runtime("SEMCACHE_DEVICE_MEMORY", "16M");
  constexpr int n = 1 << 18;  // 2 MiB
  std::vector<Vector> all;
  for (int k = 0; k < 12; ++k) all.emplace_back("a" + std::to_string(k), n);
  for (int round = 0; round < 3; ++round) {
    for (const Vector& a : all) add_index(a);
  }
  const semcache::Statistics s = semcache::statistics();
  ASSERT_GT(s.total.evictions, 12u);
  ASSERT_GT(s.total.saved_link.bytes, 0u);
  EXPECT_TRUE(contains(advice_with(short_memory), "a0 (")) << advice_with(short_memory);
  EXPECT_TRUE(contains(advice_with(short_memory), "SEMCACHE_DEVICE_MEMORY")) << advice_with(short_memory);
  EXPECT_EQ(advice_with(pending), "");
  EXPECT_EQ(advice_with(came_back), "");
}

KOKKOS_TEST(KokkosAdvice, ACopyThatIsOwedIsNamed) {
  const Runtime runtime("SEMCACHE_SNAPSHOT_SHARE", "0");
  const Vector a("a", 4096);
  const Mirror host = Kokkos::create_mirror_view(a);
  add_index(a);
  Kokkos::deep_copy(host, a);
  add_index(a);  // nobody has read the copy
  EXPECT_TRUE(contains(advice_with(pending), "a (32.0 KiB)")) << advice_with(pending);
  EXPECT_EQ(advice_with(short_memory), "");
}

KOKKOS_TEST(KokkosAdvice, OnlyAnArrayThatCausedManyFaultsIsNamed) {
  const Runtime runtime;
  constexpr int page = 512;
  const Vector swept("swept", 2048 * page), touched("touched", 2048 * page);
  const Mirror host_swept = Kokkos::create_mirror_view(swept), host_touched = Kokkos::create_mirror_view(touched);
  add_index(swept);
  add_index(touched);
  Kokkos::deep_copy(host_swept, swept);
  Kokkos::deep_copy(host_touched, touched);
  double total = host_touched(0) + host_touched(1024 * page);
  for (int i = 0; i < 512; ++i) total += host_swept((i * 797 % 2048) * page);  // here and there
  EXPECT_GT(total, 0);
  const std::string found = advice_with(many_faults);
  EXPECT_TRUE(contains(found, "swept")) << found;
  EXPECT_FALSE(contains(found, "touched")) << found;
}

#ifndef KOKKOS_ENABLE_CUDA  // a GPU's kernel is not seen to use it
KOKKOS_TEST(KokkosAdvice, AGlobalThatAKernelOfOursDidNotCaptureIsNotAUseOutside) {
  const Runtime runtime;
  const Vector a("a", 4096);
  const Mirror host = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 4096; ++i) host(i) = i;
  Kokkos::deep_copy(a, host);
  if (semcache::statistics().device_tracker == "none") GTEST_SKIP() << "nobody notices it here";
  global = a.data();
  use_global(4096);
  Kokkos::deep_copy(host, a);
  EXPECT_EQ(host(4095), 4096.0);
  EXPECT_TRUE(contains(advice_with(not_captured), "a (")) << advice_with(not_captured);
  EXPECT_EQ(advice_with(outside), "");
}

KOKKOS_TEST(KokkosAdvice, AUseOutsideIsNotTakenForOneOfAKernelOfOurs) {
  const Runtime runtime;
  const Vector a("a", 4096);
  const Mirror host = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 4096; ++i) host(i) = i;
  Kokkos::deep_copy(a, host);
  if (semcache::statistics().device_tracker == "none") GTEST_SKIP() << "nobody notices it here";
  double* const data = a.data();
  EXPECT_EQ(data[4095], 4095.0);
  EXPECT_TRUE(contains(advice_with(outside), "a (1)")) << advice_with(outside);
  EXPECT_EQ(advice_with(not_captured), "");
}
#endif

KOKKOS_TEST(KokkosAdvice, WhatAKernelChangesIsNotToBeCapturedAsConst) {
  const Runtime runtime("SEMCACHE_CHECK_WRITES", "1");
  const Vector changed("changed", 4096), same("same", 4096), both("both", 4096);
  const Vector all[] = {changed, same, both};
  for (const Vector& a : all) {
    const Mirror host = Kokkos::create_mirror_view(a);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 4096; ++i) host(i) = a.label() == "same" || (round == 0 && a.label() == "both") ? 0 : 1;
      Kokkos::deep_copy(a, host);
      double_it(a);  // twice nothing is nothing
      Kokkos::deep_copy(host, a);
      EXPECT_GE(host(7), 0.0);
    }
  }
  const std::string found = advice_with("Captured as writable");
  EXPECT_TRUE(contains(found, "same (64.0 KiB)")) << found;
  EXPECT_FALSE(contains(found, "changed (")) << found;
  EXPECT_FALSE(contains(found, "both (")) << found;
  EXPECT_EQ(advice_with(came_back), "");
}

KOKKOS_TEST(KokkosAdvice, WhatIsUploadedAgainUnchangedIsNamedAndNotMoved) {
  const Runtime runtime("SEMCACHE_CHECK_WRITES", "1");
  const Vector same("same", 4096), changed("changed", 4096);
  const Mirror host_same = Kokkos::create_mirror_view(same), host_changed = Kokkos::create_mirror_view(changed);
  for (int i = 0; i < 4096; ++i) host_same(i) = 0, host_changed(i) = 1;
  for (int step = 0; step < 5; ++step) {  // the host does not touch its arrays; nobody asks for the device's content
    Kokkos::deep_copy(same, host_same);
    Kokkos::deep_copy(changed, host_changed);
    double_it(same);  // twice nothing is nothing
    double_it(changed);
  }
  const std::string found = advice_with("Captured as writable");
  EXPECT_TRUE(contains(found, "same (128.0 KiB)")) << found;  // at four of the copies
  EXPECT_FALSE(contains(found, "changed (")) << found;
  for (const auto& label : semcache::statistics().labels) {
    if (label.name == "same") EXPECT_EQ(label.counters.h2d.bytes, 4096 * sizeof(double));
    if (label.name == "changed") EXPECT_EQ(label.counters.h2d.bytes, 5 * 4096 * sizeof(double));
  }
}

KOKKOS_TEST(KokkosAdvice, WhatTheHostWritesAgainWithEqualValuesIsNamedAndNotMoved) {
  const Runtime runtime("SEMCACHE_CHECK_WRITES", "1");
  const Vector same("same", 4096), other("other", 4096);
  const Mirror host_same = Kokkos::create_mirror_view(same), host_other = Kokkos::create_mirror_view(other);
  double total = 0;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 4096; ++i) host_same(i) = i, host_other(i) = i + step;
    Kokkos::deep_copy(same, host_same);
    Kokkos::deep_copy(other, host_other);
    total += sum(same) + sum(other);
  }
  EXPECT_EQ(total, 10 * 4095 * 2048.0 + 10 * 4096.0);
  const std::string found = advice_with("Written on the host again with the values");
  EXPECT_TRUE(contains(found, "same_mirror (128.0 KiB)")) << found;  // all but the first of five
  EXPECT_FALSE(contains(found, "other")) << found;
  EXPECT_EQ(semcache::statistics().total.h2d.bytes, (1 + 5) * 4096 * sizeof(double));
}

KOKKOS_TEST(KokkosAdvice, WithoutTheCheckEqualValuesAreMovedAndNotNamed) {
  const Runtime runtime;
  const Vector same("same", 4096);
  const Mirror host = Kokkos::create_mirror_view(same);
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < 4096; ++i) host(i) = i;
    Kokkos::deep_copy(same, host);
    EXPECT_EQ(sum(same), 4095 * 2048.0);
  }
  EXPECT_EQ(semcache::statistics().total.h2d.bytes, 5 * 4096 * sizeof(double));
  EXPECT_EQ(semcache::statistics().total.rewritten.bytes, 0u);
}

KOKKOS_TEST(KokkosAdvice, WhereThingsAreAsTheyShouldBeNothingIsSaid) {
  const Runtime runtime;
  const Vector x("x", 4096), y("y", 4096);
  const Mirror host_x = Kokkos::create_mirror_view(x), host_y = Kokkos::create_mirror_view(y);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4096; ++i) host_x(i) = i + round;
    Kokkos::deep_copy(x, host_x);
    const ConstVector in = x;
    Kokkos::parallel_for("result", Range(0, 4096), KOKKOS_LAMBDA(int i) { y(i) = 2 * in(i); });
    Kokkos::deep_copy(host_y, y);
    EXPECT_EQ(host_y(4095), 2.0 * (4095 + round));
  }
  EXPECT_EQ(sum(x), 4095 * 4096 / 2.0 + 9 * 4096);
  EXPECT_TRUE(semcache::trace::advice(semcache::statistics()).empty()) << semcache::trace::advice(semcache::statistics()).front().text;
}
