// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// What follows a launch under SEMCACHE_PROTOCOL=write-through (by the test's environment), on several threads.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace semcache::runtime {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t bytes = 64 * 1024;

TEST(WriteThrough, WhatFollowsALaunchWaitsForThoseOfOtherThreads) {
  const QueueId queue = queue_of(nullptr);
  auto* const device = static_cast<unsigned char*>(allocate_device("device", bytes));
  auto* const host = static_cast<unsigned char*>(allocate_host("host", bytes, device));
  const Capture written{device, nullptr, 0, true, false};
  const Capture read{device, nullptr, 0, false, false};
  std::atomic<bool> reads{false};
  std::thread other;
  ::testing::internal::CaptureStderr();
  {
    const Launch launch(queue, "writes", &written, 1);
    std::fill_n(device, bytes, static_cast<unsigned char>(7));
    other = std::thread([&] {
      const Launch reader(queue, "reads", &read, 1);
      reads = true;
      std::this_thread::sleep_for(50ms);
    });
    while (!reads) std::this_thread::yield();
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  other.join();
  EXPECT_EQ(statistics().total.write_through.bytes, bytes);
  EXPECT_EQ(host[bytes - 1], 7);
  EXPECT_EQ(statistics().total.host_faults, 1u) << "the pages were closed, but the content was there";
  deallocate(host);
  deallocate(device);
}

}  // namespace
}  // namespace semcache::runtime
