// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace minife {

/// One fact that must hold. `text` names the fact, with its numbers.
struct Check {
  bool passed = false;
  std::string text;
};

[[nodiscard]] bool all_passed(const std::vector<Check>& checks);

/// The same problem solved by the variants naive, manual and semcache, side by side.
class Comparison {
 public:
  /// @param reports  one JSON report of each of the three variants, in any order
  /// @throws std::invalid_argument  a variant is missing or occurs twice, or a report lacks a field; the text names it
  explicit Comparison(const std::vector<nlohmann::json>& reports);
  ~Comparison();
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  /// Returns a table with one column per variant.
  [[nodiscard]] std::string table() const;

  /// Checks that the problem and the residual histories are the same, bit by bit, and that manual and semcache move no more
  /// bytes than the problem needs:
  ///   h2d  at least the matrix values once (8 bytes a non-zero), at most the local matrices, the right-hand side and
  ///        the starting vector once and 8 bytes for each external value and product;
  ///   d2h  at most the solution once, 8 bytes for each value sent and product, and 64 bytes an iteration (with more
  ///        than four ranks 16 bytes a rank and iteration, for two sums of a double each).
  /// In each direction semcache must be within 1.001 of manual, and naive at least ten times manual. There must be no unknown
  /// launches.
  [[nodiscard]] std::vector<Check> checks() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

[[nodiscard]] bool is_of_belos(const nlohmann::json& report);

/// Checks one problem that Belos has solved on the stock node (manual) and on SemCache's node (semcache). The numbers of
/// iterations must agree (on a GPU within two), the norms of the residual and the solutions must agree to rounding, in the
/// iterations exactly the halo's bytes must cross in each direction, and there must be no unknown launches.
/// @param same_sums  both nodes call the same functions of Kokkos-Kernels, so the norms must be equal, bit by bit
/// @throws std::invalid_argument  a variant is missing or occurs twice, or a report lacks a field; the text names it
[[nodiscard]] std::vector<Check> check_belos(const std::vector<nlohmann::json>& reports, bool same_sums = false);

/// Checks one report against an expectation "KEY=VALUE", "KEY=VALUE~RELATIVE" or "KEY<VALUE". KEY is a path such as
/// rows or residual_history/19; residual_history/-1 is the last entry. Without ~ the values must be equal.
/// @throws std::invalid_argument  the expectation has another form, or the report has no such number
[[nodiscard]] Check check_expectation(const nlohmann::json& report, const std::string& expectation);

}  // namespace minife
