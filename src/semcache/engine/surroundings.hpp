// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

namespace semcache::memory {
struct Memory;
}

namespace semcache::engine {

using memory::Memory;

/// The interface through which the engine asks the layer above it about threads: which launches they have under way, and which
/// faults they wait for. The members of this class answer that nothing is known.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// Has the calling thread a launch under way?
  [[nodiscard]] virtual bool in_launch() const noexcept { return false; }
  /// Does a launch that the calling thread has under way use this memory?
  [[nodiscard]] virtual bool in_launch_of(const Memory& /*memory*/) const noexcept { return false; }
  /// Called while a fault is served. Does what `platform::Tracker::help_holder` does, for the threads whose launches use this
  /// memory. No lock is held.
  [[nodiscard]] virtual platform::Holder help_holder(const Memory& /*memory*/, const void*& /*where*/) {
    return platform::Holder::runs;
  }
  /// Asks for faults in these pages, which lie outside the arenas, to be served (`platform::Tracker::watch`). Returns false where that
  /// cannot be done. The lock is held. @throws std::bad_alloc
  [[nodiscard]] virtual bool watch(const std::byte* /*pages*/, std::uint64_t /*bytes*/) { return true; }
  virtual void unwatch(const std::byte* /*pages*/, std::uint64_t /*bytes*/) noexcept {}
  /// May host pages be page-locked now? Asked each time when they would be. The lock is held.
  [[nodiscard]] virtual bool may_lock_pages() noexcept { return true; }
  /// Called before a launch that takes the engine's lock. The lock is held.
  virtual void look_around() noexcept {}
  /// Called whenever a transaction has given up the lock, before it waits; what it has planned so far is void. For tests.
  virtual void without_lock() {}
};

}  // namespace semcache::engine
