// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <minife/parameters.hpp>
#include <minife/solver.hpp>
#include <minife/verification.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace minife {

/// Raised when a field of the JSON report changes its meaning.
inline constexpr int report_schema_version = 1;

/// The results of a run. Counts and bytes are sums over ranks.
struct Report {
  Solver solver = Solver::cg;
  Variant variant = Variant::semcache;
  Index3 elements{0, 0, 0};
  int ranks = 1;
  std::string device_kind;
  std::string device_name;
  std::vector<int> device_of_rank;  ///< for each rank, which of its node's devices it uses; empty without devices
  int devices_per_rank = 1;         ///< on how many devices each rank computes
  std::uint32_t device_of_process = 0;  ///< which of its process's devices each rank uses (--device)
  Exchange exchange = Exchange::host;
  int device_count = 1;
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  std::uint64_t externals = 0;
  std::uint64_t sent_entries = 0;
  SystemBytes bytes;
  int iterations = 0;
  int products = 0;
  std::vector<double> residual_history;
  double setup_seconds = 0;
  double cg_seconds = 0;
  SolutionSummary solution;
  std::optional<Verification> verification;
  Tally total;
  Tally cg;
};

/// Builds the report of a solve. Collective; the result is the same on every rank. @throws MpiError
[[nodiscard]] Report make_report(const Parameters& parameters, const LocalGrid& grid, const SolveResult& result,
                                 int ranks, MPI_Comm comm);

[[nodiscard]] nlohmann::json to_json(const Report& report);

/// Returns the short table for people.
[[nodiscard]] std::string to_text(const Report& report);

}  // namespace minife
