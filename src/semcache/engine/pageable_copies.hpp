// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/lifetimes.hpp>

namespace semcache::engine {

/// Makes copies between a device and *pageable* memory of the program's, which is ordinary memory that is not page-locked. The driver returns
/// from such a copy only when it is done, and begins it behind what its stream still has to do. So these copies are made without the engine's
/// lock, and on a stream that has nothing else to do.
class PageableCopies : Parts {
 public:
  explicit PageableCopies(const Parts& parts) noexcept : Parts(parts) {}

  /// Would the driver wait for a copy between a device and this memory of the program's? False where kernels run in the caller's thread, and where
  /// the device's pages are protected: there the engine itself copies.
  [[nodiscard]] bool concern(const void* host) const noexcept {
    return !s_.home().device->kernels_run_in_caller() && !s_.options.device_faults && !s_.home().device->knows_host_memory(host);
  }
  /// @return no obstacle when the copy need not wait for other work on the array; otherwise the first work that it conflicts with
  [[nodiscard]] Obstacle ready(const Memory& m, const Region& where, Mode mode) const noexcept { return hazards_.conflicts_with(m, where, mode); }
  /// Makes the copy and waits for it, without the lock. The array is pinned meanwhile, as by a launch. Bytes that are written are listed among the
  /// uses of parts on the host, which keeps other threads from their content: it is noted as written when the function has returned. The array may
  /// be freed by then.
  /// @param m      the device memory at one end of the step; the other end is pageable memory
  /// @param where  the bytes of the array
  /// @pre `ready`
  /// @throws DeviceError, OutOfMemory  a part of the destination may have changed; nothing of the copy is under way
  void make(Transaction& t, Memory& m, const Region& where, Mode mode, const plan::Step& step);
};

}  // namespace semcache::engine
