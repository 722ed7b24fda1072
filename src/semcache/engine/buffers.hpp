// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/hazards.hpp>

namespace semcache::engine {

class Transaction;

/// Memory of messages: what nobody uses now is kept for the next one, within limits.
///
/// Threads: with the engine's lock.
class Buffers : Parts {
 public:
  explicit Buffers(const Parts& parts) noexcept : Parts(parts) {}

  /// @throws OutOfMemory
  TransitBuffer* take(Transaction& transaction, std::uint64_t bytes, bool on_device);
  TransitBuffer* take_beside(Transaction& transaction, Memory& memory, ByteRange range);
  void give(Transaction& transaction, std::unique_ptr<TransitBuffer> buffer) noexcept;
  /// Somebody else needs the memory. False if there was none.
  bool release_idle(Transaction& transaction, bool on_device) noexcept;
  [[nodiscard]] std::uint64_t idle_device_bytes() const noexcept { return idle_device_bytes_; }

 private:
  using List = std::vector<std::unique_ptr<TransitBuffer>>;
  std::unique_ptr<TransitBuffer> no_longer_idle(List::iterator which) noexcept;
  void free_buffer(Transaction& transaction, std::unique_ptr<TransitBuffer> buffer) noexcept;

  std::size_t taken_ = 0;  ///< that will be idle again
  List idle_;
  std::uint64_t idle_host_bytes_ = 0;
  std::uint64_t idle_device_bytes_ = 0;
};

}  // namespace semcache::engine
