// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>
#include <semcache/trace/report.hpp>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

// What host accesses to a few places of an array bring over, step after step: exact bytes and faults.
namespace kokkos_read_ahead {
using namespace test;

constexpr std::uint64_t page = 4096;
constexpr std::size_t page_doubles = page / sizeof(double);
constexpr std::uint64_t KiB = 1024;

using Rows = Kokkos::View<double**, Kokkos::LayoutRight, Device>;

void add_index(const Vector& v) {
  Kokkos::parallel_for(
      "add", Range(0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) += i; });
}
void add_column(const Rows& a) {
  Kokkos::parallel_for(
      "add rows", Range(0, a.extent(0)), KOKKOS_LAMBDA(int i) {
        for (int j = 0; j < int(a.extent(1)); ++j) a(i, j) += j;
      });
}

struct Moved {
  std::uint64_t d2h, h2d, faults, write_ahead;
};
bool operator==(const Moved& a, const Moved& b) {
  return a.d2h == b.d2h && a.h2d == b.h2d && a.faults == b.faults && a.write_ahead == b.write_ahead;
}
std::ostream& operator<<(std::ostream& out, const Moved& m) {
  return out << "{to host " << m.d2h << ", to device " << m.h2d << ", faults " << m.faults << ", opened ahead "
             << m.write_ahead << "}";
}

/// There faults are cheaper against bytes, so that chunks grow more slowly.
bool emulated() { return semcache::statistics().device_kind == "emulated"; }

/// Since its construction.
class Movement {
 public:
  [[nodiscard]] Moved moved() const {
    const semcache::Counters now = semcache::statistics().total;
    return {now.d2h.bytes - begin_.d2h.bytes, now.h2d.bytes - begin_.h2d.bytes, now.host_faults - begin_.host_faults,
            now.write_ahead.bytes - begin_.write_ahead.bytes};
  }
  [[nodiscard]] std::uint64_t lost() const {
    return semcache::statistics().total.read_ahead_lost.bytes - begin_.read_ahead_lost.bytes;
  }

 private:
  semcache::Counters begin_ = semcache::statistics().total;
};

}  // namespace kokkos_read_ahead
using namespace kokkos_read_ahead;

KOKKOS_TEST(KokkosReadAhead, TwoElementsWrittenInEachStepMoveTwoPages) {
  constexpr int n = 1 << 20;  // 8 MiB
  Vector v("v", n);
  auto h = Kokkos::create_mirror_view(v);
  Kokkos::deep_copy(v, 1.0);
  for (int k = 0; k < 8; ++k) {
    add_index(v);
    const Movement movement;
    Kokkos::deep_copy(h, v);
    h(100) = k;
    h(100 + 2048) = k;
    Kokkos::deep_copy(v, h);
    add_index(v);
    EXPECT_EQ(movement.moved(), (Moved{2 * page, 2 * page, 2, 0})) << "step " << k;
  }
  Kokkos::deep_copy(h, v);
  EXPECT_EQ(h(100), 7.0 + 100);
  EXPECT_EQ(h(101), 1 + 16 * 101.0);
}

KOKKOS_TEST(KokkosReadAhead, TwoElementsReadInEachStepMoveTwoSmallChunks) {
  constexpr int rows = 256, columns = 4096;  // 8 MiB, rows of 32 KiB
  Rows a("a", rows, columns);
  auto h = Kokkos::create_mirror_view(a);
  const Movement all;
  for (int k = 0; k < 12; ++k) {
    Kokkos::deep_copy(a, double(k));
    add_column(a);
    Kokkos::deep_copy(h, a);
    const Movement movement;
    EXPECT_EQ(h(rows / 2, 2048), k + 2048.0);
    EXPECT_EQ(h(rows / 2, 0), k);  // 16 KiB in front
    EXPECT_EQ(movement.moved(), (Moved{32 * KiB, 0, 2, 0})) << "step " << k;
  }
  // Nothing shows that more than the faulting pages were used. The last step's may yet be.
  EXPECT_EQ(all.lost(), 11 * 2 * 3 * page);
}

KOKKOS_TEST(KokkosReadAhead, GhostRowsMoveThemselvesAndLittleMore) {
  constexpr int n = 1024, ghosts = 2;  // 8 MiB, rows of two pages
  semcache::DualView<double**, Kokkos::LayoutRight, Device> u("u", n, n);
  const auto d = u.view_device();
  const auto h = u.view_host();
  for (int k = 0; k < 10; ++k) {
    add_column(d);
    const Movement movement;
    for (int j = 0; j < n; ++j) {
      for (int q = 0; q < ghosts; ++q) {
        h(q, j) = h(n - 2 * ghosts + q, j);
        h(n - 1 - q, j) = h(2 * ghosts - 1 - q, j);
      }
    }
    // Used: 8 rows of 2 pages. Read ahead besides: the row behind the ghosts.
    EXPECT_EQ(movement.moved().d2h, 18 * page) << "step " << k;
    EXPECT_EQ(movement.moved().faults, 10u) << "step " << k;
    add_column(d);
    // Written: 4 rows. One of their pages was opened ahead.
    EXPECT_EQ(movement.moved().h2d, 8 * page) << "step " << k;
    EXPECT_EQ(movement.moved().write_ahead, page) << "step " << k;
  }
  EXPECT_EQ(h(n / 2, 3), 20 * 3.0);
}

