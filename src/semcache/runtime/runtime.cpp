// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>

#include <semcache/base/addresses.hpp>
#include <semcache/engine/engine.hpp>
#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/driver_uses.hpp>
#include <semcache/runtime/follower.hpp>
#include <semcache/trace/report.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace semcache::runtime {
namespace {

using engine::Engine;
using engine::Memory;
using engine::Operand;

/// What the engine may ask of the launches and faults of threads.
class Threads final : public engine::Surroundings {
 public:
  explicit Threads(platform::Tracker& tracker) : tracker_(tracker) {}
  bool in_launch() const noexcept override;
  bool in_launch_of(const Memory& memory) const noexcept override;
  platform::Holder help_holder(const Memory& memory, const void*& where) override;
  void look_around() noexcept override;

 private:
  platform::Tracker& tracker_;
  std::atomic<std::int64_t> looked_ms_{0};
};

/// One lifetime of the runtime: from the first use to `finalize`.
struct Runtime {
  Configuration configuration;
  trace::Recorder recorder;
  std::unique_ptr<platform::Tracker> tracker;
  std::unique_ptr<Threads> threads;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<DriverUses> driver_uses;  ///< nullptr: nobody tells of the driver's calls
  std::uintptr_t lowest_address = 0;
  Runtime* ended_before = nullptr;  ///< ended too, and kept for the arrays that were alive then

  Runtime(const Configuration& c, const trace::RecorderOptions& options) : configuration(c), recorder(options) {}
};

std::mutex lifetime_mutex;                   // starting and ending
std::atomic<Runtime*> current{nullptr};
std::atomic<std::uint64_t> starts{0};
std::atomic<Runtime*> ended{nullptr};  // kept for arrays that outlive their runtime
FrameworkDevice framework;
bool framework_known = false;
thread_local struct {
  const Runtime* runtime = nullptr;
  void* native = nullptr;
  QueueId queue;
  std::uint64_t retired = 0;
} last_queue;
std::atomic<std::uint64_t> retired_queues{0};  // a stream's address may be used again

/// Set in a forked child: the service thread and the device's context stayed with the parent, and a lock may have been
/// held. Fresh pages can be read there, and exec called; everything else is refused or ignored.
std::atomic<bool> forked{false};

constexpr const char* copy_marker = "_SEMCACHE_RUNTIME";

/// What `claimed` holds in a copy of the runtime that was started. The same in all versions.
constexpr std::uint64_t claim = 0x53656d4361636865;
/// In memory, so that it ends with the program: the environment survives exec, in a process with the same number.
std::atomic<std::uint64_t> claimed{0};

const char* file_of_this_copy() {
  Dl_info here{};
  return dladdr(reinterpret_cast<const void*>(&file_of_this_copy), &here) != 0 && here.dli_fname != nullptr ? here.dli_fname : "?";
}

bool holds_claim(std::uintptr_t address) {
  std::uint64_t word = 0;
  try {
    platform::make_linux_platform()->read_behind(reinterpret_cast<std::byte*>(&word),
                                                 reinterpret_cast<const std::byte*>(address), sizeof word);
  } catch (const SystemError&) {
    return false;  // left from before an exec, or set by somebody else
  }
  return word == claim;
}

/// Two copies of the runtime in one process (static in two plugins) would each believe to own every page fault.
void refuse_second_copy() {
  if (claimed.load() == claim) return;
  if (const char* const other = std::getenv(copy_marker)) {
    long process = 0;
    unsigned long long address = 0;
    int file = 0;
    if (std::sscanf(other, "%ld:%llx:%n", &process, &address, &file) == 2 && file > 0 && process == ::getpid() &&
        holds_claim(static_cast<std::uintptr_t>(address))) {
      throw ConfigurationError(std::string("this process holds two copies of SemCache's runtime: one in ") + (other + file) +
                               " and one in " + file_of_this_copy() +
                               ". Link all of them to the shared library libsemcache.so.");
    }
  }
  char mine[64];
  std::snprintf(mine, sizeof mine, "%ld:%llx:", static_cast<long>(::getpid()),
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(&claimed)));
  ::setenv(copy_marker, (std::string(mine) + file_of_this_copy()).c_str(), 1);
  claimed.store(claim);
}

