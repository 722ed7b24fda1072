// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/recorder.hpp>

#include <semcache/trace/detail/call_stack.hpp>
#include <semcache/trace/detail/symbol.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <iterator>
#include <new>
#include <tuple>

namespace semcache::trace {
namespace {

constexpr Traffic Counters::* traffic_fields[traffic_kinds] = {
    &Counters::h2d,        &Counters::d2h,          &Counters::d2d,        &Counters::h2h,     &Counters::filled,
    &Counters::saved_link, &Counters::saved_device, &Counters::saved_host, &Counters::avoided, &Counters::deferred,
    &Counters::dropped,    &Counters::write_through, &Counters::read_ahead, &Counters::unchanged, &Counters::written_back,
    &Counters::write_ahead, &Counters::read_ahead_lost};

/// Counts of labels and call sites that have no bytes.
constexpr std::uint64_t Counters::* plain_counts[] = {&Counters::host_faults, &Counters::evictions,  &Counters::opened,
                                                      &Counters::exposed,     &Counters::unannounced, &Counters::uncaptured,
                                                      &Counters::changed};
enum PlainCount : std::size_t { host_faults, evictions, opened, exposed, unannounced, uncaptured, changed };

constexpr const char* kind_names[] = {"h2d",           "d2h",        "d2d",            "h2h",           "filled",
                                      "saved_link",    "saved_device", "saved_host",   "avoided",       "deferred",
                                      "dropped",       "write_through", "read_ahead",  "unchanged",     "written_back",
                                      "write_ahead",   "read_ahead_lost", "host_fault", "eviction",     "unknown_launch",
                                      "native_capture", "device_wait",  "opened",      "unannounced"};
static_assert(std::size(kind_names) == static_cast<std::size_t>(Kind::unannounced) + 1);

constexpr std::uint32_t unlabelled = 0;
constexpr std::uint32_t further_labels = 1;
constexpr std::size_t longest_label = 1000;

/// What this thread works for.
struct Access {
  bool under_way = false;
  std::uintptr_t instruction = 0;
};
thread_local Access access;

std::uint64_t now_ns() noexcept {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

/// Most bytes over the link first, then most bytes at all, then most operations, then by name.
void sort_by_traffic(std::vector<NamedCounters>& named) {
  const auto key = [](const Counters& c) {
    std::uint64_t bytes = 0, operations = c.unknown_launches;
    for (const auto field : plain_counts) operations += c.*field;
    for (const auto field : traffic_fields) {
      bytes += (c.*field).bytes;
      operations += (c.*field).count;
    }
    return std::make_tuple(c.h2d.bytes + c.d2h.bytes, bytes, operations);
  };
  std::sort(named.begin(), named.end(), [&](const NamedCounters& a, const NamedCounters& b) {
    const auto ka = key(a.counters), kb = key(b.counters);
    return ka != kb ? ka > kb : a.name < b.name;
  });
}

void add_to(Counters& sum, const Counters& c) noexcept {
  for (const auto field : traffic_fields) sum.*field += c.*field;
  for (const auto field : plain_counts) sum.*field += c.*field;
  sum.unknown_launches += c.unknown_launches;
}

bool any(const Counters& c) noexcept {
  for (const auto field : traffic_fields) {
    if ((c.*field).bytes != 0 || (c.*field).count != 0) return true;
  }
  return std::any_of(std::begin(plain_counts), std::end(plain_counts), [&](const auto field) { return c.*field != 0; });
}

}  // namespace

const char* to_string(Kind kind) noexcept {
  const auto k = static_cast<std::size_t>(kind);
  return k < std::size(kind_names) ? kind_names[k] : "?";
}
Traffic& traffic(Counters& counters, Kind kind) noexcept { return counters.*traffic_fields[static_cast<int>(kind)]; }
const Traffic& traffic(const Counters& counters, Kind kind) noexcept {
  return counters.*traffic_fields[static_cast<int>(kind)];
}

/// Counters that many threads add to.
struct Recorder::Cells {
  std::atomic<std::uint64_t> bytes[traffic_kinds] = {};
  std::atomic<std::uint64_t> count[traffic_kinds] = {};
  std::atomic<std::uint64_t> plain[std::size(plain_counts)] = {};