/// A kernel has written: what a sweep had grown to before says nothing.
KOKKOS_TEST(KokkosReadAhead, ASweepBeginsAnewBehindAKernel) {
  constexpr int n = 1 << 20;
  Vector v("v", n);
  auto h = Kokkos::create_mirror_view(v);
  for (int k = 0; k < 4; ++k) {
    Kokkos::deep_copy(v, 0.0);
    add_index(v);
    Kokkos::deep_copy(h, v);
    const Movement sweep;
    double sum = 0;
    for (int i = 0; i < n / 2; ++i) sum += h(i);
    EXPECT_EQ(sum, n / 2 * (n / 2 - 1.0) / 2);
    EXPECT_EQ(sweep.moved().faults, emulated() ? 6u : 5u) << "step " << k;

    add_index(v);
    Kokkos::deep_copy(h, v);
    const Movement one;
    EXPECT_EQ(h(n / 2 + 5), 2 * (n / 2 + 5.0));
    EXPECT_EQ(one.moved(), (Moved{16 * KiB, 0, 1, 0})) << "step " << k;
  }
}

KOKKOS_TEST(KokkosReadAhead, AReadOfAllIsNotLost) {
  constexpr int n = (1 << 20) + 7;
  Vector v("v", n);
  auto h = Kokkos::create_mirror_view(v);
  for (const bool up : {true, false}) {
    add_index(v);
    Kokkos::deep_copy(h, v);
    const Movement movement;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += h(up ? i : n - 1 - i);
    EXPECT_GT(sum, 0);
    EXPECT_EQ(movement.moved().d2h, n * sizeof(double));
    EXPECT_EQ(movement.moved().faults, 6u);
    add_index(v);
    Kokkos::deep_copy(h, v);
    EXPECT_EQ(movement.lost(), 0u);
  }
}

/// Of an array that is probed, but of none that is swept, written here and there, or probed a few times only.
KOKKOS_TEST(KokkosReadAhead, TheReportNamesArraysWhoseForecastLost) {
  constexpr int n = 1 << 18;
  Vector probed("probed", n), swept("swept", n), written("written", n), once("once", n);
  const auto probed_h = Kokkos::create_mirror_view(probed);
  const auto swept_h = Kokkos::create_mirror_view(swept);
  const auto written_h = Kokkos::create_mirror_view(written);
  const auto once_h = Kokkos::create_mirror_view(once);
  for (int k = 0; k < 6; ++k) {
    for (const auto& [device, host] :
         {std::pair(probed, probed_h), {swept, swept_h}, {written, written_h}, {once, once_h}}) {
      add_index(device);
      Kokkos::deep_copy(host, device);
    }
    double sum = k == 0 ? once_h(5) : 0.0;
    for (int i = 0; i < n; ++i) sum += swept_h(i);
    sum += probed_h(50000) + probed_h(0);
    written_h(n / 2) = sum;
    written_h(n / 4) = sum;
  }
  std::string found;
  for (const semcache::trace::Advice& advice : semcache::trace::advice(semcache::statistics())) {
    if (advice.text.rfind("Read ahead of host faults", 0) == 0) found = advice.text;
  }
  EXPECT_NE(found.find("probed_mirror (120.0 KiB)"), std::string::npos) << found;  // 5 times 2 times 3 pages
  for (const char* other : {"swept", "written", "once"}) EXPECT_EQ(found.find(other), std::string::npos) << found;
}

/// Each thread sweeps its own part: as many faults as if it were alone.
KOKKOS_TEST(KokkosReadAhead, SweepsOfSeveralThreads) {
  constexpr int n = 1 << 20, threads = 4;
  for (const bool writes : {false, true}) {
    Vector v("v", n);
    auto h = Kokkos::create_mirror_view(v);
    add_index(v);
    Kokkos::deep_copy(h, v);
    const Movement movement;
    std::vector<std::thread> team;
    std::vector<double> sums(threads * page_doubles);
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        double sum = 0;
        for (int i = t * (n / threads); i < (t + 1) * (n / threads); ++i) {
          if (writes) h(i) = 1;
          sum += h(i);
        }
        sums[t * page_doubles] = sum;
      });
    }
    for (std::thread& t : team) t.join();
    double sum = 0;
    for (int t = 0; t < threads; ++t) sum += sums[t * page_doubles];
    EXPECT_EQ(sum, writes ? n : n / 2.0 * (n - 1));
    EXPECT_EQ(movement.moved().d2h, n * sizeof(double));
    EXPECT_LE(movement.moved().faults, threads * 12u);
  }
}
