// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// miniFE's hand-placed variants as a stock Kokkos program, for tools that look at such programs.
#include <minife/mpi_support.hpp>
#include <minife/parameters.hpp>
#include <minife/report.hpp>
#include <minife/solver.hpp>

#include <Kokkos_Core.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

namespace minife {
namespace {

SolveResult solve_stock(Variant variant, const SolveRequest& request) {
  switch (variant) {
    case Variant::naive: return solve_naive(request);
    case Variant::manual: return solve_manual(request);
    case Variant::whole_vector: return solve_whole_vector(request);
    default: throw std::invalid_argument(std::string("--variant ") + name_of(variant) + ": minife-stock has naive, manual and whole-vector");
  }
}

int run(const MpiSession& mpi, int argc, char** argv) {
  const CommandLine command_line = parse_command_line(argc, argv);
  if (command_line.finished) {
    if (mpi.rank() == 0) std::fputs(command_line.text.c_str(), command_line.exit_code == 0 ? stdout : stderr);
    return command_line.exit_code;
  }
  const Parameters& p = command_line.parameters;
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const LocalGrid grid(p.elements, mpi.ranks(), mpi.rank());
  Progress progress(mpi.rank() == 0);
  SolutionSummary summary;
  std::optional<Verification> verification;
  const auto inspect = [&](const double* solution) {
    summary = summarise(grid, solution, mpi.communicator());
    if (p.verify) verification = verify(grid, solution, mpi.communicator());
  };
  const SolveRequest request{grid, mpi.communicator(), p.max_iterations, Exchange::host, 0, progress, inspect};
  const SolveResult result = solve_stock(p.variant, request);

  Report report = make_report(p, grid, result, mpi.ranks(), mpi.communicator());
  report.solution = summary;
  report.verification = verification;
  report.device_kind = Kokkos::DefaultExecutionSpace::name();
  report.device_name = "stock Kokkos";
  if (mpi.rank() == 0) {
    std::fputs(to_text(report).c_str(), stdout);
    if (!p.report_file.empty()) {
      std::ofstream file(p.report_file);
      file << to_json(report).dump(1) << '\n';
      file.close();
      if (!file) throw std::runtime_error("--report " + p.report_file + ": the file cannot be written");
    }
  }
  return verification && !verification->passed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace
}  // namespace minife

int main(int argc, char** argv) {
  try {
    const minife::MpiSession mpi(argc, argv);
    try {
      return minife::run(mpi, argc, argv);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "minife-stock: rank %d: %s\n", mpi.rank(), e.what());
      std::fflush(nullptr);
      MPI_Abort(mpi.communicator(), EXIT_FAILURE);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "minife-stock: %s\n", e.what());
  }
  return EXIT_FAILURE;
}
