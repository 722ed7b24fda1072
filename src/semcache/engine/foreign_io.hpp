// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/host_access.hpp>

namespace semcache::engine {

/// Provides bytes for code whose accesses are not noticed: MPI and system calls. Such code gets private memory, never an array's.
/// So a message that is under way has the bytes of the call whatever overwrites the array (I4). What arrives is not seen, and
/// does not lock any access out, before the program has asked for it.
///
/// A piece [b, e) lies at [position + b, position + e) of the array, and at [b, e) behind `to` or `from`, which points into the
/// buffer.
///
/// Threads: any.
class ForeignIo : Parts {
 public:
  explicit ForeignIo(const Parts& parts) noexcept : Parts(parts) {}

  /// Waits until no transfer uses the buffer any more. Foreign code may then read and write it.
  /// @pre no message is expected of it (`expect_read_out`)
  void settle_buffer(TransitBuffer& buffer);
  /// Does this very memory hold the content of all pieces?
  [[nodiscard]] bool valid_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  /// Brings the content that the pieces have now to the buffer, where it is complete after `settle_buffer`. If the array is on
  /// the host, it is fresh in the pieces afterwards. No other bytes move, unless a host array has more pieces than its maps
  /// should hold: then their hull is made fresh.
  void read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                std::byte* to);
  /// Announces that the next use of the buffer will be a `read_out` with these arguments, so that what kernels write may be
  /// brought beforehand.
  void expect_read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                       TransitBuffer& buffer, std::byte* to);
  /// Writes what the buffer holds to the pieces, as their new content. The buffer may be given back at once, and written again
  /// after `settle_buffer`.
  void write_in(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                const std::byte* from);
  /// Does the same for messages that lie side by side in one block and have all arrived. Returns false, and does nothing, if they
  /// do not share a block.
  bool write_in_together(Memory& memory, ByteRange range, TransitBuffer* const* buffers, std::size_t count);

 private:
  /// Can the memory of these pieces be mapped at once? Takes the lock.
  [[nodiscard]] bool fits(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count);
  /// Returns the step from the best source, seen from the host, for the first bytes of `range`, as many as possible. Where it
  /// goes to is not set. Without a source, the bytes are made from the step's fill, or were never written if that is empty.
  [[nodiscard]] directory::Step nearest_source(const Memory& memory, ByteRange range) const;
  /// `read_out` of a device array to a buffer on the host.
  void read_from_device(Transaction& transaction, Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                        TransitBuffer& buffer, std::byte* to);
};

}  // namespace semcache::engine
