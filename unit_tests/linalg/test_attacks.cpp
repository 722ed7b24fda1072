// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "fixture.hpp"

#include <semcache/policy/decomposition.hpp>
#include <semcache/tasks/tasks.hpp>

#include <gtest/gtest.h>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>

namespace semcache::linalg {
namespace {

class LinalgAttacks : public LinalgTest<> {};

// `finalize` does not change the epoch, so a wait between two runtimes must not take the lanes of the former for those of the next.
TEST_F(LinalgAttacks, AWaitBehindTheEndOfTheRuntimeIsNone) {
  for (int round = 0; round < 2; ++round) {
    on_devices(4, [] {
      Array<double> x(1000, Where::host);
      std::fill(x.data(), x.data() + 1000, 1.0);
      scal(1000, 2.0, x.data());
      EXPECT_EQ(x.data()[999], 2.0);
    });
    wait();
  }
}

// A small contiguous matrix is found inside one column of a tile of another leading dimension.
TEST_F(LinalgAttacks, AMatrixInsideOneColumnOfATile) {
  on_devices(1, [] {
    constexpr std::int64_t ld = 200;
    Array<double> work(ld * 20, Where::host), eye(16, Where::host), c(16, Where::host), big(100 * 20, Where::host);
    for (std::int64_t i = 0; i < ld * 20; ++i) work.data()[i] = static_cast<double>(i);
    std::fill(eye.data(), eye.data() + 16, 0.0);
    for (int i = 0; i < 4; ++i) eye.data()[i * 5] = 1.0;
    Array<double> x(20, Where::host), y(100, Where::host);
    std::fill(x.data(), x.data() + 20, 1.0);
    gemv(Transpose::no, 100, 20, 1.0, work.data(), ld, x.data(), 0.0, y.data());
    EXPECT_EQ(y.data()[0], ld * 190.0);
    // 4 x 4 at the beginning of the same memory.
    gemm(Transpose::no, Transpose::no, 4, 4, 4, 1.0, work.data(), 4, eye.data(), 4, 0.0, c.data(), 4);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(c.data()[i], i) << i;
  });
}

// A tile whose columns are no whole number of elements of another type is none for a matrix of that type.
TEST_F(LinalgAttacks, ATileOfNarrowElementsIsNoneOfWideOnes) {
  on_devices(1, [] {
    Array<double> work(3 * 10, Where::host);  // as floats: leading dimension 6
    auto* const floats = reinterpret_cast<float*>(work.data());
    std::fill(floats, floats + 60, 1.0F);
    Array<float> x(10, Where::host), y(3, Where::host);
    std::fill(x.data(), x.data() + 10, 1.0F);
    gemv(Transpose::no, 3, 10, 1.0F, floats, 6, x.data(), 0.0F, y.data());
    EXPECT_EQ(y.data()[2], 10.0F);
    for (int i = 0; i < 30; ++i) work.data()[i] = i;
    Array<double> dx(10, Where::host), dy(1, Where::host);
    std::fill(dx.data(), dx.data() + 10, 1.0);
    gemv(Transpose::no, 1, 10, 1.0, work.data(), 3, dx.data(), 0.0, dy.data());  // the first of three rows
    EXPECT_EQ(dy.data()[0], 135.0);
  });
}

// A call on small parts does not need the memory of the large tiles in which they lie.
TEST_F(LinalgAttacks, SmallPartsOfVectorsFitWhereAWholeVectorDoes) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "1M");
  on_devices(1, [] {
    constexpr std::int64_t n = 80 * 1024;  // 640 KiB each
    Array<double> x(n, Where::host), y(n, Where::host);
    std::fill(x.data(), x.data() + n, 1.0);
    std::fill(y.data(), y.data() + n, 1.0);
    scal(n, 2.0, x.data());
    scal(n, 2.0, y.data());
    EXPECT_NO_THROW(axpby(100, 1.0, x.data(), 1.0, y.data()));
    EXPECT_EQ(y.data()[99], 4.0);
    EXPECT_EQ(y.data()[100], 2.0);
  });
}

// Nor does a call on parts that are not small, whether it comes before or behind the calls that made the large tiles.
TEST_F(LinalgAttacks, PartsOfVectorsFitWhereOneWholeVectorDoes) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "16M");
  for (const bool before : {false, true}) {
    on_devices(1, [&] {
      constexpr std::int64_t n = 1200 * 1024, part = 320 * 1024;  // 9.4 and 2.5 MiB
      Array<double> x(n, Where::host), y(n, Where::host);
      std::fill(x.data(), x.data() + n, 1.0);
      std::fill(y.data(), y.data() + n, 1.0);
      if (before) axpby(part, 1.0, x.data(), 1.0, y.data());
      scal(n, 2.0, x.data());
      scal(n, 2.0, y.data());
      EXPECT_NO_THROW(axpby(part, 1.0, x.data(), 1.0, y.data()));
      EXPECT_EQ(y.data()[part - 1], before ? 6.0 : 4.0);
      EXPECT_EQ(y.data()[part], 2.0);
    });
  }
}

// The tasks of a product with a symmetric matrix may fill the device, so there is no room for tiles of other calls.
TEST_F(LinalgAttacks, PartsOfAProductFitWhereOtherCallsHaveUsedWholeMatrices) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "16M");
  for (const bool before : {false, true}) {
    on_devices(1, [&] {
      constexpr std::int64_t m = 1000, n = 700;  // A: 7.6 MiB; B and C: 5.3 MiB each
      Array<double> a(m * m, Where::host), b(m * n, Where::host), c(m * n, Where::host);
      for (const Array<double>* array : {&a, &b, &c}) std::fill(array->data(), array->data() + array->count(), 1.0);
      const auto product = [&] {
        symm(Side::left, Triangle::upper, m, n, 1.0, a.data(), m, b.data(), m, 0.0, c.data(), m);
      };
      if (before) product();
      scal(m * n, 2.0, b.data());
      scal(m * n, 2.0, c.data());
      EXPECT_NO_THROW(product());
      EXPECT_EQ(c.data()[m * n - 1], 2.0 * m);
    });
  }
}

// A share that does not fit is cut into tasks that do, each with tiles of its own.
TEST_F(LinalgAttacks, TasksThatFitTheBudgetNeedNotFitTogether) {
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "1M");
  set_options({Spread::always, 0, 16});
  on_devices(1, [] {
    constexpr std::int64_t n = 128, m = 2048;  // A: 128 KiB; B and C: 2 MiB each
    Array<double> a(n * n, Where::host), b(n * m, Where::host), c(n * m, Where::host);
    std::fill(a.data(), a.data() + n * n, 1.0);
    std::fill(b.data(), b.data() + n * m, 1.0);
    EXPECT_NO_THROW(gemm(Transpose::no, Transpose::no, n, m, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n));
    EXPECT_EQ(c.data()[n * m - 1], static_cast<double>(n));
  });
}

