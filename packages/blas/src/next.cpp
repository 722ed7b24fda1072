// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "next.hpp"  // of packages/syscalls

#include "interposed.hpp"

#include <dlfcn.h>

/// Where libsemcache_blas_preload.so has loaded this library, this one is not in the list that the loader searches for RTLD_NEXT. The other one is.
void* semcache::syscalls::next_symbol(const char* name) noexcept {
  if (semcache_blas_next == nullptr) return ::dlsym(RTLD_NEXT, name);
  void* const next = semcache_blas_next(name);
  return semcache::blas::is_ours(next) ? ::dlsym(RTLD_NEXT, name) : next;  // a program that is linked to this library has it in that list, too
}
