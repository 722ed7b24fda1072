// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/arrays.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace semcache::engine {

Arrays::NewMemory Arrays::new_memory(SpaceId space, const char* label, std::uint64_t bytes) {
  // Everything that can fail comes first.
  const trace::LabelId name = s_.recorder.intern(label == nullptr ? "" : label);
  const std::uint64_t page_span = space == host_space && bytes > 0 ? round_up(bytes + memory::header_gap_bytes, s_.page_bytes) : 0;
  directory::BasicExtentMap<PageState> pages(page_span, {});
  base::Vector<std::uint8_t> used(space == host_space ? bytes / LookupTable::granule_bytes : 0, 0);
  if (free_.empty()) {
    const std::size_t all = s_.pool.size() + 1;
    base::make_room_for(free_, all);
    base::make_room_for(s_.put_off, all);
    projection_.make_room_for(all);
    free_.push_back(&s_.pool.emplace_back());
  }
  free_.back()->uses.extend(s_.queues->count());
  Memory* const m = free_.back();
  free_.pop_back();
  m->slot = {};
  m->datum = {};
  m->space = space;
  m->address = nullptr;
  m->bytes = bytes;
  m->layout = {};
  m->part = false;
  m->label = name;
  m->counted_snapshot = false;
  m->freeing = false;
  m->leaving = false;
  m->ordered = false;
  m->announced_use.at.store(0);
  m->announced_use.by.store(nullptr);
  m->captured_use.at.store(0);
  m->reported_unreachable = false;
  m->used_unseen = false;
  m->access = platform::Protection::none;
  m->opened_in_part = false;
  m->in_part.reset();
  m->exception_at = Memory::not_looked_at;
  m->exception_is_stale = true;
  m->transit_block.reset();
  m->holds_handles.store(false, std::memory_order_relaxed);
  std::memset(m->header, 0, sizeof m->header);
  m->flags.store(space == host_space ? Memory::host_readable : 0);
  m->uses.forget();
  m->unknown_on.store(0, std::memory_order_relaxed);
  m->writing_launches.store(0, std::memory_order_relaxed);
  m->writing_launches_at_fetch = 0;
  m->write_check.reset();
  m->pages = std::move(pages);
  m->read_ahead.reset();
  m->used = std::move(used);
  m->locked.clear();
  m->lock_refused = false;
  m->locks_fail = false;
  m->forecast = policy::FetchForecast();
  m->read_habit = policy::ReadHabit();
  m->sweep_habit = policy::SweepHabit();
  m->sent_ahead = 0;
  m->asked_end = 0;
  m->open = false;
  m->announced = false;
  m->promised = false;
  m->owns_allocation = false;
  m->from_pool = false;
  m->adopted = false;
  m->edge_before = 0;
  m->edge_behind = 0;
  m->since = s_.clock.fetch_add(1, std::memory_order_relaxed);
  m->live = true;
  if (!m->on_host()) projection_.note_perhaps_unready(*m);
  return NewMemory(m, {this});
}

Arrays::NewMemory Arrays::new_adopted(const char* label, std::byte* body, std::uint64_t bytes) {
  NewMemory m = new_memory(host_space, label, bytes);
  m->pages = directory::BasicExtentMap<PageState>(bytes, {platform::Protection::read_write});  // no gap page belongs to it
  m->flags.store(Memory::host_readable | Memory::host_writable);
  std::fill(m->used.begin(), m->used.end(), std::uint8_t{1});
  m->adopted = true;
  m->address = body;
  s_.adopted.enter(*m);
  return m;
}

void Arrays::bind(Memory& m, SlotId slot) {
  m.slot = slot;
  if (s_.by_slot.size() <= slot.value) s_.by_slot.resize(slot.value + 1, nullptr);
  s_.by_slot[slot.value] = &m;
  plan::Step allocate = step_of(plan::Step::Kind::allocate, m);
  allocate.zeros = m.on_host() && !m.owns_allocation && !m.adopted;
  executor_.tell(allocate);
}

void Arrays::place_on_device(Memory& m) {
  // Guarded memory, and memory that SEMCACHE_CHECK closes, shares its pages with no other array.
  s_.device_of(m).memory->place(m, s_.name(m), s_.options.device_faults || s_.options.check ? s_.page_bytes : 1);
}

