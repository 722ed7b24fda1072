// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/activities.hpp>
#include <semcache/platform/per_thread.hpp>
#include <semcache/runtime/lifetime.hpp>

#include <time.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

/// Launches of semcache::Exec, and captures by kernels outside it. For each launch the operands are gathered before it begins;
/// for each thread the launches under way are known, because other threads may wait for them.
namespace semcache::runtime {

using engine::Memory;
using engine::Operand;

void Launch::grow(std::size_t capacity) {
  std::unique_ptr<Operand[]> larger(new Operand[capacity]);
  std::copy(pins_, pins_ + count_, larger.get());
  grown_ = std::move(larger);
  pins_ = grown_.get();
  capacity_ = capacity;
}

/// Returns a set of one, of 64: different sets tell that two memories are different.
static std::uint64_t digest_of(const Memory* memory) noexcept {
  return std::uint64_t{1} << (reinterpret_cast<std::uintptr_t>(memory) / alignof(Memory) % 64);
}

inline void Launch::append(Operand operand) noexcept {
  digests_ |= digest_of(operand.memory);
  pins_[count_++] = operand;
}

void Launch::add(Operand operand) {
  for (std::size_t i = (digests_ & digest_of(operand.memory)) == 0 ? count_ : 0; i < count_; ++i) {
    if (pins_[i].memory == operand.memory) {
      pins_[i].writable = pins_[i].writable || operand.writable;
      return;
    }
  }
  if (count_ == capacity_) grow(2 * capacity_);
  append(operand);
}

/// The launches of one thread, and its uses of parts on the host, that are under way or are about to begin.
struct LaunchesOfThread {
  std::atomic<const void*> innermost{nullptr};  ///< the service thread reads it while this thread waits for a fault
  bool told = false;           ///< `platform::tell_holdings` has been called
  unsigned not_submitted = 0;  ///< launches that are prepared, and not yet submitted to the driver

