// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "blocks.hpp"

#include "own_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <new>

namespace semcache::blas::blocks {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

using Records = std::map<std::uintptr_t, Block, std::less<>, OwnNodes<std::pair<const std::uintptr_t, Block>>>;

std::atomic<std::size_t> count{0};
std::atomic<std::uint64_t> changes_of_all{0};  // written under the lock
Lasting<Records> lasting;
/// The records, under the lock.
Records& records() noexcept { return lasting.get(); }

std::uintptr_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t rounded_up(std::size_t bytes) noexcept { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

/// Calls `visit(block)` for the blocks that overlap these bytes, until it returns true. Returns whether it has.
template <class Visit>
bool for_each_in(const std::byte* first, std::size_t bytes, const Visit& visit) noexcept {
  auto at = records().upper_bound(number(first));
  if (at != records().begin()) --at;
  for (; at != records().end() && at->first < number(first) + bytes; ++at) {
    if (at->first + at->second.bytes > number(first) && visit(at->second)) return true;
  }
  return false;
}

}  // namespace

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool serves(const Block& block, std::size_t bytes) noexcept {
  return bytes <= block.bytes && block.bytes - rounded_up(bytes) <= block.bytes / 8;
}

void* allocate(std::size_t bytes, std::size_t alignment, Content content) noexcept {
  const std::size_t page = page_bytes();
  if (bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t asked = bytes;
  bytes = rounded_up(bytes);
  // Large blocks that will be filled get huge pages. Of one that is asked for as zeros perhaps only a few pages are ever touched.
  const bool huge = content == Content::any && bytes >= 2 * huge_page;
  alignment = std::max(alignment, huge ? huge_page : page);
  const std::size_t slack = alignment - page;
  auto* const mapped = static_cast<std::byte*>(own::map(bytes + slack));
  if (mapped == nullptr) return nullptr;
  const std::size_t in_front = (alignment - number(mapped) % alignment) % alignment;
  std::byte* const at = mapped + in_front;
  if (in_front > 0) own::unmap(mapped, in_front);
  if (slack > in_front) own::unmap(at + bytes, slack - in_front);
  if (huge) own::advise(at, bytes, MADV_HUGEPAGE);
  const Block block{at, bytes, asked};
  if (note(block)) return at;
  unmap(block);
  errno = ENOMEM;
  return nullptr;
}

void unmap(const Block& block) noexcept { own::unmap(block.address, block.bytes); }

void* remap(Block block, std::size_t bytes) noexcept {
  void* const at = bytes > SIZE_MAX / 4 ? nullptr : own::remap(block.address, block.bytes, rounded_up(bytes));
  if (at == nullptr) {
    note(block);
    errno = ENOMEM;
    return nullptr;
  }
  block.address = static_cast<std::byte*>(at);
  block.bytes = rounded_up(bytes);
  block.asked = bytes;
  block.written_by_device = false;
  note(block);
  return at;
}

bool any() noexcept { return count.load(std::memory_order_relaxed) != 0; }

std::uint64_t changes() noexcept { return changes_of_all.load(); }

bool find(const void* address, Block& block) noexcept {
  std::optional<Block> found;
  find(&address, 1, &found);
  if (found) block = *found;
  return found.has_value();
}

void find(const void* const* addresses, std::size_t count, std::optional<Block>* found) noexcept {
  if (!any()) return;
  const RecordsLock lock(records_mutex);
  for (std::size_t i = 0; i < count; ++i) {
    if (addresses[i] == nullptr) continue;
    const auto behind = records().upper_bound(number(addresses[i]));
    if (behind == records().begin()) continue;
    const Block& before = std::prev(behind)->second;
    if (number(addresses[i]) < number(before.address) + before.bytes) found[i] = before;
  }
}

bool take(const void* address, Block& block) noexcept {
  if (!any()) return false;
  const RecordsLock lock(records_mutex);
  const auto found = records().find(number(address));
  if (found == records().end()) return false;
  block = found->second;
  ++changes_of_all;
  records().erase(found);
  count.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool find_adopted_in(const std::byte* first, std::size_t bytes, Block& block) noexcept {
  if (!any()) return false;
  const RecordsLock lock(records_mutex);
  return for_each_in(first, bytes, [&](const Block& b) {
    if (b.adopted_in != 0) block = b;
    return b.adopted_in != 0;
  });
}

bool was_adopted(const void* address, std::uint64_t epoch, bool noticed) noexcept {
  const RecordsLock lock(records_mutex);
  const auto found = records().find(number(address));
  if (found == records().end() || found->second.stack) return false;
  ++changes_of_all;
  found->second.adopted_in = epoch;
  found->second.noticed = noticed;
  return true;
}

bool are_adopted(const std::byte* const* addresses, std::size_t count, std::uint64_t epoch) noexcept {
  const RecordsLock lock(records_mutex);
  return std::all_of(addresses, addresses + count, [&](const std::byte* address) {
    const auto found = records().find(number(address));
    return found != records().end() && found->second.adopted_in == epoch && found->second.noticed && !found->second.stack;
  });
}

void was_released(const void* address) noexcept {
  const RecordsLock lock(records_mutex);
  ++changes_of_all;
  if (const auto found = records().find(number(address)); found != records().end()) found->second.adopted_in = 0;
}

void was_written(const void* address) noexcept {
  const RecordsLock lock(records_mutex);
  if (const auto found = records().find(number(address)); found != records().end()) found->second.written_by_device = true;
}

void is_used_beyond(const void* address) noexcept {
  const RecordsLock lock(records_mutex);
  if (const auto found = records().find(number(address)); found != records().end()) found->second.asked = found->second.bytes;
}

void is_stack(const std::byte* first, std::size_t bytes) noexcept {
  if (!any()) return;
  const RecordsLock lock(records_mutex);
  ++changes_of_all;
  for_each_in(first, bytes, [](Block& b) {
    b.stack = true;
    return false;
  });
}

void are_changed(const std::byte* first, std::size_t bytes) noexcept {
  if (!any()) return;
  const RecordsLock lock(records_mutex);
  for_each_in(first, bytes, [](Block& b) {
    b.changed = true;
    return false;
  });
}

bool note(const Block& block) noexcept {
  const RecordsLock lock(records_mutex);
  ++changes_of_all;
  try {
    const bool added = records().insert_or_assign(number(block.address), block).second;
    if (added) count.fetch_add(1, std::memory_order_relaxed);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace semcache::blas::blocks
