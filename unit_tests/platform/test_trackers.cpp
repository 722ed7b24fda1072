// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// What every tracker that notices accesses must do. Part of each one's program.
#include <platform/fake_driver.hpp>
#include <platform/tracker_test.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace semcache::platform::testing {
namespace {

using Trackers = TrackerTest;
using TrackersDeathTest = TrackerTest;

TEST_F(Trackers, ServesReadsAndWrites) {
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
  if (!in_qemu_user()) {
    EXPECT_EQ(server.reads, 1);
    EXPECT_EQ(server.writes, 2);
  }
  EXPECT_TRUE(server.tracker().notices());
  EXPECT_STREQ(server.tracker().name(), tested.name);
}

TEST_F(Trackers, ManyThreadsOnOnePageAreAllServedOnce) {
  Server server;
  server.start();
  constexpr int threads = 100;  // more than the fault desk has places
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

TEST_F(Trackers, ReadersAndWritersOnManyPagesMakeProgressAndLoseNothing) {
  for (const bool stale : {false, true}) {
    Server server;
    server.start();
    constexpr unsigned threads = 6;
    std::atomic<bool> go_on{true};
    std::atomic<int> lost{0};
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        std::vector<std::uint64_t> last(Server::pages);
        for (unsigned i = 1; go_on || i < Server::pages; ++i) {
          const std::uint64_t p = i % Server::pages;
          const std::uint64_t seen = *server.word(p, 1 + t);
          if (seen != last[p] && !(stale && seen == Server::content(p))) ++lost;
          *server.word(p, 1 + t) = last[p] = i;
        }
      });
    // Read-only and back: whoever writes while that happens either comes first or is noticed.
    for (unsigned i = 0; i < 5000; ++i)
      server.set(i % Server::pages, stale && i % 3 == 0 ? Protection::none : Protection::read);
    go_on = false;
    for (auto& thread : all) thread.join();

    EXPECT_EQ(lost, 0) << stale;
    EXPECT_GT(server.served, 0) << stale;
  }
}

TEST_F(Trackers, ManyFaultsAtOneInstructionAreAllServed) {
  // A loop that reads one word which becomes stale each time looks like a fault that makes no progress.
  Server server;
  server.start();
  for (int i = 0; i < 1000; ++i) {
    server.make_stale(2);
    ASSERT_EQ(*server.word(2), Server::content(2));
  }
  EXPECT_EQ(server.served, 1000);
}

TEST_F(Trackers, HasSeveralLifetimes) {
  Server server;
  for (int life = 1; life <= 3; ++life) {
    server.start();
    server.make_stale(6);
    server.set(7, Protection::read);
    EXPECT_EQ(*server.word(6), Server::content(6));
    EXPECT_EQ(*server.word(7), 0U);
    server.make_stale(6);
    server.stop();
    server.stop();
    EXPECT_EQ(server.served, life);
    // Nobody serves: protected pages are closed, and nobody waits for ever.
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(6)), 8), -1);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(7)), 8), 8);
    EXPECT_EQ(::read(ends[0], const_cast<std::uint64_t*>(server.word(7)), 8), -1);
    EXPECT_EQ(errno, EFAULT);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Server another;
  another.start();
  another.make_stale(1);
  EXPECT_EQ(*another.word(1), Server::content(1));
}

/// The handler of a tracker that has stopped may still be called: the kernel looks for it some time after the access. So it stays, and passes on what others
/// installed a handler for.
TEST_F(Trackers, AfterStopFaultsReachTheHandlerThatWasInstalledBefore) {
  static std::atomic<int> reached{0};
  static void* closed = nullptr;
  set_label_lookup(nullptr);  // the page is no device's memory
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  closed = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  struct sigaction own {}, before {};
  own.sa_handler = [](int) {
    ++reached;
    ::mprotect(closed, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE);
  };
  ASSERT_EQ(::sigaction(SIGSEGV, &own, &before), 0);
  for (int life = 1; life <= 40; ++life) {  // more lives than the chain has levels
    Server server;
    server.start();
    server.stop();
    ASSERT_EQ(::mprotect(closed, page, PROT_NONE), 0);
    *static_cast<volatile char*>(closed) = 1;
    EXPECT_EQ(reached, life);
  }
  ::sigaction(SIGSEGV, &before, nullptr);
  ::munmap(closed, page);
}

