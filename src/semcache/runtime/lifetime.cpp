// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <semcache/base/patience.hpp>
#include <semcache/trace/report.hpp>
#include <semcache/trace/timeline_file.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace semcache::runtime {

using engine::Engine;

std::atomic<Runtime*> current{nullptr};
std::atomic<std::uint64_t> starts{0};
std::atomic<Runtime*> ended{nullptr};
std::atomic<bool> forked{false};
std::atomic<bool> ending{false};
std::atomic<bool> observed{false};
std::atomic<std::uint64_t> retired_queues{0};

namespace {

std::mutex lifetime_mutex;  // held while a runtime starts or ends
/// Held while a thread ends a runtime; taken before `lifetime_mutex`. Without a `Presence`, because its owner waits for those.
std::mutex ending_mutex;
std::optional<FrameworkDevice> framework;

/// What `use_devices` was told last. Without a destructor, because the runtime may start while the process ends.
struct AskedDevices {
  int count = 0;       ///< 0: `use_devices` was not called
  bool listed = false;  ///< the first `count` of `ordinals` are the devices
  std::array<int, max_devices> ordinals{};
  bool host = false;  ///< the host's processor was listed beside them
};
AskedDevices asked_devices;
constexpr const char* use_devices_name = "semcache::use_devices";

/// Gives the program's own choice the place of the variable's.
void obey_use_devices(Configuration& c) {
  if (asked_devices.count == 0) return;
  const auto* const begin = asked_devices.ordinals.data();
  const std::vector<int> ordinals(begin, begin + (asked_devices.listed ? asked_devices.count : 0));
  if (c.device_count != 0 &&
      (c.device_count != asked_devices.count || c.device_ordinals != ordinals || c.host_listed != asked_devices.host)) {
    base::raw_log("warning: %s has no effect, because the program has called %s", c.devices_from, use_devices_name);
  }
  c.device_count = asked_devices.count;
  c.device_ordinals = ordinals;
  c.host_listed = asked_devices.host;
  c.devices_from = use_devices_name;
}

void ask_for_devices(const AskedDevices& devices) {
  if (forked.load()) refuse_forked();
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  if (const Runtime* r = current.load()) {
    throw UsageError(std::string(use_devices_name) + ": SemCache runs already, on " +
                     device::to_string(r->engine->state().home().device->kind()) + " " + text_of_devices(ordinals_of(*r)) +
                     ". Call it before the first use of SemCache, or after semcache::finalize.");
  }
  asked_devices = devices;
}

[[noreturn]] void refuse_devices(const std::string& why) {
  throw ConfigurationError(std::string(use_devices_name) + ": " + why + ". Accepted: a number of devices from 1 to " +
                           std::to_string(max_devices) + ", or a list of distinct devices.");
}

platform::Pages make_pages(const Configuration& c) {
  if (c.tracker == TrackerChoice::explicit_only || c.protocol == Protocol::off) {
    return {platform::make_linux_platform(), platform::make_explicit_tracker()};
  }
  if (c.tracker == TrackerChoice::userfaultfd) return platform::make_userfaultfd_pages(c.fault_timeout_s);
  return {platform::make_linux_platform(), platform::make_mprotect_tracker(c.fault_timeout_s)};
}

const char* label_of(const void* address) {
  Runtime* r = current.load(std::memory_order_acquire);
  return r == nullptr ? nullptr : r->engine->state().label_of(address);
}

/// Starts to notice uses of device memory that the program does not announce. A GPU's memory has no page protection for this, so
/// the calls to its driver are watched.
void notice_device_uses(Runtime& r) {
  const Configuration& c = r.configuration;
  if (c.protocol == Protocol::off || c.device_tracker == Switch::off || r.engine->state().guarded_arena_bytes() > 0) return;
  std::string why_not;
  if (!r.engine->state().home().device->kernels_run_in_caller()) {
    r.driver_uses = start_driver_uses(*r.engine, why_not);
    if (r.driver_uses != nullptr) return;
    if (c.device_tracker == Switch::automatic) {
      base::raw_log("uses of device memory outside semcache::Exec are not noticed: %s. Announce them with semcache::access; "
                    "SEMCACHE_DEVICE_TRACKER=off silences this line", why_not.c_str());
    }
  } else {
    why_not = "on the emulated device this takes SEMCACHE_TRACKER=mprotect, and SEMCACHE_CHECK not to be set";
  }
  if (c.device_tracker == Switch::on) throw ConfigurationError("SEMCACHE_DEVICE_TRACKER=on: " + why_not);
}

/// Starts to note the times of a GPU's work, where there is a timeline.
void notice_device_times(Runtime& r) {
  if (r.recorder.span_log() == nullptr || r.engine->state().home().device->kernels_run_in_caller()) return;
  std::string why_not;
  r.device_times = start_device_times(r, why_not);
  if (r.device_times == nullptr) base::raw_log("the timeline has no kernels, and copies have the times of their submission: %s", why_not.c_str());
}

/// While an object lives, no other thread has a `Presence`.
class NobodyElse : base::Uncopied {
 public:
  explicit NobodyElse(std::chrono::seconds patience) {
    (void)platform::begin_call();  // the calling thread's own calls do not wait for it
    base::Patience until_told(patience);
    bool told = false;
    std::chrono::milliseconds closed(1000);
    for (ending.store(true); !all_leave_within(closed); ending.store(true)) {
      // A kernel under way may wait for a thread of its own that makes a call, so some calls are let through.
      closed = std::chrono::milliseconds(10);
      ending.store(false);
      (void)all_leave_within(std::chrono::milliseconds(1));
      if (told || !until_told.over()) continue;
      told = true;
      base::raw_log("semcache::finalize still waits for another thread, which is in a call, a kernel or a use of a part (runtime::HostUse). Let it "
                    "end, or end the runtime behind it");
    }
  }
  ~NobodyElse() {
    ending.store(false);
    platform::end_call();
  }