  void add(Kind kind, std::uint64_t n_bytes, std::uint64_t n) noexcept {
    bytes[static_cast<int>(kind)].fetch_add(n_bytes, std::memory_order_relaxed);
    count[static_cast<int>(kind)].fetch_add(n, std::memory_order_relaxed);
  }

  [[nodiscard]] Counters read() const noexcept {
    Counters c;
    for (std::size_t k = 0; k < traffic_kinds; ++k) {
      (c.*traffic_fields[k]).bytes = bytes[k].load(std::memory_order_relaxed);
      (c.*traffic_fields[k]).count = count[k].load(std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < std::size(plain_counts); ++i) c.*plain_counts[i] = plain[i].load(std::memory_order_relaxed);
    return c;
  }
};

/// Counters are made at a label's first count: most of 100,000 labels never move.
struct Recorder::LabelEntry {
  std::atomic<const char*> text{nullptr};
  std::atomic<Cells*> cells{nullptr};
};

/// One event as a sequence lock: odd while it is written, 2 * ticket + 2 when event `ticket` is complete. All parts are
/// atomics, and written with release order, so that whoever sees a new part sees the odd sequence too.
struct Recorder::RingSlot {
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::uint64_t> time_ns{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> label_and_kind{0};
  std::atomic<std::uint64_t> spaces{0};
};

struct Recorder::Names {
  struct CallSite {
    Counters counters;
    std::string name;  // symbolised at the first snapshot: a plugin may be unloaded before the report
  };
  std::mutex mutex;
  std::unordered_map<detail::CallStack, CallSite, detail::HashOfCallStack> call_sites;
  CallSite other_call_sites;
  struct Unknown {
    std::uint64_t count;
    std::string reason;
  };
  std::map<std::string, Unknown, std::less<>> unknown;
  std::uint64_t other_unknown = 0;
};

template <class Chunks>
static void free_labels(Chunks& chunks, std::size_t labels) noexcept {
  for (auto& chunk : chunks) {
    auto* const entries = chunk.load();
    if (entries == nullptr) continue;
    for (std::size_t i = 0; i < labels; ++i) {
      delete[] entries[i].text.load();
      delete entries[i].cells.load();
    }
    delete[] entries;
  }
}

Recorder::Recorder(RecorderOptions options)
    : options_(options),
      start_ns_(now_ns()),
      total_(std::make_unique<Cells>()),
      other_labels_(std::make_unique<Cells>()),
      ring_(options.ring_events > 0 ? std::make_unique<RingSlot[]>(options.ring_events) : nullptr),
      names_(std::make_unique<Names>()) {
  try {
    (void)intern("(unlabelled)");
    (void)intern("(further labels)");
  } catch (...) {
    free_labels(chunks_, chunk_labels);
    throw;
  }
}

Recorder::~Recorder() { free_labels(chunks_, chunk_labels); }

LabelId Recorder::intern(std::string_view label) {
  if (label.empty()) return LabelId{unlabelled};
  label = label.substr(0, std::min(label.find('\0'), longest_label));
  if (label.empty()) return LabelId{unlabelled};
  const std::lock_guard lock(labels_mutex_);
  if (const auto found = label_ids_.find(label); found != label_ids_.end()) return LabelId{found->second};
  const std::size_t most = std::min(options_.max_labels, max_chunks * chunk_labels);
  if (label_count_ > further_labels && label_count_ >= most) return LabelId{further_labels};

  auto& chunk = chunks_[label_count_ / chunk_labels];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new LabelEntry[chunk_labels], std::memory_order_release);
  auto text = std::make_unique<char[]>(label.size() + 1);
  std::memcpy(text.get(), label.data(), label.size());
  text[label.size()] = '\0';
  label_ids_.emplace(std::string_view(text.get(), label.size()), label_count_);
  LabelEntry& made = chunk.load(std::memory_order_relaxed)[label_count_ % chunk_labels];
  made.text.store(text.release(), std::memory_order_release);
  return LabelId{label_count_++};
}

Recorder::LabelEntry* Recorder::entry(LabelId label) const noexcept {
  if (label.value >= max_chunks * chunk_labels) return nullptr;
  LabelEntry* chunk = chunks_[label.value / chunk_labels].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : chunk + label.value % chunk_labels;
}

const char* Recorder::name(LabelId label) const noexcept {
  const LabelEntry* found = entry(label);
  const char* text = found == nullptr ? nullptr : found->text.load(std::memory_order_acquire);
  return text == nullptr ? "(no label)" : text;
}

/// Where to count for a label: its own cells, the shared ones beyond the bound, nullptr where there is no label.
Recorder::Cells* Recorder::cells(LabelId label) noexcept {
  LabelEntry* found = entry(label);
  if (found == nullptr) return nullptr;
  Cells* own = found->cells.load(std::memory_order_acquire);
  if (own != nullptr) return own;
  if (found->text.load(std::memory_order_relaxed) == nullptr) return nullptr;
  if (counted_labels_.fetch_add(1, std::memory_order_relaxed) >= options_.max_counted_labels) {
    counted_labels_.fetch_sub(1, std::memory_order_relaxed);
    return other_labels_.get();
  }
  Cells* made = new (std::nothrow) Cells;
  if (made != nullptr && found->cells.compare_exchange_strong(own, made, std::memory_order_acq_rel)) return made;
  delete made;  // no memory, or another thread made them first
  counted_labels_.fetch_sub(1, std::memory_order_relaxed);
  return own != nullptr ? own : other_labels_.get();
}

template <class Count>
void Recorder::count_call_site(const Count& count) noexcept {
  if (!options_.call_sites) return;
  detail::CallStack stack;
  if (access.under_way) {
    stack.host_access = true;
    if (access.instruction != 0) stack.addresses[stack.depth++] = access.instruction;
  } else {
    stack = detail::current_stack();
  }
  try {
    const std::lock_guard lock(names_->mutex);
    auto found = names_->call_sites.find(stack);
    if (found == names_->call_sites.end() && names_->call_sites.size() < options_.max_stacks) {
      found = names_->call_sites.try_emplace(stack).first;
    }
    count((found == names_->call_sites.end() ? names_->other_call_sites : found->second).counters);
  } catch (...) {  // no memory for a site: totals and label have it
  }
}

void Recorder::moved(Kind kind, LabelId label, std::uint64_t bytes, std::uint64_t count, SpaceId from,
                     SpaceId to) noexcept {
  if (static_cast<std::size_t>(kind) >= traffic_kinds) return;
  total_->add(kind, bytes, count);
  if (Cells* own = cells(label)) own->add(kind, bytes, count);
  count_call_site([&](Counters& c) { traffic(c, kind) += Traffic{bytes, count}; });
  event(kind, label, bytes, from, to);
}

void Recorder::count(std::size_t plain_count, LabelId label) noexcept {
  total_->plain[plain_count].fetch_add(1, std::memory_order_relaxed);
  if (Cells* own = cells(label)) own->plain[plain_count].fetch_add(1, std::memory_order_relaxed);
  count_call_site([&](Counters& c) { ++(c.*plain_counts[plain_count]); });
}

void Recorder::host_fault(LabelId label) noexcept {
  count(PlainCount::host_faults, label);
  event(Kind::host_fault, label, 0, {}, host_space);
}

void Recorder::eviction(LabelId label) noexcept {
  count(PlainCount::evictions, label);
  event(Kind::eviction, label, 0, {}, {});
}

void Recorder::opened(LabelId label) noexcept {
  count(PlainCount::opened, label);
  event(Kind::opened, label, 0, {}, {});
}

void Recorder::exposed(LabelId label) noexcept { count(PlainCount::exposed, label); }

void Recorder::unannounced(LabelId label) noexcept {
  count(PlainCount::unannounced, label);
  event(Kind::unannounced, label, 0, {}, {});
}

void Recorder::uncaptured(LabelId label) noexcept { count(PlainCount::uncaptured, label); }

void Recorder::changed(LabelId label) noexcept { count(PlainCount::changed, label); }

namespace {
const char* name_of_launch(const char* type_name) noexcept {
  return type_name != nullptr && *type_name != '\0' ? type_name : "(unnamed)";
}
}  // namespace

std::string Recorder::readable(const char* type_name) { return detail::demangled(name_of_launch(type_name)); }

bool Recorder::unknown_launch(const char* type_name) noexcept {
  unknown_launches_.fetch_add(1, std::memory_order_relaxed);
  event(Kind::unknown_launch, {}, 0, {}, {});
  count_call_site([](Counters& c) { ++c.unknown_launches; });
  const std::string_view name = name_of_launch(type_name);
  try {
    const std::lock_guard lock(names_->mutex);
    const auto found = names_->unknown.find(name);
    if (found != names_->unknown.end()) {
      ++found->second.count;
    } else if (names_->unknown.size() < options_.max_names) {
      names_->unknown.emplace(name, Names::Unknown{1, {}});
      return true;
    } else {
      ++names_->other_unknown;
    }
  } catch (...) {  // no memory for a name: the total has it
  }
  return false;
}

void Recorder::explain_unknown_launch(const char* type_name, std::string reason) noexcept {
  const std::lock_guard lock(names_->mutex);
  if (const auto found = names_->unknown.find(name_of_launch(type_name)); found != names_->unknown.end()) {
    found->second.reason = std::move(reason);
  }
}

void Recorder::native_capture() noexcept {
  native_captures_.fetch_add(1, std::memory_order_relaxed);
  event(Kind::native_capture, {}, 0, {}, {});
}

void Recorder::device_wait() noexcept {
  device_waits_.fetch_add(1, std::memory_order_relaxed);
  event(Kind::device_wait, {}, 0, {}, {});
}

void Recorder::event(Kind kind, LabelId label, std::uint64_t bytes, SpaceId from, SpaceId to) noexcept {
  if (ring_ == nullptr) return;
  const std::uint64_t ticket = next_event_.fetch_add(1, std::memory_order_relaxed);
  RingSlot& slot = ring_[ticket % options_.ring_events];
  std::uint64_t seen = slot.sequence.load(std::memory_order_relaxed);
  const std::uint64_t writing = 2 * ticket + 1;
  // A slot that another thread is still writing, a whole round behind, or has written for a later round: leave it.
  if (seen % 2 == 1 || seen > writing) return;
  if (!slot.sequence.compare_exchange_strong(seen, writing, std::memory_order_acq_rel)) return;
  slot.time_ns.store(now_ns() - start_ns_, std::memory_order_release);
  slot.bytes.store(bytes, std::memory_order_release);
  slot.label_and_kind.store(std::uint64_t{label.value} << 32 | static_cast<std::uint64_t>(kind), std::memory_order_release);
  slot.spaces.store(std::uint64_t{from.value} << 32 | to.value, std::memory_order_release);
  slot.sequence.store(writing + 1, std::memory_order_release);
}

std::size_t Recorder::last_events(Event* out, std::size_t most) const noexcept {
  if (ring_ == nullptr || most == 0) return 0;
  const std::uint64_t end = next_event_.load(std::memory_order_acquire);
  const std::uint64_t kept = std::min<std::uint64_t>({end, options_.ring_events, most});
  std::size_t n = 0;
  for (std::uint64_t ticket = end - kept; ticket < end; ++ticket) {
    const RingSlot& slot = ring_[ticket % options_.ring_events];
    const std::uint64_t complete = 2 * ticket + 2;
    if (slot.sequence.load(std::memory_order_acquire) != complete) continue;
    Event e;
    e.time_ns = slot.time_ns.load(std::memory_order_acquire);
    e.bytes = slot.bytes.load(std::memory_order_acquire);
    const std::uint64_t label_and_kind = slot.label_and_kind.load(std::memory_order_acquire);
    const std::uint64_t spaces = slot.spaces.load(std::memory_order_acquire);
    if (slot.sequence.load(std::memory_order_acquire) != complete) continue;  // overwritten while it was read
    e.label = LabelId{static_cast<std::uint32_t>(label_and_kind >> 32)};
    e.kind = static_cast<Kind>(label_and_kind & 0xff);
    e.from = SpaceId{static_cast<std::uint32_t>(spaces >> 32)};
    e.to = SpaceId{static_cast<std::uint32_t>(spaces)};
    out[n++] = e;
  }
  return n;
}

Counters Recorder::totals() const noexcept {
  Counters c = total_->read();
  c.launches = launches_.load(std::memory_order_relaxed);
  c.unknown_launches = unknown_launches_.load(std::memory_order_relaxed);
  c.native_captures = native_captures_.load(std::memory_order_relaxed);
  c.device_waits = device_waits_.load(std::memory_order_relaxed);
  return c;
}

Counters Recorder::of(LabelId label) const noexcept {
  const LabelEntry* found = entry(label);
  const Cells* own = found == nullptr ? nullptr : found->cells.load(std::memory_order_acquire);
  return own == nullptr ? Counters{} : own->read();
}

/// Not under the lock: who names an address waits for the loader, whose lock somebody may hold who is counting.
void Recorder::name_call_sites() const {
  std::vector<detail::CallStack> unnamed;
  {
    const std::lock_guard lock(names_->mutex);
    for (const auto& [stack, site] : names_->call_sites) {
      if (site.name.empty()) unnamed.push_back(stack);
    }
  }
  for (const detail::CallStack& stack : unnamed) {
    std::string name = detail::describe(stack);
    const std::lock_guard lock(names_->mutex);
    if (const auto site = names_->call_sites.find(stack); site != names_->call_sites.end()) site->second.name = std::move(name);
  }
}

Statistics Recorder::snapshot() const {
  Statistics s;
  s.total = totals();

  const auto add = [](std::vector<NamedCounters>& to, std::string name, const Counters& counters) {
    if (any(counters) || counters.unknown_launches != 0) to.push_back(NamedCounters{std::move(name), counters});
  };
  std::uint32_t labels = 0;
  {
    const std::lock_guard lock(labels_mutex_);
    labels = label_count_;
  }
  for (std::uint32_t i = 0; i < labels; ++i) add(s.labels, name(LabelId{i}), of(LabelId{i}));
  add(s.labels, "(other labels)", other_labels_->read());

  name_call_sites();
  {
    const std::lock_guard lock(names_->mutex);
    std::map<std::string, Counters> call_sites;  // one statement may be reached by several ways
    for (const auto& [stack, site] : names_->call_sites) add_to(call_sites[site.name], site.counters);
    for (const auto& [name, counters] : call_sites) add(s.call_sites, name.empty() ? "(unknown)" : name, counters);
    add(s.call_sites, "(other call sites)", names_->other_call_sites.counters);
    for (const auto& [mangled, unknown] : names_->unknown) {
      Counters c;
      c.unknown_launches = unknown.count;
      s.unknown_launch_names.push_back({detail::demangled(mangled.c_str()), c, unknown.reason});
    }
    Counters others;
    others.unknown_launches = names_->other_unknown;
    add(s.unknown_launch_names, "(other functors)", others);
  }

  sort_by_traffic(s.labels);
  sort_by_traffic(s.call_sites);
  sort_by_traffic(s.unknown_launch_names);
  return s;
}

AccessScope::AccessScope(const void* instruction) noexcept { access = {true, reinterpret_cast<std::uintptr_t>(instruction)}; }
AccessScope::~AccessScope() { access = {}; }

}  // namespace semcache::trace
