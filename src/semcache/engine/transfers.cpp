// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <cstring>

namespace semcache::engine {

using directory::Fill;
using directory::Step;
using trace::Kind;

// --- order on queues ------------------------------------------------------------------------------------------

void Engine::order_queue(DeviceState& d, QueueIndex queue, Memory& m, bool writing, bool transfers_only) {
  const QueueIndex end = transfers_only ? d.queues->own_end() : d.queues->count();
  for (QueueIndex q = 1; q < end; ++q) {
    if (q == queue) continue;
    const timeline::Use& uses = m.on(q);
    if (const std::uint64_t at = (writing ? uses.use : uses.write).load(); at != 0) d.queues->order(queue, q, at);
  }
}

std::uint64_t Engine::note_use(DeviceState& d, QueueIndex queue, Memory& m, bool writing) noexcept {
  d.queues->note_submitter(queue);
  const std::uint64_t at = d.queues->begin_position(queue);
  note_use(queue, m, writing, at, clock_.fetch_add(1, std::memory_order_relaxed));
  return at;
}

void Engine::note_use(QueueIndex queue, Memory& m, bool writing, std::uint64_t at, std::uint64_t now) noexcept {
  m.uses.note(queue, at, writing);
  m.recently.store(now, std::memory_order_relaxed);
}

void Engine::mark_used(Memory& m, ByteRange range) noexcept {
  for (std::uint64_t u = range.begin / LookupTable::granule_bytes;
       u < m.used.size() && u * LookupTable::granule_bytes < range.end; ++u) {
    m.used[u] = true;
  }
}

void Engine::write_arrival(Memory& m, ByteRange range, const std::byte* bytes) {
  // Whole huge pages that nobody has used are written as such; what lies between them, in place.
  constexpr std::uint64_t unit = LookupTable::granule_bytes;
  const auto write = [&](ByteRange part, bool unused) {
    if (part.empty()) return;
    const std::byte* from = bytes + (part.begin - range.begin);
    if (unused) {
      platform_->write_unused(m.address + part.begin, from, part.size(),
                              watched(m) ? m.pages.at(part.begin).protection : platform::Protection::read_write);
      mapping_estimate_ += 2;
    } else {
      platform_->write_behind(m.address + part.begin, from, part.size());
    }
  };
  const bool page_locked = direct(m, range);
  ByteRange run{range.begin, range.begin};
  bool run_unused = false;
  for (std::uint64_t at = range.begin; at < range.end;) {
    const std::uint64_t stop = std::min(range.end, round_down(at, unit) + unit);
    bool unused = !page_locked && stop - at == unit && at / unit < m.used.size() && !m.used[at / unit];
    if (unused) {
      const PageState first = m.pages.at(at);
      const PageState before = m.pages.at(run.begin);
      m.pages.for_each({at, stop}, [&](ByteRange, PageState s) { unused = unused && s == first; });
      if (unused && run_unused && before != first) {
        write(run, true);
        run = {at, at};
      }
    }
    if (unused != run_unused) {
      write(run, run_unused);
      run = {at, at};
      run_unused = unused;
    }
    run.end = stop;
    at = stop;
  }
  write(run, run_unused);
  mark_used(m, range);
}

void Engine::poll_flights() noexcept {
  try {
    forget_finished_flights();
  } catch (const std::exception&) {  // whoever needs one waits for it, and is told
  }
}

void Engine::forget_finished_flights() {
  for (auto next = flights_.begin(); next != flights_.end();) {
    const auto flight = next++;
    // Staged arrivals need the processor: whoever waits for them does that.
    if (flight->to_host && flight->staging != nullptr) continue;
    // Most go in order: the younger ones are not asked.
    if (!devices_[flight->device]->queues->reached(flight->queue, flight->position)) return;
    if (flight->staging != nullptr) give_staging(*devices_[flight->device], flight->staging, flight->staged_bytes);
    flights_.erase(flight);
  }
}

std::byte* Engine::take_staging(DeviceState& d, std::uint64_t bytes) {
  const auto it = d.staging.lower_bound(bytes);
  if (it != d.staging.end() && it->first <= 4 * round_up(bytes, page_bytes_)) {
    std::byte* buffer = it->second;
    d.staging.erase(it);
    return buffer;
  }
  return d.device->allocate_staging(bytes);
}

void Engine::give_staging(DeviceState& d, std::byte* buffer, std::uint64_t bytes) noexcept {
  d.staging_bytes -= bytes;
  try {
    d.staging.emplace(bytes, buffer);
  } catch (const std::bad_alloc&) {
    d.device->deallocate_staging(buffer);
  }
  while (d.staging.size() > 32) {
    const auto largest = std::prev(d.staging.end());
    d.device->deallocate_staging(largest->second);
    d.staging.erase(largest);
  }
}

// --- host pages that transfers reach directly --------------------------------------------------------------------------

bool Engine::direct(const Memory& host, ByteRange range) const noexcept {
  if (host.locked.empty() || range.empty()) return false;
  for (std::uint64_t c = range.begin / options_.registration_bytes; c <= (range.end - 1) / options_.registration_bytes; ++c) {
    if (host.locked[c] == nullptr) return false;
  }
  return true;
}

std::byte* Engine::device_name_of(const Memory& host, std::uint64_t position) const noexcept {
  const std::uint64_t c = position / options_.registration_bytes;
  if (c >= host.locked.size() || host.locked[c] == nullptr) return host.address + position;
  return host.locked[c] + position % options_.registration_bytes;
}

/// Called when watched pages are about to become stricter: nobody can write them unnoticed from then on. Afterwards chunks
/// that it considered are inaccessible. Only pages with content are worth page-locking (a side is allocated only when it
/// is used). The device gets to know watched pages under another name than the program: what the program itself asks the
/// driver to copy meets their protection (I8).
void Engine::register_for_transfers(Memory& m, ByteRange range) {
  if (m.snapshot() || devices_.empty() || devices_[0]->device->kind() == device::DeviceKind::emulated) return;
  const bool noticed = watched(m);
  if (range.empty() || (noticed && (m.bytes < page_bytes_ || !platform_->locks_pages()))) return;
  const std::uint64_t span = page_span(m).end;
  const std::uint64_t chunks = (span + options_.registration_bytes - 1) / options_.registration_bytes;
  if (m.locked.size() != chunks) m.locked.assign(chunks, nullptr);
  for (std::uint64_t c = range.begin / options_.registration_bytes; c <= (range.end - 1) / options_.registration_bytes; ++c) {
    if (m.locked[c] != nullptr) continue;
    const ByteRange chunk{c * options_.registration_bytes, std::min((c + 1) * options_.registration_bytes, span)};
    // The whole chunk must hold what the host has used, and nothing may write it while it is open for a moment.
    bool used = true;
    directory_.for_each_held(m.slot, intersect(chunk, m.all()), [&](ByteRange, directory::ValueRef ref) {
      used = used && (ref.is_number() ? !directory_.fill_of(ref.id).is_zero() : ref.id == directory::former_value);
    });
    if (!noticed) {
      if (used || range.contains(intersect(chunk, m.all()))) {
        std::byte* const at = m.address + chunk.begin;
        if (devices_[0]->device->register_host(at, chunk.size())) m.locked[c] = at;
      }
      continue;
    }
    if (!used || !range.contains(chunk) || mappings_scarce()) continue;
    set_protection(m, chunk, platform::Protection::none);
    m.locked[c] = platform_->lock_pages(m.address + chunk.begin, chunk.size(), [&](std::byte* name) {
      return devices_[0]->device->register_host(name, chunk.size());
    });
    mapping_estimate_ += 4;
  }
}

void Engine::freeze(Memory& m, ByteRange range) {
  if (m.access == platform::Protection::read_write) protect_guarded(m, platform::Protection::read);  // quiesced: no flags, no pins
  if (!m.on_host() || m.snapshot() || !watched(m)) return;
  const ByteRange pages = to_pages(m, range);
  std::vector<ByteRange> writable;
  m.pages.for_each(pages, [&](ByteRange piece, PageState s) {
    if (s.protection == platform::Protection::read_write) writable.push_back(piece);
  });
  for (const ByteRange piece : writable) {
    register_for_transfers(m, piece);
    set_protection(m, piece, platform::Protection::read);
  }
}

void Engine::set_reachable(Memory& m, bool reachable) noexcept {
  if (!options_.check || running_launches_ > 0 || m.on_host() || m.bytes == 0 || (!reachable && m.used_unseen)) return;
  const ByteRange range = granules(device_of(m), m);
  device_of(m).device->set_accessible(device_of(m).base + range.begin, range.size(), reachable);
}

void Engine::set_all_reachable(bool reachable) noexcept {
  for (auto& d : devices_) {
    for (const auto& [begin, segment] : d->segments) {
      d->device->set_accessible(d->base + begin, segment.end - begin, reachable);
    }
  }
  if (reachable) return;
  for (Memory& m : pool_) {
    if (m.live && m.used_unseen && (m.flags.load() & Memory::resident) != 0) set_reachable(m, true);
  }
}

void Engine::keep_reachable(Memory& m) noexcept {
  if (!options_.check) return;
  m.used_unseen = true;
  set_reachable(m, true);
}

// --- steps -------------------------------------------------------------------------------------------------------------

Obstacle Engine::make_fresh(Memory& m, ByteRange range) {
  for (;;) {
    Step step = directory_.next_fetch(m.slot, range, &policy::copy_cost);
    if (step.bytes == 0) return {};
    if (!step.from.valid() && step.fill.pattern_bytes == 0) {
      base::fatal("I4: nobody holds %llu bytes of '%s' at offset %llu any more",
                  static_cast<unsigned long long>(step.bytes), recorder_.name(m.label),
                  static_cast<unsigned long long>(step.to_position));
    }
    Memory* from = step.from.valid() ? &memory_of(step.from) : nullptr;
    Memory& crossing = from != nullptr && from->on_host() && !m.on_host() ? *from : m;
    const std::uint64_t crossing_position = &crossing == &m ? step.to_position : step.from_position;
    if (from != nullptr && from->on_host() != m.on_host() && devices_[0]->device->kind() != device::DeviceKind::emulated) {
      // One registration chunk at a time; what must be staged goes in pieces.
      step.bytes = std::min(step.bytes, options_.registration_bytes - crossing_position % options_.registration_bytes);
      if (!watched(crossing)) register_for_transfers(crossing, {crossing_position, crossing_position + step.bytes});
      if (!direct(crossing, {crossing_position, crossing_position + step.bytes})) {
        step.bytes = std::min(step.bytes, staging_piece_bytes);
        DeviceState& d = m.on_host() ? device_of(*from) : device_of(m);
        if (d.staging_bytes + step.bytes > staging_limit_bytes && d.staging_bytes > 0) {
          const auto staged =
              std::find_if(flights_.begin(), flights_.end(), [](const Flight& f) { return f.staging != nullptr; });
          if (staged != flights_.end()) {
            if (const Obstacle o = land(staged)) return o;
            continue;
          }
        }
      }
    }
    const ByteRange to_range{step.to_position, step.to_position + step.bytes};
    const ByteRange from_range{step.from_position, step.from_position + step.bytes};
    if (const Obstacle o = busy(m, to_range, true)) return o;
    if (from == &m && m.on_host()) {
      if (const Obstacle o = flights_of(m, from_range, false)) return o;
    } else if (from != nullptr && from != &m) {
      if (const Obstacle o = busy(*from, from_range, false)) return o;
      if (m.on_host() && from->write_check) {
        if (const Obstacle o = check_writes(*from)) return o;
        continue;
      }
    }
    bool saved = false;
    if (const Obstacle o = save_all(m, to_range, false, &saved)) return o;
    if (!saved) submit_and_commit(step, false);
  }
}

Obstacle Engine::save_all(Memory& m, ByteRange range, bool overwritten, bool* any) {
  std::vector<directory::LastHeld> last;
  for (;;) {
    last.clear();
    directory_.last_held(m.slot, range, overwritten, last);
    if (last.empty()) return {};
    if (any != nullptr) *any = true;
    if (const Obstacle o = save(m, last.front())) return o;
  }
}

Obstacle Engine::save(Memory& m, const directory::LastHeld& piece) {
  const ByteRange range{piece.position, piece.position + piece.bytes};
  if (const Obstacle o = busy(m, range, false)) return o;
  Step step;
  step.from = m.slot;
  step.from_position = piece.position;
  step.value = piece.value;

  // The wanter's own memory, where it is in the same space and holds nothing that somebody needs: what an eager copy
  // would have done, at no further memory.
  const auto clean = [&](SlotId slot) {
    if (!slot.valid() || slot == m.slot) return false;
    Memory& w = memory_of(slot);
    if (w.announced) return false;  // the program may be writing it
    const ByteRange at{piece.wanter_position, piece.wanter_position + piece.bytes};
    if (w.on_host()) {
      for (const Flight& f : flights_) {
        if (f.host == &w && f.range.overlaps(at)) return false;
      }
    } else if ((w.flags.load() & Memory::resident) == 0 || w.pins.load() != 0 ||
               unknown_use_pending(w, true)) {
      return false;
    }
    std::vector<directory::LastHeld> needed;
    directory_.last_held(slot, at, false, needed);
    return needed.empty();
  };
  const SlotId same_space = directory_.slot_in(piece.wanter, m.space);
  const SlotId host_side = directory_.slot_in(piece.wanter, host_space);
  if (clean(same_space)) {
    step.to = same_space;
    step.to_position = piece.wanter_position;
  } else {
    Memory* snapshot = nullptr;
    if (m.on_host() || room_for_snapshot(device_of(m), piece.bytes)) {
      try {
        snapshot = new_snapshot(m.space, piece.bytes, m.label);
      } catch (const OutOfMemory&) {
        if (m.on_host()) throw;
      }
    }
    if (snapshot != nullptr) {
      step.to = snapshot->slot;
    } else if (clean(host_side)) {
      step.to = host_side;
      step.to_position = piece.wanter_position;
    } else {
      step.to = new_snapshot(host_space, piece.bytes, m.label)->slot;
    }
  }
  step.bytes = piece.bytes;
  Memory& to = memory_of(step.to);
  if (to.on_host() != m.on_host() && !to.owns_allocation) {
    step.bytes = std::min(step.bytes, options_.registration_bytes - step.to_position % options_.registration_bytes);
    const ByteRange to_range{step.to_position, step.to_position + step.bytes};
    if (!direct(to, to_range)) step.bytes = std::min(step.bytes, staging_piece_bytes);
  }
  submit_and_commit(step, true);
  // The array's own content, or what has to give way: no copy is to blame.
  if (to.on_host() != m.on_host() && (evicting_ || piece.wanter == m.datum)) {
    recorder_.moved(Kind::written_back, m.label, step.bytes);
  }
  return {};
}

/// A step that fails may have changed part of its destination already, which nobody needs: it holds nothing then (I9).
void Engine::submit_and_commit(const Step& step, bool saving) {
  directory_.prepare_commit(step);  // nobody forgets what has moved
  try {
    submit(step, saving);
  } catch (...) {
    directory_.drop(step.to, {step.to_position, step.to_position + step.bytes});
    throw;
  }
  directory_.commit(step);
}

void Engine::submit(const Step& step, bool saving) {
  Memory& to = memory_of(step.to);
  to.write_check.reset();
  carry_out(step, saving);
  (void)owed_.take(to.datum, {step.to_position, step.to_position + step.bytes});
}

void Engine::carry_out(const Step& step, bool saving) {
  Memory& to = memory_of(step.to);
  if (!step.from.valid()) {
    fill_in_place(to, step.to_position, step.bytes, step.fill, step.value.offset);
    recorder_.moved(Kind::filled, to.label, step.bytes, 1, {}, to.space);
    return;
  }
  Memory& from = memory_of(step.from);
  freeze(from, {step.from_position, step.from_position + step.bytes});
  Kind kind = Kind::h2h;
  Kind saved = Kind::saved_host;
  if (to.on_host() && from.on_host()) {
    copy_on_host(to, step.to_position, from, step.from_position, step.bytes);
  } else if (to.on_host()) {
    kind = Kind::d2h;
    saved = Kind::saved_link;
    copy_to_host(to, step.to_position, from, step.from_position, step.bytes);
    if (!to.snapshot()) from.flags.fetch_or(Memory::read_on_host);
  } else if (from.on_host()) {
    kind = Kind::h2d;
    saved = Kind::saved_link;
    copy_to_device(to, step.to_position, from, step.from_position, step.bytes);
  } else {
    kind = Kind::d2d;
    saved = Kind::saved_device;
    DeviceState& d = device_of(to);
    order_queue(d, d.within_queue, from, false, false);
    order_queue(d, d.within_queue, to, true, false);
    copy_by_device(d, d.within_queue, &device::Device::copy_within_device, to.address + step.to_position,
                   from.address + step.from_position, step.bytes);
    note_use(d, d.within_queue, from, false);
    note_use(d, d.within_queue, to, true);
  }
  // A save is named after the array whose content it is.
  const trace::LabelId label = saving ? from.label : to.label;
  if (!saving || saved == Kind::saved_link) recorder_.moved(kind, label, step.bytes, 1, from.space, to.space);
  if (saving) recorder_.moved(saved, label, step.bytes, 1, from.space, to.space);
}

void Engine::copy_to_device(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                            std::uint64_t n) {
  DeviceState& d = device_of(to);
  const ByteRange range{from_position, from_position + n};
  order_queue(d, d.to_device_queue, to, true, false);
  const QueueId queue = d.queues->id(d.to_device_queue);
  if (d.device->kind() == device::DeviceKind::emulated) {
    set_reachable(to, true);
    copy_behind(to.address + to_position, from.address + from_position, n);
    set_reachable(to, false);
  } else {
    // Drivers read small sources with the processor (up to 24 KiB were seen): only accessible ones serve them directly.
    constexpr std::uint64_t surely_by_the_copy_engine = 64 * 1024;
    std::byte* const source = device_name_of(from, from_position);
    bool page_locked = direct(from, range);
    if (source != from.address + from_position) {
      page_locked = page_locked && n >= surely_by_the_copy_engine;
    } else {
      from.pages.for_each(to_pages(from, range), [&](ByteRange, PageState s) {
        page_locked = page_locked && s.protection != platform::Protection::none;
      });
    }
    Flights flights(1);  // what is under way is always listed
    Flight* const flight = &flights.front();
    flight->range = range;
    flight->device = device_index(to);
    flight->queue = d.to_device_queue;
    d.queues->separate(d.to_device_queue);
    if (page_locked) {
      d.device->copy_to_device(queue, to.address + to_position, source, n);
      flight->host = &from;  // pinned: whoever would write these pages waits
    } else {
      flight->staging = take_staging(d, n);
      flight->staged_bytes = n;
      d.staging_bytes += n;
      try {
        platform_->read_behind(flight->staging, from.address + from_position, n);
        d.device->copy_to_device(queue, to.address + to_position, flight->staging, n);
      } catch (...) {
        give_staging(d, flight->staging, n);
        throw;
      }
    }
    flight->position = note_use(d, d.to_device_queue, to, true);
    flights_.splice(flights_.end(), flights);
    if (flights_.size() > 64) poll_flights();
    return;
  }
  note_use(d, d.to_device_queue, to, true);
}

void Engine::copy_to_host(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                          std::uint64_t n) {
  DeviceState& d = device_of(from);
  order_queue(d, d.to_host_queue, from, false, false);
  if (d.device->kind() == device::DeviceKind::emulated) {
    set_reachable(from, true);
    copy_behind(to.address + to_position, from.address + from_position, n);
    set_reachable(from, false);
    note_use(d, d.to_host_queue, from, false);
    return;
  }
  Flights flights(1);  // what is under way is always listed
  Flight* const flight = &flights.front();
  flight->host = &to;
  flight->range = {to_position, to_position + n};
  flight->to_host = true;
  flight->device = device_index(from);
  flight->queue = d.to_host_queue;
  d.queues->separate(d.to_host_queue);
  std::byte* target = device_name_of(to, to_position);
  if (!direct(to, flight->range) && !to.owns_allocation) {
    flight->staging = take_staging(d, n);
    flight->staged_bytes = n;
    d.staging_bytes += n;
    target = flight->staging;
  }
  try {
    d.device->copy_from_device(d.queues->id(d.to_host_queue), target, from.address + from_position, n);
  } catch (...) {
    if (flight->staging != nullptr) give_staging(d, flight->staging, n);
    throw;
  }
  flight->position = note_use(d, d.to_host_queue, from, false);
  flights_.splice(flights_.end(), flights);
}

void Engine::copy_on_host(Memory& to, std::uint64_t to_position, Memory& from, std::uint64_t from_position,
                          std::uint64_t n) {
  copy_behind(to.address + to_position, from.address + from_position, n);
}

bool Engine::permits(const std::byte* address, std::uint64_t n, platform::Protection needed) const {
  const Memory* m = find(address);
  if (m == nullptr) return true;  // not ours, or a saved copy in ordinary memory
  if (!m->on_host()) return !guarded(*m) || m->access >= needed;
  const auto position = static_cast<std::uint64_t>(address - m->address);
  bool all = true;
  m->pages.for_each(to_pages(*m, {position, position + n}), [&](ByteRange, PageState s) { all = all && s.protection >= needed; });
  return all;
}

void Engine::copy_behind(std::byte* to, const std::byte* from, std::uint64_t n) {
  if (to + n <= from || from + n <= to) {
    if (permits(to, n, platform::Protection::read_write)) return platform_->read_behind(to, from, n);
    if (permits(from, n, platform::Protection::read)) return platform_->write_behind(to, from, n);
  }
  const std::uint64_t most = std::min<std::uint64_t>(n, 1024 * 1024);
  if (detour_.size() < most) detour_.resize(most);
  for (std::uint64_t done = 0; done < n; done += most) {
    const std::uint64_t part = std::min<std::uint64_t>(most, n - done);
    const std::uint64_t at = from < to ? n - done - part : done;  // they may overlap
    platform_->read_behind(detour_.data(), from + at, part);
    platform_->write_behind(to + at, detour_.data(), part);
  }
}

void Engine::copy_by_device(DeviceState& d, QueueIndex queue, CopyOfDevice copy, std::byte* to, const std::byte* from,
                            std::uint64_t n) {
  if (!options_.device_faults) return (*d.device.*copy)(d.queues->id(queue), to, from, n);
  if (permits(to, n, platform::Protection::read_write) && permits(from, n, platform::Protection::read)) {
    std::memmove(to, from, n);
  } else {
    copy_behind(to, from, n);
  }
}

std::uint64_t Engine::digest_of(Memory& m) {
  DeviceState& d = device_of(m);
  order_queue(d, d.within_queue, m, false, false);
  std::vector<std::byte> copy;
  if (!permits(m.address, m.bytes, platform::Protection::read)) {
    copy.resize(m.bytes);
    platform_->read_behind(copy.data(), m.address, m.bytes);
  }
  return d.device->digest(d.queues->id(d.within_queue), copy.empty() ? m.address : copy.data(), m.bytes);
}

void Engine::fill_in_place(Memory& to, std::uint64_t position, std::uint64_t n, const Fill& fill, std::uint64_t phase) {
  Fill turned = fill;
  for (std::uint32_t i = 0; i < fill.pattern_bytes; ++i) {
    turned.pattern[i] = fill.pattern[(i + phase) % fill.pattern_bytes];
  }
  const auto* pattern = reinterpret_cast<const std::byte*>(turned.pattern.data());
  std::vector<std::byte> buffer;
  const auto prepare_buffer = [&] {  // before anything is overwritten
    buffer.resize(std::min<std::uint64_t>(round_up(n, 16), 64 * 1024));
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = pattern[i % fill.pattern_bytes];
  };
  const auto write = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end;) {
      const std::uint64_t skip = (at - position) % fill.pattern_bytes;
      const std::uint64_t part = std::min<std::uint64_t>(buffer.size() - skip, end - at);
      platform_->write_behind(to.address + at, buffer.data() + skip, part);
      at += part;
    }
  };
  if (!to.on_host()) {
    DeviceState& d = device_of(to);
    order_queue(d, d.within_queue, to, true, false);
    const QueueId queue = d.queues->id(d.within_queue);
    const std::uint64_t whole = round_down(n, fill.pattern_bytes);
    struct Note {  // also when a later fill is refused: the earlier ones are under way (I6)
      Engine& engine;
      DeviceState& d;
      Memory& to;
      ~Note() { engine.note_use(d, d.within_queue, to, true); }
    } const note{*this, d, to};
    if (!permits(to.address, n, platform::Protection::read_write)) {
      prepare_buffer();
      return write(position, position + n);
    }
    if (whole > 0) d.device->fill(queue, to.address + position, whole, pattern, fill.pattern_bytes);
    for (std::uint64_t i = whole; i < n; ++i) d.device->fill(queue, to.address + position + i, 1, pattern + (i - whole), 1);
    return;
  }
  prepare_buffer();
  bool zero = true;
  for (std::uint32_t i = 0; i < fill.pattern_bytes; ++i) zero = zero && turned.pattern[i] == 0;
  ByteRange untouched;  // pages that become zero by forgetting them: no memory is allocated
  if (zero && !to.owns_allocation) {
    untouched = {round_up(position, page_bytes_), round_down(position + n, page_bytes_)};
    if (position + n == to.bytes) untouched.end = page_span(to).end;
    if (untouched.empty() || (!to.locked.empty() && [&] {
          for (std::uint64_t c = untouched.begin / options_.registration_bytes; c <= (untouched.end - 1) / options_.registration_bytes; ++c) {
            if (to.locked[c] != nullptr) return true;
          }
          return false;
        }())) {
      untouched = {};
    } else {
      platform_->discard(to.address + untouched.begin, untouched.size());
    }
  }
  if (untouched.empty()) {
    write(position, position + n);
  } else {
    write(position, untouched.begin);
    if (untouched.end < position + n) write(untouched.end, position + n);
  }
}

/// SEMCACHE_CHECK_WRITES: a view captured as writable whose content did not change keeps its number.
Obstacle Engine::check_writes(Memory& m) {
  if (!m.write_check) return {};
  if (const Obstacle o = quiesce(m)) return o;
  freeze(m, m.all());
  const std::unique_ptr<Memory::WriteCheck> check = std::move(m.write_check);
  if (digest_of(m) != check->digest) {
    recorder_.changed(m.label);
    return {};
  }
  directory_.restore(m.slot, m.all(), check->wanted);
  recorder_.moved(Kind::unchanged, m.label, m.bytes);
  return {};
}

}  // namespace semcache::engine
