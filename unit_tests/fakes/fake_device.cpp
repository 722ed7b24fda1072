// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace semcache::fakes {

using device::EventId;

FakeWorld::FakeWorld(const Options& options, Failure fail)
    : options_(options), fail_(std::move(fail)), random_(options.seed ^ 0xdeu) {}

FakeWorld::~FakeWorld() {
  if (base_ != nullptr) fail_("the device's addresses were never given back");
  if (!maps_.empty()) fail_("device memory is still mapped at the end");
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
  for (auto& [p, block] : allocations_) std::free(p);
  for (auto& [p, block] : staging_) std::free(p);
}

const char* FakeWorld::text(Kind kind) noexcept {
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

bool FakeWorld::fails(Call call, const char* what, std::optional<std::uint32_t> device) const {
  const Lock lock(mutex_);
  const bool now = fail_in_ != 0 && (fail_mask_ & call) != 0 && (!fail_device_ || fail_device_ == device) && --fail_in_ == 0;
  if (now) failed = what;
  return now;
}

void FakeWorld::may_fail(Call call, const char* what, std::optional<std::uint32_t> device) const {
  if (!fails(call, what, device)) return;
  const std::string text = (device ? "fake device " + std::to_string(*device) + ": " : std::string()) + "injected: " + what;
  if (call == call_map || call == call_allocate || call == call_staging) throw OutOfMemory(text, 1, 1);
  if (call == call_platform) throw SystemError(text);
  throw DeviceError(text);
}

// --- addresses and memory ------------------------------------------------------------------------------------------

std::uint64_t FakePeer::total_memory_bytes() const {
  may_fail_here(FakeWorld::call_start, "total_memory_bytes");
  return world_.options_.memory_bytes;
}

std::uint64_t FakePeer::free_memory_bytes() const {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_start, "free_memory_bytes");
  return world_.free_bytes(index_);
}

FakePeer::FakePeer(FakeWorld& world) : world_(world) {
  const Lock lock(world_.mutex_);
  index_ = static_cast<std::uint32_t>(world_.parts_.size());
  world_.parts_.emplace_back();
}

std::uint64_t FakePeer::granularity_bytes() const noexcept { return world_.options_.granularity_bytes; }
std::uint64_t FakePeer::block_bytes() const noexcept { return world_.options_.block_bytes; }

device::DeviceKind FakePeer::kind() const noexcept { return world_.options_.kind; }

std::uint64_t FakeWorld::free_bytes(std::uint32_t device) const {
  std::uint64_t used = 0;
  for (const Blocks* const blocks : {&maps_, &allocations_}) {
    for (const auto& [begin, block] : *blocks) used += block.counts_at == device ? block.bytes : 0;
  }
  return options_.memory_bytes - used;
}

void FakeWorld::expect_free(std::uint32_t device, std::uint64_t bytes) const {
  const std::uint64_t free = free_bytes(device);
  if (bytes > free) throw OutOfMemory("the memory of " + name_of(device) + " is full", bytes, free);
}

std::byte* FakePeer::reserve(std::uint64_t& bytes) {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_start, "reserve");
  if (world_.base_ != nullptr) world_.fail_("the device has one arena");
  bytes = world_.options_.arena_bytes;
  constexpr std::uint64_t alignment = 2u << 20;
  world_.mapping_bytes_ = bytes + alignment;
  world_.mapping_ = ::mmap(nullptr, world_.mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (world_.mapping_ == MAP_FAILED) throw DeviceError("mmap");
  world_.base_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(world_.mapping_), alignment));
  world_.bytes_ = bytes;
  world_.mapped_.assign(bytes / granularity_bytes(), 0);
  world_.closed_.assign(bytes / world_.options_.page_bytes, 0);
  return world_.base_;
}

void FakePeer::release(std::byte* base, std::uint64_t bytes) noexcept {
  const Lock lock(world_.mutex_);
  if (base != world_.base_ || bytes != world_.bytes_) world_.fail_("the device got back what it never gave");
  ::munmap(world_.mapping_, world_.mapping_bytes_);
  world_.base_ = nullptr;
}

