// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/advice.hpp>

#include <semcache/trace/detail/wording.hpp>

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace semcache::trace {
namespace {

using detail::human;
using detail::shown;
using Figure = Advice::Figure;
using Unit = Advice::Unit;

std::string times(std::uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

/// Labels with a figure each, largest figure first.
struct Leaders {
  std::vector<Figure> all;
  Unit unit;
  std::size_t most;  ///< that are named

  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t out = 0;
    for (const Figure& f : all) out += f.first;
    return out;
  }
  /// Returns "A (1.50 GiB), B (4.00 KiB) and 3 more".
  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      const auto& [value, name] = all[i];
      out += (i > 0 ? ", " : "") + shown(name) + " (" + (unit == Unit::bytes ? human(value) : std::to_string(value)) + ")";
    }
    if (all.size() > most) out += " and " + std::to_string(all.size() - most) + " more";
    return out;
  }
};

/// How many labels are named where each may need a change in the program; in other cases five are named.
constexpr std::size_t most_candidates = 12;

/// Returns the labels whose figure is not zero.
template <class Get>
Leaders leaders(const std::vector<NamedCounters>& named, Get get, Unit unit, std::size_t most = 5) {
  Leaders found{{}, unit, most};
  for (const NamedCounters& n : named) {
    if (const std::uint64_t value = std::invoke(get, n.counters)) found.all.emplace_back(value, n.name);
  }
  std::stable_sort(found.all.begin(), found.all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return found;
}

/// Returns the rest of `all` without `part`.
std::uint64_t rest(std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); }

/// Returns the labels whose content was sent to a device and came back. Content that kernels made, or that was evicted, comes
/// back too, but the program can do nothing about it, so labels without content from the host and labels with evictions are left
/// out. Kokkos names the mirror of "A" "A_mirror".
Leaders came_back(const std::vector<NamedCounters>& named) {
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
  const auto returned = [](const Counters& c) { return rest(c.d2h.bytes, c.saved_link.bytes); };
  Leaders found = leaders(named, returned, Unit::bytes, most_candidates);
  found.all.erase(std::remove_if(found.all.begin(), found.all.end(), [&](const Figure& f) { return !was_sent(f.second); }), found.all.end());
  return found;
}

/// Returns the faults of a label that had many, each of which fetched few bytes; otherwise 0.
std::uint64_t small_faults(const Counters& c) {
  constexpr std::uint64_t many = 64, small_bytes = 64 * 1024;
  return c.host_faults >= many && c.d2h.bytes / c.host_faults < small_bytes ? c.host_faults : 0;
}

/// Returns the bytes of a label that were read ahead and not seen to be used, if they are most of its bytes read ahead; otherwise
/// 0.
std::uint64_t lost_forecasts(const Counters& c) {
  constexpr std::uint64_t worth_a_word = 64 * 1024;
  const std::uint64_t lost = c.read_ahead_lost.bytes;
  return lost >= worth_a_word && 2 * lost > c.read_ahead.bytes ? lost : 0;
}

std::uint64_t pending(const Counters& c) { return rest(c.saved_link.bytes, c.written_back.bytes); }
std::uint64_t scarce(const Counters& c) { return rest(c.opened, c.exposed); }
std::uint64_t outside(const Counters& c) { return rest(c.unannounced, c.uncaptured); }

class List {
 public:
  Advice& add(const char* kind, std::string text) { return all_.emplace_back(Advice{kind, std::move(text), {}, Unit::bytes, 0, {}, {}}); }
  /// @param begin, end  of the text, around the names of the labels
  Advice& add(const char* kind, const std::string& begin, const Leaders& named, const std::string& end) {
    Advice& a = add(kind, begin + named.text() + end);
    a.labels.assign(named.all.begin(), named.all.begin() + static_cast<std::ptrdiff_t>(std::min(named.all.size(), named.most)));
    a.unit = named.unit;
    return a;
  }
  std::vector<Advice> take() { return std::move(all_); }

 private:
  std::vector<Advice> all_;
};

void worth(Advice& a, std::uint64_t bytes, const char* direction, const char* condition) {
  a.bytes = bytes;
  a.direction = direction;
  a.condition = condition;
}

void about_launches(const Statistics& s, List& out) {
  const Counters& t = s.total;
  if (s.protocol == "off") {
    out.add("protocol off", "SEMCACHE_PROTOCOL=off: every copy was carried out as it was written, and only counted. Unset it to see what "
                            "need not move.");
  }
  if (t.unknown_launches > 0) {
    out.add("unknown launches", "Unknown launches may read and write every array, so that everything pending was settled first. Let their "
                                "functors, which this report lists, hold Views rather than raw pointers, references or Views of Views.");
  }
  if (t.native_captures > 0) {
    out.add("captures outside", "Arrays were captured by kernels outside semcache::Exec: use it (or semcache::Device) as the kernel's "
                                "execution space, so that its arrays are made ready together and in its own queue.");
  }
  if (t.device_waits > 0) {
    out.add("device waits", "A whole device was waited for (" + times(t.device_waits) + "), because nobody knew the queue on "
                            "which an array was used: it had been announced with semcache::access, or was used outside semcache::Exec. "
                            "Launch through semcache::Exec where you can.");
  }
}

