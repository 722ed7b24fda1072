// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

/// A thread's own stack for signals (sigaltstack), which may be little larger than the kernel's frame on it. Async-signal-safe.
namespace semcache::platform::detail {

inline constexpr std::size_t other_stack = ~std::size_t{0};

/// Returns how many bytes of a signal stack are left below `frame`; `other_stack` where the frame is not on that stack.
inline std::size_t room_on(const stack_t& stack, const void* frame) noexcept {
  const std::size_t room = reinterpret_cast<std::uintptr_t>(frame) - reinterpret_cast<std::uintptr_t>(stack.ss_sp);
  return room < stack.ss_size ? room : other_stack;
}

/// Returns the signal stack of the thread, from a handler's third argument.
inline const stack_t& signal_stack(const void* context) noexcept {
  return static_cast<const ucontext_t*>(context)->uc_stack;
}

/// Returns whether `address` lies just behind the stack's end, where a handler's accesses go that runs out of the stack. (The
/// kernel then begins the next handler at the stack's top again, over what is stored there.)
inline bool behind(const stack_t& stack, const void* address) noexcept {
  constexpr std::uintptr_t near = 64 * 1024;
  return reinterpret_cast<std::uintptr_t>(stack.ss_sp) - 1 - reinterpret_cast<std::uintptr_t>(address) < near;
}

/// Returns a size of a signal stack that is enough for the handlers of a program.
[[nodiscard]] std::size_t good_signal_stack_bytes() noexcept;

/// Ends the process with a message. For a handler that has almost no stack left.
[[noreturn]] void die_on_small_stack(const void* address) noexcept;

/// Calls `body(argument)`, which needs kilobytes of stack. Uses a spare stack where the caller is on a signal stack with little
/// room.
void call_with_room(void (*body)(const void*), const void* argument) noexcept;

template <class Body>
void with_room(const Body& body) noexcept {
  call_with_room([](const void* b) { (*static_cast<const Body*>(b))(); }, &body);
}

}  // namespace semcache::platform::detail
