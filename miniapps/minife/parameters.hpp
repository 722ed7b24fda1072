// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/box.hpp>

#include <string>

namespace minife {

enum class Variant { naive, manual, whole_vector, semcache, unified };
enum class Solver { cg, belos };
/// Whose addresses MPI gets in the halo exchange. Automatic: the device's, by hand only if the MPI library takes them.
enum class Exchange { automatic, host, device };

[[nodiscard]] const char* name_of(Variant variant) noexcept;
[[nodiscard]] const char* name_of(Solver solver) noexcept;
[[nodiscard]] const char* name_of(Exchange exchange) noexcept;

/// What the user asked for.
struct Parameters {
  Index3 elements{10, 10, 10};
  Solver solver = Solver::cg;
  Variant variant = Variant::semcache;
  Exchange exchange = Exchange::automatic;  ///< of variants manual and semcache
  int max_iterations = 200;
  bool verify = false;
  std::string report_file;  ///< empty: no report
};

/// Outcome of reading the command line. If `finished`, the program prints `text` (to stdout if exit_code is 0, else to
/// stderr) and ends with `exit_code`: --help, or a mistake explained.
struct CommandLine {
  Parameters parameters;
  bool finished = false;
  int exit_code = 0;
  std::string text;
};

/// Reads the command line; both `--nx 10` and the reference's `nx=10` are understood. As there, a missing ny is nx and
/// a missing nz is ny. Gives the same answer on every rank, and throws nothing.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace minife