// Memory of malloc does not begin at a page, and the bytes in front of the first page are ordinary memory (test_stand_ins.cpp has more).
TEST_F(LinalgAttacks, AdoptedMemoryMayBeginInAPage) {
  on_devices(2, [] {
    constexpr std::int64_t n = 10000;
    std::vector<double> v(n + 1, 1.0);
    double* const x = v.data() + 1;
    runtime::adopt(x, n * sizeof(double), "v");
    scal(n, 2.0, x);
    EXPECT_THROW(scal(n + 1, 2.0, x), UsageError);
    runtime::release(x);
    EXPECT_EQ(x[0], 2.0);
    EXPECT_EQ(x[n - 1], 2.0);
    EXPECT_EQ(v[0], 1.0);
  });
}

TEST_F(LinalgAttacks, AMatrixWithoutEntriesNeedsNoArraysOfThem) {
  on_devices(3, [] {
    Array<std::int32_t> rows(11, Where::host);
    std::fill(rows.data(), rows.data() + 11, 0);
    Array<double> x(5, Where::host), y(10, Where::host);
    x.set(std::vector<double>(5, 1.0));
    y.set(std::vector<double>(10, 3.0));
    const Csr<double> a{10, 5, 0, rows.data(), nullptr, nullptr};
    EXPECT_NO_THROW(spmv(1.0, a, x.data(), 2.0, y.data()));
    EXPECT_EQ(y.get(), std::vector<double>(10, 6.0));
  });
}

// Three queues and four lanes of each of 14 devices would be more than a process can have.
TEST_F(LinalgAttacks, AProductOnSixteenDevices) {
  set_options({Spread::always, 0, 4});
  on_devices(16, [] {
    constexpr std::int64_t n = 128;
    Array<double> a(n * n, Where::host), b(n * n, Where::host), c(n * n, Where::host);
    std::fill(a.data(), a.data() + n * n, 1.0);
    std::fill(b.data(), b.data() + n * n, 1.0);
    EXPECT_NO_THROW(gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n));
    EXPECT_EQ(c.data()[n * n - 1], static_cast<double>(n));
    wait();
    gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
    wait();
    EXPECT_EQ(statistics().total.device_waits, 0u);
    bool all = true;
    for (std::uint32_t d = 0; d < 16; ++d) {
      for (std::uint32_t l = 0; l < tasks::lanes_of_device; ++l) all = all && tasks::lane(d, l).queue.value != 0;
    }
    EXPECT_TRUE(all) << "a lane has no queue of its own, and its stream has been destroyed";
  });
}

// Finding the place of a task's part takes no longer where there are many.
TEST_F(LinalgAttacks, ManyTasksTakeTimeInProportionToTheirNumber) {
  on_devices(1, [] {
    const auto seconds_of = [](std::uint64_t count) {
      Array<double> x(count * 4, Where::home);
      std::vector<policy::Task> cut;
      for (std::uint64_t i = 0; i < count; ++i) cut.push_back({0, 0, {{0, {4 * i, 4 * i + 2, 0, 1}, Access::read}}});
      double least = 1e9;
      for (int round = 0; round < 5; ++round) {
        timespec begin{}, end{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        tasks::run(cut, {{x.data(), count * 4, 1, count * 4, 8}}, [](const runtime::Stream&, const policy::Task&, const tasks::Operand*) {});
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        least = std::min(least, static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec));
      }
      return least;
    };
    const double few = seconds_of(1000), many = seconds_of(10000);
    EXPECT_LT(many, 30 * few) << few << " s, " << many << " s";
  });
}

// The answer is known after three runs.
TEST_F(LinalgAttacks, ACutOfManyHeldRunsIsQuick) {
  std::vector<policy::Held> held;
  for (std::uint64_t i = 0; i < 40000; ++i) held.push_back({{i * 10, i * 10 + 10}, static_cast<std::uint32_t>(i % 2)});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(policy::cut_as_held(400000, held, 2).empty());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 0.2);
}

// The arrays for sums, and the values of patterns, are freed at the end of the runtime, which would stay otherwise.
TEST_F(LinalgAttacks, ARuntimeThatHasSummedEnds) {
  const auto one = [] {
    on_devices(2, [] {
      Array<double> x(1000, Where::home);
      x.set(std::vector<double>(1000, 1.0));
      EXPECT_EQ(dot(1000, x.data(), x.data()), 1000.0);
    });
  };
  one();
  const long before = kib_of_addresses();
  for (int i = 0; i < 5; ++i) one();
  EXPECT_LT(kib_of_addresses() - before, 1L << 20);
}

TEST_F(LinalgAttacks, ResultsOnTilesReachAdoptedMemoryThatIsReleased) {
  on_devices(3, [] {
    constexpr std::size_t page = 4096, n = 16 * page / sizeof(double);
    auto* const x = static_cast<double*>(std::aligned_alloc(page, n * sizeof(double)));
    std::fill(x, x + n, 1.0);
    runtime::adopt(x, n * sizeof(double), "x");
    scal(static_cast<std::int64_t>(n), 3.0, x);
    runtime::release(x);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(x[i], 3.0);
    runtime::adopt(x, n * sizeof(double), "x again");
    scal(static_cast<std::int64_t>(n), 2.0, x);
    finalize();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(x[i], 6.0);
    std::free(x);
  });
}

TEST_F(LinalgAttacks, SidesOfAnArrayAreFreedInAnyOrderAndAtOnce) {
  for (int order = 0; order < 3; ++order) {
    SCOPED_TRACE(order);
    on_devices(3, [&] {
      for (int round = 0; round < 40; ++round) {
        constexpr std::size_t n = 3000;
        auto* const device = static_cast<double*>(runtime::allocate_device("two-sided", n * sizeof(double), 0));
        auto* const host = static_cast<double*>(runtime::allocate_host("two-sided", n * sizeof(double), device));
        std::fill(host, host + n, 1.0);
        runtime::copy(device, host, n * sizeof(double), runtime::queue_of(nullptr));
        scal(static_cast<std::int64_t>(n), 2.0, round % 2 == 0 ? device : host);
        if (order == 0) {
          runtime::deallocate(device);
          ASSERT_EQ(host[n - 1], 2.0);
          scal(static_cast<std::int64_t>(n), 2.0, host);
          ASSERT_EQ(host[n - 1], 4.0);
          runtime::deallocate(host);
        } else if (order == 1) {
          runtime::deallocate(host);
          ASSERT_EQ(dot(static_cast<std::int64_t>(n), device, device), 4.0 * n);
          runtime::deallocate(device);
        } else {
          std::thread other([&] { runtime::deallocate(host); });
          runtime::deallocate(device);
          other.join();
        }
      }
      const Statistics s = statistics();
      (void)s;
    });
  }
}

