// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>
#include <semcache/base/types.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace semcache::base {

/// An object of this class marks work of the process that takes long and ends by itself: a copy by the processor or, on the
/// thread that serves faults, a wait for a device or a launch. While one lives, threads that wait for a fault do not lose
/// patience. Nests.
class SEMCACHE_API TakesTime : base::Uncopied {
 public:
  TakesTime() noexcept { alive_.fetch_add(1, std::memory_order_relaxed); }
  ~TakesTime() {
    ended_.fetch_add(1, std::memory_order_relaxed);
    alive_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Returns whether an object of this class lives now.
  [[nodiscard]] static bool now() noexcept { return alive_.load(std::memory_order_relaxed) != 0; }
  /// Returns how many such objects have ended so far.
  [[nodiscard]] static std::uint32_t ended() noexcept { return ended_.load(std::memory_order_relaxed); }
  /// For a forked child: forgets the objects of the parent's threads, which do not exist in the child.
  static void forget() noexcept { alive_.store(0); }

 private:
  inline static std::atomic<std::uint32_t> alive_{0}, ended_{0};
};

/// A limit on how long a thread waits without a sign of progress. The waited time is summed between calls of `over`, and each
/// interval counts as one slice at most, because a process that was stopped, or a thread that got no processor, has not waited
/// meanwhile. Async-signal-safe.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds slice{100};

  explicit Patience(std::chrono::seconds most, Clock::time_point now = Clock::now()) noexcept
      : most_(most), last_(now) {}

  /// Begins the wait anew.
  void restart(Clock::time_point now = Clock::now()) noexcept {
    waited_ = {};
    last_ = now;
  }
  /// Returns whether the thread has waited longer than the limit. To be called about once in a slice, or more often.
  [[nodiscard]] bool over(Clock::time_point now = Clock::now()) noexcept {
    waited_ += std::min<Clock::duration>(now - last_, slice);
    last_ = now;
    return waited_ > most_;
  }

 private:
  Clock::duration most_;
  Clock::duration waited_{};
  Clock::time_point last_;
};

}  // namespace semcache::base