void FakePeer::map(device::Location location, std::byte* address, std::uint64_t bytes, bool closed) {
  world_.takes_long("map");
  world_.arrived_in(FakeWorld::call_map);
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_map, "map");
  const auto at = static_cast<std::uint64_t>(address - world_.base_);
  if (!world_.in_arena(address) || at % granularity_bytes() != 0 || bytes % granularity_bytes() != 0 || bytes == 0) {
    world_.fail_("map: not whole granules of the arena");
    return;
  }
  std::optional<std::uint32_t> counts_at;
  if (location.device != nullptr) {
    counts_at = static_cast<std::uint32_t>(location.device->ordinal());
    if (*counts_at != index_ && !world_.may_use(index_, *counts_at)) throw DeviceError(name() + " does not reach " + location.device->name());
    world_.expect_free(*counts_at, bytes);
  }
  for (std::uint64_t g = at / granularity_bytes(); g < (at + bytes) / granularity_bytes(); ++g) {
    if (world_.mapped_[g]) world_.fail_("map: mapped already");
    world_.mapped_[g] = 1;
  }
  std::fill(world_.closed_.begin() + static_cast<std::ptrdiff_t>(at / world_.options_.page_bytes),
            world_.closed_.begin() + static_cast<std::ptrdiff_t>((at + bytes) / world_.options_.page_bytes), 0);
  world_.maps_[address] = {bytes, index_, counts_at};
  std::memset(address, 0xd1, bytes);  // "its content is unspecified"
  if (world_.when_mapped) world_.when_mapped(address, bytes, closed);
}

void FakePeer::unmap(std::byte* address, std::uint64_t bytes) noexcept {
  world_.takes_long("unmap");
  const Lock lock(world_.mutex_);
  const auto at = static_cast<std::uint64_t>(address - world_.base_);
  const auto made = world_.maps_.find(address);
  if (made == world_.maps_.end() || made->second.bytes != bytes || made->second.device != index_) {
    world_.fail_("unmap: not exactly one earlier map of this device");
    return;
  }
  world_.maps_.erase(made);
  world_.expect_no_pending(address, bytes, "device memory was unmapped");
  for (std::uint64_t g = at / granularity_bytes(); g < (at + bytes) / granularity_bytes(); ++g) {
    world_.mapped_[g] = 0;
  }
  std::memset(address, 0xd2, bytes);
}

void FakePeer::set_accessible(std::byte* address, std::uint64_t bytes, bool accessible) noexcept {
  if (world_.options_.kind != device::DeviceKind::emulated) return;
  const Lock lock(world_.mutex_);
  const std::uint64_t page_bytes = world_.options_.page_bytes;
  const auto at = static_cast<std::uint64_t>(address - world_.base_);
  if (!world_.in_arena(address) || at % page_bytes != 0 || bytes % page_bytes != 0) {
    world_.fail_("set_accessible: not whole pages of the arena");
    return;
  }
  for (std::uint64_t page = at / page_bytes; page < (at + bytes) / page_bytes; ++page) {
    if (!world_.mapped_[page * page_bytes / granularity_bytes()]) world_.fail_("set_accessible: not mapped");
    world_.closed_[page] = accessible ? 0 : 1;
  }
}

bool FakeWorld::is_accessible(const std::byte* begin, std::uint64_t bytes) {
  const Lock lock(mutex_);
  if (!in_arena(begin) || bytes == 0) return true;
  const auto at = static_cast<std::uint64_t>(begin - base_);
  const auto first = closed_.begin() + static_cast<std::ptrdiff_t>(at / options_.page_bytes);
  const auto end = closed_.begin() + static_cast<std::ptrdiff_t>((at + bytes - 1) / options_.page_bytes + 1);
  return std::find(first, end, char{1}) == end;
}

void FakeWorld::check_accessible(const std::byte* begin, std::uint64_t bytes) {
  if (!is_accessible(begin, bytes)) fail_("device memory is used while it is inaccessible, at offset " + std::to_string(begin - base_));
}

