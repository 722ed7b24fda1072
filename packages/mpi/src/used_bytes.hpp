// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "mpi_api.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace semcache::mpi {

/// Bytes [begin, end) from the address that a call is given.
struct Piece {
  std::int64_t begin;
  std::int64_t end;
};

/// `count` elements of `type`, `displacement` bytes from the address that a call is given.
struct Block {
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
};
using Blocks = std::vector<Block>;

/// The bytes that a call uses of one buffer, in the order in which a message fills them; neighbours are one piece.
class UsedBytes {
 public:
  UsedBytes() = default;
  UsedBytes(MPI_Count count, MPI_Datatype type);
  explicit UsedBytes(const Blocks& blocks);

  void add(Piece piece) {
    if (piece.begin == piece.end) return;
    if (!pieces_.empty() && pieces_.back().end == piece.begin) {
      pieces_.back().end = piece.end;
    } else {
      pieces_.push_back(piece);
    }
  }
  /// Only the first `bytes` of them.
  void cut(std::uint64_t bytes);

  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  [[nodiscard]] Piece hull() const noexcept;
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

/// Distance between consecutive elements.
[[nodiscard]] MPI_Aint extent_of(MPI_Datatype type);
/// Made by the program, so that its first byte may be elsewhere than the address of the call.
[[nodiscard]] bool is_derived(MPI_Datatype type);
/// From the first to the last byte that an element uses, for is_derived types.
[[nodiscard]] Piece hull_of(MPI_Datatype type);
/// Made of elements at regular distances alone: not of indices or addresses, which may lead anywhere.
[[nodiscard]] bool is_part_of_one_array(MPI_Datatype type);
/// Of one element, for is_derived types.
[[nodiscard]] std::shared_ptr<const std::vector<Piece>> pieces_of(MPI_Datatype type);

}  // namespace semcache::mpi
