// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>

// Raw pointers into arrays of the emulated device, used outside semcache::Exec by code that announces nothing: the pages
// notice it, and it is right.
namespace kokkos_device_faults {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;
using NativeRange = Kokkos::RangePolicy<semcache::kokkos::NativeExec>;
constexpr int n = 16 * 512 + 3;  // whole pages, and a bit
constexpr std::uint64_t bytes = n * sizeof(double);
constexpr double sum_of_indices = n * (n - 1.0) / 2;

double raw_sum(const double* data, int count) { return std::accumulate(data, data + count, 0.0); }
void raw_add(double* data, int count, double x) {
  for (int i = 0; i < count; ++i) data[i] += x;
}
void raw_fill(double* data, int count, double x) { std::fill(data, data + count, x); }

int different(const Mirror& host, double first, double step = 1) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host(i) != first + step * i;
  return wrong;
}

/// The device's array is stale: the mirror has its content, first + i.
struct Owing {
  explicit Owing(double first = 0) {
    for (int i = 0; i < n; ++i) host(i) = first + i;
    Kokkos::deep_copy(device, host);
  }
  Vector device{"source", n};
  Mirror host = Kokkos::create_mirror_view(device);
};

/// The runtime of one test, with an environment of its own. No array is alive outside.
class Restarted {
 public:
  Restarted(const char* name, const char* value) : name_(name) {
    semcache::finalize();
    ::setenv(name, value, 1);
  }
  ~Restarted() {
    semcache::finalize();
    ::unsetenv(name_);
  }
  Restarted(const Restarted&) = delete;
  Restarted& operator=(const Restarted&) = delete;

 private:
  const char* name_;
};

double* hidden = nullptr;
void add_hidden(const Vector& captured) {
  Kokkos::parallel_for("a pointer that nobody sees", Range(0, n), KOKKOS_LAMBDA(int i) { captured(i) = 2 * hidden[i]; });
}

}  // namespace kokkos_device_faults
using namespace kokkos_device_faults;

KOKKOS_TEST(KokkosDeviceFaults, AReadSeesWhatADeferredCopyBrings) {
  const Owing x(7);
  const Since since;
  EXPECT_EQ(raw_sum(x.device.data(), n), sum_of_indices + 7.0 * n);
  EXPECT_EQ(since.unannounced(), 1u);
  EXPECT_EQ(since.link(), bytes);
  EXPECT_EQ(since.device_waits(), 0u);
}

KOKKOS_TEST(KokkosDeviceFaults, AWriteIsSeenByTheHost) {
  Vector device("device", n);
  const Mirror host = Kokkos::create_mirror_view(device);
  for (int round = 0; round < 3; ++round) {
    iota(device, round);
    Kokkos::deep_copy(host, device);
    EXPECT_EQ(different(host, round), 0);
    const Since since;
    raw_add(device.data(), n, 100);
    EXPECT_EQ(since.unannounced(), 1u);
    EXPECT_EQ(since.link(), 0u);
    Kokkos::deep_copy(host, device);
    EXPECT_EQ(different(host, round + 100), 0);
    EXPECT_EQ(sum(device), sum_of_indices + (round + 100.0) * n);
  }
}

KOKKOS_TEST(KokkosDeviceFaults, WhatIsOwedIsTheOldContent) {
  Vector device("device", n);
  const Mirror host = Kokkos::create_mirror_view(device);
  iota(device, 3);
  Kokkos::deep_copy(host, device);  // pending

  const Since since;
  raw_fill(device.data(), n, -1);

  EXPECT_EQ(since.unannounced(), 1u);
  EXPECT_EQ(different(host, 3), 0) << "I4";
  EXPECT_EQ(sum(device), -n);
  Kokkos::deep_copy(host, device);
  EXPECT_EQ(different(host, -1, 0), 0);
}

KOKKOS_TEST(KokkosDeviceFaults, ReadsOfWhatIsThereMoveNothingAndAreNotNoticed) {
  Vector device("device", n);
  const Mirror host = Kokkos::create_mirror_view(device);
  iota(device);
  const Since since;
  EXPECT_EQ(raw_sum(device.data(), n), sum_of_indices);
  raw_add(device.data(), n, 1);  // nobody else has it
  Kokkos::deep_copy(host, device);
  EXPECT_EQ(raw_sum(device.data(), n), sum_of_indices + n);
  EXPECT_EQ(since.unannounced(), 0u);
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(different(host, 1), 0);
}

