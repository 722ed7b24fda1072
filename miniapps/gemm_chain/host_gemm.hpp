// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>

// The Fortran interface, which every BLAS has.
extern "C" void dgemm_(const char*, const char*, const std::int32_t*, const std::int32_t*, const std::int32_t*, const double*, const double*,
                       const std::int32_t*, const double*, const std::int32_t*, const double*, double*, const std::int32_t*, std::size_t,
                       std::size_t);

namespace gemm_chain {

/// to = left right, for some columns of `to` and `right`; all matrices have n rows.
inline void host_gemm(std::int64_t n, std::int64_t columns, const double* left, const double* right, double* to) {
  const auto size = static_cast<std::int32_t>(n), wide = static_cast<std::int32_t>(columns);
  const double one = 1, zero = 0;
  dgemm_("N", "N", &size, &wide, &size, &one, left, &size, right, &size, &zero, to, &size, 1, 1);
}

}  // namespace gemm_chain
