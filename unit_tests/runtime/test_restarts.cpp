// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// The runtime ends, and starts again in another thread: what threads have kept of the former one (queues, operands that they know,
/// launches, arrays that outlived it) is nothing to the next one.
namespace semcache::runtime {
namespace {

constexpr std::size_t n = 3000;

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    std::unique_lock lock(mutex_);
    const int phase = phase_;
    if (++here_ == threads_) {
      here_ = 0;
      ++phase_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return phase_ != phase; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const int threads_;
  int here_ = 0, phase_ = 0;
};

/// Operands that a thread has got to know.
struct Remembered {
  std::array<KnownOperand, 1> operands{};
  std::uint64_t epoch = 0;
  std::size_t restarts = 0;  ///< after which they were of use no more
};

/// Each round in each thread: the host writes, a kernel doubles, the host reads.
void use_arrays(char& stream, int value, Remembered& remembered) {
  if (remembered.epoch != 0) {
    EXPECT_FALSE(are_current(remembered.operands.data(), 1, remembered.epoch)) << "an operand of a runtime that has ended";
    ++remembered.restarts;
  }
  auto* const device = static_cast<int*>(allocate_device("array", n * sizeof(int)));
  auto* const mirror = static_cast<int*>(allocate_host("mirror", n * sizeof(int), nullptr));
  const QueueId queue = queue_of(&stream);
  std::fill_n(mirror, n, value);
  copy(device, mirror, n * sizeof(int), queue);
  remembered.epoch = epoch();
  ASSERT_TRUE(identify({device, nullptr, 0, true, false}, remembered.operands[0]));
  for (int launch = 0; launch < 3; ++launch) {
    const Launch running(queue, "kernel", remembered.operands.data(), 1, 1, remembered.epoch, nullptr, 0);
    for (std::size_t i = 0; i < n; ++i) device[i] *= 2;
  }
  copy(mirror, device, n * sizeof(int), queue);
  EXPECT_TRUE(std::all_of(mirror, mirror + n, [&](int i) { return i == 8 * value; }));
  deallocate(mirror);
  deallocate(device);
}

TEST(Restarts, InOtherThreadsLeaveNothingBehind) {
  constexpr int threads = 4, rounds = 20;
  Barrier barrier(threads);
  char streams[threads];
  std::vector<int*> outlived;  // by their runtime
  std::vector<std::thread> all;
  for (int me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      Remembered remembered;
      for (int round = 0; round < rounds; ++round) {
        use_arrays(streams[me], 100 * round + me + 1, remembered);
        barrier.wait();
        if (round % threads == me) {  // another one each time
          auto* const device = static_cast<int*>(allocate_device("outlives", n * sizeof(int)));
          auto* const mirror = static_cast<int*>(allocate_host("outlives", n * sizeof(int), device));
          std::fill_n(mirror, n, round);
          finalize();
          EXPECT_EQ(mirror[n / 2], round) << "what outlives the runtime keeps its content";
          deallocate(device);
          outlived.push_back(mirror);
        }
        barrier.wait();
      }
      EXPECT_EQ(remembered.restarts, static_cast<std::size_t>(rounds - 1));
    });
  }
  for (std::thread& t : all) t.join();
  ASSERT_EQ(outlived.size(), static_cast<std::size_t>(rounds));
  for (int round = 0; round < rounds; ++round) {
    EXPECT_EQ(outlived[static_cast<std::size_t>(round)][0], round);
    deallocate(outlived[static_cast<std::size_t>(round)]);
  }
}

