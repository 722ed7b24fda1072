// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "next.hpp"  // of packages/syscalls

#include <dlfcn.h>

/// Of libsemcache_blas_preload.so, where that has loaded this library: the next function behind it (preload.cpp).
extern "C" [[gnu::weak, gnu::visibility("default")]] void* semcache_blas_next(const char* name) noexcept;

/// For functions of the C library that this library interposes.
namespace semcache::blas {

/// Returns whether the code at this address belongs to this library, and so to the runtime.
inline bool is_ours(const void* caller) noexcept {
  static const auto ours = [] {
    dl_find_object object{};
    (void)::_dl_find_object(reinterpret_cast<void*>(&is_ours), &object);
    return object;
  }();
  return caller >= ours.dlfo_map_start && caller < ours.dlfo_map_end;
}
/// Returns whether this function of a symbol's is this library's: its own, or the entry that leads there (preload.cpp).
inline bool leads_here(const void* function) noexcept {
  dl_find_object entries{};
  return is_ours(function) || (semcache_blas_next != nullptr && ::_dl_find_object(reinterpret_cast<void*>(semcache_blas_next), &entries) == 0 &&
                               function >= entries.dlfo_map_start && function < entries.dlfo_map_end);
}
#define SEMCACHE_CALLER_IS_OURS is_ours(__builtin_return_address(0))

}  // namespace semcache::blas
