// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

/// A thread's own stack for signals (sigaltstack), which may be little larger than what the kernel puts on it. Async-signal-safe.
namespace semcache::platform::detail {

inline constexpr std::size_t other_stack = ~std::size_t{0};

/// What is left of a signal stack below `frame`; `other_stack` where that is on none.
inline std::size_t room_on(const stack_t& stack, const void* frame) noexcept {
  const std::size_t room = reinterpret_cast<std::uintptr_t>(frame) - reinterpret_cast<std::uintptr_t>(stack.ss_sp);
  return room < stack.ss_size ? room : other_stack;
}

/// Of a handler with this third argument.
inline const stack_t& signal_stack(const void* context) noexcept {
  return static_cast<const ucontext_t*>(context)->uc_stack;
}

/// Is `address` behind the stack's end, where somebody gets to who runs out of it? (The kernel begins at its top again then,
/// over what lies there.)
inline bool behind(const stack_t& stack, const void* address) noexcept {
  constexpr std::uintptr_t near = 64 * 1024;
  return reinterpret_cast<std::uintptr_t>(stack.ss_sp) - 1 - reinterpret_cast<std::uintptr_t>(address) < near;
}

/// Enough for the handlers of a program.
[[nodiscard]] std::size_t good_signal_stack_bytes() noexcept;

/// Ends the process with a message; for a handler that has next to no stack.
[[noreturn]] void die_on_small_stack(const void* address) noexcept;

/// Calls `body(argument)`, which needs kilobytes of stack: elsewhere, where the caller's is a signal stack with little room.
void call_with_room(void (*body)(const void*), const void* argument) noexcept;

template <class Body>
void with_room(const Body& body) noexcept {
  call_with_room([](const void* b) { (*static_cast<const Body*>(b))(); }, &body);
}

}  // namespace semcache::platform::detail
