// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::fakes {

/// Allocations that this thread makes until one fails, once; negative: none does. Counted by failing_memory.cpp, which
/// replaces operator new and, where the linker is told so, wraps the C library's functions.
inline thread_local long allocations_until_failure = -1;
inline thread_local unsigned failures_paused = 0;

/// The k-th (from 0) allocation of this thread fails while one lives.
class FailingMemory {
 public:
  explicit FailingMemory(long k) noexcept { allocations_until_failure = k; }
  ~FailingMemory() { allocations_until_failure = -1; }
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  /// How many more allocations would have succeeded; negative: one has failed.
  [[nodiscard]] static long left() noexcept { return allocations_until_failure; }
};

/// What fakes allocate for themselves is not counted.
class FailuresPaused {
 public:
  FailuresPaused() noexcept { ++failures_paused; }
  ~FailuresPaused() { --failures_paused; }
  FailuresPaused(const FailuresPaused&) = delete;
  FailuresPaused& operator=(const FailuresPaused&) = delete;
};

}  // namespace semcache::fakes
