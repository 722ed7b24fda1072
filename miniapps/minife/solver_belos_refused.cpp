// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/solver.hpp>

#include <stdexcept>

namespace minife {

std::string why_belos_is_unavailable(Variant) {
  return "--solver belos needs Tpetra and Belos, and this program was built without them. Configure with "
         "-DSemCache_ENABLE_TPETRA=ON where both are installed (docs/how-to/trilinos.md), or choose --solver cg.";
}

SolveResult solve_belos(Variant variant, const SolveRequest&) {
  throw std::invalid_argument(why_belos_is_unavailable(variant));
}

}  // namespace minife
