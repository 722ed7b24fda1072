// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/fault_desk.hpp>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace semcache::platform::detail {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "the futex word must be a plain word");

/// How long a faulting thread sleeps before it looks whether anybody still serves.
constexpr timespec look_around{0, 100'000'000};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, const timespec* timeout) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int waiters) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}

std::int64_t now_ns() noexcept {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

/// Runs out when nothing at all was answered for the whole patience: a long queue alone is no reason to end.
class FaultDesk::Deadline {
 public:
  Deadline(const std::atomic<std::uint32_t>& answers, unsigned patience_s) noexcept
      : answers_(answers),
        seen_(answers.load()),
        patience_ns_(std::int64_t{patience_s} * 1'000'000'000),
        start_(now_ns()) {}

  [[nodiscard]] bool passed() noexcept {
    if (const std::uint32_t n = answers_.load(); n != seen_) {
      seen_ = n;
      start_ = now_ns();
    }
    return now_ns() - start_ > patience_ns_;
  }

 private:
  const std::atomic<std::uint32_t>& answers_;
  std::uint32_t seen_;
  std::int64_t patience_ns_;
  std::int64_t start_;
};

FaultDesk::Place* FaultDesk::claim() noexcept {
  for (Place& place : place_) {
    std::uint32_t expected = empty;
    if (place.state.compare_exchange_strong(expected, claimed, std::memory_order_acquire)) return &place;
  }
  return nullptr;
}

FaultDesk::Answer FaultDesk::post_and_wait(void* address, const FaultContext& context, unsigned patience_s) noexcept {
  Deadline deadline(answers_, patience_s);
  Place* place = nullptr;
  while (true) {
    if (!open_.load(std::memory_order_acquire)) return Answer::closed;
    place = claim();
    if (place != nullptr) break;
    if (deadline.passed()) return Answer::too_late;
    ::sched_yield();
  }
  place->address = address;
  place->context = context;
  place->state.store(posted, std::memory_order_release);
  posts_.fetch_add(1);
  futex_wake(posts_, 1);

  while (true) {
    std::uint32_t state = place->state.load(std::memory_order_acquire);
    if (state == answered) break;
    // A post that came after the service thread's last look is taken back.
    if (!open_.load() && state == posted && place->state.compare_exchange_strong(state, empty)) return Answer::closed;
    if (deadline.passed()) return Answer::too_late;  // the place stays taken: the process ends
    futex_wait(place->state, state, &look_around);
  }
  const Answer answer = place->answer;
  place->state.store(empty, std::memory_order_release);
  return answer;
}

bool FaultDesk::next(Posted& fault) noexcept {
  while (true) {
    const std::uint32_t seen = posts_.load();
    for (std::size_t i = 0; i < places; ++i) {
      const std::size_t at = (turn_ + i) % places;
      std::uint32_t expected = posted;
      if (!place_[at].state.compare_exchange_strong(expected, serving, std::memory_order_acquire)) continue;
      turn_ = at + 1;
      fault = {place_[at].address, place_[at].context, at};
      return true;
    }
    if (closing_.load()) return false;
    futex_wait(posts_, seen, nullptr);
  }
}

void FaultDesk::answer(const Posted& fault, Answer answer) noexcept {
  Place& place = place_[fault.place];
  place.answer = answer;
  answers_.fetch_add(1);
  place.state.store(answered, std::memory_order_release);
  futex_wake(place.state, INT_MAX);
}

void FaultDesk::forget() noexcept {
  for (Place& place : place_) place.state.store(empty);
}

void FaultDesk::open() noexcept {
  // Places are left as they are: a thread of an earlier lifetime may still be taking its answer from one.
  turn_ = 0;
  closing_.store(false);
  open_.store(true, std::memory_order_release);
}

void FaultDesk::request_close() noexcept {
  closing_.store(true);
  posts_.fetch_add(1);
  futex_wake(posts_, 1);
}

void FaultDesk::close() noexcept {
  open_.store(false);
  for (Place& place : place_) {
    std::uint32_t expected = posted;
    if (!place.state.compare_exchange_strong(expected, serving)) continue;
    place.answer = Answer::closed;
    place.state.store(answered, std::memory_order_release);
    futex_wake(place.state, INT_MAX);
  }
}

}  // namespace semcache::platform::detail
