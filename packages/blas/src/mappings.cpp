// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The C library's calls that map memory, and end or move it. Those of this library itself, and of the runtime in it, pass: they keep the
// content of what they move.
#include "blocks.hpp"
#include "in_place.hpp"
#include "interposed.hpp"
#include "kept.hpp"
#include "process.hpp"

#include <semcache/base/error.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <optional>

using namespace semcache::blas;

namespace {

/// To be called before memory of the program ends or moves. @return false, and errno is ENOMEM, if its content cannot come home
bool before(void* address, std::size_t bytes, in_place::End how) noexcept {
  const int error = errno;
  if (how != in_place::End::stays) blocks::are_changed(static_cast<std::byte*>(address), bytes);
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

/// To be called before memory becomes a stack: what lies there is sent at each call from now on.
bool becomes_stack(void* address, std::size_t bytes) noexcept {
  in_place::is_stack(address, bytes);
  blocks::is_stack(static_cast<std::byte*>(address), bytes);
  wait_for_adoptions();  // they may have looked at the records before
  return before(address, bytes, in_place::End::stays);
}

/// Can nothing keep munmap from ending this memory? It needs further mappings where it ends a part of one. The kernel needs them for this
/// advice, too.
bool surely_ends(void* address, std::size_t bytes) noexcept {
  const std::size_t page = blocks::page_bytes();
  return bytes > 0 && reinterpret_cast<std::uintptr_t>(address) % page == 0 && bytes <= SIZE_MAX - page &&
         ::syscall(SYS_madvise, address, bytes, MADV_DONTDUMP) == 0;
}

/// What becomes of memory for which this advice is given. Of advice that is not listed it becomes nothing.
std::optional<in_place::End> end_by(int advice) noexcept {
  constexpr int populate_read = 22, populate_write = 23, dontneed_locked = 24, guard_install = 102;  // newer than the oldest headers
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_FREE:
    case dontneed_locked:
    case populate_read:
    case populate_write: return in_place::End::stays;
    case MADV_REMOVE:
    case MADV_DONTFORK:
    case guard_install: return in_place::End::moves;
    default: return {};
  }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define SEMCACHE_BLAS_MMAP(name, offset_type)                                                                    \
  void* name(void* address, std::size_t bytes, int protection, int flags, int file, offset_type at) noexcept {   \
    if (SEMCACHE_CALLER_IS_OURS) return SEMCACHE_NEXT(name)(address, bytes, protection, flags, file, at);        \
    if ((flags & MAP_FIXED) != 0 && !before(address, bytes, in_place::End::moves)) return MAP_FAILED;            \
    void* mapped = SEMCACHE_NEXT(name)(address, bytes, protection, flags, file, at);                             \
    if (mapped == MAP_FAILED && errno == ENOMEM && kept::give_back()) {                                          \
      mapped = SEMCACHE_NEXT(name)(address, bytes, protection, flags, file, at);                                 \
    }                                                                                                            \
    return note_mapping(mapped, bytes, protection, flags);                                                       \
  }
SEMCACHE_BLAS_MMAP(mmap, off_t)
SEMCACHE_BLAS_MMAP(mmap64, off64_t)

int munmap(void* address, std::size_t bytes) noexcept {
  if (!SEMCACHE_CALLER_IS_OURS) {
    const bool dies = in_place::is_adopted(address, bytes) && surely_ends(address, bytes);
    if (!before(address, bytes, dies ? in_place::End::dies : in_place::End::moves)) return -1;
  }
  return SEMCACHE_NEXT(munmap)(address, bytes);
}

void* mremap(void* address, std::size_t bytes, std::size_t now, int flags, ...) noexcept {
  std::va_list more;
  va_start(more, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  const bool ours = SEMCACHE_CALLER_IS_OURS;
  if (!ours && !before(address, bytes, in_place::End::moves)) return MAP_FAILED;
  if (!ours && to != nullptr && !before(to, now, in_place::End::moves)) return MAP_FAILED;
  void* const at = to != nullptr ? SEMCACHE_NEXT(mremap)(address, bytes, now, flags, to) : SEMCACHE_NEXT(mremap)(address, bytes, now, flags);
  return at;  // which may be of any kind, so it counts as memory whose birth was not seen
}

int madvise(void* address, std::size_t bytes, int advice) noexcept {
  const auto how = end_by(advice);
  if (how && !SEMCACHE_CALLER_IS_OURS && !before(address, bytes, *how)) return -1;
  return SEMCACHE_NEXT(madvise)(address, bytes, advice);
}

int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  if (!SEMCACHE_CALLER_IS_OURS && !before(address, bytes, in_place::End::moves)) return -1;
  return SEMCACHE_NEXT(mprotect)(address, bytes, protection);
}

int pkey_mprotect(void* address, std::size_t bytes, int protection, int key) noexcept {
  if (!before(address, bytes, in_place::End::moves)) return -1;
  return SEMCACHE_NEXT(pkey_mprotect)(address, bytes, protection, key);
}

// The kernel does not lock pages that nobody may read.
int mlock(const void* address, std::size_t bytes) noexcept {
  if (!SEMCACHE_CALLER_IS_OURS && !before(const_cast<void*>(address), bytes, in_place::End::stays)) return -1;
  return SEMCACHE_NEXT(mlock)(address, bytes);
}
int mlock2(const void* address, std::size_t bytes, unsigned flags) noexcept {
  if (!before(const_cast<void*>(address), bytes, in_place::End::stays)) return -1;
  return SEMCACHE_NEXT(mlock2)(address, bytes, flags);
}

void* shmat(int segment, const void* address, int flags) noexcept {
  shmid_ds known;
  if ((flags & SHM_REMAP) != 0 && address != nullptr && ::shmctl(segment, IPC_STAT, &known) == 0 &&
      !before(const_cast<void*>(address), known.shm_segsz, in_place::End::moves)) {
    return reinterpret_cast<void*>(-1);
  }
  return SEMCACHE_NEXT(shmat)(segment, address, flags);
}

int brk(void* end) noexcept {
  auto* const now = static_cast<std::byte*>(::sbrk(0));
  if (end != nullptr && end < now && !before(end, static_cast<std::size_t>(now - static_cast<std::byte*>(end)), in_place::End::moves)) return -1;
  return SEMCACHE_NEXT(brk)(end);
}
void* sbrk(std::intptr_t more) noexcept {
  if (more < 0) {
    const std::size_t fewer = std::size_t{0} - static_cast<std::size_t>(more);
    if (!before(static_cast<std::byte*>(SEMCACHE_NEXT(sbrk)(0)) - fewer, fewer, in_place::End::moves)) return reinterpret_cast<void*>(-1);
  }
  return SEMCACHE_NEXT(sbrk)(more);
}

int pthread_attr_setstack(pthread_attr_t* attributes, void* address, std::size_t bytes) noexcept {
  if (!becomes_stack(address, bytes)) return ENOMEM;
  return SEMCACHE_NEXT(pthread_attr_setstack)(attributes, address, bytes);
}

int sigaltstack(const stack_t* stack, stack_t* before) noexcept {
  if (stack != nullptr && (stack->ss_flags & SS_DISABLE) == 0 && !SEMCACHE_CALLER_IS_OURS && !becomes_stack(stack->ss_sp, stack->ss_size)) {
    errno = ENOMEM;
    return -1;
  }
  // The program's own may lie on a page that the kernel may not use.
  const stack_t given = stack != nullptr ? *stack : stack_t{};
  stack_t old{};
  const int result = SEMCACHE_NEXT(sigaltstack)(stack != nullptr ? &given : nullptr, before != nullptr ? &old : nullptr);
  if (result == 0 && before != nullptr) *before = old;
  return result;
}

/// The arguments are of any number. The C library takes each as a word of a register's size.
void makecontext(ucontext_t* context, void (*function)(), int count, ...) noexcept {
  constexpr int most = 32;
  long words[most] = {};
  if (count > most) {
    semcache::base::fatal("makecontext() has %d arguments, and libsemcache_blas.so passes at most %d on. Give the coroutine a structure", count,
                          most);
  }
  std::va_list more;
  va_start(more, count);
  for (int i = 0; i < count; ++i) words[i] = va_arg(more, long);
  va_end(more);
  (void)becomes_stack(context->uc_stack.ss_sp, context->uc_stack.ss_size);
  const auto& w = words;
  SEMCACHE_NEXT(makecontext)(context, function, count, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14],
                             w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23], w[24], w[25], w[26], w[27], w[28], w[29], w[30], w[31]);
}

}  // extern "C"
#pragma GCC visibility pop
