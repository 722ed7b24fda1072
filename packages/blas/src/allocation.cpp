// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The allocation functions of the C library. A block from SEMCACHE_BLAS_MALLOC bytes up is one of ours; all else goes to the next library's.
#include "blocks.hpp"
#include "in_place.hpp"
#include "interposed.hpp"
#include "kept.hpp"
#include "process.hpp"

#include <semcache/base/error.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

using namespace semcache::blas;

namespace {

/// Memory for what the loader allocates while it looks up the C library's functions.
alignas(16) unsigned char first_bytes[16 * 1024];
std::atomic<std::size_t> first_used{0};
bool looks_up = false;  // the first call of a process comes from its only thread

bool is_first(const void* address) noexcept {
  return address >= static_cast<const void*>(first_bytes) && address < static_cast<const void*>(first_bytes + sizeof first_bytes);
}
void* take_first(std::size_t bytes) noexcept {
  constexpr std::size_t front = 16;  // the size
  const std::size_t rounded = (bytes + 15) / 16 * 16 + front;
  if (bytes > sizeof first_bytes) return nullptr;
  const std::size_t at = first_used.fetch_add(rounded);
  if (at + rounded > sizeof first_bytes) return nullptr;
  std::memcpy(first_bytes + at, &bytes, sizeof bytes);
  return first_bytes + at + front;
}
std::size_t size_of_first(const void* address) noexcept {
  std::size_t bytes = 0;
  std::memcpy(&bytes, static_cast<const unsigned char*>(address) - 16, sizeof bytes);
  return bytes;
}

struct Next {
  void* (*malloc)(std::size_t) = nullptr;
  void* (*calloc)(std::size_t, std::size_t) = nullptr;
  void* (*realloc)(void*, std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  int (*posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
  void* (*aligned_alloc)(std::size_t, std::size_t) = nullptr;
  void* (*memalign)(std::size_t, std::size_t) = nullptr;
  std::size_t (*malloc_usable_size)(void*) = nullptr;
  int (*malloc_trim)(std::size_t) = nullptr;
};
Next found;
std::atomic<bool> is_found{false};

template <class Function>
void look_up(Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(semcache::syscalls::next_symbol(name));
}
/// Returns the next library's functions; nullptr while they are looked up.
const Next* next() noexcept {
  if (__builtin_expect(is_found.load(std::memory_order_acquire), 1)) return &found;
  if (looks_up) return nullptr;
  looks_up = true;
  look_up(found.malloc, "malloc");
  look_up(found.calloc, "calloc");
  look_up(found.realloc, "realloc");
  look_up(found.free, "free");
  look_up(found.posix_memalign, "posix_memalign");
  look_up(found.aligned_alloc, "aligned_alloc");
  look_up(found.memalign, "memalign");
  look_up(found.malloc_usable_size, "malloc_usable_size");
  look_up(found.malloc_trim, "malloc_trim");
  looks_up = false;
  is_found.store(true, std::memory_order_release);
  return &found;
}

bool is_large(std::size_t bytes) noexcept {
  const std::size_t from = settings().large_block;
  return from != 0 && bytes >= from;
}

/// Ends a block that has been taken from the records. Its content dies.
void end(const blocks::Block& block) noexcept {
  const int error = errno;
  if (in_place::any()) (void)in_place::ends(block.address, block.bytes, in_place::End::dies);  // stacks in it, and mappings
  kept::put(block);
  errno = error;
}

/// Returns what `get` gets. Where it gets nothing, it is asked once more when kept blocks have been given back.
template <class Get>
void* with_all_memory(const Get& get) noexcept {
  const int error = errno;
  void* const at = get();
  if (__builtin_expect(at != nullptr, 1) || !kept::give_back()) return at;
  errno = error;
  return get();
}

/// Returns a large block: a kept one, or a new one.
void* large(std::size_t bytes, std::size_t alignment, const void* caller) noexcept {
  void* const kept = is_ours(caller) ? nullptr : kept::get(bytes, alignment);
  return kept != nullptr ? kept : with_all_memory([&] { return blocks::allocate(bytes, alignment, blocks::Content::any); });
}

/// Notes a block that the next library has given, if it is large enough to be guarded in place.
void* noted(void* address, std::size_t bytes) noexcept {
  if (__builtin_expect(bytes >= blocks::page_bytes(), 0)) in_place::born(address, bytes);
  return address;
}
/// To be called before the next library gets a block back, or gives it another size. @return false if its content cannot come home
bool ends(void* address, in_place::End how) noexcept {
  if (!in_place::any()) return true;
  const int error = errno;
  const std::size_t bytes = next()->malloc_usable_size(address);
  const bool done = !in_place::concerns(bytes) || in_place::ends(address, bytes, how);
  errno = done ? error : ENOMEM;
  return done;
}

bool is_block(const void* address, blocks::Block& block) noexcept {
  return blocks::any() && reinterpret_cast<std::uintptr_t>(address) % blocks::page_bytes() == 0 && blocks::find(address, block) &&
         block.address == address;
}

/// Gives a block another size: it stays a block, or becomes memory of the C library. Its content comes home first.
void* resize(blocks::Block block, std::size_t bytes) noexcept {
  if (is_large(bytes) && blocks::serves(block, bytes)) return block.address;
  void* const small = is_large(bytes) ? nullptr : std::malloc(bytes);
  if (small == nullptr && !is_large(bytes)) return nullptr;
  if (!blocks::take(block.address, block)) return nullptr;
  if (!release(block, Last::comes_home)) {
    blocks::note(block);  // the program keeps its block
    std::free(small);
    errno = ENOMEM;
    return nullptr;
  }
  block.adopted_in = 0;
  if (small == nullptr) return blocks::remap(block, bytes);
  std::memcpy(small, block.address, std::min(block.bytes, bytes));
  blocks::unmap(block);
  return small;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t bytes) {
  if (__builtin_expect(is_large(bytes), 0)) return large(bytes, 1, __builtin_return_address(0));
  const Next* const n = next();
  return n != nullptr ? noted(with_all_memory([&] { return n->malloc(bytes); }), bytes) : take_first(bytes);
}

void free(void* address) {
  if (address == nullptr || is_first(address)) return;
  if (blocks::any() && reinterpret_cast<std::uintptr_t>(address) % blocks::page_bytes() == 0) {
    if (blocks::Block block; blocks::take(address, block)) return end(block);
  }
  if (!ends(address, in_place::End::dies)) {
    semcache::base::fatal("memory at %p ends, and SemCache cannot release what a BLAS call has left of it on the device (see above)", address);
  }
  next()->free(address);
}

void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  // A kept block would have to be filled with zeros, which touches all of it.
  if (__builtin_expect(is_large(bytes), 0)) return with_all_memory([&] { return blocks::allocate(bytes, 1, blocks::Content::zero); });
  const Next* const n = next();
  return n != nullptr ? noted(with_all_memory([&] { return n->calloc(count, size); }), bytes) : take_first(bytes);
}

void* realloc(void* address, std::size_t bytes) {
  if (address == nullptr) return malloc(bytes);
  if (blocks::Block block; is_block(address, block)) {
    if (bytes > 0) return with_all_memory([&] { return resize(block, bytes); });
    free(address);
    return nullptr;
  }
  const bool first = is_first(address);
  if (!first && !is_large(bytes)) {
    if (!ends(address, in_place::End::moves)) return nullptr;
    if (bytes == 0) return next()->realloc(address, 0);  // which frees it, and returns nothing
    return noted(with_all_memory([&] { return next()->realloc(address, bytes); }), bytes);
  }
  void* const to = is_large(bytes) ? large(bytes, 1, __builtin_return_address(0)) : malloc(bytes);
  if (to == nullptr) return nullptr;
  if (!first && !ends(address, in_place::End::moves)) {
    free(to);
    return nullptr;
  }
  std::memcpy(to, address, std::min(bytes, first ? size_of_first(address) : next()->malloc_usable_size(address)));
  free(address);
  return to;
}

int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  if (!is_large(bytes) || alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    int error = next()->posix_memalign(result, alignment, bytes);
    if (error == ENOMEM && kept::give_back()) error = next()->posix_memalign(result, alignment, bytes);
    if (error == 0) (void)noted(*result, bytes);
    return error;
  }
  const int error = errno;
  void* const at = large(bytes, alignment, __builtin_return_address(0));
  errno = error;  // posix_memalign leaves it as it is
  if (at == nullptr) return ENOMEM;
  *result = at;
  return 0;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!is_large(bytes) || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return noted(with_all_memory([&] { return next()->aligned_alloc(alignment, bytes); }), bytes);
  }
  return large(bytes, alignment, __builtin_return_address(0));
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  if (!is_large(bytes) || alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return noted(with_all_memory([&] { return next()->memalign(alignment, bytes); }), bytes);
  }
  return large(bytes, alignment, __builtin_return_address(0));
}

std::size_t malloc_usable_size(void* address) {
  if (blocks::Block block; is_block(address, block)) return block.bytes;
  if (is_first(address)) return size_of_first(address);
  return address == nullptr ? 0 : next()->malloc_usable_size(address);
}

int malloc_trim(std::size_t left) {
  const bool given_back = kept::give_back();
  return next()->malloc_trim(left) != 0 || given_back ? 1 : 0;
}

}  // extern "C"
#pragma GCC visibility pop