void FakeWorld::expect_no_pending(const std::byte* begin, std::uint64_t bytes, const char* what) {
  const Touch mine{begin, bytes, true};
  for (const Unsettled& u : unsettled_) {
    for (const Touch& t : u.touches) {
      if (conflict(mine, t)) fail_(std::string(what) + " under " + u.what + " that is not known to be done (I6)");
    }
  }
}

bool FakeWorld::usable(const std::byte* p, std::uint64_t bytes) const {
  if (!in_arena(p)) return true;
  const auto at = static_cast<std::uint64_t>(p - base_);
  for (std::uint64_t g = at / options_.granularity_bytes; g * options_.granularity_bytes < at + bytes; ++g) {
    if (!mapped_[g]) return false;
  }
  return true;
}

std::byte* FakePeer::allocate(std::uint64_t bytes) {
  world_.takes_long("allocate");
  world_.arrived_in(FakeWorld::call_allocate);
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_allocate, "allocate");
  world_.expect_free(index_, bytes);
  auto* p = static_cast<std::byte*>(std::malloc(std::max<std::uint64_t>(bytes, 1)));
  world_.allocations_[p] = {bytes, index_, index_};
  return p;
}

void FakePeer::deallocate(std::byte* address) noexcept {
  world_.takes_long("deallocate");
  const Lock lock(world_.mutex_);
  const auto it = world_.allocations_.find(address);
  if (it == world_.allocations_.end() || it->second.device != index_) {
    world_.fail_("deallocate: never allocated by this device");
    return;
  }
  world_.expect_no_pending(address, it->second.bytes, "device memory was deallocated");
  std::free(address);
  world_.allocations_.erase(it);
}

std::byte* FakePeer::allocate_staging(std::uint64_t bytes) {
  world_.takes_long("allocate_staging");
  world_.arrived_in(FakeWorld::call_staging);
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_staging, "allocate_staging");
  auto* p = static_cast<std::byte*>(std::malloc(std::max<std::uint64_t>(bytes, 1)));
  world_.staging_[p] = {bytes, index_, std::nullopt};
  return p;
}

void FakePeer::deallocate_staging(std::byte* address) noexcept {
  world_.takes_long("deallocate_staging");
  const Lock lock(world_.mutex_);
  const auto it = world_.staging_.find(address);
  if (it == world_.staging_.end()) {
    world_.fail_("deallocate_staging: never allocated");
    return;
  }
  world_.expect_no_pending(address, it->second.bytes, "a staging buffer was given back");
  std::free(address);
  world_.staging_.erase(it);
}

bool FakePeer::register_host(std::byte* address, std::uint64_t bytes) noexcept {
  world_.takes_long("register_host");
  const Lock lock(world_.mutex_);
  if (!world_.options_.registers_host || world_.fails(FakeWorld::call_register, "register_host", index_)) return false;
  for (const auto& [p, n] : world_.registered_) {
    if (address < p + n && p < address + bytes) world_.fail_("register_host: page-locked already");
  }
  world_.registered_[address] = bytes;
  return true;
}

void FakePeer::unregister_host(std::byte* address) noexcept {
  world_.takes_long("unregister_host");
  world_.arrived_in(FakeWorld::call_register);
  const Lock lock(world_.mutex_);
  const auto it = world_.registered_.find(address);
  if (it == world_.registered_.end()) {
    world_.fail_("unregister_host: not page-locked");
    return;
  }
  world_.expect_no_pending(address, it->second, "host pages were unregistered");
  world_.registered_.erase(it);
}

void FakeWorld::expect_page_locked(const std::byte* host, std::uint64_t bytes) {
  if (!needs_page_lock_ || !needs_page_lock_(host)) return;
  const std::byte* at = host;
  for (const auto& [begin, size] : registered_) {  // in the order of their addresses
    if (begin <= at && at < begin + size) at = begin + size;
  }
  if (at < host + bytes) fail_("a copy uses host pages that are not page-locked");
}

