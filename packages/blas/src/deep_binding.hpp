// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstring>

#pragma GCC visibility push(hidden)
extern "C" const char semcache_blas_names[];  ///< of all entries of libsemcache_blas_preload.so, one behind the other
#pragma GCC visibility pop

/// Libraries that are opened with RTLD_DEEPBIND. They search themselves and what they are linked to, the C library among it, in front of all others.
/// So they would free blocks, map, and read files past this library. The flag is for names that both they and the program have, so it is kept. Only
/// what leads to the C library, and is an entry of this library, is led to the entry when they have been loaded. Their calls of BLAS go to the BLAS
/// that they ask for.
namespace semcache::blas {

inline const char* behind(const char* name) noexcept { return name + std::strlen(name) + 1; }

/// Returns where a call of dlopen with these arguments is to go on: `next`, or a function that calls it and does the above. A library that is named
/// without a folder, or by `$ORIGIN`, is left as it is: the loader looks at who has called it, and that would be this library.
[[nodiscard]] void* dlopen_for(const char* name, int mode, void* next) noexcept;

}  // namespace semcache::blas

/// The function of this name behind this library (preload.cpp).
extern "C" [[gnu::visibility("default")]] void* semcache_blas_next(const char* name) noexcept;
