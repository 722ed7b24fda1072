// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "output.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iomanip>
#include <ostream>
#include <stdexcept>

namespace microbenchmarks {
namespace {

using Json = nlohmann::ordered_json;

const Outcome* find(const std::vector<Outcome>& outcomes, Name name) {
  for (const Outcome& o : outcomes) {
    if (o.benchmark.id == name) return &o;
  }
  return nullptr;
}

std::optional<Counts> counts_of(const Outcome& outcome, Scheme scheme) {
  if (scheme == Scheme::semcache) return outcome.semcache.counts;
  return outcome.managed ? outcome.managed->counts : std::nullopt;
}

void row(std::ostream& out, const std::string& name, std::uint64_t bytes, const char* scheme, const Measurement& m) {
  out << std::left << std::setw(20) << name << std::right << std::setw(12) << bytes << "  " << std::left << std::setw(9) << scheme
      << std::right;
  const auto cell = [&](int width, std::uint64_t value) {
    if (m.counts) {
      out << std::setw(width) << value;
    } else {
      out << std::setw(width) << "n/a";
    }
  };
  const Counts c = m.counts.value_or(Counts{});
  cell(14, c.h2d_bytes);
  cell(14, c.d2h_bytes);
  cell(9, c.host_faults);
  out << (m.correct ? "  right" : "  WRONG") << "\n";
}

Json json_of(const Measurement& m) {
  Json j;
  j["correct"] = m.correct;
  if (!m.counts) {
    j["counts"] = nullptr;
    return j;
  }
  const Counts& c = *m.counts;
  j["counts"] = {{"h2d_bytes", c.h2d_bytes},
                 {"d2h_bytes", c.d2h_bytes},
                 {"host_faults", c.host_faults},
                 {"saved_link_bytes", c.saved_link_bytes},
                 {"saved_device_bytes", c.saved_device_bytes},
                 {"avoided_bytes", c.avoided_bytes},
                 {"unchanged_bytes", c.unchanged_bytes},
                 {"unknown_launches", c.unknown_launches}};
  return j;
}

const char* letter(const std::optional<bool>& value) { return !value ? "-" : *value ? "Y" : "N"; }

Json json_of(const Redundancy& r) {
  const auto value = [](const std::optional<bool>& v) { return v ? Json(*v) : Json(nullptr); };
  return {{"only_stale_to_device", value(r.only_stale_to_device)},
          {"only_stale_to_host", value(r.only_stale_to_host)},
          {"no_eager_to_device", value(r.no_eager_to_device)},
          {"no_eager_to_host", value(r.no_eager_to_host)}};
}

}  // namespace

Redundancy redundancy(const std::vector<Outcome>& outcomes, Scheme scheme) {
  // A scheme that moves whole pages may move a page that is larger than the array.
  const auto rounded = [](std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; };
  const auto counted = [&](Name name) -> std::pair<const Outcome*, std::optional<Counts>> {
    const Outcome* o = find(outcomes, name);
    return {o, o == nullptr ? std::nullopt : counts_of(*o, scheme)};
  };
  Redundancy r;
  if (const auto [o, c] = counted(Name::readonly_const); c) {
    // Two kernels read y. The second one finds y on the device. No kernel changes y, so the host's copy is still fresh.
    r.only_stale_to_device = c->h2d_bytes <= rounded(o->bytes);
    r.only_stale_to_host = c->d2h_bytes == 0;
  }
  if (const auto [o, c] = counted(Name::nokernel); c) {
    r.only_stale_to_host = r.only_stale_to_host.value_or(true) && c->d2h_bytes == 0;
  }
  if (const auto [o, c] = counted(Name::multivars); c) {
    r.no_eager_to_device = c->h2d_bytes <= rounded(o->bytes);
  }
  if (const auto [o, c] = counted(Name::privmem); c) r.no_eager_to_host = c->d2h_bytes == 0;
  return r;
}

void print_table(std::ostream& out, const std::vector<Outcome>& outcomes) {
  out << std::left << std::setw(20) << "benchmark" << std::right << std::setw(12) << "array bytes" << "  " << std::left
      << std::setw(9) << "scheme" << std::right << std::setw(14) << "h2d bytes" << std::setw(14) << "d2h bytes" << std::setw(9)
      << "faults" << "  values\n";
  bool managed = false;
  std::string note;
  for (const Outcome& o : outcomes) {
    row(out, o.benchmark.name, o.bytes, "semcache", o.semcache);
    if (o.managed) {
      row(out, o.benchmark.name, o.bytes, "managed", *o.managed);
      managed = true;
    } else if (!o.managed_note.empty()) {
      note = o.managed_note;
    }
  }
  if (!note.empty()) out << "managed memory: not run, " << note << "\n";

  out << "\n          only non-stale to stale      prevents eager\n"
      << "scheme    CPU-to-GPU  GPU-to-CPU       CPU-to-GPU  GPU-to-CPU\n";
  const auto line = [&](const char* name, const Redundancy& r) {
    out << std::left << std::setw(10) << name << std::setw(12) << letter(r.only_stale_to_device) << std::setw(17)
        << letter(r.only_stale_to_host) << std::setw(12) << letter(r.no_eager_to_device) << letter(r.no_eager_to_host) << "\n"
        << std::right;
  };
  line("semcache", redundancy(outcomes, Scheme::semcache));
  if (managed) line("managed", redundancy(outcomes, Scheme::managed));
}

void write_json(const std::string& path, const std::vector<Outcome>& outcomes, const std::string& device_kind,
                const std::string& device_name, const std::string& protocol) {
  Json j;
  j["schema_version"] = 1;
  j["device"] = {{"kind", device_kind}, {"name", device_name}};
  j["protocol"] = protocol;
  j["benchmarks"] = Json::array();
  for (const Outcome& o : outcomes) {
    Json one;
    one["name"] = o.benchmark.name;
    one["array_bytes"] = o.bytes;
    one["semcache"] = json_of(o.semcache);
    one["managed"] = o.managed ? json_of(*o.managed) : Json(nullptr);
    one["checks"] = Json::array();
    for (const Check& c : o.checks) {
      one["checks"].push_back(
          {{"figure", c.figure}, {"actual", c.actual}, {"least", c.least}, {"most", c.most}, {"holds", c.holds()}});
    }
    j["benchmarks"].push_back(std::move(one));
  }
  j["redundancy"] = {{"semcache", json_of(redundancy(outcomes, Scheme::semcache))},
                     {"managed", json_of(redundancy(outcomes, Scheme::managed))}};
  std::ofstream file(path);
  file << j.dump(2) << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

int print_failures(std::ostream& out, const std::vector<Outcome>& outcomes, bool with_counts) {
  int failures = 0;
  for (const Outcome& o : outcomes) {
    if (!o.semcache.correct) {
      out << "wrong: " << o.benchmark.name << " (semcache): a value that was read is not the right one\n";
      ++failures;
    }
    if (o.managed && !o.managed->correct) {
      out << "wrong: " << o.benchmark.name << " (managed): a value that was read is not the right one\n";
      ++failures;
    }
    for (const Check& c : o.checks) {
      if (!with_counts || c.holds()) continue;
      out << "wrong: " << o.benchmark.name << ": " << c.figure << " " << c.actual << ", expected ";
      if (c.least == c.most) {
        out << c.least << "\n";
      } else {
        out << c.least << " to " << c.most << "\n";
      }
      ++failures;
    }
  }
  if (with_counts) {
    const Redundancy r = redundancy(outcomes, Scheme::semcache);
    for (const auto& [name, value] :
         {std::pair{"CPU-to-GPU only non-stale to stale", r.only_stale_to_device},
          std::pair{"GPU-to-CPU only non-stale to stale", r.only_stale_to_host},
          std::pair{"prevents eager CPU-to-GPU", r.no_eager_to_device}, std::pair{"prevents eager GPU-to-CPU", r.no_eager_to_host}}) {
      if (!value.value_or(true)) {
        out << "wrong: redundancy table: " << name << ": N, expected Y\n";
        ++failures;
      }
    }
  }
  return failures;
}

}  // namespace microbenchmarks
