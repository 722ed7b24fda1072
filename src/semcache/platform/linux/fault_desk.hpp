// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/linux/fault_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace semcache::platform::detail {

/// Where faulting threads post their faults and wait, and the service thread picks them up: a fixed set of places,
/// without locks or allocation, waiting by futex. Constant-initialised.
class FaultDesk {
 public:
  enum class Answer : std::uint32_t {
    served,
    not_ours,
    in_driver,
    closed,    ///< nobody serves (any more)
    too_late,  ///< no fault of any thread was answered for the whole patience
  };
  struct Posted {
    void* address = nullptr;
    FaultContext context;
    std::size_t place = 0;
  };

  // --- faulting threads; async-signal-safe ---
  /// Posts a fault and waits for its answer. When all places are taken it waits for one.
  [[nodiscard]] Answer post_and_wait(void* address, const FaultContext& context, unsigned patience_s) noexcept;

  // --- the service thread ---
  /// The next fault, in turn over the places so that nobody starves; blocks. False after `request_close`, once
  /// everything posted was answered.
  [[nodiscard]] bool next(Posted& fault) noexcept;
  void answer(const Posted& fault, Answer answer) noexcept;

  // --- the owner ---
  /// Accepts faults from now on.
  void open() noexcept;
  /// In a forked child: forgets what the parent's threads, which do not exist here, had posted.
  void forget() noexcept;
  /// Makes `next` return false soon.
  void request_close() noexcept;
  /// After the service thread has ended: turns away who posted too late.
  void close() noexcept;

 private:
  enum State : std::uint32_t { empty, claimed, posted, serving, answered };
  struct Place {
    std::atomic<std::uint32_t> state{empty};
    void* address = nullptr;
    FaultContext context;
    Answer answer = Answer::closed;
  };
  class Deadline;

  [[nodiscard]] Place* claim() noexcept;

  static constexpr std::size_t places = 64;
  Place place_[places];
  std::atomic<std::uint32_t> posts_{0};    ///< futex of the service thread: changes with every post
  std::atomic<std::uint32_t> answers_{0};  ///< grows with every answer: a sign of life
  std::atomic<bool> open_{false};
  std::atomic<bool> closing_{false};
  std::size_t turn_ = 0;  ///< service thread only
};

}  // namespace semcache::platform::detail
