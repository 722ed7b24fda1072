// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/host_access.hpp>

namespace semcache::engine {

/// Bytes for code that nobody notices: MPI, system calls. It gets private memory, never an array's: so a message that
/// is under way has the bytes of the call whatever overwrites the array (I4), and nothing that arrives is seen, or
/// locks anybody out, before the program has asked for it. A piece at [b, e) lies at [position + b, position + e) of the array and
/// at [b, e) behind `to` or `from`, which points into the buffer. Threads: any.
class ForeignIo : Parts {
 public:
  explicit ForeignIo(const Parts& parts) noexcept : Parts(parts) {}

  /// Memory that nobody else uses; on the device's side where asked for. @throws OutOfMemory.
  TransitBuffer* take_buffer(std::uint64_t bytes, bool on_device);
  /// The same for persistent messages of `range` of a device array: side by side with those of its other ranges. nullptr
  /// where the array is too large, or another message has some of these bytes.
  TransitBuffer* take_buffer_beside(Memory& memory, ByteRange range);
  void give_buffer(TransitBuffer* buffer) noexcept;
  /// Afterwards no transfer uses the buffer any more: foreign code may read and write it.
  /// @pre nothing is expected of it
  void settle_buffer(TransitBuffer& buffer);
  /// Do all pieces have their content in this very memory?
  [[nodiscard]] bool valid_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  /// The buffer gets the content that the pieces have now: complete after `settle_buffer`. Exactly they move; a host
  /// array is fresh there afterwards.
  void read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                std::byte* to);
  /// The next use of the buffer will be a `read_out` with these arguments: what kernels write may be brought beforehand.
  void expect_read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                       TransitBuffer& buffer, std::byte* to);
  /// The pieces get what the buffer holds, as their new content. The buffer may be given back at once, and written after
  /// `settle_buffer`.
  void write_in(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                const std::byte* from);
  /// The same for messages that lie side by side in one block and that all have arrived. False: they do not; nothing is done.
  bool write_in_together(Memory& memory, ByteRange range, TransitBuffer* const* buffers, std::size_t count);

 private:
  struct Source {
    SlotId slot;             ///< invalid: made of `fill`, or never written
    std::uint64_t position;
    std::uint64_t bytes;
    directory::Fill fill;
    std::uint64_t phase;     ///< of the pattern at its first byte
  };
  [[nodiscard]] Source nearest_source(const Memory& memory, ByteRange range) const;
  void read_from_device(Transaction& transaction, Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                        TransitBuffer& buffer, std::byte* to);
};

}  // namespace semcache::engine
