// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/timeline_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <utility>

namespace semcache::trace {
namespace {

constexpr const char* kind_names[] = {"copy", "fill", "map", "evict", "fault", "launch", "wait", "kernel", "other"};
static_assert(std::size(kind_names) == Span::kinds);

/// Returns the text as a JSON string. Labels come from the program, so bytes that are not UTF-8 are replaced.
std::string as_json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string memory_name(std::uint32_t memory) { return memory == 0 ? "host" : "device " + std::to_string(memory - 1); }

/// Microseconds, with nanoseconds behind the point.
std::string microseconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%03u", static_cast<unsigned long long>(ns / 1000), static_cast<unsigned>(ns % 1000));
  return text;
}

/// Where a lane stands among the others: host threads first, then devices, then links.
struct LaneKey {
  int group;
  std::uint32_t number;
  friend bool operator<(LaneKey a, LaneKey b) noexcept { return std::pair(a.group, a.number) < std::pair(b.group, b.number); }
};
constexpr int host_threads = 0, devices = 1, links = 2;

/// The spans of one lane. Spans of a host thread lie in each other or apart, because a thread does one thing at a time. Others may overlap,
/// and then are drawn in several rows.
struct Lane {
  std::string name;
  std::vector<const Span*> spans;
};

class Writer {
 public:
  Writer(const Recorder& recorder, const TimelineFacts& facts, const ReportPlace& place)
      : recorder_(recorder), facts_(facts), place_(place), log_(*recorder.span_log()), spans_(log_.spans()), sites_(json_of_all(recorder.sites())) {
    for (const std::string& name : log_.names()) {
      names_.push_back(as_json(Recorder::readable(name.c_str())));
      if (name == SpanLog::library_routine) library_routine_ = static_cast<std::uint32_t>(names_.size());
    }
  }

