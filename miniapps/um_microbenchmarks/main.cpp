// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "output.hpp"

#include <semcache/kokkos.hpp>
#include <semcache/trace/report.hpp>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace microbenchmarks;

/// Returns whether `--only` selects the benchmark: "readonly" selects readonly_const and readonly_writable.
bool selected(const std::string& name, const std::string& only) {
  return only.empty() || name == only || name.rfind(only + "_", 0) == 0;
}

/// Returns whether the report's advice names the array that no kernel changed, although one captured it as writable.
bool report_names(const std::string& benchmark, bool write_checks) {
  const auto report = nlohmann::json::parse(semcache::trace::json_report(semcache::statistics(), {}));
  const std::string array = benchmark + (write_checks ? " y" : " y_mirror");
  for (const auto& item : report.at("advice_items")) {
    if (item.at("kind") != (write_checks ? "never changed" : "came back")) continue;
    for (const auto& label : item.at("labels")) {
      if (label.at("name") == array) return true;
    }
  }
  return false;
}

Outcome run(const Benchmark& benchmark, std::uint64_t bytes) {
  const std::size_t elements = bytes / sizeof(double);
  Outcome o;
  o.benchmark = benchmark;
  o.bytes = elements * sizeof(double);
  o.semcache = run_semcache(benchmark.id, elements);
  const std::uint64_t all_arrays = benchmark.id == Name::multivars ? o.bytes * (unused_pages_factor + 1) : 2 * o.bytes;  // at most
  if (const auto refusal = managed_refusal(all_arrays)) {
    o.managed_note = *refusal;
  } else {
    o.managed = run_managed(benchmark.id, elements);
  }
  return o;
}

/// Returns why the chosen benchmarks cannot run, or nothing if they can. They copy and announce nothing, so where accesses are
/// not noticed they would read stale values.
std::string refusal(const std::vector<Benchmark>& chosen) {
  const Kokkos::View<char*, semcache::Device> starts_the_runtime("um_microbenchmarks start", 1);
  const auto statistics = semcache::statistics();
  const bool copies_only = chosen.size() == 1 && chosen.front().id == Name::mirror_loop;
  if (statistics.protocol == "off") {  // this protocol notices no access, and copies at each call
    if (copies_only) return {};
    return "with SEMCACHE_PROTOCOL=off only what the program copies is moved, and only mirror_loop copies: run it with "
           "--only mirror_loop";
  }
  if (statistics.tracker == "explicit") {
    return "with SEMCACHE_TRACKER=explicit host accesses have to be announced, and these programs announce none";
  }
  return {};
}

/// Returns the arguments without Kokkos' own options, which CLI11 would refuse.
std::vector<char*> without_kokkos_options(int argc, char** argv) {
  std::vector<char*> ours;
  for (int i = 0; i < argc; ++i) {
    if (i == 0 || std::string(argv[i]).rfind("--kokkos-", 0) != 0) ours.push_back(argv[i]);
  }
  return ours;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only, json;
  std::uint64_t size = 0;
  bool check = false;
  CLI::App app{"What moves between host and device in common patterns: redundancy microbenchmarks."};
  app.add_option("--only", only, "run one benchmark, or all whose name begins so (readonly)");
  app.add_option("--size", size, "bytes of the array, with K, M or G (default: each benchmark's own)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{64}, std::uint64_t{1} << 40));
  app.add_option("--json", json, "write the results to a file, too");
  app.add_flag("--check", check, "compare the counts with what each benchmark must move; exit with 1 if a line is wrong");
  auto ours = without_kokkos_options(argc, argv);
  CLI11_PARSE(app, static_cast<int>(ours.size()), ours.data());

  std::vector<Benchmark> chosen;
  for (const Benchmark& b : all_benchmarks()) {
    if (selected(b.name, only)) chosen.push_back(b);
  }
  if (chosen.empty()) {
    std::cerr << "um_microbenchmarks: there is no benchmark " << only << "; there are";
    for (const Benchmark& b : all_benchmarks()) std::cerr << " " << b.name;
    std::cerr << "\n";
    return 2;
  }

  int failures = 0;
  Kokkos::initialize(argc, argv);
  try {
    const char* writes = std::getenv("SEMCACHE_CHECK_WRITES");
    const bool write_checks = writes != nullptr && std::string(writes) == "1";
    if (const std::string why = refusal(chosen); !why.empty()) throw std::runtime_error(why);
    std::vector<Outcome> outcomes;
    for (const Benchmark& b : chosen) outcomes.push_back(run(b, size != 0 ? size : b.default_bytes));
    // The report is one for all benchmarks: it must name an array among those of the others.
    for (Outcome& o : outcomes) {
      o.checks = expectations(o.benchmark.id, o.bytes, *o.semcache.counts, write_checks,
                              report_names(o.benchmark.name, write_checks));
    }

    const auto statistics = semcache::statistics();
    std::cout << "device: " << statistics.device_kind << " (" << statistics.device_name << "), protocol " << statistics.protocol
              << "\n\n";
    print_table(std::cout, outcomes);
    if (!json.empty()) write_json(json, outcomes, statistics.device_kind, statistics.device_name, statistics.protocol);

    // What must move is a property of write-back; the other protocols copy more on purpose.
    const bool write_back = statistics.protocol == "write-back";
    if (check && !write_back) {
      std::cerr << "wrong: --check compares with what the protocol write-back moves, this is " << statistics.protocol << "\n";
      ++failures;
    }
    failures += print_failures(std::cerr, outcomes, check && write_back);
    if (check && failures == 0) std::cout << "\nall counts are as they must be\n";
  } catch (const std::exception& e) {
    std::cerr << "um_microbenchmarks: " << e.what() << "\n";
    failures = 1;
  }
  Kokkos::finalize();
  return failures == 0 ? 0 : 1;
}
