// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/watched_pages.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace semcache::platform::detail {
namespace {

/// Returns zeroed memory, whose pages appear when they are used. @throws std::bad_alloc
template <class T>
T* zeroed(std::uint64_t count) {
  void* const memory = std::calloc(count, sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

/// Returns the pointer, which is set to new memory first if it is null. Of two threads that do so at once, one gives its memory back.
template <class T>
T* made(std::atomic<T*>& pointer, std::uint64_t count) {
  if (T* const there = pointer.load(std::memory_order_acquire)) return there;
  T* const fresh = zeroed<T>(count);
  T* there = nullptr;
  if (pointer.compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) return fresh;
  std::free(static_cast<void*>(fresh));
  return there;
}

}  // namespace

void WatchedPages::set(std::uintptr_t begin, std::uint64_t bytes, State state) {
  std::atomic<Leaf*>* const top = made(top_, base::end_of_addresses / leaf_bytes);
  constexpr std::uint64_t word_bytes = unit_bytes * units_per_word;
  constexpr std::uint64_t ones = 0x5555555555555555;
  for (std::uint64_t i = begin / leaf_bytes; i * leaf_bytes < begin + bytes; ++i) (void)made(top[i], 1);  // first, because it may fail
  for (std::uintptr_t at = begin; at < begin + bytes;) {
    Leaf* const leaf = top[at / leaf_bytes].load(std::memory_order_acquire);
    const std::uintptr_t stop = std::min<std::uintptr_t>(begin + bytes, round_down(at, word_bytes) + word_bytes);
    const std::uint64_t first = at % word_bytes / unit_bytes, count = (stop - at) / unit_bytes;
    const std::uint64_t mask = (count == units_per_word ? ~std::uint64_t{0} : (std::uint64_t{1} << 2 * count) - 1) << 2 * first;
    std::atomic<std::uint64_t>& word = leaf->words[at % leaf_bytes / word_bytes];
    std::uint64_t now = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(now, (now & ~mask) | (ones * static_cast<std::uint64_t>(state) & mask), std::memory_order_acq_rel)) {
    }
    at = stop;
  }
}

}  // namespace semcache::platform::detail
