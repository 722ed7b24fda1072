// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/transaction.hpp>

namespace semcache::engine {

/// Arrays are allocated and freed. Threads: any.
class Lifetimes : Parts {
 public:
  explicit Lifetimes(const Parts& parts) noexcept : Parts(parts) {}

  Memory* allocate_device(std::uint32_t device, const char* label, std::uint64_t bytes);
  /// @param announced  the program announces every access of the host: its pages stay open
  Memory* allocate_host(const char* label, std::uint64_t bytes, Memory* partner, bool announced = false);
  /// Waits for uses of it; on the emulated device, whose kernels may free arrays themselves, one that a running launch pins
  /// is freed when that ends.
  void deallocate(Memory* memory) noexcept;
  /// What was to be freed behind launches that have ended. Behind each end of a pin; without the lock.
  void free_put_off() noexcept {
    if (put_off_count_.load() != 0) free_all_put_off();
  }
  [[nodiscard]] std::uint64_t live_device_bytes() const noexcept { return live_device_bytes_; }
  [[nodiscard]] std::uint64_t live_host_bytes() const noexcept { return live_host_bytes_; }

 private:
  Obstacle free_array(Memory& memory);
  /// Nobody wants the array itself any more; copies of it may still be wanted elsewhere (I4).
  void leave_datum(Memory& memory) noexcept;
  /// Its memory becomes a saved value: nothing moves. The addresses are not reused until it is read or dropped.
  void keep_as_saved_copy(Memory& memory) noexcept;
  Obstacle save_before_leaving(Memory& memory);
  [[nodiscard]] bool put_off(Memory& m) noexcept;
  void free_all_put_off() noexcept;

  std::atomic<std::size_t> put_off_count_{0};
  std::uint64_t live_device_bytes_ = 0;
  std::uint64_t live_host_bytes_ = 0;
};

}  // namespace semcache::engine
