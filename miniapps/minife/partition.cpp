// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/partition.hpp>

namespace minife {
namespace {

void bisect(const Box& box, int axis, int first, int parts, std::vector<Box>& out) {
  if (parts == 1) {
    out[static_cast<std::size_t>(first)] = box;
    return;
  }
  const int low_parts = parts / 2;
  const int high_parts = parts - low_parts;
  // Computed in doubles and truncated, as in the reference, so that the boxes agree for every size.
  const double high_share = static_cast<double>(high_parts) / static_cast<double>(parts);
  const int high_size = static_cast<int>(static_cast<double>(box.hi[axis] - box.lo[axis]) * high_share);
  const int cut = box.hi[axis] - high_size;
  const int next_axis = axis == x_axis ? z_axis : axis - 1;

  Box low = box;
  low.hi[axis] = cut;
  bisect(low, next_axis, first, low_parts, out);
  Box high = box;
  high.lo[axis] = cut;
  bisect(high, next_axis, first + low_parts, high_parts, out);
}

}  // namespace

std::vector<Box> partition_elements(const Box& elements, int parts) {
  std::vector<Box> boxes(static_cast<std::size_t>(parts));
  bisect(elements, z_axis, 0, parts, boxes);
  return boxes;
}

Box owned_nodes(const Box& elements, const Box& all_elements) {
  Box nodes = elements;
  for (int axis = 0; axis < 3; ++axis) {
    if (elements.size(axis) > 0 && elements.hi[axis] == all_elements.hi[axis]) ++nodes.hi[axis];
  }
  return nodes;
}

Box all_nodes(const Box& all_elements) {
  Box nodes = all_elements;
  for (int& end : nodes.hi) ++end;
  return nodes;
}

}  // namespace minife
