// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "kept.hpp"

#include "own_pages.hpp"
#include "process.hpp"

#include <semcache/platform/platform.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <new>
#include <utility>

namespace semcache::blas::kept {
namespace {

using blocks::Block;

/// Size, and a number that tells which one was freed first.
using Key = std::pair<std::size_t, std::uint64_t>;
template <class From, class To>
using Map = std::map<From, To, std::less<>, OwnNodes<std::pair<const From, To>>>;
struct Records {
  Map<Key, Block> by_size;
  Map<std::uint64_t, std::size_t> sizes_by_age;
  std::uint64_t freed = 0;
  std::size_t bytes = 0;
};

std::atomic<bool> any{false};
std::atomic<std::uint64_t> served{0};
Lasting<Records> lasting;
/// The records, under the lock.
Records& records() noexcept { return lasting.get(); }

Block take(Records& r, Map<Key, Block>::iterator at) noexcept {
  const Block block = at->second;
  r.bytes -= block.bytes;
  r.sizes_by_age.erase(at->first.second);
  r.by_size.erase(at);
  any.store(!r.by_size.empty(), std::memory_order_relaxed);
  return block;
}

/// Takes the block that was freed first, if there are more bytes than this.
bool take_beyond(std::size_t most_bytes, Block& block) noexcept {
  const RecordsLock lock(records_mutex);
  Records& r = records();
  if (r.bytes <= most_bytes) return false;
  const auto [age, bytes] = *r.sizes_by_age.begin();
  block = take(r, r.by_size.find(Key{bytes, age}));
  return true;
}

bool take_like(std::size_t bytes, std::size_t alignment, Block& block) noexcept {
  const RecordsLock lock(records_mutex);
  Records& r = records();
  for (auto at = r.by_size.lower_bound(Key{bytes, 0}); at != r.by_size.end() && blocks::serves(at->second, bytes); ++at) {
    if (reinterpret_cast<std::uintptr_t>(at->second.address) % alignment != 0) continue;
    block = take(r, at);
    return true;
  }
  return false;
}

/// @return false if there is no memory for its record
bool note_kept(const Block& block) noexcept {
  const RecordsLock lock(records_mutex);
  Records& r = records();
  try {
    const auto age = r.sizes_by_age.emplace(++r.freed, block.bytes).first;
    try {
      r.by_size.emplace(Key{block.bytes, r.freed}, block);
    } catch (...) {
      r.sizes_by_age.erase(age);
      throw;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  r.bytes += block.bytes;
  any.store(true, std::memory_order_relaxed);
  return true;
}

/// What cannot be released stays mapped.
void end(const Block& block) noexcept {
  if (release(block, Last::dies)) blocks::unmap(block);
}

/// A driver within the runtime may free what it has got outside. The runtime's locks are taken then, so the content dies later: it serves nobody.
bool dies(const Block& block) noexcept { return platform::inside_runtime() ? is_adopted(block) : let_content_die(block); }

}  // namespace

void put(const Block& block) noexcept {
  const std::size_t most = settings().kept_bytes;
  const bool is_kept = is_adopted(block) && !block.changed && block.bytes <= most && dies(block) && note_kept(block);
  if (!is_kept) return end(block);
  if (platform::inside_runtime()) return;
  for (Block first; take_beyond(most, first);) end(first);
}

void* get(std::size_t bytes, std::size_t alignment) noexcept {
  Block block;
  // The runtime must not have its own memory among what it tracks.
  if (!any.load(std::memory_order_relaxed) || platform::inside_runtime() || !take_like(bytes, alignment, block)) return nullptr;
  // Where the runtime has ended, or in a child, it is memory like any other.
  if (is_adopted(block) && !let_content_die(block)) {
    end(block);
    return nullptr;
  }
  block.written_by_device = false;
  if (bytes > block.asked) block.asked = block.bytes;  // of tiles for each size that it serves there would be ever more
  if (!blocks::note(block)) {
    end(block);
    return nullptr;
  }
  served.fetch_add(1, std::memory_order_relaxed);
  return block.address;
}

bool give_back() noexcept {
  if (!any.load(std::memory_order_relaxed) || platform::inside_runtime()) return false;
  bool was_any = false;
  for (Block block; take_beyond(0, block); was_any = true) end(block);
  return was_any;
}

std::uint64_t take_count() noexcept { return served.exchange(0); }

}  // namespace semcache::blas::kept