/// Handlers and threads of ours cannot go away: a plugin that holds this copy stays loaded when it is closed.
void stay_loaded() {
  (void)::dlopen(file_of_this_copy(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  (void)::dlerror();  // the program itself is no plugin
}

std::vector<std::unique_ptr<device::Device>> make_devices(const Configuration& c) {
  device::DeviceKind kind = device::DeviceKind::emulated;
  if (c.device == DeviceChoice::cuda || (c.device == DeviceChoice::automatic && device::cuda_device_count() > 0)) {
    kind = device::DeviceKind::cuda;
  }
  if (framework_known && framework.kind_forced) {
    if (c.device != DeviceChoice::automatic && kind != framework.kind) {
      throw ConfigurationError(std::string("SEMCACHE_DEVICE=") + to_string(c.device) + ", but " + framework.framework +
                               " computes on the " + device::to_string(framework.kind) +
                               " device only. Unset SEMCACHE_DEVICE, or use a " +
                               (kind == device::DeviceKind::cuda ? "framework built with CUDA." : "host-only framework."));
    }
    kind = framework.kind;
  }
  const int count = kind == device::DeviceKind::cuda ? device::cuda_device_count() : max_devices;
  const int local_rank = std::max(c.local_rank, 0);
  int ordinal = framework_known ? framework.ordinal : local_rank % std::max(count, 1);
  if (!c.device_ordinals.empty()) {
    if (framework_known && framework.kind_forced && c.device_ordinals.front() != framework.ordinal) {
      throw ConfigurationError("SEMCACHE_DEVICES names device " + std::to_string(c.device_ordinals.front()) + ", but " +
                               framework.framework + " chose device " + std::to_string(framework.ordinal) +
                               ". Make them agree, or unset SEMCACHE_DEVICES.");
    }
    ordinal = c.device_ordinals.front();
  }
  if (c.device_count > 1) {
    throw ConfigurationError("SEMCACHE_DEVICES asks for " + std::to_string(c.device_count) +
                             " devices; this version follows one device per process. Name one (`1,` is device 1), or "
                             "start one process per device.");
  }
  std::vector<std::unique_ptr<device::Device>> devices;
  if (kind == device::DeviceKind::cuda) {
    if (framework_known && ordinal == 0 && local_rank % std::max(count, 1) != 0 && c.device_ordinals.empty()) {
      base::raw_log("process %d of this node computes on CUDA device 0, because %s chose it, though %d are visible. If others "
                    "do so too, give each a device of its own (Kokkos: --kokkos-map-device-id-by=mpi_rank, before 3.7 "
                    "KOKKOS_NUM_DEVICES=%d)", local_rank, framework.framework, count, count);
    }
    if (count > 0 && ordinal >= count) {  // where there is none, who makes the device knows why
      throw ConfigurationError("device " + std::to_string(ordinal) + " does not exist: " + std::to_string(count) +
                               " CUDA device(s) are visible (SEMCACHE_DEVICES, CUDA_VISIBLE_DEVICES).");
    }
    devices.push_back(device::make_cuda_device(ordinal));
  } else {
    devices.push_back(device::make_emulated_device(ordinal, c.device_memory_bytes));
  }
  return devices;
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
  return r == nullptr ? nullptr : r->engine->label_of(address);
}

/// The memory of a GPU has no page protection that could notice uses which nobody announced: the driver's calls do.
void notice_device_uses(Runtime& r) {
  const Configuration& c = r.configuration;
  if (c.protocol == Protocol::off || c.device_tracker == Switch::off || r.engine->guarded_arena_bytes() > 0) return;
  std::string why_not;
  if (r.engine->device(0).kind() == device::DeviceKind::cuda) {
    r.driver_uses = DriverUses::start(*r.engine, why_not);
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

void write_report(Runtime& r) noexcept;

void at_exit() {
  // exit() without finalize: views may still be destroyed after this, so everything stays in place.
  if (forked.load()) return;
  if (Runtime* r = current.load()) {
    write_report(*r);
    r->engine->process_ends();
  }
}

Runtime* start() {
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  if (Runtime* r = current.load(std::memory_order_acquire)) return r;
  refuse_second_copy();
  stay_loaded();
  const Configuration c = read_process_configuration();
  trace::RecorderOptions recorder_options;
  recorder_options.call_sites = !c.report.empty();
  auto r = std::make_unique<Runtime>(c, recorder_options);
  platform::Pages pages = make_pages(c);
  r->tracker = std::move(pages.tracker);
  r->threads = std::make_unique<Threads>(*r->tracker);
  engine::Options options;
  options.protocol = c.protocol == Protocol::write_back      ? engine::Protocol::write_back
                     : c.protocol == Protocol::write_through ? engine::Protocol::write_through
                                                             : engine::Protocol::off;
  options.device_memory_bytes = c.device_memory_bytes;
  options.host_address_bytes = c.host_address_bytes;
  options.snapshot_share_percent = c.snapshot_share_percent;
  options.check = c.check;
  options.check_writes = c.check_writes;
  options.notices = r->tracker->notices();
  options.patience = std::chrono::seconds(c.fault_timeout_s);
  options.surroundings = r->threads.get();
  options.device_faults = c.tracker != TrackerChoice::userfaultfd &&  // which follows one arena
                          c.device_tracker != Switch::off;
  r->engine = std::make_unique<Engine>(make_devices(c), std::move(pages.platform), r->recorder, options);
  Engine* engine = r->engine.get();
  // Where nothing is known of mappings: the null pointer leads nowhere anyway.
  r->lowest_address = std::max<std::uintptr_t>(engine->platform().lowest_address(), engine->platform().page_bytes());
  notice_device_uses(*r);
  platform::set_label_lookup(&label_of);
  if (const std::uint64_t bytes = engine->guarded_arena_bytes()) r->tracker->also_watch(engine->device_arena(0), bytes);
  r->tracker->start(engine->host_arena(), engine->host_arena_bytes(),
                    [engine](std::byte* address, platform::FaultKind kind, const void* instruction) {
                      return engine->serve(address, kind, instruction);
                    });
  static const bool registered =
      std::atexit(&at_exit) == 0 && pthread_atfork(nullptr, nullptr, [] { forked.store(true); }) == 0;
  (void)registered;
  starts.fetch_add(1);
  Runtime* started = r.release();
  current.store(started, std::memory_order_release);
  return started;
}

/// The running runtime, or nullptr; never in a forked child.
Runtime* running() noexcept {
  return forked.load(std::memory_order_relaxed) ? nullptr : current.load(std::memory_order_acquire);
}

Runtime& runtime() {
  if (forked.load(std::memory_order_relaxed)) {
    throw UsageError("this process was forked from one that uses SemCache: its arrays can be read where they are valid, "
                     "but nothing can be copied, launched or allocated. Call exec, or use SemCache in the parent only.");
  }
  Runtime* r = current.load(std::memory_order_acquire);
  return r != nullptr ? *r : *start();
}

Statistics statistics_of(Runtime& r) {
  Statistics s = r.recorder.snapshot();
  r.engine->add_to(s);
  s.tracker = r.tracker->name();
  s.device_tracker = r.driver_uses != nullptr ? "driver calls" : r.engine->guarded_arena_bytes() > 0 ? "pages" : "none";
  s.protocol = to_string(r.configuration.protocol);
  return s;
}

void write_report(Runtime& r) noexcept {
  if (r.configuration.report.empty()) return;
  try {
    trace::write_report(statistics_of(r), r.configuration.report, r.configuration.mpi_rank);
  } catch (const std::exception& e) {
    base::raw_log("no report: %s", e.what());
  }
}

directory::Fill make_fill(const void* pattern, std::uint32_t pattern_bytes) {
  SEMCACHE_EXPECTS(pattern != nullptr, "a fill without a pattern: a null pointer");
  SEMCACHE_EXPECTS(pattern_bytes == 1 || pattern_bytes == 2 || pattern_bytes == 4 || pattern_bytes == 8 ||
                       pattern_bytes == 16,
                   "a fill pattern has 1, 2, 4, 8 or 16 bytes, not " + std::to_string(pattern_bytes));
  directory::Fill fill;
  std::memcpy(fill.pattern.data(), pattern, pattern_bytes);
  fill.pattern_bytes = pattern_bytes;
  return fill;
}

struct Located {
  Memory* memory;
  std::uint64_t position;
};

Located locate(Runtime& r, const void* address, std::size_t bytes) {
  Memory* m = r.engine->find(address);
  SEMCACHE_EXPECTS(m != nullptr && m->live && !m->snapshot(),
                   "the address " + base::text_of(address) + " is in no tracked array; only memory of semcache::Space and its host "
                   "mirrors is tracked" + (r.engine->in_any_arena(address) ? ", and what was there has been freed, or ends before" : ""));
  const auto position = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - m->address);
  SEMCACHE_EXPECTS(position <= m->bytes && bytes <= m->bytes - position,
                   "the range of " + std::to_string(bytes) + " bytes at offset " + std::to_string(position) + " leaves '" +
                       r.recorder.name(m->label) + "' of " + std::to_string(m->bytes) + " bytes");
  return {m, position};
}

}  // namespace

void use_framework_device(const FrameworkDevice& device) {
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  if (current.load() != nullptr && framework_known &&
      (framework.kind != device.kind || framework.ordinal != device.ordinal)) {
    throw ConfigurationError(std::string(device.framework) + " computes on " + device::to_string(device.kind) + " device " +
                             std::to_string(device.ordinal) + ", but SemCache runs on " +
                             device::to_string(framework.kind) + " device " + std::to_string(framework.ordinal) +
                             " already. Initialise the framework before the first tracked allocation.");
  }
  framework = device;
  framework_known = true;
}

void* allocate_device(const char* label, std::size_t bytes) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  r.tracker->stay_on_top();
  return r.engine->allocate_device(0, label, bytes)->address;
}

void* allocate_host(const char* label, std::size_t bytes, const void* partner, bool announced) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  r.tracker->stay_on_top();
  Memory* device_side = nullptr;
  if (partner != nullptr) {
    device_side = r.engine->find_device(partner);
    SEMCACHE_EXPECTS(device_side != nullptr && device_side->address == partner,
                     "the partner of a host side must be the first byte of a device array; " + base::text_of(partner) + " is not");
  }
  return r.engine->allocate_host(label, bytes, device_side, announced)->address;
}

