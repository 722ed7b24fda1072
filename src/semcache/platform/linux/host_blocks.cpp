// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/linux_platform.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

// Of sanitizers, whose heap is not the C library's.
extern "C" {
[[gnu::weak]] int __sanitizer_get_ownership(const volatile void*);
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void*);
}

namespace semcache::platform {
namespace {

std::uintptr_t number(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// Is `malloc` that of the GNU C library, whose blocks say how large they are?
bool malloc_is_gnu() noexcept {
  static const bool is = [] {
    Dl_info allocator{}, library{};
    void* const malloc_here = ::dlsym(RTLD_DEFAULT, "malloc");
    void* const gnu = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    return malloc_here != nullptr && gnu != nullptr && ::dladdr(malloc_here, &allocator) != 0 &&
           ::dladdr(gnu, &library) != 0 && allocator.dli_fbase == library.dli_fbase;
  }();
  return is;
}

/// The word in front of a block: its size with the word itself and up to the next one's, and three flags.
struct SizeWord {
  explicit SizeWord(std::uintptr_t word) noexcept : bytes(word & ~std::uintptr_t{7}), word(word) {}
  [[nodiscard]] bool plausible() const noexcept {
    return bytes >= 16 && bytes % 16 == 0 && bytes < (std::uintptr_t{1} << 40);
  }
  [[nodiscard]] bool says_that_previous_is_used() const noexcept { return (word & 1) != 0; }
  [[nodiscard]] bool has_own_mapping() const noexcept { return (word & 2) != 0; }
  std::uintptr_t bytes;
  std::uintptr_t word;
};

bool on_this_stack(std::uintptr_t address) noexcept {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* begin = nullptr;
  std::size_t bytes = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
  ::pthread_attr_destroy(&attributes);
  return known && address - number(begin) < bytes;
}

}  // namespace

bool LinuxPlatform::read(const void* from, void* to, std::uint64_t bytes) const noexcept {
  const int saved = errno;
  iovec target{to, bytes};
  iovec source{const_cast<void*>(from), bytes};
  const ssize_t moved = ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0);
  errno = saved;
  return moved >= 0 && static_cast<std::uint64_t>(moved) == bytes;
}

std::uint64_t LinuxPlatform::heap_block(const void* pointer) const noexcept {
  if (&__sanitizer_get_ownership != nullptr && &__sanitizer_get_allocated_size != nullptr) {
    return __sanitizer_get_ownership(pointer) != 0 ? __sanitizer_get_allocated_size(pointer) : 0;
  }
  if (number(pointer) % 16 != 0 || !malloc_is_gnu()) return 0;
  const auto* at = static_cast<const std::byte*>(pointer);
  std::uintptr_t word = 0;
  if (!read(at - sizeof word, &word, sizeof word)) return 0;
  const SizeWord own(word);
  if (!own.plausible() || own.bytes < 32) return 0;
  if (own.has_own_mapping()) {
    std::uintptr_t before = 0;
    if (!read(at - 2 * sizeof before, &before, sizeof before)) return 0;
    const bool whole_pages = (number(at) - 16 - before) % page_bytes_ == 0 && (own.bytes + before) % page_bytes_ == 0;
    return whole_pages ? own.bytes - 16 : 0;
  }
  // No accident makes the next block agree.
  if (!read(at + own.bytes - sizeof word, &word, sizeof word)) return 0;
  const SizeWord next(word);
  return next.plausible() && next.says_that_previous_is_used() ? own.bytes - sizeof word : 0;
}

std::string LinuxPlatform::describe(const void* pointer) const {
  if (on_this_stack(number(pointer))) return "the stack";
  Dl_info object{};
  if (::dladdr(pointer, &object) != 0 && object.dli_fname != nullptr) {
    const std::string variable = object.dli_sname != nullptr ? "'" + std::string(object.dli_sname) + "'" : "a variable";
    return variable + " of " + object.dli_fname;
  }
  return heap_block(pointer) != 0 ? "the heap" : "memory of unknown extent";
}

}  // namespace semcache::platform