void Arrays::release_place(Memory& m, directory::Content content) noexcept {
  if (m.address == nullptr) return;
  if (m.owns_allocation) {
    if (m.from_pool) {
      s_.saved_on_host->give(m.address, m.bytes);
    } else {
      base::give_memory(m.address, round_up(m.bytes, s_.page_bytes), s_.page_bytes);
    }
    if (m.counted_snapshot) host_snapshot_bytes_ -= m.bytes;
  } else if (m.adopted) {
    s_.pages->unlock(m, std::exchange(m.locked, {}));
    s_.adopted.forget(m);  // the pages stay as they are: `Lifetimes::release` has opened them
  } else if (m.on_host()) {
    s_.pages->unlock(m, std::exchange(m.locked, {}));
    s_.host->give_back(m, content);
  } else {
    s_.device_of(m).memory->give_back(m);
  }
  m.address = nullptr;
}

void Arrays::remove_datum(DatumId datum, trace::LabelId label) noexcept {
  const std::uint64_t dropped = s_.pending.forget(datum);
  if (dropped > 0) s_.recorder.moved(trace::Kind::dropped, label, dropped);
  s_.directory.remove_datum(datum);
}

void Arrays::destroy(Memory& m) noexcept {
  projection_.forget_perhaps_unwanted(m);
  new_copies_.erase(std::remove(new_copies_.begin(), new_copies_.end(), &m), new_copies_.end());
  if (m.counted_snapshot && !m.on_host()) s_.device_of(m).memory->snapshot_bytes -= m.snapshot_bytes;
  if (!m.on_host() && m.blocks.any_mapped()) executor_.unmap_memory(m);
  auto content = directory::Content::unknown;
  if (m.slot.valid()) {
    const directory::ValueRef* const held = s_.directory.held(m.slot).uniform();
    // Nothing has been put into its pages. Where an access would not have been noticed, this is not sure enough for their next owner.
    if (held != nullptr && held->id == directory::zeros_value && !m.open && !m.announced) {
      content = directory::Content::zeros;
    }
    executor_.tell(step_of(plan::Step::Kind::release, m));
    s_.directory.remove_slot(m.slot);
  }
  if (m.datum.valid() && s_.directory.slots(m.datum).empty()) remove_datum(m.datum, m.label);
  s_.pages->end_phase(m);
  release_place(m, content);
  // The object is used again.
  m.live = false;
  m.flags.store(0);  // a thread that has found the array already then takes the lock, and sees that it is freed
  m.incarnation.fetch_add(1);
  for (auto& d : s_.devices) d->memory->forget(m);
  if (std::exchange(m.listed, false)) {
    s_.listed.erase(std::find(s_.listed.begin(), s_.listed.end(), &m));
    s_.listed_arrays.store(s_.listed.size());
  }
  while (!m.expected_in.empty()) m.expected_in.back()->expect_nothing();
  if (m.slot.valid() && m.slot.value < s_.by_slot.size()) s_.by_slot[m.slot.value] = nullptr;
  free_.push_back(&m);
}

/// Removes the flights of a saved copy that nobody wants, if the driver says that they have ended. Flights of arrays stay listed, whatever
/// the driver might say: where a value is saved depends on them, and counts must not depend on delays.
bool Arrays::flights_have_ended(const Memory& saved) noexcept {
  for (auto next = s_.flights.begin(); next != s_.flights.end();) {
    const auto flight = next++;
    if (flight->host != &saved) continue;
    try {
      if (flight->locks_pages || !s_.queues->reached(flight->work.queue, flight->work.position)) return false;
    } catch (const std::exception&) {
      return false;  // not known: the driver is asked again the next time
    }
    if (flight->staging != nullptr) s_.devices[flight->staging_device]->staging->give(flight->staging, flight->staged_bytes);
    s_.flights.erase(flight);
  }
  return true;
}

void Arrays::collect_orphans() noexcept {
  for (const auto& touched : s_.directory.touched()) {
    Memory* const m = s_.find(touched.slot);
    if (m != nullptr && m->snapshot() && !m->freeing) projection_.note_perhaps_unwanted(*m);
  }
  for (std::size_t i = 0; i < projection_.perhaps_unwanted().size();) {
    Memory& m = *projection_.perhaps_unwanted()[i];
    if (s_.directory.needed(m.slot)) {  // the directory touches it when that changes
      projection_.forget_perhaps_unwanted(m);
      continue;
    }
    // An attempt that waits may have asked for this saved copy. If the copy were freed, it would ask for another again and again.
    const bool perhaps_wanted = s_.waiting > 0 && std::find(new_copies_.begin(), new_copies_.end(), &m) != new_copies_.end();
    bool busy = m.blocks.any_asked() || perhaps_wanted || s_.pinned(m);
    if (!busy && !m.on_host()) {
      busy = hazards_.unknown_use_pending(m, Mode::writes);
      try {
        for (QueueIndex q = 1; q < s_.queues->count() && !busy; ++q) busy = !s_.queues->reached(q, s_.last_use(m, q));
      } catch (const std::exception&) {
        busy = true;  // not known: the driver is asked again the next time
      }
    }
    busy = busy || !flights_have_ended(m);
    if (busy) {
      ++i;
      continue;
    }
    destroy(m);
  }
}

