// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/recorder.hpp>
#include <semcache/trace/report.hpp>

#include <algorithm>
#include <cstdio>
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

/// "0", "512 B", "4.0 KiB", "1.50 GiB": three digits or so, for people; exact bytes stand in the totals and in JSON.
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

/// Rows of cells under a heading: the first column to the left, numbers to the right.
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

/// Names are the program's: one line each, and not longer than a table bears.
std::string shown(const std::string& name, std::size_t longest = longest_label) {
  std::size_t kept = name.size();
  if (kept > longest) {  // not within a character
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

/// @param sites  not of labels: unknown launches have none
std::string named_table(const char* heading, const std::vector<NamedCounters>& named, bool sites = false) {
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
  line("copied between host arrays", c.h2h);
  line("filled in place", c.filled);
  line("saved before a write, over the link (counted above too)", c.saved_link);
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
  std::string out = "\n" + table.text() + "\n";
  out += "  launches " + std::to_string(c.launches) + " (unknown " + std::to_string(c.unknown_launches) +
         ", outside semcache::Exec " + std::to_string(c.native_launches) + "), host faults " + std::to_string(c.host_faults) +
         ", evictions " + std::to_string(c.evictions) + ", waits for a whole device " + std::to_string(c.device_waits) +
         ", open mirrors " + std::to_string(c.opened) + ", unannounced uses " + std::to_string(c.unannounced) + "\n";
  return out;
}

using Figure = std::pair<std::uint64_t, std::string>;  ///< of a label

/// "A (1.50 GiB), B (4.00 KiB) and 3 more", in the order given.
std::string enumeration(const std::vector<Figure>& found, bool as_bytes, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < found.size() && i < most; ++i) {
    const auto& [value, name] = found[i];
    out += (i > 0 ? ", " : "") + shown(name) + " (" + (as_bytes ? human(value) : std::to_string(value)) + ")";
  }
  if (found.size() > most) out += " and " + std::to_string(found.size() - most) + " more";
  return out;
}

/// The labels that have a figure, largest first.
template <class Get>
std::vector<Figure> ordered(const std::vector<NamedCounters>& named, Get get) {
  std::vector<Figure> found;
  for (const NamedCounters& n : named) {
    if (const std::uint64_t value = get(n.counters)) found.emplace_back(value, n.name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return found;
}

template <class Get>
std::string leaders(const std::vector<NamedCounters>& named, Get get, bool as_bytes) {
  return enumeration(ordered(named, get), as_bytes, 5);
}

/// Something is to be done about each of these, so more are named.
constexpr std::size_t most_candidates = 12;

/// What came back from a device. A kernel that only reads an array reads, as a rule, what the host sent: arrays that
/// had been sent come first, however small. Kokkos names the mirror of "A" "A_mirror".
std::string came_back(const std::vector<NamedCounters>& named) {
  std::unordered_set<std::string> sent;
  for (const NamedCounters& n : named) {
    if (n.counters.h2d.bytes > 0) sent.insert(n.name);
  }
  const auto was_sent = [&](const Figure& figure) {
    constexpr std::string_view suffix = "_mirror";
    const std::string& name = figure.second;
    if (sent.count(name) != 0) return true;
    const std::size_t end = name.size() - std::min(name.size(), suffix.size());
    return name.compare(end, suffix.size(), suffix) == 0 && sent.count(name.substr(0, end)) != 0;
  };
  auto found = ordered(named, [](const Counters& c) { return c.d2h.bytes; });
  std::stable_partition(found.begin(), found.end(), was_sent);
  return enumeration(found, true, most_candidates);
}

/// The arrays of which most of what was read ahead was not seen to be used, with these bytes.
std::string lost_forecasts(const std::vector<NamedCounters>& named) {
  constexpr std::uint64_t worth_a_word = 64 * 1024;
  return leaders(named, [](const Counters& c) {
    const std::uint64_t lost = c.read_ahead_lost.bytes;
    return lost >= worth_a_word && 2 * lost > c.read_ahead.bytes ? lost : 0;
  }, true);
}

}  // namespace

std::vector<std::string> advice(const Statistics& s) {
  const Counters& t = s.total;
  std::vector<std::string> out;
  const auto add = [&](std::string text) { out.push_back(std::move(text)); };

  if (s.protocol == "off") {
    add("SEMCACHE_PROTOCOL=off: every copy was carried out as it was written, and only counted. Unset it to see what "
        "need not move.");
  }
  if (t.unknown_launches > 0) {
    add("Unknown launches may read and write every array, so that everything owed was settled first. Let the functors "
        "named above hold Views rather than raw pointers, references or Views of Views.");
  }
  if (t.native_launches > 0) {
    add("Arrays were captured by kernels outside semcache::Exec: use it (or semcache::Device) as the kernel's execution "
        "space, so that its arrays are made ready together and in its own queue.");
  }
  if (t.device_waits > 0) {
    add("The queue that wrote an array was unknown, so that a whole device was waited for: launch through "
        "semcache::Exec where device pointers are announced with semcache::access.");
  }
  if (t.evictions > 0) {
    add("Device memory was short. Evicted most often: " + leaders(s.labels, [](const Counters& c) { return c.evictions; }, false) +
        ". Raise SEMCACHE_DEVICE_MEMORY, or work on fewer arrays at a time.");
  }
  if (t.saved_link.bytes > 0) {
    add("Content was saved over the link before it was overwritten, because a copy of it was still owed: " +
        leaders(s.labels, [](const Counters& c) { return c.saved_link.bytes; }, true) +
        ". Remove copies that nobody reads, or raise SEMCACHE_SNAPSHOT_SHARE.");
  }
  if (t.unchanged.bytes > 0) {
    add("Captured as writable, but never changed: " +
        enumeration(ordered(s.labels, [](const Counters& c) { return c.unchanged.bytes; }), true, most_candidates) +
        ". Capture them as View<const T*>, and no check is needed.");
  } else if (t.h2d.bytes > 0 && t.d2h.bytes > 0) {
    add("Came back from a device: " + came_back(s.labels) +
        ". Where kernels only read one of them, capture it as View<const T*>; SEMCACHE_CHECK_WRITES=1 finds such arrays.");
  }
  constexpr std::uint64_t small_fault_bytes = 64 * 1024, many_faults = 64;
  if (t.host_faults >= many_faults && t.d2h.bytes / t.host_faults < small_fault_bytes) {
    add("Many host faults, few bytes each: " + leaders(s.labels, [](const Counters& c) { return c.host_faults; }, false) +
        ". Before a pass over a whole array, announce it: semcache::access(view, semcache::Access::read).");
  }
  if (const std::string lost = lost_forecasts(s.labels); !lost.empty()) {
    add("Read ahead of host faults, mostly without any sign of use: " + lost +
        ". Where the host reads parts of an array that a device writes, announce them: semcache::access(address, bytes, "
        "semcache::Access::read); nothing else is fetched then.");
  }
  if (t.opened > 0) {
    add("Mirrors became open near the kernel's limit on mappings, so that their copies happen at the call: " +
        leaders(s.labels, [](const Counters& c) { return c.opened; }, false) +
        ". Use fewer, larger arrays, or raise vm.max_map_count.");
  }
  if (t.unannounced > 0) {
    add("Used outside semcache::Exec without a word (kernels, libraries, driver copies), and taken for written: " +
        leaders(s.labels, [](const Counters& c) { return c.unannounced; }, false) +
        ". Announce such uses: semcache::access(view, semcache::Access::read).");
  }
  return out;
}

namespace {

std::string unknown_table(const Statistics& s) {
  if (s.unknown_launch_names.empty()) return {};
  // The names are types, often longer than any column: they come last.
  std::string out = "\n     times  unknown launches, by functor\n";
  for (std::size_t i = 0; i < s.unknown_launch_names.size() && i < most_rows; ++i) {
    char times[32];
    std::snprintf(times, sizeof times, "%10llu  ",
                  static_cast<unsigned long long>(s.unknown_launch_names[i].counters.unknown_launches));
    std::string name = s.unknown_launch_names[i].name;
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    out += times + name + "\n";
  }
  if (s.unknown_launch_names.size() > most_rows) {
    out += "            ... and " + std::to_string(s.unknown_launch_names.size() - most_rows) + " more functors\n";
  }
  return out;
}

}  // namespace

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
         "; device memory in use " + human(s.mapped_device_bytes) + ", of it saved copies " + human(s.snapshot_bytes) +
         "; directory " + human(s.directory_bytes) + "\n";
  out += totals_table(s.total);
  out += named_table("label", s.labels);
  out += named_table("call site", s.call_sites, true);
  out += unknown_table(s);
  const std::vector<std::string> sentences = advice(s);
  if (!sentences.empty()) out += "\n  what to do\n";
  for (const std::string& sentence : sentences) out += "  - " + sentence + "\n";
  return out;
}

}  // namespace semcache::trace