KOKKOS_TEST(KokkosDeviceFaults, AWriteAfterAReadIsNoticedToo) {
  const Owing x;
  const Since since;
  EXPECT_EQ(raw_sum(x.device.data(), n), sum_of_indices);
  raw_add(x.device.data(), n, 1);
  raw_add(x.device.data(), n, 1);
  EXPECT_EQ(since.unannounced(), 2u);
  EXPECT_EQ(since.link(), bytes);
  Kokkos::deep_copy(x.host, x.device);
  EXPECT_EQ(different(x.host, 2), 0);
}

KOKKOS_TEST(KokkosDeviceFaults, AnArrayThatNobodyWroteCanBeWritten) {
  Vector device(Kokkos::view_alloc("device", Kokkos::WithoutInitializing), n);
  Vector zeros("zeros", n);  // known to be zero, and nowhere yet
  raw_fill(device.data(), n, 4);
  raw_fill(zeros.data(), 10, 4);
  EXPECT_EQ(sum(device), 4.0 * n);
  EXPECT_EQ(sum(zeros), 40);
}

KOKKOS_TEST(KokkosDeviceFaults, ARawPointerInANativeKernel) {
  const Owing x;
  double* const data = x.device.data();
  Kokkos::parallel_for("native", NativeRange(0, n), KOKKOS_LAMBDA(int i) { data[i] *= 2; });
  Kokkos::fence();
  EXPECT_EQ(sum(x.device), 2 * sum_of_indices);
  Kokkos::deep_copy(x.host, x.device);
  EXPECT_EQ(different(x.host, 0, 2), 0);
}

KOKKOS_TEST(KokkosDeviceFaults, APointerThatAKernelDoesNotShow) {
  const Owing x(1);
  const Vector other("other", n);
  hidden = x.device.data();
  const Since since;
  add_hidden(other);
  Kokkos::fence();
  EXPECT_EQ(since.unannounced(), 1u);
  EXPECT_EQ(sum(other), 2 * sum_of_indices + 2.0 * n);
}

KOKKOS_TEST(KokkosDeviceFaults, SeveralThreadsAtOnce) {
  constexpr int count = 4;
  for (int round = 0; round < 50; ++round) {
    const Owing x(round);
    const Since since;
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      const int begin = n * t / count, end = n * (t + 1) / count;
      threads.emplace_back([&x, begin, end] {
        for (int i = begin; i < end; ++i) x.device.data()[i] = 2 * x.device.data()[i];
      });
    }
    for (std::thread& t : threads) t.join();
    ASSERT_LE(since.unannounced(), 2u) << "the read and the write of whoever came first";
    Kokkos::deep_copy(x.host, x.device);
    ASSERT_EQ(different(x.host, 2 * round, 2), 0) << round;
  }
}

KOKKOS_TEST(KokkosDeviceFaults, KernelsBetweenRawUses) {
  Vector device("device", n);
  const Mirror host = Kokkos::create_mirror_view(device);
  const Since since;
  iota(device);
  for (int round = 1; round <= 4; ++round) {
    Kokkos::deep_copy(host, device);
    raw_add(device.data(), n, 1);
    EXPECT_EQ(since.unannounced(), static_cast<std::uint64_t>(round));
    EXPECT_EQ(sum(device), sum_of_indices + (2.0 * round - 1) * n);
    EXPECT_EQ(different(host, 2.0 * round - 2), 0);
    Kokkos::parallel_for("add", Range(0, n), KOKKOS_LAMBDA(int i) { device(i) += 1; });
  }
  EXPECT_EQ(raw_sum(device.data(), n), sum_of_indices + 8.0 * n);
}

