// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/transfers.hpp>

namespace semcache::engine {

/// Returns where a message's piece lies in its array.
[[nodiscard]] inline ByteRange at_array(ByteRange piece, std::uint64_t position) noexcept {
  return {piece.begin + position, piece.end + position};
}

/// Brings the next content of persistent requests. Between two messages of a request no code uses the request's buffer, so the
/// next content can be brought as soon as a kernel has written it, while later kernels run.
///
/// Threads: with the engine's lock.
class ExpectedMessages : Parts {
 public:
  explicit ExpectedMessages(const Parts& parts) noexcept : Parts(parts) {}

  /// See `ForeignIo::expect_read_out`.
  void expect(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count, TransitBuffer& buffer, std::byte* to);
  /// Called after a launch that wrote the array: brings the messages that have always followed one such launch so far.
  void bring_expected(Memory& memory);
  /// Has the present content of these pieces been brought to the buffer already?
  [[nodiscard]] bool brought(const Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                             const TransitBuffer& buffer, const std::byte* to) const;
  /// Is this memory resident, and fresh in all pieces?
  [[nodiscard]] bool fresh_here(const Memory& memory, std::uint64_t position, const ByteRange* pieces,
                                std::size_t count) const;
  /// Submits the copy of the pieces to the buffer, behind the work that writes them. @pre the memory is mapped, and fresh in the
  /// pieces
  void submit_pieces(Memory& memory, std::uint64_t position, const ByteRange* pieces, std::size_t count,
                     TransitBuffer& buffer, std::byte* to);

 private:
  /// Returns a number that changes with everything that is written into this device memory.
  [[nodiscard]] std::uint64_t written_by_device(const Memory& memory) const noexcept;

  base::Vector<TransitBuffer*> due_;  ///< working memory of `bring_expected`
};

}  // namespace semcache::engine
