// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

namespace semcache::platform::testing {

/// The library that stands in for the GPU's driver, loaded.
struct FakeDriver {
  FakeDriver() : library(::dlopen(SEMCACHE_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL)) {
    if (library == nullptr) std::abort();
    read = reinterpret_cast<int (*)(const volatile int*)>(::dlsym(library, "fake_driver_read"));
    copy = reinterpret_cast<void (*)(void*, const void*, std::size_t, void* (*)(void*, const void*, std::size_t))>(
        ::dlsym(library, "fake_driver_copy"));
  }
  ~FakeDriver() { ::dlclose(library); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  void* library;
  int (*read)(const volatile int*);
  void (*copy)(void*, const void*, std::size_t, void* (*)(void*, const void*, std::size_t));
};

}  // namespace semcache::platform::testing