/// A page that a tracker had closed is opened at its end, while the fault of another thread is on its way, and the next tracker has another arena.
TEST_F(Trackers, AFaultThatArrivesInTheNextLifeIsRepeated) {
  struct sigaction during;
  Server first;
  first.start();
  ::sigaction(SIGSEGV, nullptr, &during);
  std::uint64_t* const word = const_cast<std::uint64_t*>(first.word(0));
  first.make_stale(0);
  first.stop();
  ASSERT_EQ(::mprotect(word, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE), 0);
  Server second;
  second.start();
  siginfo_t late{};
  late.si_signo = SIGSEGV;
  late.si_code = SEGV_ACCERR;
  late.si_addr = word;
  if ((during.sa_flags & SA_SIGINFO) != 0) during.sa_sigaction(SIGSEGV, &late, nullptr);  // ends the process if it is passed on
  second.stop();
}

TEST_F(Trackers, OneAtATime) {
  Server first;
  Server second;
  first.start();

  EXPECT_THROW(second.start(), UsageError);

  first.stop();
  second.start();
  second.make_stale(0);
  EXPECT_EQ(*second.word(0), Server::content(0));
}

TEST_F(Trackers, AfterARuntimeScopeFaultsAreServedAgain) {
  Server server;
  server.start();
  server.make_stale(0);
  { const RuntimeScope scope; }

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Trackers, ALongQueueIsNoReasonToEnd) {
  // 8 faults of 0.3 s each with a patience of 1 s: the last one waits for 2.4 s, but all the time others are served.
  Server server(1);
  server.before = [](std::byte*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  server.start();
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 8; ++t) server.make_stale(t);
  for (unsigned t = 0; t < 8; ++t) all.emplace_back([&, t] { (void)*server.word(t); });
  for (auto& thread : all) thread.join();

  EXPECT_EQ(server.served, 8);
}

