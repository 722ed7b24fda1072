// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/hazards.hpp>

namespace semcache::engine {

class Transaction;

/// The memory of messages. Buffers that no message uses now are kept idle for the next one, within limits.
///
/// Threads: with the engine's lock.
class Buffers : Parts {
 public:
  explicit Buffers(const Parts& parts) noexcept : Parts(parts) {}

  /// Returns an idle buffer that is large enough, or a new one; gives up the lock to allocate. @throws OutOfMemory
  TransitBuffer* take(Transaction& transaction, std::uint64_t bytes, bool on_device);
  /// See `ForeignIo::take_buffer_beside`.
  TransitBuffer* take_beside(Transaction& transaction, Memory& memory, ByteRange range);
  /// Takes a buffer back, to be kept idle or freed.
  void give(Transaction& transaction, std::unique_ptr<TransitBuffer> buffer) noexcept;
  /// Frees all idle buffers on the device, or all on the host, because the memory is needed. Returns false if there were none.
  bool release_idle(Transaction& transaction, bool on_device) noexcept;
  [[nodiscard]] std::uint64_t idle_device_bytes() const noexcept { return idle_device_bytes_; }

 private:
  using List = std::vector<std::unique_ptr<TransitBuffer>>;
  /// Removes a buffer from `idle_`.
  std::unique_ptr<TransitBuffer> no_longer_idle(List::iterator which) noexcept;
  /// Frees the buffer when the last device work that uses it is done.
  void free_buffer(Transaction& transaction, std::unique_ptr<TransitBuffer> buffer) noexcept;

  std::size_t taken_ = 0;  ///< buffers in use that may become idle again: `idle_` has room for them
  List idle_;
  std::uint64_t idle_host_bytes_ = 0;
  std::uint64_t idle_device_bytes_ = 0;
};

}  // namespace semcache::engine
