// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/comparison.hpp>
#include <minife/report_fields.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace minife {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 3> variants{"naive", "manual", "semcache"};
constexpr double semcache_margin = 1.001;
constexpr std::uint64_t naive_factor = 10;

std::string text(const char* format, double value) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), format, value);
  return out.data();
}

/// Returns whether the norms are equal, bit by bit. Equal NaNs count as equal.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

Check at_most(const std::string& what, std::uint64_t value, std::uint64_t limit, const std::string& limit_name) {
  return {value <= limit, what + ": " + std::to_string(value) + " <= " + std::to_string(limit) + " (" + limit_name + ")"};
}

Check at_least(const std::string& what, std::uint64_t value, std::uint64_t limit, const std::string& limit_name) {
  return {value >= limit, what + ": " + std::to_string(value) + " >= " + std::to_string(limit) + " (" + limit_name + ")"};
}

void check_closed_forms(const json& report, std::vector<Check>& checks) {
  const std::string name = field<std::string>(report, "variant");
  const std::uint64_t products = bytes(report, "problem/products");
  const std::uint64_t per_iteration = std::max<std::uint64_t>(64, 16 * bytes(report, "ranks"));
  const std::uint64_t h2d = bytes(report, "transfers/h2d_bytes");
  const std::uint64_t d2h = bytes(report, "transfers/d2h_bytes");

  const std::uint64_t up_limit = bytes(report, "problem/matrix_bytes") + bytes(report, "problem/rhs_bytes") +
                                 bytes(report, "problem/start_bytes") +
                                 8 * bytes(report, "problem/externals") * products;
  const std::uint64_t down_limit = bytes(report, "problem/solution_bytes") +
                                   8 * bytes(report, "problem/sent_entries") * products +
                                   per_iteration * bytes(report, "iterations");
  checks.push_back(at_least(name + " h2d bytes", h2d, 8 * bytes(report, "nonzeros"), "the matrix values once"));
  checks.push_back(at_most(name + " h2d bytes", h2d, up_limit, "matrices, right-hand side, start, externals"));
  checks.push_back(at_most(name + " d2h bytes", d2h, down_limit, "solution, sent entries, results of sums"));
}

void check_against_manual(const json& naive, const json& manual, const json& semcache, std::vector<Check>& checks) {
  for (const std::string direction : {"h2d", "d2h"}) {
    const std::string path = "transfers/" + direction + "_bytes";
    const std::uint64_t by_hand = bytes(manual, path);
    const auto limit = static_cast<std::uint64_t>(std::floor(static_cast<double>(by_hand) * semcache_margin));
    checks.push_back(at_most("semcache " + direction + " bytes", bytes(semcache, path), limit, "1.001 of manual"));
    checks.push_back(at_least("naive " + direction + " bytes", bytes(naive, path), naive_factor * by_hand,
                              "ten times manual"));
  }
}

}  // namespace

struct Comparison::Data {
  std::array<json, variants.size()> reports;
  [[nodiscard]] const json& naive() const { return reports[0]; }
  [[nodiscard]] const json& manual() const { return reports[1]; }
  [[nodiscard]] const json& semcache() const { return reports[2]; }
};

bool all_passed(const std::vector<Check>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.passed; });
}

Comparison::Comparison(const std::vector<json>& reports) : data_(std::make_unique<Data>()) {
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const auto is_variant = [&](const json& r) { return r.is_object() && r.value("variant", "") == variants[v]; };
    const auto found = std::count_if(reports.begin(), reports.end(), is_variant);
    if (found != 1) {
      throw std::invalid_argument("one report of variant " + std::string(variants[v]) + " is needed, " +
                                  std::to_string(found) + " were given");
    }
    data_->reports[v] = *std::find_if(reports.begin(), reports.end(), is_variant);
  }
}

Comparison::~Comparison() = default;

