// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The C library's calls that map memory, and end or move it. Those of this library itself, and of the runtime in it, pass: they keep the
// content of what they move.
#include "blocks.hpp"
#include "in_place.hpp"
#include "interposed.hpp"
#include "process.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

using namespace semcache::blas;

namespace {

/// To be called before memory of the program ends or moves. @return false, and errno is ENOMEM, if its content cannot come home
bool before(void* address, std::size_t bytes, in_place::End how) noexcept {
  const int error = errno;
  const bool done = (!in_place::any() || in_place::ends(address, bytes, how)) && release_blocks_in(static_cast<std::byte*>(address), bytes);
  errno = done ? error : ENOMEM;
  return done;
}

void* note_mapping(void* at, std::size_t bytes, int protection, int flags) noexcept {
  constexpr int usable = PROT_READ | PROT_WRITE;
  if (at == MAP_FAILED) return at;
  if ((protection & (usable | PROT_EXEC)) == usable && (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_PRIVATE) != 0 && (flags & MAP_STACK) == 0) {
    in_place::born(at, bytes);
  }
  return at;
}

bool drops_content(int advice) noexcept { return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == MADV_DONTFORK; }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define SEMCACHE_BLAS_MMAP(name, offset_type)                                                                    \
  void* name(void* address, std::size_t bytes, int protection, int flags, int file, offset_type at) noexcept {   \
    if (SEMCACHE_CALLER_IS_OURS) return SEMCACHE_NEXT(name)(address, bytes, protection, flags, file, at);        \
    if ((flags & MAP_FIXED) != 0 && !before(address, bytes, in_place::End::dies)) return MAP_FAILED;               \
    return note_mapping(SEMCACHE_NEXT(name)(address, bytes, protection, flags, file, at), bytes, protection, flags); \
  }
SEMCACHE_BLAS_MMAP(mmap, off_t)
SEMCACHE_BLAS_MMAP(mmap64, off64_t)

int munmap(void* address, std::size_t bytes) noexcept {
  if (!SEMCACHE_CALLER_IS_OURS && !before(address, bytes, in_place::End::dies)) return -1;
  return SEMCACHE_NEXT(munmap)(address, bytes);
}

void* mremap(void* address, std::size_t bytes, std::size_t now, int flags, ...) noexcept {
  std::va_list more;
  va_start(more, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  const bool ours = SEMCACHE_CALLER_IS_OURS;
  if (!ours && !before(address, bytes, in_place::End::moves)) return MAP_FAILED;
  if (!ours && to != nullptr && !before(to, now, in_place::End::dies)) return MAP_FAILED;
  void* const at = to != nullptr ? SEMCACHE_NEXT(mremap)(address, bytes, now, flags, to) : SEMCACHE_NEXT(mremap)(address, bytes, now, flags);
  return at;  // which may be of any kind, so it counts as memory whose birth was not seen
}

int madvise(void* address, std::size_t bytes, int advice) noexcept {
  if (drops_content(advice) && !SEMCACHE_CALLER_IS_OURS && !before(address, bytes, in_place::End::moves)) return -1;
  return SEMCACHE_NEXT(madvise)(address, bytes, advice);
}

int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  if (!SEMCACHE_CALLER_IS_OURS && !before(address, bytes, in_place::End::moves)) return -1;
  return SEMCACHE_NEXT(mprotect)(address, bytes, protection);
}

int brk(void* end) noexcept {
  auto* const now = static_cast<std::byte*>(::sbrk(0));
  if (end < now && !before(end, static_cast<std::size_t>(now - static_cast<std::byte*>(end)), in_place::End::dies)) return -1;
  return SEMCACHE_NEXT(brk)(end);
}
void* sbrk(std::intptr_t more) noexcept {
  if (more < 0) {
    const auto fewer = static_cast<std::size_t>(-more);
    if (!before(static_cast<std::byte*>(SEMCACHE_NEXT(sbrk)(0)) - fewer, fewer, in_place::End::dies)) return reinterpret_cast<void*>(-1);
  }
  return SEMCACHE_NEXT(sbrk)(more);
}

int pthread_attr_setstack(pthread_attr_t* attributes, void* address, std::size_t bytes) noexcept {
  if (!before(address, bytes, in_place::End::moves)) return ENOMEM;
  in_place::is_stack(address, bytes);
  blocks::is_stack(static_cast<std::byte*>(address), bytes);
  return SEMCACHE_NEXT(pthread_attr_setstack)(attributes, address, bytes);
}

}  // extern "C"
#pragma GCC visibility pop
