// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_variants.hpp"

#include <semcache/base/error.hpp>

namespace linalg_miniapps {

std::unique_ptr<Variant> make_vendor(int) {
  throw semcache::ConfigurationError("--variant vendor is not in this build: it needs cuSPARSE. Install CUDA's package of it (libcusparse-dev) and "
                                     "configure anew, or choose another variant");
}

}  // namespace linalg_miniapps
