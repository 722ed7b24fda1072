// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "findings.hpp"
#include "report.hpp"
#include "report_parts.hpp"

#include <semcache/trace/detail/symbol.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace semcache::advisor {
namespace {

using Json = nlohmann::ordered_json;

Json of(const Tally& t) { return {{"bytes", t.bytes}, {"count", t.count}, {"seconds", t.seconds}}; }

/// Bytes and count of each direction, as in SemCache's report.
using Directions = std::map<Direction, Tally>;

Json counters(const Directions& directions) {
  Json out;
  for (const Direction d : {Direction::h2d, Direction::d2h, Direction::d2d, Direction::h2h, Direction::other}) {
    const auto found = directions.find(d);
    const Tally t = found == directions.end() ? Tally{} : found->second;
    if (d != Direction::other || t.count > 0) out[to_string(d)] = {{"bytes", t.bytes}, {"count", t.count}};
  }
  return out;
}

/// Returns a list of names with their counters, those with the most bytes first.
Json list(const std::map<std::string, Directions>& named) {
  std::vector<std::pair<std::uint64_t, Json>> all;
  for (const auto& [name, directions] : named) {
    std::uint64_t bytes = 0;
    for (const auto& [direction, tally] : directions) bytes += tally.bytes;
    Json one{{"name", name}};
    one.update(counters(directions));
    all.emplace_back(bytes, std::move(one));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Json out = Json::array();
  for (auto& [bytes, one] : all) out.push_back(std::move(one));
  return out;
}

Json of(const Ledger& ledger, const Finding& f, const Sites& sites) {
  const Statement& s = *f.statement;
  Json one{{"what", to_string(f.what)},
           {"certainty", is_certain(f.what) ? "certain" : "possible"},
           {"to", ledger.label(s.to)},
           {"from", ledger.label(s.from)},
           {"direction", to_string(s.direction)},
           {"call_site", sites.of(s.site)}};
  one.update(of(f.tally));
  one["of"] = of(copies_at(f));
  if (f.what == What::round_trip) one["destination_had_changed"] = of(s.restored);
  if (f.what == What::redundant || f.what == What::fresh || f.what == What::shared) {
    one["launches_between"] = s.launches_between;
    one["kernels_between"] = Json::array();
    for (const std::uint32_t kernel : s.kernels) one["kernels_between"].push_back(trace::detail::demangled(ledger.kernel(kernel).c_str()));
  }
  return one;
}

/// Returns an entry of "advice_items". Of a round trip only what the destination had still is worth something.
Json advice_item(const Ledger& ledger, const Finding& f, const std::string& site, const std::string& text) {
  const Statement& s = *f.statement;
  const bool returned = f.what == What::round_trip;
  const std::uint64_t bytes = f.tally.bytes - (returned ? s.restored.bytes : 0);
  Json one{{"kind", to_string(f.what)}, {"certainty", is_certain(f.what) ? "certain" : "possible"}, {"text", text}};
  one["labels"] = Json::array({{{"name", ledger.label(s.to)}, {"bytes", f.tally.bytes}}});
  one["call_site"] = site;
  if (bytes > 0) {
    one["bytes"] = bytes;
    one["seconds"] = f.tally.seconds - (returned ? s.restored.seconds : 0);
    one["direction"] = to_string(s.direction);
    one["condition"] = condition(f.what);
  }
  return one;
}

}  // namespace

std::string json_report(const Ledger& ledger, const Circumstances& c, const trace::ReportPlace& place) {
  const Sites sites(ledger);
  Directions total;
  std::map<std::string, Directions> labels, call_sites;
  for (const Statement& s : ledger.statements()) {
    if (s.copies.count == 0) continue;  // of a view onto itself
    for (Directions* const d : {&total, &labels[ledger.label(s.to)], &call_sites[sites.of(s.site)]}) (*d)[s.direction] += s.copies;
  }
  const std::vector<Finding> findings = findings_of(ledger);
  Tally possible = sum(ledger, &Statement::fresh);
  possible += sum(ledger, &Statement::unused);

  Json j;
  j["schema_version"] = trace::report_schema_version;
  j["process"] = place.process;
  j["host"] = place.host;
  j["rank"] = std::max(place.rank, 0);
  j["device"] = {{"kind", c.saw_device ? "cuda" : "host"}};
  j["total"] = counters(total);
  j["total"]["filled"] = {{"bytes", ledger.fills().bytes}, {"count", ledger.fills().count}};
  j["labels"] = list(labels);
  j["call_sites"] = list(call_sites);
  j["advice"] = j["advice_items"] = Json::array();
  for (std::size_t i = 0; i < findings.size() && i < most_shown; ++i) {
    const std::string& site = sites.of(findings[i].statement->site);
    const std::string text = advice(ledger, findings[i], site);
    j["advice"].push_back(text);
    j["advice_items"].push_back(advice_item(ledger, findings[i], site, text));
  }
  Json& a = j["advisor"];
  a["version"] = 1;
  a["tools_interface"] = c.interface_version;
  a["finalized"] = c.finalized;
  a["program_seconds"] = c.program_seconds;
  a["advisor_seconds"] = c.advisor_seconds;
  a["launches"] = ledger.launches();
  a["copies"] = of(sum(ledger, &Statement::copies));
  a["not_examined"] = of(sum(ledger, &Statement::not_examined));
  a["scalars"] = of(ledger.scalars());
  a["empty_copies"] = ledger.empty_copies();
  a["onto_itself"] = of(sum(ledger, &Statement::shared));
  a["onto_itself"]["unchanged"] = of(sum(ledger, &Statement::shared_same));
  a["histories_dropped"] = ledger.histories_dropped();
  a["saves"] = {{"certain", of(sum(ledger, &Statement::redundant))}, {"possible", of(possible)}};
  a["findings"] = Json::array();
  for (const Finding& f : findings) a["findings"].push_back(of(ledger, f, sites));
  // Labels come from the program, so bytes that are not UTF-8 are replaced; otherwise there would be no report.
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace semcache::advisor
