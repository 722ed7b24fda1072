// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/signal_stack.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace semcache::platform::detail {
namespace {

/// Bytes of stack that are enough for a message.
constexpr std::size_t message_room = 12 * 1024;

/// One spare stack for all threads is enough, because a thread that uses it only writes a line, or ends the process.
struct SpareStack {
  std::atomic<bool> taken{false};
  alignas(64) char memory[64 * 1024];
  ucontext_t here, there;
  void (*body)(const void*);
  const void* argument;
};
SpareStack spare;

void run_spare() { spare.body(spare.argument); }

}  // namespace

std::size_t good_signal_stack_bytes() noexcept {
  constexpr std::size_t for_handlers = 16 * 1024;
  return for_handlers + std::max<std::size_t>(::getauxval(AT_MINSIGSTKSZ), 4096);
}

// Has no frame, and calls no function that has one.
void die_on_small_stack(const void* address) noexcept {
  static char text[] =
      "semcache: the access at 0x0000000000000000 cannot be served: the signal stack (sigaltstack) of its thread is "
      "too small for a handler. Make it 64 KiB\n";
  char* digit = text + sizeof "semcache: the access at 0x0000000000000000" - 1;
  for (auto rest = reinterpret_cast<std::uintptr_t>(address); rest != 0; rest /= 16)
    *--digit = "0123456789abcdef"[rest % 16];
  ::syscall(SYS_write, STDERR_FILENO, text, sizeof text - 1);
  ::syscall(SYS_tgkill, ::syscall(SYS_getpid), ::syscall(SYS_gettid), SIGABRT);
  for (;;) ::syscall(SYS_exit_group, 128 + SIGABRT);
}

void call_with_room(void (*body)(const void*), const void* argument) noexcept {
  stack_t now{};
  const bool small = ::sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0 &&
                     room_on(now, __builtin_frame_address(0)) < message_room;
  if (!small) return body(argument);
  while (spare.taken.exchange(true)) ::sched_yield();
  spare.body = body;
  spare.argument = argument;
  if (::getcontext(&spare.there) == 0) {
    spare.there.uc_stack.ss_sp = spare.memory;
    spare.there.uc_stack.ss_size = sizeof spare.memory;
    spare.there.uc_link = &spare.here;
    // A handler that ran now on the thread's signal stack would begin at its top, and overwrite the caller's frame.
    sigfillset(&spare.there.uc_sigmask);
    ::makecontext(&spare.there, &run_spare, 0);
    (void)::swapcontext(&spare.here, &spare.there);
  }
  spare.taken.store(false);
}

}  // namespace semcache::platform::detail
