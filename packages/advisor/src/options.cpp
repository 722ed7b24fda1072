// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "options.hpp"

#include <semcache/base/numbers.hpp>
#include <semcache/trace/report.hpp>

#include <stdlib.h>

#include <string_view>

namespace semcache::advisor {
namespace {

/// Returns the variable's value; of a program with rights that its caller does not have, none.
std::string_view value_of(const char* name) {
  const char* const text = ::secure_getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

Options read_options() {
  Options options;
  if (const std::string text(value_of("SEMCACHE_ADVISOR_REPORT")); !text.empty()) {
    const std::string why = trace::why_no_report_target(text);
    if (why.empty()) options.report = text;
    if (!why.empty()) base::raw_log("SEMCACHE_ADVISOR_REPORT=\"%s\" has no effect: %s", text.c_str(), why.c_str());
  }
  if (const std::string text(value_of("SEMCACHE_ADVISOR_LARGEST")); !text.empty() && base::parse_bytes(text, options.largest_bytes) != std::errc()) {
    base::raw_log("SEMCACHE_ADVISOR_LARGEST=\"%s\" has no effect: it is no number of bytes, such as 1048576 or 1M", text.c_str());
  }
  for (const char* name : trace::rank_variables) {
    std::uint64_t rank = 0;
    if (options.rank < 0 && base::parse_number(value_of(name), rank) == std::errc() && rank <= INT32_MAX) options.rank = static_cast<int>(rank);
  }
  return options;
}

}  // namespace semcache::advisor
