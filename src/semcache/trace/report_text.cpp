// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/recorder.hpp>
#include <semcache/trace/report.hpp>

#include <semcache/trace/detail/wording.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace semcache::trace {
namespace {

constexpr std::size_t most_rows = 24;
constexpr std::size_t longest_site = 100;
using detail::human;
using detail::shown;

/// Rows of cells under a heading. The first column is aligned to the left, the others to the right.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string padding(widths[i] - row[i].size(), ' ');
        if (i > 0) line += "  ";
        line += i == 0 ? row[i] + padding : padding + row[i];
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::uint64_t preserved_bytes(const Counters& c) { return c.saved_link.bytes + c.saved_device.bytes + c.saved_host.bytes; }

/// The kind of rows decides the last column: evictions for labels, unknown launches (which have no labels) for call sites.
enum class Rows : std::uint8_t { labels, call_sites };

std::string named_table(const char* heading, const std::vector<NamedCounters>& named, Rows rows) {
  const bool sites = rows == Rows::call_sites;
  if (named.empty()) return {};
  Table table;
  table.row({heading, "to device", "to host", "on device", "preserved", "avoided", "deferred", "dropped", "faults",
             sites ? "unknown" : "evicted"});
  for (std::size_t i = 0; i < named.size() && i < most_rows; ++i) {
    const Counters& c = named[i].counters;
    table.row({shown(named[i].name, sites ? longest_site : detail::longest_label), human(c.h2d.bytes), human(c.d2h.bytes),
               human(c.d2d.bytes), human(preserved_bytes(c)), human(c.avoided.bytes), human(c.deferred.bytes), human(c.dropped.bytes), std::to_string(c.host_faults),
               std::to_string(sites ? c.unknown_launches : c.evictions)});
  }
  std::string out = "\n" + table.text();
  if (named.size() > most_rows) {
    out += "  ... and " + std::to_string(named.size() - most_rows) + " more, with less traffic; a report file that ends in "
           ".json has them all\n";
  }
  return out;
}

std::string totals_table(const Counters& c) {
  Table table;
  table.row({"in total", "bytes", "", "operations"});
  const auto line = [&](const char* what, Traffic t) { table.row({what, std::to_string(t.bytes), human(t.bytes), std::to_string(t.count)}); };
  const auto line_if_any = [&](const char* what, Traffic t) {
    if (t.bytes != 0 || t.count != 0) line(what, t);
  };
  line("moved to a device", c.h2d);
  line("moved to the host", c.d2h);
  line_if_any("copied on or between devices", c.d2d);
  line_if_any("of it between devices", c.between_devices);
  line_if_any("copied between host arrays", c.h2h);
  line_if_any("filled in place", c.filled);
  line_if_any("preserved over the link (counted above too)", c.saved_link);
  line_if_any("of it written back: evicted, or a side freed", c.written_back);
  line_if_any("preserved before a write, on the device", c.saved_device);
  line_if_any("preserved before a write, on the host", c.saved_host);
  line_if_any("extra copies of write-through (counted above too)", c.write_through);
  line_if_any("read ahead of a fault (counted above too)", c.read_ahead);
  line_if_any("read ahead, and not seen to be used", c.read_ahead_lost);
  line_if_any("opened for writing ahead of a fault", c.write_ahead);
  line_if_any("as written, deep_copy would have moved at least", {c.avoided.bytes + c.deferred.bytes, c.avoided.count + c.deferred.count});
  line("avoided: the destination had the content already", c.avoided);
  line("deferred: moves when somebody reads it", c.deferred);
  line("dropped: deferred, and never needed", c.dropped);
  line_if_any("captured as writable, found unchanged", c.unchanged);
  line_if_any("written on the host again with equal values", c.rewritten);
  std::string out = "\n" + table.text() + "\n";
  out += "  launches " + std::to_string(c.launches) + " (unknown " + std::to_string(c.unknown_launches) +
         "), captures outside semcache::Exec " + std::to_string(c.native_captures) + ", host faults " + std::to_string(c.host_faults) +
         ", evictions " + std::to_string(c.evictions) + ", waits for a whole device " + std::to_string(c.device_waits) +
         ", open mirrors " + std::to_string(c.opened) + ", unannounced uses " + std::to_string(c.unannounced) + " (in kernels of " +
         "semcache::Exec " + std::to_string(c.uncaptured) + ")";
  if (c.peer_launches > 0) out += ", uses from another device's launches " + std::to_string(c.peer_launches);
  if (c.hulls > 0) out += ", strided uses with what lies between " + std::to_string(c.hulls);
  out += "\n";
  return out;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", seconds);
  return text;
}

/// Says how long the work would have taken on the machine that the user describes. Links that carried nothing are left out.
std::string virtual_table(const VirtualTimes& v) {
  Table table;
  table.row({"virtual time (SEMCACHE_EMULATED_MACHINE)", "seconds"});
  table.row({"virtual_seconds", seconds_text(v.seconds)});
  for (const VirtualTimes::Busy& b : v.devices) table.row({"busy: " + b.name, seconds_text(b.seconds)});
  for (const VirtualTimes::Busy& b : v.links) {
    if (b.seconds > 0) table.row({"busy: " + b.name, seconds_text(b.seconds)});
  }
  return "\n" + table.text();
}

/// Says what each link carried; one device's links are in the totals.
std::string links_table(const Statistics& s) {
  if (s.device_count < 2 || s.links.empty()) return {};
  const auto memory = [](int which) { return which == LinkStatistics::host ? std::string("host") : "device " + std::to_string(which); };
  Table table;
  table.row({"link", "bytes", "", "operations"});
  for (const LinkStatistics& l : s.links) {
    table.row({memory(l.from) + " to " + memory(l.to), std::to_string(l.traffic.bytes), human(l.traffic.bytes), std::to_string(l.traffic.count)});
  }
  return "\n" + table.text();
}

std::string calls_table(const Statistics& s) {
  if (s.library_calls.empty()) return {};
  std::string out = "\n     times  library calls, and how they were cut\n";
  for (std::size_t i = 0; i < s.library_calls.size() && i < most_rows; ++i) {
    const std::string times = std::to_string(s.library_calls[i].count);
    out += std::string(10 - std::min<std::size_t>(times.size(), 10), ' ') + times + "  " + s.library_calls[i].what + "\n";
  }
  if (s.library_calls.size() > most_rows) {
    out += "            ... and " + std::to_string(s.library_calls.size() - most_rows) + " more; a report file that ends in .json has them all\n";
  }
  return out;
}

std::string unknown_table(const Statistics& s) {
  if (s.unknown_launch_names.empty()) return {};
  // The names are types, which are often longer than any column, so they are the last column.
  std::string out = "\n     times  unknown launches, by functor\n";
  for (std::size_t i = 0; i < s.unknown_launch_names.size() && i < most_rows; ++i) {
    const NamedCounters& launch = s.unknown_launch_names[i];
    const std::string times = std::to_string(launch.counters.unknown_launches);
    const std::string text = launch.reason.empty() ? launch.name : launch.name + " (" + launch.reason + ")";
    out += std::string(10 - std::min<std::size_t>(times.size(), 10), ' ') + times + "  " + shown(text, text.size()) + "\n";
  }
  if (s.unknown_launch_names.size() > most_rows) {
    out += "            ... and " + std::to_string(s.unknown_launch_names.size() - most_rows) + " more functors\n";
  }
  return out;
}

/// Returns "on emulated device 0" or "on 2 devices, the first NVIDIA H200 (cuda, number 3)": a GPU has a number among those visible.
std::string device_text(const Statistics& s) {
  const std::string number = s.device_kind == "emulated" ? std::string() : " (" + s.device_kind + ", number " + std::to_string(s.device_ordinal) + ")";
  return (s.device_count == 1 ? std::string("on ") : "on " + std::to_string(s.device_count) + " devices, the first ") + s.device_name + number;
}

}  // namespace