void deallocate(void* address) noexcept {
  Runtime* r = running();
  if (r == nullptr || address == nullptr) return;  // the runtime has ended: its memory is gone or stays as it is
  const platform::RuntimeScope scope;
  Memory* m = r->engine->find(address);
  if (m != nullptr && m->live && !m->snapshot() && m->address == address) return r->engine->deallocate(m);
  // Elsewhere it may be an array of a runtime that has ended.
  if (r->engine->in_any_arena(address)) {
    base::raw_log("warning: %p is freed, where no array begins: it has been freed already, or the address lies inside one. Nothing "
                  "is done",
                  address);
  }
}

void* header_of(const void* address) noexcept {
  // Also of arrays that outlive their runtime, and in forked children: frameworks look at it when they end an array.
  const auto in = [&](Runtime& r) -> void* {
    Memory* m = r.engine->find(address);
    return m != nullptr && m->live && m->address == address ? m->header : nullptr;
  };
  if (Runtime* r = current.load(std::memory_order_acquire)) {
    if (void* header = in(*r)) return header;
  }
  for (Runtime* r = ended.load(std::memory_order_acquire); r != nullptr; r = r->ended_before) {
    if (void* header = in(*r)) return header;
  }
  return nullptr;
}

bool notices_host_accesses(const void* address) {
  Runtime& r = runtime();
  const Memory* m = r.engine->find(address);
  return m != nullptr && r.tracker->notices() && !m->announced;
}

