// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/assembly.hpp>
#include <minife/element.hpp>

#include <array>

namespace minife {
namespace {

enum class Condition { none, zero, one };

Condition condition_at(const Index3& node, const Box& mesh) {
  if (node[x_axis] == mesh.hi[x_axis] - 1) return Condition::one;
  for (int axis = 0; axis < 3; ++axis) {
    if (node[axis] == 0 || node[axis] == mesh.hi[axis] - 1) return Condition::zero;
  }
  return Condition::none;
}

/// Returns whether the neighbours of a node with Condition::one see its value. They do not on the edges of the face.
bool value_is_seen(const Index3& node, const Box& mesh) {
  for (const int axis : {y_axis, z_axis}) {
    if (node[axis] == 0 || node[axis] == mesh.hi[axis] - 1) return false;
  }
  return true;
}

/// The row of a node over its 27 possible neighbours, before the boundary conditions.
struct Stencil {
  std::array<double, 27> coefficient{};
  double load = 0;
};

constexpr unsigned stencil_slot(int dx, int dy, int dz) {
  return static_cast<unsigned>((dz + 1) * 9 + (dy + 1) * 3 + (dx + 1));
}

/// Sums up those of the eight elements around the node that the mesh has.
Stencil sum_elements(const Index3& node, const Index3& elements, const ElementSystem& element) {
  Stencil s;
  for (unsigned corner = 0; corner < 8; ++corner) {
    // The node is corner (7 - corner) of the element whose low node is node - 1 + (corner's offsets).
    const int ox = static_cast<int>(corner & 1U) - 1;
    const int oy = static_cast<int>(corner >> 1U & 1U) - 1;
    const int oz = static_cast<int>(corner >> 2U) - 1;
    const Index3 low{node[0] + ox, node[1] + oy, node[2] + oz};
    const bool exists = low[0] >= 0 && low[1] >= 0 && low[2] >= 0 && low[0] < elements[0] && low[1] < elements[1] &&
                        low[2] < elements[2];
    if (!exists) continue;
    const unsigned a = 7U - corner;
    s.load += element.load[a];
    for (unsigned b = 0; b < 8; ++b) {
      const int dx = ox + static_cast<int>(b & 1U);
      const int dy = oy + static_cast<int>(b >> 1U & 1U);
      const int dz = oz + static_cast<int>(b >> 2U);
      s.coefficient[stencil_slot(dx, dy, dz)] += element.matrix[a][b];
    }
  }
  return s;
}

}  // namespace

template <class Offset>
void assemble(const LocalGrid& grid, const SystemArrays<Offset>& system, void (*progress)(double, void*),
              void* progress_state) {
  const Box& mesh = grid.mesh_nodes();
  const Index3& n = grid.elements();
  const ElementSystem element = element_system({1.0 / n[0], 1.0 / n[1], 1.0 / n[2]});
  constexpr std::int32_t rows_between_reports = 1 << 18;

  std::int32_t row = 0;
  Offset entry = 0;
  grid.for_each_row([&](const Index3& node) {
    if (progress != nullptr && row % rows_between_reports == 0) {
      progress(static_cast<double>(row) / grid.rows(), progress_state);
    }
    const Condition own = condition_at(node, mesh);
    const Stencil stencil = own == Condition::none ? sum_elements(node, n, element) : Stencil{};
    double moved_to_rhs = 0;
    system.offsets[row] = entry;
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          const Index3 other{node[0] + dx, node[1] + dy, node[2] + dz};
          if (!mesh.contains(other)) continue;
          const bool diagonal = dx == 0 && dy == 0 && dz == 0;
          double value = 0;
          if (own != Condition::none) {
            value = diagonal ? 1 : 0;
          } else {
            value = stencil.coefficient[stencil_slot(dx, dy, dz)];
            const Condition theirs = condition_at(other, mesh);
            if (theirs == Condition::one && value_is_seen(other, mesh)) moved_to_rhs += value;
            if (theirs != Condition::none) value = 0;
          }
          system.columns[entry] = grid.column_of(other);
          system.values[entry] = value;
          ++entry;
        }
      }
    }
    system.rhs[row] = own == Condition::one ? 1.0 : own == Condition::zero ? 0.0 : stencil.load - moved_to_rhs;
    ++row;
  });
  system.offsets[row] = entry;

  for (const Neighbour& neighbour : grid.neighbours()) {
    std::int32_t next = neighbour.send_begin;
    for_each(neighbour.send, [&](const Index3& node) { system.send_entries[next++] = grid.row_of(node); });
  }
}

template void assemble(const LocalGrid&, const SystemArrays<std::int32_t>&, void (*)(double, void*), void*);
template void assemble(const LocalGrid&, const SystemArrays<std::int64_t>&, void (*)(double, void*), void*);

}  // namespace minife
