// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "options.hpp"

#include <semcache/trace/report.hpp>

#include <stdlib.h>

#include <charconv>
#include <string_view>

namespace semcache::advisor {
namespace {

/// Returns the variable's value; of a program with rights that its caller does not have, none.
std::string_view value_of(const char* name) {
  const char* const text = ::secure_getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// Returns why the text is no target of a report, or an empty text.
std::string why_no_target(std::string_view text) {
  if (text.back() == '/') return "it names a folder";
  for (const char* word : {"0", "1", "on", "off", "yes", "no", "true", "false"}) {
    if (text == word) return "it is no switch (a file of that name is ./" + std::string(text) + ")";
  }
  try {
    (void)trace::expand_report_path(text, trace::ReportPlace{});
  } catch (const ConfigurationError& e) {
    return e.what();
  }
  return {};
}

/// Reads digits and at most one of K, M, G, T behind them. @return false: it is something else
bool read_bytes(std::string_view text, std::uint64_t& bytes) {
  constexpr std::string_view units = "KkMmGgTt";
  const std::size_t unit = units.find(text.back());
  const std::size_t shift = unit == std::string_view::npos ? 0 : 10 * (unit / 2 + 1);
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t n = 0;
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || behind != text.data() + text.size() || n > (UINT64_MAX >> shift)) return false;
  bytes = n << shift;
  return true;
}

}  // namespace

Options read_options() {
  Options options;
  if (const std::string text(value_of("SEMCACHE_ADVISOR_REPORT")); !text.empty()) {
    const std::string why = why_no_target(text);
    if (why.empty()) options.report = text;
    if (!why.empty()) base::raw_log("SEMCACHE_ADVISOR_REPORT=\"%s\" has no effect: %s", text.c_str(), why.c_str());
  }
  if (const std::string text(value_of("SEMCACHE_ADVISOR_LARGEST")); !text.empty() && !read_bytes(text, options.largest_bytes)) {
    base::raw_log("SEMCACHE_ADVISOR_LARGEST=\"%s\" has no effect: it is no number of bytes, such as 1048576 or 1M", text.c_str());
  }
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {  // as SemCache's runtime does
    const std::string_view text = value_of(name);
    if (options.rank < 0 && !text.empty()) std::from_chars(text.data(), text.data() + text.size(), options.rank);
  }
  return options;
}

}  // namespace semcache::advisor
