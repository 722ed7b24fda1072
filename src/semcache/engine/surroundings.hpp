// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

namespace semcache::memory {
struct Memory;
}

namespace semcache::engine {

using memory::Memory;

/// What the engine asks of who knows the threads: what they have launched, and which faults they wait for. As it is: nothing
/// is known.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// Has the calling thread a launch under way?
  [[nodiscard]] virtual bool in_launch() const noexcept { return false; }
  /// Does one of them use this memory?
  [[nodiscard]] virtual bool in_launch_of(const Memory& /*memory*/) const noexcept { return false; }
  /// While a fault is served: see `platform::Tracker::help_holder`, of the launches that use this memory. No lock is held.
  [[nodiscard]] virtual platform::Holder help_holder(const Memory& /*memory*/, const void*& /*where*/) {
    return platform::Holder::runs;
  }
  /// Called before launches that look closer. A lock is held.
  virtual void look_around() noexcept {}
  /// Called whenever a transaction has given up the lock to wait, before it does: what it has planned so far is void. For tests.
  virtual void without_lock() {}
};

}  // namespace semcache::engine
