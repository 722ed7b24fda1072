// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <platform/fake_driver.hpp>
#include <platform/toy_server.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csetjmp>
#include <cstring>
#include <thread>

/// Part of ThreadSanitizer, where the program is made with it.
extern "C" __attribute__((weak)) void __tsan_init();

namespace semcache::platform::testing {
namespace {

using Server = ToyServer;

/// Why a test whose forked child starts a thread cannot run, or nothing.
const char* no_threads_in_children() {
  return __tsan_init != nullptr ? "ThreadSanitizer ends a forked child that starts a thread" : nullptr;
}

TEST(MprotectTracker, ServesReadsAndWrites) {
  Server server;
  server.start();
  server.make_stale(3);
  server.make_stale(5);

  EXPECT_EQ(*server.word(3), Server::content(3));
  *server.word(3) = 7;
  *server.word(5, 1) = 8;

  EXPECT_EQ(*server.word(3), 7U);
  EXPECT_EQ(*server.word(5), Server::content(5));
  EXPECT_EQ(*server.word(5, 1), 8U);
  EXPECT_EQ(server.reads, 1);
  EXPECT_EQ(server.writes, 2);
  EXPECT_TRUE(server.tracker().notices());
  EXPECT_STREQ(server.tracker().name(), "mprotect");
}

TEST(MprotectTracker, KeepsErrno) {
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

TEST(MprotectTracker, ManyThreadsOnOnePageAreAllServedOnce) {
  Server server;
  server.start();
  constexpr int threads = 100;  // more than there are places
  for (int round = 0; round < 20; ++round) {
    server.make_stale(1);
    server.served = 0;
    std::atomic<int> ready{0};
    std::atomic<int> right{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        ++ready;
        while (ready < threads) std::this_thread::yield();
        if (*server.word(1) == Server::content(1)) ++right;
      });
    for (auto& thread : all) thread.join();

    EXPECT_EQ(right, threads);
    EXPECT_EQ(server.served, 1);
  }
}

TEST(MprotectTracker, ReadersAndWritersOnManyPagesMakeProgress) {
  Server server;
  server.start();
  std::atomic<bool> go_on{true};
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 6; ++t)
    all.emplace_back([&, t] {
      for (unsigned i = 0; go_on || i < Server::pages; ++i) {
        const std::uint64_t p = i % Server::pages;
        (void)*server.word(p);
        *server.word(p, 1 + t) = i;
      }
    });
  for (unsigned i = 0; i < 2000; ++i) server.set(i % Server::pages, i % 3 == 0 ? Protection::none : Protection::read);
  go_on = false;
  for (auto& thread : all) thread.join();

  EXPECT_GT(server.served, 0);
}

TEST(MprotectTracker, ManyFaultsAtOneInstructionAreAllServed) {
  // A loop that reads one word which becomes stale each time looks like a fault that makes no progress.
  Server server;
  server.start();
  for (int i = 0; i < 1000; ++i) {
    server.make_stale(2);
    ASSERT_EQ(*server.word(2), Server::content(2));
  }
  EXPECT_EQ(server.served, 1000);
}

void* read_on_small_stack(void* argument) {
  auto& server = *static_cast<Server*>(argument);
  return reinterpret_cast<void*>(*server.word(9));
}

TEST(MprotectTracker, WorksOnAStackOf64Kibibytes) {
  Server server;
  server.start();
  server.make_stale(9);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 64U << 10), 0);
  pthread_t thread;
  void* result = nullptr;

  ASSERT_EQ(pthread_create(&thread, &attributes, &read_on_small_stack, &server), 0);
  pthread_join(thread, &result);
  pthread_attr_destroy(&attributes);

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(result), Server::content(9));
}

