// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace semcache::fakes {

using device::EventId;

FakeDevice::FakeDevice(const Options& options, Failure fail)
    : options_(options), fail_(std::move(fail)), random_(options.seed ^ 0xdeu) {}

FakeDevice::~FakeDevice() {
  if (base_ != nullptr) fail_("the device's addresses were never given back");
  if (mapped_count_ != 0) fail_("device memory is still mapped at the end");
  if (!allocations_.empty() && !may_leak) fail_("device allocations are still there at the end");
  if (!staging_.empty()) fail_(std::to_string(staging_.size()) + " staging buffers were never given back");
  if (!registered_.empty()) fail_("host pages are still page-locked at the end");
  for (const Queue& q : queues_) {
    if (q.open && !q.program) fail_("a queue was never closed");
  }
  for (const auto& [id, e] : events_) {
    if (!e.released) {
      fail_("an event was never given back");
      break;
    }
  }
  for (auto& [p, n] : allocations_) std::free(p);
  for (auto& [p, n] : staging_) std::free(p);
}

const char* FakeDevice::text(Kind kind) noexcept {
  switch (kind) {
    case Kind::to_device: return "a copy to the device";
    case Kind::from_device: return "a copy from the device";
    case Kind::within: return "a copy within the device";
    case Kind::fill: return "a fill";
    case Kind::digest: return "a digest";
    case Kind::kernel: return "a kernel";
    default: return "?";
  }
}

bool FakeDevice::fails(Call call) const {
  const Lock lock(mutex_);
  return fail_in_ != 0 && (fail_mask_ & call) != 0 && --fail_in_ == 0;
}

void FakeDevice::may_fail(Call call, const char* what) const {
  if (!fails(call)) return;
  if (call == call_map || call == call_allocate || call == call_staging) {
    throw OutOfMemory(std::string("injected: ") + what, 1, 1);
  }
  if (call == call_platform) throw SystemError(std::string("injected: ") + what);
  throw DeviceError(std::string("injected: ") + what);
}

// --- addresses and memory ------------------------------------------------------------------------------------------

std::uint64_t FakeDevice::total_memory_bytes() const {
  may_fail(call_start, "total_memory_bytes");
  return options_.memory_bytes;
}

std::uint64_t FakeDevice::free_memory_bytes() const {
  may_fail(call_start, "free_memory_bytes");
  return options_.memory_bytes;
}

std::byte* FakeDevice::reserve(std::uint64_t& bytes) {
  const Lock lock(mutex_);
  may_fail(call_start, "reserve");
  if (base_ != nullptr) fail_("the device has one arena");
  bytes = options_.arena_bytes;
  constexpr std::uint64_t alignment = 2u << 20;
  mapping_bytes_ = bytes + alignment;
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw DeviceError("mmap");
  base_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(mapping_), alignment));
  bytes_ = bytes;
  mapped_.assign(bytes / options_.granularity_bytes, 0);
  closed_ = mapped_;
  return base_;
}

void FakeDevice::release(std::byte* base, std::uint64_t bytes) noexcept {
  const Lock lock(mutex_);
  if (base != base_ || bytes != bytes_) fail_("the device got back what it never gave");
  ::munmap(mapping_, mapping_bytes_);
  base_ = nullptr;
}

void FakeDevice::map(std::byte* address, std::uint64_t bytes) {
  arrived_in(call_map);
  const Lock lock(mutex_);
  may_fail(call_map, "map");
  const auto at = static_cast<std::uint64_t>(address - base_);
  if (!in_arena(address) || at % options_.granularity_bytes != 0 || bytes % options_.granularity_bytes != 0 || bytes == 0) {
    fail_("map: not whole granules of the arena");
    return;
  }
  for (std::uint64_t g = at / options_.granularity_bytes; g < (at + bytes) / options_.granularity_bytes; ++g) {
    if (mapped_[g]) fail_("map: mapped already");
    mapped_[g] = 1;
    closed_[g] = 0;
    ++mapped_count_;
  }
  maps_[at] = bytes;
  std::memset(address, 0xd1, bytes);  // "its content is unspecified"
}

