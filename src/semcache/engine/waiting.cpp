// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

#include <string>

/// What accesses may have to wait for, and how they wait for it. Whoever waits with a transaction waits here.
namespace semcache::engine {

// --- what stands in the way ------------------------------------------------------------------------------------------

Obstacle Engine::not_done(const timeline::Work& work) const noexcept {
  return devices_[work.device]->queues->done(work.queue, work.position) ? Obstacle() : Obstacle::until(work);
}

bool Engine::unknown_use_pending(const Memory& m, Mode mode) const {
  const timeline::Use& uses = m.on(unknown_queue);
  const std::uint64_t at = (mode == Mode::writes ? uses.use : uses.write).load();
  if (here().unsubmitted != nullptr && at <= here().unsubmitted->waited) return false;
  return at != 0 && !devices_[device_index(m)]->queues->done(unknown_queue, at);
}

Obstacle Engine::quiesce(Memory& m) {
  revoke(m);
  if (pinned(m)) return Obstacle::launches(m);
  return unknown_use_pending(m, Mode::writes) ? Obstacle::whole_device(device_index(m), &m) : Obstacle();
}

Obstacle Engine::busy(Memory& m, ByteRange range, Mode mode) {
  return m.on_host() ? flights_of(m, range, mode) : quiesce(m);
}

Obstacle Engine::flights_of(Memory& host, ByteRange range, Mode mode) {
  for (auto next = flights_.begin(); next != flights_.end();) {
    const auto flight = next++;
    if (flight->host != &host || !flight->range.overlaps(range) || !(flight->to_host || mode == Mode::writes)) continue;
    if (const Obstacle o = land(flight)) return o;
  }
  return {};
}

Obstacle Engine::land(Flights::iterator flight) {
  if (flight->locks_pages) return Obstacle::moment();
  if (const Obstacle o = not_done(flight->work)) return o;
  if (flight->staging != nullptr) {
    if (flight->to_host) write_arrival(*flight->host, flight->range, flight->staging);
    devices_[flight->work.device]->staging->give(flight->staging, flight->staged_bytes);
  }
  flights_.erase(flight);
  return {};
}

Obstacle Engine::land_all() {
  while (!flights_.empty()) {
    if (const Obstacle o = land(flights_.begin())) return o;
  }
  return {};
}

Obstacle Engine::uses_of(Memory& m) {
  if (m.on_host()) return flights_of(m, m.all(), Mode::writes);
  if (unknown_use_pending(m, Mode::writes)) return Obstacle::whole_device(device_index(m));
  return uses_on(m, device_of(m).queues->count());
}

Obstacle Engine::transfers_of(const Memory& m) const noexcept {
  return uses_on(m, devices_[device_index(m)]->queues->own_end());
}

Obstacle Engine::uses_on(const Memory& m, QueueIndex end) const noexcept {
  for (QueueIndex q = 1; q < end; ++q) {
    if (const Obstacle o = not_done({device_index(m), q, last_use(m, q)})) return o;
  }
  return {};
}

// --- waiting ---------------------------------------------------------------------------------------------------------

namespace {

/// While one lives, somebody waits for launches that use the memory. Made and ended with the engine's lock.
struct Awaiting {
  explicit Awaiting(Memory& m) noexcept : memory(m) { ++memory.awaited; }
  ~Awaiting() { --memory.awaited; }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;
  Memory& memory;
};

}  // namespace

void Engine::wait(Transaction& t, const Obstacle& o) {
  std::optional<Awaiting> awaiting;
  if (o.memory != nullptr) awaiting.emplace(*o.memory);
  switch (o.kind) {
    case Obstacle::Kind::none:
      return;
    case Obstacle::Kind::launches:
      return wait_for_launches(t, *o.memory);
    case Obstacle::Kind::device:
      return wait_for_device(t, o.work.device);
    case Obstacle::Kind::work: {
      const Queues::Wait wait = devices_[o.work.device]->queues->wait_for(o.work.queue, o.work.position);
      return t.unlocked([&] { wait(); });
    }
    case Obstacle::Kind::moment:
      return t.unlocked(timeline::wait_a_moment);
    case Obstacle::Kind::page_lock:
      return lock_pages(t, *o.memory, o.range);
    case Obstacle::Kind::page_unlock: {
      const std::vector<std::byte*> names = std::exchange(o.memory->locked, {});
      return t.unlocked([&] { pages_->unlock(*o.memory, names); });
    }
    case Obstacle::Kind::buffers:
      (void)release_idle_buffers(t, o.on_device);
  }
}

void Engine::lock_pages(Transaction& t, Memory& m, ByteRange chunk) {
  struct Locking {  // keeps transfers, faults and freeing waiting
    Engine& engine;
    Memory& memory;
    ByteRange chunk;
    Flights::iterator flight;
    bool readable;
    std::byte* name = nullptr;
    Locking(Engine& e, Memory& m, ByteRange c) : engine(e), memory(m), chunk(c), flight(e.flights_.emplace(e.flights_.end())) {
      flight->locks_pages = flight->to_host = true;
      try {
        readable = engine.pages_->begin_lock(memory, chunk);
      } catch (...) {
        engine.flights_.erase(flight);
        throw;
      }
      flight->host = &memory;
      flight->range = chunk;
    }
    ~Locking() {
      engine.flights_.erase(flight);
      engine.pages_->end_lock(memory, chunk, name, readable);
    }
  } locking(*this, m, chunk);
  t.unlocked([&] { locking.name = pages_->lock(m, chunk); });
}

Obstacle Engine::directly_reached(Memory& host, ByteRange range) {
  const ByteRange chunk = pages_->worth_locking(host, range);
  if (chunk.empty()) return {};
  const Obstacle o = flights_of(host, chunk, Mode::writes);
  return o ? o : Obstacle::page_lock(host, chunk);
}

void Engine::wait_for_device(Transaction& t, std::uint32_t device) {
  DeviceState& d = *devices_[device];
  const std::uint64_t at = d.queues->position(unknown_queue);
  recorder_.device_wait();
  t.unlocked([&] { d.queues->wait_for_device(); });
  if (here().unsubmitted != nullptr) {
    here().unsubmitted->waited = at;
  } else {
    d.queues->note_done(unknown_queue, at);
  }
}

/// A launch is being submitted (on a host-backed execution space: is running). It ends by itself, unless its thread waits for
/// us: because it is our own, because it waits for a fault (which is served first, if it is another than the one that waits
/// here), or because it needs what a driver's call holds that we are in.
void Engine::wait_for_launches(Transaction& t, Memory& m) {
  // Asked again and again here, because an attempt may be long, and others want the lock.
  const Kept kept(m);
  do {
    wait_for_launches_a_moment(t, m);
  } while (!kept.freed() && pinned(m));
}

void Engine::wait_for_launches_a_moment(Transaction& t, Memory& m) {
  if (surroundings_.in_launch_of(m) || (in_everything(m) && surroundings_.in_launch_of(everything(m)))) {
    throw UsageError(std::string("a kernel, or what is called while it is launched, asks for content that is in '") +
                     recorder_.name(m.label) + "', which the kernel itself uses: it would wait for its own end. Ask for it with "
                     "semcache::access(view, ...) before the launch");
  }
  if (here().in_driver_call != nullptr && here().in_driver_call->over()) {
    if (!device_of(m).queues->any_at_work()) {
      throw SystemError(std::string("a launch of another thread uses '") + recorder_.name(m.label) +
                        "' and does not get to its submission");
    }
    here().in_driver_call->restart();
  }
  platform::Holder holder = platform::Holder::runs;
  const void* where = nullptr;
  t.unlocked([&] {
    if (here().served_address != nullptr) holder = surroundings_.help_holder(m, where);
    if (holder == platform::Holder::runs) timeline::wait_a_moment();
  });
  if (holder != platform::Holder::waits_for_the_same) return;
  const auto array_at = [this](const void* address) {
    const char* const name = label_of(address);
    return std::string("'") + (name != nullptr ? name : "?") + "' at " + base::text_of(address);
  };
  throw NeitherCanGoOn("an access to " + array_at(here().served_address) + " needs content that is in '" + recorder_.name(m.label) +
                       "', which a kernel uses, and the kernel's thread waits for its own access to " + array_at(where) +
                       ": neither can go on. Call semcache::access(view, ...) before the launch for what the kernel reads or "
                       "writes besides its captures");
}

void Engine::unpin(Transaction& t, const Operand* operands, std::size_t count) noexcept {
  t.unlocked([&] { unpin(operands, count); });
}

void Engine::complete(Transaction& t, const timeline::Work& work) {
  try {
    t.wait(not_done(work));
  } catch (const std::exception&) {
    t.unlocked([&] { devices_[work.device]->queues->wait_for_queue(work.queue); });
  }
}

void Engine::complete_transfers(Transaction& t, Memory& m) {
  const Kept kept(m);
  const auto transfers = [&]() -> Obstacle {
    if (const Obstacle o = land_all()) return o;
    return kept.freed() || m.on_host() ? Obstacle() : transfers_of(m);
  };
  try {
    t.run(transfers);
  } catch (const std::exception&) {
    t.unlocked([&] {
      for (auto& d : devices_) d->queues->wait_for_device();
    });
    t.run(transfers);
  }
}

void Engine::end_queue(Transaction& t, DeviceState& d, QueueIndex queue) {
  const std::optional<Clock> submitted = d.queues->begin_retiring(queue);
  if (!submitted) return;
  t.unlocked([&] { d.queues->wait_for_device(); });
  d.queues->end_retiring(queue, *submitted);
}

}  // namespace semcache::engine