void about_other_devices(const Statistics& s, List& out) {
  if (s.total.peer_launches > 0) {
    out.add("other device", "Launches used arrays of another device, by the link between the two: ",
            leaders(s.labels, &Counters::peer_launches, Unit::count),
            ". Allocate such an array on the device of its kernels (semcache::Space(device), semcache::on(device)), or "
            "deep_copy it once to a view there.");
  }
}

void about_memory(const Statistics& s, List& out) {
  const Counters& t = s.total;
  if (t.evictions > 0) {
    const std::string budget = s.device_budget_bytes > 0 ? ": " + human(s.device_budget_bytes) + " may be used" : std::string();
    out.add("short memory", "Device memory was short" + budget + ". Evicted most often: ", leaders(s.labels, &Counters::evictions, Unit::count),
            ". Raise SEMCACHE_DEVICE_MEMORY if the device has more, or work on fewer arrays at a time.");
  }
  if (pending(t) > 0) {
    Advice& a = out.add("preserved", "Content was preserved over the link before it was overwritten, because a copy of it was still pending: ",
                        leaders(s.labels, pending, Unit::bytes),
                        ". Remove copies that nobody reads, or raise SEMCACHE_SNAPSHOT_SHARE or SEMCACHE_DEVICE_MEMORY.");
    worth(a, pending(t), "", "where nobody needs these copies");
  }
}

void about_captures(const Statistics& s, List& out) {
  if (s.check_writes) {
    const auto rewritten = [](const Counters& c) { return c.rewritten.bytes; };
    if (const Leaders again = leaders(s.labels, rewritten, Unit::bytes); !again.all.empty()) {
      out.add("rewritten", "Written on the host again with the values that the device had: ", again,
              ". Write them once, or where they change. SEMCACHE_CHECK_WRITES=1 has compared them; without it they are copied each time.");
    }
    const auto unchanged = [](const Counters& c) { return c.changed == 0 ? c.unchanged.bytes : 0; };
    const Leaders same = leaders(s.labels, unchanged, Unit::bytes, most_candidates);
    if (same.all.empty()) return;
    out.add("never changed", "Captured as writable, but never changed: ", same,
            ". Capture them as View<const T*> where kernels only read them, and no check is needed.");
    return;
  }
  if (s.protocol == "off" || s.protocol == "write-through") return;  // with these protocols every array comes back
  if (const Leaders found = came_back(s.labels); !found.all.empty()) {
    Advice& a = out.add("came back", "Came back from a device: ", found,
                        ", because a kernel that captures an array as writable counts as having written it. Where kernels only read "
                        "one of them, capture it as View<const T*>; SEMCACHE_CHECK_WRITES=1 finds such arrays.");
    worth(a, found.sum(), "d2h", "where kernels only read these arrays");
  }
}

void about_host_arrays(const Statistics& s, List& out) {
  if (const Leaders found = leaders(s.labels, small_faults, Unit::count); !found.all.empty()) {
    out.add("small faults", "Many host faults, few bytes each: ", found,
            ". Before a pass over a whole array, announce it: semcache::access(view, semcache::Access::read), or write, "
            "read_write or overwrite if the pass writes it.");
  }
  if (const Leaders lost = leaders(s.labels, lost_forecasts, Unit::bytes); !lost.all.empty()) {
    Advice& a = out.add("read ahead", "Read ahead of host faults, mostly without any sign of use: ", lost,
                        ". Where the host reads parts of an array that a device writes, announce them: semcache::access(address, bytes, "
                        "semcache::Access::read); nothing else is fetched then.");
    worth(a, lost.sum(), "d2h", "a use without a fault is not seen");
  }
  if (scarce(s.total) > 0) {
    out.add("few mappings", "Mirrors became open near the kernel's limit on mappings, so that their copies happen at the call: ",
            leaders(s.labels, scarce, Unit::count), ". Use fewer, larger arrays, or raise vm.max_map_count.");
  }
  if (s.total.exposed > 0) {
    out.add("raw pointers", "Mirrors became open because a kernel holds a raw pointer into them, so that their copies happen at the call: ",
            leaders(s.labels, &Counters::exposed, Unit::count), ". Let kernels capture the device's View.");
  }
}

void about_unnoticed_uses(const Statistics& s, List& out) {
  if (outside(s.total) > 0) {
    out.add("unannounced uses", "Used outside semcache::Exec without a word (kernels, libraries, driver copies): ",
            leaders(s.labels, outside, Unit::count),
            ". Announce such uses with what they do: semcache::access(view, semcache::Access::read), write, read_write or "
            "overwrite. What nobody can tell counts as written.");
  }
  if (s.total.uncaptured > 0) {
    out.add("uncaptured uses", "Used while a kernel of semcache::Exec ran that had not captured them (by a global, or a pointer that the kernel "
                               "does not show): ", leaders(s.labels, &Counters::uncaptured, Unit::count),
            ". Let the kernel capture a View of them: on a GPU nobody notices such a use, and it may read stale values.");
  }
}

}  // namespace

std::vector<Advice> advice(const Statistics& s) {
  List out;
  for (const auto about : {about_launches, about_other_devices, about_memory, about_captures, about_host_arrays, about_unnoticed_uses}) about(s, out);
  return out.take();
}

}  // namespace semcache::trace
