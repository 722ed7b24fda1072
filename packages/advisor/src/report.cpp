// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "findings.hpp"
#include "report.hpp"
#include "report_parts.hpp"

#include <semcache/trace/detail/report_file.hpp>
#include <semcache/trace/detail/symbol.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

namespace semcache::advisor {
namespace {

std::string line(const char* what, const Tally& t) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-52s %16llu %10llu %12.6f\n", what, static_cast<unsigned long long>(t.bytes),
                static_cast<unsigned long long>(t.count), t.seconds);
  return text;
}

const char* explanation(What what) noexcept {
  switch (what) {
    case What::redundant: return "the destination had the content already";
    case What::round_trip: return "the content had come from the destination, and came back unchanged";
    case What::fresh: return "the destination had the content, in memory that no copy had used: its initial value, a kernel's result, or chance";
    case What::unused: return "the content was overwritten or freed before a kernel or a copy of Kokkos could use it";
    case What::shared: return "both sides are the same memory in this build, and nothing had changed since the copy before: redundant on a GPU";
  }
  return "";
}

std::string text_of(const Ledger& ledger, const Finding& f, const Sites& sites) {
  const Statement& s = *f.statement;
  char text[160];
  std::snprintf(text, sizeof text, "  %s, %s: %llu bytes, %llu of %llu copies, %.6f s, %s, from ", is_certain(f.what) ? "certain" : "possible",
                to_string(f.what), static_cast<unsigned long long>(f.tally.bytes), static_cast<unsigned long long>(f.tally.count),
                static_cast<unsigned long long>(copies_at(f).count), f.tally.seconds, to_string(s.direction));
  std::string out = text + ledger.label(s.from) + " to " + ledger.label(s.to) + ", at " + sites.of(s.site);
  if ((f.what == What::redundant || f.what == What::shared) && !s.kernels.empty()) {
    const char* separator = "; kernels between: ";
    for (const std::uint32_t kernel : s.kernels) out += std::exchange(separator, ", ") + trace::detail::demangled(ledger.kernel(kernel).c_str());
  }
  for (char& c : out) {  // names come from the program
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out + "\n";
}

/// Writes the report that the options ask for.
void write_report(const Ledger& ledger, const Circumstances& c, const Options& options, const trace::ReportPlace& place) {
  const std::string error = trace::write_to_target(options.report, place, [&](trace::ReportFormat format) {
    return format == trace::ReportFormat::json ? json_report(ledger, c, place) : text_report(ledger, c, place, SIZE_MAX);
  });
  if (!error.empty()) base::raw_log("the advisor's report could not be written: %s", error.c_str());
}

}  // namespace

std::string text_report(const Ledger& ledger, const Circumstances& c, const trace::ReportPlace& place, std::size_t most) {
  const Sites sites(ledger);
  char text[200];
  std::snprintf(text, sizeof text, "SemCache advisor: process %ld, rank %d, %.3f s since Kokkos started, of them %.3f s in the advisor\n",
                place.process, place.rank < 0 ? 0 : place.rank, c.program_seconds, c.advisor_seconds);
  std::string out = text;
  std::snprintf(text, sizeof text, "  %-52s %16s %10s %12s\n", "deep_copy", "bytes", "copies", "seconds");
  out += text;
  out += line("between views", sum(ledger, &Statement::copies));
  out += line("certain: the destination had the content", sum(ledger, &Statement::redundant));
  out += line("possible: it had it, before any other copy", sum(ledger, &Statement::fresh));
  out += line("possible: overwritten or freed without a use", sum(ledger, &Statement::unused));
  out += line("came back unchanged (most are counted above)", sum(ledger, &Statement::round_trips));
  if (const Tally t = sum(ledger, &Statement::not_examined); t.count > 0) out += line("content not examined", t);
  if (const Tally t = sum(ledger, &Statement::shared); t.count > 0) {
    out += line("of a view onto itself: on a GPU these would move", t);
    out += line("of them without a change since the copy before", sum(ledger, &Statement::shared_same));
  }
  const std::vector<Finding> findings = findings_of(ledger);
  for (std::size_t i = 0; i < findings.size() && i < most; ++i) out += text_of(ledger, findings[i], sites);
  for (const What what : {What::redundant, What::round_trip, What::fresh, What::unused, What::shared}) {
    const bool is_found = std::any_of(findings.begin(), findings.end(), [what](const Finding& f) { return f.what == what; });
    if (is_found) out += std::string("  ") + to_string(what) + ": " + explanation(what) + "\n";
  }
  if (findings.size() > most) {
    out += "  ... and " + std::to_string(findings.size() - most) + " more, with fewer bytes: SEMCACHE_ADVISOR_REPORT=report.json has all\n";
  }
  return out;
}

void write_reports(const Ledger& ledger, const Circumstances& circumstances, const Options& options) noexcept {
  try {
    const trace::ReportPlace place = trace::this_process(options.rank);
    if (options.rank <= 0 && options.report != "stderr") {  // one summary for all ranks; if it cannot be written, there is no place for a message
      (void)trace::detail::write_all(STDERR_FILENO, text_report(ledger, circumstances, place, most_shown));
    }
    if (!options.report.empty()) write_report(ledger, circumstances, options, place);
  } catch (const std::exception& e) {
    base::raw_log("the advisor's report could not be written: %s", e.what());
  }
}

}  // namespace semcache::advisor
