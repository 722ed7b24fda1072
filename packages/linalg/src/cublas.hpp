// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <atomic>
#include <functional>

/// Routines of cuBLAS by their names, for wrappers that are generated. The library is loaded at the first call.
namespace semcache::linalg {

using AnyFunction = void (*)();

/// One for each routine; a constant-initialised static. Sizes are of 32 bits, coefficients in host memory, letters are cuBLAS' numbers.
/// Threads: any. The calling thread is in a launch on the stream, and the stream's device is current.
class CublasRoutine {
 public:
  explicit constexpr CublasRoutine(const char* name) noexcept : name_(name) {}
  /// Calls the routine with a handle for the stream and these arguments.
  /// @throws ConfigurationError  cuBLAS cannot be loaded, or has no such routine  @throws DeviceError  the routine failed
  template <class... Arguments>
  void operator()(const runtime::Stream& stream, Arguments... arguments) {
    const auto body = [&](void* handle, AnyFunction function) {
      return reinterpret_cast<int (*)(void*, Arguments...)>(function)(handle, arguments...);
    };
    call(stream, std::ref(body));  // which needs no memory
  }

 private:
  void call(const runtime::Stream& stream, const std::function<int(void*, AnyFunction)>& body);
  const char* name_;
  std::atomic<AnyFunction> function_{nullptr};
};

}  // namespace semcache::linalg
