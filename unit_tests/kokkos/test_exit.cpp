// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/last_device.hpp>
#include <kokkos/scenarios.hpp>

#include <atomic>
#include <cstdlib>
#include <thread>

// Programs that end without Kokkos::finalize, or with views that outlive it. Each must end with its own exit status,
// and SemCache must have nothing to say.
namespace kokkos_exit {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;
constexpr int elements_per_page = 512;
constexpr int wrong_value = 99;

void initialize() {
  int argc = 0;
  Kokkos::initialize(argc, nullptr);
}

/// Arrays with everything outstanding that can be: a stale mirror of which some pages have come, a copy that nobody has
/// asked for, a saved copy, a device array that is stale, a kernel that has just been launched.
struct Outstanding {
  Vector device = on_last_device("device", 1 << 18), other = on_last_device("other", 1 << 18);
  Mirror host = Kokkos::create_mirror_view(device), up = Kokkos::create_mirror_view(other);

  Outstanding() {
    iota(device);
    Kokkos::deep_copy(host, device);
    if (host(elements_per_page) != elements_per_page) std::exit(wrong_value);
    for (int i = 0; i < 1 << 18; ++i) up(i) = i;
    Kokkos::deep_copy(other, up);
    iota(device, 1);
  }
};

// --- exit() from main ------------------------------------------------------------------------------------------------
int from_main() {
  initialize();
  const Outstanding outstanding;
  std::exit(42);  // no destructor of this frame runs
}

int from_main_after_the_runtime_has_ended() {
  initialize();
  const Outstanding outstanding;
  semcache::finalize();
  if (outstanding.host(7) != 7) std::exit(wrong_value);  // opened for pointers that outlive the runtime
  std::exit(43);
}

// --- exit() from a second thread while another faults ----------------------------------------------------------------
constexpr int pages = 4096;
std::atomic<int> pages_read{0};
double* leaked_data = nullptr;

void wait_for_pages(int n) {
  while (pages_read.load() < n) std::this_thread::yield();
}

/// Destroyed after everything that was made later, the runtime's own end included.
struct Last {
  bool armed = false;
  ~Last() {
    if (armed) wait_for_pages(pages);
  }
} last;

int from_a_second_thread() {
  initialize();
  // Leaked: a view must not be destroyed while another thread uses it, not even by exit(). Static, as all leaked views
  // here, so that a leak checker sees that this is on purpose.
  static auto& device = *new Vector(on_last_device("device", pages * elements_per_page));
  static auto& host = *new Mirror(Kokkos::create_mirror_view(device));
  leaked_data = host.data();
  iota(device);
  Kokkos::deep_copy(host, device);
#ifndef KOKKOS_ENABLE_CUDA  // there the driver has gone by then, and what is stale with it
  last.armed = true;
#endif
  std::atexit([] { wait_for_pages(pages * 3 / 4); });
  std::thread reader([] {
    for (int n = 0; n < pages; ++n) {
      const int at = n * 1021 % pages * elements_per_page;  // no order that reading ahead could use
      if (leaked_data[at] != at) std::_Exit(wrong_value);
      ++pages_read;
    }
  });
  reader.detach();  // exit() comes first
  wait_for_pages(pages / 4);
  std::thread([] { std::exit(44); }).join();
  return wrong_value;
}

// --- views in every order of destruction -----------------------------------------------------------------------------
/// Constructed before the runtime starts, destroyed after its own handler of exit() has run.
struct Early {
  Vector device;
  Mirror host;
} early;

#ifndef KOKKOS_ENABLE_CUDA  // there Kokkos' own views end such a program: their destructors ask a driver that has gone
void use_early() {
  Kokkos::deep_copy(early.host, early.device);
  if (early.host(elements_per_page) != elements_per_page) std::_Exit(wrong_value);
}

void make_static_views() {
  std::atexit(&use_early);  // runs after the runtime's handler of exit(), before `early` is destroyed
  initialize();
  early.device = on_last_device("early device", 1 << 16);
  early.host = Kokkos::create_mirror_view(early.device);
  iota(early.device);
  static Vector late = on_last_device("late device", 1 << 16);
  static Mirror late_host = Kokkos::create_mirror_view(late);
  for (int i = 0; i < 1 << 16; ++i) late_host(i) = i;
  Kokkos::deep_copy(late, late_host);
  static auto* const leaked = new Vector(on_last_device("leaked device", 1 << 16));
  static auto* const leaked_host = new Mirror(Kokkos::create_mirror_view(*leaked));
  iota(*leaked);
  Kokkos::deep_copy(*leaked_host, *leaked);
  Kokkos::deep_copy(early.host, *leaked);
}

int from_main_with_static_views() {
  make_static_views();
  return 45;
}
#endif

int with_a_report() {
  ::setenv("SEMCACHE_REPORT", "stderr", 1);
  initialize();
  static const auto& outstanding = *new Outstanding;
  return outstanding.device.extent(0) != 0 ? 46 : wrong_value;
}

/// (Views that are destroyed after Kokkos::finalize are ended by Kokkos itself, whatever their memory space.)
int with_static_views_after_the_runtime_has_ended() {
  initialize();
  early.device = on_last_device("early device", 1 << 16);
  early.host = Kokkos::create_mirror_view(early.device);
  static Vector large = on_last_device("large device", 1 << 19);  // its header's address lies in a page of its own
  static Mirror large_host = Kokkos::create_mirror_view(large);
  iota(large);
  Kokkos::deep_copy(large_host, large);
  iota(early.device);
  Kokkos::deep_copy(early.host, early.device);
  semcache::finalize();
  // The mirrors keep their content.
  return early.host(7) == 7 && large_host((1 << 19) - 1) == (1 << 19) - 1 ? 47 : wrong_value;
}

int with_leaked_views_after_finalize() {
  initialize();
  static auto* const device = new Vector(on_last_device("leaked device", 1 << 16));
  static auto* const host = new Mirror(Kokkos::create_mirror_view(*device));
  iota(*device);
  Kokkos::deep_copy(*host, *device);
  Kokkos::finalize();
  return (*host)((1 << 16) - 1) == (1 << 16) - 1 ? 48 : wrong_value;
}

#ifndef KOKKOS_ENABLE_CUDA  // CUDA's own handlers of exit() are not made for a forked child
int from_a_forked_child() {
  ::setenv("SEMCACHE_REPORT", "stderr", 1);
  initialize();
  static Vector device = on_last_device("static device", 1 << 16);
  static Mirror host = Kokkos::create_mirror_view(device);
  iota(device);
  Kokkos::deep_copy(host, device);
  const pid_t child = ::fork();
  if (child == 0) std::exit(50);  // with the parent's static views, and its handlers of exit()
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 50) return wrong_value;
  return host(7) == 7 ? 49 : wrong_value;
}
#endif