TEST(MprotectTracker, WorksOnAnAlternateStack) {
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

TEST(MprotectTracker, HasSeveralLifetimes) {
  Server server;
  for (int life = 1; life <= 3; ++life) {
    server.start();
    server.make_stale(6);
    EXPECT_EQ(*server.word(6), Server::content(6));
    server.stop();
    server.stop();
    EXPECT_EQ(server.served, life);
  }
  Server another;
  another.start();
  another.make_stale(1);
  EXPECT_EQ(*another.word(1), Server::content(1));
}

TEST(MprotectTracker, StopRestoresWhatWasInstalled) {
  struct sigaction before;
  ::sigaction(SIGSEGV, nullptr, &before);
  Server server;

  server.start();
  struct sigaction during;
  ::sigaction(SIGSEGV, nullptr, &during);
  server.stop();
  struct sigaction after;
  ::sigaction(SIGSEGV, nullptr, &after);

  EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
  EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
  EXPECT_EQ(after.sa_flags, before.sa_flags);
}

TEST(MprotectTracker, OneAtATime) {
  Server first;
  Server second;
  first.start();

  EXPECT_THROW(second.start(), UsageError);

  first.stop();
  second.start();
  second.make_stale(0);
  EXPECT_EQ(*second.word(0), Server::content(0));
}

TEST(MprotectTracker, SystemCallsOnStalePagesFailCleanly) {
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

sigjmp_buf jump;
const void* volatile seen_address = nullptr;
volatile int seen_count = 0;

void jump_out(int, siginfo_t* info, void*) {
  seen_address = info->si_addr;
  ++seen_count;
  siglongjmp(jump, 1);
}

void jump_out_plain(int) {
  ++seen_count;
  siglongjmp(jump, 1);
}

/// Installs a handler for one test and puts back what was there.
class Installed {
 public:
  explicit Installed(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before);
    seen_count = 0;
    seen_address = nullptr;
  }
  explicit Installed(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    ::sigaction(SIGSEGV, &action, &before);
    seen_count = 0;
  }
  ~Installed() { ::sigaction(SIGSEGV, &before, nullptr); }
  struct sigaction before {};
};

/// True if the access faulted and a test's handler jumped back here.
bool faults(volatile std::uint64_t* address) {
  if (sigsetjmp(jump, 1) != 0) return true;
  (void)*address;
  return false;
}

struct NoAccessPage {
  NoAccessPage() : address(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~NoAccessPage() { ::munmap(address, 4096); }
  [[nodiscard]] volatile std::uint64_t* word() const { return static_cast<volatile std::uint64_t*>(address) + 5; }
  void* address;
};

TEST(MprotectTracker, AnEarlierHandlerGetsForeignFaultsWithTheirAddressAgainAndAgain) {
  const NoAccessPage foreign;
  const Installed earlier(&jump_out);
  Server server;
  server.start();
  server.make_stale(0);

  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(faults(foreign.word()));
    EXPECT_EQ(seen_count, i);
    EXPECT_EQ(seen_address, foreign.word());
  }
  EXPECT_EQ(*server.word(0), Server::content(0));
  server.stop();
}

TEST(MprotectTracker, AnEarlierHandlerWithoutInformationWorksToo) {
  const NoAccessPage foreign;
  const Installed earlier(&jump_out_plain);
  Server server;
  server.start();

  EXPECT_TRUE(faults(foreign.word()));
  EXPECT_TRUE(faults(foreign.word()));

  EXPECT_EQ(seen_count, 2);
  server.stop();
}

TEST(MprotectTracker, WhatTheServerDeclinesGoesToTheEarlierHandler) {
  const Installed earlier(&jump_out);
  Server server;
  server.start();
  ASSERT_EQ(::mprotect(server.base() + 7 * Server::page, Server::page, PROT_NONE), 0);  // behind the server's back

  EXPECT_TRUE(faults(server.word(7)));

  EXPECT_EQ(seen_address, server.word(7));
  EXPECT_EQ(seen_count, 1);
  server.stop();
}

struct sigaction below_later;
void chain(int signal, siginfo_t* info, void* context) {
  ++seen_count;
  below_later.sa_sigaction(signal, info, context);
}

TEST(MprotectTracker, ALaterHandlerThatChainsKeepsUsServed) {
  Server server;
  server.start();
  server.make_stale(0);
  const Installed later(&chain);
  below_later = later.before;

  EXPECT_EQ(*server.word(0), Server::content(0));
  EXPECT_EQ(seen_count, 1);
}

TEST(MprotectTracker, ALaterHandlerThatDoesNotChainGetsOurFaultsAndNobodyReadsWrongBytes) {
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

TEST(MprotectTracker, ALaterHandlerThatStaysIsNotRemovedAndCausesNoLoop) {
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

// --- ends of the process ---------------------------------------------------------------------------------------------

const char* toy_label(const void*) { return "toy array"; }

/// Death tests run in forked children (style "fast") where no service thread exists, so each starts its own server.
class MprotectTrackerDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { set_label_lookup(&toy_label); }
  void TearDown() override { set_label_lookup(nullptr); }
};

void print_address(int, siginfo_t* info, void*) {
  std::fprintf(stderr, "crashed at %p\n", info->si_addr);
  _exit(9);
}

TEST_F(MprotectTrackerDeathTest, ARealSegmentationFaultIsOne) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        *reinterpret_cast<volatile int*>(0x4240) = 1;
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(MprotectTrackerDeathTest, ARealSegmentationFaultKeepsItsAddress) {
  EXPECT_EXIT(
      {
        const Installed earlier(&print_address);
        Server server;
        server.start();
        *reinterpret_cast<volatile int*>(0x4240) = 1;
      },
      ::testing::ExitedWithCode(9), "crashed at 0x4240");
}

TEST_F(MprotectTrackerDeathTest, ASentSignalIsDelivered) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        ::raise(SIGSEGV);
        _exit(0);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(MprotectTrackerDeathTest, AFaultThatIsDeclinedCrashes) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        ::mprotect(server.base(), Server::page, PROT_NONE);
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(MprotectTrackerDeathTest, AFaultInsideTheRuntimeNamesTheArray) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        server.make_stale(0);
        const RuntimeScope outer;
        { const RuntimeScope inner; }
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "SemCache's own code.*'toy array'.*semcache::access");
}

