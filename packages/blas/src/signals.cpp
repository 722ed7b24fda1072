// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Signals: once the runtime runs, its SIGSEGV handler stays first, and the program sees its own handlers only. No thread blocks SIGSEGV, because
// an access to content that is elsewhere would end the process then.
#include "interposed.hpp"
#include "process.hpp"

#include <semcache/platform/linux/signal_chain.hpp>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <cerrno>

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

/// sigaction, for the program.
int change(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  if (signal == SIGSEGV && is_vforked_child()) return SEMCACHE_NEXT(sigaction)(signal, action, before);
  if (action == nullptr) {
    if (signal == SIGSEGV && semcache::platform::detail::change_below(nullptr, before)) return 0;
    return SEMCACHE_NEXT(sigaction)(signal, nullptr, before);
  }
  struct sigaction open = *action;
  ::sigdelset(&open.sa_mask, SIGSEGV);
  if (signal == SIGSEGV && semcache::platform::detail::change_below(&open, before)) return 0;
  return SEMCACHE_NEXT(sigaction)(signal, &open, before);
}

/// signal(SIGSEGV, handler), with the flags of one of its forms.
sighandler_t handle(sighandler_t handler, int flags) noexcept {
  struct sigaction action {}, before {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (handler == SIG_ERR) errno = EINVAL;
  return handler == SIG_ERR || change(SIGSEGV, &action, &before) != 0 ? SIG_ERR : before.sa_handler;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  if (is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(sigaction)(signal, action, before);
  return change(signal, action, before);
}
int __sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept { return change(signal, action, before); }

// The forms of signal(): BSD's, which is the usual one, and System V's, whose handler is called once.
#define SEMCACHE_BLAS_SIGNAL(name, flags)                                                       \
  sighandler_t name(int number, sighandler_t handler) noexcept {                               \
    return number == SIGSEGV ? handle(handler, flags) : SEMCACHE_NEXT(name)(number, handler);  \
  }
sighandler_t bsd_signal(int number, sighandler_t handler) noexcept;
SEMCACHE_BLAS_SIGNAL(signal, SA_RESTART)
SEMCACHE_BLAS_SIGNAL(bsd_signal, SA_RESTART)
SEMCACHE_BLAS_SIGNAL(ssignal, SA_RESTART)
SEMCACHE_BLAS_SIGNAL(sysv_signal, SA_RESETHAND | SA_NODEFER)
SEMCACHE_BLAS_SIGNAL(__sysv_signal, SA_RESETHAND | SA_NODEFER)

sighandler_t sigset(int number, sighandler_t handler) noexcept {
  if (number != SIGSEGV) return SEMCACHE_NEXT(sigset)(number, handler);
  if (handler != SIG_HOLD) return handle(handler, 0);
  struct sigaction now {};
  return change(SIGSEGV, nullptr, &now) == 0 ? now.sa_handler : SIG_ERR;
}
int sigignore(int number) noexcept {
  if (number != SIGSEGV) return SEMCACHE_NEXT(sigignore)(number);
  return handle(SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}
int sighold(int number) noexcept { return number == SIGSEGV ? 0 : SEMCACHE_NEXT(sighold)(number); }
constexpr int bit = 1 << (SIGSEGV - 1);
int sigblock(int mask) noexcept { return SEMCACHE_NEXT(sigblock)(mask & ~bit); }
int sigsetmask(int mask) noexcept { return SEMCACHE_NEXT(sigsetmask)(mask & ~bit); }

int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (how == SIG_UNBLOCK || is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(sigprocmask)(how, set, before);
  return SEMCACHE_NEXT(sigprocmask)(how, Open(set).get(), before);
}
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (how == SIG_UNBLOCK || is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(pthread_sigmask)(how, set, before);
  return SEMCACHE_NEXT(pthread_sigmask)(how, Open(set).get(), before);
}
int sigsuspend(const sigset_t* set) { return SEMCACHE_NEXT(sigsuspend)(Open(set).get()); }

int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* set) {
  return SEMCACHE_NEXT(pthread_attr_setsigmask_np)(attributes, Open(set).get());
}

int ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* set) {
  return SEMCACHE_NEXT(ppoll)(files, count, timeout, Open(set).get());
}
// What `ppoll` is in programs that are compiled with _FORTIFY_SOURCE.
int __ppoll_chk(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* set, std::size_t bytes) {  // NOLINT
  return SEMCACHE_NEXT(__ppoll_chk)(files, count, timeout, Open(set).get(), bytes);
}
int epoll_pwait2(int epoll, epoll_event* events, int count, const timespec* timeout, const sigset_t* set) {
  return SEMCACHE_NEXT(epoll_pwait2)(epoll, events, count, timeout, Open(set).get());
}
int epoll_pwait(int epoll, epoll_event* events, int count, int timeout, const sigset_t* set) {
  return SEMCACHE_NEXT(epoll_pwait)(epoll, events, count, timeout, Open(set).get());
}
int pselect(int count, fd_set* read, fd_set* write, fd_set* other, const timespec* timeout, const sigset_t* set) {
  return SEMCACHE_NEXT(pselect)(count, read, write, other, timeout, Open(set).get());
}

}  // extern "C"
#pragma GCC visibility pop
