// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/assembly.hpp>
#include <minife/local_grid.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace minife::testing {

/// One rank's part of the system in plain vectors.
struct HostSystem {
  LocalGrid grid;
  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> offsets;
  std::vector<double> rhs;
  std::vector<std::int32_t> send_entries;

  HostSystem(const Index3& elements, int ranks, int rank)
      : grid(elements, ranks, rank),
        values(static_cast<std::size_t>(grid.nonzeros()), NAN),
        columns(static_cast<std::size_t>(grid.nonzeros()), -7),
        offsets(static_cast<std::size_t>(grid.rows()) + 1, -7),
        rhs(static_cast<std::size_t>(grid.rows()), NAN),
        send_entries(static_cast<std::size_t>(grid.sent_entries()), -7) {
    assemble(grid, SystemArrays<std::int64_t>{values.data(), columns.data(), offsets.data(), rhs.data(),
                                              send_entries.data()});
  }

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(grid.rows()); }
};

/// All ranks of a run in one process, exchanging by the plans of their grids.
class Ensemble {
 public:
  Ensemble(const Index3& elements, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) parts.emplace_back(elements, ranks, rank);
  }

  using Vector = std::vector<std::vector<double>>;  // by rank, by row

  [[nodiscard]] Vector zeros() const {
    Vector v;
    for (const HostSystem& part : parts) v.emplace_back(part.rows(), 0.0);
    return v;
  }
  [[nodiscard]] Vector multiply(const Vector& x) const {
    Vector y;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      const HostSystem& s = parts[rank];
      const std::vector<double> external = receive(static_cast<int>(rank), x);
      y.emplace_back(s.rows());
      for (std::size_t row = 0; row < s.rows(); ++row) {
        double sum = 0;
        for (auto k = static_cast<std::size_t>(s.offsets[row]); k < static_cast<std::size_t>(s.offsets[row + 1]); ++k) {
          const auto column = static_cast<std::size_t>(s.columns[k]);
          sum += s.values[k] * (column < s.rows() ? x[rank][column] : external.at(column - s.rows()));
        }
        y[rank][row] = sum;
      }
    }
    return y;
  }
  /// What a rank's neighbours send it.
  [[nodiscard]] std::vector<double> receive(int rank, const Vector& x) const {
    const HostSystem& s = parts[static_cast<std::size_t>(rank)];
    std::vector<double> external(static_cast<std::size_t>(s.grid.externals()), NAN);
    for (const Neighbour& n : s.grid.neighbours()) {
      const HostSystem& other = parts[static_cast<std::size_t>(n.rank)];
      for (const Neighbour& back : other.grid.neighbours()) {
        if (back.rank != rank) continue;
        for (std::int64_t i = 0; i < back.send.count(); ++i) {
          const auto entry = other.send_entries.at(static_cast<std::size_t>(back.send_begin + i));
          external.at(static_cast<std::size_t>(n.receive_begin + i)) =
              x[static_cast<std::size_t>(n.rank)][static_cast<std::size_t>(entry)];
        }
      }
    }
    return external;
  }

  std::vector<HostSystem> parts;
};

/// The matrix as a map from pairs of mesh positions to values: independent of numbering and ranks.
[[nodiscard]] inline std::map<std::pair<std::int64_t, std::int64_t>, double> global_matrix(const Ensemble& ensemble) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> matrix;
  for (const HostSystem& s : ensemble.parts) {
    const Box& mesh = s.grid.mesh_nodes();
    std::size_t row = 0;
    s.grid.for_each_row([&](const Index3& node) {
      std::size_t k = static_cast<std::size_t>(s.offsets[row]);
      const Box around = grow(Box{node, {node[0] + 1, node[1] + 1, node[2] + 1}}, mesh);
      for_each(around, [&](const Index3& other) {
        matrix[{mesh.position(node), mesh.position(other)}] = s.values[k];
        ++k;
      });
      ++row;
    });
  }
  return matrix;
}

}  // namespace minife::testing
