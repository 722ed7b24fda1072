// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "in_place.hpp"

#include "blocks.hpp"
#include "own_pages.hpp"
#include "process.hpp"

#include <semcache/base/error.hpp>
#include <semcache/runtime/runtime.hpp>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

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

std::mutex mutex;
std::atomic<bool> has_known{false}, has_adopted{false};
alignas(Records) unsigned char storage[sizeof(Records)];
bool made = false;
pthread_rwlock_t uses = PTHREAD_RWLOCK_INITIALIZER;

/// The records, under the lock. They live as long as the process.
Records& records() noexcept {
  if (!made) {
    new (storage) Records;
    made = true;
  }
  return *std::launder(reinterpret_cast<Records*>(storage));
}
[[gnu::constructor]] void survive_fork() noexcept {
  (void)::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                         [] {
                           mutex.unlock();
                           uses = PTHREAD_RWLOCK_INITIALIZER;
                         });
}

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

/// Takes one adopted range that overlaps [begin, end) off the records.
bool take_adopted(std::uintptr_t begin, std::uintptr_t end, Range& range) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto at = first_behind(records().adopted, begin); at != records().adopted.end() && at->first < end;) {
    const bool current = at->second.epoch == runtime::epoch() && device_count() > 0;
    range = {at->first, at->second.end};
    at = records().adopted.erase(at);
    has_adopted.store(!records().adopted.empty(), std::memory_order_relaxed);
    if (current) return true;
  }
  return false;
}

/// Releases what is adopted in [begin, end).
void release_in(std::uintptr_t begin, std::uintptr_t end, End how) noexcept {
  if (!has_adopted.load(std::memory_order_relaxed)) return;
  for (Range r; take_adopted(begin, end, r);) {
    // Of a range of which a part stays, the content comes home.
    const Last content = how == End::dies && begin <= r.begin && r.end <= end ? Last::dies : Last::comes_home;
    if (!release(reinterpret_cast<std::byte*>(r.begin), r.end - r.begin, content)) {
      base::fatal("memory at %p ends, and SemCache cannot release what a BLAS call has left of it on the device (see above)",
                  reinterpret_cast<void*>(r.begin));
    }
  }
}

bool is_in_main_program(std::uintptr_t begin, std::uintptr_t end) noexcept {
  dl_find_object object;
  return ::_dl_find_object(reinterpret_cast<void*>(begin), &object) == 0 && end <= number(object.dlfo_map_end) &&
         object.dlfo_link_map != nullptr && object.dlfo_link_map->l_name[0] == '\0';
}
/// Is the memory's end noticed, and does no thread that we know of have its stack there?
bool is_guarded(std::uintptr_t begin, std::uintptr_t end) noexcept {
  // As an alternative of the linker for another BLAS, this library is not asked when memory is freed.
  static const bool is_heap = ::dlsym(RTLD_DEFAULT, "free") == reinterpret_cast<void*>(&::free);
  if (!is_heap) return false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
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
  const std::lock_guard<std::mutex> lock(mutex);
  try {
    // Heap blocks lie within mappings of a custom allocator, so the last birth holds.
    forget(records().known, number(address), number(address) + bytes);
    records().known[number(address)] = {number(address) + bytes, false};
    has_known.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // it stays unknown, and is sent at each call
  }
}

void is_stack(void* address, std::size_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  try {
    forget(records().known, number(address), number(address) + bytes);
    records().known[number(address)] = {number(address) + bytes, true};
    has_known.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
  }
}

void ends(void* address, std::size_t bytes, End how) noexcept {
  release_in(number(address), number(address) + bytes, how);
  if (!has_known.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(mutex);
  try {
    forget(records().known, number(address), number(address) + bytes);
  } catch (const std::bad_alloc&) {  // the memory counts as one whose end is noticed: so it is, again
  }
}

bool any() noexcept { return has_known.load(std::memory_order_relaxed) || has_adopted.load(std::memory_order_relaxed); }

bool find(const Operand& operand, Range& range) noexcept {
  if (!has_adopted.load(std::memory_order_relaxed)) return false;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto at = first_behind(records().adopted, operand.begin());
  if (at == records().adopted.end() || at->first > operand.begin() || at->second.end < operand.end()) return false;
  if (at->second.epoch != runtime::epoch()) return false;
  range = {at->first, at->second.end};
  return true;
}

bool adopt(const Operand& operand) {
  if (Range r; find(operand, r)) return true;
  ::pthread_rwlock_wrlock(&uses);
  const base::AtEnd unlocked([] { ::pthread_rwlock_unlock(&uses); });
  Range all{operand.begin(), operand.end()};
  bool merges = false;
  for (Range r; take_adopted(operand.begin(), operand.end(), r); merges = true) {
    if (!release(reinterpret_cast<std::byte*>(r.begin), r.end - r.begin, Last::comes_home)) return false;
    all = {std::min(all.begin, r.begin), std::max(all.end, r.end)};
  }
  if (!merges && !has_enough_pages(all.begin, all.end)) return false;
  if (!is_guarded(all.begin, all.end)) return false;
  runtime::adopt(reinterpret_cast<void*>(all.begin), all.end - all.begin, "BLAS operand in place");
  const std::lock_guard<std::mutex> lock(mutex);
  records().adopted[all.begin] = {all.end, runtime::epoch()};
  has_adopted.store(true, std::memory_order_relaxed);
  return true;
}

Use::Use() noexcept { ::pthread_rwlock_rdlock(&uses); }
Use::~Use() { ::pthread_rwlock_unlock(&uses); }

}  // namespace semcache::blas::in_place
