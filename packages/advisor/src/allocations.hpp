// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "spaces.hpp"

#include <cstdint>
#include <map>
#include <tuple>

namespace semcache::advisor {

/// A place of the program's memory. Memory that is freed and given out again has a new serial number.
struct Place {
  std::uint64_t serial = 0;  ///< of the allocation; 0: of none that Kokkos announced
  std::uintptr_t offset = 0; ///< in the allocation; in none: the address
  friend bool operator==(Place a, Place b) noexcept { return a.serial == b.serial && a.offset == b.offset; }
  friend bool operator<(Place a, Place b) noexcept { return std::tie(a.serial, a.offset) < std::tie(b.serial, b.offset); }
};

/// A content that a copy brought to a device, and that nothing the advisor can see has used since.
struct Unused {
  std::uintptr_t offset = 0;
  std::uint64_t bytes = 0;  ///< 0: there is none
  std::uint64_t launches = 0;
  std::uint32_t statement = 0;
  double seconds = 0;
};

struct Allocation {
  std::uint64_t serial = 0, bytes = 0;
  std::uint32_t label = 0;
  bool used = false;  ///< by a copy, to or from it, or a fill
  Unused unused;
};

/// The allocations that Kokkos has announced and that are alive, by address.
class Allocations {
 public:
  void add(std::uintptr_t address, std::uint64_t bytes, std::uint32_t label) { live_[address] = Allocation{++serials_, bytes, label, false, {}}; }
  /// Returns the allocation that begins at this address; nullptr: none does.
  [[nodiscard]] Allocation* at(std::uintptr_t address) {
    const auto found = live_.find(address);
    return found == live_.end() ? nullptr : &found->second;
  }
  void remove(std::uintptr_t address) { live_.erase(address); }

  struct Found {
    Allocation* allocation = nullptr;
    Place place;
  };
  /// Returns where an address is. O(log n)
  [[nodiscard]] Found find(std::uintptr_t address) {
    auto next = live_.upper_bound(address);
    if (next == live_.begin()) return {nullptr, {0, address}};
    auto& [begin, allocation] = *--next;
    // Kokkos announces where its header begins, but the size without it, and the data lie behind the header.
    if (address - begin >= allocation.bytes + header_bytes) return {nullptr, {0, address}};
    return {&allocation, {allocation.serial, address - begin}};
  }
  [[nodiscard]] std::size_t size() const noexcept { return live_.size(); }

 private:
  static constexpr std::uint64_t header_bytes = 128;
  std::map<std::uintptr_t, Allocation> live_;
  std::uint64_t serials_ = 0;
};

}  // namespace semcache::advisor