/// A column-major matrix and the numbers that it should have.
struct Model {
  std::vector<double> is;
};

/// Sub-matrices of one array under many leading dimensions, of which products are written in place, between accesses of the host, copies and
/// kernels; more than 64 tiles.
void attack(int devices, Where where, unsigned seed, int calls, bool announce) {
  on_devices(devices, [&] {
    constexpr std::size_t total = 6000;
    Array<double> a(total, where), other(total, Where::home);
    std::mt19937_64 engine(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(engine() % n); };
    std::vector<double> is(total), is_other(total);
    for (double& v : is) v = static_cast<double>(pick(5));
    for (double& v : is_other) v = static_cast<double>(pick(5));
    const auto set_all = [&] {
      if (announce && where == Where::host) access(a.data(), total * 8, Access::write);
      a.set(is);
      other.set(is_other);
    };
    set_all();
    struct Sub {
      std::size_t first, rows, columns, ld;
    };
    const auto sub = [&](std::size_t rows, std::size_t columns, std::size_t begin, std::size_t end) {
      // ld so that it fits [begin, end)
      for (;;) {
        const std::size_t most = columns > 1 ? (end - begin - rows) / (columns - 1) : rows + 9;
        if (most < rows) {
          rows = std::max<std::size_t>(1, rows / 2);
          continue;
        }
        const std::size_t ld = rows + pick(std::min<std::size_t>(most - rows + 1, 40));
        const std::size_t span = (columns - 1) * ld + rows;
        return Sub{begin + pick(end - begin - span + 1), rows, columns, ld};
      }
    };
    const auto clamp = [&](double& v) { if (v > 1e6 || v < -1e6) v = 1; };
    for (int call = 0; call < calls; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      switch (pick(9)) {
        case 0: case 1: case 2: {
          const std::size_t m = 1 + pick(30), n = 1 + pick(pick(4) == 0 ? 90 : 20), k = 1 + pick(12);
          std::size_t cuts[3] = {0, 2000, 4000};
          std::swap(cuts[pick(3)], cuts[pick(3)]);
          // C in a third of its own
          const Sub sa = sub(m, k, cuts[0], cuts[0] + 2000), sb = sub(k, n, cuts[1], cuts[1] + 2000), sc = sub(m, n, cuts[2], cuts[2] + 2000);
          if (sa.rows != m || sb.rows != k || sc.rows != m) break;
          const double beta = static_cast<double>(pick(2));
          set_options({Spread::always, 0, pick(6), pick(4)});
          gemm(Transpose::no, Transpose::no, static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), static_cast<std::int64_t>(k), 1.0, a.data() + sa.first,
               static_cast<std::int64_t>(sa.ld), a.data() + sb.first, static_cast<std::int64_t>(sb.ld), beta, a.data() + sc.first, static_cast<std::int64_t>(sc.ld));
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < m; ++i) {
              double sum = 0;
              for (std::size_t l = 0; l < k; ++l) sum += is[sa.first + l * sa.ld + i] * is[sb.first + j * sb.ld + l];
              double& c = is[sc.first + j * sc.ld + i];
              c = sum + beta * c;
            }
          }
          break;
        }
        case 3: {  // interleaved: C = rows [r, r + m) of a matrix, A = other rows of the same columns
          const std::size_t ld = 40 + pick(30), n = 1 + pick(70), m = 1 + pick(10), k = 1 + pick(10), r = k + pick(10), base = pick(total - ld * n - 1 > total ? 1 : total - ld * n);
          // B = rows [0, k), columns as C; A in `other`
          gemm(Transpose::no, Transpose::no, static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), static_cast<std::int64_t>(k), 1.0, other.data(), 15,
               a.data() + base, static_cast<std::int64_t>(ld), 1.0, a.data() + base + r, static_cast<std::int64_t>(ld));
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < m; ++i) {
              double sum = 0;
              for (std::size_t l = 0; l < k; ++l) sum += is_other[l * 15 + i] * is[base + j * ld + l];
              is[base + j * ld + r + i] += sum;
            }
          }
          break;
        }
        case 4: {
          const std::size_t n = 1 + pick(2000), x = pick(2000), y = 4000 - n + pick(2000);
          if (x + n > y) break;
          axpby(static_cast<std::int64_t>(n), 2.0, a.data() + x, pick(2) == 0 ? 0.0 : 1.0, other.data() + y);
          // recomputed from what it is
          if (true) {
            const std::vector<double> now = other.get();
            for (std::size_t i = 0; i < n; ++i) {
              ASSERT_TRUE(now[y + i] == 2.0 * is[x + i] || now[y + i] == 2.0 * is[x + i] + is_other[y + i]) << i;
            }
            is_other = now;
          }
          break;
        }
        case 5: {
          const std::size_t n = 1 + pick(total), x = pick(total - n + 1);
          scal(static_cast<std::int64_t>(n), -1.0, a.data() + x);
          for (std::size_t i = 0; i < n; ++i) is[x + i] = -is[x + i];
          break;
        }
        case 6: {
          const std::size_t n = 1 + pick(total), x = pick(total - n + 1);
          double sum = 0;
          for (std::size_t i = 0; i < n; ++i) sum += is[x + i] * is[x + i];
          ASSERT_NEAR(dot(static_cast<std::int64_t>(n), a.data() + x, a.data() + x), sum, std::abs(sum) * 1e-9);
          break;
        }
        case 7: {
          const std::size_t n = 1 + pick(100), x = pick(total - n + 1);
          std::vector<double> some(n, static_cast<double>(pick(7)));
          if (where == Where::host && !announce && pick(2) == 0) {
            std::copy(some.begin(), some.end(), a.data() + x);
          } else {
            runtime::copy(a.data() + x, some.data(), n * 8, runtime::queue_of(nullptr));
          }
          std::copy(some.begin(), some.end(), is.begin() + static_cast<std::ptrdiff_t>(x));
          break;
        }
        case 8: {  // a copy of all to the other, and back
          runtime::copy(other.data(), a.data(), total * 8, runtime::queue_of(nullptr));
          is_other = is;
          break;
        }
      }
      if (std::any_of(is.begin(), is.end(), [](double v) { return std::abs(v) > 1e6; })) {
        for (double& v : is) clamp(v);
        for (double& v : is_other) clamp(v);
        set_all();
      }
      if (pick(3) == 0 || call + 1 == calls) {
        if (announce && where == Where::host) access(a.data(), total * 8, Access::read);
        const std::vector<double> now = a.get();
        for (std::size_t i = 0; i < total; ++i) ASSERT_EQ(now[i], is[i]) << i;
      }
    }
  });
}

