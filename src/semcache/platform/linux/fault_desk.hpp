// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/patience.hpp>
#include <semcache/platform/linux/fault_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace semcache::platform::detail {

/// Decides for a waiting thread whether faults are still being served. Signs of life are an answer to any thread (so a long queue
/// alone does not end the process) and work that takes its time (`base::TakesTime`). Async-signal-safe.
class SignsOfLife {
 public:
  explicit SignsOfLife(unsigned patience_s) noexcept : silence_(std::chrono::seconds(patience_s)), work_(silence_) {}

  enum class Seen : std::uint8_t {
    enough,
    long_work,  ///< no answer for the whole patience, but work is under way; returned once
    silence,    ///< no sign of life for the whole patience
  };
  /// Checks for signs of life. To be called at least ten times a second. @param answers  a number that changes with every answer
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

/// Where faulting threads post their faults and wait, and where the service thread picks them up. A fixed set of places, without
/// locks or allocation; threads wait by futex. Constant-initialised.
class FaultDesk {
 public:
  enum class Answer : std::uint32_t {
    served,
    not_ours,
    in_driver,
    closed,    ///< faults are not, or no longer, served
    too_late,  ///< there was no sign of life for the whole patience
  };
  struct Posted {
    void* address = nullptr;
    FaultContext context;
    const void* holdings = nullptr;  ///< what the faulting thread has published (`tell_holdings`)
    std::size_t place = 0;
  };
  /// Called once for a fault that has waited for the whole patience while work is under way.
  using LongWork = void (*)(const void* address, unsigned patience_s);

  // --- faulting threads; async-signal-safe ---
  /// Posts a fault and waits for its answer. When all places are taken it waits for one. A signal handler may jump out of the
  /// wait.
  [[nodiscard]] Answer post_and_wait(void* address, const FaultContext& context, const void* holdings,
                                     unsigned patience_s, LongWork long_work) noexcept;

  // --- the service thread ---
  /// To be called before `next`: finds out whether other threads can run while this thread does.
  void begin_service() noexcept;
  /// Waits for the next fault. Takes the places in turn, so that none starves. Returns false after `request_close`, once every
  /// posted fault was answered.
  [[nodiscard]] bool next(Posted& fault) noexcept;
  void answer(const Posted& fault, Answer answer) noexcept;
  /// Takes a posted fault of a thread with such holdings; returns false where there is none. The fault must be answered as well.
  [[nodiscard]] bool next_of(const Holds& holds, Posted& fault);
  /// Returns the address of a fault that was taken and not yet answered, of a thread with such holdings; nullptr: there is none.
  [[nodiscard]] const void* taken_of(const Holds& holds) const;

  // --- the owner ---
  /// Accepts faults from now on.
  void open() noexcept;
  /// In a forked child: discards faults that the parent's threads had posted, because these threads do not exist here.
  void forget() noexcept;
  /// Makes `next` return false soon.
  void request_close() noexcept;
  /// Answers, after the service thread has ended, the faults that were posted too late for it.
  void close() noexcept;

 private:
  /// The word of a place holds its state, the answer, and a ticket that changes whenever a thread takes the place. A thread that
  /// jumped out of its wait leaves an answer that no thread takes, so its place is given to another thread. If it waits after
  /// all, it sees another ticket and repeats the access.
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

  /// Takes an empty place, or else one whose answer was never taken. @return nullptr where there is none
  [[nodiscard]] Place* claim(std::uint32_t& word) noexcept;
  [[nodiscard]] bool take(std::size_t at, Posted& fault) noexcept;
  static void put(Place& place, Answer answer) noexcept;

  static constexpr std::size_t places = 64;
  Place place_[places];
  std::atomic<std::uint32_t> posts_{0};    ///< futex of the service thread: changes with every post
  std::atomic<std::uint32_t> answers_{0};  ///< grows with every answer: a sign of life
  std::atomic<bool> open_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> alone_{true};  ///< the process has one processor: a waiting thread sleeps at once, so that others run
  std::size_t turn_ = 0;  ///< the place to check first; used by the service thread only
};

}  // namespace semcache::platform::detail
