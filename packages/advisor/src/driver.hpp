// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cstddef>
#include <cstdint>

namespace semcache::advisor {

/// The few functions of the CUDA driver that the advisor needs, bound by name, so that it is built without CUDA. A program whose
/// views are in CUDA's spaces has loaded the driver already.
class Driver : base::Uncopied {
 public:
  /// Binds the functions at the first call. Without a driver, or with one that lacks a function, nothing can be read.
  [[nodiscard]] static const Driver& loaded() noexcept;

  /// Makes the context of an address the calling thread's current one, for the object's lifetime.
  class Context : base::Uncopied {
   public:
    Context(const Driver& driver, const void* address) noexcept;
    ~Context();

   private:
    const Driver& driver_;
    bool pushed_ = false;
  };

  /// Waits for all work of the address's device.
  void wait(const void* address) const noexcept;

  /// Copies from a device, or from managed memory, at once. @return false: refused. @pre a Context of the address
  [[nodiscard]] bool read(unsigned char* to, std::uintptr_t from, std::size_t bytes) const noexcept;

  /// Page-locked memory for `read`, of which the process has one piece; null where the driver gives none.
  struct Staging {
    unsigned char* memory;
    std::size_t bytes;
  };
  [[nodiscard]] Staging staging() const noexcept;

 private:
  Driver() noexcept;
  using Result = int;
  using Address = unsigned long long;
  Result (*pointer_attribute_)(void* into, int attribute, Address) = nullptr;
  Result (*push_context_)(void* context) = nullptr;
  Result (*pop_context_)(void** context) = nullptr;
  Result (*synchronize_)() = nullptr;
  Result (*copy_to_host_)(void* to, Address from, std::size_t bytes) = nullptr;
  Result (*host_memory_)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
  Result (*primary_context_)(void** context, int device) = nullptr;
  bool complete_ = false;
};

}  // namespace semcache::advisor
