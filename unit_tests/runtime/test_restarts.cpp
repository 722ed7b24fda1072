// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
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
