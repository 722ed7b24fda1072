// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// All that this library needs of SemCache's C interface, whose own file is left out: what debuggers call. The text of a thread's last error would not
// fit into the thread-local memory of a library that is loaded late (preload.cpp).
#include <semcache/semcache.h>
#include <semcache/semcache.hpp>

extern "C" semcache_status semcache_settle_all(void) noexcept {
  try {
    semcache::settle();
    return SEMCACHE_SUCCESS;
  } catch (...) {
    return SEMCACHE_ERROR_INTERNAL;
  }
}
