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
        throw ConfigurationError(letter == '\0' ? std::string("it ends in a lone %") : std::string("%") + letter + " stands for nothing");
    }
  }
  return out;
}

std::string why_no_report_target(std::string_view text) {
  constexpr std::size_t longest_path = 3500;  // PATH_MAX less what %h and the temporary name add
  if (text.size() > longest_path) return "too long";
  if (text.back() == '/') return "it names a folder";
  for (const char* word : {"0", "1", "on", "off", "yes", "no", "true", "false"}) {
    if (text == word) return "it is no switch (a file of that name is ./" + std::string(text) + ")";
  }
  try {
    (void)expand_report_path(text, ReportPlace{});
  } catch (const ConfigurationError& e) {
    return e.what();
  }
  return {};
}

std::string write_to_target(std::string_view target, const ReportPlace& place, const std::function<std::string(ReportFormat)>& make) {
  const bool to_stderr = target == "stderr", to_stdout = target == "stdout" || target == "-";
  const std::string path = to_stderr ? "stderr" : to_stdout ? "stdout" : expand_report_path(target, place);
  const bool is_json = path.size() >= 5 && path.compare(path.size() - 5, 5, ".json") == 0;
  const std::string report = make(is_json ? ReportFormat::json : ReportFormat::text);
  if (to_stdout) std::fflush(stdout);
  const std::string why = to_stderr   ? detail::write_all(STDERR_FILENO, report)
                          : to_stdout ? detail::write_all(STDOUT_FILENO, report)
                                      : detail::replace_file(path, report);
  return why.empty() ? why : why + ": " + path;
}

bool write_report(const Statistics& statistics, std::string_view target, int rank) noexcept {
  if (target.empty()) return true;
  try {
    const ReportPlace place = this_process(rank);
    const std::string why = write_to_target(target, place, [&](ReportFormat format) {
      return format == ReportFormat::json ? json_report(statistics, place) : text_report(statistics, place);
    });
    if (why.empty()) return true;
    base::raw_log("the report could not be written: %s", why.c_str());
  } catch (const std::exception& e) {
    base::raw_log("the report could not be written: %s", e.what());
  } catch (...) {
    base::raw_log("the report could not be written");
  }
  return false;
}

}  // namespace semcache::trace