 private:
  /// Waits until no other thread is in a call, but no longer than this. Returns whether it is so.
  static bool all_leave_within(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (platform::others_call()) {
      if (std::chrono::steady_clock::now() > end) return false;
      timeline::wait_a_moment();
    }
    return true;
  }
};

/// Writes the report and the timeline, where they are asked for.
void write_reports(Runtime& r) noexcept {
  const Configuration& c = r.configuration;
  try {
    if (!c.report.empty()) trace::write_report(statistics_of(r), c.report, c.mpi_rank);
    if (c.trace.empty()) return;
    finish_device_times(r);
    trace::TimelineFacts facts;
    for (const auto& d : r.engine->state().devices) facts.devices.push_back(d->device->name());
    facts.device_kind = device::to_string(r.engine->state().home().device->kind());
    facts.has_device_times = r.device_times != nullptr;
    facts.kernels_run_in_caller = r.engine->state().home().device->kernels_run_in_caller();
    trace::write_timeline(r.recorder, facts, c.trace, c.mpi_rank);
  } catch (const std::exception& e) {
    base::raw_log("no report is written, because its figures could not be gathered: %s", e.what());
  }
}

void at_exit() {
  // The program called exit() without finalize. Views may still be destroyed after this, so everything stays in place.
  if (forked.load()) return;
  (void)platform::begin_call();
  if (Runtime* r = current.load(); r != nullptr && !ending.load()) {  // a thread in `finalize` writes the report
    write_reports(*r);
    r->engine->host_access.process_ends();
  }
  platform::end_call();
}

}  // namespace

Presence::Presence() noexcept {
  // The runtime's own threads end with it: they are not kept out, also where a preloaded library asks about their I/O.
  if (platform::begin_call() > 0 || !ending.load() || platform::inside_runtime()) return;
  while (ending.load() && !forked.load(std::memory_order_relaxed)) {
    platform::end_call();
    timeline::wait_a_moment();
    (void)platform::begin_call();
  }
}

Presence::~Presence() { platform::end_call(); }