KOKKOS_TEST(KokkosDeviceFaults, WhatIsAnnouncedOrSettledIsNotNoticed) {
  const Owing x, y, z, u;
  const Since since;
  semcache::access(x.device, semcache::Access::read_write);
  raw_add(x.device.data(), n, 1);
  semcache::access(y.device, semcache::Access::overwrite);
  raw_fill(y.device.data(), n, 1);
  semcache::settle(z.device);
  EXPECT_EQ(raw_sum(z.device.data(), n), sum_of_indices);
  EXPECT_EQ(sum(u.device), sum_of_indices);
  EXPECT_EQ(since.unannounced(), 0u);
  Kokkos::deep_copy(x.host, x.device);
  Kokkos::deep_copy(y.host, y.device);
  EXPECT_EQ(different(x.host, 1), 0);
  EXPECT_EQ(different(y.host, 1, 0), 0);
}

KOKKOS_TEST(KokkosDeviceFaults, SmallNeighboursAreToldApart) {
  constexpr int count = 20;
  std::vector<Vector> device;
  std::vector<Mirror> host;
  for (int k = 0; k < count; ++k) {
    device.emplace_back("small", 3);
    host.push_back(Kokkos::create_mirror_view(device[k]));
    for (int i = 0; i < 3; ++i) host[k](i) = 10 * k + i;
    Kokkos::deep_copy(device[k], host[k]);
    (void)sum(device[k]);
  }
  const Since since;
  for (int k = 0; k < count; k += 2) raw_add(device[k].data(), 3, 1000);
  EXPECT_EQ(since.unannounced(), count / 2u);
  for (int k = 0; k < count; ++k) {
    Kokkos::deep_copy(host[k], device[k]);
    EXPECT_EQ(host[k](2), 10 * k + 2 + (k % 2 == 0 ? 1000 : 0));
  }
}

KOKKOS_TEST(KokkosDeviceFaults, EvictedArraysComeBack) {
  const Restarted small("SEMCACHE_DEVICE_MEMORY", "2M");
  constexpr int count = 12, elements = 50000;  // 400 kB each
  std::vector<Vector> device;
  for (int k = 0; k < count; ++k) {
    device.emplace_back("one of many", elements);
    iota(device[k], k);
  }
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < count; ++k) raw_add(device[k].data(), elements, 1);
  }
  EXPECT_GT(semcache::statistics().total.evictions, 2u * count);
  EXPECT_LE(semcache::statistics().mapped_device_bytes, 2u << 20);
  for (int k = 0; k < count; ++k) {
    EXPECT_EQ(sum(device[k]), elements * (elements - 1.0) / 2 + (k + 3.0) * elements);
  }
}

#ifdef __x86_64__
KOKKOS_TEST(KokkosDeviceFaults, OneInstructionThatNeedsMoreThanFitsEndsWithItsLabel) {
  constexpr int elements = 3 << 16;
  const auto copy = [](const char* budget) {
    const Restarted small("SEMCACHE_DEVICE_MEMORY", budget);
    Vector from("copied from", elements), to("copied to", elements);  // 1.5 MiB each
    iota(from);
    const void* source = from.data();
    void* target = to.data();
    std::size_t left = elements * sizeof(double);
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(left) : : "memory");
    return sum(to);
  };
  EXPECT_EQ(copy("4M"), elements * (elements - 1.0) / 2);
  EXPECT_DEATH((void)copy("2M"), "an access to 'copied .*cannot be served.*budget");
}
#endif

KOKKOS_TEST(KokkosDeviceFaults, NothingIsLostWhileOtherThreadsEvict) {
  const Restarted small("SEMCACHE_DEVICE_MEMORY", "2M");
  constexpr int raw_ones = 2, others = 6, elements = 50000, rounds = 60;
  std::vector<Vector> device;
  for (int k = 0; k < raw_ones + others; ++k) {
    device.emplace_back("one of many", elements);
    iota(device[k], k);
  }
  std::atomic<int> at_work{raw_ones};
  std::vector<std::thread> threads;
  for (int t = 0; t < raw_ones; ++t) {
    threads.emplace_back([&, data = device[t].data()] {
      for (int round = 0; round < rounds; ++round) raw_add(data, elements, 1);
      --at_work;
    });
  }
  int launches = 0;
  for (; at_work > 0 || launches < others; ++launches) iota(device[raw_ones + launches % others]);
  for (std::thread& t : threads) t.join();
  for (int k = 0; k < raw_ones; ++k) {
    EXPECT_EQ(sum(device[k]), elements * (elements - 1.0) / 2 + (k + 1.0 * rounds) * elements);
  }
}

