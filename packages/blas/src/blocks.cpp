// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "blocks.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <new>

namespace semcache::blas::blocks {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

void* map_pages(std::size_t bytes) noexcept {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

/// Hands out the nodes of one map, from pages of their own. The map's lock is held.
template <class T>
struct NodePages {
  using value_type = T;
  union Node {
    Node* next;
    alignas(T) unsigned char bytes[sizeof(T)];
  };
  static inline Node* free_nodes = nullptr;

  NodePages() noexcept = default;
  template <class U>
  NodePages(const NodePages<U>&) noexcept {}
  T* allocate(std::size_t) {
    if (free_nodes == nullptr) {
      constexpr std::size_t bytes = 64 * 1024;
      auto* const nodes = static_cast<Node*>(map_pages(bytes));
      if (nodes == nullptr) throw std::bad_alloc();
      for (std::size_t i = 0; i < bytes / sizeof(Node); ++i) free_nodes = new (&nodes[i]) Node{free_nodes};
    }
    Node* const node = free_nodes;
    free_nodes = node->next;
    return reinterpret_cast<T*>(node);
  }
  void deallocate(T* memory, std::size_t) noexcept {
    free_nodes = new (memory) Node{free_nodes};
  }
  friend bool operator==(const NodePages&, const NodePages&) noexcept { return true; }
  friend bool operator!=(const NodePages&, const NodePages&) noexcept { return false; }
};

using Records = std::map<std::uintptr_t, Block, std::less<>, NodePages<std::pair<const std::uintptr_t, Block>>>;

std::mutex mutex;
std::atomic<std::size_t> count{0};
alignas(Records) unsigned char storage[sizeof(Records)];
bool made = false;

/// The records, under the lock. They live as long as the process, because blocks are freed after its statics have ended.
Records& records() noexcept {
  if (!made) {
    new (storage) Records;
    made = true;
  }
  return *std::launder(reinterpret_cast<Records*>(storage));
}

std::uintptr_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t rounded_up(std::size_t bytes) noexcept { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

/// A thread may be in here while another one forks.
[[gnu::constructor]] void survive_fork() noexcept {
  (void)::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

}  // namespace

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void* allocate(std::size_t bytes, std::size_t alignment, Content content) noexcept {
  const std::size_t page = page_bytes();
  if (bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) {
    errno = ENOMEM;
    return nullptr;
  }
  bytes = rounded_up(bytes);
  // Large blocks that will be filled get huge pages. Of one that is asked for as zeros perhaps only a few pages are ever touched.
  const bool huge = content == Content::any && bytes >= 2 * huge_page;
  alignment = std::max(alignment, huge ? huge_page : page);
  const std::size_t slack = alignment - page;
  auto* const mapped = static_cast<std::byte*>(map_pages(bytes + slack));
  if (mapped == nullptr) return nullptr;
  const std::size_t in_front = (alignment - number(mapped) % alignment) % alignment;
  std::byte* const at = mapped + in_front;
  if (in_front > 0) ::munmap(mapped, in_front);
  if (slack > in_front) ::munmap(at + bytes, slack - in_front);
  if (huge) (void)::madvise(at, bytes, MADV_HUGEPAGE);
  const Block block{at, bytes};
  if (note(block)) return at;
  unmap(block);
  errno = ENOMEM;
  return nullptr;
}

void unmap(const Block& block) noexcept { (void)::munmap(block.address, block.bytes); }

void* remap(Block block, std::size_t bytes) noexcept {
  void* const at = bytes > SIZE_MAX / 4 ? MAP_FAILED : ::mremap(block.address, block.bytes, rounded_up(bytes), MREMAP_MAYMOVE);
  if (at == MAP_FAILED) {
    note(block);
    errno = ENOMEM;
    return nullptr;
  }
  note({static_cast<std::byte*>(at), rounded_up(bytes)});
  return at;
}

bool any() noexcept { return count.load(std::memory_order_relaxed) != 0; }

bool find(const void* address, Block& block) noexcept {
  if (!any()) return false;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto behind = records().upper_bound(number(address));
  if (behind == records().begin()) return false;
  const Block& found = std::prev(behind)->second;
  if (number(address) >= number(found.address) + found.bytes) return false;
  block = found;
  return true;
}

bool take(const void* address, Block& block) noexcept {
  if (!any()) return false;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = records().find(number(address));
  if (found == records().end()) return false;
  block = found->second;
  records().erase(found);
  count.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool note(const Block& block) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  try {
    const bool added = records().insert_or_assign(number(block.address), block).second;
    if (added) count.fetch_add(1, std::memory_order_relaxed);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace semcache::blas::blocks