void FakeDevice::unmap(std::byte* address, std::uint64_t bytes) noexcept {
  const Lock lock(mutex_);
  const auto at = static_cast<std::uint64_t>(address - base_);
  const auto made = maps_.find(at);
  if (made == maps_.end() || made->second != bytes) {
    fail_("unmap: not exactly one earlier map");
    return;
  }
  maps_.erase(made);
  expect_no_pending(address, bytes, "device memory was unmapped");
  for (std::uint64_t g = at / options_.granularity_bytes; g < (at + bytes) / options_.granularity_bytes; ++g) {
    mapped_[g] = 0;
    --mapped_count_;
  }
  std::memset(address, 0xd2, bytes);
}

void FakeDevice::set_accessible(std::byte* address, std::uint64_t bytes, bool accessible) noexcept {
  if (options_.kind != device::DeviceKind::emulated) return;
  const Lock lock(mutex_);
  const auto at = static_cast<std::uint64_t>(address - base_);
  if (!in_arena(address) || at % options_.granularity_bytes != 0 || bytes % options_.granularity_bytes != 0) {
    fail_("set_accessible: not whole granules of the arena");
    return;
  }
  for (std::uint64_t g = at / options_.granularity_bytes; g < (at + bytes) / options_.granularity_bytes; ++g) {
    if (!mapped_[g]) fail_("set_accessible: not mapped");
    closed_[g] = accessible ? 0 : 1;
  }
}

void FakeDevice::check_accessible(const std::byte* begin, std::uint64_t bytes) {
  const Lock lock(mutex_);
  if (!in_arena(begin) || bytes == 0) return;
  const auto at = static_cast<std::uint64_t>(begin - base_);
  for (std::uint64_t g = at / options_.granularity_bytes; g * options_.granularity_bytes < at + bytes; ++g) {
    if (!closed_[g]) continue;
    fail_("device memory is used while it is inaccessible, at offset " + std::to_string(at));
    return;
  }
}

void FakeDevice::expect_no_pending(const std::byte* begin, std::uint64_t bytes, const char* what) {
  const Touch mine{begin, bytes, true};
  for (const Unsettled& u : unsettled_) {
    for (const Touch& t : u.touches) {
      if (conflict(mine, t)) fail_(std::string(what) + " under " + u.what + " that is not known to be done (I6)");
    }
  }
}

bool FakeDevice::usable(const std::byte* p, std::uint64_t bytes) const {
  if (!in_arena(p)) return true;
  const auto at = static_cast<std::uint64_t>(p - base_);
  for (std::uint64_t g = at / options_.granularity_bytes; g * options_.granularity_bytes < at + bytes; ++g) {
    if (!mapped_[g]) return false;
  }
  return true;
}

std::byte* FakeDevice::allocate(std::uint64_t bytes) {
  arrived_in(call_allocate);
  const Lock lock(mutex_);
  may_fail(call_allocate, "allocate");
  auto* p = static_cast<std::byte*>(std::malloc(std::max<std::uint64_t>(bytes, 1)));
  allocations_[p] = bytes;
  return p;
}

void FakeDevice::deallocate(std::byte* address) noexcept {
  const Lock lock(mutex_);
  const auto it = allocations_.find(address);
  if (it == allocations_.end()) {
    fail_("deallocate: never allocated");
    return;
  }
  expect_no_pending(address, it->second, "device memory was deallocated");
  std::free(address);
  allocations_.erase(it);
}

std::byte* FakeDevice::allocate_staging(std::uint64_t bytes) {
  arrived_in(call_staging);
  const Lock lock(mutex_);
  may_fail(call_staging, "allocate_staging");
  auto* p = static_cast<std::byte*>(std::malloc(std::max<std::uint64_t>(bytes, 1)));
  staging_[p] = bytes;
  return p;
}

void FakeDevice::deallocate_staging(std::byte* address) noexcept {
  const Lock lock(mutex_);
  const auto it = staging_.find(address);
  if (it == staging_.end()) {
    fail_("deallocate_staging: never allocated");
    return;
  }
  expect_no_pending(address, it->second, "a staging buffer was given back");
  std::free(address);
  staging_.erase(it);
}

