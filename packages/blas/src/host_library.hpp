// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The library that a caller is linked to, for what is not offloaded.
namespace semcache::blas {

using AnyFunction = void (*)();

/// Returns the function of this name that the object with the code at `caller` would call if this library were not there: of what was loaded behind
/// this library for all, then of the caller's own dependencies. What was loaded for all after the caller comes behind these, and any other object at
/// last. Never one of this library.
/// Ends the process with a message if there is none, because a call of the program cannot be carried out then.
[[nodiscard]] AnyFunction host_function(const char* name, const void* caller) noexcept;

/// Keeps what `host_function` has found for the objects that have called. One for each function; a constant-initialised static.
class HostFunction {
 public:
  struct Found {
    AnyFunction function;
    bool is_wide;  ///< its integers have 64 bits, although its name stands for 32
  };
  /// @param integer_bytes  of the integers that the name stands for; 0: none
  explicit constexpr HostFunction(const char* name, std::size_t integer_bytes = 0) noexcept : name_(name), integer_bytes_(integer_bytes) {}
  [[nodiscard]] Found of(const void* caller) noexcept {
    const AnyFunction function = for_all_.load(std::memory_order_acquire);
    const Width width = width_.load(std::memory_order_relaxed);
    return function != nullptr && width != Width::unknown ? Found{function, width == Width::wide} : find(caller);
  }
  /// Looks the function up while this library is loaded. Later the loader's lock may be held by a thread that waits for the one that calls.
  void find_early() noexcept;

 private:
  struct Known {
    const void* begin;  ///< of the caller's object
    const void* end;
    std::uint64_t unloads;  ///< of objects, before it was found
    Found found;
    const Known* next;
  };
  enum class Width : std::uint8_t { unknown, as_named, wide };
  Found find(const void* caller) noexcept;
  [[nodiscard]] bool is_wide(AnyFunction dot) const noexcept;
  [[nodiscard]] AnyFunction dot_beside(AnyFunction function) const noexcept;
  const char* name_;
  std::size_t integer_bytes_;
  std::atomic<AnyFunction> for_all_{nullptr};  ///< all callers', because the program was linked to it when it began
  AnyFunction dot_for_all_ = nullptr;          ///< of the same library
  std::atomic<Width> width_{Width::unknown};   ///< of `for_all_`
  std::atomic<const Known*> known_{nullptr};
};

/// A static beside each `HostFunction`.
struct EarlySearch {
  explicit EarlySearch(HostFunction& function) noexcept { function.find_early(); }
};

}  // namespace semcache::blas