bool FakePeer::is_foreign_device_pointer(const void* pointer) const noexcept {
  const Lock lock(world_.mutex_);
  const auto* p = static_cast<const std::byte*>(pointer);
  for (const auto& [begin, block] : world_.allocations_) {
    if (p >= begin && p < begin + block.bytes) return block.device == index_;
  }
  return false;
}

// --- several devices -----------------------------------------------------------------------------------------------

void FakePeer::share_with(const std::vector<device::Device*>& others, PeerUse use) {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_start, "share_with");
  FakeWorld::Part& part = world_.parts_[index_];
  if (std::exchange(part.told_of_others, true)) world_.fail_("share_with: called twice");
  if (world_.free_bytes(index_) != world_.options_.memory_bytes) world_.fail_("share_with: the device has memory already");
  for (const device::Device* const other : others) {
    if (use == PeerUse::permitted) part.others.push_back(static_cast<std::uint32_t>(other->ordinal()));
  }
}

bool FakePeer::reaches(const device::Device& other) const noexcept {
  return other.ordinal() == ordinal() || world_.options_.peer_access;
}

bool FakeWorld::may_use(std::uint32_t device, std::uint32_t owner) const {
  const std::vector<std::uint32_t>& others = parts_[owner].others;
  return options_.peer_access && std::find(others.begin(), others.end(), device) != others.end();
}

void FakeWorld::expect_within_reach(std::uint32_t device, const Operation& op) {
  for (const Blocks* const blocks : {&maps_, &allocations_}) {
    for (const auto& [begin, block] : *blocks) {
      if (block.device == device) continue;  // also where it lies elsewhere: a device uses what is behind its addresses as its own
      const Touch all{begin, block.bytes, true};
      if (std::none_of(op.touches.begin(), op.touches.end(), [&](const Touch& t) { return conflict(all, t); })) continue;
      const std::string what = std::string(text(op.kind)) + " of " + name_of(device) + " uses memory of " + name_of(block.device);
      const std::uint32_t owner = block.counts_at.value_or(block.device);
      if (owner != device && !may_use(device, owner)) fail_(what + ", which it does not reach");
      if (op.kind == Kind::to_device || op.kind == Kind::from_device) fail_(what + ", as only a copy within the device may");
    }
  }
}

bool FakePeer::owns_stream(void* native) const noexcept {
  const Lock lock(world_.mutex_);
  if (native == nullptr) return true;
  const std::size_t i = world_.find_stream(native);
  return i == world_.queues_.size() || !world_.queues_[i].owned || world_.queues_[i].device == index_;
}

// --- queues and events ---------------------------------------------------------------------------------------------

std::size_t FakeWorld::add_queue(std::uint32_t device, void* native, bool program) {
  std::size_t index = 0;
  while (index < queues_.size() && queues_[index].open) ++index;
  if (index == queues_.size()) queues_.emplace_back();
  Queue& q = queues_[index];
  q.open = true;
  q.program = program;
  q.device = device;
  q.native = native;
  q.clock.clear();
  return index;
}

QueueId FakePeer::open_queue() {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_start, "open_queue");
  return QueueId{static_cast<std::uint32_t>(world_.add_queue(index_, nullptr, false))};
}

std::size_t FakeWorld::find_stream(const Stream& s) const {
  const auto is_it = [&](const Queue& q) {
    return q.open && q.program && !q.destroyed && q.native == s.native && (s.native != nullptr || q.device == s.device.value_or(0));
  };
  return static_cast<std::size_t>(std::find_if(queues_.begin(), queues_.end(), is_it) - queues_.begin());
}

std::uint32_t FakeWorld::device_of(const Stream& s) const {
  const Lock lock(mutex_);
  const std::size_t i = find_stream(s);
  return s.device ? *s.device : i < queues_.size() ? queues_[i].device : 0;
}