bool FakeDevice::register_host(std::byte* address, std::uint64_t bytes) noexcept {
  const Lock lock(mutex_);
  if (!options_.registers_host || fails(call_register)) return false;
  for (const auto& [p, n] : registered_) {
    if (address < p + n && p < address + bytes) fail_("register_host: page-locked already");
  }
  registered_[address] = bytes;
  return true;
}

void FakeDevice::unregister_host(std::byte* address) noexcept {
  arrived_in(call_register);
  const Lock lock(mutex_);
  const auto it = registered_.find(address);
  if (it == registered_.end()) {
    fail_("unregister_host: not page-locked");
    return;
  }
  expect_no_pending(address, it->second, "host pages were unregistered");
  registered_.erase(it);
}

void FakeDevice::expect_page_locked(const std::byte* host, std::uint64_t bytes) {
  if (!needs_page_lock_ || !needs_page_lock_(host)) return;
  const std::byte* at = host;
  for (const auto& [begin, size] : registered_) {  // in the order of their addresses
    if (begin <= at && at < begin + size) at = begin + size;
  }
  if (at < host + bytes) fail_("a copy uses host pages that are not page-locked");
}

bool FakeDevice::is_foreign_device_pointer(const void* pointer) const noexcept {
  const Lock lock(mutex_);
  const auto* p = static_cast<const std::byte*>(pointer);
  for (const auto& [begin, bytes] : allocations_) {
    if (p >= begin && p < begin + bytes) return true;
  }
  return false;
}

// --- queues and events ---------------------------------------------------------------------------------------------

std::size_t FakeDevice::add_queue(void* native, bool program) {
  std::size_t index = 0;
  while (index < queues_.size() && queues_[index].open) ++index;
  if (index == queues_.size()) queues_.emplace_back();
  Queue& q = queues_[index];
  q.open = true;
  q.program = program;
  q.native = native;
  q.clock.clear();
  return index;
}

QueueId FakeDevice::open_queue() {
  const Lock lock(mutex_);
  may_fail(call_start, "open_queue");
  return QueueId{static_cast<std::uint32_t>(add_queue(nullptr, false))};
}

QueueId FakeDevice::stream(void* native) {
  const Lock lock(mutex_);
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].open && queues_[i].program && queues_[i].native == native) return QueueId{static_cast<std::uint32_t>(i)};
  }
  return QueueId{static_cast<std::uint32_t>(add_queue(native, true))};
}

QueueId FakeDevice::adopt_queue(void* native, std::shared_ptr<void> owner) {
  may_fail(call_adopt, "adopt_queue");
  const QueueId q = stream(native);
  const Lock lock(mutex_);
  queues_[q.value].owner = std::move(owner);
  return q;
}

void FakeDevice::close_queue(QueueId queue) noexcept {
  std::shared_ptr<void> owner;
  const Lock lock(mutex_);
  Queue& q = queues_[queue.value];
  if (!q.open) fail_("close_queue: not open");
  owner.swap(q.owner);
  if (q.program) return;  // the stream is the program's
  if (!q.pending.empty()) fail_("close_queue: work is pending");
  q.open = false;
}

void FakeDevice::join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

EventId FakeDevice::record(QueueId queue) {
  const Lock lock(mutex_);
  may_fail(call_record, "record");
  const EventId id = next_event_++;
  Queue& q = queues_[queue.value];
  Event& e = events_[id];
  e.queue = queue.value;
  e.clock = q.clock;
  if (e.clock.size() <= queue.value) e.clock.resize(queue.value + 1, 0);
  e.clock[queue.value] = q.submitted;
  Operation op{};
  op.kind = Kind::record;
  op.event = id;
  submit(queue.value, std::move(op));
  return id;
}

void FakeDevice::wait(QueueId queue, EventId event) {
  const Lock lock(mutex_);
  may_fail(call_wait, "wait");
  const auto e = events_.find(event);
  if (e == events_.end() || e->second.released) {
    fail_("wait: the event was given back");
    return;
  }
  join(queues_[queue.value].clock, e->second.clock);
  if (e->second.complete) return;
  Operation op{};
  op.kind = Kind::wait;
  op.event = event;
  submit(queue.value, std::move(op));
}

