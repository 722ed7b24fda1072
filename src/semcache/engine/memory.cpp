// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/memory.hpp>

#include <cstdlib>
#include <new>

namespace semcache::engine {

void LookupTable::set(const std::byte* address, std::uint64_t bytes, Memory* memory) {
  const std::uint64_t begin = static_cast<std::uint64_t>(address - base_);
  const std::uint64_t end = begin + bytes;
  const std::uint64_t units_per_granule = granule_bytes / unit_bytes_;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t granule = at / granule_bytes;
    const std::uint64_t granule_end = (granule + 1) * granule_bytes;
    const std::uint64_t stop = std::min(end, granule_end);
    std::uintptr_t entry = table_[granule].load(std::memory_order_relaxed);
    if (memory == nullptr && entry == 0) {  // never entered: removing fails nowhere
      at = stop;
      continue;
    }
    if ((entry & 1) == 0 && at % granule_bytes == 0 && stop == granule_end) {
      table_[granule].store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_release);
    } else {
      if ((entry & 1) == 0) {
        auto* units = static_cast<std::atomic<Memory*>*>(std::calloc(units_per_granule, sizeof(std::atomic<Memory*>)));
        if (units == nullptr) throw std::bad_alloc();
        if (entry != 0) {  // part of a granule that one memory fills
          for (std::uint64_t u = 0; u < units_per_granule; ++u) units[u].store(reinterpret_cast<Memory*>(entry));
        }
        entry = reinterpret_cast<std::uintptr_t>(units) | 1;
        table_[granule].store(entry, std::memory_order_release);
      }
      auto* units = reinterpret_cast<std::atomic<Memory*>*>(entry & ~std::uintptr_t{1});
      const std::uint64_t first = at % granule_bytes / unit_bytes_;
      const std::uint64_t last = (stop - granule * granule_bytes + unit_bytes_ - 1) / unit_bytes_;
      for (std::uint64_t u = first; u < last; ++u) units[u].store(memory, std::memory_order_release);
    }
    at = stop;
  }
}

}  // namespace semcache::engine
