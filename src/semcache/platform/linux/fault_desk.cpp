// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/fault_desk.hpp>

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <utility>

namespace semcache::platform::detail {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "the futex word must be a plain word");

/// How long a waiting thread sleeps before it checks again whether faults are still being served.
constexpr timespec look_around{0, 100'000'000};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, const timespec* timeout) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int waiters) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}

/// How long a waiting thread spins before it sleeps. A sleeping processor takes longer to wake (20 us and more in virtual
/// machines) than most faults take to be served.
constexpr auto a_moment = std::chrono::microseconds(50);

/// Gives the turn to the other hardware thread of the processor's core.
void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins for up to `a_moment`. Returns whether the word has changed from `seen`.
bool changes_soon(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
  constexpr int looks = 32;  // loads for each reading of the clock
  const auto end = std::chrono::steady_clock::now() + a_moment;
  do {
    for (int i = 0; i < looks; ++i) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// While an object lives, no signal handler runs on this thread, except for signals that the thread's own instructions raise. It
/// makes the system call itself, because the C library's function needs more of a small signal stack.
class NoSignals : base::Uncopied {
 public:
  NoSignals() noexcept { set(&all_others, &before_); }
  ~NoSignals() { set(&before_, nullptr); }

 private:
  static constexpr std::uint64_t one = 1;  ///< the mask's bit of signal 1
  static constexpr std::uint64_t all_others =
      ~(one << (SIGSEGV - 1) | one << (SIGBUS - 1) | one << (SIGILL - 1) | one << (SIGFPE - 1) | one << (SIGTRAP - 1));
  static void set(const std::uint64_t* mask, std::uint64_t* old) noexcept {
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, old, sizeof *mask);
  }
  std::uint64_t before_ = 0;
};

}  // namespace

FaultDesk::Place* FaultDesk::claim(std::uint32_t& word) noexcept {
  for (const State wanted : {empty, answered}) {
    for (Place& place : place_) {
      std::uint32_t before = place.word.load(std::memory_order_relaxed);
      if (state_of(before) != wanted) continue;
      word = in_state(before + ticket_unit, claimed);
      if (place.word.compare_exchange_strong(before, word, std::memory_order_acquire)) return &place;
    }
  }
  return nullptr;
}

FaultDesk::Answer FaultDesk::post_and_wait(void* address, const FaultContext& context, const void* holdings,
                                           unsigned patience_s, LongWork long_work) noexcept {
  using Seen = SignsOfLife::Seen;
  SignsOfLife signs(patience_s);
  Place* place = nullptr;
  std::uint32_t mine = 0;
  while (true) {
    if (!open_.load(std::memory_order_acquire)) return Answer::closed;
    {
      const NoSignals whole;  // a handler that jumped out in between would leave the place taken for ever
      place = claim(mine);
      if (place != nullptr) {
        place->address = address;
        place->context = context;
        place->holdings = holdings;
        place->word.store(in_state(mine, posted), std::memory_order_release);
        posts_.fetch_add(1);
        futex_wake(posts_, 1);
        break;
      }
    }
    if (signs.look(answers_.load()) == Seen::silence) return Answer::too_late;
    ::sched_yield();
  }

  while (true) {
    std::uint32_t word = place->word.load(std::memory_order_acquire);
    if (ticket_of(word) != ticket_of(mine)) return Answer::served;
    if (state_of(word) == answered) {
      const Answer answer = answer_of(word);
      place->word.compare_exchange_strong(word, in_state(word, empty), std::memory_order_release);
      return answer;
    }
    // The service thread has ended and may never have seen this post, so the thread takes it back.
    if (!open_.load() && state_of(word) == posted && place->word.compare_exchange_strong(word, in_state(word, empty)))
      return Answer::closed;
    const Seen seen = signs.look(answers_.load());
    if (seen == Seen::silence) return Answer::too_late;  // the place stays taken, because the process ends
    if (seen == Seen::long_work) long_work(address, patience_s);
    if (!alone_.load(std::memory_order_relaxed) && changes_soon(place->word, word)) continue;
    futex_wait(place->word, word, &look_around);
  }
}

bool FaultDesk::take(std::size_t at, Posted& fault) noexcept {
  Place& place = place_[at];
  std::uint32_t word = place.word.load(std::memory_order_relaxed);
  if (state_of(word) != posted ||
      !place.word.compare_exchange_strong(word, in_state(word, serving), std::memory_order_acquire)) {
    return false;
  }
  fault = {place.address, place.context, place.holdings, at};
  return true;
}

void FaultDesk::begin_service() noexcept {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  alone_.store(::sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) == 1);
}

bool FaultDesk::next(Posted& fault) noexcept {
  for (bool asleep = alone_.load();;) {
    const std::uint32_t seen = posts_.load();
    for (std::size_t i = 0; i < places; ++i) {
      const std::size_t at = (turn_ + i) % places;
      if (!take(at, fault)) continue;
      turn_ = at + 1;
      return true;
    }
    if (closing_.load()) return false;
    if (!std::exchange(asleep, true) && changes_soon(posts_, seen)) continue;
    futex_wait(posts_, seen, nullptr);
  }
}

bool FaultDesk::next_of(const Holds& holds, Posted& fault) {
  for (std::size_t at = 0; at < places; ++at) {
    const Place& place = place_[at];
    if (state_of(place.word.load(std::memory_order_acquire)) != posted || !holds(place.holdings)) continue;
    if (take(at, fault)) return true;
  }
  return false;
}

const void* FaultDesk::taken_of(const Holds& holds) const {
  for (const Place& place : place_) {
    if (state_of(place.word.load(std::memory_order_acquire)) == serving && holds(place.holdings)) return place.address;
  }
  return nullptr;
}

void FaultDesk::put(Place& place, Answer answer) noexcept {
  // No other thread changes the word while the fault is being served.
  const std::uint32_t word = place.word.load(std::memory_order_relaxed);
  place.word.store(in_state(word, answered) + static_cast<std::uint32_t>(answer) * answer_unit,
                   std::memory_order_release);
  futex_wake(place.word, INT_MAX);
}

void FaultDesk::answer(const Posted& fault, Answer answer) noexcept {
  answers_.fetch_add(1);
  put(place_[fault.place], answer);
}

void FaultDesk::forget() noexcept {
  for (Place& place : place_) place.word.store(empty);
}

void FaultDesk::open() noexcept {
  // The places keep their states: a thread of an earlier lifetime may still be taking its answer from one.
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
  Posted ignored;
  for (std::size_t at = 0; at < places; ++at) {
    if (take(at, ignored)) put(place_[at], Answer::closed);
  }
}

}  // namespace semcache::platform::detail