QueueId FakeWorld::stream(const Stream& s) {
  const Lock lock(mutex_);
  std::size_t i = find_stream(s);
  if (i == queues_.size()) i = add_queue(s.device.value_or(0), s.native, true);
  Queue& q = queues_[i];
  if (s.device) {
    if (q.owned && q.device != *s.device) fail_("a stream of " + name_of(q.device) + " is used as one of " + name_of(*s.device));
    if (!std::exchange(q.owned, true)) q.device = *s.device;
  }
  return QueueId{static_cast<std::uint32_t>(i)};
}

void FakeWorld::destroy_stream(const Stream& s) {
  const Lock lock(mutex_);
  if (const std::size_t i = find_stream(s); i != queues_.size()) queues_[i].destroyed = true;
}

QueueId FakePeer::adopt_queue(void* native, std::shared_ptr<void> owner) {
  may_fail_here(FakeWorld::call_adopt, "adopt_queue");
  const QueueId q = world_.stream({native, index_});
  const Lock lock(world_.mutex_);
  world_.queues_[q.value].owner = std::move(owner);
  return q;
}

FakeWorld::Queue& FakePeer::own(QueueId queue) const {
  FakeWorld::Queue& q = world_.queues_[queue.value];
  if (q.destroyed) world_.fail_("a stream is used that the program has destroyed");
  if (q.device != index_) world_.fail_("a queue of " + world_.name_of(q.device) + " is used through " + name());
  return q;
}

std::shared_ptr<void> FakePeer::close_queue(QueueId queue) noexcept {
  const Lock lock(world_.mutex_);
  FakeWorld::Queue& q = world_.queues_[queue.value];
  if (!q.open) world_.fail_("close_queue: not open");
  if (q.program) return std::exchange(q.owner, nullptr);  // the stream is the program's
  if (!q.pending.empty()) world_.fail_("close_queue: work is pending");
  q.open = false;
  return std::exchange(q.owner, nullptr);
}

void FakeWorld::join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void FakePeer::keep_idle_events(std::size_t count) noexcept {
  if (!world_.fill_idle_events(index_, count)) return;
  world_.takes_long("make events");  // behind the change, because another call may come meanwhile
}

bool FakePeer::lacks_events(std::size_t count) const noexcept { return world_.idle_events(index_) < count; }

bool FakeWorld::fill_idle_events(std::uint32_t device, std::size_t count) {
  const Lock lock(mutex_);
  std::size_t& idle = parts_[device].idle_events;
  const bool some = idle < count;
  idle = std::max(idle, count);
  return some;
}

std::size_t FakeWorld::idle_events(std::uint32_t device) const {
  const Lock lock(mutex_);
  return parts_[device].idle_events;
}

EventId FakePeer::record(QueueId queue) {
  if (world_.idle_events(index_) == 0) world_.takes_long("make an event");
  const Lock lock(world_.mutex_);
  (void)own(queue);
  return world_.record_on(queue.value);
}

EventId FakeWorld::record_on(std::size_t queue) {
  may_fail(call_record, "record", queues_[queue].device);
  const EventId id = next_event_++;
  Queue& q = queues_[queue];
  if (std::size_t& idle = parts_[q.device].idle_events; idle > 0) --idle;
  Event& e = events_[id];
  e.queue = queue;
  e.device = q.device;
  e.clock = q.clock;
  if (e.clock.size() <= queue) e.clock.resize(queue + 1, 0);
  e.clock[queue] = q.submitted;
  Operation op{};
  op.kind = Kind::record;
  op.event = id;
  submit(queue, std::move(op));
  return id;
}

void FakePeer::wait(QueueId queue, EventId event) {
  const Lock lock(world_.mutex_);
  (void)own(queue);
  world_.wait_on(queue.value, event);
}

void FakeWorld::wait_on(std::size_t queue, EventId event) {
  may_fail(call_wait, "wait", queues_[queue].device);
  const auto e = events_.find(event);
  if (e == events_.end() || e->second.released) {
    fail_("wait: the event was given back");
    return;
  }
  join(queues_[queue].clock, e->second.clock);
  if (e->second.complete) return;
  Operation op{};
  op.kind = Kind::wait;
  op.event = event;
  submit(queue, std::move(op));
}

