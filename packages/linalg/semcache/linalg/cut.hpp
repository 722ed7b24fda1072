// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/policy/shares.hpp>

#include <cstdint>
#include <functional>
#include <vector>

/// Cuts of the program's own: which device computes which part of a call's result.
namespace semcache::linalg {

using policy::Share;
using policy::ShareForm;

/// A call that is about to be cut.
struct CallToCut {
  const char* routine;  ///< "gemm", "spmv"; "dot" for nrm2, too
  /// Which shares the call takes, of how many rows and columns, for how many devices. They are elements of the result; of dot, of the vectors. A
  /// vector has one column. `gemm` takes rectangles, `gemv` and vectors take rows, sparse products one run of rows for each device, `symm`, `trmm`
  /// and `trsm` columns with A on the left and rows with A on the right, and `syrk` and its like columns, of which one triangle counts.
  policy::ShareRules shares;
  struct Operand {
    std::uint64_t rows = 0, columns = 0;
    std::uint32_t element_bytes = 0;
    Access mode = Access::read;
    std::vector<std::uint64_t> held;  ///< so many of its bytes each device holds now
  };
  /// In the order of the call's arguments; a vector that is passed twice comes once. Of a sparse matrix: its values, as a vector.
  std::vector<Operand> operands;
  std::vector<policy::Memory> memory;  ///< of each device
};

/// Returns the shares of a call, in any order; none: the package cuts this call, as it does without such a function. A share that does not fit its
/// device's memory is cut into several tasks. A function whose result depends on its argument alone gives equal calls equal cuts.
/// Calls of several threads may ask at once. The function makes no call of this package. If it throws, the call does, and has changed nothing.
using CutFunction = std::function<std::vector<Share>(const CallToCut&)>;

}  // namespace semcache::linalg
