// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

namespace semcache::platform::detail {

/// What the fault handler remembers of its own thread.
struct ThreadState {
  int runtime_depth = 0;               ///< RuntimeScopes alive
  bool is_service = false;             ///< this is the tracker's service thread
  std::uintptr_t refused_address = 0;  ///< of the last fault that was not ours, and how often in a row
  std::uintptr_t refused_instruction = 0;
  int refusals = 0;
  const void* chained_context = nullptr;  ///< the fault being handed to an earlier handler, and to which one
  int chained_level = 0;
  const void* chained_frame = nullptr;
};

/// The calling thread's state. Async-signal-safe: the storage exists from the thread's start (initial-exec), so that
/// no first use can allocate inside a handler.
[[nodiscard]] ThreadState& thread_state() noexcept;

/// The label of the array at `address` for messages, or a substitute; never nullptr. Async-signal-safe.
[[nodiscard]] const char* label_of(const void* address) noexcept;
/// The same, nullptr if `address` is in no tracked array.
[[nodiscard]] const char* tracked_label(const void* address) noexcept;

}  // namespace semcache::platform::detail
