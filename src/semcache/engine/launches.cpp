// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transaction.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace semcache::engine {

/// An operand of an unknown launch, or of a driver's call, that another thread has freed while the lock was given up; its
/// object may be another array's.
static bool is_no_array(const Memory& m) noexcept { return !m.live || m.on_host() || m.snapshot(); }

/// Makes all operands resident and fresh, saves what the writable ones hold last and tells the directory of the writes,
/// one after the other: of two operands that hold the same wanted value, the second is its last holder (I4). A write that is
/// told of early, or of a launch that fails, only gives unchanged content a new number.
Obstacle Engine::prepare(const Operand* operands, std::size_t count, const ByteRange* overwritten) {
  const auto array_at = [&](std::size_t i) { return is_no_array(*operands[i].memory) ? nullptr : operands[i].memory; };
  if (const Obstacle o = make_resident(count, array_at)) return o;
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (is_no_array(m) || ready(operands[i])) continue;
    // An earlier attempt has made it ready, only the flags do not say so yet.
    if (directory_.fresh(m.slot, m.all()) && (!operands[i].writable || directory_.exclusive(m.slot, m.all()))) continue;
    const ByteRange unread = overwritten ? overwritten[i] : ByteRange{};
    if (const Obstacle o = make_fresh(m, {0, unread.begin})) return o;
    if (const Obstacle o = make_fresh(m, {unread.end, m.bytes})) return o;
    if (!operands[i].writable) continue;
    if (const Obstacle o = save_all(m, m.all(), Loss::write)) return o;
    // What is overwritten unread may be anything now: finding the same afterwards says nothing.
    if (options_.check_writes && unread.empty() && !m.write_check && m.bytes > 0 && directory_.defined(m.datum, m.all()) &&
        !directory_.exclusive(m.slot, m.all())) {
      if (const Obstacle o = quiesce(m)) return o;  // a native kernel may still write it
      const std::uint64_t digest = digest_of(m);
      m.write_check =
          std::make_unique<Memory::WriteCheck>(directory_, digest, directory_.wanted_extents(m.datum, m.all()));
    }
    note_written(m, m.all());  // I2
  }
  return {};
}

/// Launches on one of several program queues go on looking closer while the others are not ordered behind a transfer of
/// the operand, although their own is: then the driver is asked whether it is done.
void Engine::ask_for_transfers(DeviceState& d, QueueIndex queue, const Memory& m) {
  for (QueueIndex q = 1; q < d.queues->own_end(); ++q) {
    const std::uint64_t at = m.on(q).use.load();
    if (at != 0 && !d.queues->done(q, at) && d.queues->ordered(queue, q, at)) (void)d.queues->reached(q, at);
  }
}

bool Engine::ready(const Operand& operand) noexcept {
  const std::uint32_t need = Memory::resident | Memory::is_fresh | Memory::idle |
                             (operand.writable ? Memory::is_exclusive | Memory::unread : 0u);
  return (operand.memory->flags.load() & need) == need;
}

void Engine::begin_launch(QueueIndex queue, const Operand* operands, std::size_t count, const ByteRange* overwritten) {
  bool all_ready = queue != unknown_queue && !options_.check;
  for (std::size_t i = 0; i < count; ++i) {
    operands[i].memory->pins.fetch_add(1);
    all_ready = all_ready && ready(operands[i]);
  }
  if (all_ready) return;
  unpin(operands, count);

  const platform::RuntimeScope scope;
  Transaction t(*this);
  t.launch_follows();
  const device::Visit visit(*home().device);
  surroundings_.look_around();
  give_way(t, operands, count);
  t.run([&] { return prepare(operands, count, overwritten); });
  for (std::size_t i = 0; i < count; ++i) {
    const Memory& m = *operands[i].memory;
    // Words that look like addresses may lead to what was freed and is kept as a saved copy: that is nobody's.
    SEMCACHE_EXPECTS(m.live && !m.on_host(), std::string("'") + recorder_.name(m.label) + "' was freed by another thread while a "
                                                 "launch that uses it began. Free an array after its last use");
  }
  pin(t, queue, operands, count);
}

