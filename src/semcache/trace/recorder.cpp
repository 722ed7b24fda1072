// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/trace/recorder.hpp>

#include <semcache/base/own_memory.hpp>
#include <semcache/base/topology.hpp>
#include <semcache/trace/detail/call_stack.hpp>
#include <semcache/trace/detail/symbol.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <iterator>
#include <new>

namespace semcache::trace {
namespace {

#define SEMCACHE_FIELD(name) &Counters::name,
constexpr Traffic Counters::* traffic_fields[] = {SEMCACHE_TRAFFIC(SEMCACHE_FIELD)};
constexpr std::uint64_t Counters::* event_fields[] = {SEMCACHE_EVENTS(SEMCACHE_FIELD)};
#undef SEMCACHE_FIELD
static_assert(std::size(traffic_fields) == traffic_kinds && std::size(event_fields) == events);

constexpr std::uint32_t unlabelled = 0;
constexpr std::uint32_t further_labels = 1;
constexpr std::size_t longest_label = 1000;

/// The access to host memory that this thread serves, if any.
struct Access {
  bool under_way = false;
  std::uintptr_t instruction = 0;
  int thread = 0;
};
thread_local Access access;

detail::CallStack stack_here() noexcept {
  if (!access.under_way) return detail::current_stack();
  detail::CallStack stack;
  stack.host_access = true;
  if (access.instruction != 0) stack.addresses[stack.depth++] = access.instruction;
  return stack;
}

/// Returns the bytes over the link, all bytes, and the operations.
std::array<std::uint64_t, 3> size_of(const Counters& c) noexcept {
  std::uint64_t bytes = 0, operations = c.unknown_launches;
  for (const auto field : event_fields) operations += c.*field;
  for (const auto field : traffic_fields) {
    bytes += (c.*field).bytes;
    operations += (c.*field).count;
  }
  return {c.h2d.bytes + c.d2h.bytes, bytes, operations};
}

/// Sorts by bytes over the link, then by all bytes, then by operations (most first), then by name.
void sort_by_traffic(std::vector<NamedCounters>& named) {
  std::sort(named.begin(), named.end(), [](const NamedCounters& a, const NamedCounters& b) {
    const auto ka = size_of(a.counters), kb = size_of(b.counters);
    return ka != kb ? ka > kb : a.name < b.name;
  });
}

void add_to(Counters& sum, const Counters& c) noexcept {
  for (const auto field : traffic_fields) sum.*field += c.*field;
  for (const auto field : event_fields) sum.*field += c.*field;
  sum.unknown_launches += c.unknown_launches;
}

const char* name_of_launch(const char* type_name) noexcept {
  return type_name != nullptr && *type_name != '\0' ? type_name : "(unnamed)";
}

}  // namespace

/// Counters that many threads add to.
struct Recorder::Cells {
  std::atomic<std::uint64_t> bytes[traffic_kinds] = {};
  std::atomic<std::uint64_t> count[traffic_kinds] = {};
  std::atomic<std::uint64_t> event[events] = {};

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
    for (std::size_t e = 0; e < events; ++e) c.*event_fields[e] = event[e].load(std::memory_order_relaxed);
    return c;
  }
};

/// The traffic between each two memories.
struct Recorder::Links {
  static constexpr std::uint32_t memories = most_devices + 1;
  std::atomic<std::uint64_t> bytes[memories][memories] = {};
  std::atomic<std::uint64_t> count[memories][memories] = {};
};

/// The counters of a label are made at its first count, because most labels of a program with many never move.
struct Recorder::LabelEntry {
  ~LabelEntry() {
    if (Cells* const own = cells.load(); own != nullptr) base::OwnDelete()(own);
  }
  std::atomic<const char*> text{nullptr};  // of the key in `label_ids_`
  std::atomic<Cells*> cells{nullptr};
};

Recorder::Chunks::~Chunks() {
  for (const auto& entries : chunk) delete[] entries.load();
}

struct Recorder::Names {
  struct CallSite {
    Counters counters;
    std::string name;  // set at the first snapshot after the count, because a plugin may be unloaded before the report
    std::uint32_t number = 0;  // of spans; 0: none has it yet
  };
  std::uint32_t numbered_sites = 0;
  std::mutex mutex;
  base::HashMap<detail::CallStack, CallSite, detail::HashOfCallStack> call_sites;
  CallSite other_call_sites;
  struct Unknown {
    std::uint64_t count;
    std::string reason;
  };
  std::map<std::string, Unknown, std::less<>> unknown;
  std::uint64_t other_unknown = 0;
  std::map<std::string, std::uint64_t, std::less<>> library_calls;
  std::uint64_t other_library_calls = 0;
};

