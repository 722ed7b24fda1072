// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/patience.hpp>
#include <semcache/base/types.hpp>
#include <semcache/engine/buffers.hpp>
#include <semcache/engine/dual_views.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/engine/transfers.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

namespace semcache::engine {

class Transaction;

/// The engine's lock, and the waits for each kind of obstacle. Only a `Transaction` takes the lock to change something.
class Transactions : Parts {
 public:
  explicit Transactions(const Parts& parts) noexcept : Parts(parts) {}

  /// Waits until `work` is done. Work that was submitted cannot be taken back, so where an event fails, the queue is waited for,
  /// and then the device. @throws DeviceError  the device is lost
  void complete(Transaction& transaction, const timeline::Work& work);
  /// Waits in the same way until all flights have landed, and all transfers that use the device memory `memory` are done.
  /// @throws DeviceError  the device is lost
  void complete_transfers(Transaction& transaction, Memory& memory);
  /// Waits while other threads wait for the end of pins of memory that the caller is about to pin; see README.md. A thread that has pins
  /// already does not wait, nor longer than `Options::patience`.
  /// @param awaited  returns whether there are such threads
  template <class Awaited>
  void give_way(Transaction& transaction, const Awaited& awaited);
  /// Ends a lease of the queue, and gives up its stream behind the last lease. The wait for its device is without the lock.
  /// @throws DeviceError  see `Queues::retire`
  void end_queue(Transaction& transaction, QueueIndex queue);

 private:
  friend class Transaction;
  friend class Look;
  [[nodiscard]] std::unique_lock<std::mutex> lock() const {
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    take(lock);
    return lock;
  }
  /// Takes the lock. A thread that serves a fault comes before all others: a mutex goes to whoever runs at the moment, so threads that launch
  /// without a pause would take it from a thread that has to wake up first, again and again.
  void take(std::unique_lock<std::mutex>& lock) const {
    keep_idle_events(timeline::max_queues);
    if (faults_at_lock_.load(std::memory_order_relaxed) == 0 && lock.try_lock()) return;
    take_in_turn(lock);
  }
  void take_in_turn(std::unique_lock<std::mutex>& lock) const;
  /// Makes events, so that so many are idle on each device. An event for each queue is made before the lock is taken, which suffices where an
  /// access records one event behind the newest work of each. Fetches may need more of them (`Transfers::lacking_events`).
  void keep_idle_events(std::size_t count) const noexcept {
    for (const auto& d : s_.devices) d->device->keep_idle_events(count);
  }
  /// @throws SystemError  another thread has the lock, and does not give it up before the patience is over
  [[nodiscard]] std::unique_lock<std::mutex> lock(base::Patience& patience) const;
  void wait(Transaction& transaction, const Obstacle& obstacle);
  /// Waits until no launch pins the memory, or until it is freed. @throws UsageError, SystemError
  void wait_for_launches(Transaction& transaction, Memory& memory);
  /// Waits for a short time. Where a page fault is being served and the launch's thread waits for another fault, serves that one
  /// instead. If that thread waits for the fault that is being served, neither can go on: the transaction's attempts are then to ask for less
  /// (`Transaction::asks_for_less`), or it fails.
  void wait_for_launches_a_moment(Transaction& transaction, Memory& memory);
  /// Waits, without the lock, for everything that was given to these devices.
  void wait_for_devices(Transaction& transaction, DeviceSet which);
  void lock_pages(Transaction& transaction, Memory& host, ByteRange chunk);
  /// Lets the driver map and unmap the device memory that is asked for and that leaves. The lock is given up meanwhile. What other
  /// threads free meanwhile is unmapped as well. Nothing is evicted before the function returns, so what was asked for is resident
  /// then, unless the driver has refused it or it has been freed.
  /// @pre no thread is calling the driver for the device
  /// @return an error of the driver other than lack of memory; nullptr: none
  std::exception_ptr map_and_unmap(Transaction& transaction, DeviceState& d);
  /// Lets the driver map and unmap all that is still listed. Where another thread is calling the driver for a device, that thread
  /// tells the driver of the rest as well.
  void end_mappings(Transaction& transaction) noexcept;
  /// Gives staging memory, and memory of saved copies on the host, back to the driver, as far as it is not kept, and the pages of large mirrors
  /// that were freed back to the system. The lock is given up meanwhile.
  void give_back_memory(Transaction& transaction) noexcept;

  mutable std::mutex mutex_;
  mutable std::atomic<std::uint32_t> waiters_{0};         ///< threads that wait for the lock
  mutable std::atomic<std::uint32_t> faults_at_lock_{0};  ///< threads that serve a fault and wait for the lock
};

/// One access. It has the engine's lock from its beginning to its end, and gives the lock up only to wait and to do what takes
/// long (`unlocked`). No other code takes the lock, except `Look`.
///
/// An access that may have to wait states what it needs as an *attempt*. This is a function that does what it can, in steps of
/// which each leaves directory, flags and pages right, and that returns the first obstacle that it meets. `run` waits for the
/// obstacle without the lock. Another thread may have changed anything meanwhile, so `run` then makes the attempt again from its
/// beginning. Therefore all that an attempt has seen holds until it returns. When `run` returns, no other thread has had the lock
/// since the beginning of the last attempt, which met no obstacle.
///
/// The transaction projects flags and pages whenever it gives up the lock, to wait or at the end, also where something fails
/// half-way (I5, I6); no other code need care about it. At the end it frees saved copies whose values are wanted no more, unless
/// a launch follows.
class Transaction : base::Uncopied {
 public:
  explicit Transaction(Transactions& all) : all_(all), lock_(all.lock()) {}
  /// @throws SystemError  another thread has the lock, and does not give it up before the patience is over
  Transaction(Transactions& all, base::Patience& patience) : all_(all), lock_(all.lock(patience)) {}
  ~Transaction();