void FakeDevice::observe(const Clock& clock) {
  join(host_, clock);
  unsettled_.erase(std::remove_if(unsettled_.begin(), unsettled_.end(),
                                  [&](const Unsettled& u) { return u.queue < host_.size() && host_[u.queue] >= u.number; }),
                   unsettled_.end());
}

bool FakeDevice::complete(EventId event) {
  const Lock lock(mutex_);
  may_fail(call_ask, "complete");
  ++questions;
  const auto e = events_.find(event);
  if (e == events_.end() || e->second.released) {
    fail_("complete: the event was given back");
    return true;
  }
  if (random_.chance(options_.eagerness)) some_progress();
  if (e->second.complete) observe(e->second.clock);
  return e->second.complete;
}

void FakeDevice::synchronize(EventId event) {
  do_meanwhile();
  const Lock lock(mutex_);
  may_fail(call_synchronize, "synchronize");
  ++questions;
  const auto e = events_.find(event);
  if (e == events_.end()) {
    fail_("synchronize: the event was given back");
    return;
  }
  run_until(event);
  observe(e->second.clock);
}

void FakeDevice::release(EventId event) noexcept {
  const Lock lock(mutex_);
  const auto e = events_.find(event);
  if (e == events_.end() || e->second.released) {
    fail_("an event was given back twice");
    return;
  }
  e->second.released = true;
  if (e->second.complete) events_.erase(e);
}

void FakeDevice::settle_queue(std::size_t queue) {
  const Queue& q = queues_[queue];
  run_queue(queue, q.submitted);
  Clock clock = q.clock;
  if (clock.size() <= queue) clock.resize(queue + 1, 0);
  clock[queue] = q.submitted;
  observe(clock);
}

void FakeDevice::synchronize_queue(QueueId queue) {
  do_meanwhile();
  const Lock lock(mutex_);
  may_fail(call_synchronize, "synchronize_queue");
  ++questions;
  settle_queue(queue.value);
}

bool FakeDevice::queue_idle(QueueId queue) {
  const Lock lock(mutex_);
  if (!tells_idle || !queues_[queue.value].pending.empty()) return false;
  settle_queue(queue.value);  // the host has seen it
  return true;
}

void FakeDevice::synchronize_stream(void* native) {
  const QueueId queue = stream(native);
  const Lock lock(mutex_);
  ++questions;
  settle_queue(queue.value);
}

void FakeDevice::synchronize_device() {
  do_meanwhile();
  const Lock lock(mutex_);
  may_fail(call_synchronize, "synchronize_device");
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (!queues_[i].open) continue;
    ++questions;
    settle_queue(i);
  }
}

// --- operations ----------------------------------------------------------------------------------------------------

void FakeDevice::submit(std::size_t queue, Operation op) {
  Queue& q = queues_[queue];
  if (!q.open) fail_("work for a closed queue");
  const std::uint64_t number = ++q.submitted;
  ++submitted_;
  if (q.clock.size() < queues_.size()) q.clock.resize(queues_.size(), 0);
  join(q.clock, host_);
  if (options_.finds_races && !op.touches.empty()) {
    for (const Unsettled& u : unsettled_) {
      if (u.queue == queue || q.clock[u.queue] >= u.number) continue;
      for (const Touch& t : u.touches) {
        for (const Touch& mine : op.touches) {
          if (conflict(mine, t)) {
            fail_(std::string("race: ") + text(op.kind) + " is not ordered after " + u.what + " on queue " +
                  std::to_string(u.queue) + " at offset " + std::to_string(std::max(mine.begin, t.begin) - base_) + " (I6)");
          }
        }
      }
    }
    unsettled_.push_back({queue, number, op.kind == Kind::kernel, text(op.kind), op.touches});
  }
  q.clock[queue] = number;
  q.pending.push_back(std::move(op));
  if (!options_.asynchronous) {
    settle_queue(queue);
  } else if (random_.chance(options_.eagerness)) {
    some_progress();
  }
}