Recorder::Recorder(RecorderOptions options)
    : options_(options),
      span_log_(options.spans > 0 ? std::make_unique<SpanLog>(options.spans) : nullptr),
      total_(std::make_unique<Cells>()),
      links_(std::make_unique<Links>()),
      other_labels_(std::make_unique<Cells>()),
      names_(std::make_unique<Names>()) {
  (void)intern("(unlabelled)");
  (void)intern("(further labels)");
}

Recorder::~Recorder() = default;

LabelId Recorder::intern(std::string_view label) {
  std::string text(label.substr(0, std::min(label.find('\0'), longest_label)));
  if (text.empty()) return LabelId{unlabelled};
  const std::lock_guard lock(labels_mutex_);
  if (const auto found = label_ids_.find(text); found != label_ids_.end()) return LabelId{found->second};
  const std::size_t most = std::min(options_.max_labels, max_chunks * chunk_labels);
  if (label_count_ > further_labels && label_count_ >= most) return LabelId{further_labels};

  auto& chunk = chunks_.chunk[label_count_ / chunk_labels];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new LabelEntry[chunk_labels], std::memory_order_release);
  const auto made = label_ids_.emplace(std::move(text), label_count_).first;
  LabelEntry& added = chunk.load(std::memory_order_relaxed)[label_count_ % chunk_labels];
  added.text.store(made->first.c_str(), std::memory_order_release);
  return LabelId{label_count_++};
}

Recorder::LabelEntry* Recorder::entry(LabelId label) const noexcept {
  if (label.value >= max_chunks * chunk_labels) return nullptr;
  LabelEntry* chunk = chunks_.chunk[label.value / chunk_labels].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : chunk + label.value % chunk_labels;
}

const char* Recorder::name(LabelId label) const noexcept {
  const LabelEntry* found = entry(label);
  const char* text = found == nullptr ? nullptr : found->text.load(std::memory_order_acquire);
  return text == nullptr ? "(no label)" : text;
}

/// Returns the counters of a label: its own, the shared ones beyond the bound on labels, or nullptr if there is no such label.
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
  try {
    base::Owned<Cells> made = base::make_owned<Cells>();
    if (found->cells.compare_exchange_strong(own, made.get(), std::memory_order_acq_rel)) return made.release();
  } catch (const std::bad_alloc&) {
  }
  counted_labels_.fetch_sub(1, std::memory_order_relaxed);
  return own != nullptr ? own : other_labels_.get();
}

template <class Visit>
void Recorder::at_call_site(const Visit& visit) noexcept {
  const detail::CallStack stack = stack_here();
  try {
    const std::lock_guard lock(names_->mutex);
    auto found = names_->call_sites.find(stack);
    if (found == names_->call_sites.end() && names_->call_sites.size() < options_.max_stacks) {
      found = names_->call_sites.try_emplace(stack).first;
    }
    visit(found == names_->call_sites.end() ? names_->other_call_sites : found->second);
  } catch (...) {  // there is no memory for the call site: the totals and the label have counted
  }
}

template <class Count>
void Recorder::count_call_site(const Count& count) noexcept {
  if (options_.call_sites) at_call_site([&](Names::CallSite& site) { count(site.counters); });
}

void Recorder::note(Span span) noexcept {
  at_call_site([&](Names::CallSite& site) {
    if (site.number == 0) site.number = ++names_->numbered_sites;
    span.site = site.number;
  });
  span.thread = access.thread != 0 ? static_cast<std::uint32_t>(access.thread) : SpanLog::this_thread();
  span_log_->add(span);
}

std::vector<std::string> Recorder::sites() const {
  name_call_sites();
  const std::lock_guard lock(names_->mutex);
  std::vector<std::string> all(names_->numbered_sites);
  for (const auto& [stack, site] : names_->call_sites) {
    if (site.number > 0) all[site.number - 1] = site.name.empty() ? "(unknown)" : site.name;
  }
  if (names_->other_call_sites.number > 0) all[names_->other_call_sites.number - 1] = "(other call sites)";
  return all;
}

