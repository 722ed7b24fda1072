// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/report.hpp>

#include <semcache/trace/detail/report_file.hpp>

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <exception>

namespace semcache::trace {

ReportPlace this_process(int rank) {
  ReportPlace place;
  place.process = static_cast<long>(::getpid());
  char host[HOST_NAME_MAX + 1] = {};
  place.host = ::gethostname(host, sizeof host - 1) == 0 && host[0] != '\0' ? host : "localhost";
  place.rank = rank;
  return place;
}

std::string expand_report_path(std::string_view path, const ReportPlace& place) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    const char letter = ++i < path.size() ? path[i] : '\0';
    switch (letter) {
      case 'p': out += std::to_string(place.process); break;
      case 'h': out += place.host; break;
      case 'r': out += std::to_string(place.rank < 0 ? 0 : place.rank); break;
      case '%': out += '%'; break;
      default:
        throw ConfigurationError("SEMCACHE_REPORT=\"" + std::string(path) + "\" cannot be used: " +
                                 (letter == '\0' ? std::string("it ends in a lone %")
                                                 : std::string("%") + letter + " stands for nothing") +
                                 ". Accepted: stderr, stdout (or -), or a file name (JSON if it ends in .json) with %p process, "
                                 "%h host, %r MPI rank, %% percent sign.");
    }
  }
  return out;
}

bool write_report(const Statistics& statistics, std::string_view target, int rank) noexcept {
  if (target.empty()) return true;
  try {
    const ReportPlace place = this_process(rank);
    // If stderr itself cannot be written, there is no place for a message.
    if (target == "stderr") return detail::write_all(STDERR_FILENO, text_report(statistics, place)).empty();
    const bool to_stdout = target == "stdout" || target == "-";
    if (to_stdout) std::fflush(stdout);
    const std::string path = to_stdout ? "stdout" : expand_report_path(target, place);
    const bool is_json = path.size() >= 5 && path.compare(path.size() - 5, 5, ".json") == 0;
    const std::string report = is_json ? json_report(statistics, place) : text_report(statistics, place);
    const std::string why = to_stdout ? detail::write_all(STDOUT_FILENO, report) : detail::replace_file(path, report);
    if (why.empty()) return true;
    base::raw_log("the report could not be written to %s: %s", path.c_str(), why.c_str());
  } catch (const std::exception& e) {
    base::raw_log("the report could not be written: %s", e.what());
  } catch (...) {
    base::raw_log("the report could not be written");
  }
  return false;
}

}  // namespace semcache::trace
