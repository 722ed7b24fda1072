// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "findings.hpp"
#include "report.hpp"
#include "report_parts.hpp"

#include <semcache/trace/detail/report_file.hpp>
#include <semcache/trace/detail/symbol.hpp>

#include <unistd.h>

#include <cstdio>
#include <exception>

namespace semcache::advisor {
namespace {

std::string line(const char* what, const Tally& t) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-52s %16llu %10llu %12.6f\n", what, static_cast<unsigned long long>(t.bytes),
                static_cast<unsigned long long>(t.count), t.seconds);
  return text;
}

std::string text_of(const Ledger& ledger, const Finding& f, const Sites& sites) {
  char text[128];
  std::snprintf(text, sizeof text, "  %s (%s), %s: %llu bytes, %.6f s. ", is_certain(f.what) ? "certain" : "possible", to_string(f.what),
                to_string(f.statement->direction), static_cast<unsigned long long>(f.tally.bytes), f.tally.seconds);
  std::string out = text + advice(ledger, f, sites.of(f.statement->site));
  if (f.what == What::redundant && !f.statement->kernels.empty()) {
    out += " Kernels between the copies:";
    for (const std::uint32_t kernel : f.statement->kernels) out += " " + trace::detail::demangled(ledger.kernel(kernel).c_str()) + ",";
    out.back() = '.';
  }
  for (char& c : out) {  // names come from the program
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out + "\n";
}

/// Writes the report that the options ask for. @return why that failed, or an empty text
std::string write_report(const Ledger& ledger, const Circumstances& c, const Options& options, const trace::ReportPlace& place) {
  const std::string& target = options.report;
  if (target == "stderr") return trace::detail::write_all(STDERR_FILENO, text_report(ledger, c, place, SIZE_MAX));
  if (target == "stdout" || target == "-") {
    std::fflush(stdout);
    return trace::detail::write_all(STDOUT_FILENO, text_report(ledger, c, place, SIZE_MAX));
  }
  const std::string path = trace::expand_report_path(target, place);
  const bool is_json = path.size() >= 5 && path.compare(path.size() - 5, 5, ".json") == 0;
  const std::string why = trace::detail::replace_file(path, is_json ? json_report(ledger, c, place) : text_report(ledger, c, place, SIZE_MAX));
  return why.empty() ? why : why + ": " + path;
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
  out += line("possible: it had it, in memory never written", sum(ledger, &Statement::fresh));
  out += line("possible: overwritten or freed without a use", sum(ledger, &Statement::unused));
  out += line("came back unchanged (most are counted above)", sum(ledger, &Statement::round_trips));
  if (const Tally t = sum(ledger, &Statement::not_examined); t.count > 0) out += line("content not examined", t);
  const std::vector<Finding> findings = findings_of(ledger);
  for (std::size_t i = 0; i < findings.size() && i < most; ++i) out += text_of(ledger, findings[i], sites);
  if (findings.size() > most) {
    out += "  ... and " + std::to_string(findings.size() - most) + " more, with fewer bytes: SEMCACHE_ADVISOR_REPORT=report.json has all\n";
  }
  return out;
}

void write_reports(const Ledger& ledger, const Circumstances& circumstances, const Options& options) noexcept {
  try {
    const trace::ReportPlace place = trace::this_process(options.rank);
    if (options.rank <= 0 && options.report != "stderr") {  // one summary for all ranks; if stderr cannot be written, there is no place for a message
      (void)!trace::detail::write_all(STDERR_FILENO, text_report(ledger, circumstances, place, most_shown)).empty();
    }
    const std::string why = options.report.empty() ? "" : write_report(ledger, circumstances, options, place);
    if (!why.empty()) base::raw_log("the advisor's report could not be written: %s", why.c_str());
  } catch (const std::exception& e) {
    base::raw_log("the advisor's report could not be written: %s", e.what());
  }
}

}  // namespace semcache::advisor
