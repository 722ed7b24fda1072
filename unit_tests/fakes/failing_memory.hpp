// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::fakes {

/// The number of allocations of this thread that succeed before one fails, once; negative: no allocation fails.
/// failing_memory.cpp counts them: it replaces operator new, and wraps the C library's functions in tests that are linked
/// accordingly.
inline thread_local long allocations_until_failure = -1;
inline thread_local unsigned failures_paused = 0;
/// How often this thread has asked malloc for memory, and not `base::take_memory`.
inline thread_local unsigned long malloc_calls = 0;

/// While such an object lives, the k-th (from 0) allocation of this thread fails.
class FailingMemory {
 public:
  explicit FailingMemory(long k) noexcept { allocations_until_failure = k; }
  ~FailingMemory() { allocations_until_failure = -1; }
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  /// Returns how many further allocations would succeed; negative if one has failed.
  [[nodiscard]] static long left() noexcept { return allocations_until_failure; }
};

/// While such an object lives, allocations of this thread are not counted, because fakes make them for themselves.
class FailuresPaused {
 public:
  FailuresPaused() noexcept { ++failures_paused; }
  ~FailuresPaused() { --failures_paused; }
  FailuresPaused(const FailuresPaused&) = delete;
  FailuresPaused& operator=(const FailuresPaused&) = delete;
};

}  // namespace semcache::fakes
