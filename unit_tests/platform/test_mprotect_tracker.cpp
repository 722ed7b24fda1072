// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <platform/tracker_test.hpp>

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace semcache::platform::testing {

const Tested tested{
    "mprotect",
    [](unsigned patience_s) {
      return Pages{make_linux_platform(), make_mprotect_tracker(patience_s)};
    },
    true,
};

namespace {

using MprotectTracker = TrackerTest;

/// Why a test whose forked child starts a thread cannot run, or nothing.
const char* no_threads_in_children() {
  if (in_qemu_user()) return "qemu-user ends a forked child that starts a thread";
  return __tsan_init != nullptr ? "ThreadSanitizer ends a forked child that starts a thread" : nullptr;
}

TEST_F(MprotectTracker, KeepsErrno) {
  Server server;
  server.start();
  server.make_stale(0);
  // Long enough for the waiting thread to look around in between, by a system call that sets errno.
  server.before = [](std::byte*) { std::this_thread::sleep_for(std::chrono::milliseconds(250)); };
  errno = 123;

  (void)*server.word(0);

  EXPECT_EQ(errno, 123);
  EXPECT_EQ(server.served, 1);
}

void* read_on_small_stack(void* argument) {
  auto& server = *static_cast<Server*>(argument);
  return reinterpret_cast<void*>(*server.word(9));
}

TEST_F(MprotectTracker, WorksOnAStackOf64KibibytesOrTheLeastThatThereIs) {
  Server server;
  server.start();
  server.make_stale(9);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const auto least = static_cast<std::size_t>(std::max<long>(64L << 10, ::sysconf(_SC_THREAD_STACK_MIN)));
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, least), 0);
  pthread_t thread;
  void* result = nullptr;

  ASSERT_EQ(pthread_create(&thread, &attributes, &read_on_small_stack, &server), 0);
  pthread_join(thread, &result);
  pthread_attr_destroy(&attributes);

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(result), Server::content(9));
}

TEST_F(MprotectTracker, ServesASecondArena) {
  if (in_qemu_user()) GTEST_SKIP() << "qemu-user does not tell whether an access writes";
  NoAccessPage page;
  Server server;
  ASSERT_TRUE(server.tracker().also_watch(static_cast<std::byte*>(page.address), 4096));
  std::vector<std::byte*> served;
  server.tracker().start(server.base(), Server::pages * Server::page, [&](std::byte* address, FaultKind kind, const void*) {
    served.push_back(address);
    ::mprotect(page.address, 4096, kind == FaultKind::read ? PROT_READ : PROT_READ | PROT_WRITE);
    return FaultResult::served;
  });

  EXPECT_EQ(*page.word(), 0u);
  *page.word() = 5;

  EXPECT_EQ(*page.word(), 5u);
  EXPECT_EQ(served, std::vector<std::byte*>(2, const_cast<std::byte*>(reinterpret_cast<volatile std::byte*>(page.word()))));
  const int status = status_of_child([&] { *page.word() = 6; });  // readable pages are the child's own
  EXPECT_TRUE(ended_well(status)) << status;
  server.stop();
}

TEST_F(MprotectTracker, WorksOnAnAlternateStack) {
  std::vector<char> memory(64U << 10);
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  stack_t before{};
  ASSERT_EQ(::sigaltstack(&stack, &before), 0);
  Server server;
  server.start();
  server.make_stale(4);

  EXPECT_EQ(*server.word(4), Server::content(4));

  before.ss_flags = SS_DISABLE;
  ::sigaltstack(&before, nullptr);
}