  [[nodiscard]] const Holding* first() const noexcept {
    return static_cast<const Holding*>(innermost.load(std::memory_order_relaxed));
  }
  enum class Which { begun, all };
  [[nodiscard]] static bool use(const Holding* first, const void* memory, Which which) noexcept {
    for (const Holding* l = first; l != nullptr; l = l->outer_) {
      if (which == Which::begun && !l->begun_) continue;
      for (std::size_t i = 0; i < l->count_; ++i) {
        if (l->pins_[i].memory == memory || (which == Which::all && l->pins_[i].memory->stands_for_all)) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool any_begun() const noexcept {
    const Holding* l = first();
    while (l != nullptr && !l->begun_) l = l->outer_;
    return l != nullptr;
  }
};

bool prepares_launch() noexcept { return platform::per_thread<LaunchesOfThread>().not_submitted > 0; }

namespace {

class Threads final : public engine::Surroundings {
 public:
  explicit Threads(platform::Tracker& tracker) : tracker_(tracker) {}

  bool in_launch() const noexcept override { return platform::per_thread<LaunchesOfThread>().any_begun(); }
  bool in_launch_of(const Memory& memory) const noexcept override {
    return LaunchesOfThread::use(platform::per_thread<LaunchesOfThread>().first(), &memory, LaunchesOfThread::Which::begun);
  }
  platform::Holder help_holder(const Memory& memory, const void*& where) override {
    const auto holds = [&memory](const void* holdings) {
      return LaunchesOfThread::use(static_cast<const Holding*>(holdings), &memory, LaunchesOfThread::Which::all);
    };
    return tracker_.help_holder(holds, where);
  }
  bool watch(const std::byte* pages, std::uint64_t bytes) override { return tracker_.watch(pages, bytes); }
  void unwatch(const std::byte* pages, std::uint64_t bytes) noexcept override { tracker_.unwatch(pages, bytes); }
  bool may_lock_pages() noexcept override { return pages_may_be_locked(); }
  /// Calls `stay_on_top` at most once per tick of a coarse clock, because reading that clock costs some nanoseconds, and the call
  /// some hundred.
  void look_around() noexcept override {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const std::int64_t now_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
    if (looked_ms_.exchange(now_ms, std::memory_order_relaxed) != now_ms) tracker_.stay_on_top();
  }

 private:
  platform::Tracker& tracker_;
  std::atomic<std::int64_t> looked_ms_{0};
};

}  // namespace

std::unique_ptr<engine::Surroundings> threads_of(platform::Tracker& tracker) { return std::make_unique<Threads>(tracker); }

/// Adds this launch, or use, to those of its thread before it begins, because a signal handler may touch arrays while it begins.
void Holding::enter() {
  auto& here = platform::per_thread<LaunchesOfThread>();
  if (!here.told) platform::tell_holdings(&here.innermost);
  here.told = true;
  outer_ = here.first();
  here.innermost.store(static_cast<const Holding*>(this), std::memory_order_release);
}

void Holding::leave() noexcept {
  platform::per_thread<LaunchesOfThread>().innermost.store(outer_, std::memory_order_release);
}

void Launch::InTimeline::leave() noexcept { device::ActivityCause::of_this_thread() = outer_cause; }

void Launch::begin_span(const Runtime& r, const char* name) noexcept {
  trace::SpanLog& log = *r.recorder.span_log();
  span_.begin_ns = log.now_ns();
  span_.name = name != nullptr ? name : trace::SpanLog::library_routine;
  span_.cause = log.next_cause();
  span_.outer_cause = std::exchange(device::ActivityCause::of_this_thread(), span_.cause);
}

void Launch::end_span(Runtime& r) const noexcept {
  trace::SpanLog& log = *r.recorder.span_log();
  trace::Span span;
  span.kind = trace::Span::Kind::launch;
  span.begin_ns = span_.begin_ns;
  span.end_ns = log.now_ns();
  span.name = log.name(span_.name);  // now, because the device has its work
  span.cause = span_.cause;
  span.thread = trace::SpanLog::this_thread();
  span.queue = index_of(queue_);
  span.to = static_cast<std::uint8_t>(r.engine->state().queues->device_of(index_of(queue_)) + 1);
  log.add(span);
}

void Launch::begin(const char* name, const engine::OperandParts& parts) {
  Runtime& r = runtime();
  if (r.recorder.span_log() != nullptr) begin_span(r, name);
  if (count_ != 0) refuse_recording(queue_);
  enter();
  try {
    if (!r.engine->launches.begin_launch(index_of(queue_), pins_, count_, parts)) part_count_ = 0;
  } catch (const OutOfMemory& e) {
    leave();
    const std::string who = name != nullptr ? "the kernel '" + trace::Recorder::readable(name) + "'" : "a library's routine";
    throw OutOfMemory(who + " cannot run: " + e.what(), e.requested_bytes(), e.budget_bytes());
  } catch (...) {
    leave();
    throw;
  }
  has_begun(r);
}

void Launch::has_begun(Runtime& r) noexcept {
  begun_ = true;
  r.recorder.launch();
  r.engine->launches.kernel_starts();
  ++platform::per_thread<LaunchesOfThread>().not_submitted;
}

/// Begins a launch that may use any array. @param reason  returns the reason as a text; slow, so it is called only when needed
template <class Reason>
void Launch::begin_unknown(const char* name, const Reason& reason) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  if (r.recorder.span_log() != nullptr) begin_span(r, name);
  refuse_recording(queue_);
  std::vector<Operand> all;
  try {
    r.engine->launches.begin_unknown_launch(index_of(queue_), all);
  } catch (const OutOfMemory& e) {
    throw OutOfMemory("nobody can tell what the launch of '" + trace::Recorder::readable(name) +
                          "' uses (" + reason() + "), so it needs every array: " + e.what(),
                      e.requested_bytes(), e.budget_bytes());
  }
  try {
    if (capacity_ < all.size()) grow(all.size());
  } catch (...) {
    r.engine->launches.cancel_launch(all.data(), all.size());
    throw;
  }
  try {
    if (r.recorder.unknown_launch(name)) r.recorder.explain_unknown_launch(name, reason());
  } catch (const std::bad_alloc&) {  // the report then lacks the reason
  }
  count_ = all.size();
  std::copy(all.begin(), all.end(), pins_);
  enter();
  has_begun(r);
}

Launch::Launch(QueueId queue, const char* name, const Capture* captures, std::size_t count, const Leads* leads)
    : Holding(inline_), queue_(queue) {
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  const Memory* holder = nullptr;  // an operand that may hold handles
  follows_from_captures_ = leads == nullptr;
  for (std::size_t c = 0; c < count; ++c) {
    Memory* m = live_on_device(r, captures[c].pointer);
    if (m == nullptr) {
      follows_from_captures_ = follows_from_captures_ && captures[c].pointer == nullptr;
      continue;
    }
    add({m, captures[c].writable});
    if (captures[c].holds_handles) m->holds_handles.store(true, std::memory_order_relaxed);
    if (m->holds_handles.load(std::memory_order_relaxed)) holder = m;
  }
  follows_from_captures_ = follows_from_captures_ && holder == nullptr;
  if (leads != nullptr) {
    for (const void* pointer : leads->arrays()) {
      if (Memory* m = live_on_device(r, pointer)) {
        add({m, true});
        if (m->holds_handles.load(std::memory_order_relaxed)) holder = m;
      } else if (Memory* mirror = array_at(r, pointer);
                 mirror != nullptr && mirror->on_host() && !r.engine->state().home().device->kernels_run_in_caller()) {
        r.engine->host_access.expose(*mirror);
      }
    }
  }
  if (leads != nullptr && leads->lead_anywhere()) {
    begin_unknown(name, [&] { return leads->reason(*r.engine->state().platform); });
  } else if (holder != nullptr) {
    begin_unknown(name, [&] {
      return std::string("'") + r.recorder.name(holder->label) + "' holds views or pointers, which may lead anywhere: let the "
             "functor hold these views itself";
    });
  } else {
    begin(name);
  }
}

/// Adds captures that were not known. @return whether one of them may lead anywhere
bool Launch::add_further(const Runtime& r, const Capture* captures, std::size_t count) {
  for (std::size_t c = 0; c < count; ++c) {
    Memory* m = live_on_device(r, captures[c].pointer);
    if (m == nullptr) continue;
    add({m, captures[c].writable});
    if (captures[c].holds_handles || m->holds_handles.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

Launch::Launch(QueueId queue, const char* name, const KnownOperand* known, std::size_t known_count, std::uint32_t used,
               std::uint64_t epoch, const Capture* captures, std::size_t count)
    : Holding(inline_), queue_(queue) {
  const Runtime& r = runtime();
  static_assert(most_known <= inline_pins);
  SEMCACHE_EXPECTS(known_count <= most_known, "a launch with " + std::to_string(known_count) + " known captures");
  bool unknown = epoch != starts.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < known_count && !unknown; ++i) {
    if ((used >> i & 1) == 0) continue;
    const KnownOperand& k = known[i];
    const Memory* const m = k.memory;
    unknown = m->incarnation.load(std::memory_order_relaxed) != k.incarnation || m->holds_handles.load(std::memory_order_relaxed);
    if (__builtin_expect(k.repeats, 0)) {
      add({k.memory, k.writable});
    } else {
      append({k.memory, k.writable});
    }
  }
  if (__builtin_expect(count != 0 && !unknown, 0)) unknown = add_further(r, captures, count);
  if (__builtin_expect(unknown, 0)) {
    begin_unknown(name, [] { return std::string("an array that it captured was freed before the launch, or holds views"); });
  } else {
    begin(name);
  }
}

Launch::Launch(QueueId queue, const LibraryUse* uses, std::size_t count) : Holding(inline_), queue_(queue) {
  static_assert(most_uses <= inline_pins);
  SEMCACHE_EXPECTS(count <= most_uses, "a library call uses " + std::to_string(count) + " arrays");
  const platform::RuntimeScope scope;
  const Runtime& r = runtime();
  engine::Requirement parts[most_uses];
  std::size_t part_count = 0;
  bool in_part = false;
  const auto use = [&](const LibraryUse& u) {
    Memory* m = u.bytes == 0 || u.columns == 0 ? nullptr : r.engine->state().find_device(u.pointer);
    if (m == nullptr || !m->live) return;
    SEMCACHE_EXPECTS(u.columns == 1 || u.pitch >= u.bytes, "a library call uses columns of " + std::to_string(u.bytes) + " bytes that begin " +
                                                               std::to_string(u.pitch) + " bytes apart, so they overlap");
    add({m, writes(u.mode)});
    const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(u.pointer) - m->address);
    const std::uint64_t behind = m->bytes - begin;
    SEMCACHE_EXPECTS(u.columns == 1 || columns_fit(u.bytes, u.columns, u.pitch, behind),
                     "a library call uses " + std::to_string(u.columns) + " columns of " + std::to_string(u.bytes) + " bytes, " +
                         std::to_string(u.pitch) + " bytes apart, at offset " + std::to_string(begin) + " of '" + r.recorder.name(m->label) +
                         "' of " + std::to_string(m->bytes) + " bytes, which they leave");
    Region where(begin, std::min<std::uint64_t>(u.bytes, behind), u.columns, u.pitch);
    Access mode = u.mode;
    if (m->part) {
      const std::uint64_t bytes = where.size();
      where = memory::positions_at(*m, where);
      if (mode == Access::overwrite && where.size() > bytes) mode = Access::read_write;
    }
    parts[part_count++] = {m, where, mode, u.source == LibraryUse::any_device ? SpaceId() : device_space(u.source)};
    in_part = in_part || where.size() != m->bytes;
  };
  // Overwritten arrays come last, so that a failure for another array leaves their content unchanged.
  for (const bool overwrites : {false, true}) {
    for (std::size_t u = 0; u < count; ++u) {
      if ((uses[u].mode == Access::overwrite) == overwrites) use(uses[u]);
    }
  }
  if (!in_part) {
    begin(nullptr, {parts, part_count});
    return;
  }
  parts_ = std::make_unique<engine::Requirement[]>(part_count);
  std::copy(parts, parts + part_count, parts_.get());
  part_count_ = part_count;
  begin(nullptr, {parts_.get(), part_count_});
}

HostUse::HostUse(const HostPartUse* uses, std::size_t count) : Holding(operands_) {
  SEMCACHE_EXPECTS(count <= most_uses, "a use of " + std::to_string(count) + " parts on the host: there can be " + std::to_string(most_uses));
  const platform::RuntimeScope scope;
  Runtime& r = runtime();
  epoch_ = epoch();
  for (; count_ < count; ++count_) {
    const HostPartUse& use = uses[count_];
    SEMCACHE_EXPECTS(use.part != nullptr && use.part->epoch_ == epoch_, "a use of a part on the host that is null, or that was made before the "
                                                                        "last semcache::finalize: make the part anew");
    SEMCACHE_EXPECTS(use.mode <= Access::overwrite, "access mode " + std::to_string(static_cast<int>(use.mode)) + " does not exist. Use Access::read, "
                                                    "write, read_write or overwrite");
    operands_[count_] = {use.part->memory_, writes(use.mode)};
    uses_[count_] = {use.part->memory_, use.part->memory_->layout, use.mode};
  }
  enter();
  try {
    r.engine->host_uses.begin(uses_, count_);
  } catch (...) {
    leave();
    throw;
  }
  begun_ = true;
}

HostUse::~HostUse() {
  leave();
  Runtime* const r = running();
  if (r == nullptr || epoch_ != epoch()) return;
  const Call call;
  r->engine->host_uses.end(uses_, count_);
}

void expect_handles(const void* array) noexcept {
  const Presence presence;
  const Runtime* r = running();
  if (Memory* m = r == nullptr ? nullptr : r->engine->state().find_device(array)) m->holds_handles.store(true, std::memory_order_relaxed);
}

bool identify(const Capture& capture, KnownOperand& operand) noexcept {
  const Presence presence;
  const Runtime* r = running();
  Memory* m = r == nullptr ? nullptr : live_on_device(*r, capture.pointer);
  if (m == nullptr) return false;
  operand = {capture.pointer, m, m->incarnation.load(), capture.writable, true};
  return true;
}

bool are_current(const KnownOperand* operands, std::size_t count, std::uint64_t epoch) noexcept {
  const Presence presence;
  if (running() == nullptr || observed.load(std::memory_order_relaxed) || epoch != starts.load(std::memory_order_acquire)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Memory* const m = operands[i].memory;
    if (m->incarnation.load(std::memory_order_relaxed) != operands[i].incarnation) return false;
    if (m->holds_handles.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

void Launch::before_wait() noexcept {
  Runtime* r = running();
  waits_ = r != nullptr && is_current(queue_);
  if (waits_) before_ = r->engine->launches.submitted_before(index_of(queue_));
}

Launch::~Launch() {
  leave();  // later work of this thread may wait for launches that use these arrays, and this one is over
  if (Runtime* r = running()) {
    r->engine->launches.kernel_ends();
    const std::uint64_t number = r->engine->launches.end_launch(index_of(queue_), pins_, count_, all_devices, {parts_.get(), part_count_});
    if (awaited_) r->engine->launches.launch_awaited(index_of(queue_), before_, number);
    if (span_.cause != 0) end_span(*r);
  }
  --platform::per_thread<LaunchesOfThread>().not_submitted;
}

void native_capture(const Capture& capture) noexcept {
  const Call call;
  Runtime* r = running();
  if (r == nullptr) return;
  Memory* m = live_on_device(*r, capture.pointer);
  if (m == nullptr || m->snapshot()) return;
  if (capture.holds_handles) m->holds_handles.store(true, std::memory_order_relaxed);
  try {
    r->recorder.native_capture();
    r->engine->foreign_uses.native_capture(*m, timeline::mode_of(capture.writable));
    // Page protections or the driver watch show which arrays the kernel uses. Without them it may use any array.
    const bool noticed = r->driver_uses != nullptr || r->engine->state().guarded_arena_bytes() > 0;
    if (!noticed && m->holds_handles.load(std::memory_order_relaxed)) r->engine->foreign_uses.native_capture_of_all();
  } catch (const std::exception& e) {
    base::fatal("'%s' is captured by a kernel outside semcache::Exec and cannot be made valid: %s. Launch the kernel on "
                "semcache::Exec.", r->recorder.name(m->label), e.what());
  }
}

}  // namespace semcache::runtime
