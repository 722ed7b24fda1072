// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <type_traits>

namespace semcache::platform {

/// Returns the calling thread's own `State`. All callers that name the same type share it; a caller that needs a separate one
/// names another type. The state exists from the thread's first instruction to its last, so also in destructors of the thread's
/// thread-local objects, because it runs no code at its beginning or end. The core's rooms above this one have no other
/// thread-local variables. Cost: that of a plain thread-local variable, without guard or wrapper. Not for signal handlers: a
/// library that is loaded late gets the memory from malloc at a thread's first use.
template <class State>
[[nodiscard, gnu::visibility("hidden")]] State& per_thread() noexcept {
  static_assert(std::is_trivially_destructible_v<State>, "nobody would be left to tell that it has ended");
  static_assert((static_cast<void>(State()), true), "it must begin with constants");
  static thread_local State state;
  return state;
}

}  // namespace semcache::platform
