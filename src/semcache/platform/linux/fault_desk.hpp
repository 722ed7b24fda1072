// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/patience.hpp>
#include <semcache/platform/linux/fault_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace semcache::platform::detail {

/// Looks whether anybody still serves, for somebody who waits: an answer to any thread is a sign of life (a long queue alone is
/// no reason to end), and so is what takes its time. Async-signal-safe.
class SignsOfLife {
 public:
  explicit SignsOfLife(unsigned patience_s) noexcept : silence_(std::chrono::seconds(patience_s)), work_(silence_) {}

  enum class Seen : std::uint8_t {
    enough,
    long_work,  ///< for the whole patience somebody has been at work: once
    silence,    ///< for the whole patience there was no sign
  };
  /// Asked ten times a second. @param answers  a number that changes with every answer
  [[nodiscard]] Seen look(std::uint64_t answers) noexcept {
    const auto now = base::Patience::Clock::now();
    const std::uint32_t ended = base::TakesTime::ended();
    const bool answered = answers != answers_;
    if (answered || base::TakesTime::now() || ended != ended_) silence_.restart(now);
    if (answered) work_.restart(now);
    answers_ = answers;
    ended_ = ended;
    if (silence_.over(now)) return Seen::silence;
    if (told_ || !work_.over(now)) return Seen::enough;
    told_ = true;
    return Seen::long_work;
  }

 private:
  base::Patience silence_;
  base::Patience work_;
  std::uint64_t answers_ = ~std::uint64_t{0};
  std::uint32_t ended_ = base::TakesTime::ended();
  bool told_ = false;
};

/// Where faulting threads post their faults and wait, and the service thread picks them up: a fixed set of places,
/// without locks or allocation, waiting by futex. Constant-initialised.
class FaultDesk {
 public:
  enum class Answer : std::uint32_t {
    served,
    not_ours,
    in_driver,
    closed,    ///< nobody serves (any more)
    too_late,  ///< nobody gave a sign of life for the whole patience
  };
  struct Posted {
    void* address = nullptr;
    FaultContext context;
    const void* holdings = nullptr;  ///< what the faulting thread has told (`tell_holdings`)
    std::size_t place = 0;
  };
  /// Told once of a fault that waits for work as long as the patience.
  using LongWork = void (*)(const void* address, unsigned patience_s);

  // --- faulting threads; async-signal-safe ---
  /// Posts a fault and waits for its answer. When all places are taken it waits for one. A signal's handler may jump out.
  [[nodiscard]] Answer post_and_wait(void* address, const FaultContext& context, const void* holdings,
                                     unsigned patience_s, LongWork long_work) noexcept;

  // --- the service thread ---
  /// First of all: may others run while this thread does?
  void begin_service() noexcept;
  /// The next fault, in turn over the places so that nobody starves; blocks. False after `request_close`, once
  /// everything posted was answered.
  [[nodiscard]] bool next(Posted& fault) noexcept;
  void answer(const Posted& fault, Answer answer) noexcept;
  /// A posted fault of a thread with such holdings; it is to be answered as well.
  [[nodiscard]] bool next_of(const Holds& holds, Posted& fault);
  /// Where a thread with such holdings waits whose fault was taken and is not answered yet; nullptr: there is none.
  [[nodiscard]] const void* taken_of(const Holds& holds) const;

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
  /// The word of a place: its state, the answer, and a ticket, which changes whenever somebody takes the place. Who jumped out
  /// while he waited leaves an answer that nobody takes: his place is given away, and if he waits after all he sees another
  /// ticket and repeats the access.
  enum State : std::uint32_t { empty, claimed, posted, serving, answered };
  static constexpr std::uint32_t state_mask = 7;
  static constexpr std::uint32_t answer_unit = 8;
  static constexpr std::uint32_t ticket_unit = 64;
  static constexpr State state_of(std::uint32_t word) noexcept { return static_cast<State>(word & state_mask); }
  static constexpr Answer answer_of(std::uint32_t word) noexcept {
    return static_cast<Answer>(word % ticket_unit / answer_unit);
  }
  static constexpr std::uint32_t ticket_of(std::uint32_t word) noexcept { return word / ticket_unit; }
  static constexpr std::uint32_t in_state(std::uint32_t word, State state) noexcept {
    return word / ticket_unit * ticket_unit + state;
  }
  struct Place {
    std::atomic<std::uint32_t> word{0};
    void* address = nullptr;
    FaultContext context;
    const void* holdings = nullptr;
  };

  /// Takes an empty place, else one whose answer nobody has taken. @return nullptr: there is none
  [[nodiscard]] Place* claim(std::uint32_t& word) noexcept;
  [[nodiscard]] bool take(std::size_t at, Posted& fault) noexcept;
  static void put(Place& place, Answer answer) noexcept;

  static constexpr std::size_t places = 64;
  Place place_[places];
  std::atomic<std::uint32_t> posts_{0};    ///< futex of the service thread: changes with every post
  std::atomic<std::uint32_t> answers_{0};  ///< grows with every answer: a sign of life
  std::atomic<bool> open_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> alone_{true};  ///< the process has one processor: who waits lets the others run
  std::size_t turn_ = 0;  ///< service thread only
};

}  // namespace semcache::platform::detail
