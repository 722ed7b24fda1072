// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/platform/linux/signal_chain.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <pthread.h>
#include <sched.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

// Debuggers stop at these functions (tools/gdb). Each has a body of its own, so that none becomes another's name.
extern "C" {
/// From now on a SIGSEGV may be an access that SemCache serves.
SEMCACHE_API void semcache_debugger_faults_begin() noexcept;
/// From now on no SIGSEGV is.
SEMCACHE_API void semcache_debugger_faults_end() noexcept;
/// This SIGSEGV is none: it goes to the handler that was there before, which by default ends the process.
SEMCACHE_API void semcache_debugger_foreign_fault() noexcept;
}
[[gnu::noinline]] void semcache_debugger_faults_begin() noexcept { asm volatile("# faults begin"); }
[[gnu::noinline]] void semcache_debugger_faults_end() noexcept { asm volatile("# faults end"); }
[[gnu::noinline]] void semcache_debugger_foreign_fault() noexcept { asm volatile("# a foreign fault"); }

namespace semcache::platform::detail {
namespace {

/// The handlers that were installed below each of our installations, oldest first. Entries below `installations` are never
/// changed while a signal handler may read them.
constexpr int most_installations = 16;
struct sigaction below[most_installations];
std::atomic<bool> spent[most_installations];  ///< it has SA_RESETHAND, and has been called: SIG_DFL has taken its place
std::atomic<int> installations{0};

/// The handler of ours that was installed last; nullptr: none. Guarded by `Changing`.
SignalHandler kept = nullptr;

/// A lock: one thread at a time changes what is installed. It holds the process's number, so that in a forked child a lock that a
/// thread of the parent held is free.
class Changing : base::Uncopied {
 public:
  Changing() noexcept {
    const pid_t process = ::getpid();
    for (pid_t who = 0; !changing_.compare_exchange_weak(who, process);) {
      if (who == process) {
        ::sched_yield();
        who = 0;
      }
    }
  }
  ~Changing() { changing_.store(0); }

 private:
  inline static std::atomic<pid_t> changing_{0};
};

bool is(const struct sigaction& action, SignalHandler handler) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handler;
}

/// Returns what is installed at a level, as the kernel would tell it.
struct sigaction action_at(int level) noexcept {
  struct sigaction action = below[level];
  if (spent[level].load()) action.sa_handler = SIG_DFL;
  return action;
}
bool same(const struct sigaction& a, const struct sigaction& b) noexcept {
  return a.sa_flags == b.sa_flags &&
         ((a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler);
}

bool is_on_top(SignalHandler handler) noexcept {
  struct sigaction now;
  return ::sigaction(SIGSEGV, nullptr, &now) == 0 && is(now, handler);
}

/// Installs `handler` over `now`, which is installed. Frameworks install their handler repeatedly, or put back the one that was there before ours: a known
/// one gets no new level. `Changing` is held. @return 0, or an error of the system; ENOSPC: there is no level left
int put_over(const struct sigaction& now, SignalHandler handler) noexcept {
  const int before = installations.load();
  int level = before;
  while (level > 0 && !same(below[level - 1], now)) --level;
  if (level == 0) {
    if (before == most_installations) return ENOSPC;
    level = before + 1;
    below[level - 1] = now;
  }
  // Stored before ours can run, because another thread may fault as soon as ours is installed.
  spent[level - 1].store(false);
  installations.store(level);
  struct sigaction ours {};
  ours.sa_sigaction = handler;
  // SA_ONSTACK: threads with an alternate stack use it. SA_NODEFER: a chained handler (a crash reporter) that touches
  // a tracked page while it runs is served, and one that jumps out leaves the signal open.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGSEGV, &ours, nullptr) == 0) return 0;
  installations.store(before);
  return errno;
}

/// Takes the default action, so that the process ends with the address of the original access.
void crash(int signal, const siginfo_t* info) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  // A real access is repeated on return and ends the process; a signal that a process or thread sent has to be sent again.
  if (info == nullptr || info->si_code <= 0) ::raise(signal);
}

/// Makes an action the one that ours chains to. A known one gets no new level. `Changing` is held.
void place_below(const struct sigaction& action) noexcept {
  int level = installations.load();
  while (level > 0 && !same(below[level - 1], action)) --level;
  if (level == 0) {
    // A new level, because a handler may be reading the one below. Beyond the last level that is risked.
    level = std::min(installations.load() + 1, most_installations);
    below[level - 1] = action;
  }
  spent[level - 1].store(false);
  installations.store(level);
}

/// A signal that the kernel never sends ("unused"). While a handler runs during which SIGSEGV would be blocked, it is blocked in its place: so
/// accesses of the handler to tracked pages are served, others end the process as they would, and a jump out of the handler ends that, too.
constexpr int marker = SIGSTKFLT;

/// Did this fault happen in a handler that is not to be interrupted by another one?
bool is_within_handler(const void* context) noexcept {
  return context != nullptr && sigismember(&static_cast<const ucontext_t*>(context)->uc_sigmask, marker) == 1;
}

/// The mask under which the kernel would call a handler: the action's, and the signal itself unless SA_NODEFER.
class CallMask : base::Uncopied {
 public:
  CallMask(const struct sigaction& action, int signal) noexcept {
    sigset_t mask = action.sa_mask;
    if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before_);
    // The program may have blocked the marker itself, as with sigfillset: then there is no place for a mark.
    marked_ = sigismember(&mask, signal) == 1 && sigismember(&before_, marker) == 0;
    if (marked_) {
      sigdelset(&mask, signal);
      sigaddset(&mask, marker);
    }
    ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  }
  ~CallMask() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] bool marked() const noexcept { return marked_; }

 private:
  bool marked_ = false;
  sigset_t before_;
};

}  // namespace

