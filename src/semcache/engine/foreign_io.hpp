// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/host_access.hpp>

namespace semcache::engine {

/// Bytes for code that nobody notices: MPI, system calls. It gets private memory, never an array's: so a message that
/// is under way has the bytes of the call whatever overwrites the array (I4), and nothing that arrives is seen, or
/// locks anybody out, before the program has asked for it. Public members are `Engine`'s. Threads: any.
class ForeignIo {
 public:
  ForeignIo(State& state, Transactions& transactions, Executor& executor, Hazards& hazards, Transfers& transfers,
            Preparation& preparation, Buffers& buffers, ExpectedMessages& expected, HostAccess& host_access) noexcept
      : s_(state), transactions_(transactions), executor_(executor), hazards_(hazards), transfers_(transfers),
        preparation_(preparation), buffers_(buffers), expected_(expected), host_access_(host_access) {}

  TransitBuffer* take_buffer(std::uint64_t bytes, bool on_device);
  TransitBuffer* take_buffer_beside(Memory& memory, ByteRange range);
  void give_buffer(TransitBuffer* buffer) noexcept;
  void settle_buffer(TransitBuffer& buffer);
  [[nodiscard]] bool valid_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  void read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                std::byte* to);
  void expect_read_out(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                       TransitBuffer& buffer, std::byte* to);
  void write_in(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer,
                const std::byte* from);
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

  State& s_;
  Transactions& transactions_;
  Executor& executor_;
  Hazards& hazards_;
  Transfers& transfers_;
  Preparation& preparation_;
  Buffers& buffers_;
  ExpectedMessages& expected_;
  HostAccess& host_access_;
};

}  // namespace semcache::engine
