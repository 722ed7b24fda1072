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
  dl_find_object found;
  return ::_dl_find_object(const_cast<void*>(address), &found) == 0 ? found.dlfo_link_map : nullptr;
}
const link_map* object_of(AnyFunction function) noexcept { return object_of(reinterpret_cast<const void*>(function)); }
const link_map* our_object() noexcept {
  static const link_map* const ours = object_of(reinterpret_cast<const void*>(&our_object));
  return ours;
}
AnyFunction unless_ours(void* function) noexcept {
  if (function == nullptr) (void)::dlerror();  // the program shall not see this error
  return object_of(function) == our_object() ? nullptr : reinterpret_cast<AnyFunction>(function);
}

AnyFunction in_file(const char* file, const char* name) noexcept {
  void* const handle = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const AnyFunction function = unless_ours(::dlsym(handle, name));
  SEMCACHE_NEXT(dlclose)(handle);
  return function;
}

/// Searches all loaded objects.
AnyFunction in_any_file(const char* name) noexcept {
  const link_map* object = our_object();
  while (object != nullptr && object->l_prev != nullptr) object = object->l_prev;
  for (; object != nullptr; object = object->l_next) {
    if (object->l_name == nullptr || object->l_name[0] == '\0') continue;
    if (const AnyFunction function = in_file(object->l_name, name)) return function;
  }
  return nullptr;
}

bool was_loaded_before(const link_map* one, const link_map* other) noexcept {
  while (other != nullptr && other != one) other = other->l_prev;
  return other != nullptr;
}

}  // namespace

AnyFunction host_function(const char* name, const void* caller) noexcept {
  const AnyFunction for_all = unless_ours(::dlsym(RTLD_NEXT, name));
  const link_map* const object = object_of(caller);
  if (for_all != nullptr && (object == nullptr || was_loaded_before(object_of(for_all), object))) return for_all;
  if (object != nullptr && object->l_name != nullptr && object->l_name[0] != '\0') {
    if (const AnyFunction function = in_file(object->l_name, name)) return function;
  }
  if (for_all != nullptr) return for_all;
  if (const AnyFunction function = in_any_file(name)) return function;
  base::fatal("the program calls %s of BLAS, and no loaded library has it but libsemcache_blas.so, which passes on what it does not offload. "
              "Link the program to a BLAS, too (Debian: libblas3 or libopenblas0)", name);
}

void HostFunction::find_early() noexcept {
  // As a dependency of something that is loaded for itself alone, this library stands in front of that one's BLAS only.
  static const bool is_for_all = object_of(::dlsym(RTLD_DEFAULT, name_)) == our_object();
  const AnyFunction function = is_for_all ? unless_ours(::dlsym(RTLD_NEXT, name_)) : nullptr;
  if (function == nullptr) return;
  static const link_map* kept = nullptr;
  if (const link_map* const object = object_of(function); object != nullptr && object != kept && object->l_name[0] != '\0') {
    if (::dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr) return;
    kept = object;
  }
  for_all_.store(function, std::memory_order_release);
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
