// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/trace/advice.hpp>
#include <semcache/trace/statistics.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Statistics for people (text) and for scripts (JSON). The format is described in docs/reference/report.md.
namespace semcache::trace {

inline constexpr int report_schema_version = 1;

/// The variables in which launchers of MPI programs tell a process its rank; the first that is a number holds.
inline constexpr std::initializer_list<const char*> rank_variables = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

/// The values of %p, %h and %r in a report's file name.
struct ReportPlace {
  long process = 0;
  std::string host;
  int rank = -1;  ///< negative: no MPI launcher; %r is then 0
};
/// Returns the values for the calling process as it is now (a forked child calls it again).
/// @param rank  see runtime::Configuration::mpi_rank
[[nodiscard]] SEMCACHE_API ReportPlace this_process(int rank);

/// Replaces %p (process), %h (host), %r (MPI rank) and %% (a percent sign).
/// @throws ConfigurationError  another letter follows a %, or the path ends in a lone %; the text says which
[[nodiscard]] SEMCACHE_API std::string expand_report_path(std::string_view path, const ReportPlace& place);

/// Returns why the text, which is not empty, cannot be the target of a report; empty: it can.
[[nodiscard]] SEMCACHE_API std::string why_no_report_target(std::string_view text);

enum class ReportFormat : std::uint8_t { text, json };
/// Writes what `make` returns to `target`, as `write_report` describes. @return empty, or why it could not be written, and the file
/// @throws what `make` throws
[[nodiscard]] SEMCACHE_API std::string write_to_target(std::string_view target, const ReportPlace& place,
                                                       const std::function<std::string(ReportFormat)>& make);

[[nodiscard]] SEMCACHE_API std::string text_report(const Statistics& statistics, const ReportPlace& place);
[[nodiscard]] SEMCACHE_API std::string json_report(const Statistics& statistics, const ReportPlace& place);

/// Writes a report to `target` (SEMCACHE_REPORT). "" writes nothing; "stderr" and "stdout" (or "-") write the text there, on
/// stdout after the program's earlier output. Any other target is a file name, which is expanded; the report is JSON if the name
/// ends in ".json", otherwise text. A file appears complete or not at all, because it is written beside its final name and
/// renamed. Never throws: if the report cannot be written, one line on stderr says why.
/// @return false if the report could not be written
SEMCACHE_API bool write_report(const Statistics& statistics, std::string_view target, int rank) noexcept;

}  // namespace semcache::trace