TEST_F(Trackers, WorkThatTakesLongerThanThePatienceIsWaitedFor) {
  Server server(1);
  server.before = [](std::byte*) {
    const base::TakesTime work;
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  };
  server.start();
  server.make_stale(0);

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Trackers, ManyShortWorksAreSignsOfLife) {
  Server server(1);
  server.before = [](std::byte*) {
    for (int i = 0; i < 50; ++i) {
      { const base::TakesTime work; }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  server.start();
  server.make_stale(0);

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Trackers, AProcessThatIsStoppedLosesNoPatience) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Server server(2);
    server.before = [&](std::byte*) {
      if (::write(ends[1], "x", 1) != 1) _exit(2);
      // Half of the patience, by a clock that stands still while the process is stopped.
      for (int i = 0; i < 100; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    };
    server.start();
    server.make_stale(0);
    _exit(*server.word(0) == Server::content(0) ? 0 : 1);
  }
  char told;
  ASSERT_EQ(::read(ends[0], &told, 1), 1);
  ASSERT_EQ(::kill(child, SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  ASSERT_EQ(::kill(child, SIGCONT), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(ended_well(status)) << status;
  ::close(ends[0]);
  ::close(ends[1]);
}

// --- who waits for whom ----------------------------------------------------------------------------------------------

/// What a thread holds in these tests: a number.
using Told = std::atomic<const void*>;
Holds holding(const int& thing) {
  return [&thing](const void* holdings) { return holdings == &thing; };
}

TEST_F(Trackers, WhoHoldsWhatAFaultWaitsForIsServedFirst) {
  Server server;
  const int thing = 0;
  std::atomic<Holder> helped{Holder::runs};
  std::atomic<unsigned> order{0};  // digits of pages, from 1 on
  server.before = [&](std::byte* address) {
    const auto page = static_cast<unsigned>(address - server.base()) / Server::page;
    const void* where = nullptr;
    // The fault of page 0 cannot be served before the thread that waits for page 1 has gone on.
    while (page == 0 && helped == Holder::runs) helped = server.tracker().help_holder(holding(thing), where);
    order = 10 * order + static_cast<unsigned>(page) + 1;
  };
  server.start();
  server.make_stale(0);
  server.make_stale(1);
  std::thread first([&] { (void)*server.word(0); });
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Told holdings{&thing};
    tell_holdings(&holdings);
    (void)*server.word(1);
  });
  first.join();
  holder.join();
  EXPECT_EQ(helped, Holder::was_helped);
  EXPECT_EQ(order, 21u);
  EXPECT_EQ(server.served, 2);
}

TEST_F(Trackers, WhoWaitsForItselfIsKnown) {
  Server server;
  const int thing = 0;
  std::atomic<Holder> found{Holder::runs};
  std::atomic<std::uintptr_t> place{0};
  server.before = [&](std::byte*) {
    const void* where = nullptr;
    found = server.tracker().help_holder(holding(thing), where);
    place = reinterpret_cast<std::uintptr_t>(where);
  };
  server.start();
  server.make_stale(3);
  std::thread thread([&] {
    Told holdings{&thing};
    tell_holdings(&holdings);
    (void)*server.word(3, 5);
  });
  thread.join();
  EXPECT_EQ(found, Holder::waits_for_the_same);
  // The kernel reports whole pages before Linux 5.18 and to userfaultfd.
  EXPECT_EQ(place / Server::page, reinterpret_cast<std::uintptr_t>(server.word(3)) / Server::page);

  server.make_stale(3);
  found = Holder::waits_for_the_same;
  (void)*server.word(3);  // by a thread that holds nothing
  EXPECT_EQ(found, Holder::runs);
}

// --- what is nobody's ------------------------------------------------------------------------------------------------

void jump_out_plain(int) {
  seen_count = seen_count + 1;
  siglongjmp(jump, 1);
}

void print_address(int, siginfo_t* info, void*) {
  std::fprintf(stderr, "crashed at %p\n", info->si_addr);
  _exit(9);
}

/// A server that declines everything; page 2 is closed.
struct Declining : Server {
  Declining() {
    tracker().start(base(), pages * page, [](std::byte*, FaultKind, const void*) { return FaultResult::not_ours; });
    set(2, Protection::none);
  }
};

TEST_F(Trackers, AnEarlierHandlerGetsForeignFaultsWithTheirAddressAgainAndAgain) {
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

TEST_F(Trackers, AnEarlierHandlerWithoutInformationWorksToo) {
  const NoAccessPage foreign;
  const Installed earlier(&jump_out_plain);
  Server server;
  server.start();

  EXPECT_TRUE(faults(foreign.word()));
  EXPECT_TRUE(faults(foreign.word()));

  EXPECT_EQ(seen_count, 2);
  server.stop();
}

TEST_F(Trackers, WhatTheServerDeclinesGoesToTheEarlierHandlerWithItsAddress) {
  const Installed earlier(&jump_out);
  Declining server;

  EXPECT_TRUE(faults(server.word(2, 3)));

  EXPECT_EQ(seen_address, server.word(2, 3));
  EXPECT_EQ(seen_count, 1);
  server.stop();
}

TEST_F(Trackers, WhatTheServerDeclinesIsAnErrorOfASystemCall) {
  Declining server;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(2)), 8), -1);
  EXPECT_EQ(errno, EFAULT);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(TrackersDeathTest, ARealSegmentationFaultIsOne) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        *reinterpret_cast<volatile int*>(0x4240) = 1;
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(TrackersDeathTest, ARealSegmentationFaultKeepsItsAddress) {
  EXPECT_EXIT(
      {
        const Installed earlier(&print_address);
        Server server;
        server.start();
        *reinterpret_cast<volatile int*>(0x4240) = 1;
      },
      ::testing::ExitedWithCode(9), "crashed at 0x4240");
}

TEST_F(TrackersDeathTest, ASentSignalIsDelivered) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        ::raise(SIGSEGV);
        _exit(0);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(TrackersDeathTest, AFaultThatIsDeclinedCrashes) {
  EXPECT_EXIT(
      {
        Declining server;
        (void)*server.word(2);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(TrackersDeathTest, AFaultInsideTheRuntimeNamesTheArray) {
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        server.make_stale(0);
        const RuntimeScope outer;
        { const RuntimeScope inner; }
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT),
      "'toy array'.*middle of a SemCache call.*handler of a signal.*semcache::access");
}

Server* interrupted = nullptr;

TEST_F(TrackersDeathTest, AFaultOfAHandlerThatInterruptsTheRuntimeNamesTheSignal) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer runs handlers with all signals blocked, SIGSEGV too";
  EXPECT_EXIT(
      {
        Server server;
        server.start();
        server.make_stale(0);
        interrupted = &server;
        ::signal(SIGUSR2, [](int) { (void)*interrupted->word(0); });
        const RuntimeScope scope;
        ::raise(SIGUSR2);
      },
      ::testing::KilledBySignal(SIGABRT),
      tested.by_signal ? "'toy array'.*middle of a SemCache call.*handler of signal " + std::to_string(SIGUSR2)
                       : "'toy array'.*middle of a SemCache call.*handler of a signal");
}

TEST_F(Trackers, AHandlerThatInterruptsTheProgramIsServed) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer runs handlers with all signals blocked, SIGSEGV too";
  Server server;
  server.start();
  server.make_stale(0);
  interrupted = &server;
  const auto before = ::signal(SIGUSR2, [](int) { (void)*interrupted->word(0); });
  ::raise(SIGUSR2);
  ::signal(SIGUSR2, before);
  EXPECT_EQ(server.served, 1);
}

