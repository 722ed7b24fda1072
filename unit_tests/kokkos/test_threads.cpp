// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <atomic>
#include <thread>

// Several host threads on one device. Only one of them launches: not every native space takes launches from several.
namespace kokkos_threads {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;
constexpr int n = 20000;  // some 40 pages, the last of them in part

/// An array that one thread makes and another looks at. Even turns are the maker's, odd ones the reader's.
struct Slot {
  Vector device{"slot", n};
  Mirror host = Kokkos::create_mirror_view(device);
  std::atomic<int> turn{0};

  void wait_for(int wanted) const {
    while (turn.load() != wanted) std::this_thread::yield();
  }
};

void expect_iota(const Mirror& host, double first, std::atomic<int>& wrong) {
  // From both ends to the middle: neighbours on a page fault apart from each other.
  for (int i = 0; i < n / 2; ++i) {
    if (host(i) != first + i) ++wrong;
    if (host(n - 1 - i) != first + n - 1 - i) ++wrong;
  }
}

/// Arrays come and go, of many sizes, with copies pending and in either order; no kernel.
void allocate_and_free(const std::atomic<bool>& go_on, std::atomic<int>& wrong, std::atomic<int>& rounds) {
  for (int round = 0; go_on.load() || round < 10; ++round) {
    const int size = 100 + round * 7919 % 50000;
    Vector a("temporary", size);
    {
      Mirror up = Kokkos::create_mirror_view(a);
      for (int i = 0; i < size; i += 100) up(i) = round + i;
      Kokkos::deep_copy(a, up);
    }  // the only holder of the content goes
    Mirror down = Kokkos::create_mirror_view(a);
    if (round % 2 == 0) {
      Vector b("between", size);
      Kokkos::deep_copy(b, a);
      Kokkos::deep_copy(a, -1.0);
      Kokkos::deep_copy(down, b);
    } else {
      Kokkos::deep_copy(down, a);
      a = Vector();
    }
    for (int i = 0; i < size; i += 100) {
      if (down(i) != round + i) ++wrong;
    }
    ++rounds;
  }
}

}  // namespace kokkos_threads
using namespace kokkos_threads;

KOKKOS_TEST(KokkosThreads, OneLaunchesWhileOneAllocatesAndFreesAndOneFaults) {
  constexpr int launches = 300;
  constexpr int depth = 3;  // so many results may wait for the reader
  Slot slots[depth];
  std::atomic<bool> go_on{true};
  std::atomic<int> wrong{0}, rounds{0};
  std::thread allocates([&] { allocate_and_free(go_on, wrong, rounds); });
  std::thread faults([&] {
    for (int l = 0; l < launches; ++l) {
      Slot& slot = slots[l % depth];
      slot.wait_for(2 * (l / depth) + 1);
      expect_iota(slot.host, l, wrong);
      ++slot.turn;
    }
  });

  for (int l = 0; l < launches; ++l) {
    Slot& slot = slots[l % depth];
    slot.wait_for(2 * (l / depth));
    iota(slot.device, l);
    Kokkos::deep_copy(slot.host, slot.device);
    iota(slot.device, -1, 0);  // nobody has read the copy yet
    ++slot.turn;
  }
  faults.join();
  go_on = false;
  allocates.join();

  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GE(rounds.load(), 10);
}

KOKKOS_TEST(KokkosThreads, OneWritesAMirrorWhileACopyOfItIsInFlight) {
  constexpr int rounds = 30;
  const int large = 1 << 19;  // 4 MiB: in flight for some time on a GPU
  Vector device("device", large), seen("seen", large);
  Mirror host = Kokkos::create_mirror_view(device);
  std::atomic<int> turn{0};
  std::thread writes([&] {
    for (int round = 0; round < rounds; ++round) {
      while (turn.load() != 2 * round + 1) std::this_thread::yield();
      for (int i = large - 1; i >= 0; i -= 256) host(i) = -1;
      ++turn;
    }
  });

  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < large; ++i) host(i) = round;
    Kokkos::deep_copy(device, host);
    ++turn;                           // from now on the other thread writes
    Kokkos::deep_copy(seen, device);
    wrong += sum(seen) != static_cast<double>(round) * large;
    while (turn.load() != 2 * round + 2) std::this_thread::yield();
    wrong += sum(device) != static_cast<double>(round) * large;
  }
  writes.join();

  EXPECT_EQ(wrong, 0);
}

KOKKOS_TEST(KokkosThreads, ManyWriteOneMirrorAndAllIsSeenByTheKernel) {
  constexpr int threads = 8;
  Vector device("device", n);
  Mirror host = Kokkos::create_mirror_view(device);
  for (int round = 1; round <= 20; ++round) {
    iota(device, 0, 0);
    Kokkos::deep_copy(host, device);
    std::atomic<int> ready{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        ++ready;
        while (ready.load() < threads) std::this_thread::yield();
        for (int i = t; i < n; i += threads) host(i) = round;  // all of them on every page
      });
    for (auto& thread : all) thread.join();
    Kokkos::deep_copy(device, host);
    ASSERT_EQ(sum(device), static_cast<double>(round) * n);
  }
}
