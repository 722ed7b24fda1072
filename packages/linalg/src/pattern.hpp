// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "call.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace semcache::linalg {

/// A copy of a matrix' row pointers, of 32 bits, in a device array of its own.
class NarrowRowPointers : base::Uncopied {
 public:
  /// @throws OutOfMemory
  explicit NarrowRowPointers(const std::vector<std::int32_t>& content);
  ~NarrowRowPointers();
  [[nodiscard]] const std::int32_t* data() const noexcept { return data_; }

 private:
  std::int32_t* data_;
  std::uint64_t epoch_;
};

/// How the rows of a sparse matrix are shared out, and what each share needs of the vector that is multiplied.
struct Pattern {
  struct Share {
    std::uint32_t device = 0;
    policy::Run rows;
    policy::Run entries;              ///< of these rows
    std::vector<policy::Run> needed;  ///< columns that occur in them: at most four runs, ascending, with gaps between them
    policy::Run around;               ///< lies around `needed`: all of these get one piece of memory. That of the device, where that has room
    bool is_tight = false;            ///< the device has no room for more of the vectors than the share uses itself
  };
  /// By device. A device has several where one does not fit, or where most rows refer to its own elements of a vector only: these rows come first,
  /// and are multiplied while what the others refer to is on its way.
  std::vector<Share> shares;
  std::vector<policy::Run> rows;         ///< of each device up to the last one that has some; of one that is left out: empty
  std::vector<policy::Run> around;       ///< the columns from the first to the last that occur in a device's rows
  /// `around`, where it is little more than `rows`, so that the memory for these rows of any vector has room for it; otherwise empty (see
  /// `VectorCut`)
  std::vector<policy::Run> room;
  RowLengths lengths = RowLengths::alike;  ///< of the rows of each device
  std::unique_ptr<const NarrowRowPointers> row_pointers;  ///< nullptr where those of the matrix have 32 bits
};

/// The pattern of a CSR matrix.
struct PatternArrays {
  const void* row_pointers;
  std::size_t offset_bytes;  ///< of a row pointer: 4 or 8
  const std::int32_t* column_indices;
  std::uint64_t rows;
  std::uint64_t columns;
  std::int64_t entries;
};

/// Returns the cut of a pattern for so many devices: the one that was found for the same content before, or a new one, for which the host reads
/// the arrays.
/// @throws UsageError  the pattern is none of a matrix; the text names the row or the entry
/// @param devices  so many at most
/// @param own  the rows of devices as the program wants them (`own_cut`), instead; empty: it does not
/// @param memory  of each device: what a share uses of the matrix and of two vectors fits, unless a few rows do not
/// @param scalar_bytes  of a value, and of an element of the vectors
/// @param least_split  from so many entries on a device's rows are cut where they refer to elements of others
[[nodiscard]] std::shared_ptr<const Pattern> pattern_of(const PatternArrays& arrays, std::size_t devices, const std::vector<policy::Held>& own,
                                                        const std::vector<policy::Memory>& memory, std::uint64_t scalar_bytes,
                                                        std::uint64_t least_split);

/// Computes it. A device that has no room for what a few of its rows use is left out, if another one has. Pure.
/// @param row_pointers, column_indices  in host memory that can be read
[[nodiscard]] Pattern cut_pattern(const std::int32_t* row_pointers, const std::int32_t* column_indices, std::uint64_t rows, std::uint64_t columns,
                                  std::int64_t entries, std::size_t devices, const std::vector<policy::Held>& own,
                                  const std::vector<policy::Memory>& memory, std::uint64_t scalar_bytes, std::uint64_t least_split);

}  // namespace semcache::linalg
