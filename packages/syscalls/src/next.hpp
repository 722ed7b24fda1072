// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <dlfcn.h>

#include <cstdlib>

/// For libraries that are preloaded and interpose functions of the C library.
namespace semcache::syscalls {

/// Returns the next definition of the function behind the one in this library.
template <class Function>
Function* next(const char* name) noexcept {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();  // cannot happen: programs do not call functions that their C library lacks
  return reinterpret_cast<Function*>(found);
}
#define SEMCACHE_NEXT(name)                                                                       \
  ([]() noexcept {                                                                                \
    static decltype(&::name) const found = ::semcache::syscalls::next<decltype(::name)>(#name); \
    return found;                                                                                 \
  }())

}  // namespace semcache::syscalls
