// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/local_grid.hpp>
#include <minife/partition.hpp>

#include <limits>
#include <stdexcept>
#include <string>

namespace minife {
namespace {

std::string describe(const Index3& elements) {
  return std::to_string(elements[0]) + " x " + std::to_string(elements[1]) + " x " + std::to_string(elements[2]);
}

/// Returns the sum, over the nodes of `owned` along one axis, of the nodes that each reaches: itself and its two neighbours.
std::int64_t reach(const Box& owned, const Box& mesh, int axis) {
  std::int64_t sum = 3 * std::int64_t{owned.size(axis)};
  if (owned.lo[axis] == mesh.lo[axis]) --sum;
  if (owned.hi[axis] == mesh.hi[axis]) --sum;
  return sum;
}

void check_sizes(const Index3& elements, const std::vector<Box>& parts) {
  const Box all{{0, 0, 0}, elements};
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].empty()) {
      throw std::invalid_argument("a mesh of " + describe(elements) + " elements cannot be split over " +
                                  std::to_string(parts.size()) + " ranks: rank " + std::to_string(rank) +
                                  " would own nothing. Use fewer ranks or a larger mesh.");
    }
    const Box nodes = owned_nodes(parts[rank], all);
    const Box mesh = all_nodes(all);
    // Rows and external columns together are numbered by the non-negative 32-bit integers.
    const std::int64_t columns = grow(nodes, mesh).count();
    if (columns > std::numeric_limits<std::int32_t>::max()) {
      throw std::invalid_argument("a mesh of " + describe(elements) + " elements gives rank " + std::to_string(rank) +
                                  " of " + std::to_string(parts.size()) + " " + std::to_string(columns) +
                                  " columns; 32-bit column numbers end at 2147483647. Use more ranks.");
    }
  }
}

}  // namespace

LocalGrid::LocalGrid(const Index3& elements, int ranks, int rank) : elements_(elements) {
  const Box all{{0, 0, 0}, elements};
  const std::vector<Box> parts = partition_elements(all, ranks);
  check_sizes(elements, parts);

  mesh_nodes_ = all_nodes(all);
  owned_ = owned_nodes(parts[static_cast<std::size_t>(rank)], all);
  interior_ = owned_;
  for (int axis = 0; axis < 3; ++axis) {
    if (owned_.lo[axis] > mesh_nodes_.lo[axis]) ++interior_.lo[axis];
    if (owned_.hi[axis] < mesh_nodes_.hi[axis]) --interior_.hi[axis];
    if (interior_.hi[axis] < interior_.lo[axis]) interior_.hi[axis] = interior_.lo[axis];
  }
  rows_ = static_cast<std::int32_t>(owned_.count());
  interior_rows_ = static_cast<std::int32_t>(interior_.count());
  nonzeros_ = reach(owned_, mesh_nodes_, 0) * reach(owned_, mesh_nodes_, 1) * reach(owned_, mesh_nodes_, 2);

  const Box reached = grow(owned_, mesh_nodes_);
  for (int other = 0; other < ranks; ++other) {
    if (other == rank) continue;
    const Box theirs = owned_nodes(parts[static_cast<std::size_t>(other)], all);
    Neighbour n;
    n.rank = other;
    n.receive = intersect(reached, theirs);
    if (n.receive.empty()) continue;
    // Both sides walk the same box in the same order, so the plan needs no communication. Each side knows that the other is a
    // neighbour, because touching is mutual.
    n.send = intersect(grow(theirs, mesh_nodes_), owned_);
    n.receive_begin = externals_;
    n.send_begin = sent_entries_;
    externals_ += static_cast<std::int32_t>(n.receive.count());
    sent_entries_ += static_cast<std::int32_t>(n.send.count());
    neighbours_.push_back(n);
  }
}

std::int64_t LocalGrid::interior_nodes_before(const Index3& node) const noexcept {
  if (interior_.empty()) return 0;
  const auto clamp_to = [&](int axis) {
    return std::min(std::max(node[axis], interior_.lo[axis]), interior_.hi[axis]) - interior_.lo[axis];
  };
  const std::int64_t nx = interior_.size(x_axis);
  const std::int64_t ny = interior_.size(y_axis);
  const std::int64_t full_layers = clamp_to(z_axis);
  const bool in_layer = interior_.lo[2] <= node[2] && node[2] < interior_.hi[2];
  const std::int64_t full_lines = in_layer ? clamp_to(y_axis) : 0;
  const bool in_line = in_layer && interior_.lo[1] <= node[1] && node[1] < interior_.hi[1];
  return (full_layers * ny + full_lines) * nx + (in_line ? clamp_to(x_axis) : 0);
}

std::int32_t LocalGrid::row_of(const Index3& node) const noexcept {
  if (interior_.contains(node)) return static_cast<std::int32_t>(interior_.position(node));
  const std::int64_t boundary_position = owned_.position(node) - interior_nodes_before(node);
  return static_cast<std::int32_t>(interior_rows_ + boundary_position);
}

std::int32_t LocalGrid::column_of(const Index3& node) const noexcept {
  if (owned_.contains(node)) return row_of(node);
  for (const Neighbour& n : neighbours_) {
    if (n.receive.contains(node)) {
      return rows_ + n.receive_begin + static_cast<std::int32_t>(n.receive.position(node));
    }
  }
  return -1;
}

}  // namespace minife
