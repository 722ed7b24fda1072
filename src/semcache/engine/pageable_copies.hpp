// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/lifetimes.hpp>

namespace semcache::engine {

/// Copies between a device and *pageable* memory of the program's, which is ordinary memory that is not page-locked. A driver returns from such a
/// copy only when it is done, and begins it behind what its stream still has to do. So no such copy is submitted with the engine's lock: bytes for
/// a device are first put in page-locked memory, and bytes from a device are copied by the driver while the array is pinned.
class PageableCopies : Parts {
 public:
  explicit PageableCopies(const Parts& parts) noexcept : Parts(parts) {}

  /// The bytes that are best staged at once. While they cross the link, the next ones are put in page-locked memory. Two or three buffers of this
  /// size take turns.
  static constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20;

  /// Would the driver wait for a copy between a device and this memory of the program's? False where kernels run in the caller's thread: there the
  /// engine itself copies.
  [[nodiscard]] bool concern(const void* host) const noexcept {
    return !s_.home().device->kernels_run_in_caller() && !s_.home().device->knows_host_memory(host);
  }
  /// Carries out a copy between pageable memory and device memory that belongs to no array, and waits for it, without the lock.
  /// @throws DeviceError, OutOfMemory  a part of the destination may have changed; nothing of the copy is under way
  void copy(Transaction& t, const plan::Step& step);
  /// Copies bytes of the program's to page-locked memory, column behind column, without the lock.
  /// @param device   to which the bytes will go
  /// @param columns  the width and number of the columns, and their pitch at `from`
  /// @return the page-locked bytes, which are given back when the flight lands: the caller lists it once its work is known
  [[nodiscard]] Flights stage(Transaction& t, SpaceId device, const std::byte* from, const Region& columns);
  /// Copies from an array's device memory to pageable memory, and waits for it, without the lock. The array is pinned meanwhile, as by a launch
  /// that reads it: no other thread saves, overwrites, evicts or frees its memory. It may be freed when the function returns.
  /// @pre the memory holds the content, and nothing under way writes it
  /// @throws DeviceError, OutOfMemory  a part of the destination may have changed; nothing of the copy is under way
  void read(Transaction& t, Memory& from, const plan::Step& step);
};

}  // namespace semcache::engine
