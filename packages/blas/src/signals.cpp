// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Signals: once the runtime runs, its SIGSEGV handler stays first, and the program sees its own handlers only. No thread blocks SIGSEGV, because
// an access to content that is elsewhere would end the process then.
#include "interposed.hpp"

#include <semcache/platform/linux/signal_chain.hpp>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>

using namespace semcache::blas;

namespace {

/// A set of signals without SIGSEGV; nothing stays nothing.
class Open {
 public:
  explicit Open(const sigset_t* set) noexcept : given_(set != nullptr) {
    if (!given_) return;
    set_ = *set;
    ::sigdelset(&set_, SIGSEGV);
  }
  [[nodiscard]] const sigset_t* get() const noexcept { return given_ ? &set_ : nullptr; }

 private:
  bool given_;
  sigset_t set_;
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  if (is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(sigaction)(signal, action, before);
  if (action == nullptr) {
    if (signal == SIGSEGV && semcache::platform::detail::change_below(nullptr, before)) return 0;
    return SEMCACHE_NEXT(sigaction)(signal, nullptr, before);
  }
  struct sigaction open = *action;
  ::sigdelset(&open.sa_mask, SIGSEGV);
  if (signal == SIGSEGV && semcache::platform::detail::change_below(&open, before)) return 0;
  return SEMCACHE_NEXT(sigaction)(signal, &open, before);
}

sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (number != SIGSEGV || handler == SIG_ERR) return SEMCACHE_NEXT(signal)(number, handler);
  struct sigaction action {}, before {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (!semcache::platform::detail::change_below(&action, &before)) return SEMCACHE_NEXT(signal)(number, handler);
  return before.sa_handler;
}

int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (how == SIG_UNBLOCK || is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(sigprocmask)(how, set, before);
  return SEMCACHE_NEXT(sigprocmask)(how, Open(set).get(), before);
}
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (how == SIG_UNBLOCK || is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(pthread_sigmask)(how, set, before);
  return SEMCACHE_NEXT(pthread_sigmask)(how, Open(set).get(), before);
}
int sigsuspend(const sigset_t* set) { return SEMCACHE_NEXT(sigsuspend)(Open(set).get()); }

int ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* set) {
  return SEMCACHE_NEXT(ppoll)(files, count, timeout, Open(set).get());
}
int pselect(int count, fd_set* read, fd_set* write, fd_set* other, const timespec* timeout, const sigset_t* set) {
  return SEMCACHE_NEXT(pselect)(count, read, write, other, timeout, Open(set).get());
}

}  // extern "C"
#pragma GCC visibility pop
