// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/addresses.hpp>
#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>

namespace semcache::base {

#ifdef __SANITIZE_ADDRESS__  // it watches what malloc gives
void* take_memory(std::size_t bytes, std::size_t alignment) { return ::operator new(bytes, std::align_val_t{alignment}); }
void give_memory(void* memory, std::size_t /*bytes*/, std::size_t alignment) noexcept { ::operator delete(memory, std::align_val_t{alignment}); }
std::size_t memory_taken() noexcept { return 0; }
std::size_t memory_held() noexcept { return 0; }
#else

namespace {

/// Pages of the system's. @throws std::bad_alloc
std::byte* pages_of(std::size_t bytes) {
  void* const pages = ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(pages);
}

/// Parts of large mappings, which take up memory when they are used. Few and large mappings hardly ever come to addresses that the program
/// has just unmapped, and that SemCache still believes to be adopted memory.
class Pages final : public std::pmr::memory_resource {
 private:
  static constexpr std::size_t mapping_bytes = std::size_t{16} << 20;
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t unit = std::max(alignment, page_bytes_);
    if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
    const std::size_t size = round_up(bytes, page_bytes_);
    if (size >= mapping_bytes / 4 && alignment <= page_bytes_) return pages_of(size);
    std::uintptr_t begin = round_up(next_, unit);
    if (begin + size > end_ || end_ == 0) {
      const std::size_t more = std::max(mapping_bytes, size + unit);
      const std::uintptr_t mapping = number(pages_of(more));
      if (next_ < end_) ::munmap(pointer(next_), end_ - next_);  // what is left of the last one
      end_ = mapping + more;
      begin = round_up(mapping, unit);
    }
    next_ = begin + size;
    return pointer(begin);
  }
  void do_deallocate(void* pages, std::size_t bytes, std::size_t /*alignment*/) override { ::munmap(pages, round_up(bytes, page_bytes_)); }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  const std::size_t page_bytes_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::uintptr_t next_ = 0, end_ = 0;  ///< what is left of the last mapping
};

/// Blocks up to a small size, which lie side by side: a pool would place blocks of 832 bytes 1024 bytes apart, and then the same fields of many
/// arrays share few sets of the processor's caches. A block that is given back is kept for the next one of its size (and for no other),
/// because a fault takes and gives a dozen, and a pool looks for the place of each.
class SmallBlocks {
 public:
  explicit SmallBlocks(std::pmr::memory_resource& pool) noexcept : pool_(pool) {}

  [[nodiscard]] static bool fits(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes - 1 < most_bytes && (alignment <= unit || (alignment <= line && bytes % line == 0));
  }
  [[nodiscard]] void* take(std::size_t bytes) {
    Kept*& first = kept_[(bytes - 1) / unit];
    return first != nullptr ? std::exchange(first, first->next) : cut(round_up(bytes, unit));
  }
  void give(void* block, std::size_t bytes) noexcept {
    Kept*& first = kept_[(bytes - 1) / unit];
    first = new (block) Kept{first};
  }

 private:
  /// Cuts a new block off; it begins with a cache line if it fills whole ones.
  void* cut(std::size_t bytes) {
    const std::size_t alignment = bytes % line == 0 ? line : unit;
    if (round_up(next_, alignment) + bytes > end_) {
      next_ = number(pool_.allocate(slab_bytes, line));  // what is left of the last one is less than a block
      end_ = next_ + slab_bytes;
    }
    const std::uintptr_t begin = round_up(next_, alignment);
    next_ = begin + bytes;
    return pointer(begin);
  }

  static constexpr std::size_t unit = alignof(std::max_align_t), line = 64, most_bytes = 1024;
  static constexpr std::size_t slab_bytes = std::size_t{64} << 10;
  struct Kept {
    Kept* next;
  };
  std::pmr::memory_resource& pool_;
  std::uintptr_t next_ = 0, end_ = 0;  ///< what is left of the last slab
  Kept* kept_[most_bytes / unit] = {};
};

/// Lives as long as the process, because static objects give memory back while it ends.
struct Pools {
  std::mutex mutex;  ///< guards all but the flag and the readers of the counts
  Pages pages;
  std::pmr::unsynchronized_pool_resource pool{{0, std::size_t{1} << 20}, &pages};  // larger blocks are pages of their own, and are given back
  SmallBlocks small{pool};
  /// In a forked child another thread's lock may never be given up, and what it guards be half changed.
  std::atomic<bool> forked{false};
  std::atomic<std::size_t> taken{0};  ///< bytes in all
  std::atomic<std::size_t> given{0};  ///< those of them that have been given back
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
  if (p.forked.load(std::memory_order_relaxed)) return pages_of(bytes);
  const std::lock_guard<std::mutex> lock(p.mutex);
  void* const memory = SmallBlocks::fits(bytes, alignment) ? p.small.take(bytes) : p.pool.allocate(bytes, alignment);
  p.taken.store(p.taken.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  return memory;
}

void give_memory(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  Pools& p = pools();
  if (p.forked.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(p.mutex);
  if (SmallBlocks::fits(bytes, alignment)) p.small.give(memory, bytes);
  else p.pool.deallocate(memory, bytes, alignment);
  p.given.store(p.given.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

std::size_t memory_taken() noexcept { return pools().taken.load(); }
std::size_t memory_held() noexcept {
  const std::size_t given = pools().given.load(std::memory_order_acquire);  // first, or it might be more
  return pools().taken.load() - given;
}
#endif

}  // namespace semcache::base
