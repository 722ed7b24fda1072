// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transfers.hpp>

#include <algorithm>
#include <numeric>

namespace semcache::engine {

using directory::Step;
using trace::Kind;

namespace {

/// Between devices that do not reach each other so many bytes are given to the driver at once, because it waits where a queue is full.
constexpr std::uint64_t most_over_host_at_once = std::uint64_t{64} << 20;
/// The processor copies and fills at most so many bytes before other threads may have the lock.
constexpr std::uint64_t most_by_processor_at_once = std::uint64_t{16} << 20;

/// Returns the first columns of the region, or bytes of its first column, that end at `end` at most.
Region part_before(const Region& r, std::uint64_t end) {
  if (r.end() <= end) return r;
  if (r.is_range() || r.begin + r.width > end) return ByteRange{r.begin, std::min(r.begin + r.width, end)};
  return r.some_columns(0, (end - r.begin - r.width) / r.pitch + 1);
}

/// Returns the first columns of the region, or bytes of its first column, that are at most `most` bytes.
Region part_of(const Region& r, std::uint64_t most) {
  if (r.size() <= most) return r;
  if (r.is_range() || r.width > most) return ByteRange{r.begin, r.begin + std::min(r.width, most)};
  return r.some_columns(0, most / r.width);
}

/// Returns the region of the width, columns and pitch of `r` that begins at `position`.
Region moved_to(const Region& r, std::uint64_t position) {
  Region at = r;
  at.begin = position;
  return at;
}

}  // namespace

bool Transfers::host_side_is_announced(const Memory& m) {
  const SlotId host = s_.directory.slot_in(m.datum, host_space);
  return host.valid() && s_.memory_of(host).announced;
}

void Transfers::note_refused(Memory& m, const Region& range) noexcept {
  try {
    base::Vector<directory::LastHeld> alone;
    s_.directory.last_held(m.slot, range, directory::Wanters::others, alone);
    base::Vector<Region> elsewhere{range};  // what other slots hold as well
    for (const directory::LastHeld& piece : alone) {
      base::Vector<Region> rest;
      for (const Region& r : elsewhere) for_each_difference(r, piece.where, [&](const Region& part) { rest.push_back(part); });
      elsewhere.swap(rest);
    }
    for (const Region& r : elsewhere) {
      for_each_in_shape(r, s_.directory.pitch(m.slot), [&](const Region& part) { s_.directory.drop(m.slot, part); });
    }
    for (const directory::LastHeld& piece : alone) note_written(m, piece.where);
  } catch (const std::bad_alloc&) {
    base::fatal("a copy to '%s' at %p was refused half-way, and the host has no memory to note what is there now. Free memory of "
                "the host", s_.name(m), static_cast<void*>(m.address));
  }
}

void Transfers::overwrite(Memory& m, const Region& range, const plan::Step& step) {
  try {
    executor_.execute(step);
  } catch (...) {
    note_refused(m, range);
    throw;
  }
}

void Transfers::prepare_written(const Memory& m, const Region& range) {
  if (s_.directory.held(m.slot).takes(range)) return s_.directory.prepare_write(m.slot, range);
  base::Vector<Region> columns;
  for_each_in_shape(range, s_.directory.pitch(m.slot), [&](const Region& part) { columns.push_back(part); });
  s_.directory.prepare_write(m.slot, columns);
}

void Transfers::note_written(Memory& m, const Region& range) {
  count_dropped(m, range);
  for_each_in_shape(range, s_.directory.pitch(m.slot), [&](const Region& part) { s_.directory.write(m.slot, part); });
}

bool Transfers::room_for_snapshot(DeviceState& d, std::uint64_t bytes, Loss loss) const {
  if (loss == Loss::eviction) return false;
  const std::uint64_t share = d.memory->budget_bytes() / 100 * s_.options.snapshot_share_percent;
  const std::uint64_t rounded = round_up(bytes + 512, d.device->granularity_bytes());
  return d.memory->snapshot_bytes + bytes <= share && d.memory->fits(rounded);
}

Obstacle Transfers::relieve_staging(const DeviceState& d, std::uint64_t more) {
  const auto uses = [&d](const Flight& f) { return f.staging != nullptr && f.staging_device == d.index; };
  while (d.staging->exhausted(more)) {
    const auto staged = std::find_if(s_.flights.begin(), s_.flights.end(), uses);
    if (staged == s_.flights.end()) return {};
    if (const Obstacle o = hazards_.land(staged)) return o;
  }
  return {};
}

Obstacle Transfers::ready_over_host(SpaceId to, SpaceId from, const Region& where) {
  if (where.empty() || s_.topology.linked(to, from) || s_.home().device->kernels_run_in_caller()) return {};
  const DeviceState& d = s_.device_of(to);
  const std::uint64_t part = std::min(where.size(), Executor::over_host_bytes);
  const std::uint64_t sizes[] = {part, part};
  const std::size_t buffers = where.size() > part ? 2 : 1;
  if (d.staging->lacking(sizes, buffers) == 0) return lacking_events(Executor::parts_over_host(where));
  if (!d.staging->has(part)) {  // else the first of two has been allocated: giving others back might give that one back
    executor_.forget_finished_flights();  // their buffers may serve
    if (const Obstacle o = relieve_staging(d, buffers * part)) return o;
  }
  return d.staging->lacking(sizes, buffers) == 0 ? lacking_events(Executor::parts_over_host(where)) : Obstacle::staging(d.index, part);
}

Obstacle Transfers::lacking_events(std::size_t transfers) const noexcept {
  // A transfer is ordered behind others' work, and others behind it. Each time, an event is recorded behind that work, and one behind what the
  // later queue has so far.
  const std::size_t needed = 4 * transfers;
  const auto lacks = [&](const auto& d) { return d->device->lacks_events(needed); };
  return std::any_of(s_.devices.begin(), s_.devices.end(), lacks) ? Obstacle::events(needed) : Obstacle();
}

Obstacle Transfers::make_fresh(Memory& m, const Region& range, SpaceId first) {
  for (;;) {
    if (const Obstacle o = lacking_events(2)) return o;  // a save and a fetch
    Step step = s_.directory.next_fetch(m.slot, range, s_.topology, first);
    if (step.where.empty()) return {};
    if (!step.from.valid() && step.fill.pattern_bytes == 0) {
      base::fatal("I4: nobody holds %llu bytes of '%s' at offset %llu any more",
                  static_cast<unsigned long long>(step.where.size()), s_.name(m),
                  static_cast<unsigned long long>(step.where.begin));
    }
    Memory* from = step.from.valid() ? &s_.memory_of(step.from) : nullptr;
    step.where = step.where.some_columns(0, memory::columns_at_one_distance(m, step.where));
    if (from != nullptr) step.where = step.where.some_columns(0, memory::columns_at_one_distance(*from, step.source()));
    Memory& crossing = from != nullptr && from->on_host() && !m.on_host() ? *from : m;
    DeviceState* const crossed = from == nullptr || from->on_host() == m.on_host() ? nullptr : &s_.device_of(m.on_host() ? *from : m);
    if (crossed != nullptr && !crossed->device->kernels_run_in_caller()) {
      // A step stays within one chunk of page-locking. A step that must be staged is at most one staging piece.
      const std::uint64_t begin = &crossing == &m ? step.where.begin : step.from_position;
      Region at = part_before(moved_to(step.where, begin), s_.pages->chunk_end(begin));
      if (const Obstacle o = hazards_.directly_reached(crossing, at)) return o;
      if (!s_.pages->locked(crossing, at.hull())) at = part_of(at, Staging::piece_bytes);
      const auto direction = m.on_host() ? Executor::Direction::from_device : Executor::Direction::to_device;
      if (!executor_.goes_directly(crossing, at, direction)) at = part_of(at, Staging::piece_bytes);
      const Memory& on_device = m.on_host() ? *from : m;
      if (const Obstacle o = staging_for(on_device, crossing, &at, 1, direction)) return o;
      step.where = moved_to(at, step.where.begin);
    }
    if (from != nullptr) {
      if (!s_.topology.linked(m.space, from->space)) step.where = part_of(step.where, most_over_host_at_once);
      if (const Obstacle o = ready_over_host(m.space, from->space, step.where)) return o;
    }
    const bool by_processor = m.on_host() && (from == nullptr || from->on_host());
    if (by_processor) step.where = part_before(step.where, round_down(step.where.begin, most_by_processor_at_once) + most_by_processor_at_once);
    if (const Obstacle o = hazards_.busy(m, step.where, Mode::writes)) return o;
    if (from == &m && m.on_host()) {
      if (const Obstacle o = hazards_.flights_of(m, step.source(), Mode::reads)) return o;
    } else if (from != nullptr && from != &m) {
      if (const Obstacle o = hazards_.busy(*from, step.source(), Mode::reads)) return o;
      if (m.on_host() && from->write_check) {
        if (const Obstacle o = check_writes(*from)) return o;
        continue;
      }
    }
    // A saved copy was not written by the host, and has its bytes at other positions.
    if (s_.options.check_writes && from != nullptr && from->on_host() && !from->snapshot() && !m.on_host()) {
      if (const Obstacle o = hazards_.uses_of(m)) return o;
      if (const Obstacle o = hazards_.uses_of(*from)) return o;
      if (is_there_already(m, *from, step)) {
        s_.directory.prepare_commit(step);
        (void)s_.pending.take(m.datum, step.where);
        s_.directory.commit(step);
        s_.recorder.moved(Kind::rewritten, from->label, step.where.size());
        continue;
      }
    }
    base::Vector<directory::LastHeld> last;
    s_.directory.last_held(m.slot, step.where, directory::Wanters::others, last);
    if (last.empty()) {
      perform(step, plan::Purpose::fetch);
      if (by_processor && step.where.size() > most_by_processor_at_once / 2) return Obstacle::turn();
    } else if (const Obstacle o = save(m, last.front(), Loss::fetch)) {
      return o;
    }
  }
}

Missing Transfers::missing(const Memory& m, const Region& range) const {
  Missing sum;
  for (base::Vector<Region> rest{range}; !rest.empty();) {
    const Region r = rest.back();
    rest.pop_back();
    const Step step = s_.directory.next_fetch(m.slot, r, s_.topology);
    if (step.where.empty()) continue;
    const SpaceId from = step.from.valid() ? s_.memory_of(step.from).space : host_space;
    (step.fill.pattern_bytes != 0 ? sum.filled : from == host_space ? sum.from_host : sum.from_devices[from.value - 1]) += step.where.size();
    for_each_difference(r, step.where, [&](const Region& part) { rest.push_back(part); });
  }
  return sum;
}

std::vector<Holder> Transfers::holders(const Memory& m, const Region& range) const {
  std::vector<Holder> found;
  for (const SlotId slot : s_.directory.slots(m.datum)) {
    const Memory& side = s_.memory_of(slot);
    if (side.on_host()) continue;
    const std::size_t first = found.size();
    s_.directory.all_of(slot, range, [&](const Region& part, directory::ValueRef wanted, directory::ValueRef held) {
      if (held != wanted || !held.is_number()) return true;
      if (found.size() == first || !join(found.back().where, part)) found.push_back({State::device_index(side), part});
      return true;
    });
  }
  return found;
}

Obstacle Transfers::save_all(Memory& m, const Region& range, Loss loss, const base::Vector<Region>& together) {
  base::Vector<directory::LastHeld> last;
  for (;;) {
    last.clear();
    const auto wanters = loss == Loss::write ? directory::Wanters::itself_too : directory::Wanters::others;
    s_.directory.last_held(m.slot, range, wanters, last, together);
    if (last.empty()) return {};
    if (const Obstacle o = save(m, last.front(), loss)) return o;
  }
}

Obstacle Transfers::save(Memory& m, directory::LastHeld piece, Loss loss) {
  piece.where = piece.where.some_columns(0, memory::columns_at_one_distance(m, piece.where));
  if (const Obstacle o = hazards_.busy(m, piece.where, Mode::reads)) return o;
  Step step;
  step.from = m.slot;
  step.from_position = piece.where.begin;
  step.value = piece.value;

  // Tells whether memory of the array that wants the value can take it: nothing uses that memory now, and no other wanted value
  // would lose its last holder there. In the same space this moves what an eager copy would have moved, and takes no further
  // memory.
  bool page_locking = false;
  const auto clean = [&](SlotId slot) {
    if (!slot.valid() || slot == m.slot) return false;
    Memory& w = s_.memory_of(slot);
    if (s_.directory.changing(slot)) return false;  // the program may be writing it
    const Region at = moved_to(piece.where, piece.wanter_position);
    if (!at.is_range() && at.pitch != s_.directory.pitch(slot)) return false;  // it would be an extent for each column
    if (w.on_host()) {
      for (const Flight& f : s_.flights) {
        if (f.host != &w || !may_overlap(f.where, at)) continue;
        page_locking = page_locking || f.locks_pages;
        return false;
      }
    } else if (!State::is_resident(w, at) || s_.pinned(w) ||
               hazards_.unknown_use_pending(w, Mode::writes)) {
      return false;
    }
    base::Vector<directory::LastHeld> needed;
    s_.directory.last_held(slot, at, directory::Wanters::others, needed);
    return needed.empty();
  };
  const SlotId same_space = s_.directory.slot_in(piece.wanter, m.space);
  const SlotId host_side = s_.directory.slot_in(piece.wanter, host_space);
  const Region saved = moved_to(piece.where, 0);
  policy::SaveChoices choices;
  choices.on_host = m.on_host();
  choices.wanter_is_clean = clean(same_space);
  choices.room_for_snapshot = m.on_host() || arrays_.ready_saved_copy(m.space, saved, m.label) != nullptr ||
                              room_for_snapshot(s_.device_of(m), saved.size(), loss);
  const auto place = [&] {
    if (!choices.room_for_snapshot) choices.host_side_is_clean = clean(host_side);
    return policy::place_of_save(choices);
  };
  policy::SavePlace where = place();
  if (page_locking) return Obstacle::moment();
  Memory* copy = nullptr;
  if (where == policy::SavePlace::snapshot_beside) {
    try {
      if (const Obstacle o = arrays_.new_saved_copy(m.space, saved, m.label, copy)) return o;
    } catch (const OutOfMemory&) {
      if (m.on_host()) throw;
      choices.room_for_snapshot = false;
      where = place();
    }
  }
  if (where == policy::SavePlace::wanter || where == policy::SavePlace::wanters_host_side) {
    step.to = where == policy::SavePlace::wanter ? same_space : host_side;
    step.where = moved_to(piece.where, piece.wanter_position);
  } else if (where == policy::SavePlace::snapshot_on_host) {
    const std::uint64_t bytes = saved.size();
    if (!m.on_host() && !arrays_.from_pool(bytes) && bytes <= Staging::piece_bytes) {
      if (const Obstacle o = staging(s_.device_of(m), &bytes, 1)) return o;
    }
    if (const Obstacle o = arrays_.new_saved_copy(host_space, saved, m.label, copy)) return o;
  }
  if (copy != nullptr) {
    step.to = copy->slot;
    step.where = saved;
  }
  Memory& to = s_.memory_of(step.to);
  if (to.on_host() && !m.on_host()) {  // no save goes from the host to a device
    if (!to.owns_allocation) {  // a saved copy is filled by one step
      step.where = part_before(step.where, s_.pages->chunk_end(step.where.begin));
      if (const Obstacle o = hazards_.directly_reached(to, step.where)) return o;
      if (!s_.pages->locked(to, step.where.hull())) step.where = part_of(step.where, Staging::piece_bytes);
    }
    if (const Obstacle o = staging_for(m, to, &step.where, 1, Executor::Direction::from_device)) return o;
  }
  ++saves_;
  // A save of the array's own content, or for an eviction, is a write-back: no copy of the program's has caused it.
  perform(step, loss == Loss::eviction || piece.wanter == m.datum ? plan::Purpose::write_back : plan::Purpose::save);
  return {};
}

Obstacle Transfers::staging_for(const Memory& on_device, const Memory& host, const Region* pieces, std::size_t count,
                                Executor::Direction direction) {
  base::Vector<std::uint64_t> sizes;
  for (const Region* piece = pieces; piece != pieces + count; ++piece) {
    if (!executor_.goes_directly(host, *piece, direction)) sizes.push_back(piece->size());
  }
  return staging(s_.device_of(on_device), sizes.data(), sizes.size());
}

Obstacle Transfers::staging(const DeviceState& d, const std::uint64_t* sizes, std::size_t count) {
  if (count == 0 || d.device->kernels_run_in_caller()) return {};
  if (const Obstacle o = relieve_staging(d, std::accumulate(sizes, sizes + count, std::uint64_t{0}))) return o;
  const std::uint64_t lacking = d.staging->lacking(sizes, count);
  return lacking == 0 ? Obstacle() : Obstacle::staging(d.index, lacking);
}

/// Moves the bytes of a step, and commits it in the directory. A step that fails may have changed a part of its destination. What
/// the destination held is not needed, so it holds nothing afterwards (I9).
void Transfers::perform(const Step& step, plan::Purpose purpose) {
  const Memory& to = s_.memory_of(step.to);
  s_.directory.prepare_commit(step);  // so that `commit` cannot fail when the bytes have moved
  plan::Step planned = copy_step(purpose, end_at(to, step.where), {}, step.where);
  if (step.from.valid()) {
    planned.from = end_at(s_.memory_of(step.from), step.source());
  } else {
    planned.kind = plan::Step::Kind::fill;
    planned.fill = step.fill;
    planned.phase = step.value.offset;
    planned.phase_pitch = step.where.pitch;
  }
  try {
    executor_.execute(planned);
  } catch (...) {
    s_.directory.drop(step.to, step.where);
    throw;
  }
  (void)s_.pending.take(to.datum, step.where);
  s_.directory.commit(step);
}

bool Transfers::is_there_already(Memory& to, Memory& from, const Step& step) {
  if (!step.where.is_range() || to.part || from.part || !s_.directory.held(to.slot).all_of(step.where, [](const Region&, directory::ValueRef held) {
        return held.is_number();  // else it has no content, and is the same by chance
      })) {
    return false;
  }
  base::Vector<directory::LastHeld> needed;
  s_.directory.last_held(to.slot, step.where, directory::Wanters::others, needed);
  if (!needed.empty()) return false;
  executor_.freeze(from, step.source());
  return executor_.content_of(to, step.where.hull()) == executor_.content_of(from, step.source().hull());
}

Obstacle Transfers::check_writes(Memory& m) {
  if (!m.write_check) return {};
  if (const Obstacle o = hazards_.quiesce(m)) return o;
  if (const Obstacle o = hazards_.writers_of(m)) return o;
  executor_.freeze(m, m.positions());
  const std::unique_ptr<Memory::WriteCheck> check = std::move(m.write_check);
  if (executor_.digest_of(m) != check->digest) {
    s_.recorder.count(trace::Event::changed, m.label);
    return {};
  }
  s_.directory.restore(m.slot, check->wanted.values());
  s_.recorder.moved(Kind::unchanged, m.label, m.bytes);
  return {};
}

}  // namespace semcache::engine
