// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/recorder.hpp>
#include <semcache/trace/report.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace semcache::trace {
namespace {

constexpr std::size_t most_rows = 24;
constexpr std::size_t longest_label = 56, longest_site = 100;

/// Returns "0", "512 B", "4.00 KiB" or "15.0 GiB": about three digits, for people. Exact bytes are in the totals and in JSON.
std::string human(std::uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes == 0) return "0";
  auto scaled = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; scaled >= 1024.0 && unit + 1 < std::size(units); ++unit) scaled /= 1024.0;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : scaled < 10 ? "%.2f %s" : "%.1f %s", scaled, units[unit]);
  return text;
}

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

/// Returns a name for a table: on one line, and shortened, because names come from the program.
std::string shown(const std::string& name, std::size_t longest = longest_label) {
  std::size_t kept = name.size();
  if (kept > longest) {  // cut before a character, never within one
    for (kept = longest - 3; kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xc0) == 0x80; --kept) {
    }
  }
  std::string out = kept < name.size() ? name.substr(0, kept) + "..." : name;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

std::uint64_t saved_bytes(const Counters& c) { return c.saved_link.bytes + c.saved_device.bytes + c.saved_host.bytes; }

/// The kind of rows decides the last column: evictions for labels, unknown launches (which have no labels) for call sites.
enum class Rows : std::uint8_t { labels, call_sites };

