// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <pthread.h>
#include <signal.h>

namespace semcache::syscalls {

/// The signals that a thread's own instructions raise, and abort().
inline constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

/// Keeps the program from cancelling this thread (pthread_cancel) for a while. The thread is cancelled later, as POSIX permits it.
class Uncancelled {
 public:
  Uncancelled() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// Keeps the program's signal handlers and cancellation out while the runtime works for this thread: it holds locks, and a handler could read what
/// needs them, or jump out. The signals come later; those of a fault come as ever.
class Undisturbed {
 public:
  Undisturbed() noexcept {
    sigset_t others;
    ::sigfillset(&others);
    for (const int fault : faults) ::sigdelset(&others, fault);
    ::pthread_sigmask(SIG_BLOCK, &others, &before_);
  }
  ~Undisturbed() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  Uncancelled uncancelled_;
  sigset_t before_;
};

}  // namespace semcache::syscalls
