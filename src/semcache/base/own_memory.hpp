// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

/// Memory that does not come from the program's malloc. A page fault may interrupt the program anywhere, also within a malloc of its own
/// that keeps its records in watched memory. So whatever serves a fault takes memory here.
namespace semcache::base {

/// Returns memory from pools of the library's own, which grow by pages of the system's. Threads: any. @throws std::bad_alloc
[[nodiscard]] void* take_memory(std::size_t bytes, std::size_t alignment);
/// Gives memory back, with the arguments of `take_memory`.
void give_memory(void* memory, std::size_t bytes, std::size_t alignment) noexcept;
/// Returns how many bytes have been taken so far, whether or not they have been given back; 0 where they are malloc's (with AddressSanitizer).
[[nodiscard]] std::size_t memory_taken() noexcept;
/// Returns how many bytes have been taken, and not given back; 0 where they are malloc's. Threads: any.
[[nodiscard]] SEMCACHE_API std::size_t memory_held() noexcept;

/// The allocator of containers that are used while a fault is served.
template <class T>
struct OwnAllocator {
  using value_type = T;
  OwnAllocator() = default;
  template <class Other>
  OwnAllocator(const OwnAllocator<Other>& /*other*/) noexcept {}  // NOLINT: converts
  // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(take_memory(n * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t n) noexcept { give_memory(memory, n * sizeof(T), alignof(T)); }
  // NOLINTEND(bugprone-sizeof-expression)
  friend bool operator==(OwnAllocator, OwnAllocator) noexcept { return true; }
  friend bool operator!=(OwnAllocator, OwnAllocator) noexcept { return false; }
};

template <class T>
using Vector = std::vector<T, OwnAllocator<T>>;
template <class T>
using Deque = std::deque<T, OwnAllocator<T>>;
template <class T>
using List = std::list<T, OwnAllocator<T>>;
template <class T>
using Set = std::set<T, std::less<T>, OwnAllocator<T>>;
template <class T>
using MultiSet = std::multiset<T, std::less<T>, OwnAllocator<T>>;
template <class Key, class T>
using MultiMap = std::multimap<Key, T, std::less<Key>, OwnAllocator<std::pair<const Key, T>>>;
template <class Key, class T>
using Map = std::map<Key, T, std::less<Key>, OwnAllocator<std::pair<const Key, T>>>;
template <class Key, class T, class Hash = std::hash<Key>>
using HashMap = std::unordered_map<Key, T, Hash, std::equal_to<Key>, OwnAllocator<std::pair<const Key, T>>>;

struct OwnDelete {
  template <class T>
  void operator()(T* object) const noexcept {
    object->~T();
    give_memory(object, sizeof(T), alignof(T));
  }
};
/// The owner of one object, which is of type `T` and of no class derived from it.
template <class T>
using Owned = std::unique_ptr<T, OwnDelete>;
template <class T, class... Arguments>
[[nodiscard]] Owned<T> make_owned(Arguments&&... arguments) {
  void* const memory = take_memory(sizeof(T), alignof(T));
  try {
    return Owned<T>(new (memory) T(std::forward<Arguments>(arguments)...));
  } catch (...) {
    give_memory(memory, sizeof(T), alignof(T));
    throw;
  }
}

}  // namespace semcache::base