  std::string write() {
    head();
    take_device_times();
    for (const Span& s : spans_) sort_in(s);
    for (const Span& s : on_devices_) sort_in(s);
    int row = 0;
    for (auto& [key, lane] : lanes_) {
      std::stable_sort(lane.spans.begin(), lane.spans.end(), [](const Span* a, const Span* b) {
        return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a->end_ns > b->end_ns;
      });
      const auto rows = key.group == host_threads ? std::vector<std::vector<const Span*>>{lane.spans} : apart(lane.spans);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        begin_row(++row, r == 0 ? lane.name : lane.name + " (" + std::to_string(r + 1) + ")");
        for (const Span* s : rows[r]) span(row, *s);
      }
    }
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  static std::vector<std::string> json_of_all(std::vector<std::string> texts) {
    for (std::string& text : texts) text = as_json(text);
    return texts;
  }
  /// Splits spans, which are in the order of their beginnings, into rows in which no two overlap.
  static std::vector<std::vector<const Span*>> apart(const std::vector<const Span*>& spans) {
    std::vector<std::vector<const Span*>> rows;
    for (const Span* s : spans) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.back()->end_ns <= s->begin_ns; });
      if (row == rows.end()) row = rows.emplace(rows.end());
      row->push_back(s);
    }
    return rows;
  }
  [[nodiscard]] bool is_transfer(const Span& s) const noexcept { return s.kind == Span::Kind::copy && s.from != s.to; }
  void put(int group, std::uint32_t number, const std::string& name, const Span& s) {
    Lane& lane = lanes_[{group, number}];
    if (lane.spans.empty()) lane.name = name;
    lane.spans.push_back(&s);
  }
  /// Gives copies and fills the times at which devices carried them out. What is left over becomes a span of its own: kernels, and what other code
  /// has copied.
  void take_device_times() {
    std::unordered_map<std::uint32_t, Span*> by_cause;
    for (Span& s : spans_) {
      if (s.cause != 0) by_cause[s.cause] = &s;
    }
    for (const DeviceSpan& d : log_.device_spans()) {
      const auto found = by_cause.find(d.cause);
      Span* const cause = d.cause != 0 && found != by_cause.end() ? found->second : nullptr;
      if (cause != nullptr && (cause->kind == Span::Kind::copy || cause->kind == Span::Kind::fill)) {
        const bool first = submitted_.emplace(cause, cause->begin_ns).second;
        cause->begin_ns = first ? d.begin_ns : std::min(cause->begin_ns, d.begin_ns);
        cause->end_ns = first ? d.end_ns : std::max(cause->end_ns, d.end_ns);
        continue;
      }
      Span s;
      s.kind = d.kind == DeviceSpan::Kind::kernel ? Span::Kind::kernel : Span::Kind::other;
      s.begin_ns = d.begin_ns;
      s.end_ns = d.end_ns;
      s.bytes = d.bytes;
      const bool named_by_launch = cause != nullptr && cause->kind == Span::Kind::launch && cause->name != library_routine_;
      s.name = named_by_launch ? cause->name : d.name;
      s.queue = d.stream;
      s.to = static_cast<std::uint8_t>(d.device + 1);
      on_devices_.push_back(s);
    }
  }
  void sort_in(const Span& s) {
    if (s.kind == Span::Kind::kernel) return put(devices, 2u * s.to, memory_name(s.to), s);
    if (s.kind == Span::Kind::other) return put(devices, 2u * s.to + 1, memory_name(s.to) + ", other copies and fills", s);
    if (is_transfer(s)) return put(links, s.from * 256u + s.to, memory_name(s.from) + " to " + memory_name(s.to), s);
    if (submitted_.count(&s) > 0) return put(devices, 2u * s.to, memory_name(s.to), s);
    put(host_threads, s.thread, "host thread " + std::to_string(s.thread) + (s.thread == place_.process ? " (main)" : ""), s);
    if (s.kind == Span::Kind::launch && facts_.kernels_run_in_caller) put(devices, 2u * s.to, memory_name(s.to), s);
  }

  void head() {
    using Json = nlohmann::ordered_json;
    Json j;
    j["semcache_timeline"] = timeline_schema_version;
    j["process"] = place_.process;
    j["host"] = place_.host;
    j["rank"] = place_.rank < 0 ? 0 : place_.rank;
    j["begin_unix_ns"] = log_.begin_unix_ns();
    j["device_kind"] = facts_.device_kind;
    j["devices"] = facts_.devices;
    j["transfer_times"] = facts_.kernels_run_in_caller || facts_.has_device_times ? "carried out" : "submitted";
    const auto dropped = log_.dropped();
    for (std::size_t k = 0; k < Span::kinds; ++k) j["dropped"][kind_names[k]] = dropped[k];
    out_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":" + j.dump(-1, ' ', false, Json::error_handler_t::replace) + ",\"traceEvents\":[\n";
    out_ += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(place_.process) + ",\"args\":{\"name\":" +
            as_json("rank " + std::to_string(place_.rank < 0 ? 0 : place_.rank) + ", process " + std::to_string(place_.process) + " on " + place_.host) + "}}";
  }
  void begin_event(const char* phase, int row) {
    out_ += ",\n{\"ph\":\"";
    out_ += phase;
    out_ += "\",\"pid\":" + std::to_string(place_.process) + ",\"tid\":" + std::to_string(row);
  }
  void begin_row(int row, const std::string& name) {
    begin_event("M", row);
    out_ += ",\"name\":\"thread_name\",\"args\":{\"name\":" + as_json(name) + "}}";
    begin_event("M", row);
    out_ += ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + std::to_string(row) + "}}";
  }
  const std::string& label(LabelId id) {
    std::string& text = labels_[id.value];
    if (text.empty()) text = as_json(recorder_.name(id));
    return text;
  }
  void span(int row, const Span& s) {
    const char* const kind = kind_names[static_cast<std::size_t>(s.kind)];
    const bool launch = s.kind == Span::Kind::launch;
    const bool on_device = s.kind == Span::Kind::kernel || s.kind == Span::Kind::other;
    begin_event("X", row);
    out_ += std::string(",\"cat\":\"") + kind + "\",\"name\":";
    if (s.name > 0 && s.name <= names_.size()) {
      out_ += names_[s.name - 1];
    } else if (launch || s.kind == Span::Kind::kernel) {
      out_ += "\"(unnamed)\"";
    } else if (s.label.valid()) {
      out_ += label(s.label);
    } else {
      out_ += std::string("\"") + kind + "\"";
    }
    out_ += ",\"ts\":" + microseconds(s.begin_ns) + ",\"dur\":" + microseconds(s.end_ns - s.begin_ns) + ",\"args\":{\"kind\":\"" + kind + "\"";
    if (s.reason != nullptr) out_ += std::string(",\"reason\":\"") + s.reason + "\"";
    if (s.kind != Span::Kind::launch && s.kind != Span::Kind::wait && s.kind != Span::Kind::kernel) {
      out_ += ",\"bytes\":" + std::to_string(s.bytes);
    }
    if (s.kind == Span::Kind::copy) out_ += ",\"from\":" + as_json(memory_name(s.from));
    if (s.kind != Span::Kind::wait) out_ += ",\"to\":" + as_json(memory_name(s.to));
    if (launch) out_ += ",\"queue\":" + std::to_string(s.queue);
    if (on_device) out_ += ",\"stream\":" + std::to_string(s.queue);
    if (const auto submitted = submitted_.find(&s); submitted != submitted_.end()) out_ += ",\"submitted\":" + microseconds(submitted->second);
    const bool by_device = (s.kind == Span::Kind::copy && (s.from != 0 || s.to != 0)) || (s.kind == Span::Kind::fill && s.to != 0);
    if (by_device && facts_.has_device_times && submitted_.count(&s) == 0) out_ += ",\"times\":\"submitted\"";
    if (is_transfer(s)) out_ += ",\"thread\":" + std::to_string(s.thread);
    if (s.site > 0 && s.site <= sites_.size()) out_ += ",\"site\":" + sites_[s.site - 1];
    out_ += "}}";
  }

  const Recorder& recorder_;
  const TimelineFacts& facts_;
  const ReportPlace& place_;
  const SpanLog& log_;
  std::vector<Span> spans_;
  std::vector<Span> on_devices_;  ///< kernels, and copies of other code
  std::unordered_map<const Span*, std::uint64_t> submitted_;  ///< of copies with the times of a device, when they were submitted
  const std::vector<std::string> sites_;
  std::vector<std::string> names_;
  std::uint32_t library_routine_ = 0;  ///< the number of that name; 0: it has none
  std::map<std::uint32_t, std::string> labels_;
  std::map<LaneKey, Lane> lanes_;
  std::string out_;
};

}  // namespace

std::string timeline_json(const Recorder& recorder, const TimelineFacts& facts, const ReportPlace& place) {
  return Writer(recorder, facts, place).write();
}

bool write_timeline(const Recorder& recorder, const TimelineFacts& facts, std::string_view target, int rank) noexcept {
  try {
    const ReportPlace place = this_process(rank);
    const std::string why = write_to_target(target, place, [&](ReportFormat) { return timeline_json(recorder, facts, place); });
    if (why.empty()) return true;
    base::raw_log("the timeline could not be written: %s", why.c_str());
  } catch (const std::exception& e) {
    base::raw_log("the timeline could not be written: %s", e.what());
  }
  return false;
}

}  // namespace semcache::trace
