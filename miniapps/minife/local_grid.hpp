// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/box.hpp>

#include <cstdint>
#include <vector>

namespace minife {

/// The nodes whose values a rank exchanges with one other rank before each product.
struct Neighbour {
  int rank = 0;
  Box receive;                     ///< nodes of the other rank that this rank's rows refer to
  Box send;                        ///< nodes of this rank that the other rank's rows refer to
  std::int32_t receive_begin = 0;  ///< first of receive.count() entries of x_external
  std::int32_t send_begin = 0;     ///< first of send.count() entries of the send buffer
};

/// The part of the mesh that one rank owns, and how its unknowns are numbered.
///
/// The rows are first the interior nodes (this rank owns all their neighbours), then the boundary nodes, each group in mesh
/// order (x fastest). So the product over the first interior_rows() rows needs no values from other ranks.
/// A column below rows() is a local row; column rows() + k is entry k of the array of received values.
/// Every number follows from the boxes, so nothing is communicated and nothing is stored per node.
class LocalGrid {
 public:
  /// @param elements  elements along each axis, at least 1
  /// @throws std::invalid_argument  a rank would own no element, or more rows than 32-bit columns can number; the
  ///                                text names the values and the remedy. All ranks throw the same.
  LocalGrid(const Index3& elements, int ranks, int rank);

  [[nodiscard]] const Box& mesh_nodes() const noexcept { return mesh_nodes_; }
  [[nodiscard]] const Box& owned() const noexcept { return owned_; }
  [[nodiscard]] const Box& interior() const noexcept { return interior_; }
  [[nodiscard]] const Index3& elements() const noexcept { return elements_; }

  [[nodiscard]] std::int32_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int32_t interior_rows() const noexcept { return interior_rows_; }
  [[nodiscard]] std::int32_t externals() const noexcept { return externals_; }
  [[nodiscard]] std::int32_t sent_entries() const noexcept { return sent_entries_; }
  [[nodiscard]] std::int64_t nonzeros() const noexcept { return nonzeros_; }
  [[nodiscard]] std::int64_t total_rows() const noexcept { return mesh_nodes_.count(); }
  [[nodiscard]] const std::vector<Neighbour>& neighbours() const noexcept { return neighbours_; }

  /// Returns the row of an owned node. @pre owned().contains(node)
  [[nodiscard]] std::int32_t row_of(const Index3& node) const noexcept;
  /// Returns the column of a node that one of the rows refers to. @pre the node is owned, or next to an owned node
  [[nodiscard]] std::int32_t column_of(const Index3& node) const noexcept;

  /// Calls f(node) for every owned node in the order of the rows.
  template <class F>
  void for_each_row(F&& f) const {
    for_each(interior_, f);
    for_each_boundary_node(f);
  }

 private:
  template <class F>
  void for_each_boundary_node(F&& f) const {
    for (int z = owned_.lo[2]; z < owned_.hi[2]; ++z) {
      for (int y = owned_.lo[1]; y < owned_.hi[1]; ++y) {
        const bool crosses = !interior_.empty() && interior_.contains({interior_.lo[0], y, z});
        for (int x = owned_.lo[0]; x < owned_.hi[0]; ++x) {
          if (crosses && x == interior_.lo[0]) x = interior_.hi[0];
          if (x < owned_.hi[0]) f(Index3{x, y, z});
        }
      }
    }
  }
  [[nodiscard]] std::int64_t interior_nodes_before(const Index3& node) const noexcept;

  Index3 elements_;
  Box mesh_nodes_;
  Box owned_;
  Box interior_;
  std::int32_t rows_ = 0;
  std::int32_t interior_rows_ = 0;
  std::int32_t externals_ = 0;
  std::int32_t sent_entries_ = 0;
  std::int64_t nonzeros_ = 0;
  std::vector<Neighbour> neighbours_;
};

}  // namespace minife
