// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <signal.h>

/// The SIGSEGV handler's place among other handlers of the process.
namespace semcache::platform::detail {

using SignalHandler = void (*)(int, siginfo_t*, void*);

/// Puts `handler` on top of what is installed; does nothing if it is on top already. @throws SystemError.
void install_handler(SignalHandler handler);

/// Takes `handler` away if it is on top. If something else was installed over it, it stays where it is and has to
/// go on passing faults through; a later install puts it on top once more.
void remove_handler(SignalHandler handler) noexcept;

enum class Found { on_top, put_back, given_up };
/// While `handler` is installed and not removed: puts it back where something else was installed over it, which it chains then.
/// @return given_up  this was done too often already, with ever other handlers. Not async-signal-safe. Cost: a system call.
[[nodiscard]] Found keep_on_top(SignalHandler handler) noexcept;

/// Hands a signal to the handler that was installed before ours, as the kernel would have: with or without
/// SA_SIGINFO, under its mask. SIG_DFL ends the process with the original address once the access is repeated.
/// Where a foreign handler above us passed the fault back to us, the next older one is taken: no endless loop.
/// Async-signal-safe.
void pass_on(int signal, siginfo_t* info, void* context) noexcept;

}  // namespace semcache::platform::detail
