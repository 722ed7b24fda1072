// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "children.hpp"

#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace semcache::blas;

std::set<int> descriptors() {
  std::set<int> found;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (const dirent* const entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.' && std::stoi(entry->d_name) != ::dirfd(folder)) found.insert(std::stoi(entry->d_name));
  }
  ::closedir(folder);
  return found;
}

/// A child that goes on when it is told to.
class Child {
 public:
  explicit Child(const std::function<void()>& first = [] {}, const std::function<void()>& then = [] {}) {
    EXPECT_EQ(::pipe2(told_, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(ready_, O_CLOEXEC), 0);
    children::before_fork();
    pid_ = ::fork();
    if (pid_ == 0) {
      children::in_child();
      first();
      char byte = 0;
      ::close(told_[1]);
      (void)!::write(ready_[1], &byte, 1);
      (void)!::read(told_[0], &byte, 1);
      then();
      ::_exit(0);
    }
    children::after_fork();
    char byte = 0;
    EXPECT_EQ(::read(ready_[0], &byte, 1), 1);
  }
  ~Child() {
    go_on();
    for (const int end : {told_[0], ready_[0], ready_[1]}) ::close(end);
  }
  /// Other children may have the pipe, too, so its end would tell nothing.
  void tell() {
    (void)!::write(told_[1], "", 1);
    ::close(std::exchange(told_[1], -1));
  }
  void go_on() {
    if (told_[1] >= 0) tell();
    if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  int told_[2], ready_[2];
  pid_t pid_;
};

/// Nobody tells when exec has closed a descriptor.
bool all_go_soon() {
  for (int i = 0; i < 10000 && children::any_lives(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !children::any_lives();
}

TEST(Children, NoneLivesInTheBeginning) { EXPECT_FALSE(children::any_lives()); }

TEST(Children, OneLivesUntilItEnds) {
  Child child;
  EXPECT_TRUE(children::any_lives());
  EXPECT_TRUE(children::any_lives());
  child.go_on();
  EXPECT_FALSE(children::any_lives());
}

TEST(Children, EachOfSeveralIsWaitedFor) {
  for (const bool first_goes_first : {true, false}) {
    Child one, other;
    Child& first = first_goes_first ? one : other;
    Child& last = first_goes_first ? other : one;
    EXPECT_TRUE(children::any_lives());
    first.go_on();
    EXPECT_TRUE(children::any_lives());
    Child third;
    last.go_on();
    EXPECT_TRUE(children::any_lives());
    third.go_on();
    EXPECT_FALSE(children::any_lives());
  }
}

/// Nobody has asked between the two, so the pipe is the same.
TEST(Children, AChildAfterOneThatEndedIsWaitedFor) {
  Child one;
  one.go_on();
  Child other;
  EXPECT_TRUE(children::any_lives());
  other.go_on();
  EXPECT_FALSE(children::any_lives());
}

TEST(Children, ExecEndsTheWait) {
  int until[2];
  ASSERT_EQ(::pipe(until), 0);
  Child child([] {}, [&] {
    ::close(until[1]);
    ::dup2(until[0], 0);
    ::execl("/bin/cat", "cat", static_cast<char*>(nullptr));  // lives until the pipe closes
  });
  ::fcntl(until[1], F_SETFD, FD_CLOEXEC);
  EXPECT_TRUE(children::any_lives());
  child.tell();
  EXPECT_TRUE(all_go_soon());
  ::close(until[0]);
  ::close(until[1]);
}

TEST(Children, TheirChildrenShareThePages) {
  int until[2];
  ASSERT_EQ(::pipe2(until, O_CLOEXEC), 0);
  Child child([&] {
    if (::fork() == 0) {
      char byte = 0;
      ::close(until[1]);
      (void)!::read(until[0], &byte, 1);
      ::_exit(0);
    }
  });
  child.go_on();
  EXPECT_TRUE(children::any_lives());
  ::close(until[1]);
  EXPECT_TRUE(all_go_soon());
  ::close(until[0]);
}

TEST(Children, WhoClosesAllDescriptorsCountsAsGone) {
  Child daemon([] { for (int number = 500; number < 2000; ++number) ::close(number); });
  EXPECT_FALSE(children::any_lives());
}

TEST(Children, ProcessThatClosesAllDescriptorsGoesOn) {
  const std::set<int> before = descriptors();
  Child child;
  std::vector<int> own;
  for (const int number : descriptors()) {
    if (number < 500) continue;
    ASSERT_GE(::dup2(0, number), 0);  // the program has files there now
    own.push_back(number);
  }
  EXPECT_FALSE(own.empty());
  EXPECT_FALSE(children::any_lives());
  {
    Child other;
    EXPECT_TRUE(children::any_lives());
    other.go_on();
    EXPECT_FALSE(children::any_lives());
  }
  for (const int number : own) EXPECT_EQ(::close(number), 0) << "a file of the program was closed";
  child.go_on();
  EXPECT_EQ(descriptors().size(), before.size() + 3);  // those of `child`
}

TEST(Children, ThousandsLeaveNothingAndTakeNoLowNumbers) {
  const std::set<int> before = descriptors();
  for (int i = 0; i < 3000; ++i) {
    children::before_fork();
    const int lowest = ::dup(0);
    EXPECT_LT(lowest, 100);
    ::close(lowest);
    if (i % 100 == 0) {
      const pid_t child = ::fork();
      if (child == 0) {
        children::in_child();
        std::size_t own = 0;
        for (const int number : descriptors()) own += before.count(number) == 0;
        ::_exit(static_cast<int>(own));
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(WEXITSTATUS(status), 1);
    }
    children::after_fork();
    EXPECT_LE(descriptors().size(), before.size() + 1);
  }
  EXPECT_FALSE(children::any_lives());
  EXPECT_EQ(descriptors(), before);
}

TEST(Children, WithoutDescriptorsNobodyIsWaitedFor) {
  std::vector<int> taken;
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int number; (number = ::dup(0)) >= 0;) taken.push_back(number);
  // No descriptor is free, then one, two, and as many as are needed for a while.
  for (int free = 0; free < 6; ++free) {
    children::before_fork();
    const pid_t child = ::fork();
    if (child == 0) {
      children::in_child();
      ::pause();
    }
    children::after_fork();
    const bool lives = children::any_lives();
    if (free != 3 && free != 4) {
      EXPECT_EQ(lives, free == 5);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(children::any_lives());
    ::close(taken.back());
    taken.pop_back();
  }
  for (const int number : taken) ::close(number);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

/// A small limit has no numbers near 1024.
TEST(Children, ASmallLimitIsEnough) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit few = before;
  few.rlim_cur = 32;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Child child;
  EXPECT_TRUE(children::any_lives());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Children, SpawnedOnesShareNoPages) {
  char name[] = "/bin/true";
  char* const arguments[] = {name, nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, name, nullptr, nullptr, arguments, environ), 0);
  EXPECT_FALSE(children::any_lives());
  ::waitpid(child, nullptr, 0);
}

TEST(Children, ThreadsMayAskMeanwhile) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) (void)children::any_lives();
  });
  for (int i = 0; i < 200; ++i) {
    Child child;
    EXPECT_TRUE(children::any_lives());
    child.go_on();
    EXPECT_FALSE(children::any_lives());
  }
  done = true;
  other.join();
}

}  // namespace