bool are_sides_of_one_array(const void* device, const void* host) {
  Runtime& r = runtime();
  const Memory* d = r.engine->find(device);
  const Memory* h = r.engine->find(host);
  return d != nullptr && h != nullptr && d->datum == h->datum;
}

void settle(const void* address) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  Memory& m = *locate(r, address, 0).memory;
  r.engine->settle(m, m.all());
}

QueueId queue_of(void* native_stream, const std::shared_ptr<void>& owner) {
  Runtime& r = runtime();
  const std::uint64_t retired = retired_queues.load(std::memory_order_acquire);
  if (last_queue.runtime == &r && last_queue.native == native_stream && last_queue.retired == retired &&
      last_queue.queue.valid()) {
    return last_queue.queue;
  }
  const platform::RuntimeScope scope;
  last_queue.queue = QueueId{r.engine->adopt_queue(0, native_stream, owner)};
  last_queue.native = native_stream;
  last_queue.retired = retired;
  last_queue.runtime = &r;
  return last_queue.queue;
}

QueueId lease_queue(void* native_stream) {
  const platform::RuntimeScope scope;
  return QueueId{runtime().engine->adopt_queue(0, native_stream, {}, true)};
}

void retire_queue(QueueId queue) noexcept {
  Runtime* r = running();
  if (r == nullptr || !queue.valid()) return;
  const platform::RuntimeScope scope;
  r->engine->retire_queue(0, queue.value);
  retired_queues.fetch_add(1, std::memory_order_release);
}

std::uint64_t epoch() noexcept { return starts.load(); }

std::uintptr_t lowest_pointer() noexcept {
  const Runtime* r = running();
  return r == nullptr ? 0x10000 : r->lowest_address;
}

namespace {

/// Of a graph that the program records from a stream nobody knows when it runs.
void refuse_recording(Runtime& r, QueueId queue) {
  if (device::graphs_being_recorded.load(std::memory_order_relaxed) == 0) return;
  const platform::RuntimeScope scope;
  if (!queue.valid() || !r.engine->is_recording(queue.value)) return;
  throw UsageError("a launch, copy or fill on a semcache::Exec whose stream records a graph: nobody would know when the graph runs "
                   "it. Record launches on the native space instead: what they use counts as used at each launch of the graph");
}

}  // namespace

void copy(void* to, const void* from, std::size_t bytes, QueueId queue) {
  if (bytes == 0) return;
  SEMCACHE_EXPECTS(to != nullptr && from != nullptr, "a copy of " + std::to_string(bytes) + " bytes " +
                                                         (to == nullptr ? "to" : "from") + " a null pointer");
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  refuse_recording(r, queue);
  r.threads->look_around();
  r.engine->copy(to, from, bytes);
}

void fill(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes, QueueId queue) {
  if (bytes == 0) return;
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  refuse_recording(r, queue);
  const Located at = locate(r, to, bytes);
  r.engine->fill(*at.memory, at.position, bytes, make_fill(pattern, pattern_bytes));
}

void filled_by_kernel(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes) {
  if (bytes == 0) return;
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  const Located at = locate(r, to, bytes);
  r.engine->filled(*at.memory, at.position, bytes, make_fill(pattern, pattern_bytes));
}

void count_external_transfer(bool to_host, std::uint64_t bytes) noexcept {
  if (Runtime* r = running()) {
    r->recorder.moved(to_host ? trace::Kind::d2h : trace::Kind::h2d, {}, bytes);
  }
}

// --- launches ------------------------------------------------------------------------------------------------------

void Launch::grow() {
  Pin* larger = new Pin[capacity_ * 2];
  std::memcpy(larger, pins_, count_ * sizeof(Pin));
  if (pins_ != inline_) delete[] pins_;
  pins_ = larger;
  capacity_ *= 2;
}

namespace {

/// Gives back a list of pins that outgrew its place if the launch fails.
template <class Pin>
class PinsGuard {
 public:
  PinsGuard(Pin*& pins, const Pin* inlined) : pins_(pins), inlined_(inlined) {}
  ~PinsGuard() {
    if (armed_ && pins_ != inlined_) delete[] pins_;
  }
  PinsGuard(const PinsGuard&) = delete;
  PinsGuard& operator=(const PinsGuard&) = delete;
  void dismiss() const noexcept { armed_ = false; }

 private:
  Pin*& pins_;
  const Pin* inlined_;
  mutable bool armed_ = true;
};

}  // namespace

void Launch::add(void* memory, bool writable) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (pins_[i].memory == memory) {
      pins_[i].writable = pins_[i].writable || writable;
      return;
    }
  }
  if (count_ == capacity_) grow();
  pins_[count_++] = {memory, writable};
}

/// The launches of one thread that are under way, or about to be.
struct LaunchesOfThread {
  std::atomic<const void*> innermost{nullptr};  ///< read by the thread that serves faults, while this one waits for it
  bool told = false;

