// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <atomic>
#include <cstdint>

namespace semcache::platform::detail {

/// What the fault handler remembers of its own thread.
struct ThreadState {
  int runtime_depth = 0;               ///< RuntimeScopes alive
  bool is_service = false;             ///< this is the tracker's service thread
  int id = 0;                          ///< the kernel's number of this thread; 0: not asked for yet
  int place_inside = -1;               ///< where it is listed while it is inside the runtime
  std::uintptr_t refused_address = 0;  ///< of the last fault that was not ours, and how often in a row
  std::uintptr_t refused_instruction = 0;
  int refusals = 0;
  const void* chained_context = nullptr;  ///< the fault being handed to an earlier handler, and to which one
  int chained_level = 0;
  const void* chained_frame = nullptr;
  const std::atomic<const void*>* holdings = nullptr;  ///< see `tell_holdings`
};

/// The calling thread's state. Async-signal-safe: the storage exists from the thread's start (initial-exec), so that
/// no first use can allocate inside a handler.
[[nodiscard]] ThreadState& thread_state() noexcept;

/// From now on threads inside the runtime are listed: a tracker that is told of faults by another thread's number alone
/// can ask. Costs some nanoseconds for each outermost RuntimeScope.
void list_threads_inside(bool on) noexcept;
/// Is thread `id` listed? No, wrongly, where more than 512 are, or where it came in before the list was kept.
[[nodiscard]] bool is_inside(int id) noexcept;

/// What thread `id` holds now; nullptr: nothing, or it has not told. To be looked into only while it sleeps.
[[nodiscard]] const void* holdings_of(int id);

/// The label of the array at `address` for messages, or a substitute; never nullptr. Async-signal-safe.
[[nodiscard]] const char* label_of(const void* address) noexcept;
/// The same, nullptr if `address` is in no tracked array.
[[nodiscard]] const char* tracked_label(const void* address) noexcept;

}  // namespace semcache::platform::detail
