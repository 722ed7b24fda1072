// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/parameters.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace minife {
namespace {

/// With more elements the number of nodes along an axis leaves no room for products in 32-bit positions along a line.
constexpr int max_elements_per_axis = 1 << 20;
constexpr int max_iteration_limit = 1000000;
constexpr int max_pairs = 1000;
/// So many devices a process of SemCache has at most.
constexpr int max_devices_per_rank = 16;

/// Returns why the options do not go together, and the remedy; an empty text if they do.
std::string contradiction(const Parameters& p) {
  if (p.device != 0 && (p.variant != Variant::semcache || p.solver != Solver::cg)) {
    return "--device " + std::to_string(p.device) +
           ": only --variant semcache with --solver cg can compute elsewhere than on device 0 (asked for: --variant " +
           name_of(p.variant) + " --solver " + name_of(p.solver) + "). Leave --device out.";
  }
  if (p.devices_per_rank != 1 && p.solver != Solver::kernels) {
    return "--devices-per-rank " + std::to_string(p.devices_per_rank) + ": only --solver kernels computes on several devices (asked for: --solver " +
           name_of(p.solver) + "). Choose --solver kernels, or leave --devices-per-rank out.";
  }
  if (p.beside_home == 0 && p.beside_trace == 0) return {};
  if (p.beside_home != 0 && p.beside_trace != 0) return "--beside-home and --beside-trace compare different things. Leave one of them out.";
  const std::string pairs =
      p.beside_home != 0 ? "--beside-home " + std::to_string(p.beside_home) : "--beside-trace " + std::to_string(p.beside_trace);
  if (p.beside_home != 0 && p.device == 0) return pairs + " compares device 0 with another one. Name it: --device 1.";
  if (p.beside_trace != 0 && (p.variant != Variant::semcache || p.solver != Solver::cg)) {
    return pairs + " compares --variant semcache with --solver cg, with and without a timeline (asked for: --variant " + name_of(p.variant) +
           " --solver " + name_of(p.solver) + "). Leave the options out.";
  }
  if (const char* const file = std::getenv("SEMCACHE_TRACE"); p.beside_trace != 0 && (file == nullptr || *file == '\0')) {
    return pairs + " writes timelines, and SEMCACHE_TRACE names no file for them. Set it.";
  }
  if (p.solves != 1) return pairs + " solves many times itself. Leave --solves out.";
  if (!p.report_file.empty()) return pairs + " prints times of many solves, and a report is of one. Leave --report out.";
  return {};
}

/// Returns the arguments as options: `nx=10` becomes `--nx=10`, and the reference's `verify_solution=1` becomes `--verify`.
std::vector<std::string> normalise(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    const std::size_t equals = a.find('=');
    if (equals != std::string::npos && a[0] != '-') {
      if (a.substr(0, equals) == "verify_solution") {
        if (a.substr(equals + 1) != "0") arguments.emplace_back("--verify");
        continue;
      }
      a = "--" + a;
    }
    arguments.push_back(a);
  }
  return arguments;
}

}  // namespace

const char* name_of(Variant variant) noexcept {
  switch (variant) {
    case Variant::naive: return "naive";
    case Variant::manual: return "manual";
    case Variant::whole_vector: return "whole-vector";
    case Variant::semcache: return "semcache";
    case Variant::unified: return "unified";
  }
  return "?";
}

const char* name_of(Solver solver) noexcept {
  switch (solver) {
    case Solver::cg: return "cg";
    case Solver::belos: return "belos";
    case Solver::kernels: return "kernels";
  }
  return "?";
}

