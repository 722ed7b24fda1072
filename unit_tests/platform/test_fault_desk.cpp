// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/patience.hpp>
#include <semcache/platform/linux/fault_desk.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <memory>
#include <thread>
#include <vector>

namespace semcache::platform::testing {
namespace {

using base::Patience;
using detail::FaultContext;
using detail::FaultDesk;
using namespace std::chrono_literals;

constexpr std::size_t places = 64;

// --- patience --------------------------------------------------------------------------------------------------------

TEST(Patience, IsOverAfterAsManySlicesAsFillIt) {
  Patience::Clock::time_point now{};
  Patience patience(2s, now);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(patience.over(now += 100ms)) << i;
  EXPECT_TRUE(patience.over(now += 100ms));
  EXPECT_TRUE(patience.over(now));
}

TEST(Patience, ShortSlicesAreSummed) {
  Patience::Clock::time_point now{};
  Patience patience(1s, now);
  for (int i = 0; i < 100'000; ++i) EXPECT_FALSE(patience.over(now += 10us)) << i;
  EXPECT_TRUE(patience.over(now += 10us));
}

TEST(Patience, AProcessThatWasStoppedHasNotWaited) {
  Patience::Clock::time_point now{};
  Patience patience(1s, now);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(patience.over(now += 24h)) << i;
  EXPECT_TRUE(patience.over(now += 24h));
}

TEST(Patience, BeginsAnew) {
  Patience::Clock::time_point now{};
  Patience patience(1s, now);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(patience.over(now += 100ms)) << i;
    if (i % 9 == 8) patience.restart(now);
  }
}

// --- the desk --------------------------------------------------------------------------------------------------------

void no_long_work(const void*, unsigned) {}

/// A desk at which nobody serves but the test.
struct Desk : FaultDesk {
  Desk() { open(); }
  Answer post(void* address, const void* holdings = nullptr, unsigned patience_s = 60) {
    return post_and_wait(address, FaultContext(), holdings, patience_s, &no_long_work);
  }
  void* serve_next(Answer with = Answer::served) {
    Posted fault;
    if (!next(fault)) return nullptr;
    answer(fault, with);
    return fault.address;
  }
};
char arrays[2 * places];

struct Poster {
  Poster(Desk& desk, void* address, const void* holdings = nullptr)
      : thread([&desk, address, holdings, this] { answer = desk.post(address, holdings); }) {}
  FaultDesk::Answer joined() {
    thread.join();
    return answer;
  }
  FaultDesk::Answer answer{};
  std::thread thread;
};

/// Who waits sleeps at once where no other processor could serve him, else after a moment.
TEST(FaultDesk, AnswersReachWhoAsked) {
  using Answer = FaultDesk::Answer;
  for (const bool alone : {true, false}) {
    for (const auto pause : {0us, 1000us}) {
      for (const Answer with : {Answer::served, Answer::not_ours, Answer::in_driver, Answer::closed}) {
        Desk desk;
        if (!alone) desk.begin_service();
        Poster first(desk, &arrays[3]);
        std::this_thread::sleep_for(pause);
        EXPECT_EQ(desk.serve_next(with), &arrays[3]);
        EXPECT_EQ(first.joined(), with);
        std::unique_ptr<Poster> second;
        std::thread later([&] {
          std::this_thread::sleep_for(pause);
          second = std::make_unique<Poster>(desk, &arrays[4]);
        });
        EXPECT_EQ(desk.serve_next(with), &arrays[4]);
        later.join();
        EXPECT_EQ(second->joined(), with);
      }
    }
  }
}

thread_local sigjmp_buf out;
std::atomic<int> jumps{0};
void jump_out(int) {
  ++jumps;
  siglongjmp(out, 1);
}

/// Posts, and is thrown out of the wait by a signal's handler.
void post_and_jump_out(Desk& desk, void* address) {
  std::atomic<bool> there{false};
  const int before = jumps;
  std::thread thread([&] {
    if (sigsetjmp(out, 1) == 0) {
      there = true;
      (void)desk.post(address);
    }
  });
  while (!there) std::this_thread::yield();
  FaultDesk::Posted fault;
  ASSERT_TRUE(desk.next(fault));  // it waits, or is about to
  while (jumps == before) {
    ::pthread_kill(thread.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(1ms);
  }
  thread.join();
  desk.answer(fault, FaultDesk::Answer::served);
}

TEST(FaultDesk, WhoJumpsOutOfAWaitLeavesNoPlaceTaken) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &jump_out;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  static Desk desk;
  for (std::size_t i = 0; i < 2 * places; ++i) {
    post_and_jump_out(desk, &arrays[i]);
    Poster other(desk, &arrays[0]);
    EXPECT_EQ(desk.serve_next(), &arrays[0]);
    EXPECT_EQ(other.joined(), FaultDesk::Answer::served) << i;
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)  // that one keeps the traps back
/// The processor's single steps: the signal comes behind the n-th instruction.
int signal_at = 0;
int steps = 0;
void count_step(int) {
  if (++steps == signal_at) ::raise(SIGUSR1);
}
__attribute__((always_inline)) inline void begin_steps() { asm volatile("pushf; orq $0x100, (%%rsp); popf" ::: "memory", "cc"); }
__attribute__((always_inline)) inline void end_steps() { asm volatile("pushf; andq $~0x100, (%%rsp); popf" ::: "memory", "cc"); }

TEST(FaultDesk, WhoJumpsOutAtAnyMomentLeavesNoPlaceTaken) {
  struct sigaction action {};
  struct sigaction before {};
  struct sigaction stepping {};
  struct sigaction before_stepping {};
  action.sa_handler = &jump_out;
  stepping.sa_handler = &count_step;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  ASSERT_EQ(::sigaction(SIGTRAP, &stepping, &before_stepping), 0);
  static Desk desk;
  std::thread server([] {
    while (desk.serve_next() != nullptr) {
    }
  });
  volatile bool jumped = true;
  for (signal_at = 1; jumped && signal_at < 600; ++signal_at) {  // by then it waits
    steps = 0;
    jumped = false;
    if (sigsetjmp(out, 1) == 0) {
      begin_steps();
      (void)desk.post(&arrays[0]);
      end_steps();
    } else {
      end_steps();
      jumped = true;
    }
  }
  EXPECT_GT(signal_at, 100);
  ::sigaction(SIGTRAP, &before_stepping, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
  desk.request_close();
  server.join();
  desk.open();

  std::vector<std::unique_ptr<Poster>> posters;
  for (std::size_t i = 0; i < places; ++i) posters.push_back(std::make_unique<Poster>(desk, &arrays[i]));
  std::vector<FaultDesk::Posted> posted;
  FaultDesk::Posted fault;
  for (int tries = 0; posted.size() < places && tries < 2000; ++tries) {
    while (desk.next_of([](const void*) { return true; }, fault)) posted.push_back(fault);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(posted.size(), places) << "places are lost";
  for (const FaultDesk::Posted& p : posted) desk.answer(p, FaultDesk::Answer::served);
  desk.close();
  for (const auto& p : posters) p->thread.join();
}
#endif

TEST(FaultDesk, WhoseHoldingsAreAskedForComesFirst) {
  Desk desk;
  const int holdings[3] = {};
  std::vector<std::unique_ptr<Poster>> posters;
  for (int i = 0; i < 3; ++i) {
    posters.push_back(std::make_unique<Poster>(desk, &arrays[i], &holdings[i]));
  }
  const auto of = [&](int i) { return [&, i](const void* h) { return h == &holdings[i]; }; };
  FaultDesk::Posted third, first;
  EXPECT_EQ(desk.taken_of(of(2)), nullptr);
  while (!desk.next_of(of(2), third)) std::this_thread::yield();
  EXPECT_EQ(third.address, &arrays[2]);
  EXPECT_EQ(desk.taken_of(of(2)), &arrays[2]);
  EXPECT_EQ(desk.taken_of(of(0)), nullptr);
  FaultDesk::Posted again;
  EXPECT_FALSE(desk.next_of(of(2), again));
  while (!desk.next_of(of(0), first)) std::this_thread::yield();
  desk.answer(first, FaultDesk::Answer::served);
  EXPECT_EQ(desk.taken_of(of(0)), nullptr);
  desk.answer(third, FaultDesk::Answer::not_ours);
  EXPECT_EQ(desk.serve_next(), &arrays[1]);
  EXPECT_EQ(posters[0]->joined(), FaultDesk::Answer::served);
  EXPECT_EQ(posters[1]->joined(), FaultDesk::Answer::served);
  EXPECT_EQ(posters[2]->joined(), FaultDesk::Answer::not_ours);
}

TEST(FaultDesk, SilenceEndsAWait) {
  Desk desk;
  EXPECT_EQ(desk.post(&arrays[0], nullptr, 1), FaultDesk::Answer::too_late);
}

}  // namespace
}  // namespace semcache::platform::testing
