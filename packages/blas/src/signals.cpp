// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// Signals: once the runtime runs, its SIGSEGV handler stays first, and the program sees its own handlers only. No thread blocks SIGSEGV, because
// an access to content that is elsewhere would end the process then.
#include "interposed.hpp"
#include "open_mask.hpp"
#include "process.hpp"

#include <semcache/platform/linux/signal_chain.hpp>

#include <pthread.h>
#include <signal.h>

#include <cerrno>

using namespace semcache::blas;

namespace {

/// pthread_sigmask, and sigprocmask. Where the kernel would fill memory of the program that may be protected, it gets some of this function's.
int change_mask(int (*next)(int, const sigset_t*, sigset_t*), int how, const sigset_t* set, sigset_t* before) noexcept {
  sigset_t old{};
  const int result = next(how, Open(set, how).get(), before != nullptr ? &old : nullptr);
  if (result == 0 && before != nullptr) *before = old;
  return result;
}

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

/// Opens the masks that the program has set before this library was loaded (preload.cpp). It has one thread.
[[gnu::constructor]] void open_earlier_masks() noexcept {
  if (semcache_blas_next == nullptr) return;
  sigset_t fault;
  ::sigemptyset(&fault);
  ::sigaddset(&fault, SIGSEGV);
  (void)SEMCACHE_NEXT(pthread_sigmask)(SIG_UNBLOCK, &fault, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (SEMCACHE_NEXT(sigaction)(signal, nullptr, &action) != 0 || ::sigismember(&action.sa_mask, SIGSEGV) != 1) continue;
    ::sigdelset(&action.sa_mask, SIGSEGV);
    (void)SEMCACHE_NEXT(sigaction)(signal, &action, nullptr);
  }
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

#define SEMCACHE_BLAS_MASK(name)                                                            \
  int name(int how, const sigset_t* set, sigset_t* before) noexcept {                       \
    if (is_ours(__builtin_return_address(0))) return SEMCACHE_NEXT(name)(how, set, before); \
    return change_mask(SEMCACHE_NEXT(name), how, set, before);                              \
  }
SEMCACHE_BLAS_MASK(sigprocmask)
SEMCACHE_BLAS_MASK(pthread_sigmask)
int sigsuspend(const sigset_t* set) { return SEMCACHE_NEXT(sigsuspend)(Open(set).get()); }

int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* set) {
  return SEMCACHE_NEXT(pthread_attr_setsigmask_np)(attributes, Open(set).get());
}

}  // extern "C"
#pragma GCC visibility pop
