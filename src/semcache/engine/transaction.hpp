// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/engine.hpp>

#include <exception>
#include <utility>

namespace semcache::engine {

/// What every access is: it has the engine's lock from its beginning to its end, and gives it up to wait, and to do what
/// takes long (`unlocked`). No other member of the engine takes the lock or gives it up.
///
/// An access that may have to wait states what it needs as an *attempt*: a function that makes what it can, in steps of which
/// each leaves directory, flags and pages right, and that returns the first obstacle that it meets. `run` waits for that
/// without the lock, and makes the attempt anew, from its beginning, because another thread may have changed anything
/// meanwhile. So whatever an attempt has seen holds until it returns, and when `run` returns nobody has had the lock since
/// the attempt began that met no obstacle.
///
/// Flags and pages are projected before the lock is given up, to wait or at the end, also where something fails half-way (I5,
/// I6); nobody else need think of it. Saved copies that nobody wants any more are freed at the end, unless a launch follows.
class Engine::Transaction {
 public:
  explicit Transaction(Engine& engine) : engine_(engine), lock_(engine.lock()) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// @param attempt  returns the obstacle that it met, or none
  template <class Attempt>
  void run(const Attempt& attempt) {
    for (Obstacle obstacle = attempt(); obstacle; obstacle = attempt()) wait(obstacle);
  }
  /// Afterwards the obstacle is gone, or may be: whoever met it looks again.
  /// @throws DeviceError  the device is lost
  /// @throws UsageError, SystemError  nobody can remove it
  void wait(const Obstacle& obstacle) { engine_.wait(*this, obstacle); }
  /// A launch comes next, and is not kept waiting: flags that only say that launches need nothing done are computed when it
  /// ends, while the device is busy.
  void launch_follows() noexcept { launch_follows_ = true; }
  /// Runs something that takes time, without the lock: between two attempts, or behind the last one.
  template <class Body>
  void unlocked(const Body& body) {
    give_up();
    struct Relock {
      std::unique_lock<std::mutex>& lock;
      ~Relock() { lock.lock(); }
    } const relock{lock_};
    engine_.surroundings_.without_lock();
    if (here().served_address == nullptr) return body();
    const base::TakesTime takes_time;
    body();
  }

 private:
  void give_up();
  Engine& engine_;
  int exceptions_ = std::uncaught_exceptions();
  bool launch_follows_ = false;
  std::unique_lock<std::mutex> lock_;
};

/// For members that only look.
class Engine::Look {
 public:
  explicit Look(const Engine& engine) : lock_(engine.lock()) {}

 private:
  const std::unique_lock<std::mutex> lock_;
};

}  // namespace semcache::engine
