// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The functions of the CUDA driver that the advisor uses. The device's memory cannot be accessed at its addresses, and the copies
/// of this driver alone reach its content.
#include "advisor_driver.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

unsigned char* content() {
  static auto* const all = static_cast<unsigned char*>(std::calloc(1, fake_device_bytes));
  return all;
}
unsigned char* addresses() {
  static auto* const all = static_cast<unsigned char*>(::mmap(nullptr, fake_device_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  return all;
}
std::atomic<int> waits{0}, pushed{0};
constexpr int invalid = 1;

}  // namespace

extern "C" {

unsigned char* fake_device_memory() { return addresses(); }
unsigned char* fake_device_content(const unsigned char* address) { return content() + (address - addresses()); }
int fake_device_waits() { return waits; }
int fake_device_contexts() { return pushed; }

int cuPointerGetAttribute(void* into, int attribute, unsigned long long) {
  if (attribute != 1) return invalid;
  *static_cast<void**>(into) = content();
  return 0;
}
int cuCtxPushCurrent_v2(void*) { return ++pushed, 0; }
int cuCtxPopCurrent_v2(void**) { return --pushed, 0; }
int cuCtxSynchronize() { return ++waits, 0; }
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return (*memory = std::malloc(bytes)) == nullptr ? 2 : 0; }
int cuDevicePrimaryCtxRetain(void**, int) { return invalid; }
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  const std::uint64_t offset = from - reinterpret_cast<std::uintptr_t>(addresses());
  if (offset > fake_device_bytes || bytes > fake_device_bytes - offset) return invalid;
  std::memcpy(to, content() + offset, bytes);
  return 0;
}

}  // extern "C"