Runtime* start() {
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  if (Runtime* r = current.load(std::memory_order_acquire)) return r;
  refuse_second_copy();
  stay_loaded();
  platform::let_others_fence();
  // So that a program that links the static library has these, too, although nothing in it calls them:
  (void)semcache_foreign_io_1();
  (void)functions_for_debuggers();
  Configuration c = read_process_configuration();
  obey_use_devices(c);
  auto r = std::make_unique<Runtime>(c);
  platform::Pages pages = make_pages(c);
  r->tracker = std::move(pages.tracker);
  r->threads = threads_of(*r->tracker);
  engine::Options options = c;
  options.notices = r->tracker->notices();
  options.patience = std::chrono::seconds(c.fault_timeout_s);
  options.surroundings = r->threads.get();
  options.device_faults = c.tracker != TrackerChoice::userfaultfd &&  // userfaultfd follows one arena only
                          c.device_tracker != Switch::off;
  r->engine = std::make_unique<Engine>(make_devices(c, framework ? &*framework : nullptr), std::move(pages.platform), r->recorder, options);
  Engine* engine = r->engine.get();
  // The platform may know nothing about mappings; pointers into the first page lead nowhere in any case.
  r->lowest_address = std::max<std::uintptr_t>(engine->state().platform->lowest_address(), engine->state().platform->page_bytes());
  notice_device_uses(*r);
  notice_device_times(*r);
  platform::set_label_lookup(&label_of);
  if (const std::uint64_t bytes = engine->state().guarded_arena_bytes()) r->tracker->also_watch(engine->state().device_addresses->base(), bytes);
  r->tracker->start(engine->state().host->base(), engine->state().host->bytes(),
                    [runtime = r.get()](std::byte* address, platform::FaultKind kind, const void* instruction) {
                      const auto begin = std::chrono::steady_clock::now();
                      const platform::FaultResult result = runtime->engine->host_access.serve(address, kind, instruction);
                      const std::chrono::nanoseconds served = std::chrono::steady_clock::now() - begin;
                      runtime->faults.fetch_add(1, std::memory_order_relaxed);
                      runtime->fault_ns.fetch_add(static_cast<std::uint64_t>(served.count()), std::memory_order_relaxed);
                      return result;
                    });
  [[maybe_unused]] static const bool registered =
      std::atexit(&at_exit) == 0 && pthread_atfork(nullptr, nullptr, [] { forked.store(true); }) == 0;
  starts.fetch_add(1);
  Runtime* started = r.release();
  current.store(started, std::memory_order_release);
  return started;
}

FaultCost fault_cost() noexcept {
  const Runtime* const r = current.load(std::memory_order_acquire);
  if (r == nullptr) return {};
  return {r->faults.load(std::memory_order_relaxed), static_cast<double>(r->fault_ns.load(std::memory_order_relaxed)) * 1e-9};
}

std::vector<int> ordinals_of(const Runtime& r) {
  std::vector<int> ordinals;
  for (const auto& d : r.engine->state().devices) ordinals.push_back(d->device->ordinal());
  return ordinals;
}

void refuse_forked() {
  throw UsageError("this process was forked from one that uses SemCache: its arrays can be read where they are valid, "
                   "but nothing can be copied, launched or allocated. Call exec, or use SemCache in the parent only.");
}

Statistics statistics_of(Runtime& r) {
  Statistics s = r.recorder.snapshot();
  r.engine->add_to(s);
  s.tracker = r.tracker->name();
  s.device_tracker = r.driver_uses != nullptr ? "driver calls" : r.engine->state().guarded_arena_bytes() > 0 ? "pages" : "none";
  s.protocol = to_string(r.configuration.protocol);
  s.virtual_time = r.engine->state().home().device->virtual_times();
  return s;
}

engine::Memory* outlived(const void* address) noexcept {
  for (Runtime* r = ended.load(std::memory_order_acquire); r != nullptr; r = r->ended_before) {
    if (engine::Memory* const m = array_at(*r, address)) return m;
  }
  return nullptr;
}

void use_framework_device(const FrameworkDevice& device) {
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  if (current.load() != nullptr && framework && (framework->kind != device.kind || framework->ordinal != device.ordinal)) {
    throw ConfigurationError(std::string(device.framework) + " computes on " + device::to_string(device.kind) + " device " +
                             std::to_string(device.ordinal) + ", but SemCache runs on " +
                             device::to_string(framework->kind) + " device " + std::to_string(framework->ordinal) +
                             " already. Initialise the framework before the first tracked allocation.");
  }
  framework = device;
}

