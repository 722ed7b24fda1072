// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <platform/emulator.hpp>
#include <platform/toy_server.hpp>
#include <semcache/base/patience.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdint>
#include <string>

/// Part of ThreadSanitizer, where the program is made with it.
extern "C" __attribute__((weak)) void __tsan_init();

namespace semcache::platform::testing {

/// The tracker that a program tests: named beside the tests that are its alone. test_trackers.cpp has those of all.
struct Tested {
  const char* name;
  Pages (*make)(unsigned patience_s);
  /// Faults are signals: neither system calls nor the children of a bare `clone` come to the tracker.
  bool by_signal;
};
extern const Tested tested;

class Server : public ToyServer {
 public:
  explicit Server(unsigned patience_s = 20) : ToyServer(tested.make(patience_s)) {}
};

/// Also of death tests: these run in forked children (style "fast") where no service thread exists, so each starts its
/// own server.
class TrackerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string refusal = [] {
      try {
        (void)tested.make(1);
        return std::string();
      } catch (const ConfigurationError& e) {
        return std::string(e.what());
      }
    }();
    if (!refusal.empty()) GTEST_SKIP() << refusal;
    set_label_lookup([](const void*) { return "toy array"; });
  }
  void TearDown() override { set_label_lookup(nullptr); }
};

// --- other handlers --------------------------------------------------------------------------------------------------

inline sigjmp_buf jump;
inline const void* volatile seen_address = nullptr;
inline volatile int seen_count = 0;

inline void jump_out(int, siginfo_t* info, void*) {
  seen_address = info->si_addr;
  seen_count = seen_count + 1;
  siglongjmp(jump, 1);
}

/// Installs a handler for one test and puts back what was there.
class Installed {
 public:
  explicit Installed(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    install(action);
  }
  explicit Installed(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    install(action);
  }
  ~Installed() { ::sigaction(SIGSEGV, &before, nullptr); }
  struct sigaction before {};

 private:
  void install(const struct sigaction& action) {
    ::sigaction(SIGSEGV, &action, &before);
    seen_count = 0;
    seen_address = nullptr;
  }
};

/// True if the access faulted and a test's handler jumped back here.
inline bool faults(volatile std::uint64_t* address) {
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

// --- fork ------------------------------------------------------------------------------------------------------------

template <class Body>
int status_of(pid_t child, const Body& body) {
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

template <class Body>
int status_of_child(const Body& body) {
  return status_of(::fork(), body);
}

/// A child of which no library hears.
template <class Body>
int status_of_bare_child(const Body& body) {
  return status_of(static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)), body);
}

inline bool ended_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

}  // namespace semcache::platform::testing
