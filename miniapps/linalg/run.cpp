// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "run.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <numeric>
#include <thread>

namespace linalg_miniapps {

namespace {

using Json = nlohmann::ordered_json;

Json traffic(const semcache::Traffic& t) { return {{"bytes", t.bytes}, {"count", t.count}}; }

Json transfers(const semcache::Counters& c) {
  return {{"h2d", traffic(c.h2d)},         {"d2h", traffic(c.d2h)},           {"d2d", traffic(c.d2d)},
          {"between_devices", traffic(c.between_devices)}, {"evictions", c.evictions}, {"host_faults", c.host_faults},
          {"device_waits", c.device_waits}};
}

/// What each link carried, and the sums for each device.
Json by_link(int count, const std::vector<semcache::LinkStatistics>& all) {
  Json links = Json::array(), devices = Json::array();
  const auto name = [](int end) { return end == semcache::LinkStatistics::host ? Json("host") : Json(end); };
  for (const semcache::LinkStatistics& l : all) {
    links.push_back({{"from", name(l.from)}, {"to", name(l.to)}, {"bytes", l.traffic.bytes}, {"count", l.traffic.count}});
  }
  for (int d = 0; d < count; ++d) {
    semcache::Traffic h2d, d2h, in, out;
    for (const semcache::LinkStatistics& l : all) {
      if (l.to == d) (l.from == semcache::LinkStatistics::host ? h2d : in) += l.traffic;
      if (l.from == d) (l.to == semcache::LinkStatistics::host ? d2h : out) += l.traffic;
    }
    devices.push_back({{"h2d", traffic(h2d)}, {"d2h", traffic(d2h)}, {"from_devices", traffic(in)}, {"to_devices", traffic(out)}});
  }
  return {{"devices", devices}, {"links", links}};
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void write_report(const Options& o, const Program& p, const Outcome& out, const Facts& facts) {
  Json j;
  j["program"] = p.name;
  j["variant"] = o.variant;
  j["n"] = o.n;
  if (p.kind == Kind::sparse) j["matrix"] = o.matrix;
  if (p.kind == Kind::sparse) j["device_scalars"] = o.device_scalars;
  if (p.kind == Kind::products) j["single"] = o.single;
  j["devices"] = facts.devices;
  j["device"] = {{"kind", facts.device_kind}, {"name", facts.device_name}};
  j["seconds"] = out.seconds;
  if (!out.solve_seconds.empty()) j["solve_seconds"] = out.solve_seconds;
  if (!out.residuals.empty()) j["residual_history"] = out.residuals;
  if (o.verify) j["verified"] = out.error <= out.tolerance;
  if (o.verify) j["error"] = out.error;
  j["problem_bytes"] = out.problem_bytes;
  j["transfers"] = facts.moved ? transfers(*facts.moved) : Json(nullptr);
  if (!facts.links.empty()) j["transfers"].update(by_link(facts.devices, facts.links));
  std::ofstream file(o.report);
  file << j.dump(2) << "\n";
  file.close();
  if (!file) throw std::runtime_error("the report cannot be written to '" + o.report + "'");
}

}  // namespace

void Outcome::note_solve() { solve_seconds.push_back(std::accumulate(seconds.begin(), seconds.end(), 0.0)); }

void in_parts(std::size_t count, std::size_t weight, const std::function<void(std::size_t, std::size_t)>& body) {
  constexpr std::size_t much = std::size_t{1} << 24;
  const std::size_t parts = count * weight < much ? 1 : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, count);
  std::vector<std::thread> others;
  for (std::size_t p = 1; p < parts; ++p) others.emplace_back(body, count * p / parts, count * (p + 1) / parts);
  body(0, count / parts);
  for (std::thread& t : others) t.join();
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void Iterations::begin() { begin_ = now(); }
void Iterations::end(double residual) {
  const double end = now();
  residuals_.push_back(residual);
  seconds_.push_back(end - begin_);
  begin_ = end;
}

int run(int argc, char** argv, const Program& program) {
  Options o = program.defaults;
  CLI::App app(program.what, program.name);
  app.add_option("--n", o.n, "size of the problem")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))->capture_default_str();
  app.add_option("--devices", o.devices, "devices of the process, 1 to 16; by default as SEMCACHE_DEVICES says, or one where SemCache is not used")
      ->check(CLI::Range(1, 16));
  app.add_option("--iterations", o.iterations, "rounds, or iterations")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--variant", o.variant, describe_variants(program.kind))
      ->check(CLI::IsMember(variant_names(program.kind)))
      ->capture_default_str();
  if (program.kind != Kind::products) {
    app.add_option("--solves", o.solves, "solve so many times; the host writes the values of matrix and vectors anew before each")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
  }
  if (program.kind == Kind::sparse) {
    app.add_option("--matrix", o.matrix, "the matrix")->check(CLI::IsMember(program.matrices))->capture_default_str();
    app.add_flag("--device-scalars", o.device_scalars,
                 "semcache: sums stay on the devices, and no iteration waits for the host; then the report has no residual but the last");
  }
  if (program.kind == Kind::products) {
    app.add_flag("--single", o.single, "one product: D = AB");
    app.add_option("--block", o.block, "rows and columns of a block of cublasxt; its default if missing")->check(CLI::Range(1, 1 << 20));
  }
  app.add_flag("--verify", o.verify, "check the result; too large an error makes the program fail");
  app.add_option("--report", o.report, "write the figures to this file, as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    const std::unique_ptr<Variant> variant = make_variant(o.variant, o.devices, o.block);
    const Outcome out = program.work(o, *variant);
    const Facts facts = variant->facts();
    const auto mib = [](const semcache::Traffic& t) { return static_cast<double>(t.bytes) / (1 << 20); };
    const double operands = static_cast<double>(out.problem_bytes) / (1 << 20);
    std::printf("%s, n = %lld, variant %s, %d x %s\n", program.name, static_cast<long long>(o.n), o.variant.c_str(), facts.devices,
                facts.device_kind == "emulated" ? "emulated device" : facts.device_name.c_str());
    if (facts.moved) {
      std::printf("to devices %.3f MiB, to the host %.3f MiB, between devices %.3f MiB; operands %.3f MiB\n", mib(facts.moved->h2d),
                  mib(facts.moved->d2h), mib(facts.moved->between_devices), operands);
    } else {
      std::printf("what moved is not counted; operands %.3f MiB\n", operands);
    }
    if (!out.residuals.empty()) std::printf("residual %.5e after %zu iterations\n", out.residuals.back(), out.seconds.size());
    if (facts.device_kind != "emulated") std::printf("%.6f s, the median of %zu rounds or iterations\n", median(out.seconds), out.seconds.size());
    if (facts.device_kind != "emulated" && out.solve_seconds.size() > 1) {
      std::printf("%.6f s, the median of %zu solves behind the first\n", median({out.solve_seconds.begin() + 1, out.solve_seconds.end()}),
                  out.solve_seconds.size() - 1);
    }
    const bool right = out.error <= out.tolerance;  // false for NaN
    if (o.verify) std::printf("verified: %s, error %.3e (at most %.1e)\n", right ? "yes" : "NO", out.error, out.tolerance);
    if (!o.report.empty()) write_report(o, program, out, facts);
    variant->end();
    return o.verify && !right ? 1 : 0;
  } catch (const semcache::ConfigurationError& e) {
    std::fprintf(stderr, "%s: %s\n", program.name, e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program.name, e.what());
    return 1;
  }
}

}  // namespace linalg_miniapps
