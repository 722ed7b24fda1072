// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "next.hpp"

#include <dlfcn.h>

void* semcache::syscalls::next_symbol(const char* name) noexcept { return ::dlsym(RTLD_NEXT, name); }