std::uint64_t epoch() noexcept { return starts.load(); }

std::uintptr_t lowest_pointer() noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r == nullptr ? 0x10000 : r->lowest_address;
}

}  // namespace semcache::runtime

namespace semcache {

using namespace runtime;  // NOLINT: the public functions are a thin face of this room

Statistics statistics() {
  const Call call;
  Runtime* r = running();
  return r == nullptr ? Statistics{} : statistics_of(*r);
}

void use_devices(int count) {
  if (count < 1 || count > max_devices) refuse_devices(std::to_string(count) + " is no number of devices");
  ask_for_devices({count});
}

void use_devices(const std::vector<int>& devices) {
  const std::string why = why_no_list_of_devices(devices);
  if (!why.empty()) refuse_devices(why);
  std::vector<int> ordinals = devices;
  AskedDevices asked;
  asked.host = take_host_out(ordinals);
  asked.count = static_cast<int>(ordinals.size());
  asked.listed = !ordinals.empty();
  std::copy(ordinals.begin(), ordinals.end(), asked.ordinals.begin());
  ask_for_devices(asked);
}

int device_count() noexcept {
  const Presence presence;
  const Runtime* r = running();
  return r == nullptr ? 0 : static_cast<int>(r->engine->state().devices.size());
}

namespace runtime {
namespace {
/// Functions of libraries, each of them once.
template <class Function>
class Listeners {
 public:
  void add(Function function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::find(functions_.begin(), functions_.end(), function) == functions_.end()) functions_.push_back(function);
  }
  [[nodiscard]] std::vector<Function> all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return functions_;
  }

 private:
  std::mutex mutex_;
  std::vector<Function> functions_;
};
// The runtime may end after the program's statics, so these never end.
Listeners<void (*)() noexcept>& enders() {
  static auto* const e = new Listeners<void (*)() noexcept>;
  return *e;
}
Listeners<void (*)(const void*) noexcept>& releasers() {
  static auto* const e = new Listeners<void (*)(const void*) noexcept>;
  return *e;
}
std::atomic<bool (*)() noexcept> may_lock{nullptr};
}  // namespace

void before_end(void (*function)() noexcept) { enders().add(function); }
void before_release(void (*function)(const void*) noexcept) { releasers().add(function); }
void lock_pages_only_if(bool (*function)() noexcept) { may_lock.store(function); }

bool pages_may_be_locked() noexcept {
  bool (*const may)() noexcept = may_lock.load();
  return may == nullptr || may();
}

void tell_of_release(const void* address) {
  for (const auto function : releasers().all()) function(address);
}
}  // namespace runtime

void finalize() {
  SEMCACHE_EXPECTS(forked.load() || platform::calls_under_way() == 0,
                   "semcache::finalize is called in a kernel, in a use of a part (runtime::HostUse) or in an observer of launches: it would wait "
                   "for its own caller. Call it after them");
  if (running() != nullptr) {
    for (const auto function : runtime::enders().all()) function();
  }
  if (forked.load()) return;
  const std::lock_guard<std::mutex> alone(ending_mutex);
  Runtime* const r = running();
  if (r == nullptr) return;
  // A host function of a stream may make a call, so the streams are waited for while calls can begin.
  try {
    r->engine->state().queues->wait_for_devices(all_devices);
  } catch (const DeviceError&) {  // what this costs is reported for each array, below
  }
  const NobodyElse nobody_else(std::chrono::seconds(r->configuration.fault_timeout_s));
  const platform::RuntimeScope scope;
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  r->engine->host_access.open_everything();
  r->engine->tiles.end();
  write_reports(*r);
  r->engine->adoption.end();
  r->tracker->stop();
  r->device_times.reset();
  r->driver_uses.reset();
  current.store(nullptr, std::memory_order_release);
  retired_queues.fetch_add(1, std::memory_order_release);
  // The program has leaked views. Their pages stay where they are, open, for pointers that outlive the runtime.
  if (r->engine->is_used()) {
    r->ended_before = ended.load();
    ended.store(r, std::memory_order_release);
  } else {
    delete r;
  }
}

}  // namespace semcache
