// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/recorder.hpp>
#include <semcache/trace/report.hpp>

#include <nlohmann/json.hpp>

namespace semcache::trace {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& to, const Counters& counters) {
#define SEMCACHE_PUT_TRAFFIC(name) to[#name] = {{"bytes", counters.name.bytes}, {"count", counters.name.count}};
#define SEMCACHE_PUT_EVENTS(name) to[#name] = counters.name;
  SEMCACHE_TRAFFIC(SEMCACHE_PUT_TRAFFIC)
  SEMCACHE_EVENTS(SEMCACHE_PUT_EVENTS)
}

Json list(const std::vector<NamedCounters>& named) {
  Json out = Json::array();
  for (const NamedCounters& n : named) {
    Json one;
    one["name"] = n.name;
    put(one, n.counters);
    out.push_back(std::move(one));
  }
  return out;
}

Json of(const Advice& a) {
  Json one{{"kind", a.kind}, {"text", a.text}, {"labels", Json::array()}};
  for (const auto& [value, label] : a.labels) one["labels"].push_back({{"name", label}, {a.unit == Advice::Unit::bytes ? "bytes" : "count", value}});
  if (a.bytes > 0) one["bytes"] = a.bytes;
  if (!a.direction.empty()) one["direction"] = a.direction;
  if (!a.condition.empty()) one["condition"] = a.condition;
  return one;
}

}  // namespace

std::string json_report(const Statistics& s, const ReportPlace& place) {
  Json j;
  j["schema_version"] = report_schema_version;
  j["process"] = place.process;
  j["host"] = place.host;
  j["rank"] = place.rank < 0 ? 0 : place.rank;
  j["device"] = {{"kind", s.device_kind}, {"name", s.device_name}, {"count", s.device_count}, {"ordinal", s.device_ordinal}};
  j["devices"] = Json::array();
  for (const DeviceStatistics& d : s.devices) {
    j["devices"].push_back({{"name", d.name}, {"ordinal", d.ordinal}, {"mapped_bytes", d.mapped_bytes}, {"budget_bytes", d.budget_bytes}});
  }
  const auto memory = [](int which) { return which == LinkStatistics::host ? Json("host") : Json(which); };
  j["links"] = Json::array();
  for (const LinkStatistics& l : s.links) {
    j["links"].push_back({{"from", memory(l.from)}, {"to", memory(l.to)}, {"bytes", l.traffic.bytes}, {"count", l.traffic.count}});
  }
  j["library_calls"] = Json::array();
  for (const LibraryCalls& c : s.library_calls) j["library_calls"].push_back({{"what", c.what}, {"count", c.count}});
  j["tracker"] = s.tracker;
  j["device_tracker"] = s.device_tracker;
  j["protocol"] = s.protocol;
  j["memory"] = {{"live_device_bytes", s.live_device_bytes},
                 {"live_host_bytes", s.live_host_bytes},
                 {"mapped_device_bytes", s.mapped_device_bytes},
                 {"device_budget_bytes", s.device_budget_bytes},
                 {"snapshot_bytes", s.snapshot_bytes},
                 {"derived_bytes", s.derived_bytes},
                 {"directory_bytes", s.directory_bytes}};
  if (s.virtual_time) {
    const auto busy = [](const std::vector<VirtualTimes::Busy>& all) {
      Json out = Json::array();
      for (const VirtualTimes::Busy& b : all) out.push_back({{"name", b.name}, {"busy_seconds", b.seconds}});
      return out;
    };
    j["virtual_seconds"] = s.virtual_time->seconds;
    j["virtual_devices"] = busy(s.virtual_time->devices);
    j["virtual_links"] = busy(s.virtual_time->links);
  }
  Json total;
  put(total, s.total);
  total["launches"] = s.total.launches;
  total["unknown_launches"] = s.total.unknown_launches;
  total["native_captures"] = s.total.native_captures;
  total["native_launches"] = s.total.native_captures;  // its older name
  total["device_waits"] = s.total.device_waits;
  j["total"] = std::move(total);
  j["labels"] = list(s.labels);
  j["call_sites"] = list(s.call_sites);
  for (std::size_t i = 0; i < s.call_sites.size(); ++i) {  // labels count no unknown launches
    j["call_sites"][i]["unknown_launches"] = s.call_sites[i].counters.unknown_launches;
  }
  Json unknown = Json::array();
  for (const NamedCounters& n : s.unknown_launch_names) {
    unknown.push_back({{"name", n.name}, {"count", n.counters.unknown_launches}, {"reason", n.reason}});
  }
  j["unknown_launches"] = std::move(unknown);
  j["advice"] = j["advice_items"] = Json::array();
  for (const Advice& a : advice(s)) {
    j["advice"].push_back(a.text);
    j["advice_items"].push_back(of(a));
  }
  // Labels come from the program, so bytes that are not UTF-8 are replaced; otherwise there would be no report.
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace semcache::trace