TEST_F(LinalgAttacks, SubMatricesOfOneArrayUnderManyLeadingDimensions) {
  const char* const calls = std::getenv("ATTACK_CALLS");
  const char* const rounds = std::getenv("ATTACK_ROUNDS");
  const char* const first = std::getenv("ATTACK_SEED");
  const char* const announce = std::getenv("ATTACK_ANNOUNCE");
  const unsigned seed = first != nullptr ? static_cast<unsigned>(std::atoi(first)) : 0;
  for (unsigned round = 0; round < (rounds != nullptr ? static_cast<unsigned>(std::atoi(rounds)) : 6); ++round) {
    const int devices = 1 + static_cast<int>((seed + round) % 5);
    const Where places[] = {Where::host, Where::home, Where::last_device};
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    ASSERT_NO_THROW(attack(devices, places[(seed + round) % 3], seed + round, calls != nullptr ? std::atoi(calls) : 150, announce != nullptr));
    if (HasFatalFailure()) return;
  }
}

/// Threads that compute on columns of their own of shared matrices, so that tiles and pages are shared.
TEST_F(LinalgAttacks, ThreadsOnNeighbouringColumns) {
  for (int devices = 1; devices <= 4; ++devices) {
    SCOPED_TRACE(devices);
    on_devices(devices, [&] {
      constexpr std::int64_t n = 48, threads = 4, share = n / threads;
      for (const Where where : {Where::host, Where::home}) {
        Array<double> a(n * n, where), b(n * n, where), c(n * n, where);
        a.set(std::vector<double>(n * n, 1.0));
        b.set(std::vector<double>(n * n, 1.0));
        c.set(std::vector<double>(n * n, 0.0));
        gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);  // tiles of all
        std::vector<std::thread> all;
        for (std::int64_t t = 0; t < threads; ++t) {
          all.emplace_back([&, t] {
            for (int i = 0; i < 30; ++i) {
              gemm(Transpose::no, Transpose::no, n, share, n, 1.0, a.data(), n, b.data() + t * share * n, n, 1.0, c.data() + t * share * n, n);
              if (i % 7 == 0) {
                EXPECT_EQ(dot(10, a.data(), a.data()), 10.0);
              }
            }
          });
        }
        for (std::thread& t : all) t.join();
        for (const double v : c.get()) ASSERT_EQ(v, 31.0 * n);
      }
    });
  }
}

/// Threads that read parts of one matrix, more of them than stay as tiles, with vectors that come and go. What a thread computes in an array of its own
/// changes what the next round reads there.
TEST_F(LinalgAttacks, ThreadsWhoseTilesComeAndGo) {
  for (int devices = 1; devices <= 2; ++devices) {
    SCOPED_TRACE(devices);
    on_devices(devices, [&] {
      constexpr std::int64_t n = 96, most = 16;  // small parts lie in each other seldom, so most have a tile of their own
      const auto element = [](std::int64_t row, std::int64_t column) { return static_cast<double>(row + 3 * column); };
      Array<double> a(n * n, Where::host);
      for (std::int64_t i = 0; i < n * n; ++i) a.data()[i] = element(i % n, i / n);
      std::vector<std::thread> all;
      for (unsigned t = 0; t < 4; ++t) {
        all.emplace_back([&, t] {
          std::mt19937 random(17 * t + static_cast<unsigned>(devices));
          const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end)); };
          for (int round = 0; round < 150; ++round) {
            const std::int64_t row = below(n), column = below(n), rows = 1 + below(std::min(n - row, most)), columns = 1 + below(std::min(n - column, most));
            Array<double> x(columns, Where::host), y(rows, round % 2 == 0 ? Where::host : Where::home);
            std::fill(x.data(), x.data() + columns, 1.0);
            y.set(std::vector<double>(static_cast<std::size_t>(rows), 1.0));
            gemv(Transpose::no, rows, columns, 1.0, a.data() + column * n + row, n, x.data(), 1.0, y.data());
            scal(rows, 2.0, y.data());
            std::vector<double> expected;
            for (std::int64_t i = 0; i < rows; ++i) {
              double sum = 1;
              for (std::int64_t j = 0; j < columns; ++j) sum += element(row + i, column + j);
              expected.push_back(2 * sum);
            }
            ASSERT_EQ(y.get(), expected) << "thread " << t << ", round " << round << ": " << rows << " x " << columns << " at " << row << ", " << column;
          }
        });
      }
      for (std::thread& t : all) t.join();
    });
  }
}