std::string Arrays::describe_live_buffers(std::uint32_t device) const {
  base::Vector<const Memory*> live;
  for (const Memory& m : s_.pool) {
    if (m.live && m.space == device_space(device)) live.push_back(&m);
  }
  std::sort(live.begin(), live.end(), [](const Memory* a, const Memory* b) { return a->bytes > b->bytes; });
  std::string text = live.empty() ? "  none\n" : "";
  for (std::size_t i = 0; i < live.size() && i < 32; ++i) {
    const Memory& m = *live[i];
    text += "  " + std::to_string(m.bytes) + " bytes  '" + s_.name(m) + "'" +
            (m.snapshot() ? " (saved copy)" : "") +
            (State::is_resident(m) ? ", on the device" : m.blocks.any_mapped() ? ", in part on the device now" : ", not on the device now") + "\n";
  }
  if (live.size() > 32) text += "  and " + std::to_string(live.size() - 32) + " not larger\n";
  return text;
}

Memory* Arrays::ready_saved_copy(SpaceId space, const Region& saved, trace::LabelId label) const noexcept {
  for (Memory* m : new_copies_) {
    if (State::is_resident(*m) && m->space == space && m->layout == saved && m->label == label) return m;
  }
  return nullptr;
}

Obstacle Arrays::new_saved_copy(SpaceId space, const Region& saved, trace::LabelId label, Memory*& copy) {
  copy = ready_saved_copy(space, saved, label);
  if (copy != nullptr) {
    new_copies_.erase(std::find(new_copies_.begin(), new_copies_.end(), copy));
    return {};
  }
  if (space != host_space && s_.devices[space.value - 1]->memory->working()) return Obstacle::mapping(space.value - 1);
  if (space == host_space) {
    if (const Obstacle o = room_on_host(saved.size())) return o;
  }
  base::make_room(new_copies_, 1);
  copy = make_saved_copy(space, saved, label);
  if (copy->on_host()) return {};
  new_copies_.push_back(copy);
  return Obstacle::mapping(space.value - 1);
}

bool Arrays::from_pool(std::uint64_t bytes) const noexcept {
  return s_.saved_on_host != nullptr && s_.lock_saved_copies && bytes >= least_from_pool;
}

Obstacle Arrays::room_on_host(std::uint64_t bytes) const noexcept {
  return from_pool(bytes) && !s_.saved_on_host->has(bytes) ? Obstacle::saved_copy(bytes) : Obstacle();
}

void Arrays::place_on_host(Memory& m, const char* purpose) {
  m.from_pool = from_pool(m.bytes);
  try {
    m.address = m.from_pool ? s_.saved_on_host->take(m.bytes)
                            : static_cast<std::byte*>(base::take_memory(round_up(m.bytes, s_.page_bytes), s_.page_bytes));
  } catch (const std::bad_alloc&) {
  }
  if (m.address == nullptr) {
    throw OutOfMemory(std::string("no host memory to ") + purpose + " '" + s_.name(m) + "' (" + std::to_string(m.bytes) +
                          " bytes). Free some, or remove copies that nobody reads", m.bytes, 0);
  }
  m.owns_allocation = true;
}

Memory* Arrays::make_saved_copy(SpaceId space, const Region& saved, trace::LabelId label) {
  const std::uint64_t bytes = saved.size();
  NewMemory m = new_memory(space, s_.recorder.name(label), bytes);
  m->layout = saved;
  if (m->on_host()) {
    place_on_host(*m, "save a copy of");
    count_saved_on_host(*m);
  } else {
    place_on_device(*m);
    DeviceState& d = s_.device_of(*m);
    // How many granules it needs depends on where it lies.
    if (!d.memory->fits(d.memory->need_of({ArrayBlock{m.get(), 0}}).missing)) {
      throw OutOfMemory("no room for a saved copy", bytes, d.memory->budget_bytes());
    }
  }
  bind(*m, s_.directory.add_snapshot(space, saved));
  m->since = Memory::never;
  if (!m->on_host()) {
    s_.device_of(*m).memory->ask({ArrayBlock{m.get(), 0}});
    m->counted_snapshot = true;
    m->snapshot_bytes = bytes;
    s_.device_of(*m).memory->snapshot_bytes += bytes;
  }
  projection_.note_perhaps_unwanted(*m);
  return m.release();
}

}  // namespace semcache::engine
