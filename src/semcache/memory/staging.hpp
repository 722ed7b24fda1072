// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>

#include <memory>

namespace semcache::memory {

/// Page-locked host memory for bytes in transit to or from pages that the device cannot reach. Some of the buffers that are given
/// back are kept for reuse; the others wait for `take_surplus`.
/// Threads: guarded by the engine's lock, except `allocate`.
class Staging : base::Uncopied {
 public:
  static constexpr std::uint64_t piece_bytes = 16 * 1024 * 1024;  ///< larger transfers are made in pieces
  static constexpr std::uint64_t limit_bytes = 64 * 1024 * 1024;  ///< for all buffers in use, unless one piece alone is larger

  Staging(device::Device& device, std::uint64_t page_bytes) noexcept : device_(device), page_bytes_(page_bytes) {}

  /// Returns whether `more` bytes in use would exceed the limit.
  [[nodiscard]] bool exhausted(std::uint64_t more) const noexcept { return in_use_ > 0 && in_use_ + round_up(more, page_bytes_) > limit_bytes; }
  /// Looks for buffers that can all be taken, one of each of the `count` sizes, in this order.
  /// @return the first size that there is no buffer for, or 0. The caller allocates one without the engine's lock, because that takes
  /// milliseconds, adds it, and asks again
  [[nodiscard]] std::uint64_t lacking(const std::uint64_t* sizes, std::size_t count) const;
  /// Returns whether there is such a buffer to take.
  [[nodiscard]] bool has(std::uint64_t bytes) const noexcept { return fitting(bytes) != free_.end(); }
  /// Allocates a buffer. Threads: any. @throws OutOfMemory
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) { return device_.allocate_staging(bytes); }
  /// Adds an allocated buffer to those that can be taken.
  /// @throws std::bad_alloc  the buffer has been given back to the device; a caller that asked again and again would never end
  void add(std::byte* buffer, std::uint64_t bytes);
  /// Takes a buffer of at least `bytes` bytes, and allocates it if there is none. @throws OutOfMemory
  [[nodiscard]] std::byte* take(std::uint64_t bytes);
  /// Gives a buffer back. @pre nothing uses it any more  @param bytes  as it was taken
  void give(std::byte* buffer, std::uint64_t bytes) noexcept;

  struct Deallocate {
    device::Device* device;
    void operator()(std::byte* buffer) const { device->deallocate_staging(buffer); }
  };
  using Buffer = std::unique_ptr<std::byte, Deallocate>;
  using Free = base::MultiMap<std::uint64_t, Buffer>;  // by size
  /// Returns whether there are more free buffers than are kept.
  [[nodiscard]] bool has_surplus() const noexcept { return free_.size() > most_kept; }
  /// Returns the free buffers beyond those that are kept, the largest first. Their destruction gives them back to the device, which takes
  /// milliseconds: without the engine's lock.
  [[nodiscard]] Free take_surplus() noexcept;

 private:
  static constexpr std::size_t most_kept = 32;
  [[nodiscard]] Free::const_iterator fitting(std::uint64_t bytes) const noexcept;
  /// Returns the size of the largest buffer that so many bytes may take.
  [[nodiscard]] std::uint64_t most_for(std::uint64_t bytes) const noexcept { return 4 * round_up(bytes, page_bytes_); }

  device::Device& device_;
  const std::uint64_t page_bytes_;
  Free free_;
  std::uint64_t in_use_ = 0;
};

}  // namespace semcache::memory