void FakeWorld::observe(const Clock& clock) {
  join(host_, clock);
  unsettled_.erase(std::remove_if(unsettled_.begin(), unsettled_.end(),
                                  [&](const Unsettled& u) { return u.queue < host_.size() && host_[u.queue] >= u.number; }),
                   unsettled_.end());
}

bool FakePeer::complete(EventId event) {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_ask, "complete");
  ++world_.questions;
  const auto e = world_.events_.find(event);
  if (e == world_.events_.end() || e->second.released) {
    world_.fail_("complete: the event was given back");
    return true;
  }
  if (world_.random_.chance(world_.options_.eagerness)) world_.some_progress();
  if (e->second.complete) world_.observe(e->second.clock);
  return e->second.complete;
}

void FakePeer::synchronize(EventId event) {
  world_.do_meanwhile();
  world_.takes_long("a wait");
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_synchronize, "synchronize");
  ++world_.questions;
  const auto e = world_.events_.find(event);
  if (e == world_.events_.end()) {
    world_.fail_("synchronize: the event was given back");
    return;
  }
  world_.run_until(event);
  world_.observe(e->second.clock);
}

void FakePeer::release(EventId event) noexcept {
  const Lock lock(world_.mutex_);
  const auto e = world_.events_.find(event);
  if (e != world_.events_.end() && e->second.device != index_) {
    world_.fail_("an event of " + world_.name_of(e->second.device) + " was given back to " + name());
  }
  world_.give_back(event);
}

void FakeWorld::give_back(EventId event) {
  const auto e = events_.find(event);
  if (e == events_.end() || e->second.released) {
    fail_("an event was given back twice");
    return;
  }
  e->second.released = true;
  ++parts_[e->second.device].idle_events;
  if (e->second.complete) events_.erase(e);
}

void FakeWorld::settle_queue(std::size_t queue) {
  const Queue& q = queues_[queue];
  run_queue(queue, q.submitted);
  Clock clock = q.clock;
  if (clock.size() <= queue) clock.resize(queue + 1, 0);
  clock[queue] = q.submitted;
  observe(clock);
}

void FakePeer::synchronize_queue(QueueId queue) {
  world_.do_meanwhile();
  world_.takes_long("a wait");
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_synchronize, "synchronize_queue");
  ++world_.questions;
  (void)own(queue);
  world_.settle_queue(queue.value);
}

bool FakePeer::queue_idle(QueueId queue) {
  const Lock lock(world_.mutex_);
  if (!world_.tells_idle || !own(queue).pending.empty()) return false;
  world_.settle_queue(queue.value);  // the host has seen it
  return true;
}

void FakeWorld::synchronize_stream(const Stream& s) {
  const QueueId queue = stream(s);
  const Lock lock(mutex_);
  ++questions;
  settle_queue(queue.value);
}

void FakePeer::synchronize_device() {
  world_.do_meanwhile();
  world_.takes_long("a wait");
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_synchronize, "synchronize_device");
  for (std::size_t i = 0; i < world_.queues_.size(); ++i) {
    if (!world_.queues_[i].open || world_.queues_[i].device != index_) continue;
    ++world_.questions;
    world_.settle_queue(i);
  }
}

// --- operations ----------------------------------------------------------------------------------------------------