std::string text_report(const Statistics& s, const ReportPlace& place) {
  std::string out = "SemCache report: process " + std::to_string(place.process) + " on " + place.host;
  if (place.rank >= 0) out += ", rank " + std::to_string(place.rank);
  out += "\n";
  if (!s.device_kind.empty()) {
    out += "  " + device_text(s) + ", protocol " + s.protocol + ", tracker " + s.tracker + ", device tracker " + s.device_tracker + "\n";
  }
  out += "  live: device arrays " + human(s.live_device_bytes) + ", host arrays " + human(s.live_host_bytes) +
         "; device memory in use " + human(s.mapped_device_bytes) +
         (s.device_budget_bytes > 0 ? " of " + human(s.device_budget_bytes) : std::string()) + ", of it preserved copies " + human(s.snapshot_bytes) +
         (s.derived_bytes > 0 ? ", derived values that may go " + human(s.derived_bytes) : std::string()) + "; directory " + human(s.directory_bytes) + "\n";
  out += totals_table(s.total);
  out += links_table(s);
  if (s.virtual_time) out += virtual_table(*s.virtual_time);
  out += named_table("label", s.labels, Rows::labels);
  out += named_table("call site", s.call_sites, Rows::call_sites);
  out += unknown_table(s);
  out += calls_table(s);
  const std::vector<Advice> all = advice(s);
  if (!all.empty()) out += "\n  what to do\n";
  for (const Advice& a : all) out += "  - " + a.text + "\n";
  return out;
}

}  // namespace semcache::trace
