// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/types.hpp>
#include <semcache/memory/lookup_table.hpp>
#include <semcache/memory/memory.hpp>

#include <algorithm>

namespace semcache::memory {

static_assert(sizeof(std::uintptr_t) == 8 && alignof(Memory) > 1);

/// Returns the table of units of a granule that contains several memories, or one that does not begin with the granule. Makes the
/// table if there is none.
LookupTable::Unit* LookupTable::units_of(std::uint64_t granule) {
  const std::uintptr_t entry = table_[granule].load(std::memory_order_relaxed);
  if ((entry & 1) != 0) return reinterpret_cast<Unit*>(entry & ~std::uintptr_t{1});
  const std::uint64_t count = granule_bytes / unit_bytes_;
  auto* units = static_cast<Unit*>(base::take_memory(count * sizeof(Unit), alignof(Unit)));
  std::uninitialized_value_construct_n(units, count);
  if (entry != 0) {
    const std::uint64_t filled = entry >> address_bits;
    auto* const memory = reinterpret_cast<Memory*>(entry & address_mask);
    for (std::uint64_t u = 0; u < (filled != 0 ? filled : count); ++u) units[u].store(memory);
  }
  table_[granule].store(reinterpret_cast<std::uintptr_t>(units) | 1, std::memory_order_release);
  return units;
}

Memory* LookupTable::next(const void* p, const void* end) const noexcept {
  const std::uint64_t last = std::min(static_cast<std::uint64_t>(static_cast<const std::byte*>(end) - base_), bytes_);
  std::uint64_t at = static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base_);
  while (at < last) {
    const std::uint64_t granule = at / granule_bytes;
    const bool tabled = (table_[granule].load(std::memory_order_acquire) & 1) != 0;
    if (Memory* const m = find(base_ + at)) return m;
    at = tabled ? round_down(at, unit_bytes_) + unit_bytes_ : (granule + 1) * granule_bytes;
  }
  return nullptr;
}

void LookupTable::set(const std::byte* address, std::uint64_t bytes, Memory* memory) {
  const std::uint64_t begin = static_cast<std::uint64_t>(address - base_);
  const std::uint64_t end = begin + bytes;
  const std::uint64_t units_per_granule = granule_bytes / unit_bytes_;
  for (std::uint64_t at = begin; at < end; at = round_down(at, granule_bytes) + granule_bytes) {
    const std::uint64_t granule = at / granule_bytes;
    const std::uint64_t first = at % granule_bytes / unit_bytes_;
    const std::uint64_t stop = std::min(end - granule * granule_bytes, granule_bytes);  // in the granule
    const std::uint64_t last = (stop + unit_bytes_ - 1) / unit_bytes_;
    const std::uintptr_t entry = table_[granule].load(std::memory_order_relaxed);
    const bool tabled = (entry & 1) != 0;
    if (memory == nullptr && !tabled) {
      if (first == 0) table_[granule].store(0, std::memory_order_release);  // otherwise it was never entered
    } else if (!tabled && entry == 0 && first == 0) {
      const std::uintptr_t filled = last == units_per_granule ? 0 : last;
      table_[granule].store(reinterpret_cast<std::uintptr_t>(memory) | filled << address_bits, std::memory_order_release);
    } else {
      Unit* const units = units_of(granule);
      for (std::uint64_t u = first; u < last; ++u) units[u].store(memory, std::memory_order_release);
    }
  }
}

}  // namespace semcache::memory
