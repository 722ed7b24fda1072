// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <signal.h>

/// Keeps the place of our SIGSEGV handler among other handlers of the process.
namespace semcache::platform::detail {

using SignalHandler = void (*)(int, siginfo_t*, void*);

/// Installs `handler` over what is installed now. Does nothing if it is on top already. @throws SystemError
void install_handler(SignalHandler handler);

/// Tells that no more faults are served. The handler stays where it is, and has to pass on what is not its own: another thread may have faulted before the
/// last pages were opened, and the kernel looks for a handler only after that, at a time that nothing bounds.
void retire_handler() noexcept;

enum class Found { on_top, put_back, given_up };
/// Puts `handler` back on top if another handler was installed over it; ours then chains to that one. Does nothing unless
/// `handler` is the one that was installed last. Not async-signal-safe. Cost: a system call.
/// @return given_up  there is no level left, because too many different handlers were installed over ours
[[nodiscard]] Found keep_on_top(SignalHandler handler) noexcept;

/// Changes the handler below ours, for libraries that interpose sigaction: ours stays on top, and the program sees its own handlers.
/// @param action  nullptr: nothing changes  @param before  gets the handler that was below; nullptr: not asked for
/// @return false if ours is not installed, or not on top: the system is to be asked then, and nothing has changed
[[nodiscard]] bool change_below(const struct sigaction* action, struct sigaction* before) noexcept;

/// Hands a signal to the handler that was installed before ours, as the kernel would have: with or without SA_SIGINFO, under its
/// mask. SIG_DFL ends the process with the original address when the access is repeated. Where a foreign handler above ours
/// passed the fault back to ours, the next older handler is called, so that there is no endless loop. Async-signal-safe.
void pass_on(int signal, siginfo_t* info, void* context) noexcept;

/// Returns whether a foreign handler, to which the thread has passed this fault on, returned it. Async-signal-safe.
/// @param handlers_frame  the frame of the function of ours that calls `pass_on`: a later fault at the same depth, after a handler that jumped out, is
///                        another one although its context has the same address
[[nodiscard]] bool was_passed_on(const void* context, const void* handlers_frame) noexcept;

}  // namespace semcache::platform::detail
