// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/host_access.hpp>
#include <semcache/engine/lifetimes.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace semcache::engine {

/// Adopts memory of the program's own, and gives it back (`memory::AdoptedMemory` defines body and edges). Threads: any.
class Adoption : Parts {
 public:
  explicit Adoption(const Parts& parts) noexcept : Parts(parts) {}

  /// Adopts [address, address + bytes). Its body becomes the host side of a new array, with the content that it has. Without a body,
  /// or if accesses to it cannot be noticed, the whole range stays ordinary memory of the program.
  /// @throws UsageError  the memory cannot be adopted  @throws std::bad_alloc  nothing has changed
  void adopt(std::byte* address, std::uint64_t bytes, const char* label);
  /// Ends the adoption of the range that begins at `address`: brings its content home, saves what others want of it, opens its pages.
  /// @throws UsageError  no adopted range begins there, or a part of it has memory of its own  @throws OutOfMemory, DeviceError, SystemError  the range stays adopted
  void release(std::byte* address);
  /// Forgets all adopted ranges. @pre their pages are open for good (`HostAccess::open_everything`)
  void end() noexcept;
  /// Returns the end of the adopted range without a body that holds `address`; nullptr if there is none.
  [[nodiscard]] const std::byte* end_of_open(const std::byte* address) const;
  /// Returns the first byte of the adopted range that holds `address`, and what is known of the range; nothing if there is none.
  [[nodiscard]] std::optional<std::pair<const std::byte*, AdoptedMemory::Range>> find(const std::byte* address) const;

 private:
  /// @throws UsageError  the range is, or overlaps, memory that is tracked already
  void expect_not_tracked(const std::byte* address, std::uint64_t bytes, const std::string& refused) const;
  /// Asks the driver and the system, which takes long: without the lock. @throws UsageError  the range is no ordinary memory of the program
  void expect_ordinary(const std::byte* address, std::uint64_t bytes, const std::string& refused) const;
  /// Writes a line about a body whose pages are not there any more. Ends the process if others want what only these pages held (I8).
  void expect_unwanted(const Memory& body) const;

  std::atomic<bool> warned_open_{false};
  std::uint64_t adoptions_ = 0;
};

}  // namespace semcache::engine
