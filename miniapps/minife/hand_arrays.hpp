// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/assembly.hpp>
#include <minife/cg_kernels.hpp>
#include <minife/hand_link.hpp>

#include <string>

namespace minife {

/// An array on the device and, if asked for, its mirror on the host.
template <class View>
struct Pair {
  View device;
  HandSpaces::Mirror<View> host;
};

/// Which arrays have mirrors.
enum class Mirrors {
  exchanged,      ///< those that cross the link once or at the halo
  direction_too,  ///< these and the direction
  all,            ///< all arrays
};

/// The arrays of the hand-placed variants.
template <class Types>
struct HandArrays {
  Pair<typename Types::Real> values;
  Pair<typename Types::Index> columns;
  Pair<typename Types::Offsets> offsets;
  Pair<typename Types::Index> send_entries;
  Pair<typename Types::Real> rhs;
  Pair<typename Types::Real> solution;
  Pair<typename Types::Real> direction;
  Pair<typename Types::Real> product;
  Pair<typename Types::Real> residual;
  Pair<typename Types::Real> send_buffer;
  Pair<typename Types::Real> external;

  HandArrays(const LocalGrid& grid, Mirrors mirrors) {
    const auto rows = static_cast<std::size_t>(grid.rows());
    const auto nonzeros = static_cast<std::size_t>(grid.nonzeros());
    allocate(values, "values", nonzeros, true);
    allocate(columns, "columns", nonzeros, true);
    allocate(offsets, "offsets", rows + 1, true);
    allocate(send_entries, "send_entries", static_cast<std::size_t>(grid.sent_entries()), true);
    allocate(rhs, "rhs", rows, true);
    allocate(direction, "direction", rows, mirrors != Mirrors::exchanged);
    allocate(product, "product", rows, mirrors == Mirrors::all);
    allocate(residual, "residual", rows, mirrors == Mirrors::all);
    allocate(send_buffer, "send_buffer", static_cast<std::size_t>(grid.sent_entries()), true);
    allocate(external, "external", static_cast<std::size_t>(grid.externals()), true);
    // The starting vector. Kokkos sets it to zero on the device.
    solution.device = typename Types::Real("solution", rows);
    solution.host = HandSpaces::mirror(solution.device);
  }

  [[nodiscard]] DeviceArrays<Types> device() const {
    return {values.device,    columns.device,   offsets.device, send_entries.device, rhs.device,     solution.device,
            direction.device, product.device,   residual.device, send_buffer.device, external.device};
  }
  [[nodiscard]] SystemArrays<typename Types::Offset> host_system() const {
    return {values.host.data(), columns.host.data(), offsets.host.data(), rhs.host.data(), send_entries.host.data()};
  }

 private:
  template <class View>
  static void allocate(Pair<View>& pair, const char* label, std::size_t size, bool mirrored) {
    pair.device = View(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(label)), size);
    if (mirrored) pair.host = HandSpaces::mirror(pair.device);
  }
};

}  // namespace minife