  [[nodiscard]] const Launch* first() const noexcept {
    return static_cast<const Launch*>(innermost.load(std::memory_order_relaxed));
  }
  enum class Which { begun, all };
  [[nodiscard]] static bool use(const Launch* first, const void* memory, Which which) noexcept {
    for (const Launch* l = first; l != nullptr; l = l->outer_) {
      if (which == Which::begun && !l->begun_) continue;
      for (std::size_t i = 0; i < l->count_; ++i) {
        if (l->pins_[i].memory == memory) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool any_begun() const noexcept {
    const Launch* l = first();
    while (l != nullptr && !l->begun_) l = l->outer_;
    return l != nullptr;
  }
};

namespace {

thread_local LaunchesOfThread launches_here;

bool Threads::in_launch() const noexcept { return launches_here.any_begun(); }

bool Threads::in_launch_of(const Memory& memory) const noexcept {
  return LaunchesOfThread::use(launches_here.first(), &memory, LaunchesOfThread::Which::begun);
}

platform::Holder Threads::help_holder(const Memory& memory, const void*& where) {
  const auto holds = [&memory](const void* holdings) {
    return LaunchesOfThread::use(static_cast<const Launch*>(holdings), &memory, LaunchesOfThread::Which::all);
  };
  return tracker_.help_holder(holds, where);
}

/// The clock costs some nanoseconds, a look some hundred.
void Threads::look_around() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t now_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  if (looked_ms_.exchange(now_ms, std::memory_order_relaxed) != now_ms) tracker_.stay_on_top();
}

}  // namespace

/// A launch that has not begun is known, too: a signal's handler may touch arrays while it begins.
void Launch::enter() {
  if (!launches_here.told) platform::tell_holdings(&launches_here.innermost);
  launches_here.told = true;
  outer_ = launches_here.first();
  launches_here.innermost.store(this, std::memory_order_release);
}

void Launch::leave() noexcept { launches_here.innermost.store(outer_, std::memory_order_release); }

void Launch::begin(const char* name, const ByteRange* overwritten) {
  static_assert(sizeof(Pin) == sizeof(Operand) && offsetof(Operand, writable) == offsetof(Pin, writable));
  Runtime& r = runtime();
  if (count_ != 0) refuse_recording(r, queue_);
  enter();
  try {
    r.engine->begin_launch(queue_.valid() ? queue_.value : engine::unknown_queue, reinterpret_cast<const Operand*>(pins_),
                           count_, overwritten);
  } catch (const OutOfMemory& e) {
    leave();
    const std::string who = name != nullptr ? "the kernel '" + trace::Recorder::readable(name) + "'" : "a library's routine";
    throw OutOfMemory(who + " cannot run: " + e.what(), e.requested_bytes(), e.budget_bytes());
  } catch (...) {
    leave();
    throw;
  }
  begun_ = true;
  r.recorder.launch();
}

/// @param reason  makes a text, which takes long
template <class Reason>
void Launch::begin_unknown(const char* name, const Reason& reason) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  refuse_recording(r, queue_);
  std::vector<Operand> all;
  try {
    r.engine->begin_unknown_launch(queue_.valid() ? queue_.value : engine::unknown_queue, all);
  } catch (const OutOfMemory& e) {
    throw OutOfMemory("nobody can tell what the launch of '" + trace::Recorder::readable(name) +
                          "' uses (" + reason() + "), so it needs every array: " + e.what(),
                      e.requested_bytes(), e.budget_bytes());
  }
  try {
    while (capacity_ < all.size()) grow();
  } catch (...) {
    r.engine->cancel_launch(all.data(), all.size());
    throw;
  }
  r.recorder.launch();
  try {
    if (r.recorder.unknown_launch(name)) r.recorder.explain_unknown_launch(name, reason());
  } catch (const std::bad_alloc&) {  // the report goes without the reason
  }
  count_ = 0;
  for (const Operand& o : all) pins_[count_++] = {o.memory, o.writable};
  enter();
  begun_ = true;
}

namespace {

std::string leads_to_views(const Runtime& r, const Memory& m) {
  return std::string("'") + r.recorder.name(m.label) + "' holds views or pointers, which may lead anywhere: let the functor "
         "hold these views itself";
}

}  // namespace

Launch::Launch(QueueId queue, const char* name, const Capture* captures, std::size_t count, const Leads* leads)
    : queue_(queue) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  const Memory* holder = nullptr;  // of handles
  const PinsGuard guard(pins_, inline_);
  for (std::size_t c = 0; c < count; ++c) {
    Memory* m = r.engine->find_device(captures[c].pointer);
    if (m == nullptr || !m->live) {
      follows_from_captures_ = follows_from_captures_ && captures[c].pointer == nullptr;
      continue;
    }
    add(m, captures[c].writable);
    if (captures[c].holds_handles) m->holds_handles.store(true, std::memory_order_relaxed);
    if (m->holds_handles.load(std::memory_order_relaxed)) holder = m;
  }
  follows_from_captures_ = follows_from_captures_ && leads == nullptr && holder == nullptr;
  if (leads != nullptr) {
    for (const void* pointer : leads->arrays()) {
      if (Memory* m = r.engine->find_device(pointer); m != nullptr && m->live) {
        add(m, true);
        if (m->holds_handles.load(std::memory_order_relaxed)) holder = m;
      } else if (Memory* mirror = r.engine->find(pointer);
                 mirror != nullptr && mirror->live && mirror->on_host() && !mirror->snapshot() &&
                 r.engine->device(0).kind() == device::DeviceKind::cuda) {
        r.engine->expose(*mirror);
      }
    }
  }
  if (leads != nullptr && leads->lead_anywhere()) {
    begin_unknown(name, [&] { return leads->reason(r.engine->platform()); });
  } else if (holder != nullptr) {
    begin_unknown(name, [&] { return leads_to_views(r, *holder); });
  } else {
    begin(name);
  }
  guard.dismiss();
  r.engine->kernel_starts();
  ++launches_under_way;
}

