// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "host_library.hpp"

#include "call.hpp"
#include "interposed.hpp"

#include <semcache/base/error.hpp>

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <new>

namespace semcache::blas {
namespace {

/// Counts what may have been unloaded: functions that were found before may be unloaded, and their callers' addresses may be others'.
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
  return leads_here(function) ? nullptr : reinterpret_cast<AnyFunction>(function);
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

/// Returns whether the program has a BLAS when it begins. Each BLAS has one of these names.
bool is_any_behind() noexcept {
  for (const char* name : {"dgemm_", "cblas_dgemm", "dgemm_64_", "cblas_dgemm64_", "scipy_dgemm_64_", "scipy_cblas_dgemm64_", "scipy_dgemm_",
                           "scipy_cblas_dgemm", "sgemm_", "ddot_", "daxpy_", "daxpy_64_"}) {
    if (unless_ours(syscalls::next_symbol(name)) != nullptr) return true;
  }
  return false;
}

bool is_of_c(const char* name) noexcept { return std::strncmp(name, "cblas_", std::strlen("cblas_")) == 0; }

bool was_loaded_before(const link_map* one, const link_map* other) noexcept {
  while (other != nullptr && other != one) other = other->l_prev;
  return other != nullptr;
}

}  // namespace

AnyFunction host_function(const char* name, const void* caller) noexcept {
  const AnyFunction for_all = unless_ours(syscalls::next_symbol(name));
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
  static const bool is_for_all = leads_here(::dlsym(RTLD_DEFAULT, name_));
  static const bool is_any = is_for_all && is_any_behind();
  const AnyFunction function = is_any ? unless_ours(syscalls::next_symbol(name_)) : nullptr;
  if (function == nullptr) return;
  static const link_map* kept = nullptr;
  if (const link_map* const object = object_of(function); object != nullptr && object != kept && object->l_name[0] != '\0') {
    if (::dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == nullptr) return;
    kept = object;
  }
  dot_for_all_ = dot_beside(function);
  for_all_.store(function, std::memory_order_release);
}

/// Returns the dot product of the same library, with the same interface; nullptr if there is none, or the name's integers cannot be wider.
AnyFunction HostFunction::dot_beside(AnyFunction function) const noexcept {
  const link_map* const object = object_of(function);
  if (integer_bytes_ != sizeof(std::int32_t) || object == nullptr || object->l_name[0] == '\0') return nullptr;
  const AnyFunction dot = in_file(object->l_name, is_of_c(name_) ? "cblas_ddot" : "ddot_");
  return object_of(dot) == object ? dot : nullptr;
}

/// A number whose lower half is one, and which is negative as a whole, tells: of no elements the product is zero.
bool HostFunction::is_wide(AnyFunction dot) const noexcept {
  if (dot == nullptr) return false;
  const bool begins = !is_within_call();
  if (begins) enter_routine();
  const double x = 2, y = 3;
  const std::int64_t one = 1, one_or_negative = one - (std::int64_t{1} << 32);
  using Int = std::int64_t;
  const double product =
      is_of_c(name_) ? reinterpret_cast<double (*)(Int, const double*, Int, const double*, Int)>(dot)(one_or_negative, &x, one, &y, one)
                     : reinterpret_cast<double (*)(const Int*, const double*, const Int*, const double*, const Int*)>(dot)(&one_or_negative, &x, &one,
                                                                                                                     &y, &one);
  if (begins) leave_passed_through();
  return product == 0;
}

HostFunction::Found HostFunction::find(const void* caller) noexcept {
  if (const AnyFunction function = for_all_.load(std::memory_order_acquire)) {
    const bool wide = is_wide(dot_for_all_);
    width_.store(wide ? Width::wide : Width::as_named, std::memory_order_relaxed);
    return {function, wide};
  }
  const std::uint64_t now = unloads.load(std::memory_order_acquire);
  const Known* const first = known_.load(std::memory_order_acquire);
  for (const Known* k = first; k != nullptr; k = k->next) {
    if (k->unloads == now && caller >= k->begin && caller < k->end) return k->found;
  }
  const AnyFunction function = host_function(name_, caller);
  const Found found{function, is_wide(dot_beside(function))};
  dl_find_object object;
  // An object that cannot be found (code made at run time) is looked up at each call.
  if (::_dl_find_object(const_cast<void*>(caller), &object) != 0) return found;
  // A few for each function of BLAS and each unloading, kept as long as the process. Two threads may both add one.
  auto* const known = new (std::nothrow) Known{object.dlfo_map_start, object.dlfo_map_end, now, found, first};
  if (known == nullptr) return found;
  while (!known_.compare_exchange_weak(known->next, known, std::memory_order_acq_rel)) {
  }
  return found;
}

}  // namespace semcache::blas

#pragma GCC visibility push(default)
extern "C" int dlclose(void* handle) noexcept {
  const int result = SEMCACHE_NEXT(dlclose)(handle);
  semcache::blas::unloads.fetch_add(1, std::memory_order_acq_rel);
  return result;
}
#pragma GCC visibility pop