TEST_F(MprotectTrackerDeathTest, AFaultOfTheServiceThreadNamesTheArray) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        server.make_stale(0);
        server.make_stale(1);
        server.before = [&](std::byte*) { (void)*server.word(1); };
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "SemCache's own code.*'toy array'");
}

TEST_F(MprotectTrackerDeathTest, AFaultThatIsNotServedEndsWithAMessage) {
  EXPECT_EXIT(
      {
        Server server(1);
        server.start();
        server.make_stale(0);
        server.before = [](std::byte*) { ::pause(); };
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "'toy array'.*not served for 1 s");
}

TEST(MprotectTracker, AfterARuntimeScopeFaultsAreServedAgain) {
  Server server;
  server.start();
  server.make_stale(0);
  { const RuntimeScope scope; }

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST(MprotectTracker, ALongQueueIsNoReasonToEnd) {
  // 8 faults of 0.3 s each with a patience of 1 s: the last one waits for 2.4 s, but all the time others are served.
  Server server(1);
  server.start();
  server.before = [](std::byte*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 8; ++t) server.make_stale(t);
  for (unsigned t = 0; t < 8; ++t) all.emplace_back([&, t] { (void)*server.word(t); });
  for (auto& thread : all) thread.join();

  EXPECT_EQ(server.served, 8);
}

// --- fork ------------------------------------------------------------------------------------------------------------

template <class Body>
int status_of_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(MprotectTracker, AForkedChildUsesFreshDataAndTheParentGoesOn) {
  Server server;
  server.start();
  for (std::uint64_t p = 0; p < 4; ++p) {
    server.make_stale(p);
    (void)*server.word(p);  // fresh and read-only
  }
  server.make_stale(5);
  const int served = server.served;

  const int status = status_of_child([&] {
    if (*server.word(1) != Server::content(1)) _exit(1);
    *server.word(1) = 77;  // read-only, but the child's own
    *server.word(2) = 78;
    if (*server.word(1) != 77 || *server.word(2) != 78 || *server.word(3) != Server::content(3)) _exit(2);
  });

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(server.served, served);
  EXPECT_EQ(*server.word(1), Server::content(1));
  EXPECT_EQ(*server.word(5), Server::content(5));  // the parent is still served
  *server.word(1) = 5;
  EXPECT_EQ(*server.word(1), 5U);
}

TEST(MprotectTracker, AForkedChildCanExitWithoutWaitingForAThreadItDoesNotHave) {
  Server server;
  server.start();

  const int by_fork = status_of_child([&] { server.stop(); });
  EXPECT_TRUE(WIFEXITED(by_fork) && WEXITSTATUS(by_fork) == 0);

  const pid_t child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    server.stop();
    _exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(MprotectTracker, AForkedChildCanStartItsOwn) {
  if (const char* const why = no_threads_in_children()) GTEST_SKIP() << why;
  Server server;
  server.start();
  server.make_stale(0);

  const int status = status_of_child([&] {
    server.start();
    if (*server.word(0) != Server::content(0)) _exit(1);
    server.stop();
  });

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST(MprotectTracker, AForkedChildForgetsWhatTheParentsThreadsHadPosted) {
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

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(MprotectTrackerDeathTest, AStaleReadInAForkedChildEndsWithAMessage) {
  Server server;
  server.start();
  server.make_stale(0);

  // The death test's own child is the forked child.
  EXPECT_EXIT((void)*server.word(0), ::testing::KilledBySignal(SIGABRT), "forked child.*'toy array'.*settle");
  EXPECT_EXIT((void)(*server.word(0) = 1), ::testing::KilledBySignal(SIGABRT), "forked child.*'toy array'.*settle");

  EXPECT_EQ(*server.word(0), Server::content(0));
}

// --- the driver ------------------------------------------------------------------------------------------------------

TEST_F(MprotectTrackerDeathTest, AFaultInsideTheDriverEndsAtOnceWithAMessage) {
  EXPECT_EXIT(
      {
        const FakeDriver driver;
        Server server(60);
        server.start();
        server.make_stale(0);
        (void)driver.read(reinterpret_cast<const volatile int*>(server.word(0)));
      },
      ::testing::KilledBySignal(SIGABRT), "GPU driver itself.*'toy array'.*semcache::access");
}

TEST_F(MprotectTrackerDeathTest, ADriverLoadedAfterTheStartIsKnownToo) {
  EXPECT_EXIT(
      {
        Server server(60);
        server.start();
        const FakeDriver driver;
        server.make_stale(0);
        (void)driver.read(reinterpret_cast<const volatile int*>(server.word(0)));
      },
      ::testing::KilledBySignal(SIGABRT), "GPU driver itself.*'toy array'");
}

TEST_F(MprotectTrackerDeathTest, ACopyByTheDriverThroughTheCLibraryIsTheDriver) {
  EXPECT_EXIT(
      {
        const FakeDriver driver;
        Server server(60);
        server.start();
        server.make_stale(0);
        char to[256];
        // Not memcpy: sanitizers put their own in front of it.
        driver.copy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to, &::mempcpy);
      },
      ::testing::KilledBySignal(SIGABRT), "GPU driver itself.*'toy array'");
}

TEST(MprotectTracker, ACopyByTheProgramThroughTheCLibraryIsServed) {
  const FakeDriver driver;
  Server server;
  server.start();
  server.make_stale(0);
  std::uint64_t to[32];

  std::memcpy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to);

  EXPECT_EQ(to[31], Server::content(0));
}

}  // namespace
}  // namespace semcache::platform::testing
