// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/transfers.hpp>

#include <algorithm>

namespace semcache::engine {

using directory::Step;
using trace::Kind;

bool Transfers::host_side_is_announced(const Memory& m) {
  const SlotId host = s_.directory.slot_in(m.datum, host_space);
  return host.valid() && s_.memory_of(host).announced;
}

void Transfers::note_refused(Memory& m, ByteRange range) noexcept {
  try {
    std::vector<directory::LastHeld> alone;
    s_.directory.last_held(m.slot, range, directory::Wanters::others, alone);
    std::uint64_t begin = range.begin;
    for (const directory::LastHeld& piece : alone) {
      s_.directory.drop(m.slot, {begin, piece.position});
      begin = piece.position + piece.bytes;
      note_written(m, {piece.position, begin});
    }
    s_.directory.drop(m.slot, {begin, range.end});
  } catch (const std::bad_alloc&) {
    base::fatal("a copy to '%s' at %p was refused half-way, and the host has no memory to note what is there now. Free memory of "
                "the host", s_.name(m), static_cast<void*>(m.address));
  }
}

void Transfers::overwrite(Memory& m, ByteRange range, const plan::Step& step) {
  try {
    executor_.execute(step);
  } catch (...) {
    note_refused(m, range);
    throw;
  }
}

void Transfers::note_written(Memory& m, ByteRange range) {
  count_dropped(m, range);
  s_.directory.write(m.slot, range);
}

bool Transfers::room_for_snapshot(DeviceState& d, std::uint64_t bytes, Loss loss) const {
  if (loss == Loss::eviction) return false;
  const std::uint64_t share = d.memory->budget_bytes() / 100 * s_.options.snapshot_share_percent;
  const std::uint64_t rounded = round_up(bytes + 512, d.device->granularity_bytes());
  return d.memory->snapshot_bytes + bytes <= share && d.memory->fits(rounded);
}

Obstacle Transfers::make_fresh(Memory& m, ByteRange range) {
  for (;;) {
    Step step = s_.directory.next_fetch(m.slot, range, s_.topology);
    if (step.bytes == 0) return {};
    if (!step.from.valid() && step.fill.pattern_bytes == 0) {
      base::fatal("I4: nobody holds %llu bytes of '%s' at offset %llu any more",
                  static_cast<unsigned long long>(step.bytes), s_.name(m),
                  static_cast<unsigned long long>(step.to_position));
    }
    Memory* from = step.from.valid() ? &s_.memory_of(step.from) : nullptr;
    Memory& crossing = from != nullptr && from->on_host() && !m.on_host() ? *from : m;
    const std::uint64_t crossing_position = &crossing == &m ? step.to_position : step.from_position;
    DeviceState* const crossed = from == nullptr || from->on_host() == m.on_host() ? nullptr : &s_.device_of(m.on_host() ? *from : m);
    if (crossed != nullptr && !crossed->device->kernels_run_in_caller()) {
      // A step stays within one chunk of page-locking. A step that must be staged is at most one staging piece.
      step.bytes = std::min(step.bytes, s_.pages->chunk_end(crossing_position) - crossing_position);
      if (const Obstacle o = hazards_.directly_reached(crossing, {crossing_position, crossing_position + step.bytes})) return o;
      if (!s_.pages->locked(crossing, {crossing_position, crossing_position + step.bytes})) {
        step.bytes = std::min(step.bytes, Staging::piece_bytes);
        if (crossed->staging->exhausted(step.bytes)) {
          const auto staged =
              std::find_if(s_.flights.begin(), s_.flights.end(), [](const Flight& f) { return f.staging != nullptr; });
          if (staged != s_.flights.end()) {
            if (const Obstacle o = hazards_.land(staged)) return o;
            continue;
          }
        }
      }
      const Memory& on_device = m.on_host() ? *from : m;
      if (const Obstacle o = staging_for(on_device, crossing, {crossing_position, crossing_position + step.bytes}, m.on_host())) return o;
    }
    const ByteRange to_range{step.to_position, step.to_position + step.bytes};
    const ByteRange from_range{step.from_position, step.from_position + step.bytes};
    if (const Obstacle o = hazards_.busy(m, to_range, Mode::writes)) return o;
    if (from == &m && m.on_host()) {
      if (const Obstacle o = hazards_.flights_of(m, from_range, Mode::reads)) return o;
    } else if (from != nullptr && from != &m) {
      if (const Obstacle o = hazards_.busy(*from, from_range, Mode::reads)) return o;
      if (m.on_host() && from->write_check) {
        if (const Obstacle o = check_writes(*from)) return o;
        continue;
      }
    }
    std::vector<directory::LastHeld> last;
    s_.directory.last_held(m.slot, to_range, directory::Wanters::others, last);
    if (last.empty()) {
      perform(step, plan::Purpose::fetch);
    } else if (const Obstacle o = save(m, last.front(), Loss::fetch)) {
      return o;
    }
  }
}

Obstacle Transfers::save_all(Memory& m, ByteRange range, Loss loss, const std::vector<ByteRange>& together) {
  std::vector<directory::LastHeld> last;
  for (;;) {
    last.clear();
    const auto wanters = loss == Loss::write ? directory::Wanters::itself_too : directory::Wanters::others;
    s_.directory.last_held(m.slot, range, wanters, last, together);
    if (last.empty()) return {};
    if (const Obstacle o = save(m, last.front(), loss)) return o;
  }
}

Obstacle Transfers::save(Memory& m, const directory::LastHeld& piece, Loss loss) {
  const ByteRange range{piece.position, piece.position + piece.bytes};
  if (const Obstacle o = hazards_.busy(m, range, Mode::reads)) return o;
  Step step;
  step.from = m.slot;
  step.from_position = piece.position;
  step.value = piece.value;

  // Tells whether memory of the array that wants the value can take it: nothing uses that memory now, and no other wanted value
  // would lose its last holder there. In the same space this moves what an eager copy would have moved, and takes no further
  // memory.
  bool page_locking = false;
  const auto clean = [&](SlotId slot) {
    if (!slot.valid() || slot == m.slot) return false;
    Memory& w = s_.memory_of(slot);
    if (s_.directory.changing(slot)) return false;  // the program may be writing it
    const ByteRange at{piece.wanter_position, piece.wanter_position + piece.bytes};
    if (w.on_host()) {
      for (const Flight& f : s_.flights) {
        if (f.host != &w || !f.range.overlaps(at)) continue;
        page_locking = page_locking || f.locks_pages;
        return false;
      }
    } else if ((w.flags.load() & Memory::resident) == 0 || s_.pinned(w) ||
               hazards_.unknown_use_pending(w, Mode::writes)) {
      return false;
    }
    std::vector<directory::LastHeld> needed;
    s_.directory.last_held(slot, at, directory::Wanters::others, needed);
    return needed.empty();
  };
  const SlotId same_space = s_.directory.slot_in(piece.wanter, m.space);
  const SlotId host_side = s_.directory.slot_in(piece.wanter, host_space);
  policy::SaveChoices choices;
  choices.on_host = m.on_host();
  choices.wanter_is_clean = clean(same_space);
  choices.room_for_snapshot = m.on_host() || arrays_.ready_saved_copy(m.space, piece.bytes, m.label) != nullptr ||
                              room_for_snapshot(s_.device_of(m), piece.bytes, loss);
  const auto place = [&] {
    if (!choices.room_for_snapshot) choices.host_side_is_clean = clean(host_side);
    return policy::place_of_save(choices);
  };
  policy::SavePlace where = place();
  if (page_locking) return Obstacle::moment();
  Memory* copy = nullptr;
  if (where == policy::SavePlace::snapshot_beside) {
    try {
      if (const Obstacle o = arrays_.new_saved_copy(m.space, piece.bytes, m.label, copy)) return o;
    } catch (const OutOfMemory&) {
      if (m.on_host()) throw;
      choices.room_for_snapshot = false;
      where = place();
    }
  }
  if (where == policy::SavePlace::wanter || where == policy::SavePlace::wanters_host_side) {
    step.to = where == policy::SavePlace::wanter ? same_space : host_side;
    step.to_position = piece.wanter_position;
  } else if (where == policy::SavePlace::snapshot_on_host) {
    if (const Obstacle o = arrays_.new_saved_copy(host_space, piece.bytes, m.label, copy)) return o;
  }
  if (copy != nullptr) step.to = copy->slot;
  step.bytes = piece.bytes;
  Memory& to = s_.memory_of(step.to);
  if (to.on_host() && !m.on_host() && !to.owns_allocation) {  // no save goes from the host to a device
    const std::uint64_t at = step.to_position;
    step.bytes = std::min(step.bytes, s_.pages->chunk_end(at) - at);
    if (const Obstacle o = hazards_.directly_reached(to, {at, at + step.bytes})) return o;
    if (!s_.pages->locked(to, {at, at + step.bytes})) step.bytes = std::min(step.bytes, Staging::piece_bytes);
    if (const Obstacle o = staging_for(m, to, {at, at + step.bytes}, true)) return o;
  }
  ++saves_;
  // A save of the array's own content, or for an eviction, is a write-back: no copy of the program's has caused it.
  perform(step, loss == Loss::eviction || piece.wanter == m.datum ? plan::Purpose::write_back : plan::Purpose::save);
  return {};
}

Obstacle Transfers::staging_for(const Memory& on_device, const Memory& host, ByteRange range, bool to_host) const {
  const DeviceState& d = s_.device_of(on_device);
  if (d.device->kernels_run_in_caller() || executor_.goes_directly(host, range, to_host) || d.staging->has(range.size())) return {};
  return Obstacle::staging(d.index, range.size());
}

/// Moves the bytes of a step, and commits it in the directory. A step that fails may have changed a part of its destination. What
/// the destination held is not needed, so it holds nothing afterwards (I9).
void Transfers::perform(const Step& step, plan::Purpose purpose) {
  const Memory& to = s_.memory_of(step.to);
  s_.directory.prepare_commit(step);  // so that `commit` cannot fail when the bytes have moved
  plan::Step planned = copy_step(purpose, end_at(to, step.to_position), {}, step.bytes);
  if (step.from.valid()) {
    planned.from = end_at(s_.memory_of(step.from), step.from_position);
  } else {
    planned.kind = plan::Step::Kind::fill;
    planned.fill = step.fill;
    planned.phase = step.value.offset;
  }
  try {
    executor_.execute(planned);
  } catch (...) {
    s_.directory.drop(step.to, {step.to_position, step.to_position + step.bytes});
    throw;
  }
  (void)s_.pending.take(to.datum, {step.to_position, step.to_position + step.bytes});
  s_.directory.commit(step);
}

Obstacle Transfers::check_writes(Memory& m) {
  if (!m.write_check) return {};
  if (const Obstacle o = hazards_.quiesce(m)) return o;
  executor_.freeze(m, m.all());
  const std::unique_ptr<Memory::WriteCheck> check = std::move(m.write_check);
  if (executor_.digest_of(m) != check->digest) {
    s_.recorder.count(trace::Event::changed, m.label);
    return {};
  }
  s_.directory.restore(m.slot, m.all(), check->wanted);
  s_.recorder.moved(Kind::unchanged, m.label, m.bytes);
  return {};
}

}  // namespace semcache::engine