void FakeWorld::submit(std::size_t queue, Operation op) {
  Queue& q = queues_[queue];
  if (!q.open) fail_("work for a closed queue");
  const std::uint64_t number = ++q.submitted;
  ++submitted_;
  if (q.clock.size() < queues_.size()) q.clock.resize(queues_.size(), 0);
  join(q.clock, host_);
  if (parts_.size() > 1) expect_within_reach(q.device, op);
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

void FakeWorld::execute(std::size_t queue) {
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

void FakeWorld::run_until(EventId event) {
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

void FakeWorld::run_queue(std::size_t queue, std::uint64_t until) {
  while (queues_[queue].executed < until && !queues_[queue].pending.empty()) {
    const Operation& op = queues_[queue].pending.front();
    if (op.kind == Kind::wait) run_until(op.event);
    execute(queue);
  }
}

void FakeWorld::some_progress() {
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

void FakeWorld::tick() {
  const Lock lock(mutex_);
  some_progress();
}

void FakePeer::submit(QueueId queue, FakeWorld::Operation op) {
  (void)own(queue);
  world_.submit(queue.value, std::move(op));
}

void FakeWorld::submits_copy(const std::byte* host) const {
  const auto lies_in = [host](const auto& ranges, const auto& bytes_of) {
    const auto behind = ranges.upper_bound(const_cast<std::byte*>(host));
    return behind != ranges.begin() && host < std::prev(behind)->first + bytes_of(std::prev(behind)->second);
  };
  const auto is_page_locked = [&] {
    const Lock lock(mutex_);
    return lies_in(staging_, [](const Block& block) { return block.bytes; }) || lies_in(registered_, [](std::uint64_t bytes) { return bytes; });
  };
  if (!is_page_locked()) takes_long("a copy of pageable memory");  // drivers return from it when it is done
}

void FakePeer::copy_to_device(QueueId queue, std::byte* device, const std::byte* host, std::uint64_t bytes) {
  world_.submits_copy(host);
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_copy, "copy_to_device");
  if (bytes == 0) return;
  world_.expect_page_locked(host, bytes);
  world_.copied.to_device += bytes;
  FakeWorld::Operation op{};
  op.kind = Kind::to_device;
  op.to = device;
  op.from = host;
  op.bytes = bytes;
  op.touches = {{device, bytes, true}, {host, bytes, false}};
  submit(queue, std::move(op));
}

void FakePeer::copy_from_device(QueueId queue, std::byte* host, const std::byte* device, std::uint64_t bytes) {
  world_.submits_copy(host);
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_copy, "copy_from_device");
  if (bytes == 0) return;
  world_.expect_page_locked(host, bytes);
  world_.copied.from_device += bytes;
  FakeWorld::Operation op{};
  op.kind = Kind::from_device;
  op.to = host;
  op.from = device;
  op.bytes = bytes;
  op.touches = {{host, bytes, true}, {device, bytes, false}};
  submit(queue, std::move(op));
}

void FakePeer::copy_within_device(QueueId queue, std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_copy, "copy_within_device");
  if (bytes == 0) return;
  world_.copied.within += bytes;
  FakeWorld::Operation op{};
  op.kind = Kind::within;
  op.to = to;
  op.from = from;
  op.bytes = bytes;
  op.touches = {{to, bytes, true}, {from, bytes, false}};
  submit(queue, std::move(op));
}

void FakePeer::copy_columns(QueueId queue, Direction direction, std::byte* to, std::uint64_t to_pitch, const std::byte* from,
                            std::uint64_t from_pitch, std::uint64_t width, std::uint64_t columns) {
  const bool from_host = direction == Direction::to_device, to_host = direction == Direction::from_device;
  if (from_host || to_host) world_.submits_copy(from_host ? from : to);
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_copy, from_host ? "copy_to_device" : to_host ? "copy_from_device" : "copy_within_device");
  if (width == 0 || columns == 0) return;
  if (width > to_pitch || width > from_pitch) world_.fail_("columns that overlap are world_.copied");
  for (const auto& [begin, pitch] : {std::pair<const std::byte*, std::uint64_t>(to, to_pitch), {from, from_pitch}}) {
    if (!world_.in_arena(begin)) continue;
    const auto at = static_cast<std::uint64_t>(begin - world_.base_);
    for (std::uint64_t g = at / granularity_bytes(); g <= (at + (columns - 1) * pitch + width - 1) / granularity_bytes(); ++g) {
      if (world_.mapped_[g]) continue;
      world_.fail_("a copy of columns between which memory is not mapped");  // as GPUs' drivers do
      break;
    }
  }
  FakeWorld::Operation op{};
  op.kind = from_host ? Kind::to_device : to_host ? Kind::from_device : Kind::within;
  op.to = to;
  op.from = from;
  op.bytes = width;
  op.columns = columns;
  op.to_pitch = to_pitch;
  op.from_pitch = from_pitch;
  if (columns > 1) ++world_.copied.calls_with_columns;
  for (std::uint64_t c = 0; c < columns; ++c) {
    if (from_host) world_.expect_page_locked(from + c * from_pitch, width);
    if (to_host) world_.expect_page_locked(to + c * to_pitch, width);
    op.touches.push_back({to + c * to_pitch, width, true});
    op.touches.push_back({from + c * from_pitch, width, false});
  }
  (from_host ? world_.copied.to_device : to_host ? world_.copied.from_device : world_.copied.within) += width * columns;
  submit(queue, std::move(op));
}

