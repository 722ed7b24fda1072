// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/comparison.hpp>
#include <minife/report_fields.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace minife {
namespace {

using nlohmann::json;

/// How far the norms of the two nodes may differ. Where sums are made in another order, conjugate gradients magnify the last
/// bit: by 1e4 in ten iterations, later by more, until the norms meet again. Without packages/kernels, Kokkos-Kernels sums in
/// another order on SemCache's node than on Kokkos::Serial. A GPU makes all sums in another order, so there the norms differ in
/// earlier bits, as they do for the stock node on another number of ranks, and the tolerance may be met an iteration or two
/// earlier or later.
struct Tolerances {
  std::size_t early_norms;
  double early;  ///< relative to the norm itself
  double late;   ///< relative to the first norm
  std::uint64_t iterations;
};
constexpr Tolerances of_same_sums{1, 0, 0, 0};
constexpr Tolerances on_the_host{10, 1e-10, 1e-5, 0};
constexpr Tolerances on_a_gpu{7, 1e-10, 1e-2, 2};
constexpr double solution_tolerance = 1e-10;

std::string text(const char* format, double value) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), format, value);
  return out.data();
}

const json& of_variant(const std::vector<json>& reports, const std::string& variant) {
  const auto is_it = [&](const json& r) { return r.value("variant", "") == variant; };
  const auto found = std::count_if(reports.begin(), reports.end(), is_it);
  if (found != 1) {
    throw std::invalid_argument("one report of --solver belos and variant " + variant + " is needed, " +
                                std::to_string(found) + " were given");
  }
  return *std::find_if(reports.begin(), reports.end(), is_it);
}

Check equal(const std::string& what, std::uint64_t value, std::uint64_t wanted) {
  return {value == wanted, what + ": " + std::to_string(value) + " = " + std::to_string(wanted)};
}

Check within(const std::string& what, double difference, double limit) {
  return {difference <= limit, what + " differ by " + text("%.1e", difference) + " <= " + text("%.1e", limit)};
}

std::string or_nearly(const Tolerances& tolerances) {
  return tolerances.iterations == 0 ? "" : ", or differ by " + std::to_string(tolerances.iterations) + " at most";
}

void check_histories(const std::vector<double>& stock, const std::vector<double>& ours, const Tolerances& tolerances,
                     std::vector<Check>& checks) {
  const auto [shorter, longer] = std::minmax({stock.size(), ours.size()});
  const bool comparable = shorter != 0 && longer - shorter <= tolerances.iterations;
  checks.push_back({comparable, "residual histories are of one length" + or_nearly(tolerances) + ": " +
                                    std::to_string(stock.size()) + ", " + std::to_string(ours.size())});
  if (!comparable) return;
  double early = 0;
  double late = 0;
  for (std::size_t j = 0; j < shorter; ++j) {
    const double difference = std::abs(stock[j] - ours[j]);
    if (j < tolerances.early_norms && difference > 0) early = std::max(early, difference / stock[j]);
    late = std::max(late, difference / stock[0]);
  }
  checks.push_back(within("the first norms of the residual", early, tolerances.early));
  checks.push_back(within("all norms of the residual, relative to the first,", late, tolerances.late));
}

}  // namespace

bool is_of_belos(const json& report) { return report.is_object() && report.value("solver", "") == "belos"; }

std::vector<Check> check_belos(const std::vector<json>& reports, bool same_sums) {
  const json& stock = of_variant(reports, "manual");
  const json& ours = of_variant(reports, "semcache");
  std::vector<Check> checks;
  for (const char* path : {"schema_version", "solver", "ranks", "elements", "rows", "nonzeros"}) {
    checks.push_back(same_in_all(reports, path));
  }
  const bool on_gpu = field<std::string>(ours, "device/kind") == "cuda";
  const Tolerances& tolerances = same_sums ? of_same_sums : on_gpu ? on_a_gpu : on_the_host;
  const std::uint64_t iterations = bytes(ours, "iterations");
  const std::uint64_t wanted = bytes(stock, "iterations");
  checks.push_back({std::max(iterations, wanted) - std::min(iterations, wanted) <= tolerances.iterations,
                    "same iterations in all variants" + or_nearly(tolerances) + ": " + std::to_string(wanted) + ", " +
                        std::to_string(iterations)});
  check_histories(field<std::vector<double>>(stock, "residual_history"),
                  field<std::vector<double>>(ours, "residual_history"), tolerances, checks);
  for (const std::string part : {"minimum", "maximum", "mean"}) {
    const std::string path = "solution/" + part;
    checks.push_back(within("the solutions' " + part,
                            std::abs(field<double>(stock, path) - field<double>(ours, path)), solution_tolerance));
  }
  for (const json* r : {&stock, &ours}) {
    const json verified = field<json>(*r, "verified");
    if (verified.is_null()) continue;
    checks.push_back(
        {verified == json(true), field<std::string>(*r, "variant") + " agrees with the analytic solution"});
  }
  checks.push_back(equal("h2d bytes in the iterations, of the halo", bytes(ours, "cg_transfers/h2d_bytes"),
                         8 * bytes(ours, "problem/externals") * iterations));
  checks.push_back(equal("d2h bytes in the iterations, of the halo", bytes(ours, "cg_transfers/d2h_bytes"),
                         8 * bytes(ours, "problem/sent_entries") * iterations));
  checks.push_back(equal("semcache unknown launches", bytes(ours, "unknown_launches"), 0));
  return checks;
}

}  // namespace minife