void FakeDevice::execute(std::size_t queue) {
  Operation op = std::move(queues_[queue].pending.front());
  queues_[queue].pending.pop_front();
  ++queues_[queue].executed;
  for (const Touch& t : op.touches) {
    if (!usable(t.begin, t.bytes)) {
      fail_(std::string(text(op.kind)) + " uses device memory that is not mapped");
      return;
    }
  }
  for (const Touch& t : op.touches) {
    if (permits && !permits(t.begin, t.bytes, t.writes)) fail_(std::string(text(op.kind)) + " meets closed pages");
  }
  if (op.kind == Kind::kernel) {  // the device's own work opens what it needs
    for (const Touch& t : op.touches) check_accessible(t.begin, t.bytes);
  }
  switch (op.kind) {
    case Kind::to_device:
    case Kind::from_device:
    case Kind::within:
      for (std::uint64_t c = 0; c < op.columns; ++c) std::memmove(op.to + c * op.to_pitch, op.from + c * op.from_pitch, op.bytes);
      break;
    case Kind::fill:
      for (std::uint64_t i = 0; i < op.bytes; i += op.pattern_bytes) std::memcpy(op.to + i, op.pattern, op.pattern_bytes);
      break;
    case Kind::digest:
    case Kind::kernel: op.body(); break;
    case Kind::record: {
      const auto e = events_.find(op.event);
      e->second.complete = true;
      if (e->second.released) events_.erase(e);
      break;
    }
    case Kind::wait: break;
  }
}

void FakeDevice::run_until(EventId event) {
  // What is needed for the event and nothing else: everything else stays as late as it can be.
  const auto e = events_.find(event);
  if (e == events_.end() || e->second.complete) return;
  const std::size_t queue = e->second.queue;
  while (true) {
    const auto again = events_.find(event);
    if (again == events_.end() || again->second.complete) return;
    if (queues_[queue].pending.empty()) {
      fail_("an event that can never happen");
      return;
    }
    run_queue(queue, queues_[queue].executed + 1);
  }
}

void FakeDevice::run_queue(std::size_t queue, std::uint64_t until) {
  while (queues_[queue].executed < until && !queues_[queue].pending.empty()) {
    const Operation& op = queues_[queue].pending.front();
    if (op.kind == Kind::wait) run_until(op.event);
    execute(queue);
  }
}

void FakeDevice::some_progress() {
  for (std::uint64_t n = 1 + random_.below(4); n > 0; --n) {
    std::size_t ready[64];
    std::size_t count = 0;
    for (std::size_t i = 0; i < queues_.size() && count < 64; ++i) {
      if (queues_[i].pending.empty()) continue;
      const Operation& op = queues_[i].pending.front();
      const auto e = events_.find(op.event);
      if (op.kind == Kind::wait && e != events_.end() && !e->second.complete) continue;
      ready[count++] = i;
    }
    if (count == 0) return;
    execute(ready[random_.below(count)]);
  }
}

void FakeDevice::tick() {
  const Lock lock(mutex_);
  some_progress();
}

void FakeDevice::copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) {
  const Lock lock(mutex_);
  may_fail(call_copy, "copy_to_device");
  if (bytes == 0) return;
  expect_page_locked(host, bytes);
  copied.to_device += bytes;
  Operation op{};
  op.kind = Kind::to_device;
  op.to = device;
  op.from = host;
  op.bytes = bytes;
  op.touches = {{device, bytes, true}, {host, bytes, false}};
  submit(queue.value, std::move(op));
}

void FakeDevice::copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) {
  const Lock lock(mutex_);
  may_fail(call_copy, "copy_from_device");
  if (bytes == 0) return;
  expect_page_locked(host, bytes);
  copied.from_device += bytes;
  Operation op{};
  op.kind = Kind::from_device;
  op.to = host;
  op.from = device;
  op.bytes = bytes;
  op.touches = {{host, bytes, true}, {device, bytes, false}};
  submit(queue.value, std::move(op));
}

void FakeDevice::copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const Lock lock(mutex_);
  may_fail(call_copy, "copy_within_device");
  if (bytes == 0) return;
  copied.within += bytes;
  Operation op{};
  op.kind = Kind::within;
  op.to = to;
  op.from = from;
  op.bytes = bytes;
  op.touches = {{to, bytes, true}, {from, bytes, false}};
  submit(queue.value, std::move(op));
}

