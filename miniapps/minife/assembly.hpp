// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/local_grid.hpp>

#include <cstdint>

namespace minife {

/// The caller's memory into which a rank's part of the linear system is written. Every element is written exactly once, in
/// ascending order, and nothing is read back.
template <class Offset>
struct SystemArrays {
  double* values = nullptr;              ///< nonzeros()
  std::int32_t* columns = nullptr;       ///< nonzeros()
  Offset* offsets = nullptr;             ///< rows() + 1
  double* rhs = nullptr;                 ///< rows()
  std::int32_t* send_entries = nullptr;  ///< sent_entries(): local rows whose values are sent
};

/// Assembles the matrix and right-hand side of the rank's rows and applies the boundary conditions: 1 on the face
/// x = 1, 0 on the other five. Rows of boundary nodes become rows of the identity, and their columns vanish from the
/// other rows. The entries stay as explicit zeros, so every row has one entry per neighbouring node (27 inside).
/// On an edge that x = 1 shares with a 0-face, the node itself is 1, but its neighbours see 0, as in the reference.
/// @param progress  called from time to time with the share done, 0..1; may be null
template <class Offset>
void assemble(const LocalGrid& grid, const SystemArrays<Offset>& system, void (*progress)(double, void*) = nullptr,
              void* progress_state = nullptr);

/// Returns whether offsets into a matrix of `nonzeros` entries need 64 bits.
[[nodiscard]] constexpr bool needs_wide_offsets(std::int64_t nonzeros) noexcept { return nonzeros > INT32_MAX; }

extern template void assemble(const LocalGrid&, const SystemArrays<std::int32_t>&, void (*)(double, void*), void*);
extern template void assemble(const LocalGrid&, const SystemArrays<std::int64_t>&, void (*)(double, void*), void*);

}  // namespace minife