/// Who waits for an operand's pins comes first: else launches behind each other keep a fault waiting for ever. Not while this
/// thread has pins of its own, which may be the ones; and not without end, because a kernel may wait for this launch.
void Engine::give_way(Transaction& t, const Operand* operands, std::size_t count) {
  if (surroundings_.in_launch()) return;
  const auto awaited = [](const Operand& o) { return o.memory->awaited != 0; };
  base::Patience patience(options_.patience);
  while (std::any_of(operands, operands + count, awaited) && !patience.over()) t.wait(Obstacle::moment());
}

/// Orders a launch behind the transfers of what it uses, or waits for these where its queue is unknown, and keeps the operands
/// where they are from now on. @pre `prepare`, and no wait since
void Engine::pin(Transaction& t, QueueIndex queue, const Operand* operands, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    if (is_no_array(m)) continue;
    if (!ready(operands[i])) open_guarded(m);
    // Who submits a transfer has revoked the flags of all that it uses, also where preparing another operand did.
    if (queue == unknown_queue || ready(operands[i])) continue;
    DeviceState& d = device_of(m);
    if (d.queues->program_queues() > 1) ask_for_transfers(d, queue, m);
    order_queue(d, queue, m, mode_of(operands[i].writable), Behind::transfers);
    project_later(m);  // launches may be ordered after the transfers now
  }
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    m.pins.fetch_add(1);
    m.recently.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  }
  try {
    for (std::size_t i = 0; queue == unknown_queue && i < count; ++i) {
      const Memory& m = *operands[i].memory;
      if (!is_no_array(m)) t.run([&] { return transfers_of(m); });
    }
  } catch (...) {
    unpin(t, operands, count);  // I9
    throw;
  }
  if (options_.check && ++running_launches_ == 1) set_all_reachable(true);
}

void Engine::unpin(const Operand* operands, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) operands[i].memory->pins.fetch_sub(1);
  // No memory is looked at any more without the lock: once unpinned, it may be freed and reused.
  if (put_off_count_.load() != 0) free_put_off();
}

void Engine::cancel_launch(const Operand* operands, std::size_t count) noexcept {
  unpin(operands, count);
  const Transaction t(*this);
  if (options_.check && --running_launches_ == 0) set_all_reachable(false);
}

bool Engine::is_recording(QueueIndex queue) {
  const Look look(*this);
  return queue != unknown_queue && home().device->is_recording(home().queues->id(queue));
}

void Engine::list_everything(Arrays which, std::vector<Operand>& operands) {
  operands.clear();
  const auto add = [&](Memory& m) {
    if (m.live && !m.on_host() && !m.snapshot() && !m.freeing) operands.push_back({&m, true});
  };
  if (which == Arrays::all) {
    for (Memory& m : pool_) add(m);
    return;
  }
  const auto is_ready = [](Memory* m) {
    const bool gone = is_no_array(*m) || ready({m, true});
    m->perhaps_unready = !gone;
    return gone;
  };
  unready_.erase(std::remove_if(unready_.begin(), unready_.end(), is_ready), unready_.end());
  for (Memory* m : unready_) add(*m);
  for (const auto& d : devices_) operands.push_back({&d->everything, true});
}

