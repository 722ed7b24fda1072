// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/linux/fault_context.hpp>
#include <semcache/platform/linux/maps.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace semcache::platform::detail {

/// Knows at which addresses the code of the GPU driver and of the C library lies. A fault raised in that code while the driver
/// holds its locks cannot be served, because serving it would call the driver.
class DriverText {
 public:
  /// Asks the dynamic linker again for the addresses if objects were loaded or unloaded since the last call.
  /// Threads: one at a time; not from a signal handler. Cost: a lock of the linker where nothing changed.
  void refresh() noexcept;

  /// Returns whether there was a driver in the process at the last refresh.
  [[nodiscard]] bool loaded() const noexcept { return !driver_.empty(); }

  /// Returns whether the access was made by the driver, or by a leaf function of the C library (memcpy) that the driver called,
  /// by the addresses of the last refresh. Threads: any. Async-signal-safe.
  [[nodiscard]] bool made(const FaultContext& fault) const noexcept;

 private:
  /// A few address ranges that may be read while they are being replaced. A reader then sees fewer of them.
  class Ranges {
   public:
    void clear() noexcept { count_.store(0, std::memory_order_release); }
    void add(std::uintptr_t begin, std::uintptr_t end) noexcept;
    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }
    [[nodiscard]] bool contain(std::uintptr_t address) const noexcept;

   private:
    static constexpr std::size_t most = 16;
    AddressRange range_[most];
    std::atomic<std::size_t> count_{0};
  };

  Ranges driver_;
  Ranges c_library_;
  std::uint64_t objects_seen_ = ~std::uint64_t{0};
};

}  // namespace semcache::platform::detail
