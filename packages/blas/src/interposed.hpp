// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <dlfcn.h>

#include <cstdlib>

/// For functions of the C library that this library interposes.
namespace semcache::blas {

/// Returns the next definition of the function behind the one in this library.
template <class Function>
Function* next(const char* name) noexcept {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();  // cannot happen: programs do not call functions that their C library lacks
  return reinterpret_cast<Function*>(found);
}
#define SEMCACHE_NEXT(name)                                               \
  ([]() noexcept {                                                        \
    static decltype(&::name) const found = next<decltype(::name)>(#name); \
    return found;                                                         \
  }())

/// Returns whether the code at this address belongs to this library, and so to the runtime.
inline bool is_ours(const void* caller) noexcept {
  static const auto ours = [] {
    dl_find_object object{};
    (void)::_dl_find_object(reinterpret_cast<void*>(&is_ours), &object);
    return object;
  }();
  return caller >= ours.dlfo_map_start && caller < ours.dlfo_map_end;
}
#define SEMCACHE_CALLER_IS_OURS is_ours(__builtin_return_address(0))

}  // namespace semcache::blas
