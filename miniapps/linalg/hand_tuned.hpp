// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "cuda_support.hpp"

/// The algorithms with every copy placed by hand, on the first `devices` GPUs. All arrays of the host are page-locked.
namespace linalg_miniapps {

[[nodiscard]] std::unique_ptr<GemmSum> hand_tuned_gemm_sum(int devices, Copies& copies, std::int64_t n, const double* a, const double* b,
                                                           const double* c, double* d);
void hand_tuned_jacobi(int devices, Copies& copies, std::int64_t n, const double* a, const double* b, double* x, Iterations& iterations);
[[nodiscard]] double hand_tuned_cg(int devices, Copies& copies, const Csr& a, const double* b, double* x, Iterations& iterations);

}  // namespace linalg_miniapps
