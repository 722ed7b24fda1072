// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/fault_messages.hpp>
#include <semcache/platform/linux/signal_stack.hpp>
#include <semcache/platform/linux/thread_state.hpp>
#include <semcache/platform/platform.hpp>

#include <signal.h>

#include <atomic>
#include <cstdlib>

namespace semcache::platform::detail {
namespace {

/// Runs `body`, which writes the message and ends the process, on a stack with enough room.
template <class Body>
[[noreturn]] void die(const Body& body) noexcept {
  with_room(body);
  std::abort();
}

/// Returns the signal whose handler, one of the program's, seems to have made the access: it is blocked there. 0: none.
int interrupting_signal(const void* context) noexcept {
  if (context == nullptr) return 0;
  const sigset_t& blocked = static_cast<const ucontext_t*>(context)->uc_sigmask;
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    struct sigaction action;
    if (signal == SIGSEGV || ::sigismember(&blocked, signal) != 1 || ::sigaction(signal, nullptr, &action) != 0)
      continue;
    if ((action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN))
      return signal;
  }
  return 0;
}

}  // namespace

void die_in_runtime(const void* address, const void* context) noexcept {
  die([&] {
    if (const int signal = interrupting_signal(context)) {
      base::fatal(
          "array '%s' at %p was touched, while its page was protected, by a thread in the middle of a SemCache "
          "call, where it cannot be served: it seems by the program's handler of signal %d. A handler can interrupt "
          "any call, so it may not use arrays: let it set a flag, or use memory of its own",
          label_of(address), address, signal);
    }
    base::fatal(
        "array '%s' at %p was touched, while its page was protected, by a thread in the middle of a SemCache call, "
        "where it cannot be served. If a handler of a signal interrupted the call, let it set a flag, or use memory "
        "of its own; if a callback or an allocator of the program ran inside it, let it call semcache::access(view, "
        "...) beforehand; otherwise please report it",
        label_of(address), address);
  });
}

void die_of_touch(By who, const void* address) noexcept {
  die([&] {
    switch (who) {
      case By::service:
        base::fatal(
            "SemCache's own code touched array '%s' at %p while its page was protected, so that an access cannot be served. If an "
            "allocator of the program uses arrays, let it use memory of its own; otherwise please report it",
            label_of(address), address);
      case By::driver:
        base::fatal(
            "the GPU driver itself touched array '%s' at %p, whose content is not in host memory: this cannot be served. Call "
            "semcache::access(view, ...) before handing the pointer to the driver",
            label_of(address), address);
      case By::child:
        base::fatal(
            "a forked child touched array '%s' at %p, whose content was not in host memory at the fork: it is out of the child's "
            "reach. Call semcache::settle(view) before fork(), or exec() in the child",
            label_of(address), address);
    }
  });
}

void die_impatient(const void* address, unsigned patience_s) noexcept {
  die([&] {
    base::fatal(
        "an access to array '%s' at %p was not served for %u s, and nothing that it could wait for is under way. "
        "Most likely it was made by a library that holds the GPU driver's locks, or by a child made without fork(): "
        "call semcache::access(view, ...) before handing the pointer to it",
        label_of(address), address, patience_s);
  });
}

void die_of_overrun(const void* address, const void* context) noexcept {
  die([&] {
    base::fatal(
        "a handler of a signal has run out of its thread's signal stack (sigaltstack) of %zu bytes and touched %p. "
        "Make it %zu bytes or more",
        signal_stack(context).ss_size, address, good_signal_stack_bytes());
  });
}

void mention_long_work(const void* address, unsigned patience_s) noexcept {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  with_room([&] {
    base::raw_log(
        "an access to array '%s' at %p has waited for %u s and goes on waiting, because work that it needs (a "
        "kernel, a launch, a large copy) is under way. If that work waits for this thread, call "
        "semcache::access(view, ...) before it is started",
        label_of(address), address, patience_s);
  });
}

void mention_device_memory(const void* address) noexcept {
  const char* const label = tracked_label(address);
  if (label == nullptr) return;
  with_room([&] {
    base::raw_log(
        "the device memory of '%s' at %p is used outside a kernel that captured it. Announce such uses with "
        "semcache::access(view, mode), or use the view's mirror",
        label, address);
  });
}

}  // namespace semcache::platform::detail
