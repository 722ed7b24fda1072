// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/engine/buffers.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/engine/transfers.hpp>

#include <exception>
#include <mutex>

namespace semcache::engine {

class Transaction;

/// The engine's lock, and what transactions wait for.
class Transactions : Parts {
 public:
  explicit Transactions(const Parts& parts) noexcept : Parts(parts) {}

  /// While a fault is served: what it waits for is held by a thread that waits for it.
  struct NeitherCanGoOn : SystemError {
    using SystemError::SystemError;
  };
  /// Afterwards what was submitted to the queue last is done. It cannot be taken back, so where an event fails the queue is
  /// waited for, and then the device. @throws DeviceError  the device is lost
  void complete(Transaction& transaction, const timeline::Work& work);
  /// All transfers, and those of `memory`; in the same way.
  void complete_transfers(Transaction& transaction, Memory& memory);
  /// @throws DeviceError  see `Queues::retire`
  void end_queue(Transaction& transaction, DeviceState& d, QueueIndex queue);

 private:
  friend class Transaction;
  friend class Look;
  [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock<std::mutex>(mutex_); }
  void wait(Transaction& transaction, const Obstacle& obstacle);
  /// A moment, or until one has got what its thread waits for. @throws NeitherCanGoOn
  void wait_for_launches(Transaction& transaction, Memory& memory);
  void wait_for_launches_a_moment(Transaction& transaction, Memory& memory);
  void wait_for_device(Transaction& transaction, std::uint32_t device);
  void lock_pages(Transaction& transaction, Memory& host, ByteRange chunk);
  /// The driver is told what it is to map and to unmap. @return what it refused otherwise than for want of memory
  std::exception_ptr map_and_unmap(Transaction& transaction, DeviceState& d);
  /// What leaves has left afterwards.
  void end_mappings(Transaction& transaction) noexcept;

  mutable std::mutex mutex_;
};

/// What every access is: it has the engine's lock from its beginning to its end, and gives it up to wait, and to do what
/// takes long (`unlocked`). Nobody else takes the lock or gives it up.
///
/// An access that may have to wait states what it needs as an *attempt*: a function that makes what it can, in steps of which
/// each leaves directory, flags and pages right, and that returns the first obstacle that it meets. `run` waits for that
/// without the lock, and makes the attempt anew, from its beginning, because another thread may have changed anything
/// meanwhile. So whatever an attempt has seen holds until it returns, and when `run` returns nobody has had the lock since
/// the attempt began that met no obstacle.
///
/// Flags and pages are projected before the lock is given up, to wait or at the end, also where something fails half-way (I5,
/// I6); nobody else need think of it. Saved copies that nobody wants any more are freed at the end, unless a launch follows.
class Transaction : base::Uncopied {
 public:
  explicit Transaction(Transactions& all) : all_(all), lock_(all.lock()) {}
  ~Transaction();

  /// @param attempt  returns the obstacle that it met, or none
  template <class Attempt>
  void run(const Attempt& attempt) {
    for (Obstacle obstacle = attempt(); obstacle; obstacle = attempt()) wait(obstacle);
  }
  /// Afterwards the obstacle is removed, or may be: whoever met it looks again.
  /// @throws DeviceError  the device is lost
  /// @throws UsageError, SystemError  nobody can remove it
  void wait(const Obstacle& obstacle) { all_.wait(*this, obstacle); }
  /// A launch comes next, and is not kept waiting: flags that only say that launches need nothing done are computed when it
  /// ends, while the device is busy.
  void launch_follows() noexcept { launch_follows_ = true; }
  /// Runs something that takes time, without the lock: between two attempts, or behind the last one.
  template <class Body>
  void unlocked(const Body& body) {
    give_up();
    const base::AtEnd relock([this] { lock_.lock(); });
    all_.s_.surroundings.without_lock();
    if (here().served_address == nullptr) return body();
    const base::TakesTime takes_time;
    body();
  }

 private:
  friend class Transactions;
  void give_up();
  Transactions& all_;
  int exceptions_ = std::uncaught_exceptions();
  bool launch_follows_ = false;
  bool told_driver_ = false;
  std::unique_lock<std::mutex> lock_;
};

/// For members that only look.
class Look {
 public:
  explicit Look(const Transactions& all) : lock_(all.lock()) {}

 private:
  const std::unique_lock<std::mutex> lock_;
};

}  // namespace semcache::engine
