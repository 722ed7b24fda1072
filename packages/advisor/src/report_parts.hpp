// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "ledger.hpp"
#include "report.hpp"

#include <semcache/trace/report.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace semcache::advisor {

inline constexpr std::size_t most_shown = 12;  ///< findings in the summary, and lines of advice

/// The texts of call sites, each looked up once, because that is slow.
class Sites {
 public:
  explicit Sites(const Ledger& ledger) : ledger_(ledger) {}
  [[nodiscard]] const std::string& of(std::uint32_t number) const {
    const auto [found, is_new] = texts_.try_emplace(number);
    if (is_new) found->second = ledger_.site(number);
    return found->second;
  }

 private:
  const Ledger& ledger_;
  mutable std::unordered_map<std::uint32_t, std::string> texts_;
};

[[nodiscard]] std::string json_report(const Ledger& ledger, const Circumstances& c, const trace::ReportPlace& place);
/// @param most  findings that the text lists
[[nodiscard]] std::string text_report(const Ledger& ledger, const Circumstances& c, const trace::ReportPlace& place, std::size_t most);

}  // namespace semcache::advisor
