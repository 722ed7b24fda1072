// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

/// Functions by which the comparisons read JSON reports.
#include <minife/comparison.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace minife {

/// Returns a field of the report.
/// @param path  such as transfers/h2d_bytes
/// @throws std::invalid_argument  the report has no such field, or it has another type
template <class T>
[[nodiscard]] T field(const nlohmann::json& report, const std::string& path) {
  try {
    return report.at(nlohmann::json::json_pointer("/" + path)).get<T>();
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument("the report of variant " + report.value("variant", std::string("(unnamed)")) +
                                " has no usable field " + path + ": " + e.what() +
                                ". Was it written by this version of minife?");
  }
}

[[nodiscard]] inline std::uint64_t bytes(const nlohmann::json& report, const std::string& path) {
  return field<std::uint64_t>(report, path);
}

/// Checks that all reports have the same value at `path`.
template <class Reports>
[[nodiscard]] Check same_in_all(const Reports& reports, const std::string& path) {
  const auto& first = *std::begin(reports);
  bool same = true;
  for (const nlohmann::json& r : reports) {
    same = same && field<nlohmann::json>(r, path) == field<nlohmann::json>(first, path);
  }
  return {same, "same " + path + " in all variants: " + field<nlohmann::json>(first, path).dump()};
}

}  // namespace minife