/// Two threads that write the same rows of a matrix. Which of them comes last is open for each element, but there is no third value, and afterwards
/// all readers see the same.
TEST_F(LinalgAttacks, TwoThreadsThatWriteOverlappingTiles) {
  constexpr std::int64_t n = 48, rows = 32, overlap = 16;
  for (int devices = 1; devices <= 4; ++devices) {
    for (const Where where : {Where::host, Where::home}) {
      SCOPED_TRACE(devices);
      on_devices(devices, [&] {
        Array<double> a(n * n, where), b(n * n, where), c(n * n, where);
        a.set(std::vector<double>(n * n, 1.0));
        b.set(std::vector<double>(n * n, 1.0));
        c.set(std::vector<double>(n * n, 0.0));
        std::vector<std::thread> all;
        for (int t = 0; t < 2; ++t) {
          all.emplace_back([&, t] {
            for (int i = 0; i < 40; ++i) {
              gemm(Transpose::no, Transpose::no, rows, n, n, 1.0 + t, a.data(), n, b.data(), n, 0.0, c.data() + t * overlap, n);
            }
          });
        }
        for (std::thread& t : all) t.join();
        const double on_devices = dot(n * n, c.data(), c.data());
        const std::vector<double> is = c.get();
        double sum = 0;
        for (std::int64_t i = 0; i < n * n; ++i) {
          const double v = is[static_cast<std::size_t>(i)];
          const std::int64_t row = i % n;
          ASSERT_TRUE((row < rows && v == 1.0 * n) || (row >= overlap && v == 2.0 * n)) << "row " << row << ": " << v;
          sum += v * v;
        }
        EXPECT_EQ(on_devices, sum);
        EXPECT_EQ(c.get(), is);
        gemm(Transpose::no, Transpose::no, n, n, n, 3.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
        EXPECT_EQ(c.get(), std::vector<double>(n * n, 3.0 * n));
      });
    }
  }
}

// While the tasks of a call are submitted, the host reads one element that a task has computed, and changes one that a later task reads.
TEST_F(LinalgAttacks, TheHostUsesSingleElementsBetweenTheTasksOfACall) {
  on_devices(3, [] {
    constexpr std::uint32_t share = 1 << 15;
    constexpr std::uint64_t n = 3 * share;
    Array<double> x(n, Where::host);
    x.set(std::vector<double>(n, 1.0));
    std::vector<policy::Task> cut;
    for (std::uint32_t d = 0; d < 3; ++d) cut.push_back({d, 0, {{0, {d * share, (d + 1) * share, 0, 1}, Access::read_write}}});
    std::uint64_t fetched = 0;
    tasks::run(cut, {{x.data(), n, 1, n, 8}}, [&](const runtime::Stream&, const policy::Task& task, const tasks::Operand* at) {
      if (task.device == 1) {
        std::thread([&] {
          EXPECT_EQ(x.data()[share / 2], 2.0) << "of device 0";
          fetched = statistics().total.d2h.bytes;
          EXPECT_EQ(x.data()[2 * share + 100], 1.0) << "of device 2, later";
          x.data()[2 * share + 100] = 5.0;
        }).join();
      }
      for (std::uint32_t i = 0; i < share; ++i) static_cast<double*>(at[0].data)[i] *= 2;
    });
    EXPECT_LE(fetched, 16384U) << "for one element";
    std::vector<double> expected(n, 2.0);
    expected[2 * share + 100] = 10.0;
    EXPECT_EQ(x.get(), expected);
  });
}

// The host side of an array (as of a DualView) whose content other devices have computed: it reads what they have, each byte comes once, and what it
// changes is found by the next call.
TEST_F(LinalgAttacks, TheOtherSideOfAnArrayWhoseTilesLieElsewhere) {
  for (int devices = 2; devices <= 4; ++devices) {
    on_devices(devices, [] {
      constexpr std::size_t n = 40000, bytes = n * sizeof(double);
      auto* const device = static_cast<double*>(runtime::allocate_device("two-sided", bytes, 0));
      auto* const host = static_cast<double*>(runtime::allocate_host("two-sided", bytes, device));
      std::fill(host, host + n, 1.0);
      runtime::copy(device, host, bytes, runtime::queue_of(nullptr));
      scal(static_cast<std::int64_t>(n), 2.0, device);
      const std::uint64_t before = statistics().total.d2h.bytes;
      runtime::copy(host, device, bytes, runtime::queue_of(nullptr));
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(host[i], 2.0) << i;
      EXPECT_EQ(statistics().total.d2h.bytes - before, bytes);
      host[n - 7] = 50.0;
      runtime::copy(device, host, bytes, runtime::queue_of(nullptr));
      EXPECT_EQ(dot(static_cast<std::int64_t>(n), device, device), 4.0 * (n - 1) + 2500.0);
      runtime::deallocate(device);
      runtime::deallocate(host);
    });
  }
}

// A body that throws leaves what it did not compute as it was, and later calls work.
TEST_F(LinalgAttacks, ATaskThatThrows) {
  on_devices(3, [] {
    Array<double> x(900, Where::host);
    x.set(std::vector<double>(900, 1.0));
    const std::vector<tasks::Matrix> operands{{x.data(), 900, 1, 900, 8}};
    std::vector<policy::Task> cut;
    for (std::uint32_t d = 0; d < 3; ++d) cut.push_back({d, 0, {{0, {d * 300, d * 300 + 300, 0, 1}, Access::read_write}}});
    EXPECT_THROW(tasks::run(cut, operands,
                            [&](const runtime::Stream&, const policy::Task& t, const tasks::Operand* at) {
                              if (t.device == 1) throw DeviceError("no");
                              for (int i = 0; i < 300; ++i) static_cast<double*>(at[0].data)[i] = 2.0;
                            }),
                 DeviceError);
    EXPECT_EQ(x.data()[299], 2.0);
    EXPECT_EQ(x.data()[300], 1.0);
    EXPECT_EQ(x.data()[899], 1.0);
    scal(900, 2.0, x.data());
    EXPECT_EQ(x.data()[0], 4.0);
  });
}

// The same vector twice is right, a part of it that begins elsewhere is refused. Between two calls the host reads one element of the tiles.
TEST_F(LinalgAttacks, VectorsThatOverlap) {
  on_devices(3, [] {
    constexpr std::int64_t n = 9000;
    Array<double> x(n, Where::host);
    x.set(std::vector<double>(n, 1.0));
    axpby(n, 1.0, x.data(), 1.0, x.data());
    EXPECT_EQ(x.data()[n / 2], 2.0);
    axpby(n / 2, 1.0, x.data(), 1.0, x.data() + n / 2);
    EXPECT_THROW(axpby(n - 1, 1.0, x.data(), 1.0, x.data() + 1), UsageError);
    EXPECT_THROW(axpby(n - 1, 1.0, x.data() + 1, 1.0, x.data()), UsageError);
    std::vector<double> expected(n, 2.0);
    std::fill(expected.begin() + n / 2, expected.end(), 4.0);
    EXPECT_EQ(x.get(), expected);
  });
}

// A body or an allocation that fails on each device in turn: what is read stays intact, the result is that of tasks or what it was, and the same call
// succeeds afterwards.
TEST_F(LinalgAttacks, ATaskThatFailsOnEachDeviceInTurn) {
  constexpr std::uint32_t devices = 3, share = 1 << 15;  // 256 KiB
  constexpr std::uint64_t n = devices * share;
  for (std::uint32_t failing = 0; failing < devices; ++failing) {
    for (const bool no_memory : {false, true}) {
      SCOPED_TRACE(std::to_string(failing) + (no_memory ? ", no memory" : ", the body"));
      const std::string budgets[] = {"256K,2M,2M", "2M,256K,2M", "2M,2M,256K"};
      const Setting memory("SEMCACHE_DEVICE_MEMORY", no_memory ? budgets[failing].c_str() : "2M");
      on_devices(static_cast<int>(devices), [&] {
        Array<double> x(n, Where::host), y(n, Where::host);
        x.set(std::vector<double>(n, 3.0));
        y.set(std::vector<double>(n, 1.0));
        const std::vector<tasks::Matrix> operands{{x.data(), n, 1, n, 8}, {y.data(), n, 1, n, 8}};
        std::vector<policy::Task> cut;
        for (std::uint32_t d = 0; d < devices; ++d) {
          const Rectangle part{d * share, (d + 1) * share, 0, 1};
          cut.push_back({d, 0, {{0, part, Access::read}, {1, part, Access::read_write}}});
        }
        bool fails = true;
        const auto body = [&](const runtime::Stream&, const policy::Task& t, const tasks::Operand* at) {
          if (fails && !no_memory && t.device == failing) throw DeviceError("device " + std::to_string(t.device) + " fails");
          for (std::uint32_t i = 0; i < share; ++i) static_cast<double*>(at[1].data)[i] += static_cast<const double*>(at[0].data)[i];
        };
        try {
          tasks::run(cut, operands, body);
          ADD_FAILURE() << "nothing failed";
        } catch (const Error& e) {
          EXPECT_NE(std::string(e.what()).find("device " + std::to_string(failing)), std::string::npos) << e.what();
        }
        EXPECT_EQ(x.get(), std::vector<double>(n, 3.0));
        for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(y.data()[i], i / share < failing ? 4.0 : 1.0) << i;
        fails = false;
        y.set(std::vector<double>(n, 1.0));
        if (no_memory) {
          axpby(static_cast<std::int64_t>(n), 1.0, x.data(), 1.0, y.data());  // the cutter knows what fits
        } else {
          tasks::run(cut, operands, body);
        }
        EXPECT_EQ(y.get(), std::vector<double>(n, 4.0));
      });
    }
  }
}

// The array itself is used on its own device, where only the launch of each task finds out that the operand leaves it, after other tasks.
TEST_F(LinalgAttacks, AnOperandThatLeavesItsArrayChangesNothing) {
  set_options({Spread::always, 0, 4});
  on_devices(1, [] {
    constexpr std::int64_t n = 32;
    Array<double> a(n * n, Where::home), b(n * n, Where::home), c(n * (n - 1), Where::home);
    a.set(std::vector<double>(n * n, 1.0));
    b.set(std::vector<double>(n * n, 1.0));
    c.set(std::vector<double>(n * (n - 1), 7.0));
    EXPECT_THROW(gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n), UsageError);
    EXPECT_EQ(c.get(), std::vector<double>(n * (n - 1), 7.0));
  });
}