void Recorder::moved(Kind kind, LabelId label, std::uint64_t bytes, std::uint64_t count) noexcept {
  total_->add(kind, bytes, count);
  if (Cells* own = cells(label)) own->add(kind, bytes, count);
  count_call_site([&](Counters& c) { c.*traffic_fields[static_cast<int>(kind)] += Traffic{bytes, count}; });
}

void Recorder::count(Event event, LabelId label) noexcept {
  const auto e = static_cast<std::size_t>(event);
  total_->event[e].fetch_add(1, std::memory_order_relaxed);
  if (Cells* own = cells(label)) own->event[e].fetch_add(1, std::memory_order_relaxed);
  count_call_site([&](Counters& c) { ++(c.*event_fields[e]); });
}

std::string Recorder::readable(const char* type_name) { return detail::demangled(name_of_launch(type_name)); }

bool Recorder::unknown_launch(const char* type_name) noexcept {
  unknown_launches_.fetch_add(1, std::memory_order_relaxed);
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
  } catch (...) {  // there is no memory for the name: the total has counted
  }
  return false;
}

void Recorder::explain_unknown_launch(const char* type_name, std::string reason) noexcept {
  const std::lock_guard lock(names_->mutex);
  if (const auto found = names_->unknown.find(name_of_launch(type_name)); found != names_->unknown.end()) {
    found->second.reason = std::move(reason);
  }
}

void Recorder::crossed(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) noexcept {
  links_->bytes[from][to].fetch_add(bytes, std::memory_order_relaxed);
  links_->count[from][to].fetch_add(1, std::memory_order_relaxed);
}

void Recorder::library_call(std::string_view what, std::uint64_t times) noexcept {
  const std::lock_guard lock(names_->mutex);
  if (const auto found = names_->library_calls.find(what); found != names_->library_calls.end()) {
    found->second += times;
    return;
  }
  if (names_->library_calls.size() < options_.max_calls) {
    try {
      names_->library_calls.emplace(what, times);
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  names_->other_library_calls += times;
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

/// Names the call sites that have no name yet. The lock is not held while an address is named, because that takes the loader's
/// lock, and a thread that holds the loader's lock may wait for ours in order to count.
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
    if (size_of(counters) != size_of({})) to.push_back(NamedCounters{std::move(name), counters});
  };
  for (std::uint32_t from = 0; from < Links::memories; ++from) {
    for (std::uint32_t to = 0; to < Links::memories; ++to) {
      const Traffic t{links_->bytes[from][to].load(std::memory_order_relaxed), links_->count[from][to].load(std::memory_order_relaxed)};
      if (t.count > 0) s.links.push_back({static_cast<int>(from) - 1, static_cast<int>(to) - 1, t});
    }
  }
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
    std::map<std::string, Counters> call_sites;  // several call stacks may lead to one statement
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
    for (const auto& [what, count] : names_->library_calls) s.library_calls.push_back({what, count});
    std::stable_sort(s.library_calls.begin(), s.library_calls.end(), [](const LibraryCalls& a, const LibraryCalls& b) { return a.count > b.count; });
    if (names_->other_library_calls > 0) s.library_calls.push_back({"(other calls)", names_->other_library_calls});
  }

  sort_by_traffic(s.labels);
  sort_by_traffic(s.call_sites);
  sort_by_traffic(s.unknown_launch_names);
  return s;
}

void Timed::begin(Span::Kind kind, const char* reason, LabelId label) noexcept {
  span_.kind = kind;
  span_.reason = reason;
  span_.label = label;
  span_.begin_ns = recorder_.span_log()->now_ns();
}

void Timed::end() noexcept {
  span_.end_ns = recorder_.span_log()->now_ns();
  recorder_.note(span_);
}

Place Place::here() noexcept {
  Place place;
  try {
    place.stack_ = std::make_shared<const detail::CallStack>(stack_here());
  } catch (const std::bad_alloc&) {  // the text then says so
  }
  return place;
}

std::string Place::text() const {
  const std::string text = stack_ == nullptr ? std::string() : detail::describe(*stack_);
  return text.empty() ? "an unknown place" : text;
}

AccessScope::AccessScope(const void* instruction, int thread) noexcept
    : outer_instruction_(access.instruction), outer_thread_(access.thread), nested_(access.under_way) {
  access = {true, reinterpret_cast<std::uintptr_t>(instruction), thread};
}
AccessScope::~AccessScope() { access = {nested_, outer_instruction_, outer_thread_}; }

}  // namespace semcache::trace