void install_handler(SignalHandler handler) {
  const Changing guard;
  struct sigaction now;
  int error = ::sigaction(SIGSEGV, nullptr, &now) == 0 ? 0 : errno;
  if (error == 0 && !is(now, handler)) error = put_over(now, handler);
  if (error == ENOSPC)
    throw SystemError("the SIGSEGV handler was installed " + std::to_string(most_installations) +
                      " times over other handlers, each of which stayed; no more can be kept. End SemCache less often, or let the "
                      "program install its handler once");
  if (error != 0) throw SystemError(std::string("sigaction(SIGSEGV) failed: ") + std::strerror(error));
  kept = handler;
  semcache_debugger_faults_begin();
}

Found keep_on_top(SignalHandler handler) noexcept {
  struct sigaction now;
  if (::sigaction(SIGSEGV, nullptr, &now) != 0 || is(now, handler)) return Found::on_top;
  const Changing guard;
  if (kept != handler || ::sigaction(SIGSEGV, nullptr, &now) != 0 || is(now, handler)) return Found::on_top;
  return put_over(now, handler) == 0 ? Found::put_back : Found::given_up;
}

bool change_below(const struct sigaction* action, struct sigaction* before) noexcept {
  const Changing guard;
  const int level = installations.load();
  if (kept == nullptr || level == 0 || !is_on_top(kept)) return false;
  const struct sigaction now = action_at(level - 1);
  if (action != nullptr && !same(now, *action)) place_below(*action);
  if (before != nullptr) *before = now;  // which may be `*action`
  return true;
}

void retire_handler() noexcept { semcache_debugger_faults_end(); }

bool was_passed_on(const void* context, const void* handlers_frame) noexcept {
  const ThreadState::Chained& outer = thread_state().chained;
  return context != nullptr && context == outer.context && base::number(handlers_frame) < base::number(outer.frame);
}

void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  semcache_debugger_foreign_fault();
  ThreadState& thread = thread_state();
  const ThreadState::Chained outer = thread.chained;
  // The same context arrives again, further down the stack than where it was handed on: a foreign handler returned it to ours.
  // (At the same depth it is a new fault, after a handler that jumped out.)
  const void* const frame = __builtin_frame_address(0);
  const bool is_deeper = base::number(frame) < base::number(outer.frame);
  const bool came_back = context != nullptr && context == outer.context && is_deeper;
  const int level = (came_back ? outer.level : installations.load()) - 1;

  if (level < 0) return crash(signal, info);
  struct sigaction action = below[level];
  if ((action.sa_flags & SA_RESETHAND) != 0 && spent[level].exchange(true)) action.sa_handler = SIG_DFL, action.sa_flags = 0;
  const bool informed = (action.sa_flags & SA_SIGINFO) != 0;
  const bool sent = info == nullptr || info->si_code <= 0;
  if (!informed && action.sa_handler == SIG_IGN && sent) return;
  // The kernel does not let a real fault be ignored either.
  if (!informed && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) return crash(signal, info);
  // The mark alone may be what a handler left behind that unblocked SIGSEGV and jumped out.
  if (!came_back && !sent && is_deeper && outer.marked && is_within_handler(context)) return crash(signal, info);
  const CallMask mask(action, signal);
  thread.chained = {context, level, frame, mask.marked()};
  if (informed) action.sa_sigaction(signal, info, context);
  else action.sa_handler(signal);
  thread.chained = outer;
}

}  // namespace semcache::platform::detail