bool read(const void* from, void* to, std::size_t bytes) noexcept {
  const Runtime* r = running();
  return r != nullptr && r->engine->platform().read(from, to, bytes);
}

bool is_constant(const void* pointer) noexcept {
  const Runtime* r = running();
  return r != nullptr && r->engine->platform().is_constant(pointer);
}

void Leads::follow(const std::uintptr_t* words, std::size_t count, const void* copy,
                   const Original* originals, std::size_t original_count) noexcept {
  const platform::RuntimeScope scope;
  Runtime* r = running();
  if (r == nullptr) return;  // there are no arrays
  try {
    Follower(*r->engine, r->lowest_address, *this).follow(words, count, copy, originals, original_count);
  } catch (const std::bad_alloc&) {
    doubt_ = "to more than there is memory to look through";
    remedy_ = "capture the members that the kernel needs, not the object that holds them";
  }
}

Launch::Launch(QueueId queue, const char* name, const KnownOperand* known, std::size_t known_count, std::uint32_t used,
               std::uint64_t epoch, const Capture* captures, std::size_t count)
    : queue_(queue) {
  Runtime& r = runtime();
  const PinsGuard guard(pins_, inline_);
  static_assert(most_known <= inline_pins);
  SEMCACHE_EXPECTS(known_count <= most_known, "a launch with " + std::to_string(known_count) + " known captures");
  bool unknown = epoch != starts.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < known_count && !unknown; ++i) {
    if ((used >> i & 1) == 0) continue;
    const KnownOperand& k = known[i];
    const auto* m = static_cast<const Memory*>(k.memory);
    unknown = m->incarnation.load(std::memory_order_relaxed) != k.incarnation || m->holds_handles.load(std::memory_order_relaxed);
    if (k.repeats) {
      add(k.memory, k.writable);
    } else {
      pins_[count_++] = {k.memory, k.writable};
    }
  }
  for (std::size_t c = 0; c < count && !unknown; ++c) {
    Memory* m = r.engine->find_device(captures[c].pointer);
    if (m == nullptr || !m->live) continue;
    add(m, captures[c].writable);
    unknown = captures[c].holds_handles || m->holds_handles.load(std::memory_order_relaxed);
  }
  if (unknown) {
    begin_unknown(name, [] { return std::string("an array that it captured was freed before the launch, or holds views"); });
  } else {
    begin(name);
  }
  guard.dismiss();
  r.engine->kernel_starts();
  ++launches_under_way;
}

Launch::Launch(QueueId queue, const LibraryUse* uses, std::size_t count) : queue_(queue) {
  static_assert(most_uses <= inline_pins);
  SEMCACHE_EXPECTS(count <= most_uses, "a library call uses " + std::to_string(count) + " arrays");
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  ByteRange overwritten[most_uses] = {};
  const auto use = [&](const LibraryUse& u) {
    Memory* m = r.engine->find_device(u.pointer);
    if (m == nullptr || !m->live) return;
    const std::size_t known = count_;
    add(m, writes(u.mode));
    if (u.mode == Access::overwrite && count_ != known) {
      const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(u.pointer) - m->address);
      overwritten[known] = {begin, std::min<std::uint64_t>(m->bytes, begin + u.bytes)};
    }
  };
  // Overwritten arrays come last: whatever can fail before leaves their content alone, and an array that is read as well has
  // to be there.
  for (std::size_t u = 0; u < count; ++u) {
    if (uses[u].mode != Access::overwrite) use(uses[u]);
  }
  for (std::size_t u = 0; u < count; ++u) {
    if (uses[u].mode == Access::overwrite) use(uses[u]);
  }
  begin(nullptr, overwritten);
  r.engine->kernel_starts();
  ++launches_under_way;
}

void expect_handles(const void* array) noexcept {
  const Runtime* r = running();
  if (Memory* m = r == nullptr ? nullptr : r->engine->find_device(array)) m->holds_handles.store(true, std::memory_order_relaxed);
}

bool identify(const Capture& capture, KnownOperand& operand) noexcept {
  Runtime* r = running();
  Memory* m = r == nullptr ? nullptr : r->engine->find_device(capture.pointer);
  if (m == nullptr || !m->live) return false;
  operand = {capture.pointer, m, m->incarnation.load(), capture.writable, true};
  return true;
}