std::string Comparison::table() const {
  struct Row {
    const char* label;
    const char* path;
    const char* format;
  };
  const std::array<Row, 12> rows{{
      {"iterations", "iterations", "%.0f"},
      {"final residual norm", "final_residual_norm", "%.3e"},
      {"set-up, s", "setup_seconds", "%.4f"},
      {"iterations take, s", "cg_seconds", "%.4f"},
      {"host to device, bytes", "transfers/h2d_bytes", "%.0f"},
      {"host to device, count", "transfers/h2d_count", "%.0f"},
      {"device to host, bytes", "transfers/d2h_bytes", "%.0f"},
      {"device to host, count", "transfers/d2h_count", "%.0f"},
      {"h2d in iterations, bytes", "cg_transfers/h2d_bytes", "%.0f"},
      {"d2h in iterations, bytes", "cg_transfers/d2h_bytes", "%.0f"},
      {"copies avoided, bytes", "avoided/bytes", "%.0f"},
      {"host faults", "host_faults", "%.0f"},
  }};
  const json& any = data_->manual();
  std::array<char, 160> line{};
  std::string out = "miniFE, " + std::to_string(bytes(any, "rows")) + " rows, " +
                    std::to_string(bytes(any, "nonzeros")) + " non-zeros, " + std::to_string(bytes(any, "ranks")) +
                    " rank(s), device " + field<std::string>(any, "device/kind") + "\n";
  std::snprintf(line.data(), line.size(), "  %-26s %14s %14s %14s\n", "", variants[0], variants[1], variants[2]);
  out += line.data();
  const bool has_times = field<std::string>(any, "device/kind") != "emulated";
  for (const Row& row : rows) {
    if (!has_times && std::string_view(row.path).find("_seconds") != std::string_view::npos) continue;
    std::array<std::string, variants.size()> cells;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      cells[v] = text(row.format, field<double>(data_->reports[v], row.path));
    }
    std::snprintf(line.data(), line.size(), "  %-26s %14s %14s %14s\n", row.label, cells[0].c_str(), cells[1].c_str(),
                  cells[2].c_str());
    out += line.data();
  }
  if (!has_times) out += "  (An emulated device shows what moves. Times are shown on a GPU.)\n";
  return out;
}

std::vector<Check> Comparison::checks() const {
  std::vector<Check> checks;
  const json& manual = data_->manual();
  for (const char* path : {"schema_version", "ranks", "elements", "rows", "nonzeros", "iterations", "device/kind"}) {
    checks.push_back(same_in_all(data_->reports, path));
  }
  bool identical = true;
  for (const json& r : data_->reports) {
    identical = identical && same_bits(field<std::vector<double>>(r, "residual_history"),
                                       field<std::vector<double>>(manual, "residual_history"));
  }
  checks.push_back({identical, "residual histories are bit-identical"});
  for (const json& r : data_->reports) {
    const json verified = field<json>(r, "verified");
    if (!verified.is_null()) {
      checks.push_back({verified == json(true), field<std::string>(r, "variant") + " agrees with the analytic solution"});
    }
  }
  check_closed_forms(manual, checks);
  check_closed_forms(data_->semcache(), checks);
  check_against_manual(data_->naive(), manual, data_->semcache(), checks);
  checks.push_back(at_most("semcache unknown launches", bytes(data_->semcache(), "unknown_launches"), 0, "none"));
  return checks;
}

Check check_expectation(const json& report, const std::string& expectation) {
  const std::size_t at = expectation.find_first_of("=<");
  if (at == std::string::npos || at == 0 || at + 1 == expectation.size()) {
    throw std::invalid_argument("--expect '" + expectation + "' is not KEY=VALUE, KEY=VALUE~RELATIVE or KEY<VALUE");
  }
  std::string path = expectation.substr(0, at);
  const std::size_t tilde = expectation.find('~', at);
  double wanted = 0;
  double relative = 0;
  try {
    wanted = std::stod(expectation.substr(at + 1, tilde - at - 1));
    if (tilde != std::string::npos) relative = std::stod(expectation.substr(tilde + 1));
  } catch (const std::logic_error&) {
    throw std::invalid_argument("--expect '" + expectation + "': the value is not a number");
  }
  const std::string last = "/-1";
  if (path.size() > last.size() && path.compare(path.size() - last.size(), last.size(), last) == 0) {
    path.resize(path.size() - last.size());
    const auto list = field<json>(report, path);
    if (!list.is_array() || list.empty()) throw std::invalid_argument("--expect: " + path + " is no list, or empty");
    path += "/" + std::to_string(list.size() - 1);
  }
  const auto value = field<double>(report, path);
  const bool passed = expectation[at] == '<' ? value < wanted : std::abs(value - wanted) <= relative * std::abs(wanted);
  return {passed, field<std::string>(report, "variant") + ": " + expectation + ", found " + text("%.10g", value)};
}

}  // namespace minife
