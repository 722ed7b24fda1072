// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

#include <minife/mpi_support.hpp>
#include <minife/report.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>

namespace minife {
namespace {

nlohmann::json to_json(const Tally& t) {
  return {{"h2d_bytes", t.h2d.bytes}, {"h2d_count", t.h2d.count}, {"d2h_bytes", t.d2h.bytes},
          {"d2h_count", t.d2h.count}, {"d2d_bytes", t.d2d.bytes}, {"d2d_count", t.d2d.count}};
}

std::string line(const char* label, const std::string& value) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-22s %s\n", label, value.c_str());
  return text;
}

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string traffic(const Traffic& t) {
  return std::to_string(t.bytes) + " bytes in " + std::to_string(t.count) + " transfers";
}

/// Applies f to every counter, in a fixed order.
template <class T, class F>
void for_each_counter(T& t, F&& f) {
  for (auto* traffic : {&t.h2d, &t.d2h, &t.d2d, &t.saved_link, &t.saved_device, &t.avoided, &t.between_devices, &t.results}) {
    f(traffic->bytes);
    f(traffic->count);
  }
  f(t.host_faults);
  f(t.evictions);
  f(t.unknown_launches);
  f(t.peer_launches);
}

}  // namespace

Report make_report(const Parameters& parameters, const LocalGrid& grid, const SolveResult& result, int ranks,
                   MPI_Comm comm) {
  Report r;
  r.solver = parameters.solver;
  r.variant = parameters.variant;
  r.elements = grid.elements();
  r.ranks = ranks;
  r.iterations = result.iterations;
  r.products = result.products;
  r.residual_history = result.residual_history;
  r.setup_seconds = result.setup_seconds;
  r.cg_seconds = result.cg_seconds;
  r.device_of_process = result.device;
  r.devices_per_rank = result.devices;
  r.total = result.total;
  r.cg = result.cg;

  std::vector<std::uint64_t> values{static_cast<std::uint64_t>(grid.rows()),
                                    static_cast<std::uint64_t>(grid.nonzeros()),
                                    static_cast<std::uint64_t>(grid.externals()),
                                    static_cast<std::uint64_t>(grid.sent_entries()),
                                    result.bytes.matrix,
                                    result.bytes.rhs,
                                    result.bytes.start,
                                    result.bytes.solution};
  const std::size_t fixed = values.size();
  for_each_counter(r.total, [&](std::uint64_t v) { values.push_back(v); });
  for_each_counter(r.cg, [&](std::uint64_t v) { values.push_back(v); });
  sum_in_place(values, comm);
  r.rows = static_cast<std::int64_t>(values[0]);
  r.nonzeros = static_cast<std::int64_t>(values[1]);
  r.externals = values[2];
  r.sent_entries = values[3];
  r.bytes = {values[4], values[5], values[6], values[7]};
  std::size_t next = fixed;
  for_each_counter(r.total, [&](std::uint64_t& v) { v = values[next++]; });
  for_each_counter(r.cg, [&](std::uint64_t& v) { v = values[next++]; });
  return r;
}

nlohmann::json to_json(const Report& r) {
  nlohmann::json j;
  j["schema_version"] = report_schema_version;
  j["program"] = "minife";
  j["solver"] = name_of(r.solver);
  j["variant"] = name_of(r.variant);
  j["elements"] = r.elements;
  j["ranks"] = r.ranks;
  j["device"] = {{"kind", r.device_kind},
                 {"count", r.device_count},
                 {"name", r.device_name},
                 {"of_rank", r.device_of_rank},
                 {"of_process", r.device_of_process},
                 {"per_rank", r.devices_per_rank}};
  j["exchange"] = {{"addresses", name_of(r.exchange)}, {"mpi_takes_device_addresses", mpi_takes_device_addresses()}};
  j["rows"] = r.rows;
  j["nonzeros"] = r.nonzeros;
  j["iterations"] = r.iterations;
  j["final_residual_norm"] = r.residual_history.empty() ? nlohmann::json() : nlohmann::json(r.residual_history.back());
  j["residual_history"] = r.residual_history;
  j["cg_seconds"] = r.cg_seconds;
  j["setup_seconds"] = r.setup_seconds;
  j["solution"] = {{"minimum", r.solution.minimum}, {"maximum", r.solution.maximum}, {"mean", r.solution.mean}};
  j["verified"] = r.verification ? nlohmann::json(r.verification->passed) : nlohmann::json();
  if (r.verification) {
    j["verification"] = {{"largest_error", r.verification->largest_error},
                         {"nodes_compared", r.verification->nodes_compared}};
  }
  j["transfers"] = to_json(r.total);
  j["cg_transfers"] = to_json(r.cg);
  j["reduction_results"] = {{"d2h_bytes", r.total.results.bytes}, {"d2h_count", r.total.results.count}};
  j["saved"] = {{"link_bytes", r.total.saved_link.bytes},
                {"device_bytes", r.total.saved_device.bytes},
                {"count", r.total.saved_link.count + r.total.saved_device.count}};
  j["avoided"] = {{"bytes", r.total.avoided.bytes}, {"count", r.total.avoided.count}};
  j["between_devices"] = {{"bytes", r.total.between_devices.bytes}, {"count", r.total.between_devices.count}};
  j["peer_launches"] = r.total.peer_launches;
  j["host_faults"] = r.total.host_faults;
  j["evictions"] = r.total.evictions;
  j["unknown_launches"] = r.total.unknown_launches;
  j["problem"] = {{"externals", r.externals},
                  {"sent_entries", r.sent_entries},
                  {"products", r.products},
                  {"matrix_bytes", r.bytes.matrix},
                  {"rhs_bytes", r.bytes.rhs},
                  {"start_bytes", r.bytes.start},
                  {"solution_bytes", r.bytes.solution}};
  return j;
}

std::string to_text(const Report& r) {
  std::string t = "miniFE " + std::to_string(r.elements[0]) + " x " + std::to_string(r.elements[1]) + " x " +
                  std::to_string(r.elements[2]) + ", variant " + name_of(r.variant) + ", solver " +
                  name_of(r.solver) + "\n";
  t += line("ranks", std::to_string(r.ranks));
  t += line("device", r.device_kind + " (" + r.device_name + "), " + std::to_string(r.device_count) + " used");
  t += line("rows, nonzeros", std::to_string(r.rows) + ", " + std::to_string(r.nonzeros));
  t += line("iterations", std::to_string(r.iterations));
  if (!r.residual_history.empty()) t += line("final residual norm", number("%.5e", r.residual_history.back()));
  if (r.verification) {
    t += line("verified", std::string(r.verification->passed ? "yes" : "NO") + ", largest error " +
                              number("%.3e", r.verification->largest_error) + " at " +
                              std::to_string(r.verification->nodes_compared) + " nodes");
  }
  t += line("set-up", number("%.4f s", r.setup_seconds));
  t += line("iterations take", number("%.4f s", r.cg_seconds));
  if (r.variant == Variant::unified) {
    t += line("transfers", "made by the driver, not counted");
    return t;
  }
  t += line("host to device", traffic(r.total.h2d));
  t += line("device to host", traffic(r.total.d2h));
  t += line("  in the iterations", "h2d " + std::to_string(r.cg.h2d.bytes) + ", d2h " + std::to_string(r.cg.d2h.bytes) +
                                       " bytes");
  return t;
}

}  // namespace minife
