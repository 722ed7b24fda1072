// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "variant.hpp"

/// The variants that are written in CUDA and need its compiler. Other builds have the same functions, which refuse.
namespace linalg_miniapps {

/// Returns an empty text, or what --help says where this build has none of these variants.
[[nodiscard]] std::string why_no_cuda_variants();

/// @throws semcache::ConfigurationError  this build has no such variant, or this machine not so many GPUs
[[nodiscard]] std::unique_ptr<Variant> make_hand_tuned(int devices);
[[nodiscard]] std::unique_ptr<Variant> make_unified(int devices);
[[nodiscard]] std::unique_ptr<Variant> make_vendor(int devices);
/// @param block  rows and columns of its blocks; 0: cuBLASXt's default
[[nodiscard]] std::unique_ptr<Variant> make_cublasxt(int devices, int block);

}  // namespace linalg_miniapps
