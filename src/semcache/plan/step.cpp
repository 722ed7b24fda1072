// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/plan/step.hpp>

namespace semcache::plan {

using trace::Kind;

Counted counted(const Step& s) noexcept {
  Counted c;
  if (s.purpose == Purpose::detour) return c;
  if (s.kind == Step::Kind::fill) {
    c.label = s.to.label;
    c.kinds[c.count++] = Kind::filled;
    return c;
  }
  if (s.kind != Step::Kind::copy) return c;
  const bool saves = s.purpose == Purpose::save || s.purpose == Purpose::write_back;
  // A save is counted for the array whose content is saved.
  c.label = s.to.label.valid() && !saves ? s.to.label : s.from.label;
  const bool to_host = s.to.space == host_space;
  const bool from_host = s.from.space == host_space;
  const bool crosses = to_host != from_host;
  if (s.over_host) {
    c.kinds[c.count++] = Kind::d2h;
    c.kinds[c.count++] = Kind::h2d;
  } else if (!saves || crosses) {
    c.kinds[c.count++] = crosses ? (to_host ? Kind::d2h : Kind::h2d) : (to_host ? Kind::h2h : Kind::d2d);
  }
  if (!s.over_host && !crosses && s.to.space != s.from.space) c.kinds[c.count++] = Kind::between_devices;
  if (saves) c.kinds[c.count++] = crosses ? Kind::saved_link : (to_host ? Kind::saved_host : Kind::saved_device);
  if (s.purpose == Purpose::write_back && crosses) c.kinds[c.count++] = Kind::written_back;
  return c;
}

namespace {

// The names of the enumerators, in their order.
constexpr const char* kinds[] = {"allocate", "map", "copy", "fill", "protect", "evict", "release"};
constexpr const char* purposes[] = {"fetch", "save", "write back", "call", "detour"};
constexpr const char* protections[] = {"no access", "read", "read and write"};

template <class Enum, std::size_t count>
std::string text(const char* const (&names)[count], Enum which) {
  return names[static_cast<std::size_t>(which)];
}

std::string text(const End& end, const trace::Recorder& recorder) {
  const std::string space = end.space == host_space ? "host" : "device " + std::to_string(end.space.value - 1);
  if (!end.slot.valid()) return "memory of somebody else on " + space;
  return std::string(end.saved_copy ? "saved copy of '" : "'") + recorder.name(end.label) + "'[" + std::to_string(end.position) + "] on " + space;
}

}  // namespace

const char* to_string(Purpose purpose) noexcept { return purposes[static_cast<std::size_t>(purpose)]; }

std::string to_string(const Step& s, const trace::Recorder& recorder) {
  std::string out = text(kinds, s.kind) + " " + std::to_string(s.total_bytes()) + " bytes";
  if (s.piece_count > 1) out += " in " + std::to_string(s.piece_count) + " pieces";
  if (s.columns > 1) out += " in " + std::to_string(s.columns) + " columns";
  out += ", " + text(s.to, recorder);
  if (s.kind == Step::Kind::protect) return out + ": " + text(protections, s.protection);
  if (s.kind == Step::Kind::copy) out += " <- " + text(s.from, recorder);
  if (s.kind == Step::Kind::copy) out += " (" + text(purposes, s.purpose) + (s.over_host ? ", through the host" : "") + ")";
  return out;
}

}  // namespace semcache::plan
