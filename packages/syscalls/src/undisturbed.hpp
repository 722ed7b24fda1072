// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

namespace semcache::syscalls {

/// The signals that a thread's own instructions raise, and abort().
inline constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

using Signals = std::uint64_t;  ///< a set of them, as the kernel has it
/// Those of faults come as ever, and the C library's own two (cancellation, and setuid in another thread).
inline constexpr Signals all_but_faults = [] {
  Signals all = ~Signals{0};
  for (const int fault : faults) all &= ~(Signals{1} << (fault - 1));
  for (const int own : {32, 33}) all &= ~(Signals{1} << (own - 1));
  return all;
}();
/// Changes the calling thread's mask as sigprocmask does. It is the system call itself: the C library's function may be interposed.
inline void change_mask(int how, Signals signals, Signals* before) noexcept {
  (void)::syscall(SYS_rt_sigprocmask, how, &signals, before, sizeof signals);
}

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

/// Keeps the program's signal handlers out for a while. The signals come later; those of a fault come as ever.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept { change_mask(SIG_BLOCK, all_but_faults, &before_); }
  ~SignalsBlocked() { change_mask(SIG_SETMASK, before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  Signals before_ = 0;
};

/// Keeps the program's signal handlers and cancellation out while the runtime works for this thread: it holds locks, and a handler could read what
/// needs them, or jump out.
class Undisturbed {
  Uncancelled uncancelled_;
  SignalsBlocked signals_blocked_;
};

}  // namespace semcache::syscalls