// The same of a vector of which the last elements are in no array: nothing may be cut off silently.
TEST_F(LinalgAttacks, AVectorThatLeavesItsArrayIsRefused) {
  for (int devices = 1; devices <= 3; ++devices) {
    on_devices(devices, [] {
      Array<double> x(100, Where::home), y(200, Where::home);
      x.set(std::vector<double>(100, 1.0));
      y.set(std::vector<double>(200, 1.0));
      EXPECT_THROW(axpby(200, 1.0, x.data(), 0.0, y.data()), UsageError);
      EXPECT_EQ(y.get(), std::vector<double>(200, 1.0));
      EXPECT_THROW((void)dot(200, x.data(), y.data()), UsageError);
    });
  }
}

/// Patterns that change by the host, by copies and by kernels, in arrays that are copied and freed.
void attack_patterns(int devices, Where where, unsigned seed, int calls, bool announce) {
  on_devices(devices, [&] {
    std::mt19937_64 engine(seed);
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(engine() % n); };
    constexpr std::size_t rows = 300, columns = 200, entries = 1500;
    struct Arrays {
      Arrays(Where w) : row_pointers(rows + 1, w), column_indices(entries, w), values(entries, w) {}
      Array<std::int32_t> row_pointers, column_indices;
      Array<double> values;
      std::vector<std::int32_t> r, c;
      std::vector<double> v;
    };
    const auto noted = [&](const void* p, std::size_t bytes) {
      if (announce && where == Where::host) access(p, bytes, Access::write);
    };
    const auto fresh = [&] {
      auto m = std::make_unique<Arrays>(where);
      std::vector<std::int32_t> cuts{0, entries};
      for (std::size_t i = 1; i < rows; ++i) cuts.push_back(static_cast<std::int32_t>(pick(entries + 1)));
      std::sort(cuts.begin(), cuts.end());
      m->r = cuts;
      const std::size_t most = pick(3) == 0 ? 20 : columns;
      for (std::size_t e = 0; e < entries; ++e) {
        m->c.push_back(static_cast<std::int32_t>(pick(most)));
        m->v.push_back(static_cast<double>(pick(9)));
      }
      noted(m->row_pointers.data(), m->r.size() * 4);
      noted(m->column_indices.data(), entries * 4);
      noted(m->values.data(), entries * 8);
      m->row_pointers.set(m->r);
      m->column_indices.set(m->c);
      m->values.set(m->v);
      return m;
    };
    std::vector<std::unique_ptr<Arrays>> all;
    all.push_back(fresh());
    Array<double> x(columns, where), y(rows, where);
    std::vector<double> is_x(columns), is_y(rows, 0.0);
    for (double& v : is_x) v = static_cast<double>(pick(7));
    noted(x.data(), columns * 8);
    x.set(is_x);
    noted(y.data(), rows * 8);
    y.set(is_y);
    for (int call = 0; call < calls; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      Arrays& m = *all[pick(all.size())];
      switch (pick(8)) {
        case 0: {  // one column, by a copy
          const std::size_t e = pick(entries);
          m.c[e] = static_cast<std::int32_t>(pick(columns));
          runtime::copy(m.column_indices.data() + e, &m.c[e], 4, runtime::queue_of(nullptr));
          break;
        }
        case 1: {  // one column, by the host or a kernel on device 0
          const std::size_t e = pick(entries);
          m.c[e] = static_cast<std::int32_t>(pick(columns));
          if (where == Where::host) {
            noted(m.column_indices.data() + e, 4);
            m.column_indices.data()[e] = m.c[e];
          } else if (where == Where::home) {
            const runtime::LibraryUse use{m.column_indices.data() + e, 4, Access::read_write};
            const runtime::Launch launch(tasks::lane(0, 1).queue, &use, 1);
            m.column_indices.data()[e] = m.c[e];
          } else {
            runtime::copy(m.column_indices.data() + e, &m.c[e], 4, runtime::queue_of(nullptr));
          }
          break;
        }
        case 2: {  // a row's border moves
          const std::size_t i = 1 + pick(rows - 1);
          m.r[i] = m.r[i - 1] + static_cast<std::int32_t>(pick(static_cast<std::size_t>(m.r[i + 1] - m.r[i - 1]) + 1));
          runtime::copy(m.row_pointers.data() + i, &m.r[i], 4, runtime::queue_of(nullptr));
          break;
        }
        case 3:
          if (all.size() < 5) all.push_back(fresh());
          break;
        case 4:
          if (all.size() > 1) all.erase(all.begin() + static_cast<std::ptrdiff_t>(pick(all.size())));
          continue;
        case 5: {  // another array gets the pattern
          Arrays& to = *all[pick(all.size())];
          if (&to == &m) break;
          runtime::copy(to.row_pointers.data(), m.row_pointers.data(), (rows + 1) * 4, runtime::queue_of(nullptr));
          runtime::copy(to.column_indices.data(), m.column_indices.data(), entries * 4, runtime::queue_of(nullptr));
          to.r = m.r;
          to.c = m.c;
          break;
        }
        default:
          break;
      }
      Arrays& used = *all[pick(all.size())];
      const double beta = static_cast<double>(pick(2));
      set_options({Spread::always, pick(3) == 0 ? 2u : 0u, 0});
      spmv(1.0, Csr<double>{rows, columns, entries, used.row_pointers.data(), used.column_indices.data(), used.values.data()}, x.data(), beta, y.data());
      for (std::size_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (auto e = static_cast<std::size_t>(used.r[i]); e < static_cast<std::size_t>(used.r[i + 1]); ++e) sum += used.v[e] * is_x[static_cast<std::size_t>(used.c[e])];
        is_y[i] = sum + beta * is_y[i];
      }
      if (announce && where == Where::host) access(y.data(), rows * 8, Access::read);
      if (pick(2) == 0) {
        ASSERT_EQ(y.get(), is_y);
      }
    }
  });
}

