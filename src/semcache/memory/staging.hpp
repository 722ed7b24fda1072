// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>
#include <semcache/device/device.hpp>

#include <map>

namespace semcache::memory {

/// Page-locked memory of the host for bytes on their way to or from pages that the device cannot reach. Some of what is given back is kept.
/// Guarded by the engine's lock.
class Staging : base::Uncopied {
 public:
  static constexpr std::uint64_t piece_bytes = 16 * 1024 * 1024;  ///< larger transfers go in pieces
  static constexpr std::uint64_t limit_bytes = 64 * 1024 * 1024;  ///< of what is in use, unless one piece is larger

  Staging(device::Device& device, std::uint64_t page_bytes) noexcept : device_(device), page_bytes_(page_bytes) {}
  ~Staging() {
    for (const auto& [size, buffer] : free_) device_.deallocate_staging(buffer);
  }

  [[nodiscard]] bool exhausted(std::uint64_t more) const noexcept { return in_use_ > 0 && in_use_ + more > limit_bytes; }
  /// Is there a buffer to take? Else one is allocated without the engine's lock, which takes milliseconds, and added.
  [[nodiscard]] bool has(std::uint64_t bytes) const noexcept { return fitting(bytes) != free_.end(); }
  /// No lock. @throws OutOfMemory
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) { return device_.allocate_staging(bytes); }
  /// @throws std::bad_alloc  it is given back to the device: whoever asks for it again and again would not end
  void add(std::byte* buffer, std::uint64_t bytes);
  /// @throws OutOfMemory  it had none
  [[nodiscard]] std::byte* take(std::uint64_t bytes);
  /// Nothing uses it any more. @param bytes  as it was taken
  void give(std::byte* buffer, std::uint64_t bytes) noexcept;

 private:
  using Free = std::multimap<std::uint64_t, std::byte*>;  // by size
  [[nodiscard]] Free::const_iterator fitting(std::uint64_t bytes) const noexcept;

  device::Device& device_;
  const std::uint64_t page_bytes_;
  Free free_;
  std::uint64_t in_use_ = 0;
};

}  // namespace semcache::memory
