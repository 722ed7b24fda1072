// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/room.hpp>
#include <semcache/engine/parts.hpp>

#include <utility>

namespace semcache::engine {

/// From the directory's state to what launches and the host's processors look at: the flags of device memory, and the protection of
/// pages. A flag promises no more than the directory says (I5, I6); it may say less, then launches look closer.
///
/// Threads: with the engine's lock, but for `waits`.
class Projection : Parts {
 public:
  explicit Projection(const Parts& parts) noexcept : Parts(parts) {}

  /// Everything that has changed.
  void project() noexcept;
  /// The same at the end of the next launch, while the device is busy, if only flags of device arrays are to be set anew:
  /// until then they say less than they could, and launches look closer.
  void project_soon() noexcept;
  void project_device(Memory& memory) noexcept;
  /// Launches look closer from now on, until the next projection.
  void revoke(Memory& device_memory) noexcept {
    device_memory.flags.fetch_and(~Memory::revocable);
    note_perhaps_unready(device_memory);
    project_later(device_memory);
  }
  void project_later(Memory& m) noexcept {
    if (!std::exchange(m.awaits_projection, true)) revoked_.push_back(&m);  // there is room for all
  }
  /// Some of its flags are not set.
  void note_perhaps_unready(Memory& m) noexcept {
    if (!std::exchange(m.perhaps_unready, true)) unready_.push_back(&m);  // there is room for all
  }
  /// Device memory that may need something done before a launch uses it; whoever is not listed is ready.
  [[nodiscard]] std::vector<Memory*>& perhaps_unready() noexcept { return unready_; }
  /// Is a projection left to the end of the next launch? No lock.
  [[nodiscard]] bool waits() const noexcept { return waits_.load(); }

  // --- device memory that the host reaches ---
  /// Guarded pages permit what the state does, from now on: a kernel, or somebody who announced it, is about to use them.
  void open_guarded(Memory& memory);
  void protect_guarded(Memory& memory, platform::Protection protection) noexcept;
  /// All that is mapped: uses are no longer noticed. @param memory  for the message that ends the process where the kernel refuses
  void open_all_guarded(const Memory& memory) noexcept;
  /// SEMCACHE_CHECK=1 on emulated devices: device pages are accessible during launches and our own copies only.
  void set_reachable(Memory& memory, bool reachable) noexcept;
  void set_all_reachable(bool reachable) noexcept;
  void keep_reachable(Memory& memory) noexcept;

  // --- saved copies that perhaps nobody wants any more: new ones, those that the directory has touched since they were looked at, and
  // --- those that nobody wants, but that are in use
  void note_perhaps_unwanted(Memory& saved) noexcept;
  void forget_perhaps_unwanted(Memory& saved) noexcept;
  [[nodiscard]] const std::vector<Memory*>& perhaps_unwanted() const noexcept { return unwanted_; }

  /// There are at most so many arrays: listing them fails no more. @throws std::bad_alloc
  void make_room_for(std::size_t arrays) {
    for (std::vector<Memory*>* const list : {&revoked_, &projecting_, &unwanted_, &unready_}) base::make_room_for(*list, arrays);
  }

 private:
  /// The kernel's limit on mappings is near.
  void stop_guarding(const Memory& memory) noexcept;

  std::vector<Memory*> revoked_;     ///< flags to be computed anew at the next projection; each once
  std::vector<Memory*> projecting_;  ///< room for `project`
  std::vector<Memory*> unwanted_;
  std::vector<Memory*> unready_;
  std::atomic<bool> waits_{false};
  std::uint64_t projection_ = 0;  ///< projections so far
};

}  // namespace semcache::engine
