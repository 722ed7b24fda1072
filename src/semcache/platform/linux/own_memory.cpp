// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory_resource>
#include <mutex>
#include <new>

namespace semcache::base {

#ifdef __SANITIZE_ADDRESS__  // it watches what malloc gives
void* take_memory(std::size_t bytes, std::size_t alignment) { return ::operator new(bytes, std::align_val_t{alignment}); }
void give_memory(void* memory, std::size_t /*bytes*/, std::size_t alignment) noexcept { ::operator delete(memory, std::align_val_t{alignment}); }
#else

namespace {

/// Pages of the system's.
class Pages final : public std::pmr::memory_resource {
 private:
  [[nodiscard]] std::size_t rounded(std::size_t bytes) const noexcept { return round_up(bytes, page_bytes_); }
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t more = alignment > page_bytes_ ? alignment : 0;  // pages beside those that begin at a multiple of the alignment
    if (rounded(bytes) + more < bytes) throw std::bad_alloc();
    void* const pages = ::mmap(nullptr, rounded(bytes) + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    if (more == 0) return pages;
    auto* const first = static_cast<std::byte*>(pages);
    std::byte* const aligned = first + (round_up(number(first), alignment) - number(first));
    if (aligned > first) ::munmap(first, static_cast<std::size_t>(aligned - first));
    ::munmap(aligned + rounded(bytes), static_cast<std::size_t>(first + more - aligned));
    return aligned;
  }
  void do_deallocate(void* pages, std::size_t bytes, std::size_t /*alignment*/) override { ::munmap(pages, rounded(bytes)); }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  const std::size_t page_bytes_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
};

/// Lives as long as the process, because static objects give memory back while it ends.
struct Pools {
  std::mutex mutex;  ///< guards `pool`
  Pages pages;
  std::pmr::unsynchronized_pool_resource pool{{0, std::size_t{1} << 16}, &pages};  // larger blocks are pages of their own
  /// In a forked child another thread's lock may never be given up, and what it guards be half changed.
  std::atomic<bool> forked{false};
};

Pools& pools() {
  alignas(Pools) static std::byte place[sizeof(Pools)];
  static Pools* const only = [] {
    auto* const made = new (place) Pools;
    (void)::pthread_atfork(nullptr, nullptr, [] { pools().forked.store(true); });
    return made;
  }();
  return *only;
}

}  // namespace

void* take_memory(std::size_t bytes, std::size_t alignment) {
  Pools& p = pools();
  if (p.forked.load(std::memory_order_relaxed)) return p.pages.allocate(bytes, alignment);
  const std::lock_guard<std::mutex> lock(p.mutex);
  return p.pool.allocate(bytes, alignment);
}

void give_memory(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  Pools& p = pools();
  if (p.forked.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(p.mutex);
  p.pool.deallocate(memory, bytes, alignment);
}
#endif

}  // namespace semcache::base
