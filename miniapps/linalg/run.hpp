// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "variant.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace linalg_miniapps {

struct Options {
  std::int64_t n = 0;
  int devices = 0;     ///< 0: as SEMCACHE_DEVICES says
  int iterations = 0;
  int solves = 1;      ///< of `jacobi` and `cg`
  std::string variant = "semcache";
  std::string matrix;  ///< of `cg`
  bool device_scalars = false;  ///< of `cg`
  bool single = false;  ///< of `gemm_sum`: one product
  int block = 0;        ///< of `gemm_sum` by cuBLASXt: rows and columns of a block; 0: its default
  bool verify = false;
  std::string report;  ///< a file; empty: none
};

/// What a program says of its run.
struct Outcome {
  std::vector<double> seconds;          ///< of each round, or iteration
  std::vector<double> residuals;        ///< after each iteration; empty where there are none
  std::vector<double> solve_seconds;    ///< of all iterations of each solve, with the transfers to the devices; `seconds` are those of the last
  double error = 0;                     ///< what `--verify` has found
  double tolerance = 0;                 ///< how large it may be
  std::uint64_t problem_bytes = 0;      ///< of the operands

  /// Adds the sum of `seconds` to `solve_seconds`.
  void note_solve();
  /// Makes `error` the larger one of both, or NaN if either is: an error that is no number is too large.
  void note_error(double next) noexcept {
    if (error == error && !(next <= error)) error = next;
  }
};

/// What a program is: its text for --help, its defaults, and its work.
struct Program {
  const char* name;
  const char* what;
  Kind kind;
  Options defaults;
  std::vector<std::string> matrices;  ///< for --matrix, of a program of sparse matrices
  std::function<Outcome(const Options&, Variant&)> work;
};

/// Runs a program: reads the options, computes, prints what moved, writes the report. Returns the exit status: 0 all is well, 1 the verification
/// or the work failed, 2 an option asks for something impossible.
int run(int argc, char** argv, const Program& program);

/// Calls `body(begin, end)` for parts of 0 .. count - 1, where there is much to do on several threads at a time.
/// @param weight  elements that `body` writes for each number
void in_parts(std::size_t count, std::size_t weight, const std::function<void(std::size_t, std::size_t)>& body);

/// Returns the seconds since an arbitrary time.
[[nodiscard]] double now();

}  // namespace linalg_miniapps
