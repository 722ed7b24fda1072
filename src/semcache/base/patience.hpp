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

/// While one lives, this process does what takes its time and ends by itself: a copy by the processor; on the thread that
/// serves faults, a wait for a device or a launch. Nobody who waits for a fault loses patience meanwhile. Nests.
class SEMCACHE_API TakesTime : base::Uncopied {
 public:
  TakesTime() noexcept { alive_.fetch_add(1, std::memory_order_relaxed); }
  ~TakesTime() {
    ended_.fetch_add(1, std::memory_order_relaxed);
    alive_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Does one live now?
  [[nodiscard]] static bool now() noexcept { return alive_.load(std::memory_order_relaxed) != 0; }
  /// How many have lived so far.
  [[nodiscard]] static std::uint32_t ended() noexcept { return ended_.load(std::memory_order_relaxed); }
  /// In a forked child: those of the parent's threads, which do not exist here, are no more.
  static void forget() noexcept { alive_.store(0); }

 private:
  inline static std::atomic<std::uint32_t> alive_{0}, ended_{0};
};

/// How long somebody waits for what gives no sign of life. The time is summed in slices, and a longer one counts as one: a
/// process that was stopped, or a thread that got no processor, has not waited meanwhile. Async-signal-safe.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds slice{100};

  explicit Patience(std::chrono::seconds most, Clock::time_point now = Clock::now()) noexcept
      : most_(most), last_(now) {}

  /// The wait begins anew.
  void restart(Clock::time_point now = Clock::now()) noexcept {
    waited_ = {};
    last_ = now;
  }
  /// Asked about once in a slice, or more often.
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
