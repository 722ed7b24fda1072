// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "host_library.hpp"

#include "next.hpp"  // of packages/syscalls

#include <semcache/base/error.hpp>

#include <dlfcn.h>
#include <link.h>

#include <new>

namespace semcache::blas {
namespace {

/// Counts what may have been unloaded: functions that were found before may be gone, and their callers' addresses may be others'.
std::atomic<std::uint64_t> unloads{0};

/// Returns the link map of the loaded object that holds the address.
const link_map* object_of(const void* address) noexcept {
  Dl_info info;
  void* found = nullptr;
  return ::dladdr1(address, &info, &found, RTLD_DL_LINKMAP) != 0 ? static_cast<const link_map*>(found) : nullptr;
}
bool is_ours(AnyFunction function) noexcept {
  static const link_map* const ours = object_of(reinterpret_cast<const void*>(&is_ours));
  return object_of(reinterpret_cast<const void*>(function)) == ours;
}

AnyFunction in_file(const char* file, const char* name) noexcept {
  void* const handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const auto function = reinterpret_cast<AnyFunction>(::dlsym(handle, name));
  SEMCACHE_NEXT(dlclose)(handle);
  return function != nullptr && !is_ours(function) ? function : nullptr;
}

/// Searches all loaded objects.
AnyFunction in_any_file(const char* name) noexcept {
  const link_map* object = object_of(reinterpret_cast<const void*>(&is_ours));
  while (object != nullptr && object->l_prev != nullptr) object = object->l_prev;
  for (; object != nullptr; object = object->l_next) {
    if (object->l_name == nullptr || object->l_name[0] == '\0') continue;
    if (const AnyFunction function = in_file(object->l_name, name)) return function;
  }
  return nullptr;
}

}  // namespace

AnyFunction host_function(const char* name, const void* caller) noexcept {
  const link_map* const object = object_of(caller);
  if (object != nullptr && object->l_name != nullptr && object->l_name[0] != '\0') {
    if (const AnyFunction function = in_file(object->l_name, name)) return function;
  }
  if (const auto function = reinterpret_cast<AnyFunction>(::dlsym(RTLD_NEXT, name)); function != nullptr && !is_ours(function)) return function;
  if (const AnyFunction function = in_any_file(name)) return function;
  base::fatal("the program calls %s of BLAS, and no loaded library has it but libsemcache_blas.so, which passes on what it does not offload. "
              "Link the program to a BLAS, too (Debian: libblas3 or libopenblas0)", name);
}

AnyFunction HostFunction::find(const void* caller) noexcept {
  const std::uint64_t now = unloads.load(std::memory_order_acquire);
  const Known* const first = known_.load(std::memory_order_acquire);
  for (const Known* k = first; k != nullptr; k = k->next) {
    if (k->unloads == now && caller >= k->begin && caller < k->end) return k->function;
  }
  const AnyFunction function = host_function(name_, caller);
  dl_find_object object;
  // An object that cannot be found (code made at run time) is looked up at each call.
  if (::_dl_find_object(const_cast<void*>(caller), &object) != 0) return function;
  // A few for each function of BLAS and each unloading, kept as long as the process. Two threads may both add one.
  auto* const known = new (std::nothrow) Known{object.dlfo_map_start, object.dlfo_map_end, now, function, first};
  if (known == nullptr) return function;
  while (!known_.compare_exchange_weak(known->next, known, std::memory_order_acq_rel)) {
  }
  return function;
}

}  // namespace semcache::blas

#pragma GCC visibility push(default)
extern "C" int dlclose(void* handle) noexcept {
  const int result = SEMCACHE_NEXT(dlclose)(handle);
  semcache::blas::unloads.fetch_add(1, std::memory_order_acq_rel);
  return result;
}
#pragma GCC visibility pop
