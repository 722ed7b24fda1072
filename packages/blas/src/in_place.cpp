// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "in_place.hpp"

#include "blocks.hpp"
#include "interposed.hpp"
#include "own_pages.hpp"
#include "process.hpp"

#include <semcache/base/error.hpp>
#include <semcache/runtime/runtime.hpp>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>

namespace semcache::blas::in_place {
namespace {

/// Intervals that do not overlap, by their beginnings.
template <class Kind>
using Intervals = std::map<std::uintptr_t, Kind, std::less<>, OwnNodes<std::pair<const std::uintptr_t, Kind>>>;

struct Known {
  std::uintptr_t end;
  bool stack;
};
struct Adopted {
  std::uintptr_t end;
  std::uint64_t epoch;
};
struct Records {
  Intervals<Known> known;
  Intervals<Adopted> adopted;
};

std::atomic<bool> has_known{false}, has_adopted{false};
Lasting<Records> lasting;
/// The records, under the lock.
Records& records() noexcept { return lasting.get(); }

std::uintptr_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

/// Returns the first interval that ends behind `begin`.
template <class Map>
auto first_behind(Map& map, std::uintptr_t begin) noexcept {
  auto at = map.upper_bound(begin);
  if (at != map.begin() && std::prev(at)->second.end > begin) --at;
  return at;
}

/// Cuts [begin, end) out of the known intervals.
void forget(Intervals<Known>& known, std::uintptr_t begin, std::uintptr_t end) {
  for (auto at = first_behind(known, begin); at != known.end() && at->first < end;) {
    const auto [first, k] = *at;
    at = known.erase(at);
    if (first < begin) known.emplace(first, Known{begin, k.stack});
    if (k.end > end) known.emplace(end, Known{k.end, k.stack});
  }
}

/// Finds an adopted range that overlaps [begin, end).
bool find_adopted(std::uintptr_t begin, std::uintptr_t end, Range& range) noexcept {
  if (!has_adopted.load(std::memory_order_relaxed)) return false;
  const RecordsLock lock(records_mutex);
  const auto at = first_behind(records().adopted, begin);
  if (at == records().adopted.end() || at->first >= end) return false;
  range = {at->first, at->second.end};
  return true;
}
/// Strikes the adopted range that begins there off the records.
void strike(std::uintptr_t begin) noexcept {
  const RecordsLock lock(records_mutex);
  records().adopted.erase(begin);
  has_adopted.store(!records().adopted.empty(), std::memory_order_relaxed);
}
/// @return false if it stays adopted
bool release(const Range& range, Last content) noexcept {
  const bool done = blas::release(reinterpret_cast<std::byte*>(range.begin), range.end - range.begin, content);
  if (done) strike(range.begin);
  return done;
}

/// Releases what is adopted in [begin, end). @return false if a part of it stays adopted
bool release_in(std::uintptr_t begin, std::uintptr_t end, End how) noexcept {
  std::optional<Alone> alone;
  for (Range r; find_adopted(begin, end, r);) {
    const bool dies = how == End::dies && begin <= r.begin && r.end <= end;
    // Calls may use a range of which a part stays, or whose content is wanted. It comes home when they have ended.
    if (!dies && !alone) alone.emplace();
    else if (!release(r, dies ? Last::dies : Last::comes_home)) return false;
  }
  return true;
}

bool is_in_main_program(std::uintptr_t begin, std::uintptr_t end) noexcept {
  dl_find_object object;
  return ::_dl_find_object(reinterpret_cast<void*>(begin), &object) == 0 && end <= number(object.dlfo_map_end) &&
         object.dlfo_link_map != nullptr && object.dlfo_link_map->l_name[0] == '\0';
}
/// As an alternative of the linker for another BLAS, this library is not asked when memory is freed. It is found out while this library is loaded:
/// later the loader's lock may be held by a thread that waits for this one.
const bool is_heap = semcache_blas_next != nullptr || ::dlsym(RTLD_DEFAULT, "free") == reinterpret_cast<void*>(&::free);

/// Is the memory's end noticed, and does no thread that we know of have its stack there?
bool is_guarded(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (!is_heap) return false;
  {
    const RecordsLock lock(records_mutex);
    const auto at = first_behind(records().known, begin);
    if (at != records().known.end() && at->first <= begin) {
      const std::uintptr_t here = number(__builtin_frame_address(0));
      return end <= at->second.end && !at->second.stack && (here < at->first || here >= at->second.end);
    }
  }
  return is_in_main_program(begin, end);
}

bool has_enough_pages(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const std::size_t page = blocks::page_bytes();
  const std::uintptr_t first = (begin + page - 1) / page, last = end / page;
  return last > first && last - first >= std::max<std::size_t>(1, settings().guard_pages);
}

}  // namespace

void born(void* address, std::size_t bytes) noexcept {
  const std::size_t least = settings().guard_pages * blocks::page_bytes();
  if (address == nullptr || bytes < least) return;
  // What is adopted here has ended without our notice. Its content died with it.
  (void)release_in(number(address), number(address) + bytes, End::dies);
  const RecordsLock lock(records_mutex);
  try {
    // Heap blocks lie within mappings of a custom allocator, so the last birth holds.
    forget(records().known, number(address), number(address) + bytes);
    records().known[number(address)] = {number(address) + bytes, false};
    has_known.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // it stays unknown, and is sent at each call
  }
}

void is_stack(void* address, std::size_t bytes) noexcept {
  const RecordsLock lock(records_mutex);
  try {
    forget(records().known, number(address), number(address) + bytes);
    records().known[number(address)] = {number(address) + bytes, true};
    has_known.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
  }
}

bool ends(void* address, std::size_t bytes, End how) noexcept {
  if (!release_in(number(address), number(address) + bytes, how)) return false;
  if (how == End::stays || !has_known.load(std::memory_order_relaxed)) return true;
  const RecordsLock lock(records_mutex);
  try {
    forget(records().known, number(address), number(address) + bytes);
  } catch (const std::bad_alloc&) {  // a part that stays counts as memory whose birth was not seen
  }
  return true;
}

bool is_adopted(const void* address, std::size_t bytes) noexcept {
  Range r;
  return find_adopted(number(address), number(address) + bytes, r);
}

bool concerns(std::size_t bytes) noexcept {
  return has_adopted.load(std::memory_order_relaxed) || bytes >= settings().guard_pages * blocks::page_bytes();
}

bool any() noexcept { return has_known.load(std::memory_order_relaxed) || has_adopted.load(std::memory_order_relaxed); }

bool find(const Operand& operand, Range& range) noexcept {
  if (!has_adopted.load(std::memory_order_relaxed)) return false;
  const RecordsLock lock(records_mutex);
  const auto at = first_behind(records().adopted, operand.begin());
  if (at == records().adopted.end() || at->first > operand.begin() || at->second.end < operand.end()) return false;
  if (at->second.epoch != runtime::epoch()) return false;
  range = {at->first, at->second.end};
  return true;
}

bool adopt(const Operand& operand) {
  if (Range r; find(operand, r)) return true;
  const Adoption adoption;
  Range all{operand.begin(), operand.end()};
  std::optional<Alone> merges;
  for (Range r; find_adopted(operand.begin(), operand.end(), r);) {
    if (r.begin <= operand.begin() && operand.end() <= r.end) return true;  // by another thread, meanwhile
    if (!merges) {
      merges.emplace();
      continue;
    }
    if (!release(r, Last::comes_home)) return false;
    all = {std::min(all.begin, r.begin), std::max(all.end, r.end)};
  }
  if (!merges && !has_enough_pages(all.begin, all.end)) return false;
  if (!is_guarded(all.begin, all.end)) return false;
  {
    const RecordsLock lock(records_mutex);  // first, because there may be no memory for it
    records().adopted[all.begin] = {all.end, runtime::epoch()};
    has_adopted.store(true, std::memory_order_relaxed);
  }
  try {
    runtime::adopt(reinterpret_cast<void*>(all.begin), all.end - all.begin, "BLAS operand in place");
    return true;
  } catch (const UsageError&) {  // it is not what it was at its birth: the program has page-locked it, say
    strike(all.begin);
    return false;
  } catch (...) {
    strike(all.begin);
    throw;
  }
}

}  // namespace semcache::blas::in_place