/// Waits until another thread has got far enough.
void wait_until(const std::atomic<bool>& reached) {
  while (!reached) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
constexpr auto a_while = std::chrono::milliseconds(20);

/// What a thread does while a kernel of another thread still writes the array that it needs.
struct Meanwhile {
  const char* name;
  std::function<void(int* device, int* side, int* copy)> call;
};

/// A kernel is under way, another thread waits for its result, and a third one ends the runtime. Both get what they want first. A thread
/// that begins a call meanwhile gets the next runtime.
TEST(Restarts, WaitForTheCallsOfOtherThreads) {
  const Meanwhile cases[] = {
      {"a launch alone", [](int*, int*, int*) {}},
      {"a fault that reads", [](int*, int* side, int*) { EXPECT_EQ(side[n - 1], 7); }},
      {"a fault that writes", [](int*, int* side, int*) { side[n - 1] = 7; }},
      {"a copy", [](int* device, int*, int* copied) { copy(copied, device, n * sizeof(int), queue_of(nullptr)); }},
      {"a copy of the side", [](int*, int* side, int* copied) { copy(copied, side, n * sizeof(int), queue_of(nullptr)); }},
      {"an announced access", [](int*, int* side, int*) { access(side, n * sizeof(int), Access::read); }},
      {"an announced access on the device", [](int* device, int*, int*) { access(device, n * sizeof(int), Access::read); }},
      {"settling", [](int*, int*, int*) { semcache::settle(); }},
  };
  for (const Meanwhile& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string name = c.name;
    auto* const device = static_cast<int*>(allocate_device("array", n * sizeof(int)));
    auto* const side = static_cast<int*>(allocate_host("side", n * sizeof(int), device));
    auto* const copied = static_cast<int*>(allocate_host("copy", n * sizeof(int), nullptr));
    const std::uint64_t before = epoch();
    std::atomic<bool> launched{false}, ends{false}, called{false}, launch_ended{false};
    std::thread launches([&] {
      {
        const Capture written{device, nullptr, 0, true, false};
        const Launch launch(queue_of(&launches), "kernel", &written, 1);
        launched = true;
        wait_until(ends);
        std::this_thread::sleep_for(a_while);
        std::fill_n(device, n, 7);
        EXPECT_EQ(epoch(), before);
        launch_ended = true;
      }
    });
    wait_until(launched);
    std::thread meanwhile([&] {
      c.call(device, side, copied);
      called = true;
    });
    std::this_thread::sleep_for(a_while / 4);
    std::thread begins([&] {
      wait_until(ends);
      std::this_thread::sleep_for(a_while / 2);
      Remembered remembered;
      char stream;
      use_arrays(stream, 3, remembered);
      EXPECT_EQ(remembered.epoch, before + 1);
    });
    ends = true;
    finalize();
    EXPECT_TRUE(launch_ended);
    for (std::thread* t : {&launches, &meanwhile, &begins}) t->join();
    EXPECT_TRUE(called);
    EXPECT_TRUE(std::all_of(side, side + n, [](int i) { return i == 7; })) << "what the kernel has written is settled";
    if (name.rfind("a copy", 0) == 0) {
      EXPECT_TRUE(std::all_of(copied, copied + n, [](int i) { return i == 7; }));
    }
    for (int* p : {device, side, copied}) deallocate(p);
    finalize();
  }
}

/// Threads use mirrors, whose pages stay open where they outlive their runtime, while others end it again and again.
TEST(Restarts, AtAnyTimeBesideAnyCall) {
  constexpr int rounds = 30;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, refused{0}, used{0};
  std::vector<std::thread> users;
  for (int me = 0; me < 3; ++me) {
    users.emplace_back([&, me] {
      char stream;
      for (int i = me; !stop; i += 3) {
        auto* const a = static_cast<int*>(allocate_host("a", n * sizeof(int), nullptr));
        auto* const b = static_cast<int*>(allocate_host("b", n * sizeof(int), nullptr));
        std::fill_n(a, n, i);
        const QueueId queue = queue_of(&stream);
        copy(b, a, n * sizeof(int), queue);
        try {
          access(b, n * sizeof(int), Access::read_write);
          semcache::settle(a, n * sizeof(int));
        } catch (const UsageError&) {  // it is an array of the next runtime no more
          ++refused;
        }
        a[0] = i + 1;
        if (b[0] != i || b[n - 1] != i || a[0] != i + 1 || a[n - 1] != i) ++wrong;
        wait_for_queue(queue);
        (void)is_tracked(a);
        (void)device_of(b);
        (void)statistics();
        deallocate(a);
        deallocate(b);
        ++used;
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    const int so_far = used;
    while (used < so_far + 6) std::this_thread::yield();
    std::thread(finalize).join();
    finalize();
  }
  stop = true;
  for (std::thread& t : users) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(refused, 2 * 3 * rounds) << "at most one call of each thread for each restart";
  finalize();
}

/// Eight threads launch, fault, copy, free and evict with device memory for three of their arrays, while other threads end the runtime again and
/// again. What a thread has in one runtime is right there; a thread whose runtime ends in the middle begins anew.
TEST(Restarts, BesideLaunchesAndEvictions) {
  constexpr int rounds = 30, threads = 8;
  constexpr std::size_t granule = 64 << 10, elements = granule / sizeof(int);
  ::setenv("SEMCACHE_DEVICE_MEMORY", std::to_string(3 * granule).c_str(), 1);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, whole{0};
  std::vector<std::thread> users;
  char streams[threads];
  for (int me = 0; me < threads; ++me) {
    users.emplace_back([&, me] {
      for (int i = me; !stop; i += threads) {
        const std::uint64_t before = epoch();
        auto* const device = static_cast<int*>(allocate_device("device", granule));
        const bool of_this_runtime = epoch() == before;
        auto* const copied = static_cast<int*>(allocate_host("copied", granule, nullptr));
        int* side = nullptr;
        try {
          side = static_cast<int*>(allocate_host("side", granule, device));
          std::fill_n(side, elements, i);
          const QueueId queue = queue_of(&streams[me]);
          copy(device, side, granule, queue);
          for (int launch = 0; launch < 2; ++launch) {
            const Capture capture{device, nullptr, nullptr, true, false};
            const Launch running(queue, "kernel", &capture, 1);
            if (!of_this_runtime || epoch() != before) break;  // the array has no memory on a device any more
            for (std::size_t k = 0; k < elements; ++k) device[k] += 1;
          }
          copy(copied, device, granule, queue);
          copy(side, device, granule, queue);
        } catch (const UsageError&) {  // an array is one of a runtime that has ended
        }
        const bool right = side != nullptr && side[0] == i + 2 && side[elements - 1] == i + 2 && copied[elements / 2] == i + 2;
        if (of_this_runtime && epoch() == before) {
          ++whole;
          if (!right) ++wrong;
        }
        deallocate(copied);
        deallocate(device);
        if (side != nullptr) deallocate(side);
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    const int so_far = whole;
    while (whole < so_far + threads) std::this_thread::yield();
    std::thread(finalize).join();
  }
  stop = true;
  for (std::thread& t : users) t.join();
  EXPECT_EQ(wrong, 0);
  finalize();
  ::unsetenv("SEMCACHE_DEVICE_MEMORY");
}

TEST(Restarts, AreRefusedInAKernelOfTheThread) {
  auto* const device = static_cast<int*>(allocate_device("array", n * sizeof(int)));
  {
    const Capture written{device, nullptr, 0, true, false};
    const Launch launch(queue_of(nullptr), "kernel", &written, 1);
    try {
      finalize();
      ADD_FAILURE() << "it would wait for itself";
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("it would wait for its own caller"), std::string::npos) << e.what();
    }
  }
  deallocate(device);
  finalize();
}

/// A kernel's own threads may make calls, for which the kernel waits, while another thread waits for the kernel.
TEST(Restarts, LetCallsOfAKernelsThreadsThrough) {
  auto* const device = static_cast<int*>(allocate_device("array", n * sizeof(int)));
  std::thread ending;
  {
    const Capture written{device, nullptr, 0, true, false};
    const Launch launch(queue_of(nullptr), "kernel", &written, 1);
    ending = std::thread([] { finalize(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::thread([] {
      for (int i = 0; i < 20; ++i) deallocate(allocate_device("of the kernel's thread", 64));
    }).join();
  }
  ending.join();
  deallocate(device);
  finalize();
}

/// What was asked for in an earlier runtime names no queue of the next one.
TEST(Restarts, AQueueOfAnEarlierRuntimeIsUnknown) {
  char streams[8];
  QueueId last;
  for (char& stream : streams) last = queue_of(&stream);
  finalize();
  auto* const device = static_cast<int*>(allocate_device("array", n * sizeof(int)));
  auto* const mirror = static_cast<int*>(allocate_host("mirror", n * sizeof(int), device));
  {
    const Capture written{device, nullptr, 0, true, false};
    const Launch launch(last, "kernel", &written, 1);
    std::fill_n(device, n, 5);
  }
  EXPECT_EQ(mirror[n / 2], 5);
  wait_for_queue(last);
  retire_queue(last);
  EXPECT_NE(queue_of(&streams[0]), last);
  deallocate(mirror);
  deallocate(device);
  finalize();
}

/// The variable alone chooses here; use_devices is tested elsewhere.
TEST(Restarts, WithAnotherNumberOfDevices) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "1M,2M", 1);
  for (const char* devices : {"2", "0,2", "1,0"}) {
    ::setenv("SEMCACHE_DEVICES", devices, 1);
    EXPECT_EQ(device_count(), 0);
    deallocate(allocate_device("first use", 8));
    EXPECT_EQ(device_count(), 2) << devices;
    EXPECT_EQ(statistics().device_count, 2) << devices;
    EXPECT_EQ(statistics().device_ordinal, devices[0] == '1' ? 1 : 0) << "the first one is home";
    EXPECT_EQ(statistics().device_budget_bytes, 3u << 20);
    finalize();
  }
  ::unsetenv("SEMCACHE_DEVICE_MEMORY");
  ::unsetenv("SEMCACHE_DEVICES");
  deallocate(allocate_device("first use", 8));
  EXPECT_EQ(device_count(), 1);
  finalize();
}

}  // namespace
}  // namespace semcache::runtime