void Engine::begin_unknown_launch(QueueIndex queue, std::vector<Operand>& operands) {
  Transaction t(*this);
  t.launch_follows();
  // On a queue that nobody knows, launches wait for transfers of arrays that are ready, too.
  Arrays which = queue == unknown_queue ? Arrays::all : Arrays::unready;
  list_everything(which, operands);
  give_way(t, operands.data(), operands.size());
  t.run([&]() -> Obstacle {
    for (;; which = Arrays::all) {  // they come and go while the lock is given up
      list_everything(which, operands);
      const std::size_t unready = unready_.size();
      if (const Obstacle o = prepare(operands.data(), operands.size(), nullptr)) return o;
      // Making some ready may have taken from those that were: evicted them, say.
      if (which == Arrays::all || unready_.size() == unready) return {};
    }
  });
  pin(t, queue, operands.data(), operands.size());
  for (const auto& d : devices_) {
    if (which == Arrays::unready) d->everything.since = clock_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::uint64_t Engine::end_launch(QueueIndex queue, const Operand* operands, std::size_t count) noexcept {
  bool record = false;
  const std::uint64_t now = clock_.fetch_add(1, std::memory_order_relaxed);
  DeviceState* counted = nullptr;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Memory& m = *operands[i].memory;
    DeviceState& d = device_of(m);
    if (counted != &d) {
      at = d.queues->begin_position(queue);
      counted = &d;
    }
    note_use(queue, m, mode_of(operands[i].writable), at, now);
    record = record || d.queues->needs_events(queue);
    // A result that the host asked for last time: an event right behind its producer lets the transfer overlap later
    // kernels. One per fetch: the hint is set again when the host comes back.
    if (operands[i].writable) {
      m.writing_launches.store(m.writing_launches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if ((m.flags.load(std::memory_order_relaxed) & Memory::read_on_host) != 0) {
        m.flags.fetch_and(~Memory::read_on_host);
        record = true;
      }
    }
  }
  unpin(operands, count);
  record = record && !counted->device->kernels_run_in_caller();
  if (record || options_.check || options_.protocol == Protocol::write_through || projection_waits_.load()) {
    follow_launch(queue, operands, count, record ? counted : nullptr);
  }
  return at;
}

Clock Engine::submitted_before(QueueIndex queue) const noexcept {
  const Queues& queues = *home().queues;
  return queues.happened_with(queue, queues.position(queue));
}

void Engine::launch_awaited(QueueIndex queue, Clock before, std::uint64_t number) noexcept {
  if (queue == unknown_queue) return;  // of streams that nobody follows, which know nothing of each other
  // Another thread's kernels may have the numbers between: they were perhaps submitted after the wait.
  if (number == before[queue] + 1) before[queue] = number;
  home().queues->note_done(before);
}

void Engine::follow_launch(QueueIndex queue, const Operand* operands, std::size_t count, DeviceState* recorded) noexcept {
  const platform::RuntimeScope scope;
  try {
    if (options_.check) {
      const Transaction t(*this);
      if (--running_launches_ == 0) set_all_reachable(false);
    }
    if (projection_waits_.load(std::memory_order_relaxed)) {
      const Transaction projects(*this);
    }
    if (recorded != nullptr && queue != unknown_queue) {
      Transaction t(*this);
      t.launch_follows();
      const device::Visit visit(*recorded->device);
      recorded->queues->record(queue);
      for (std::size_t i = 0; i < count && options_.protocol == Protocol::write_back; ++i) {
        if (!operands[i].writable) continue;
        fetch_ahead(*operands[i].memory);
        bring_expected(*operands[i].memory);
      }
    }
    // Where the queue is unknown the kernel may not even be submitted yet: its result is fetched when it is wanted.
    if (options_.protocol == Protocol::write_through && queue != unknown_queue) {
      Transaction t(*this);
      for (std::size_t i = 0; i < count; ++i) {
        Memory& m = *operands[i].memory;
        if (!operands[i].writable || is_no_array(m)) continue;  // once unpinned it may be freed
        const SlotId host = directory_.slot_in(m.datum, host_space);
        if (!host.valid()) continue;
        std::vector<ByteRange> stale;
        directory_.stale(host, m.all(), stale);
        for (const ByteRange r : stale) recorder_.moved(trace::Kind::write_through, m.label, r.size());
        Memory& side = memory_of(host);
        const Kept kept(side);
        t.run([&] { return kept.freed() ? Obstacle() : make_fresh(side, side.all()); });
      }
    }
  } catch (const std::exception& e) {
    base::raw_log("after a launch: %s", e.what());
  }
}

/// Starts the transfer that the host is about to ask for, if it always did so far.
void Engine::fetch_ahead(Memory& m) {
  if (!m.live || m.on_host() || m.snapshot() || m.bytes > policy::FetchForecast::largest_bytes) return;
  if (m.writing_launches.load() - m.writing_launches_at_fetch != 1) return;
  const SlotId slot = directory_.slot_in(m.datum, host_space);
  if (!slot.valid()) return;
  Memory& host = memory_of(slot);
  if (!host.announced || !host.forecast.fetch_follows() || !pages_->locked(host, host.all()) || m.write_check) return;
  // Flags go first: from then on launches that pin come through the lock.
  if (unknown_use_pending(m, Mode::writes)) return;
  for (const Flight& f : flights_) {
    if (f.host == &host) return;
  }
  revoke(m);
  if (pinned(m)) return;
  if (make_fresh(host, host.all())) return;  // a forecast waits for nobody
  recorder_.moved(trace::Kind::read_ahead, host.label, host.bytes);
  host.sent_ahead = true;
}

}  // namespace semcache::engine
