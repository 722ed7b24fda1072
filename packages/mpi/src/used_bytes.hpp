// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "mpi_api.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace semcache::mpi {

/// The bytes at the distances [begin, end) from the address that the call gets.
struct Piece {
  std::int64_t begin;
  std::int64_t end;
};

/// `count` elements of `type`, beginning `displacement` bytes behind the address that the call gets.
struct Block {
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
};
using Blocks = std::vector<Block>;

/// The bytes that a call uses of one buffer, in the order in which a message fills them. Pieces that follow each other in
/// the message and adjoin in memory are merged.
class UsedBytes {
 public:
  UsedBytes() = default;
  /// @throws UsageError  the library uses other bytes than the datatype's definition names (here and below)
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
  /// Keeps only the first `bytes` bytes.
  void cut(std::uint64_t bytes);

  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  [[nodiscard]] Piece hull() const noexcept;
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

/// Returns the distance between consecutive elements.
[[nodiscard]] MPI_Aint extent_of(MPI_Datatype type);
/// Returns whether the program made the type. The first byte of such a type may be elsewhere than at the call's address.
[[nodiscard]] bool is_derived(MPI_Datatype type);
/// Returns the range from the first to the last byte that an element of a derived type uses.
[[nodiscard]] Piece hull_of(MPI_Datatype type);
/// Returns whether the type consists of elements at regular distances only. Types made of indices or addresses do not: they
/// may lead into several arrays.
[[nodiscard]] bool is_part_of_one_array(MPI_Datatype type);
/// Returns the pieces that one element of a derived type uses.
[[nodiscard]] std::shared_ptr<const std::vector<Piece>> pieces_of(MPI_Datatype type);

}  // namespace semcache::mpi