TEST_F(Trackers, AHandlerThatInterruptsAWaitIsServed) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer runs handlers with all signals blocked, SIGSEGV too";
  Server server;
  server.start();
  server.make_stale(0);
  server.make_stale(1);
  interrupted = &server;
  const auto before = ::signal(SIGUSR2, [](int) { (void)*interrupted->word(0); });
  const pthread_t reader = ::pthread_self();
  server.before = [&](std::byte* address) {
    if (address < server.base() + Server::page) return;
    ::pthread_kill(reader, SIGUSR2);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  EXPECT_EQ(*server.word(1), Server::content(1));
  while (server.served < 2) std::this_thread::yield();
  ::signal(SIGUSR2, before);
}

TEST_F(TrackersDeathTest, AFaultOfTheServiceThreadNamesTheArray) {
  EXPECT_EXIT(
      {
        Server server;
        server.before = [&](std::byte*) { (void)*server.word(1); };
        server.start();
        server.make_stale(0);
        server.make_stale(1);
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "SemCache's own code.*'toy array'");
}

TEST_F(TrackersDeathTest, AFaultThatIsNotServedEndsWithAMessage) {
  EXPECT_EXIT(
      {
        Server server(1);
        server.before = [](std::byte*) { ::pause(); };
        server.start();
        server.make_stale(0);
        (void)*server.word(0);
      },
      ::testing::KilledBySignal(SIGABRT), "'toy array'.*not served for 1 s");
}

// --- the driver ------------------------------------------------------------------------------------------------------

TEST_F(TrackersDeathTest, AFaultInsideTheDriverEndsAtOnceWithAMessage) {
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

TEST_F(TrackersDeathTest, ADriverLoadedAfterTheStartIsKnownToo) {
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

TEST_F(TrackersDeathTest, ACopyByTheDriverThroughTheCLibraryIsTheDriver) {
#if !defined(__x86_64__)
  if (!tested.by_signal) GTEST_SKIP() << "where a leaf returns to, only a signal tells: here the patience ends it";
#endif
  EXPECT_EXIT(
      {
        const FakeDriver driver;
        Server server(60);
        server.start();
        server.make_stale(0);
        char to[256];
#if defined(__x86_64__)
        // Not memcpy: sanitizers put their own in front of it.
        driver.copy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to, &::mempcpy);
#else
        driver.copy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to, &::memcpy);  // mempcpy is no leaf there
#endif
      },
      ::testing::KilledBySignal(SIGABRT), "GPU driver itself.*'toy array'");
}

TEST_F(Trackers, ACopyByTheProgramThroughTheCLibraryIsServed) {
  const FakeDriver driver;
  Server server;
  server.start();
  server.make_stale(0);
  std::uint64_t to[32];

  std::memcpy(to, const_cast<std::uint64_t*>(server.word(0)), sizeof to);

  EXPECT_EQ(to[31], Server::content(0));
}

// --- fork ------------------------------------------------------------------------------------------------------------

TEST_F(Trackers, AForkedChildUsesFreshDataAndTheParentGoesOn) {
  Server server;
  server.start();
  for (std::uint64_t p = 0; p < 4; ++p) {
    server.make_stale(p);
    (void)*server.word(p);  // fresh and read-only
  }
  server.make_stale(5);
  server.set(6, Protection::read);  // never written: zeros
  *server.word(7) = 7;
  const int served = server.served;

  const auto child = [&] {
    if (*server.word(1) != Server::content(1)) _exit(1);
    int ends[2];
    if (::pipe(ends) != 0 || ::write(ends[1], const_cast<std::uint64_t*>(server.word(2)), 8) != 8) _exit(2);
    if (tested.by_signal) *server.word(1) = 76;  // a system call would not open the page
    if (::read(ends[0], const_cast<std::uint64_t*>(server.word(1, 1)), 8) != 8) _exit(3);
    *server.word(1) = 77;  // read-only, but the child's own
    *server.word(2) = 78;
    *server.word(7) = 79;
    if (*server.word(1) != 77 || *server.word(1, 1) != Server::content(2) || *server.word(2) != 78) _exit(4);
    if (*server.word(3) != Server::content(3) || *server.word(6) != 0 || *server.word(7) != 79) _exit(5);
  };
  int status = status_of_child(child);
  EXPECT_TRUE(ended_well(status)) << WEXITSTATUS(status);
  if (!tested.by_signal) {
    status = status_of_bare_child(child);
    EXPECT_TRUE(ended_well(status)) << WEXITSTATUS(status);
  }

  EXPECT_EQ(server.served, served);
  EXPECT_EQ(*server.word(1), Server::content(1));
  EXPECT_EQ(*server.word(7), 7U);
  EXPECT_EQ(*server.word(5), Server::content(5));  // the parent is still served
  *server.word(1) = 5;
  EXPECT_EQ(*server.word(1), 5U);
}

TEST_F(Trackers, AForkedChildCanExitWithoutWaitingForThreadsItDoesNotHave) {
  Server server;
  server.start();
  EXPECT_TRUE(ended_well(status_of_child([&] { server.stop(); })));
  EXPECT_TRUE(ended_well(status_of_bare_child([&] { server.stop(); })));
  server.make_stale(0);
  EXPECT_EQ(*server.word(0), Server::content(0));
}

/// Pages 0, 2 and 4 are stale, 3 was and has been read.
void start_with_stale_pages(Server& server) {
  server.start();
  server.make_stale(0);
  for (std::uint64_t p = 2; p < 5; ++p) server.make_stale(p);
  (void)*server.word(3);
}

TEST_F(TrackersDeathTest, AStaleReadInAForkedChildEndsWithAMessage) {
  Server server;
  start_with_stale_pages(server);

  // The death test's own child is the forked child.
  EXPECT_EXIT((void)*server.word(0), ::testing::KilledBySignal(SIGABRT), "forked child.*'toy array'.*settle");
  EXPECT_EXIT((void)(*server.word(4) = 1), ::testing::KilledBySignal(SIGABRT), "forked child.*'toy array'.*settle");
  EXPECT_EXIT(_exit(*server.word(3) == Server::content(3) ? 7 : 8), ::testing::ExitedWithCode(7), "");

  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Trackers, AStaleReadInABareChildIsACrashAndNoZero) {
  Server server;
  start_with_stale_pages(server);

  for (const std::uint64_t p : {0, 2, 4}) {
    const int status = status_of_bare_child([&] {
      ::signal(SIGSEGV, SIG_DFL);
      (void)*server.word(p);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << p << ": " << status;
  }
  EXPECT_EQ(*server.word(0), Server::content(0));
}

TEST_F(Trackers, WhileOthersFaultAChildSeesWhatIsFresh) {
  Server server;
  server.start();
  server.make_stale(0);
  (void)*server.word(0);
  std::atomic<bool> go_on{true};
  std::thread others([&] {
    for (std::uint64_t i = 0; go_on; ++i) {
      server.make_stale(1 + i % 8);
      if (*server.word(1 + i % 8) != Server::content(1 + i % 8)) std::abort();
    }
  });
  for (int k = 0; k < 50; ++k) {
    const int status = status_of_child([&] {
      if (*server.word(0) != Server::content(0)) _exit(1);
    });
    EXPECT_TRUE(ended_well(status)) << k;
  }
  go_on = false;
  others.join();
}

}  // namespace
}  // namespace semcache::platform::testing