KOKKOS_TEST(KokkosDeviceFaults, NothingIsLostWhileTheHostReadsTheOtherHalf) {
  semcache::DualView<double*, Device> u("two sides", n);
  iota(u.view_device());
  constexpr int half = n / 2, rounds = 3000;
  double* const data = u.view_device().data();
  std::atomic<bool> at_work{true};
  std::thread thread([&] {
    for (int round = 0; round < rounds; ++round) raw_add(data + half, n - half, 1);
    at_work = false;
  });
  int wrong = 0;
  while (at_work) {
    for (int i = 0; i < half; i += 500) wrong += u.view_host()(i) != i;
  }
  thread.join();
  for (int i = half; i < n; ++i) wrong += u.view_host()(i) != i + rounds;
  EXPECT_EQ(wrong, 0);
}

KOKKOS_TEST(KokkosDeviceFaults, ArraysThatOutliveTheRuntime) {
  const Owing x(5);
  Vector written("written", n);
  iota(written);
  EXPECT_EQ(sum(x.device), sum_of_indices + 5.0 * n);
  for (int i = 0; i < n; ++i) x.host(i) += 1;
  Kokkos::deep_copy(x.device, x.host);
  semcache::finalize();
  EXPECT_EQ(raw_sum(x.device.data(), n), sum_of_indices + 6.0 * n);
  raw_add(written.data(), n, 1);
  EXPECT_EQ(raw_sum(written.data(), n), sum_of_indices + n);
}

KOKKOS_TEST(KokkosDeviceFaults, AFreedArrayIsNotServed) {
  EXPECT_EXIT(
      {
        auto x = std::make_unique<Owing>();
        const Owing neighbour;
        double* const data = x->device.data();
        raw_add(data, n, 1);
        x.reset();
        data[0] = 1;
        ::_exit(0);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

KOKKOS_TEST(KokkosDeviceFaults, AForkedChildReadsWhatIsThereAndIsToldWhatIsNot) {
  const Owing stale;
  Vector fresh("fresh", n);
  iota(fresh);
  const Mirror shared = Kokkos::create_mirror_view(fresh);
  Kokkos::deep_copy(shared, fresh);  // read only from here on
  const auto status_of = [](auto&& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  };
  const int reads = status_of([&] { return raw_sum(fresh.data(), n) == sum_of_indices ? 17 : 1; });
  EXPECT_TRUE(WIFEXITED(reads) && WEXITSTATUS(reads) == 17) << reads;
  const int writes = status_of([&] {
    raw_add(fresh.data(), n, 1);
    return raw_sum(fresh.data(), n) == sum_of_indices + n ? 17 : 1;
  });
  EXPECT_TRUE(WIFEXITED(writes) && WEXITSTATUS(writes) == 17) << writes;
  const int refused = status_of([&] { return raw_sum(stale.device.data(), n) == 0 ? 1 : 2; });
  EXPECT_TRUE(WIFSIGNALED(refused) && WTERMSIG(refused) == SIGABRT) << refused;
  EXPECT_EQ(raw_sum(stale.device.data(), n), sum_of_indices);
  EXPECT_EQ(different(shared, 0), 0);
}

KOKKOS_STOCK_TEST(KokkosDeviceFaults, OrdinaryProgramsUseNothingUnannounced) {
  Vector x("x", n), y("y", n);
  const Mirror host = Kokkos::create_mirror_view(x);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < n; ++i) host(i) = i + round;
    Kokkos::deep_copy(x, host);
    const ConstVector in = x;
    Kokkos::parallel_for("axpy", Range(0, n), KOKKOS_LAMBDA(int i) { y(i) += 2 * in(i); });
    Kokkos::deep_copy(y, x);
    Kokkos::deep_copy(x, 1.0);
    Kokkos::deep_copy(host, y);
    EXPECT_EQ(different(host, round), 0);
    EXPECT_EQ(sum(x), n);
  }
}
