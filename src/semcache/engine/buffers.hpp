// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/hazards.hpp>

namespace semcache::engine {

class Transaction;

/// The memory of messages. Buffers that no message uses now are kept idle for the next one, within limits.
///
/// Threads: with the engine's lock, except members that make the transaction themselves: any.
class Buffers : Parts {
 public:
  explicit Buffers(const Parts& parts) noexcept : Parts(parts) {}

  /// Returns memory that nothing else uses, an idle buffer that is large enough, or a new one. Makes the transaction. @throws OutOfMemory
  /// @param beside  device memory is taken on this array's device; nullptr: on the home device
  TransitBuffer* take(std::uint64_t bytes, Side where, const Memory* beside = nullptr);
  /// Returns memory for persistent messages of `range` of a device array, side by side with that for its other ranges. Returns
  /// nullptr if the array is too large, another message has some of these bytes, or there is no memory. Makes the transaction.
  TransitBuffer* take_beside(Memory& memory, ByteRange range);
  /// Takes a buffer back, to be kept idle or freed. Makes the transaction.
  void give(TransitBuffer* buffer) noexcept;
  /// Frees all idle buffers in this space, because the memory is needed. Returns false if there were none.
  bool release_idle(Transaction& transaction, SpaceId space) noexcept;
  /// Returns how many bytes of this space idle buffers have.
  [[nodiscard]] std::uint64_t idle_bytes(SpaceId space) const noexcept;

 private:
  using List = std::vector<std::unique_ptr<TransitBuffer>>;
  /// Removes a buffer from `idle_`.
  std::unique_ptr<TransitBuffer> no_longer_idle(List::iterator which) noexcept;
  /// Frees the buffer when the last device work that uses it is done.
  void free_buffer(Transaction& transaction, std::unique_ptr<TransitBuffer> buffer) noexcept;

  std::size_t taken_ = 0;  ///< buffers in use that may become idle again: `idle_` has room for them
  List idle_;
  std::uint64_t idle_bytes_ = 0;  ///< in all spaces
};

}  // namespace semcache::engine
