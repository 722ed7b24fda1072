// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <atomic>
#include <cstdint>

/// The library that a caller is linked to, for what is not offloaded.
namespace semcache::blas {

using AnyFunction = void (*)();

/// Returns the function of this name that the object with the code at `caller` would call if this library were not there: of the caller's own
/// dependencies, then of what was loaded behind this library, then of any loaded object. Never one of this library.
/// Ends the process with a message if there is none, because a call of the program cannot be carried out then.
[[nodiscard]] AnyFunction host_function(const char* name, const void* caller) noexcept;

/// Keeps what `host_function` has found for the object that called last. One for each function; a constant-initialised static.
class HostFunction {
 public:
  explicit constexpr HostFunction(const char* name) noexcept : name_(name) {}
  template <class Function>
  [[nodiscard]] Function* of(const void* caller) noexcept {
    return reinterpret_cast<Function*>(find(caller));
  }

 private:
  struct Known {
    const void* begin;  ///< of the caller's object
    const void* end;
    std::uint64_t unloads;  ///< of objects, before it was found
    AnyFunction function;
    const Known* next;
  };
  AnyFunction find(const void* caller) noexcept;
  const char* name_;
  std::atomic<const Known*> known_{nullptr};
};

}  // namespace semcache::blas
