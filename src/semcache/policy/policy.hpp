// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <array>
#include <cstdint>

/// Choices that are no question of correctness: pure functions and small state machines.
namespace semcache::policy {

/// Relative cost of reaching a value: the same space, then device to device, then over a host link.
[[nodiscard]] unsigned copy_cost(SpaceId from, SpaceId to) noexcept;

/// How much to bring over when a page faults: grows while an array is swept (either way, by several threads at once),
/// so that a sweep costs O(log n) faults, and stays at one small chunk for scattered accesses, so that a sparse reader
/// does not drag the array over (access density: Li and Chapman, SC'19, section 4; Sultana et al., PACT'20).
class ReadAhead {
 public:
  static constexpr std::uint64_t first_chunk_bytes = 16 * 1024;
  static constexpr std::uint64_t last_chunk_bytes = 256 * 1024 * 1024;
  static constexpr std::uint64_t growth = 4;

  /// The bytes to make valid for a fault at `position` of an array of `size` bytes: contains the faulting page, lies
  /// inside the array, begins and ends on pages (or at the array's end).
  [[nodiscard]] ByteRange next(std::uint64_t position, std::uint64_t size, std::uint64_t page_bytes) noexcept;

 private:
  struct Stream {
    ByteRange last;           ///< what the last fault of this stream brought
    std::uint64_t chunk = 0;  ///< its size before clipping; 0: unused
    std::uint64_t used = 0;   ///< for choosing the stream to forget
  };
  std::array<Stream, 8> streams_{};
  std::uint64_t clock_ = 0;
};

/// Will the host ask for the whole array again once a kernel has written it? After two times that it did so behind exactly
/// one writing launch, the answer is yes, and the transfer can start right behind the kernel. A forecast that fails costs
/// one transfer and doubles what the next one needs. Large arrays are never forecast: there the transfer's time counts,
/// not its start.
class FetchForecast {
 public:
  static constexpr std::uint64_t largest_bytes = 1024 * 1024;

  /// @param needed  times that make a habit: one where the program has said that it will ask again
  explicit FetchForecast(std::uint32_t needed = 2) noexcept : needed_(needed) {}

  /// The host asked for the whole array, `writes` writing launches after it did last.
  void fetched(std::uint32_t writes) noexcept;
  [[nodiscard]] bool fetch_follows() const noexcept { return streak_ >= needed_; }

 private:
  std::uint32_t streak_ = 0;
  std::uint32_t needed_;
};

}  // namespace semcache::policy