bool are_current(const KnownOperand* operands, std::size_t count, std::uint64_t epoch) noexcept {
  if (running() == nullptr || epoch != starts.load(std::memory_order_acquire)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* m = static_cast<const Memory*>(operands[i].memory);
    if (m->incarnation.load(std::memory_order_relaxed) != operands[i].incarnation) return false;
    if (m->holds_handles.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

void Launch::before_wait() noexcept {
  static_assert(std::is_same<decltype(before_), engine::Clock>::value);
  Runtime* r = running();
  waits_ = r != nullptr && queue_.valid() && queue_.value != engine::unknown_queue;
  if (waits_) before_ = r->engine->submitted_before(queue_.value);
}

Launch::~Launch() {
  leave();  // what follows the kernel may wait for those that use its arrays, and it is none of them any more
  if (Runtime* r = running()) {
    r->engine->kernel_ends();
    const std::uint64_t number = r->engine->end_launch(queue_.valid() ? queue_.value : engine::unknown_queue,
                                                       reinterpret_cast<const Operand*>(pins_), count_);
    if (awaited_) r->engine->launch_awaited(queue_.value, before_, number);
  }
  if (pins_ != inline_) delete[] pins_;
  --launches_under_way;
}

void native_capture(const Capture& capture) noexcept {
  Runtime* r = running();
  if (r == nullptr) return;
  Memory* m = r->engine->find_device(capture.pointer);
  if (m == nullptr || !m->live || m->snapshot()) return;
  const platform::RuntimeScope scope;
  if (capture.holds_handles) m->holds_handles.store(true, std::memory_order_relaxed);
  try {
    r->recorder.native_capture();
    r->engine->native_capture(*m, capture.writable);
    // Pages and the driver's calls tell which arrays the kernel comes to; otherwise it may be any.
    const bool noticed = r->driver_uses != nullptr || r->engine->guarded_arena_bytes() > 0;
    if (!noticed && m->holds_handles.load(std::memory_order_relaxed)) r->engine->native_capture_of_all();
  } catch (const std::exception& e) {
    base::fatal("'%s' is captured by a kernel outside semcache::Exec and cannot be made valid: %s. Launch the kernel on "
                "semcache::Exec.", r->recorder.name(m->label), e.what());
  }
}

// --- bytes for code that nobody notices ------------------------------------------------------------------------------

namespace {

bool find_array(const void* address, TrackedArray& array) noexcept {
  Runtime* r = running();
  if (r == nullptr) return false;
  const Memory* m = r->engine->find(address);
  if (m == nullptr || !m->live || m->snapshot()) return false;
  array = {m->address, m->bytes, m->on_host(), r->recorder.name(m->label), m, m->incarnation.load(), epoch()};
  return true;
}

bool still_there(const TrackedArray& array) noexcept {
  if (running() == nullptr || epoch() != array.epoch) return true;
  return static_cast<const Memory*>(array.memory)->incarnation.load() == array.incarnation;
}

Transit take_transit(std::size_t bytes, bool on_device) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  engine::TransitBuffer* buffer = nullptr;
  if (on_device) {
    try {
      buffer = r.engine->take_buffer(bytes, true);
    } catch (const OutOfMemory&) {  // the host's will do
    }
  }
  if (buffer == nullptr) buffer = r.engine->take_buffer(bytes, false);
  return {buffer->address, buffer->on_device, buffer, epoch()};
}

/// The engine that the message was taken from, if it still runs.
Engine* engine_of(const Transit& transit) noexcept {
  Runtime* r = running();
  return r != nullptr && epoch() == transit.epoch ? r->engine.get() : nullptr;
}

engine::TransitBuffer& buffer_of(const Transit& transit) {
  return *static_cast<engine::TransitBuffer*>(transit.buffer);
}

void give_transit(const Transit& transit) noexcept {
  if (transit.buffer == nullptr) return;
  const platform::RuntimeScope scope;
  // What outlives its runtime stays where it is: whoever allocated it is gone.
  if (Engine* engine = engine_of(transit)) engine->give_buffer(&buffer_of(transit));
}

void settle_transit(const Transit& transit) {
  const platform::RuntimeScope scope;
  if (Engine* engine = engine_of(transit)) engine->settle_buffer(buffer_of(transit));
}

Located locate_pieces(Runtime& r, const void* address, const ByteRange* pieces, std::size_t count) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < count; ++i) end = std::max(end, pieces[i].end);
  return locate(r, address, end);
}

bool valid_here(const void* address, const ByteRange* pieces, std::size_t count) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  const Located at = locate_pieces(r, address, pieces, count);
  return r.engine->valid_here(*at.memory, at.position, pieces, count);
}

/// The host's pages of an array that outlived its runtime: they are open. nullptr for everything else.
std::byte* outlived(const void* address) noexcept {
  for (Runtime* r = ended.load(std::memory_order_acquire); r != nullptr; r = r->ended_before) {
    const Memory* m = r->engine->find(address);
    if (m != nullptr && m->live && m->on_host()) return m->address + (static_cast<const std::byte*>(address) - m->address);
  }
  return nullptr;
}