struct Scenario {
  const char* name;
  int (*run)();
};
constexpr Scenario scenarios[] = {
    {"from_main", &from_main},
    {"from_main_after_the_runtime_has_ended", &from_main_after_the_runtime_has_ended},
    {"from_a_second_thread", &from_a_second_thread},
    {"with_a_report", &with_a_report},
    {"with_static_views_after_the_runtime_has_ended", &with_static_views_after_the_runtime_has_ended},
    {"with_leaked_views_after_finalize", &with_leaked_views_after_finalize},
#ifndef KOKKOS_ENABLE_CUDA
    {"from_main_with_static_views", &from_main_with_static_views},
    {"from_a_forked_child", &from_a_forked_child},
#endif
};

Ended expect_exit(const char* scenario, int status) {
  Ended ended = run_scenario(scenario);
  EXPECT_TRUE(ended.with(status)) << scenario << ": " << ended.story();
  EXPECT_EQ(ended.output.find("semcache: "), std::string::npos) << ended.story();
  return ended;
}

void expect_one_report(const Ended& ended) {
  const std::size_t first = ended.output.find("SemCache report");
  EXPECT_NE(first, std::string::npos) << ended.story();
  EXPECT_EQ(ended.output.find("SemCache report", first + 1), std::string::npos) << ended.story();
}

}  // namespace kokkos_exit
using namespace kokkos_exit;

TEST(KokkosExit, FromMainWithLiveViewsAndPendingWork) { expect_exit("from_main", 42); }

TEST(KokkosExit, AfterTheRuntimeHasEnded) { expect_exit("from_main_after_the_runtime_has_ended", 43); }

TEST(KokkosExit, FromASecondThreadWhileAnotherFaults) { expect_exit("from_a_second_thread", 44); }

TEST(KokkosExit, WritesTheReportOnce) { expect_one_report(expect_exit("with_a_report", 46)); }

TEST(KokkosExit, WithStaticViewsThatOutliveTheRuntime) {
  expect_exit("with_static_views_after_the_runtime_has_ended", 47);
}

TEST(KokkosExit, WithLeakedViewsThatOutliveKokkos) { expect_exit("with_leaked_views_after_finalize", 48); }

#ifndef KOKKOS_ENABLE_CUDA
TEST(KokkosExit, WithStaticAndLeakedViews) { expect_exit("from_main_with_static_views", 45); }

TEST(KokkosExit, OfAForkedChildIsItsOwnAndWritesNoReport) {
  // At its end LeakSanitizer takes the locks of its allocator, which another thread of the parent may have had at the fork.
  ::setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  expect_one_report(expect_exit("from_a_forked_child", 49));
  ::unsetenv("LSAN_OPTIONS");
}
#endif

namespace {
struct NotWithThreads : testing::Environment {
  void SetUp() override {
    if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads crashes where a program ends without Kokkos::finalize";
  }
};
}  // namespace

int main(int argc, char** argv) {
  for (const Scenario& scenario : scenarios) {
    if (argc == 2 && std::strcmp(argv[1], scenario.name) == 0) return scenario.run();
  }
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new NotWithThreads);
  return RUN_ALL_TESTS();
}