TEST_F(LinalgAttacks, PatternsThatChange) {
  const bool announce = std::getenv("ATTACK_ANNOUNCE") != nullptr;
  for (unsigned seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    const Where places[] = {Where::host, Where::home, Where::last_device};
    ASSERT_NO_THROW(attack_patterns(1 + static_cast<int>(seed % 4), places[seed % 3], seed, 60, announce));
    if (HasFatalFailure()) return;
  }
}

// Several threads that multiply by one matrix, and by matrices that come and go.
TEST_F(LinalgAttacks, ThreadsThatShareAPattern) {
  on_devices(3, [] {
    constexpr std::size_t n = 500;
    std::vector<std::int32_t> rows(n + 1), columns(n);
    for (std::size_t i = 0; i < n; ++i) {
      rows[i + 1] = static_cast<std::int32_t>(i + 1);
      columns[i] = static_cast<std::int32_t>(n - 1 - i);
    }
    Array<std::int32_t> r(n + 1, Where::host), c(n, Where::home);
    Array<double> v(n, Where::host), x(n, Where::host);
    r.set(rows);
    c.set(columns);
    v.set(std::vector<double>(n, 2.0));
    for (std::size_t i = 0; i < n; ++i) x.data()[i] = static_cast<double>(i);
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t) {
      all.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) {
          Array<double> y(n, Where::host);
          Array<std::int32_t> own(n, Where::home);
          own.set(columns);
          const Csr<double> a{n, n, n, r.data(), t % 2 == 0 ? c.data() : own.data(), v.data()};
          spmv(1.0, a, x.data(), 0.0, y.data());
          spmv(1.0, a, x.data(), 1.0, y.data());
          ASSERT_EQ(y.data()[3], 4.0 * static_cast<double>(n - 4));
        }
      });
    }
    for (std::thread& t : all) t.join();
  });
}

// A vector that adopted memory holds has tiles, which count as arrays that the program has not freed.
TEST_F(LinalgAttacks, ARuntimeWithAdoptedOperandsEnds) {
  constexpr std::size_t n = 16 * 4096 / sizeof(double);
  auto* const x = static_cast<double*>(std::aligned_alloc(4096, n * sizeof(double)));
  const auto one = [&] {
    on_devices(2, [&] {
      runtime::adopt(x, n * sizeof(double), "x");
      scal(static_cast<std::int64_t>(n), 2.0, x);
    });
  };
  one();
  const long before = kib_of_addresses();
  for (int i = 0; i < 5; ++i) one();
  EXPECT_LT(kib_of_addresses() - before, 1L << 20);
  std::free(x);
}

// Where writes are compared (SEMCACHE_CHECK_WRITES), a launch without a kernel has written nothing, so the cut of a pattern may be lost.
TEST_F(LinalgAttacks, APatternIsReadOnceWhereWritesAreChecked) {
  const Setting checked("SEMCACHE_CHECK_WRITES", "1");
  on_devices(2, [] {
    constexpr std::size_t n = 1000;
    std::vector<std::int32_t> rows(n + 1), columns(n);
    for (std::size_t i = 0; i < n; ++i) {
      rows[i + 1] = static_cast<std::int32_t>(i + 1);
      columns[i] = static_cast<std::int32_t>(i);
    }
    Array<std::int32_t> r(n + 1, Where::home), c(n, Where::home);
    Array<double> v(n, Where::home), x(n, Where::home), y(n, Where::home);
    r.set(rows);
    c.set(columns);
    for (Array<double>* a : {&v, &x, &y}) a->set(std::vector<double>(n, 1.0));
    const Csr<double> a{n, n, n, r.data(), c.data(), v.data()};
    for (int i = 0; i < 3; ++i) spmv(1.0, a, x.data(), 0.0, y.data());
    const std::uint64_t before = statistics().total.d2h.bytes;
    spmv(1.0, a, x.data(), 0.0, y.data());
    EXPECT_EQ(statistics().total.d2h.bytes, before);
  });
}

// On GPUs only: the tasks of the second call must come behind those of the first on all lanes. On emulated devices kernels run where they are called.
TEST_F(LinalgAttacks, ACallComesBehindTheTasksOfAnEarlierOneOnAllLanes) {
  const char* const text = std::getenv("ATTACK_SIZE");
  const std::int64_t n = text != nullptr ? std::atoi(text) : 64;
  set_options({Spread::always, 0, 8});
  on_devices(1, [&] {
    const auto size = static_cast<std::size_t>(n * n);
    Array<double> a(size, Where::home), b(size, Where::home), c(size, Where::home);
    a.set(std::vector<double>(size, 1.0));
    b.set(std::vector<double>(size, 1.0));
    for (int round = 0; round < 5; ++round) {
      c.set(std::vector<double>(size, 0.0));
      gemm(Transpose::no, Transpose::no, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
      scal(n * n, 2.0, c.data());
      const std::vector<double> is = c.get();
      for (const double v : is) ASSERT_EQ(v, 2.0 * static_cast<double>(n));
    }
  });
}

// A dot product adds whole blocks, also where a block and its like do not fit a third of the memory.
TEST_F(LinalgAttacks, ADotProductOfBlocksThatAreLargerThanATask) {
  constexpr std::size_t n = 300000;
  using Z = std::complex<double>;
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected += static_cast<double>(i % 3);
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "380K");
  for (int devices = 1; devices <= 2; ++devices) {
    on_devices(devices, [&] {
      Array<Z> x(n, Where::host), y(n, Where::host);
      for (std::size_t i = 0; i < n; ++i) {
        x.data()[i] = static_cast<double>(i % 3);
        y.data()[i] = 1.0;
      }
      EXPECT_EQ(dot(static_cast<std::int64_t>(n), x.data(), y.data()), Z(expected));
    });
  }
}

