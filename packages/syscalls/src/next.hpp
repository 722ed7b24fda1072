// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

/// For libraries that are preloaded and interpose functions of the C library.
namespace semcache::syscalls {

/// Returns the function of this name behind this library, in the order in which the program's libraries are searched; nullptr if there is none.
/// Each library that is preloaded says how.
[[nodiscard]] void* next_symbol(const char* name) noexcept;

/// The next definition of a function behind the one in this library. It is looked up while this library is loaded, or before that at its first use.
/// Later the loader's lock may be held by a thread that waits for this one. @tparam Name  has the type and the name of the function
template <class Name>
class Next {
 public:
  using Function = typename Name::Function;
  static Function get() noexcept {
    static_cast<void>(at_load);
    void* function = found.load(std::memory_order_acquire);
    if (__builtin_expect(function == nullptr, 0)) function = look_up();
    if (function == nullptr) std::abort();  // cannot happen: programs do not call functions that their C library lacks
    return reinterpret_cast<Function>(function);
  }

 private:
  static void* look_up() noexcept {
    void* const function = next_symbol(Name::text());
    if (function == nullptr) (void)::dlerror();  // the program shall not see this error
    found.store(function, std::memory_order_release);
    return function;
  }
  static inline std::atomic<void*> found{nullptr};
  static inline const bool at_load = look_up() != nullptr;
};
#define SEMCACHE_NEXT(name)                                \
  ([]() noexcept {                                         \
    struct Name {                                          \
      using Function = decltype(&::name);                  \
      static const char* text() noexcept { return #name; } \
    };                                                     \
    return ::semcache::syscalls::Next<Name>::get();        \
  }())

}  // namespace semcache::syscalls