/// A thread's stack for signals with inaccessible pages behind its end.
class SignalStack {
 public:
  explicit SignalStack(std::size_t bytes) {
    memory_ = static_cast<char*>(::mmap(nullptr, guard + most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_, guard, PROT_NONE);
    stack_t stack{};
    stack.ss_sp = memory_ + guard;
    stack.ss_size = bytes;
    if (::sigaltstack(&stack, &before_) != 0) std::abort();
  }
  ~SignalStack() {
    before_.ss_flags = SS_DISABLE;
    ::sigaltstack(&before_, nullptr);
    ::munmap(memory_, guard + most);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  [[nodiscard]] const char* end() const { return memory_ + guard; }

 private:
  static constexpr std::size_t guard = 8192;
  static constexpr std::size_t most = 64U << 10;
  char* memory_;
  stack_t before_{};
};

/// What the kernel puts on a signal stack before the handler begins.
std::size_t bytes_of_kernel() {
  static const char* frame;
  constexpr std::size_t bytes = 32U << 10;
  const SignalStack stack(bytes);
  struct sigaction action {}, before{};
  action.sa_sigaction = [](int, siginfo_t*, void*) { frame = static_cast<const char*>(__builtin_frame_address(0)); };
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGUSR1, &action, &before);
  ::raise(SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
  return static_cast<std::size_t>(stack.end() + bytes - frame);
}

/// The first fault of a process, on a signal stack of this size.
void read_on_signal_stack(std::size_t bytes) {
  ::alarm(30);  // instead of a loop without end
  Server server;
  server.start();
  server.make_stale(0);
  std::thread([&] {
    const SignalStack stack(bytes);
    if (*server.word(0) == Server::content(0)) std::fputs("right\n", stderr);
  }).join();
  _exit(0);
}

struct SmallSignalStacks : TrackerTest {
  void SetUp() override {
    if (no_threads_in_children() != nullptr) GTEST_SKIP() << no_threads_in_children();
    TrackerTest::SetUp();
    // Each in a process of its own, where no function was called before.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  void TearDown() override {
    GTEST_FLAG_SET(death_test_style, "fast");
    TrackerTest::TearDown();
  }
};
using SmallSignalStacksDeathTest = SmallSignalStacks;

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
TEST_F(SmallSignalStacksDeathTest, HalfAKibibyteIsEnough) {
  EXPECT_EXIT(read_on_signal_stack(bytes_of_kernel() + 512), ::testing::ExitedWithCode(0), "right");
}
#endif

TEST_F(SmallSignalStacksDeathTest, WithLessTheProcessEndsWithAMessage) {
  const auto served_or_told = [](int status) {
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  };
  for (const std::size_t more : {64, 96, 128, 192, 256, 320, 384, 448, 512, 768, 1024, 2048, 4096}) {
    EXPECT_EXIT(read_on_signal_stack(bytes_of_kernel() + more), served_or_told,
                "right|access at 0x[0-9a-f]+ cannot be served: the signal stack .* is too small|a handler of a signal has run out of its thread's signal stack")
        << more;
  }
}

TEST_F(SmallSignalStacksDeathTest, MessagesAreWrittenElsewhere) {
  EXPECT_EXIT(
      {
        ::alarm(30);
        Server server;
        server.start();
        server.make_stale(0);
        std::thread([&] {
          const RuntimeScope scope;
          const SignalStack stack(bytes_of_kernel() + 1024);
          (void)*server.word(0);
        }).join();
      },
      ::testing::KilledBySignal(SIGABRT), "middle of a SemCache call|signal stack .* is too small");
}

/// A handler of the program's that needs more than there is.
__attribute__((noinline)) int use_stack(int kibibytes) {
  volatile char room[1024];
  room[0] = static_cast<char>(kibibytes);
  return kibibytes > 0 ? use_stack(kibibytes - 1) + room[0] : room[0];
}
volatile int used;

TEST_F(SmallSignalStacksDeathTest, AnotherHandlerThatOverrunsItIsNamed) {
  EXPECT_EXIT(
      {
        ::alarm(30);
        Server server;
        server.start();
        struct sigaction action {};
        action.sa_handler = [](int) { used = use_stack(64); };
        action.sa_flags = SA_ONSTACK;
        ::sigaction(SIGUSR1, &action, nullptr);
        std::thread([&] {
          const SignalStack stack(bytes_of_kernel() + 8192);
          ::raise(SIGUSR1);
        }).join();
      },
      ::testing::KilledBySignal(SIGABRT), "run out of its thread's signal stack .* of [0-9]+ bytes|is too small");
}

TEST_F(MprotectTracker, SystemCallsOnStalePagesFailCleanly) {
  Server server;
  server.start();
  server.make_stale(0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);

  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(0)), 8), -1);
  EXPECT_EQ(errno, EFAULT);

  EXPECT_EQ(server.served, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

// --- other handlers --------------------------------------------------------------------------------------------------

struct sigaction below_later;
void chain(int signal, siginfo_t* info, void* context) {
  seen_count = seen_count + 1;
  below_later.sa_sigaction(signal, info, context);
}

void print_and_jump_out(int signal, siginfo_t* info, void* context) {
  std::fputs("", stderr);
  jump_out(signal, info, context);
}

TEST_F(MprotectTracker, ALaterHandlerThatChainsKeepsUsServed) {
  Server server;
  server.start();
  server.make_stale(0);
  const Installed later(&chain);
  below_later = later.before;

  EXPECT_EQ(*server.word(0), Server::content(0));
  EXPECT_EQ(seen_count, 1);
}

TEST_F(MprotectTracker, ALaterHandlerThatDoesNotChainGetsOurFaultsAndNobodyReadsWrongBytes) {
  Server server;
  server.start();
  server.make_stale(0);
  {
    const Installed later(&jump_out);

    EXPECT_TRUE(faults(server.word(0)));

    EXPECT_EQ(seen_address, server.word(0));
    EXPECT_EQ(server.served, 0);
  }
  EXPECT_EQ(*server.word(0), Server::content(0));  // it is gone, and we are on top again
}

TEST_F(MprotectTracker, ALaterHandlerThatStaysIsNotRemovedAndCausesNoLoop) {
  const NoAccessPage foreign;
  const Installed earliest(&jump_out);
  Server server;
  server.start();
  {
    const Installed later(&chain);
    below_later = later.before;
    server.stop();
    struct sigaction now;
    ::sigaction(SIGSEGV, nullptr, &now);
    EXPECT_EQ(now.sa_sigaction, &chain);  // not ours to take away

    EXPECT_TRUE(faults(foreign.word()));  // through the one that stays chained, to the earliest
    EXPECT_EQ(seen_address, foreign.word());

    server.start();  // on top once more; below is one that chains back to us
    server.make_stale(3);
    EXPECT_EQ(*server.word(3), Server::content(3));
    seen_address = nullptr;
    EXPECT_TRUE(faults(foreign.word()));
    EXPECT_EQ(seen_address, foreign.word());
    EXPECT_TRUE(faults(foreign.word()));
    server.stop();
  }
}

/// A fault that the server declines, and that a later handler hands back to ours, is not repeated for ever.
TEST_F(MprotectTracker, WhatIsDeclinedAndComesBackGoesToTheEarliestHandler) {
  const Installed earliest(&jump_out);
  Server server;
  server.start();
  auto* const word = const_cast<std::uint64_t*>(server.word(0));
  {
    const Installed later(&chain);
    below_later = later.before;
    server.tracker().stay_on_top();
    ASSERT_EQ(::mprotect(word, ToyServer::page, PROT_NONE), 0);  // the server believes that it is open
    for (int time = 1; time <= 3; ++time) {  // after a handler that jumped out, too
      EXPECT_TRUE(faults(word));
      EXPECT_EQ(seen_address, word);
      EXPECT_EQ(seen_count, 2 * time);  // each of the two counts
    }
  }
  ASSERT_EQ(::mprotect(word, ToyServer::page, PROT_READ | PROT_WRITE), 0);
}

TEST_F(MprotectTracker, StaysOnTopAndChainsWhatWasInstalledOverIt) {
  const NoAccessPage foreign;
  Server server;
  server.start();
  server.tracker().stay_on_top();
  server.make_stale(0);
  {
    const Installed later(&jump_out);  // does not chain
    server.tracker().stay_on_top();
    EXPECT_EQ(*server.word(0), Server::content(0));
    EXPECT_EQ(seen_count, 0);
    EXPECT_TRUE(faults(foreign.word()));  // what is not ours is still its own
    EXPECT_EQ(seen_address, foreign.word());
  }
  server.make_stale(0);
  server.tracker().stay_on_top();
  EXPECT_EQ(*server.word(0), Server::content(0));
  server.stop();
}

TEST_F(MprotectTracker, StaysOnTopHoweverOftenTheSameHandlersComeAndGo) {
  const NoAccessPage foreign;
  const Installed earliest(&jump_out);
  Server server;
  server.start();
  for (int i = 0; i < 100; ++i) {
    const Installed later(i % 2 == 0 ? &jump_out : &print_and_jump_out);
    server.tracker().stay_on_top();
    server.make_stale(1);
    ASSERT_EQ(*server.word(1), Server::content(1)) << i;
    ASSERT_TRUE(faults(foreign.word())) << i;
  }
  server.stop();
}

TEST_F(MprotectTracker, StaysOnTopOfAHandlerThatChainsWithoutALoop) {
  const NoAccessPage foreign;
  const Installed earliest(&jump_out);
  Server server;
  server.start();
  const Installed later(&chain);
  below_later = later.before;
  server.tracker().stay_on_top();
  server.make_stale(0);
  EXPECT_EQ(*server.word(0), Server::content(0));
  EXPECT_EQ(seen_count, 0);
  EXPECT_TRUE(faults(foreign.word()));
  EXPECT_EQ(seen_count, 2);  // the one that chains, and the earliest
  server.stop();
}

TEST_F(MprotectTracker, IsNotPutBackAfterItsEnd) {
  Server server;
  server.start();
  server.stop();
  struct sigaction before, after;
  ::sigaction(SIGSEGV, nullptr, &before);
  server.tracker().stay_on_top();
  ::sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_sigaction, after.sa_sigaction);
}