/// A product with a unit matrix of n rows, by so many devices as the options say.
void multiply_by_unit_matrix(std::int32_t n) {
  Array<std::int32_t> rows(static_cast<std::size_t>(n) + 1, Where::host), columns(static_cast<std::size_t>(n), Where::host);
  Array<double> values(static_cast<std::size_t>(n), Where::host), x(static_cast<std::size_t>(n), Where::host), y(static_cast<std::size_t>(n), Where::host);
  for (std::int32_t i = 0; i <= n; ++i) rows.data()[i] = i;
  for (std::int32_t i = 0; i < n; ++i) {
    columns.data()[i] = i;
    values.data()[i] = x.data()[i] = 1.0;
  }
  spmv(1.0, {n, n, n, rows.data(), columns.data(), values.data()}, x.data(), 0.0, y.data());
  EXPECT_EQ(y.data()[n - 1], 1.0);
}

// Where most rows have no entries, the entries alone fit a device many times, but the rows do not.
TEST_F(LinalgAttacks, RowsWithoutEntriesAreCutToFit) {
  constexpr std::int32_t n = 100000;  // 800 KB of y, and 400 KB of row pointers
  const Setting budget("SEMCACHE_DEVICE_MEMORY", "640K");
  for (const std::int32_t entries : {0, 7, 1000}) {
    for (int devices = 1; devices <= 2; ++devices) {
      SCOPED_TRACE(std::to_string(entries) + " entries on " + std::to_string(devices));
      on_devices(devices, [&] {
        const auto room = static_cast<std::size_t>(std::max(1, entries));
        Array<std::int32_t> rows(n + 1, Where::host), columns(room, Where::host);
        Array<double> values(room, Where::host), x(10, Where::host), y(n, Where::host);
        // Some of the last rows have one each, and the last one a hundred.
        const std::int32_t hundred = std::min(100, entries), first = n - 1 - 3 * (entries - hundred);
        std::vector<double> expected(n, 0.5);
        for (std::int32_t i = 0, e = 0; i < n; ++i) {
          rows.data()[i] = e;
          const std::int32_t has = i == n - 1 ? hundred : i >= first && (i - first) % 3 == 0 ? 1 : 0;
          for (const std::int32_t end = e + has; e < end; ++e) {
            columns.data()[e] = e % 10;
            values.data()[e] = 2.0;
            expected[static_cast<std::size_t>(i)] += 2.0 * (e % 10);
          }
          rows.data()[i + 1] = e;
        }
        ASSERT_EQ(rows.data()[n], entries);
        for (int i = 0; i < 10; ++i) x.data()[i] = i;
        y.set(std::vector<double>(n, 1.0));
        const Csr<double> a{n, 10, entries, rows.data(), columns.data(), values.data()};
        ASSERT_NO_THROW(spmv(1.0, a, x.data(), 0.5, y.data()));
        EXPECT_EQ(y.get(), expected);
      });
    }
  }
}

// The cut of a matrix is that of vectors no longer when the runtime has ended, which had other devices, or when the program wants another spread.
TEST_F(LinalgAttacks, CutsOfMatricesOfAnEarlierRuntimeAndOfAnotherSpreadAreForgotten) {
  constexpr std::int32_t n = 5000;
  on_devices(1, [] { multiply_by_unit_matrix(n); });
  on_devices(4, [] {
    Array<double> x(n, Where::host);
    x.set(std::vector<double>(n, 1.0));
    EXPECT_EQ(devices_of_vectors(x.data(), n, 1e12), 4U) << "as the matrix of a runtime with one device";
    multiply_by_unit_matrix(n);
    EXPECT_EQ(devices_of_vectors(x.data(), n, 8.0), 4U);
    set_options({Spread::automatic, 0, 0});
    EXPECT_EQ(devices_of_vectors(x.data(), n, 8.0), 1U) << "as when all calls were spread";
    multiply_by_unit_matrix(n);
    set_options({Spread::always, 0, 0});
    EXPECT_EQ(devices_of_vectors(x.data(), n, 8.0), 4U) << "as when no small call was spread";
  });
}

/// Runs a task of 5 s on device 0, waits for it, and runs another one of 5 s on device 1. Returns how long both take.
/// @param in_task  called while the task is about to be submitted
double seconds_of_two_tasks(const std::function<void()>& in_task) {
  const std::string file = ::testing::TempDir() + "machine_" + std::to_string(::getpid()) + ".txt";
  std::ofstream(file) << "memory = 1600\n";
  const Setting machine("SEMCACHE_EMULATED_MACHINE", file.c_str());
  double seconds = 0;
  use_devices(2);
  {
    Array<double> x(1000, Where::home), y(1000, Where::last_device);
    const auto task = [](const Array<double>& a, std::uint32_t device, const std::function<void()>& body) {
      tasks::run({{device, 0, {{0, {0, 1000, 0, 1}, Access::overwrite}}}}, {{a.data(), 1000, 1, 1000, 8}},
                 [&](const runtime::Stream&, const policy::Task&, const tasks::Operand*) { body(); });
    };
    task(x, 0, in_task);
    wait();
    task(y, 1, [] {});
    seconds = statistics().virtual_time->seconds;
  }
  finalize();
  std::remove(file.c_str());
  return seconds;
}

// Another thread that waits while a task is about to be submitted does not wait for it, and the thread that submitted it still does.
TEST_F(LinalgAttacks, AWaitOfAnotherThreadIsNotThatOfTheThreadThatSubmits) {
  EXPECT_EQ(seconds_of_two_tasks([] {}), 10.0);
  EXPECT_EQ(seconds_of_two_tasks([] { std::thread([] { wait(); }).join(); }), 10.0);
}

}  // namespace
}  // namespace semcache::linalg
