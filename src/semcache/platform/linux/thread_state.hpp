// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

namespace semcache::platform::detail {

/// What the fault handler remembers of its own thread.
struct ThreadState {
  std::atomic<int> runtime_depth{0};   ///< number of RuntimeScopes alive; only the thread itself changes it
  std::atomic<int> calls{0};           ///< number of calls under way (`begin_call`); only the thread itself changes it
  bool is_service = false;             ///< this thread is the tracker's service thread, until it ends
  std::uintptr_t refused_address = 0;  ///< of the last fault that was not ours; `refusals`: how often in a row
  std::uintptr_t refused_instruction = 0;
  int refusals = 0;
  struct Chained {
    const void* context = nullptr;
    int level = 0;
    const void* frame = nullptr;
    bool marked = false;  ///< it runs under a mask with the mark of a handler that is not to be interrupted
  } chained;  ///< the fault that is being handed to an earlier handler, and to which one
  std::atomic<const std::atomic<const void*>*> holdings{nullptr};  ///< see `tell_holdings`
};

/// Returns the calling thread's state. Async-signal-safe, also in threads that existed before this library was loaded: the state
/// lies in a table by the kernel's number of the thread, not in thread-local storage, which a library that is loaded late gets by
/// malloc at the first use in each thread. Costs a system call.
[[nodiscard]] ThreadState& thread_state() noexcept;

/// Returns whether thread `id` is inside the runtime (RuntimeScope).
[[nodiscard]] bool is_inside(int id) noexcept;

/// Returns what thread `id` holds now; nullptr where it holds nothing or has published nothing. The result may be read only while
/// that thread sleeps.
[[nodiscard]] const void* holdings_of(int id) noexcept;
/// Registers handlers by pthread_atfork, once per combination. @throws SystemError
template <void (*before)(), void (*in_parent)(), void (*in_child)()>
void at_fork() {
  static const int error = ::pthread_atfork(before, in_parent, in_child);
  if (error != 0) throw SystemError(std::string("pthread_atfork failed: ") + std::strerror(error));
}
/// Makes forked children find their own thread's state under its new number from now on. @throws SystemError
void follow_forks();

/// Returns the label of the array at `address` for messages, or a substitute; never nullptr. Async-signal-safe.
[[nodiscard]] const char* label_of(const void* address) noexcept;
/// Returns the label of the array at `address`; nullptr where no tracked array is there. Async-signal-safe.
[[nodiscard]] const char* tracked_label(const void* address) noexcept;

}  // namespace semcache::platform::detail