void FakeDevice::copy_columns(QueueId queue, Direction direction, std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                              std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) {
  const Lock lock(mutex_);
  const bool from_host = direction == Direction::to_device, to_host = direction == Direction::from_device;
  may_fail(call_copy, from_host ? "copy_to_device" : to_host ? "copy_from_device" : "copy_within_device");
  if (width == 0 || columns == 0) return;
  if (width > to_pitch || width > from_pitch) fail_("columns that overlap are copied");
  Operation op{};
  op.kind = from_host ? Kind::to_device : to_host ? Kind::from_device : Kind::within;
  op.to = to;
  op.from = from;
  op.bytes = width;
  op.columns = columns;
  op.to_pitch = to_pitch;
  op.from_pitch = from_pitch;
  for (std::uint64_t c = 0; c < columns; ++c) {
    if (from_host) expect_page_locked(from + c * from_pitch, width);
    if (to_host) expect_page_locked(to + c * to_pitch, width);
    op.touches.push_back({to + c * to_pitch, width, true});
    op.touches.push_back({from + c * from_pitch, width, false});
  }
  (from_host ? copied.to_device : to_host ? copied.from_device : copied.within) += width * columns;
  submit(queue.value, std::move(op));
}

void FakeDevice::fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
                      std::uint32_t pattern_bytes) {
  const Lock lock(mutex_);
  may_fail(call_fill, "fill");
  if (pattern_bytes == 0 || pattern_bytes > 16 || bytes % pattern_bytes != 0) fail_("fill: not whole patterns");
  if (bytes == 0) return;
  Operation op{};
  op.kind = Kind::fill;
  op.to = to;
  op.bytes = bytes;
  std::memcpy(op.pattern, pattern, pattern_bytes);
  op.pattern_bytes = pattern_bytes;
  op.touches = {{to, bytes, true}};
  submit(queue.value, std::move(op));
}

std::uint64_t FakeDevice::digest(QueueId queue, const std::byte* device, std::uint64_t bytes) {
  const Lock lock(mutex_);
  may_fail(call_digest, "digest");
  Operation op{};
  op.kind = Kind::digest;
  std::uint64_t h = 1469598103934665603u;
  op.touches = {{device, bytes, false}};
  op.body = [&h, device, bytes] {
    for (std::uint64_t i = 0; i < bytes; ++i) h = (h ^ static_cast<std::uint64_t>(device[i])) * 1099511628211u;
  };
  submit(queue.value, std::move(op));
  settle_queue(queue.value);
  return h;
}

// --- the program ---------------------------------------------------------------------------------------------------

void FakeDevice::launch(void* native, std::vector<Touch> touches, std::function<void()> body) {
  const QueueId q = stream(native);
  const Lock lock(mutex_);
  Operation op{};
  op.kind = Kind::kernel;
  op.touches = std::move(touches);
  op.body = std::move(body);
  submit(q.value, std::move(op));
}

std::vector<void*> FakeDevice::unordered_kernels(void* native, const std::vector<Touch>& touches) {
  const QueueId q = stream(native);
  const Lock lock(mutex_);
  Clock clock = queues_[q.value].clock;
  clock.resize(queues_.size(), 0);
  join(clock, host_);
  std::vector<void*> out;
  for (const Unsettled& u : unsettled_) {
    if (u.queue == q.value || !queues_[u.queue].program || clock[u.queue] >= u.number) continue;
    bool hit = false;
    for (const Touch& t : u.touches) {
      for (const Touch& mine : touches) hit = hit || conflict(mine, t);
    }
    void* const other = queues_[u.queue].native;
    if (hit && std::find(out.begin(), out.end(), other) == out.end()) out.push_back(other);
  }
  return out;
}

void FakeDevice::order_streams(void* later, void* earlier) {
  const QueueId to = stream(later);
  const EventId event = record(stream(earlier));
  wait(to, event);
  release(event);
}

void FakeDevice::check_host_access(const std::byte* begin, std::uint64_t bytes, bool writes) {
  const Lock lock(mutex_);
  const Touch mine{begin, bytes, writes};
  for (const Unsettled& u : unsettled_) {
    for (const Touch& t : u.touches) {
      if (conflict(mine, t)) {
        fail_(std::string("race: the host ") + (writes ? "writes" : "reads") + " bytes of " + u.what +
              " that is not known to be done (I6)");
      }
    }
  }
}

}  // namespace semcache::fakes
