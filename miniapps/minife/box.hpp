// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace minife {

inline constexpr int x_axis = 0;
inline constexpr int y_axis = 1;
inline constexpr int z_axis = 2;

/// A position in the mesh, counted in elements or in nodes.
using Index3 = std::array<int, 3>;

/// A half-open box of elements or nodes: lo <= position < hi on each axis.
struct Box {
  Index3 lo{0, 0, 0};
  Index3 hi{0, 0, 0};

  [[nodiscard]] int size(int axis) const noexcept { return hi[axis] > lo[axis] ? hi[axis] - lo[axis] : 0; }
  [[nodiscard]] std::int64_t count() const noexcept {
    return std::int64_t{size(x_axis)} * size(y_axis) * size(z_axis);
  }
  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  [[nodiscard]] bool contains(const Index3& p) const noexcept {
    return lo[0] <= p[0] && p[0] < hi[0] && lo[1] <= p[1] && p[1] < hi[1] && lo[2] <= p[2] && p[2] < hi[2];
  }
  /// Returns the place of `p` in a walk through the box with x fastest and z slowest.
  /// @pre contains(p)
  [[nodiscard]] std::int64_t position(const Index3& p) const noexcept {
    return (std::int64_t{p[2] - lo[2]} * size(y_axis) + (p[1] - lo[1])) * size(x_axis) + (p[0] - lo[0]);
  }
  friend bool operator==(const Box& a, const Box& b) noexcept { return a.lo == b.lo && a.hi == b.hi; }
};

[[nodiscard]] inline Box intersect(const Box& a, const Box& b) noexcept {
  Box r;
  for (int axis = 0; axis < 3; ++axis) {
    r.lo[axis] = std::max(a.lo[axis], b.lo[axis]);
    r.hi[axis] = std::max(r.lo[axis], std::min(a.hi[axis], b.hi[axis]));
  }
  return r;
}

/// Returns `box` with one more layer on every side, clipped to `limits`.
[[nodiscard]] inline Box grow(const Box& box, const Box& limits) noexcept {
  Box r = box;
  for (int axis = 0; axis < 3; ++axis) {
    --r.lo[axis];
    ++r.hi[axis];
  }
  return intersect(r, limits);
}

/// Calls f(p) for every position of the box, x fastest, z slowest.
template <class F>
void for_each(const Box& box, F&& f) {
  for (int z = box.lo[2]; z < box.hi[2]; ++z) {
    for (int y = box.lo[1]; y < box.hi[1]; ++y) {
      for (int x = box.lo[0]; x < box.hi[0]; ++x) f(Index3{x, y, z});
    }
  }
}

}  // namespace minife
