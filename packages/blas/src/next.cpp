// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "next.hpp"  // of packages/syscalls

#include "interposed.hpp"

#include <dlfcn.h>

/// Where libsemcache_blas_preload.so has loaded this library, this one is not in the list that the loader searches for RTLD_NEXT. The other one is.
void* semcache::syscalls::next_symbol(const char* name) noexcept {
  void* const next = semcache_blas_next != nullptr ? semcache_blas_next(name) : nullptr;
  return next == nullptr || semcache::blas::is_ours(next) ? ::dlsym(RTLD_NEXT, name) : next;
}
