// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "driver.hpp"

#include <semcache/base/addresses.hpp>

#include <dlfcn.h>

namespace semcache::advisor {
namespace {

// The driver's numbers, which its binary interface fixes.
constexpr int attribute_context = 1, attribute_device = 9;
constexpr unsigned portable = 1;  // page-locked for all contexts
constexpr std::size_t staging_bytes = std::size_t{8} << 20;

template <class Function>
bool bind(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Driver::Driver() noexcept {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  complete_ = library != nullptr && bind(library, "cuPointerGetAttribute", pointer_attribute_) &&
              bind(library, "cuCtxPushCurrent_v2", push_context_) && bind(library, "cuCtxPopCurrent_v2", pop_context_) &&
              bind(library, "cuCtxSynchronize", synchronize_) && bind(library, "cuMemcpyDtoH_v2", copy_to_host_) &&
              bind(library, "cuMemHostAlloc", host_memory_) && bind(library, "cuDevicePrimaryCtxRetain", primary_context_);
}

const Driver& Driver::loaded() noexcept {
  static const Driver driver;
  return driver;
}

Driver::Context::Context(const Driver& driver, const void* address) noexcept : driver_(driver) {
  if (!driver.complete_) return;
  const Address at = base::number(address);
  void* context = nullptr;
  // Memory of a pool belongs to no context; its device has one, which Kokkos uses.
  if (driver.pointer_attribute_(&context, attribute_context, at) != 0 || context == nullptr) {
    int device = 0;
    if (driver.pointer_attribute_(&device, attribute_device, at) != 0 || driver.primary_context_(&context, device) != 0) return;
  }
  pushed_ = driver.push_context_(context) == 0;
}

Driver::Context::~Context() {
  void* ignored = nullptr;
  if (pushed_) (void)driver_.pop_context_(&ignored);
}

void Driver::wait(const void* address) const noexcept {
  if (!complete_) return;
  const Context context(*this, address);
  (void)synchronize_();
}

bool Driver::read(unsigned char* to, std::uintptr_t from, std::size_t bytes) const noexcept {
  return complete_ && copy_to_host_(to, from, bytes) == 0;
}

Driver::Staging Driver::staging() const noexcept {
  static const Staging one = [this]() noexcept -> Staging {
    void* memory = nullptr;  // never freed: the driver may end before us
    if (!complete_ || host_memory_(&memory, staging_bytes, portable) != 0) return {nullptr, 0};
    return {static_cast<unsigned char*>(memory), staging_bytes};
  }();
  return one;
}

}  // namespace semcache::advisor
