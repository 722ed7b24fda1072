// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_variants.hpp"

#include <semcache/base/error.hpp>

namespace linalg_miniapps {

namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw semcache::ConfigurationError("--variant " + name + " is not in this build: it needs a CUDA compiler. Configure with "
                                     "-DSemCache_ENABLE_CUDA=ON, with nvcc in PATH or as -DCMAKE_CUDA_COMPILER, or choose another variant");
}

}  // namespace

std::string why_no_cuda_variants() {
  return "This build has semcache and copy-every-call only: the others need a CUDA compiler and -DSemCache_ENABLE_CUDA=ON";
}
std::unique_ptr<Variant> make_hand_tuned(int) { refuse("hand-tuned"); }
std::unique_ptr<Variant> make_unified(int) { refuse("unified"); }
std::unique_ptr<Variant> make_vendor(int) { refuse("vendor"); }
std::unique_ptr<Variant> make_cublasxt(int, int) { refuse("cublasxt"); }

}  // namespace linalg_miniapps