const char* name_of(Exchange exchange) noexcept {
  switch (exchange) {
    case Exchange::automatic: return "auto";
    case Exchange::host: return "host";
    case Exchange::device: return "device";
  }
  return "?";
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine result;
  Parameters& p = result.parameters;
  CLI::App app{
      "miniFE: heat conduction on a mesh of nx x ny x nz elements, solved by conjugate gradients.\n"
      "Options may also be written as nx=10.",
      "minife"};
  CLI::Option* nx =
      app.add_option("--nx", p.elements[0], "Elements along x (10 if missing)")->check(CLI::Range(1, max_elements_per_axis));
  CLI::Option* ny =
      app.add_option("--ny", p.elements[1], "Elements along y (nx if missing)")->check(CLI::Range(1, max_elements_per_axis));
  CLI::Option* nz =
      app.add_option("--nz", p.elements[2], "Elements along z (ny if missing)")->check(CLI::Range(1, max_elements_per_axis));
  std::string solver = name_of(p.solver);
  app.add_option("--solver", solver, "cg: the program's own; belos: Tpetra and Belos' PseudoBlockCG; kernels: calls of Kokkos-Kernels alone")
      ->check(CLI::IsMember({"cg", "belos", "kernels"}))
      ->capture_default_str();
  std::string variant = name_of(p.variant);
  app.add_option("--variant", variant, "Who moves the data")
      ->check(CLI::IsMember({"naive", "manual", "whole-vector", "semcache", "unified"}))
      ->capture_default_str();
  std::string exchange = name_of(p.exchange);
  app.add_option("--exchange", exchange,
                 "Whose addresses MPI gets, in variants manual and semcache; auto: the device's (manual: if the MPI library takes them)")
      ->check(CLI::IsMember({"auto", "host", "device"}))
      ->capture_default_str();
  app.add_option("--device", p.device, "On which of the process's devices (SEMCACHE_DEVICES) variant semcache computes, from 0 on")
      ->capture_default_str();
  app.add_option("--devices-per-rank", p.devices_per_rank, "Devices of each rank, which solver kernels uses together")
      ->check(CLI::Range(1, max_devices_per_rank))
      ->capture_default_str();
  app.add_option("--beside-home", p.beside_home,
                 "Solve so many times on device 0 and on --device in turn, and print the ratio of the times")
      ->check(CLI::Range(1, max_pairs));
  app.add_option("--beside-trace", p.beside_trace,
                 "Solve so many times without and with a timeline (SEMCACHE_TRACE) in turn, and print the ratio of the times")
      ->check(CLI::Range(1, max_pairs));
  app.add_option("--solves", p.solves, "Set up and solve so many times. The times are those of the last solve, in which no code runs for the first time; transfers are of all")
      ->check(CLI::Range(1, max_pairs))
      ->capture_default_str();
  app.add_option("--max-iterations", p.max_iterations, "Iterations at most")
      ->check(CLI::Range(1, max_iteration_limit))
      ->capture_default_str();
  app.add_flag("--verify", p.verify, "Compare with the analytic solution around the centre of the mesh");
  app.add_option("--report", p.report_file, "Write the figures as JSON to this file");

  std::vector<std::string> arguments = normalise(argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 reads them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(e, out, err);
    result.finished = true;
    result.exit_code = code == 0 ? 0 : 2;
    result.text = code == 0 ? out.str() : "minife: " + err.str();
    return result;
  }
  for (const Variant v :
       {Variant::naive, Variant::manual, Variant::whole_vector, Variant::semcache, Variant::unified}) {
    if (variant == name_of(v)) p.variant = v;
  }
  for (const Solver s : {Solver::cg, Solver::belos, Solver::kernels}) {
    if (solver == name_of(s)) p.solver = s;
  }
  for (const Exchange e : {Exchange::automatic, Exchange::host, Exchange::device}) {
    if (exchange == name_of(e)) p.exchange = e;
  }
  const std::string mistake = contradiction(p);
  if (!mistake.empty()) {
    result.finished = true;
    result.exit_code = 2;
    result.text = "minife: " + mistake + "\nRun with --help for more information.\n";
    return result;
  }
  if (nx->count() > 0 && ny->count() == 0) p.elements[1] = p.elements[0];
  if ((nx->count() > 0 || ny->count() > 0) && nz->count() == 0) p.elements[2] = p.elements[1];
  return result;
}

}  // namespace minife
