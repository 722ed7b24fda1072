// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/transfers.hpp>

namespace semcache::engine {

/// Where a message's piece lies in an array.
[[nodiscard]] inline ByteRange at_array(ByteRange piece, std::uint64_t position) noexcept {
  return {piece.begin + position, piece.end + position};
}

/// Messages of persistent requests: between two of them their memory is nobody's, so the next content can be brought as
/// soon as a kernel has written it, while later kernels run.
///
/// Threads: with the engine's lock.
class ExpectedMessages : Parts {
 public:
  explicit ExpectedMessages(const Parts& parts) noexcept : Parts(parts) {}

  /// See `ForeignIo::expect_read_out`.
  void expect(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer, std::byte* to);
  /// After a launch that wrote `m`: the messages that always followed one such launch so far.
  void bring_expected(Memory& memory);
  [[nodiscard]] bool brought(const Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                             const TransitBuffer& buffer, const std::byte* to) const;
  [[nodiscard]] bool fresh_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  /// Copies from memory that is mapped and fresh there, behind what writes it.
  void submit_pieces(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                     TransitBuffer& buffer, std::byte* to);

 private:
  /// Changes with everything that is written into device memory.
  [[nodiscard]] std::uint64_t written_by_device(const Memory& memory) const noexcept;

  std::vector<TransitBuffer*> due_;  ///< of `bring_expected`
};

}  // namespace semcache::engine
