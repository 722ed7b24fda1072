// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Stands in for libcuda.so: code in a library of that name that touches memory itself or through memcpy.
#include <cstddef>

extern "C" __attribute__((noinline)) int fake_driver_read(const volatile int* address) { return *address; }

extern "C" __attribute__((noinline)) void fake_driver_copy(void* to, const void* from, std::size_t bytes,
                                                           void* (*copy)(void*, const void*, std::size_t)) {
  copy(to, from, bytes);
  *static_cast<volatile char*>(to) = *static_cast<volatile char*>(to);  // no tail call: the copy returns to here
}
