// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <array>

namespace minife {

/// The matrix and the load of one brick-shaped 8-node element for steady heat conduction with conductivity 1 and a uniform
/// source of 1. Node a of the element is the corner (a & 1, a >> 1 & 1, a >> 2).
struct ElementSystem {
  std::array<std::array<double, 8>, 8> matrix;
  std::array<double, 8> load;
};

/// @param edges  lengths of the element along x, y and z, positive
[[nodiscard]] ElementSystem element_system(const std::array<double, 3>& edges);

}  // namespace minife