std::string named_table(const char* heading, const std::vector<NamedCounters>& named, Rows rows) {
  const bool sites = rows == Rows::call_sites;
  if (named.empty()) return {};
  Table table;
  table.row({heading, "to device", "to host", "on device", "saved", "avoided", "deferred", "dropped", "faults",
             sites ? "unknown" : "evicted"});
  for (std::size_t i = 0; i < named.size() && i < most_rows; ++i) {
    const Counters& c = named[i].counters;
    table.row({shown(named[i].name, sites ? longest_site : longest_label), human(c.h2d.bytes), human(c.d2h.bytes),
               human(c.d2d.bytes), human(saved_bytes(c)), human(c.avoided.bytes), human(c.deferred.bytes), human(c.dropped.bytes), std::to_string(c.host_faults),
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
  const auto line = [&](const char* what, Traffic t, bool always = false) {
    if (always || t.bytes != 0 || t.count != 0) {
      table.row({what, std::to_string(t.bytes), human(t.bytes), std::to_string(t.count)});
    }
  };
  line("moved to a device", c.h2d, true);
  line("moved to the host", c.d2h, true);
  line("copied on or between devices", c.d2d);
  line("of it between devices", c.between_devices);
  line("copied between host arrays", c.h2h);
  line("filled in place", c.filled);
  line("saved over the link (counted above too)", c.saved_link);
  line("of it written back: evicted, or a side freed", c.written_back);
  line("saved before a write, on the device", c.saved_device);
  line("saved before a write, on the host", c.saved_host);
  line("extra copies of write-through (counted above too)", c.write_through);
  line("read ahead of a fault (counted above too)", c.read_ahead);
  line("read ahead, and not seen to be used", c.read_ahead_lost);
  line("opened for writing ahead of a fault", c.write_ahead);
  line("avoided: the destination had the content already", c.avoided, true);
  line("deferred: moves when somebody reads it", c.deferred, true);
  line("dropped: deferred, and never needed", c.dropped, true);
  line("captured as writable, found unchanged", c.unchanged);
  line("written on the host again with equal values", c.rewritten);
  std::string out = "\n" + table.text() + "\n";
  out += "  launches " + std::to_string(c.launches) + " (unknown " + std::to_string(c.unknown_launches) +
         "), captures outside semcache::Exec " + std::to_string(c.native_captures) + ", host faults " + std::to_string(c.host_faults) +
         ", evictions " + std::to_string(c.evictions) + ", waits for a whole device " + std::to_string(c.device_waits) +
         ", open mirrors " + std::to_string(c.opened) + ", unannounced uses " + std::to_string(c.unannounced) + " (in kernels of " +
         "semcache::Exec " + std::to_string(c.uncaptured) + ")";
  if (c.peer_launches > 0) out += ", uses from another device's launches " + std::to_string(c.peer_launches);
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

using Figure = std::pair<std::uint64_t, std::string>;  ///< a figure, and the label that has it

std::string times(std::uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

enum class Unit : std::uint8_t { bytes, times };

/// Returns "A (1.50 GiB), B (4.00 KiB) and 3 more", in the order given.
std::string enumeration(const std::vector<Figure>& found, Unit unit, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < found.size() && i < most; ++i) {
    const auto& [value, name] = found[i];
    out += (i > 0 ? ", " : "") + shown(name) + " (" + (unit == Unit::bytes ? human(value) : std::to_string(value)) + ")";
  }
  if (found.size() > most) out += " and " + std::to_string(found.size() - most) + " more";
  return out;
}

/// Returns the labels whose figure is not zero, largest figure first.
template <class Get>
std::vector<Figure> ordered(const std::vector<NamedCounters>& named, Get get) {
  std::vector<Figure> found;
  for (const NamedCounters& n : named) {
    if (const std::uint64_t value = std::invoke(get, n.counters)) found.emplace_back(value, n.name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return found;
}

template <class Get>
std::string leaders(const std::vector<NamedCounters>& named, Get get, Unit unit) {
  return enumeration(ordered(named, get), unit, 5);
}

/// Returns the rest of `all` without `part`.
std::uint64_t rest(std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); }

/// How many labels are named where each may need a change in the program; in other cases five are named.
constexpr std::size_t most_candidates = 12;

/// Returns the labels whose content was sent to a device and came back. Content that kernels made, or that was evicted, comes
/// back too, but the program can do nothing about it, so labels without content from the host and labels with evictions are left
/// out. Kokkos names the mirror of "A" "A_mirror".
std::vector<Figure> came_back(const std::vector<NamedCounters>& named) {
  std::unordered_set<std::string> sent;
  for (const NamedCounters& n : named) {
    if (n.counters.h2d.bytes > 0 && n.counters.evictions == 0) sent.insert(n.name);
  }
  const auto was_sent = [&](const std::string& name) {
    constexpr std::string_view suffix = "_mirror";
    if (sent.count(name) != 0) return true;
    const std::size_t end = name.size() - std::min(name.size(), suffix.size());
    return name.compare(end, suffix.size(), suffix) == 0 && sent.count(name.substr(0, end)) != 0;
  };
  auto found = ordered(named, [](const Counters& c) { return rest(c.d2h.bytes, c.saved_link.bytes); });
  found.erase(std::remove_if(found.begin(), found.end(), [&](const Figure& f) { return !was_sent(f.second); }), found.end());
  return found;
}

/// Returns the faults of a label that had many, each of which fetched few bytes; otherwise 0.
std::uint64_t small_faults(const Counters& c) {
  constexpr std::uint64_t many = 64, small_bytes = 64 * 1024;
  return c.host_faults >= many && c.d2h.bytes / c.host_faults < small_bytes ? c.host_faults : 0;
}

std::uint64_t pending(const Counters& c) { return rest(c.saved_link.bytes, c.written_back.bytes); }
std::uint64_t scarce(const Counters& c) { return rest(c.opened, c.exposed); }
std::uint64_t outside(const Counters& c) { return rest(c.unannounced, c.uncaptured); }

using Advice = std::vector<std::string>;

void about_launches(const Statistics& s, Advice& out) {
  const Counters& t = s.total;
  if (s.protocol == "off") {
    out.push_back("SEMCACHE_PROTOCOL=off: every copy was carried out as it was written, and only counted. Unset it to see what "
                  "need not move.");
  }
  if (t.unknown_launches > 0) {
    out.push_back("Unknown launches may read and write every array, so that everything pending was settled first. Let their "
                  "functors, which this report lists, hold Views rather than raw pointers, references or Views of Views.");
  }
  if (t.native_captures > 0) {
    out.push_back("Arrays were captured by kernels outside semcache::Exec: use it (or semcache::Device) as the kernel's "
                  "execution space, so that its arrays are made ready together and in its own queue.");
  }
  if (t.device_waits > 0) {
    out.push_back("A whole device was waited for (" + times(t.device_waits) + "), because nobody knew the queue on "
                  "which an array was used: it had been announced with semcache::access, or was used outside semcache::Exec. "
                  "Launch through semcache::Exec where you can.");
  }
}

void about_other_devices(const Statistics& s, Advice& out) {
  if (s.total.peer_launches > 0) {
    out.push_back("Launches used arrays of another device, by the link between the two: " +
                  leaders(s.labels, &Counters::peer_launches, Unit::times) +
                  ". Allocate such an array on the device of its kernels (semcache::Space(device), semcache::on(device)), or "
                  "deep_copy it once to a view there.");
  }
}

void about_memory(const Statistics& s, Advice& out) {
  const Counters& t = s.total;
  if (t.evictions > 0) {
    out.push_back("Device memory was short" +
                  (s.device_budget_bytes > 0 ? ": " + human(s.device_budget_bytes) + " may be used" : std::string()) +
                  ". Evicted most often: " + leaders(s.labels, &Counters::evictions, Unit::times) +
                  ". Raise SEMCACHE_DEVICE_MEMORY if the device has more, or work on fewer arrays at a time.");
  }
  if (pending(t) > 0) {
    out.push_back("Content was saved over the link before it was overwritten, because a copy of it was still pending: " +
                  leaders(s.labels, pending, Unit::bytes) +
                  ". Remove copies that nobody reads, or raise SEMCACHE_SNAPSHOT_SHARE or SEMCACHE_DEVICE_MEMORY.");
  }
}

void about_captures(const Statistics& s, Advice& out) {
  if (s.check_writes) {
    const auto same = ordered(s.labels, [](const Counters& c) { return c.changed == 0 ? c.unchanged.bytes : 0; });
    if (const std::string again = leaders(s.labels, [](const Counters& c) { return c.rewritten.bytes; }, Unit::bytes); s.total.rewritten.bytes > 0) {
      out.push_back("Written on the host again with the values that the device had: " + again +
                    ". Write them once, or where they change. SEMCACHE_CHECK_WRITES=1 has compared them; without it they are copied each time.");
    }
    if (same.empty()) return;
    out.push_back("Captured as writable, but never changed: " + enumeration(same, Unit::bytes, most_candidates) +
                  ". Capture them as View<const T*> where kernels only read them, and no check is needed.");
    return;
  }
  if (s.protocol == "off" || s.protocol == "write-through") return;  // with these protocols every array comes back
  if (const auto found = came_back(s.labels); !found.empty()) {
    out.push_back("Came back from a device: " + enumeration(found, Unit::bytes, most_candidates) +
                  ", because a kernel that captures an array as writable counts as having written it. Where kernels only read "
                  "one of them, capture it as View<const T*>; SEMCACHE_CHECK_WRITES=1 finds such arrays.");
  }
}

/// Returns the bytes of a label that were read ahead and not seen to be used, if they are most of its bytes read ahead; otherwise
/// 0.
std::uint64_t lost_forecasts(const Counters& c) {
  constexpr std::uint64_t worth_a_word = 64 * 1024;
  const std::uint64_t lost = c.read_ahead_lost.bytes;
  return lost >= worth_a_word && 2 * lost > c.read_ahead.bytes ? lost : 0;
}

void about_host_arrays(const Statistics& s, Advice& out) {
  if (const std::string found = leaders(s.labels, small_faults, Unit::times); !found.empty()) {
    out.push_back("Many host faults, few bytes each: " + found +
                  ". Before a pass over a whole array, announce it: semcache::access(view, semcache::Access::read), or write, "
                  "read_write or overwrite if the pass writes it.");
  }
  if (const std::string lost = leaders(s.labels, lost_forecasts, Unit::bytes); !lost.empty()) {
    out.push_back("Read ahead of host faults, mostly without any sign of use: " + lost +
                  ". Where the host reads parts of an array that a device writes, announce them: semcache::access(address, bytes, "
                  "semcache::Access::read); nothing else is fetched then.");
  }
  if (scarce(s.total) > 0) {
    out.push_back("Mirrors became open near the kernel's limit on mappings, so that their copies happen at the call: " +
                  leaders(s.labels, scarce, Unit::times) + ". Use fewer, larger arrays, or raise vm.max_map_count.");
  }
  if (s.total.exposed > 0) {
    out.push_back("Mirrors became open because a kernel holds a raw pointer into them, so that their copies happen at the call: " +
                  leaders(s.labels, &Counters::exposed, Unit::times) +
                  ". Let kernels capture the device's View.");
  }
}

void about_unnoticed_uses(const Statistics& s, Advice& out) {
  if (outside(s.total) > 0) {
    out.push_back("Used outside semcache::Exec without a word (kernels, libraries, driver copies): " +
                  leaders(s.labels, outside, Unit::times) +
                  ". Announce such uses with what they do: semcache::access(view, semcache::Access::read), write, read_write or "
                  "overwrite. What nobody can tell counts as written.");
  }
  if (s.total.uncaptured > 0) {
    out.push_back("Used while a kernel of semcache::Exec ran that had not captured them (by a global, or a pointer that the kernel "
                  "does not show): " + leaders(s.labels, &Counters::uncaptured, Unit::times) +
                  ". Let the kernel capture a View of them: on a GPU nobody notices such a use, and it may read stale values.");
  }
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

}  // namespace

std::vector<std::string> advice(const Statistics& s) {
  Advice out;
  for (const auto about : {about_launches, about_other_devices, about_memory, about_captures, about_host_arrays, about_unnoticed_uses}) about(s, out);
  return out;
}

std::string text_report(const Statistics& s, const ReportPlace& place) {
  std::string out = "SemCache report: process " + std::to_string(place.process) + " on " + place.host;
  if (place.rank >= 0) out += ", rank " + std::to_string(place.rank);
  out += "\n";
  if (!s.device_kind.empty()) {
    out += "  " + std::to_string(s.device_count) + " x " + s.device_kind + " (" + s.device_name + "), number " +
           std::to_string(s.device_ordinal) + ", protocol " + s.protocol +
           ", tracker " + s.tracker + ", device tracker " + s.device_tracker + "\n";
  }
  out += "  live: device arrays " + human(s.live_device_bytes) + ", host arrays " + human(s.live_host_bytes) +
         "; device memory in use " + human(s.mapped_device_bytes) +
         (s.device_budget_bytes > 0 ? " of " + human(s.device_budget_bytes) : std::string()) + ", of it saved copies " + human(s.snapshot_bytes) +
         (s.derived_bytes > 0 ? ", derived values that may go " + human(s.derived_bytes) : std::string()) + "; directory " + human(s.directory_bytes) + "\n";
  out += totals_table(s.total);
  out += links_table(s);
  if (s.virtual_time) out += virtual_table(*s.virtual_time);
  out += named_table("label", s.labels, Rows::labels);
  out += named_table("call site", s.call_sites, Rows::call_sites);
  out += unknown_table(s);
  out += calls_table(s);
  const std::vector<std::string> sentences = advice(s);
  if (!sentences.empty()) out += "\n  what to do\n";
  for (const std::string& sentence : sentences) out += "  - " + sentence + "\n";
  return out;
}

}  // namespace semcache::trace
