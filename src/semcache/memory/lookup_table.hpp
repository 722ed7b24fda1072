// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace semcache::memory {

struct Memory;

/// A table from addresses to `Memory`, read without a lock. It has two levels: granules of 2 MiB, which consist of units (512
/// bytes on devices, a page on the host).
/// Threads: any for `find` and `covers`; changes are serialised by the engine's lock.
class LookupTable : base::Uncopied {
 public:
  static constexpr std::uint64_t granule_bytes = 2 * 1024 * 1024;

  LookupTable(std::byte* base, std::uint64_t bytes, std::uint64_t unit_bytes)
      : base_(base), bytes_(bytes), unit_bytes_(unit_bytes), granules_(bytes / granule_bytes) {
    // calloc gives zero pages that appear when they are used, so a table for 1 TiB of addresses costs nothing until then.
    table_ = static_cast<std::atomic<std::uintptr_t>*>(std::calloc(granules_ + 1, sizeof(std::uintptr_t)));
    if (table_ == nullptr) throw std::bad_alloc();
  }
  ~LookupTable() {
    for (std::uint64_t g = 0; g < granules_; ++g) {
      const std::uintptr_t entry = table_[g].load(std::memory_order_relaxed);
      if (entry & 1) {
        base::give_memory(reinterpret_cast<void*>(entry & ~std::uintptr_t{1}), granule_bytes / unit_bytes_ * sizeof(Unit), alignof(Unit));
      }
    }
    std::free(static_cast<void*>(table_));
  }

  [[nodiscard]] bool covers(const void* p) const noexcept {
    const auto* b = static_cast<const std::byte*>(p);
    return b >= base_ && b < base_ + bytes_;
  }
  /// Returns the memory whose data contains `p`, or nullptr.
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
  /// Returns the memory at `p` or, where there is none, the first one behind it that begins before `end`; nullptr if there is none.
  /// Cost: a step for each granule in between. @pre the table covers `p`
  [[nodiscard]] Memory* next(const void* p, const void* end) const noexcept;
  /// Enters [address, address + bytes), or removes it as it was entered if `memory` is nullptr. Removing allocates nothing.
  /// @throws std::bad_alloc  the caller must remove the range all the same
  void set(const std::byte* address, std::uint64_t bytes, Memory* memory);

 private:
  /// A granule's entry has one of three forms. It is the address of a table of units, with the lowest bit set; or the address of
  /// the only memory in the granule, which begins with it, and above the address the number of units that this memory fills (0
  /// for all); or 0 if the granule is empty.
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
