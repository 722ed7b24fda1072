// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

/// Real threads on the emulated device with little memory: unknown launches, which need every array, evict saved copies while
/// other threads allocate and free. SEMCACHE_TEST_ROUNDS: a longer run.
namespace semcache::runtime {
namespace {

constexpr std::size_t large = (2 << 20) - 4096;
constexpr std::size_t small = 512 << 10;

int rounds() {
  const char* const text = std::getenv("SEMCACHE_TEST_ROUNDS");
  return text == nullptr ? 150 : std::atoi(text);
}

TEST(FreedWhileLaunched, UnknownLaunchesBesideThreadsThatFree) {
  const QueueId queue = queue_of(nullptr);
  void* const fixed = allocate_device("fixed", 1 << 20);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::string> refused;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        void* const p = allocate_device("short-lived", small);
        std::this_thread::yield();
        deallocate(p);
      }
    });
  }
  int unknown = 0;
  for (int n = rounds(); n > 0; --n) {
    auto* const d = static_cast<unsigned char*>(allocate_device("device", large));
    auto* const h = static_cast<unsigned char*>(allocate_host("host", large));
    const auto byte = static_cast<unsigned char>(n);
    bool copied = false;
    try {
      const Capture written{d, nullptr, 0, true, false};
      {
        const Launch launch(queue, "write", &written, 1);
        std::memset(d, byte, large);
      }
      copy(h, d, large, queue);
      copied = true;
    } catch (const OutOfMemory&) {  // other threads' arrays are in use
    }
    deallocate(d);  // becomes a saved copy
    try {
      const Capture any{fixed, nullptr, 0, true, true};
      const Launch launch(queue, "unknown", &any, 1);
      ++unknown;
    } catch (const std::exception& e) {
      refused.emplace_back(e.what());
    }
    if (copied && (h[0] != byte || h[large / 2] != byte || h[large - 1] != byte)) ++wrong;
    deallocate(h);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(unknown, rounds());
  EXPECT_TRUE(refused.empty()) << "all arrays that live at once fit: " << refused.front();
  semcache::settle();
  const Statistics s = statistics();
  EXPECT_EQ(s.live_device_bytes, 1u << 20);
  EXPECT_LE(s.mapped_device_bytes, 2u << 20) << "memory of arrays that were freed";
  deallocate(fixed);
  EXPECT_EQ(statistics().mapped_device_bytes, 0u);
}

}  // namespace
}  // namespace semcache::runtime
