// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Accesses of the host that wait for launches of other threads, in a process whose patience is one second
// (SEMCACHE_FAULT_TIMEOUT=1, by the test's environment).
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace semcache::runtime {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t n = 100'000;

/// An array on the device and a mirror whose content is only there; element i is `first + i`.
struct Pair {
  Pair(const char* label, const char* mirror_label, double first) {
    device = static_cast<double*>(allocate_device(label, n * sizeof(double)));
    mirror = static_cast<double*>(allocate_host(mirror_label, n * sizeof(double)));
    refresh(first);
  }
  ~Pair() {
    deallocate(mirror);
    deallocate(device);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void refresh(double first) {
    {
      const Capture written = capture(true);
      const Launch launch(queue(), "writes", &written, 1);
      for (std::size_t i = 0; i < n; ++i) device[i] = first + static_cast<double>(i);
    }
    copy(mirror, device, n * sizeof(double), queue());
  }
  [[nodiscard]] Capture capture(bool writable = false) const { return {device, nullptr, 0, writable, false}; }
  [[nodiscard]] double read(std::size_t i) const { return const_cast<const volatile double*>(mirror)[i]; }
  static QueueId queue() { return queue_of(nullptr); }

  double* device;
  double* mirror;
};

/// A kernel that only reads the array runs on a thread of its own for as long as this lives, or as `body` says.
class Kernel {
 public:
  template <class Body>
  Kernel(const Pair& uses, Body body) {
    thread_ = std::thread([this, &uses, body] {
      const Capture read = uses.capture();
      const Launch launch(Pair::queue(), "reads", &read, 1);
      runs_ = true;
      body();
    });
    while (!runs_) std::this_thread::yield();
  }
  ~Kernel() { thread_.join(); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 private:
  std::atomic<bool> runs_{false};
  std::thread thread_;
};

struct WaitingFaults : ::testing::Test {
  static void SetUpTestSuite() {
    if (const char* const patience = std::getenv("SEMCACHE_FAULT_TIMEOUT");
        patience == nullptr || std::string(patience) != "1")
      GTEST_FAIL() << "to be run with SEMCACHE_FAULT_TIMEOUT=1";
  }
};
using WaitingFaultsDeathTest = WaitingFaults;

TEST_F(WaitingFaults, AKernelThatTakesLongerThanThePatienceIsWaitedFor) {
  const Pair a("a", "mirror of a", 5);
  const Kernel kernel(a, [] { std::this_thread::sleep_for(2500ms); });
  EXPECT_EQ(a.read(7), 12.0);
}

/// Threads that launch kernels behind each other; readers, whose operand nobody need do anything for.
void read_beside_launchers(unsigned launchers, std::chrono::milliseconds kernel) {
  const Pair a("a", "mirror of a", 5);
  std::atomic<bool> stop{false};
  std::atomic<int> kernels{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < launchers; ++t) {
    threads.emplace_back([&, t] {
      std::this_thread::sleep_for(kernel * t / launchers);
      const Capture read = a.capture();
      while (!stop) {
        const Launch launch(Pair::queue(), "reads", &read, 1);
        ++kernels;
        std::this_thread::sleep_for(kernel);
      }
    });
  }
  const int warm = 2 * static_cast<int>(launchers);
  while (kernels < warm) std::this_thread::yield();
  for (int round = 0; round < 3; ++round) {
    const int before = kernels;
    EXPECT_EQ(a.read(round * 8192), 5.0 + round * 8192);
    // Those in flight are over, and each thread may have begun another one in between. (Of short ones many go by before the
    // fault is even told of.)
    if (kernel > 10ms) {
      EXPECT_LT(kernels - before, 20 * warm) << round;
    }
  }
  stop = true;
  for (std::thread& t : threads) t.join();
}

TEST_F(WaitingFaults, AFaultGetsItsTurnBesideAThreadThatLaunchesAllTheTime) { read_beside_launchers(1, 50ms); }
TEST_F(WaitingFaults, AFaultGetsItsTurnBesideLaunchesThatOverlap) { read_beside_launchers(3, 30ms); }
TEST_F(WaitingFaults, AFaultGetsItsTurnBesideShortLaunches) { read_beside_launchers(2, 0ms); }

TEST_F(WaitingFaults, TheFaultOfAKernelThatAnotherFaultWaitsForComesFirst) {
  const Pair a("a", "mirror of a", 5);
  const Pair b("b", "mirror of b", 50);
  std::atomic<double> seen{0};
  const Kernel kernel(a, [&] {
    std::this_thread::sleep_for(200ms);  // the other thread waits for this kernel
    seen = b.read(1);
  });
  EXPECT_EQ(a.read(7), 12.0);
  EXPECT_EQ(seen, 51.0);
}

TEST_F(WaitingFaults, ALaunchWithinALaunchIsNotKeptWaiting) {
  const Pair a("a", "mirror of a", 5);
  std::thread reader;
  {
    const Capture read = a.capture();
    const Launch outer(Pair::queue(), "outer", &read, 1);
    reader = std::thread([&] { EXPECT_EQ(a.read(7), 12.0); });
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(5ms);  // the reader waits for the outer one
      const Launch inner(Pair::queue(), "inner", &read, 1);
    }
  }
  reader.join();
}

// --- circles ---------------------------------------------------------------------------------------------------------

void a_kernel_reads_its_own_mirror() {
  const Pair a("a", "mirror of a", 5);
  const Capture read = a.capture();
  const Launch launch(Pair::queue(), "reads", &read, 1);
  (void)a.read(7);
}

TEST_F(WaitingFaultsDeathTest, AKernelThatWaitsForItselfEndsWithBothArrays) {
  EXPECT_DEATH(a_kernel_reads_its_own_mirror(),
               "access to 'mirror of a' .*'a', which a kernel uses, .* access to 'mirror of a' .*neither can go "
               "on.*semcache::access");
}

void two_kernels_read_each_others_mirrors() {
  const Pair a("a", "mirror of a", 5);
  const Pair b("b", "mirror of b", 50);
  std::atomic<int> reading{0};
  const auto read_other = [&](const Pair& other) {
    ++reading;
    while (reading < 2) std::this_thread::yield();
    (void)other.read(1);
  };
  const Kernel one(a, [&] { read_other(b); });
  const Kernel two(b, [&] { read_other(a); });
}

TEST_F(WaitingFaultsDeathTest, TwoKernelsThatWaitForEachOtherEndWithBothArrays) {
  EXPECT_DEATH(
      two_kernels_read_each_others_mirrors(),
      "access to 'mirror of (a|b)' .*'(a|b)', which a kernel uses, .* access to 'mirror of (a|b)' .*neither can go on");
}

TEST_F(WaitingFaults, AnAnnouncementThatWouldWaitForItsOwnKernelIsRefused) {
  const Pair a("a", "mirror of a", 5);
  const Capture read = a.capture();
  {
    const Launch launch(Pair::queue(), "reads", &read, 1);
    try {
      semcache::access(a.mirror, n * sizeof(double), Access::read);
      FAIL() << "it was served";
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("'a', which the kernel itself uses"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(a.read(7), 12.0);
}

// --- handlers of the program -----------------------------------------------------------------------------------------

/// Installs a handler that ends the process and tells nobody else, as frameworks for tests do.
class EndsAtFaults {
 public:
  EndsAtFaults() {
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(3); };
    ::sigaction(SIGSEGV, &action, &before_);
  }
  ~EndsAtFaults() { ::sigaction(SIGSEGV, &before_, nullptr); }
  EndsAtFaults(const EndsAtFaults&) = delete;
  EndsAtFaults& operator=(const EndsAtFaults&) = delete;

 private:
  struct sigaction before_ {};
};

TEST_F(WaitingFaults, AHandlerInstalledLaterThatDoesNotChainIsNoticedAtAllocations) {
  const Pair a("a", "mirror of a", 5);
  for (int i = 0; i < 20; ++i) {
    const EndsAtFaults handler;
    const Pair other("other", "mirror of other", i);
    EXPECT_EQ(other.read(3), i + 3.0);
  }
  EXPECT_EQ(a.read(7), 12.0);
}

TEST_F(WaitingFaults, AndAtCopiesAndLaunchesNowAndThen) {
  Pair a("a", "mirror of a", 5);
  for (int i = 0; i < 3; ++i) {
    const EndsAtFaults handler;
    std::this_thread::sleep_for(20ms);
    a.refresh(i);
    EXPECT_EQ(a.read(7), i + 7.0);
  }
}

// --- handlers that jump out ------------------------------------------------------------------------------------------

sigjmp_buf out;
std::atomic<bool> armed{false};
void jump_out(int) {
  if (armed.exchange(false)) siglongjmp(out, 1);
}

TEST_F(WaitingFaults, AHandlerMayJumpOutOfAnAccessThatWaitsAgainAndAgain) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &jump_out;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  Pair a("a", "mirror of a", 5);
  const Pair other("other", "mirror of other", 9);
  const pthread_t reader = ::pthread_self();
  volatile int jumps = 0;
  for (volatile int round = 0; round < 70; round = round + 1) {
    a.refresh(round);
    const Kernel kernel(a, [&] {
      std::this_thread::sleep_for(3ms);
      if (armed) ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(3ms);
    });
    if (sigsetjmp(out, 1) == 0) {
      armed = true;
      (void)a.read(5);
      armed = false;
    } else {
      jumps = jumps + 1;
    }
  }
  EXPECT_GT(jumps, 0);
  EXPECT_EQ(other.read(3), 12.0);
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace semcache::runtime