void read_out(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
              std::size_t offset) {
  const platform::RuntimeScope scope;
  if (Engine* engine = engine_of(transit)) {
    const Located at = locate_pieces(*running(), address, pieces, count);
    engine->read_out(*at.memory, at.position, pieces, count, buffer_of(transit), transit.address + offset);
    return;
  }
  const std::byte* from = outlived(address);
  SEMCACHE_EXPECTS(from != nullptr, "a message is started on an array whose runtime has ended. Start it before semcache's "
                                    "end (Kokkos::finalize)");
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(transit.address + offset + pieces[i].begin, from + pieces[i].begin, pieces[i].size());
  }
}

void expect(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
            std::size_t offset) noexcept {
  const platform::RuntimeScope scope;
  Engine* engine = engine_of(transit);
  if (engine == nullptr) return;
  try {
    const Located at = locate_pieces(*running(), address, pieces, count);
    engine->expect_read_out(*at.memory, at.position, pieces, count, buffer_of(transit), transit.address + offset);
  } catch (const std::exception&) {  // a hint; what is wrong with the array is said when the message is asked for
  }
}

void write_in(void* address, const ByteRange* pieces, std::size_t count, const Transit& transit, std::size_t offset) {
  const platform::RuntimeScope scope;
  if (Engine* engine = engine_of(transit)) {
    const Located at = locate_pieces(*running(), address, pieces, count);
    engine->write_in(*at.memory, at.position, pieces, count, buffer_of(transit), transit.address + offset);
    return;
  }
  std::byte* to = outlived(address);
  SEMCACHE_EXPECTS(to != nullptr, "a message arrives for an array whose runtime has ended. Complete it before semcache's "
                                  "end (Kokkos::finalize)");
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + pieces[i].begin, transit.address + offset + pieces[i].begin, pieces[i].size());
  }
}

Transit take_beside(const void* first, std::size_t bytes) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  const Located at = locate(r, first, bytes);
  engine::TransitBuffer* const buffer = r.engine->take_buffer_beside(*at.memory, {at.position, at.position + bytes});
  return buffer == nullptr ? Transit{} : Transit{buffer->address, false, buffer, epoch()};
}

bool write_in_together(void* first, std::size_t bytes, const Transit* const* transits, std::size_t count) {
  const platform::RuntimeScope scope;
  std::vector<engine::TransitBuffer*> buffers(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (engine_of(*transits[i]) == nullptr) return false;
    buffers[i] = &buffer_of(*transits[i]);
  }
  const Located at = locate(*running(), first, bytes);
  return running()->engine->write_in_together(*at.memory, {at.position, at.position + bytes}, buffers.data(), count);
}

DeviceAddresses device_addresses() {
  Runtime& r = runtime();
  switch (r.configuration.mpi_cuda) {
    case Switch::on: return DeviceAddresses::always;
    case Switch::off: return DeviceAddresses::never;
    case Switch::automatic: break;
  }
  return r.engine->device(0).kind() == device::DeviceKind::cuda ? DeviceAddresses::if_library_can : DeviceAddresses::never;
}

bool overlaps(const void* first, const void* last) noexcept {
  const Runtime* r = running();
  return r != nullptr && r->engine->overlaps(static_cast<const std::byte*>(first), static_cast<const std::byte*>(last));
}

constexpr ForeignIo foreign_io{&find_array, &still_there, &take_transit, &give_transit,     &settle_transit, &valid_here,
                               &read_out,   &expect,      &write_in,     &device_addresses, &overlaps,       &take_beside,
                               &write_in_together};

}  // namespace

}  // namespace semcache::runtime

extern "C" const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept { return &semcache::runtime::foreign_io; }

namespace semcache {

using namespace runtime;  // NOLINT: the public functions are a thin face of this room

void access(const void* address, std::size_t bytes, Access mode) {
  SEMCACHE_EXPECTS(mode <= Access::overwrite, std::to_string(static_cast<int>(mode)) + " is no access mode");
  if (bytes == 0) return;
  const platform::RuntimeScope scope;
  Runtime& r = runtime::runtime();
  const Located at = locate(r, address, bytes);
  r.engine->access(*at.memory, {at.position, at.position + bytes}, mode);
}

void settle(const void* address, std::size_t bytes) { access(address, bytes, Access::read); }

void settle() {
  const platform::RuntimeScope scope;
  if (Runtime* r = running()) r->engine->settle_all();
}

Statistics statistics() {
  const platform::RuntimeScope scope;
  Runtime* r = running();
  return r == nullptr ? Statistics{} : statistics_of(*r);
}

bool is_tracked(const void* address) noexcept {
  Runtime* r = running();
  if (r == nullptr) return false;
  const Memory* m = r->engine->find(address);
  return m != nullptr && m->live && !m->snapshot();
}

void finalize() {
  const platform::RuntimeScope scope;
  const std::lock_guard<std::mutex> guard(lifetime_mutex);
  Runtime* r = running();
  if (r == nullptr) return;
  r->engine->open_everything();
  write_report(*r);
  r->tracker->stop();
  r->driver_uses.reset();
  current.store(nullptr, std::memory_order_release);
  retired_queues.fetch_add(1, std::memory_order_release);
  // Leaked views: their pages stay where they are, open, for pointers that outlive the runtime.
  if (r->engine->any_live()) {
    r->ended_before = ended.load();
    ended.store(r, std::memory_order_release);
  } else {
    delete r;
  }
}

}  // namespace semcache
