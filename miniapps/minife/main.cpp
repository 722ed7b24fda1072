// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/kokkos_session.hpp>
#include <minife/mpi_support.hpp>
#include <minife/parameters.hpp>
#include <minife/report.hpp>
#include <minife/solver.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace minife {
namespace {

constexpr int exit_usage = 2;

/// Switches the protocol off for the hand-placed variants where there is no GPU: they compute on semcache's emulated device and
/// place the copies themselves. (Belos' stock node is the host itself.)
void configure(Solver solver, Variant variant) {
  if (solver == Solver::belos) return;
  const bool by_hand = variant == Variant::naive || variant == Variant::manual || variant == Variant::whole_vector;
  if (by_hand && device_is_emulated()) switch_protocol_off();
}

/// Opens the report's file. This happens before the work starts, so that a mistyped path costs no computing time.
std::unique_ptr<std::ofstream> open_report(const std::string& path) {
  auto file = std::make_unique<std::ofstream>(path);
  if (!*file) {
    throw std::invalid_argument("--report " + path +
                                ": the file cannot be written. Does its folder exist, and may you write there?");
  }
  return file;
}

/// Prints an error that every rank has found, once. @return `code`
int refuse(const MpiSession& mpi, const char* what, int code) {
  if (mpi.rank() == 0) std::fprintf(stderr, "minife: %s\n", what);
  return code;
}

/// Returns which addresses MPI gets for this variant and MPI library.
Exchange exchange_of(const Parameters& p) {
  const bool chooses = p.variant == Variant::manual || p.variant == Variant::semcache;
  if (!chooses) return Exchange::host;
  if (p.exchange != Exchange::automatic) return p.exchange;
  if (p.variant == Variant::semcache) return Exchange::device;
  return !device_is_emulated() && mpi_takes_device_addresses() ? Exchange::device : Exchange::host;
}

/// One of two ways to solve.
struct Way {
  std::string name;
  std::function<SolveResult()> solve;
};

/// Solves in two ways in turn, and prints how long the iterations take. A first pair, which brings memory, code and clocks, is not counted.
void in_turn(const MpiSession& mpi, const Parameters& parameters, int pairs, const std::array<Way, 2>& ways) {
  std::array<std::vector<double>, 2> seconds;
  std::vector<double> ratio, residuals;
  for (int pair = -1; pair < pairs; ++pair) {
    std::array<double, 2> of_pair{};
    for (const int turn : {0, 1}) {
      const std::size_t which = static_cast<std::size_t>((pair & 1) ^ turn);  // who begins changes from pair to pair
      const SolveResult result = ways[which].solve();
      if (residuals.empty()) residuals = result.residual_history;
      if (result.residual_history != residuals) throw std::runtime_error("the residuals " + ways[0].name + " and " + ways[1].name + " differ");
      of_pair[which] = result.cg_seconds;
    }
    if (pair < 0) continue;
    for (const std::size_t which : {0, 1}) seconds[which].push_back(of_pair[which]);
    ratio.push_back(of_pair[1] / of_pair[0]);
  }
  if (mpi.rank() != 0) return;
  const auto print = [](const std::string& what, std::vector<double> v) {
    std::sort(v.begin(), v.end());
    std::printf("  %-34s %.5f  [%.5f, %.5f]\n", what.c_str(), v[v.size() / 2], v[v.size() / 4], v[v.size() * 3 / 4]);
  };
  std::printf("miniFE %d x %d x %d, variant semcache, %d rank(s), %d pairs: medians and quartiles; the residuals are identical\n",
              parameters.elements[0], parameters.elements[1], parameters.elements[2], mpi.ranks(), pairs);
  for (const std::size_t which : {0, 1}) print("iterations " + ways[which].name + ", s", seconds[which]);
  print("ratio", ratio);
}

/// Compares device 0 with the device of `request`.
void beside_home(const MpiSession& mpi, const Parameters& parameters, const SolveRequest& request) {
  const auto on = [&](std::uint32_t device) {
    return Way{"on device " + std::to_string(device), [&parameters, &request, device] {
      SolveRequest r = request;
      r.device = device;
      SolveResult result = solve(parameters.solver, parameters.variant, r);
      if (result.device != device) throw std::logic_error("the arrays are on another device than the one asked for");
      return result;
    }};
  };
  in_turn(mpi, parameters, parameters.beside_home, {on(0), on(parameters.device)});
}

/// Compares a runtime that writes a timeline with one that does not. Each solve has a runtime of its own, and is the second one in it.
void beside_trace(const MpiSession& mpi, const Parameters& parameters, const SolveRequest& request) {
  const std::string file = std::getenv("SEMCACHE_TRACE");
  const auto with = [&](std::string name, std::string timeline) {
    return Way{std::move(name), [&parameters, &request, timeline = std::move(timeline)] {
      end_runtime_and_trace_the_next(timeline);
      (void)solve(parameters.solver, parameters.variant, request);
      return solve(parameters.solver, parameters.variant, request);
    }};
  };
  in_turn(mpi, parameters, parameters.beside_trace, {with("without a timeline", ""), with("with a timeline", file)});
  end_runtime_and_trace_the_next(file);
}

int run(const MpiSession& mpi, const Parameters& parameters, const LocalGrid& grid, std::ofstream* report_file) {
  configure(parameters.solver, parameters.variant);
  const KokkosSession kokkos(mpi);
  const Exchange exchange = exchange_of(parameters);
  std::string obstacle;
  if (parameters.solver == Solver::kernels) obstacle = kokkos.take_devices(mpi, parameters.devices_per_rank);
  if (obstacle.empty()) obstacle = why_misconfigured(parameters.variant, exchange, parameters.device);
  const bool on_every_rank = minimum(obstacle.empty() ? 0 : 1, mpi.communicator()) > 0;
  if (on_every_rank) return refuse(mpi, obstacle.c_str(), exit_usage);
  if (!obstacle.empty()) throw std::runtime_error(obstacle);
  Progress progress(mpi.rank() == 0);

  SolutionSummary summary;
  std::optional<Verification> verification;
  const auto inspect = [&](const double* solution) {
    summary = summarise(grid, solution, mpi.communicator());
    if (parameters.verify) verification = verify(grid, solution, mpi.communicator());
  };
  const SolveRequest request{grid, mpi.communicator(), parameters.max_iterations, exchange, parameters.device, progress, inspect};
  if (parameters.beside_home > 0 || parameters.beside_trace > 0) {
    const auto compare = parameters.beside_home > 0 ? &beside_home : &beside_trace;
    compare(mpi, parameters, request);
    return verification && !verification->passed ? EXIT_FAILURE : EXIT_SUCCESS;
  }
  for (int before = 1; before < parameters.solves; ++before) (void)solve(parameters.solver, parameters.variant, request);
  const SolveResult result = solve(parameters.solver, parameters.variant, request);

  Report report = make_report(parameters, grid, result, mpi.ranks(), mpi.communicator());
  report.exchange = exchange;
  report.solution = summary;
  report.verification = verification;
  const bool on_host = parameters.solver == Solver::belos && parameters.variant == Variant::manual;
  const DeviceInfo device = on_host ? DeviceInfo{"host", "Tpetra's serial node", 0, {}} : kokkos.device(mpi, result.device, result.devices);
  report.device_kind = device.kind;
  report.device_name = device.name;
  report.device_count = device.count;
  report.device_of_rank = device.of_rank;
  if (mpi.rank() == 0) {
    std::fputs(to_text(report).c_str(), stdout);
    if (report_file != nullptr) {
      *report_file << to_json(report).dump(1) << '\n';
      report_file->close();
      if (!*report_file) throw std::runtime_error("--report " + parameters.report_file + ": writing failed. Disk full?");
    }
  }
  return verification && !verification->passed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main_with_mpi(const MpiSession& mpi, int argc, char** argv) {
  const CommandLine command_line = parse_command_line(argc, argv);
  if (command_line.finished) {
    if (mpi.rank() == 0) std::fputs(command_line.text.c_str(), command_line.exit_code == 0 ? stdout : stderr);
    return command_line.exit_code;
  }
  const Parameters& parameters = command_line.parameters;
  const std::string obstacle = why_unavailable(parameters.solver, parameters.variant);
  if (!obstacle.empty()) return refuse(mpi, obstacle.c_str(), exit_usage);

  std::unique_ptr<LocalGrid> grid;
  try {
    grid = std::make_unique<LocalGrid>(parameters.elements, mpi.ranks(), mpi.rank());
  } catch (const std::invalid_argument& e) {  // the same on every rank
    return refuse(mpi, e.what(), exit_usage);
  }
  // The number is exact in a double, and the largest one is the same on every rank.
  const auto most_nonzeros = static_cast<std::int64_t>(maximum(static_cast<double>(grid->nonzeros()), mpi.communicator()));
  const std::string too_large = why_too_large(parameters.solver, most_nonzeros);
  if (!too_large.empty()) return refuse(mpi, too_large.c_str(), exit_usage);

  std::unique_ptr<std::ofstream> report_file;
  int usable = 1;
  if (mpi.rank() == 0 && !parameters.report_file.empty()) {
    try {
      report_file = open_report(parameters.report_file);
    } catch (const std::invalid_argument& e) {
      std::fprintf(stderr, "minife: %s\n", e.what());
      usable = 0;
    }
  }
  check_mpi(MPI_Bcast(&usable, 1, MPI_INT, 0, mpi.communicator()), "MPI_Bcast");
  if (usable == 0) return exit_usage;

  return run(mpi, parameters, *grid, report_file.get());
}

}  // namespace
}  // namespace minife

int main(int argc, char** argv) {
  int rank = 0;
  try {
    const minife::MpiSession mpi(argc, argv);
    rank = mpi.rank();
    try {
      return minife::main_with_mpi(mpi, argc, argv);
    } catch (const std::exception& e) {
      // Only this rank has the error. The others may wait for it in MPI, so they are ended, too.
      std::fprintf(stderr, "minife: rank %d: %s\n", rank, e.what());
      std::fflush(nullptr);
      MPI_Abort(mpi.communicator(), EXIT_FAILURE);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "minife: %s\n", e.what());
  }
  return EXIT_FAILURE;
}