void FakePeer::fill(QueueId queue, std::byte* to, std::uint64_t bytes, const std::byte* pattern,
                    std::uint32_t pattern_bytes) {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_fill, "fill");
  if (pattern_bytes == 0 || pattern_bytes > 16 || bytes % pattern_bytes != 0) world_.fail_("fill: not whole patterns");
  if (bytes == 0) return;
  FakeWorld::Operation op{};
  op.kind = Kind::fill;
  op.to = to;
  op.bytes = bytes;
  std::memcpy(op.pattern, pattern, pattern_bytes);
  op.pattern_bytes = pattern_bytes;
  op.touches = {{to, bytes, true}};
  submit(queue, std::move(op));
}

std::uint64_t FakePeer::digest(QueueId queue, const std::byte* device, std::uint64_t bytes) {
  const Lock lock(world_.mutex_);
  may_fail_here(FakeWorld::call_digest, "digest");
  FakeWorld::Operation op{};
  op.kind = Kind::digest;
  std::uint64_t h = 1469598103934665603u;
  op.touches = {{device, bytes, false}};
  op.body = [&h, device, bytes] {
    for (std::uint64_t i = 0; i < bytes; ++i) h = (h ^ static_cast<std::uint64_t>(device[i])) * 1099511628211u;
  };
  submit(queue, std::move(op));
  world_.settle_queue(queue.value);
  return h;
}

// --- the program ---------------------------------------------------------------------------------------------------

void FakeWorld::launch(const Stream& on, std::vector<Touch> touches, std::function<void()> body) {
  const QueueId q = stream(on);
  const Lock lock(mutex_);
  Operation op{};
  op.kind = Kind::kernel;
  op.touches = std::move(touches);
  op.body = std::move(body);
  submit(q.value, std::move(op));
}

std::vector<FakeWorld::Stream> FakeWorld::unordered_kernels(const Stream& on, const std::vector<Touch>& touches) {
  const QueueId q = stream(on);
  const Lock lock(mutex_);
  Clock clock = queues_[q.value].clock;
  clock.resize(queues_.size(), 0);
  join(clock, host_);
  std::vector<Stream> out;
  std::vector<bool> named(queues_.size(), false);
  for (const Unsettled& u : unsettled_) {
    const Queue& other = queues_[u.queue];
    if (u.queue == q.value || !other.program || clock[u.queue] >= u.number || named[u.queue]) continue;
    for (const Touch& t : u.touches) {
      for (const Touch& mine : touches) named[u.queue] = named[u.queue] || conflict(mine, t);
    }
    if (!named[u.queue]) continue;
    out.emplace_back(other.native, other.owned ? std::optional(other.device) : std::nullopt);
    out.back().destroyed = other.destroyed;
  }
  return out;
}

void FakeWorld::order_streams(const Stream& later, const Stream& earlier) {
  const QueueId to = stream(later), from = stream(earlier);
  const Lock lock(mutex_);
  const EventId event = record_on(from.value);
  wait_on(to.value, event);
  give_back(event);
}

void FakeWorld::check_host_access(const std::byte* begin, std::uint64_t bytes, bool writes) {
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
