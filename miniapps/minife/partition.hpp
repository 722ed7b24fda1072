// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/box.hpp>

#include <vector>

namespace minife {

/// Splits a box of elements into `parts` boxes by recursive bisection: z first, then y, then x, and so on. With an odd number
/// of parts the low half gets one part fewer. Within rounding, each half's share of the elements is its share of the parts.
/// The result is the partition of the reference miniFE, box by box.
/// @pre parts >= 1
[[nodiscard]] std::vector<Box> partition_elements(const Box& elements, int parts);

/// Returns the nodes that belong to a box of elements: one for each element, at its low corner, and the closing layer where
/// the box reaches the high end of the mesh.
[[nodiscard]] Box owned_nodes(const Box& elements, const Box& all_elements);

/// Returns all nodes of a mesh of `all_elements`.
[[nodiscard]] Box all_nodes(const Box& all_elements);

}  // namespace minife