// --- fork ------------------------------------------------------------------------------------------------------------

TEST_F(MprotectTracker, AForkedChildCanStartItsOwn) {
  if (const char* const why = no_threads_in_children()) GTEST_SKIP() << why;
  Server server;
  server.start();
  server.make_stale(0);

  const int status = status_of_child([&] {
    server.start();
    if (*server.word(0) != Server::content(0)) _exit(1);
    server.stop();
  });

  EXPECT_TRUE(ended_well(status)) << status;
  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(MprotectTracker, AForkedChildForgetsWhatTheParentsThreadsHadPosted) {
  if (const char* const why = no_threads_in_children()) GTEST_SKIP() << why;
  Server server(3);
  server.start();
  std::atomic<bool> held{true};
  server.before = [&](std::byte*) {
    while (held) std::this_thread::yield();
  };
  server.make_stale(0);
  std::vector<std::thread> all;
  for (int t = 0; t < 64; ++t) all.emplace_back([&] { (void)*server.word(0); });  // all places taken
  std::this_thread::sleep_for(std::chrono::milliseconds(300));

  const int status = status_of_child([&] {
    server.before = nullptr;
    server.make_stale(1);
    server.start();
    if (*server.word(1) != Server::content(1)) _exit(1);
    server.stop();
  });
  held = false;
  for (auto& thread : all) thread.join();

  EXPECT_TRUE(ended_well(status)) << status;
}

}  // namespace
}  // namespace semcache::platform::testing
