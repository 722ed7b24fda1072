// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/box.hpp>

#include <cstdint>
#include <string>

namespace minife {

enum class Variant { naive, manual, whole_vector, semcache, unified };
enum class Solver { cg, belos, kernels };
/// Which addresses MPI gets in the halo exchange. `automatic` means the device's; with hand-placed copies it means that only
/// if the MPI library takes such addresses.
enum class Exchange { automatic, host, device };

[[nodiscard]] const char* name_of(Variant variant) noexcept;
[[nodiscard]] const char* name_of(Solver solver) noexcept;
[[nodiscard]] const char* name_of(Exchange exchange) noexcept;

/// The options that the user has given.
struct Parameters {
  Index3 elements{10, 10, 10};
  Solver solver = Solver::cg;
  Variant variant = Variant::semcache;
  Exchange exchange = Exchange::automatic;  ///< of variants manual and semcache
  std::uint32_t device = 0;                 ///< of the process's devices, the one on which variant semcache computes
  int devices_per_rank = 1;                 ///< of each process, with solver kernels
  int beside_home = 0;                      ///< pairs of solves on device 0 and on `device` that are timed; 0: one solve
  int beside_trace = 0;                     ///< pairs of solves without and with a timeline that are timed; 0: one solve
  int solves = 1;                           ///< of which the last one is timed
  int max_iterations = 200;
  bool verify = false;
  std::string report_file;  ///< empty: no report
};

/// The outcome of reading the command line. If `finished`, the program prints `text`, which is the help or the explanation of
/// a mistake, to stdout if exit_code is 0, otherwise to stderr, and ends with `exit_code`.
struct CommandLine {
  Parameters parameters;
  bool finished = false;
  int exit_code = 0;
  std::string text;
};

/// Reads the command line. Both `--nx 10` and the reference's `nx=10` are understood. As in the reference, a missing ny is nx
/// and a missing nz is ny. The result is the same on every rank. Throws nothing.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace minife
