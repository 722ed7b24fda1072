// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <platform/tracker_test.hpp>

#include <pthread.h>

#include <cerrno>
#include <chrono>
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
