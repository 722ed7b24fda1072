// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "blocks.hpp"
#include "decision.hpp"
#include "own_pages.hpp"
#include "undisturbed.hpp"  // of packages/syscalls

#include <cstddef>

/// The device behind the calls of this process: from the first call that is offloaded to the end of the process.
namespace semcache::blas {

/// The variables of this library. Reading them allocates nothing.
struct Settings {
  Offload offload = Offload::automatic;
  std::size_t large_block = std::size_t{1} << 20;  ///< SEMCACHE_BLAS_MALLOC; 0: blocks are left to the C library
  std::size_t guard_pages = 16;                    ///< SEMCACHE_BLAS_GUARD
  std::size_t kept_bytes = 0;                      ///< SEMCACHE_BLAS_KEEP; an eighth of the machine's memory
};
[[nodiscard]] const Settings& settings() noexcept;

/// Returns whether a device can be used, and starts it if `start` says so. Otherwise `why_not` says why there is none.
enum class Start : std::uint8_t { no, if_needed };
[[nodiscard]] bool device_is_there(Start start, Verdict& why_not) noexcept;
[[nodiscard]] bool device_runs() noexcept;
/// Returns whether a thread of this process forks. Meanwhile the device is not to be used; who has a `DeviceUse` may go on.
[[nodiscard]] bool process_forks() noexcept;
/// Waits until no thread forks, for so long at most: the handlers of fork() may wait for this thread. @return whether none forks
[[nodiscard]] bool forks_end_within(double seconds) noexcept;
/// Notes that calls are no longer to be offloaded, because the device failed.
void give_up(const char* why) noexcept;

/// Returns whether this is a child by vfork() or its kind: it has its parent's memory, and its own signals. One of fork() is none.
[[nodiscard]] bool is_vforked_child() noexcept;

/// Adopts a block, so that its content may be on the device. @return false if accesses to it would not be noticed
/// @throws what runtime::adopt throws
[[nodiscard]] bool adopt(const blocks::Block& block);

/// Keeps the program's handlers out of what this thread does for the device (`syscalls::SignalsBlocked`). Locks for which such threads wait are held in
/// one only, because a thread that a signal has stopped would keep them.
class SignalsBlocked {
  syscalls::SignalsBlocked blocked_;
  RecordsLock::Blocked known_;
};
/// Keeps cancellation out, too.
class Undisturbed {
  syscalls::Uncancelled uncancelled_;
  SignalsBlocked signals_;
};

/// Held while anything is adopted: two calls may have the same operand, or overlapping ones.
class Adoption {
 public:
  Adoption() noexcept;
  ~Adoption();
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
};
/// Waits for adoptions that are under way, so that later ones see the records as they are now.
void wait_for_adoptions() noexcept;
/// Ends the adoption of a block. `dies`: nobody wants its content, so nothing crosses the link. Returns false if the content cannot be brought
/// home: the block must stay then.
enum class Last : std::uint8_t { dies, comes_home };
[[nodiscard]] bool release(const blocks::Block& block, Last content) noexcept;
/// The same for any adopted memory of the runtime that runs.
[[nodiscard]] bool release(std::byte* first, std::size_t bytes, Last content) noexcept;
/// Returns whether the runtime that runs has adopted the block, in this process.
[[nodiscard]] bool is_adopted(const blocks::Block& block) noexcept;
/// Lets the content of an adopted block die, without a transfer. It stays adopted, and the program may write it. @return false if it cannot
[[nodiscard]] bool let_content_die(const blocks::Block& block) noexcept;
/// Brings the blocks home that overlap these bytes, because the program changes their mappings, when calls that use the device have ended.
/// @return false if one stays adopted
[[nodiscard]] bool release_blocks_in(std::byte* first, std::size_t bytes) noexcept;

/// Keeps forks out while a call uses the device (ask `process_forks` then), and others from releasing what the call uses.
class DeviceUse {
 public:
  DeviceUse() noexcept;
  ~DeviceUse();
  DeviceUse(const DeviceUse&) = delete;
  DeviceUse& operator=(const DeviceUse&) = delete;

 private:
  bool mine_;
};

/// Waits for the calls that use the device, and keeps further ones out; the program's handlers stay out, too (`Undisturbed`). A thread that is in such
/// a call itself, as its signal handlers are, does not wait.
class Alone {
 public:
  Alone() noexcept;
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Undisturbed undisturbed_;
  bool mine_;
};

}  // namespace semcache::blas
