// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace semcache::platform::testing {
namespace {

using detail::is_inside;
using detail::thread_state;

int this_thread() { return static_cast<int>(::syscall(SYS_gettid)); }

TEST(ThreadState, IsOneOfItsOwnForEachOfMoreThreadsThanATableHas) {
  constexpr int many = 1100;
  std::atomic<int> ready{0};
  std::atomic<bool> leave{false}, end{false};
  std::vector<int> ids(many);
  std::vector<const void*> states(many);
  std::vector<std::thread> threads;
  for (int t = 0; t < many; ++t) {
    threads.emplace_back([&, t] {
      ids[t] = this_thread();
      states[t] = &thread_state();
      {
        const RuntimeScope scope;
        ready.fetch_add(1);
        while (!leave.load()) ::usleep(10000);
      }
      ready.fetch_sub(1);
      while (!end.load()) ::usleep(10000);
    });
  }
  while (ready.load() < many) ::usleep(1000);
  EXPECT_EQ(std::set<const void*>(states.begin(), states.end()).size(), static_cast<std::size_t>(many));
  for (const int id : ids) EXPECT_TRUE(is_inside(id));
  EXPECT_FALSE(is_inside(this_thread()));
  leave.store(true);
  while (ready.load() > 0) ::usleep(1000);
  for (const int id : ids) EXPECT_FALSE(is_inside(id));
  end.store(true);
  for (std::thread& t : threads) t.join();
}

void expect_to_tell_of_calls() {
  EXPECT_EQ(begin_call(), 0);
  EXPECT_EQ(begin_call(), 1);
  EXPECT_EQ(calls_under_way(), 2);
  EXPECT_FALSE(others_call()) << "the thread's own calls do not count";
  std::atomic<int> step{0};
  const auto reaches = [&](int which) {
    while (step.load() < which) ::usleep(100);
  };
  std::thread other([&] {
    EXPECT_EQ(begin_call(), 0);
    EXPECT_TRUE(others_call());
    step = 1;
    reaches(2);
    end_call();
    EXPECT_EQ(calls_under_way(), 0);
    step = 3;
    reaches(4);
    (void)begin_call();  // the thread ends within a call
  });
  reaches(1);
  EXPECT_TRUE(others_call());
  step = 2;
  reaches(3);
  EXPECT_FALSE(others_call());
  step = 4;
  other.join();
  while (others_call()) ::usleep(100);  // the kernel may need a moment to forget the thread
  end_call();
  end_call();
  EXPECT_EQ(calls_under_way(), 0);
}

/// A thread that closes a gate and then finds no call under way does not meet one that has come through.
void expect_to_miss_no_call() {
  std::atomic<bool> closed{false}, inside{false}, end{false};
  std::atomic<int> entered{0};
  std::thread caller([&] {
    while (!end) {
      (void)begin_call();
      if (!closed.load()) {
        inside.store(true, std::memory_order_relaxed);
        entered.fetch_add(1, std::memory_order_relaxed);
        inside.store(false, std::memory_order_relaxed);
      }
      end_call();
    }
  });
  int alone = 0, met = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int round = 0; (round < 20'000 || alone < 100 || entered < 100) && std::chrono::steady_clock::now() < until; ++round) {
    closed.store(true);
    if (!others_call()) {
      ++alone;
      const int before = entered.load();
      for (int i = 0; i < 50; ++i) met += inside.load() ? 1 : 0;
      met += entered.load() - before;
    }
    closed.store(false);
  }
  end = true;
  caller.join();
  EXPECT_EQ(met, 0);
  EXPECT_GE(alone, 100);
  EXPECT_GE(entered, 100);
}

TEST(ThreadState, TellsWhetherOtherThreadsHaveCallsUnderWay) {
  expect_to_tell_of_calls();
  expect_to_miss_no_call();
}
TEST(ThreadState, TellsItToWhoHasTheKernelFenceTheOthers) {
  let_others_fence();  // for the rest of this process
  expect_to_tell_of_calls();
  expect_to_miss_no_call();
}

TEST(ThreadState, PlacesOfThreadsThatHaveEndedAreTakenOver) {
  std::set<const void*> states;
  for (int round = 0; round < 3000; ++round) {
    std::thread([&] {
      EXPECT_EQ(thread_state().runtime_depth.load(), 0);
      EXPECT_FALSE(thread_state().is_service);
      const RuntimeScope scope;
      EXPECT_TRUE(is_inside(this_thread()));
      thread_state().refusals = 5;
      states.insert(&thread_state());
    }).join();
  }
  EXPECT_LE(states.size(), 2U * 1024U);
}

TEST(ThreadState, AForkedChildKnowsItselfByItsNewNumber) {
  detail::follow_forks();
  const RuntimeScope scope;
  const int parent = this_thread();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool right = inside_runtime() && is_inside(this_thread()) && !is_inside(parent) && &thread_state() == &thread_state();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(is_inside(parent));
}

}  // namespace
}  // namespace semcache::platform::testing