  /// Makes the attempt, and waits for the obstacle that it meets, until an attempt meets none.
  /// @param attempt  returns the obstacle that it met, or no obstacle
  template <class Attempt>
  void run(const Attempt& attempt) {
    for (Obstacle obstacle = attempt(); obstacle; obstacle = attempt()) wait(obstacle);
  }
  /// Does the same, but waits for launches and for work of devices only until the patience is over.
  /// @return the obstacle that was in the way then; no obstacle: an attempt met none
  template <class Attempt>
  [[nodiscard]] Obstacle try_run(const Attempt& attempt, base::Patience& patience) {
    for (;;) {
      const Obstacle o = attempt();
      if (!o || (o.kind != Obstacle::Kind::turn && patience.over())) return o;
      const bool perhaps_never_ends = o.kind == Obstacle::Kind::launches || o.kind == Obstacle::Kind::work;
      wait(perhaps_never_ends ? Obstacle::moment() : o);
    }
  }
  /// Waits for the obstacle. Afterwards it may be removed, so the caller checks again whether it still meets it.
  /// @throws DeviceError  the device is lost
  /// @throws UsageError, SystemError  no wait can remove the obstacle
  void wait(const Obstacle& obstacle) { all_.wait(*this, obstacle); }
  /// Says that the attempts that follow can ask for less, as a fault can that reads ahead. If the transaction then waits for a thread that
  /// itself waits for this one, it does not fail, but `asks_for_less` holds from then on. That is a state, because throwing takes memory of
  /// the program's malloc, which a fault may come from.
  void can_ask_for_less() noexcept { less_ = Less::possible; }
  [[nodiscard]] bool asks_for_less() const noexcept { return less_ == Less::asked; }
  /// Announces that a launch comes next, which must not be delayed. Flags that only tell launches that nothing need be done are
  /// then computed when the launch ends, while the device is busy.
  void launch_follows() noexcept { launch_follows_ = true; }
  /// Runs `body`, which takes long, without the lock. To be called between two attempts or after the last one, because all that
  /// was seen before is void afterwards.
  template <class Body>
  void unlocked(const Body& body) {
    give_up();
    const base::AtEnd relock([this] { take_back(); });
    all_.s_.surroundings.without_lock();
    if (here().served_address == nullptr) return body();
    const base::TakesTime takes_time;
    body();
  }

 private:
  friend class Transactions;
  void give_up();
  void take_back() {
    all_.take(lock_);
    --all_.s_.unlocked;
  }
  enum class Less : std::uint8_t { none, possible, asked };
  Transactions& all_;
  Less less_ = Less::none;
  int exceptions_ = std::uncaught_exceptions();
  bool launch_follows_ = false;
  const Memory* awaits_end_of_ = nullptr;   ///< the part on the host for whose uses it waits
  std::optional<base::Patience> patience_;  ///< for that wait, over all attempts
  std::unique_lock<std::mutex> lock_;
};

inline void Transactions::take_in_turn(std::unique_lock<std::mutex>& lock) const {
  const bool serves = here().served_address != nullptr;
  waiters_.fetch_add(1, std::memory_order_relaxed);
  const base::AtEnd has_it([this] { waiters_.fetch_sub(1, std::memory_order_relaxed); });
  if (serves) faults_at_lock_.fetch_add(1, std::memory_order_relaxed);
  // Whoever has the lock gives it up without the help of other threads, so this wait is as long as that of the fault.
  while (!serves && faults_at_lock_.load(std::memory_order_relaxed) != 0) timeline::wait_a_moment();
  lock.lock();
  if (serves) faults_at_lock_.fetch_sub(1, std::memory_order_relaxed);
}

inline std::unique_lock<std::mutex> Transactions::lock(base::Patience& patience) const {
  keep_idle_events(timeline::max_queues);
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (patience.over()) {
      throw SystemError("another thread is inside SemCache and does not go on. Let it go on (in gdb: set scheduler-locking off), then ask "
                        "again");
    }
    timeline::wait_a_moment();
    (void)lock.try_lock();
  }
  return lock;
}

template <class Awaited>
void Transactions::give_way(Transaction& t, const Awaited& awaited) {
  if (s_.surroundings.in_launch()) return;
  base::Patience patience(s_.options.patience);
  while (awaited() && !patience.over()) t.wait(Obstacle::moment());
}

/// Has the engine's lock while it lives. It is for members that only read, or only count who uses what: nothing is projected or given back at its end.
class Look {
 public:
  explicit Look(const Transactions& all) : lock_(all.lock()) {}

 private:
  const std::unique_lock<std::mutex> lock_;
};

}  // namespace semcache::engine
