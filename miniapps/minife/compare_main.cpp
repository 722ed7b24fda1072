// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/comparison.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace minife {
namespace {

nlohmann::json read_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(path + " cannot be read. Write it with: minife --report " + path);
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(path + " is no JSON report: " + e.what() + ". Did the run that writes it finish?");
  }
}

/// Prints the checks that failed, or the number of checks if all hold.
int print(const std::vector<Check>& checks) {
  for (const Check& c : checks) {
    if (!c.passed) std::printf("WRONG: %s\n", c.text.c_str());
  }
  if (!all_passed(checks)) return EXIT_FAILURE;
  std::printf("all %zu checks hold\n", checks.size());
  return EXIT_SUCCESS;
}

int run(const std::vector<std::string>& files, const std::vector<std::string>& expectations, bool same_sums,
        bool list) {
  std::vector<nlohmann::json> reports;
  reports.reserve(files.size());
  for (const std::string& file : files) reports.push_back(read_report(file));

  std::vector<Check> checks;
  if (reports.size() > 1 || expectations.empty()) {
    if (std::any_of(reports.begin(), reports.end(), is_of_belos)) {
      checks = check_belos(reports, same_sums);
    } else {
      const Comparison comparison(reports);
      std::fputs(comparison.table().c_str(), stdout);
      checks = comparison.checks();
    }
  }
  for (const nlohmann::json& report : reports) {
    for (const std::string& e : expectations) checks.push_back(check_expectation(report, e));
  }
  if (list) {
    for (const Check& c : checks) std::printf("  %s  %s\n", c.passed ? "holds" : "WRONG", c.text.c_str());
  }
  return print(checks);
}

}  // namespace
}  // namespace minife

int main(int argc, char** argv) {
  CLI::App app{
      "Compares the reports of minife's variants naive, manual and semcache on the same problem, and checks that each\n"
      "moved what it had to and no more; or the reports of manual and semcache with --solver belos. Exits with 1 if a\n"
      "check fails, naming it, and with 2 if it cannot compare.",
      "minife-compare"};
  std::vector<std::string> files;
  std::vector<std::string> expectations;
  bool same_sums = false;
  bool list = false;
  app.add_option("reports", files, "Reports written by minife --report; one alone may be given with --expect")
      ->required();
  app.add_option("--expect", expectations, "Also demand KEY=VALUE, KEY=VALUE~RELATIVE or KEY<VALUE of every report")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--same-sums", same_sums,
               "With --solver belos: demand equal norms, as on a host where SemCache was built with Kokkos-Kernels");
  app.add_flag("--list", list, "List all checks, not only those that fail");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return minife::run(files, expectations, same_sums, list);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "minife-compare: %s\n", e.what());
    return 2;
  }
}
