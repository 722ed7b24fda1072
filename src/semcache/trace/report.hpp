// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/trace/statistics.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Statistics for people (text) and for scripts (JSON). The format is described in docs/report.md.
namespace semcache::trace {

inline constexpr int report_schema_version = 1;

/// What %p, %h and %r in a report's file name stand for.
struct ReportPlace {
  long process = 0;
  std::string host;
  int rank = -1;  ///< negative: no MPI launcher; %r is then 0
};
/// Of the calling process, now (a forked child asks again). @param rank  see runtime::Configuration::mpi_rank
[[nodiscard]] SEMCACHE_API ReportPlace this_process(int rank);

/// Replaces %p (process), %h (host), %r (MPI rank) and %% (a percent sign).
/// @throws ConfigurationError  another letter, or a lone % at the end; the text names SEMCACHE_REPORT and the forms
[[nodiscard]] SEMCACHE_API std::string expand_report_path(std::string_view path, const ReportPlace& place);

/// One sentence on what to do for each thing that cost something. In both reports.
[[nodiscard]] SEMCACHE_API std::vector<std::string> advice(const Statistics& statistics);

[[nodiscard]] SEMCACHE_API std::string text_report(const Statistics& statistics, const ReportPlace& place);
[[nodiscard]] SEMCACHE_API std::string json_report(const Statistics& statistics, const ReportPlace& place);

/// Writes a report where `target` (SEMCACHE_REPORT) says: "" nothing, "stderr" the text there, "stdout" or "-" the text there
/// behind what the program has printed, else the expanded file name,
/// as JSON if it ends in ".json", as text otherwise. A file appears complete or not at all: it is written beside its
/// final name and renamed. Never throws: a report that cannot be written is one line on stderr.
/// @return false if the report could not be written
SEMCACHE_API bool write_report(const Statistics& statistics, std::string_view target, int rank) noexcept;

}  // namespace semcache::trace
