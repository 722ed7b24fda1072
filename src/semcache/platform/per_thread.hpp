// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <type_traits>

namespace semcache::platform {

/// The calling thread's own `State`, the same one for all callers: whoever needs another one names another type. It is there from the
/// thread's first instruction to its last, in destructors of its thread-local objects too, because it neither runs code to begin nor to end.
/// The core's other rooms have no thread-local variables. Cost: those of one, without guard or wrapper. Not for signal
/// handlers: a library that is loaded late gets the memory by malloc at a thread's first use.
template <class State>
[[nodiscard, gnu::visibility("hidden")]] State& per_thread() noexcept {
  static_assert(std::is_trivially_destructible_v<State>, "nobody would be left to tell that it has ended");
  static_assert((static_cast<void>(State()), true), "it must begin with constants");
  static thread_local State state;
  return state;
}

}  // namespace semcache::platform
