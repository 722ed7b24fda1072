// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace semcache::memory {

struct Memory;

/// Address to Memory without a lock: two levels, 2 MiB granules of units (512 bytes on devices, a page on the host).
/// Threads: `find` any; changes serialised by the engine's lock.
class LookupTable : base::Uncopied {
 public:
  static constexpr std::uint64_t granule_bytes = 2 * 1024 * 1024;

  LookupTable(std::byte* base, std::uint64_t bytes, std::uint64_t unit_bytes)
      : base_(base), bytes_(bytes), unit_bytes_(unit_bytes), granules_(bytes / granule_bytes) {
    // calloc: zero pages appear when used; a table for 1 TiB of addresses costs nothing until then.
    table_ = static_cast<std::atomic<std::uintptr_t>*>(std::calloc(granules_ + 1, sizeof(std::uintptr_t)));
    if (table_ == nullptr) throw std::bad_alloc();
  }
  ~LookupTable() {
    for (std::uint64_t g = 0; g < granules_; ++g) {
      const std::uintptr_t entry = table_[g].load(std::memory_order_relaxed);
      if (entry & 1) std::free(reinterpret_cast<void*>(entry & ~std::uintptr_t{1}));
    }
    std::free(static_cast<void*>(table_));
  }

  [[nodiscard]] bool covers(const void* p) const noexcept {
    const auto* b = static_cast<const std::byte*>(p);
    return b >= base_ && b < base_ + bytes_;
  }
  /// The memory whose data contains `p`, or nullptr.
  [[nodiscard]] Memory* find(const void* p) const noexcept {
    if (!covers(p)) return nullptr;
    const std::uint64_t offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base_);
    const std::uintptr_t entry = table_[offset / granule_bytes].load(std::memory_order_acquire);
    if ((entry & 1) == 0) {
      const std::uint64_t filled = entry >> address_bits;
      if (filled != 0 && offset % granule_bytes / unit_bytes_ >= filled) return nullptr;
      return reinterpret_cast<Memory*>(entry & address_mask);
    }
    const auto* units = reinterpret_cast<const std::atomic<Memory*>*>(entry & ~std::uintptr_t{1});
    return units[offset % granule_bytes / unit_bytes_].load(std::memory_order_acquire);
  }
  /// Enters (memory != nullptr) or removes [address, address + bytes) as it was entered. Removing allocates nothing.
  /// @throws std::bad_alloc  to be removed all the same
  void set(const std::byte* address, std::uint64_t bytes, Memory* memory);

 private:
  /// A granule's entry is the address of a table of units with the lowest bit set; or of the one memory that begins with it, and
  /// above the address how many units that fills, 0 for all; or 0.
  static constexpr unsigned address_bits = 48;
  static constexpr std::uintptr_t address_mask = (std::uintptr_t{1} << address_bits) - 1;
  using Unit = std::atomic<Memory*>;
  Unit* units_of(std::uint64_t granule);

  std::byte* base_;
  std::uint64_t bytes_;
  std::uint64_t unit_bytes_;
  std::uint64_t granules_;
  std::atomic<std::uintptr_t>* table_ = nullptr;
};

}  // namespace semcache::memory
