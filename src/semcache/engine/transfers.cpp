// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <cstring>

namespace semcache::engine {

using directory::Step;
using trace::Kind;

void Engine::freeze(Memory& m, ByteRange range) {
  if (m.access == platform::Protection::read_write) protect_guarded(m, platform::Protection::read);  // quiesced: no flags, no pins
  if (m.on_host()) pages_->freeze(m, range);
}

void Engine::set_reachable(Memory& m, bool reachable) noexcept {
  if (!options_.check || running_launches_ > 0 || m.on_host() || m.bytes == 0 || (!reachable && m.used_unseen)) return;
  device_of(m).memory->set_accessible(m, reachable);
}

void Engine::set_all_reachable(bool reachable) noexcept {
  for (auto& d : devices_) {
    d->memory->for_each_mapping([&](std::byte* at, std::uint64_t bytes) { d->device->set_accessible(at, bytes, reachable); });
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

Obstacle Engine::meet(const Requirement* requirements, std::size_t count) {
  if (const Obstacle o = make_resident(count, [&](std::size_t i) { return requirements[i].memory; })) return o;
  std::vector<ByteRange> together;  // where they overwrite several ranges of an array
  const Memory* overwritten = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const Requirement& r = requirements[i];
    if (needs_content(r.mode)) {
      if (const Obstacle o = make_fresh(*r.memory, r.range)) return o;
    }
    if (!writes(r.mode)) continue;
    if (count > 1 && std::exchange(overwritten, r.memory) != r.memory) {
      together.clear();
      for (std::size_t k = 0; k < count; ++k) {
        if (writes(requirements[k].mode) && requirements[k].memory == r.memory) together.push_back(requirements[k].range);
      }
    }
    if (const Obstacle o = save_all(*r.memory, r.range, Loss::write, together)) return o;
  }
  for (std::size_t i = 0; i < count; ++i) {  // all transfers are under way
    const Requirement& r = requirements[i];
    if (const Obstacle o = busy(*r.memory, r.range, mode_of(writes(r.mode)))) return o;
  }
  return {};
}

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
    DeviceState* const crossed = from == nullptr || from->on_host() == m.on_host() ? nullptr : &device_of(m.on_host() ? *from : m);
    if (crossed != nullptr && !crossed->device->kernels_run_in_caller()) {
      // One registration chunk at a time; what must be staged goes in pieces.
      step.bytes = std::min(step.bytes, pages_->chunk_end(crossing_position) - crossing_position);
      if (const Obstacle o = directly_reached(crossing, {crossing_position, crossing_position + step.bytes})) return o;
      if (!pages_->locked(crossing, {crossing_position, crossing_position + step.bytes})) {
        step.bytes = std::min(step.bytes, Staging::piece_bytes);
        if (crossed->staging->exhausted(step.bytes)) {
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
    if (const Obstacle o = busy(m, to_range, Mode::writes)) return o;
    if (from == &m && m.on_host()) {
      if (const Obstacle o = flights_of(m, from_range, Mode::reads)) return o;
    } else if (from != nullptr && from != &m) {
      if (const Obstacle o = busy(*from, from_range, Mode::reads)) return o;
      if (m.on_host() && from->write_check) {
        if (const Obstacle o = check_writes(*from)) return o;
        continue;
      }
    }
    std::vector<directory::LastHeld> last;
    directory_.last_held(m.slot, to_range, directory::Wanters::others, last);
    if (last.empty()) {
      perform(step, plan::Purpose::fetch);
    } else if (const Obstacle o = save(m, last.front(), Loss::fetch)) {
      return o;
    }
  }
}

Obstacle Engine::save_all(Memory& m, ByteRange range, Loss loss, const std::vector<ByteRange>& together) {
  std::vector<directory::LastHeld> last;
  for (;;) {
    last.clear();
    directory_.last_held(m.slot, range, loss == Loss::write ? directory::Wanters::itself_too : directory::Wanters::others, last, together);
    if (last.empty()) return {};
    if (const Obstacle o = save(m, last.front(), loss)) return o;
  }
}

Obstacle Engine::save(Memory& m, const directory::LastHeld& piece, Loss loss) {
  const ByteRange range{piece.position, piece.position + piece.bytes};
  if (const Obstacle o = busy(m, range, Mode::reads)) return o;
  Step step;
  step.from = m.slot;
  step.from_position = piece.position;
  step.value = piece.value;

  // The wanter's own memory, where it is in the same space and holds nothing that somebody needs: what an eager copy
  // would have done, at no further memory.
  const auto clean = [&](SlotId slot) {
    if (!slot.valid() || slot == m.slot) return false;
    Memory& w = memory_of(slot);
    if (directory_.changing(slot)) return false;  // the program may be writing it
    const ByteRange at{piece.wanter_position, piece.wanter_position + piece.bytes};
    if (w.on_host()) {
      for (const Flight& f : flights_) {
        if (f.host == &w && f.range.overlaps(at)) return false;
      }
    } else if ((w.flags.load() & Memory::resident) == 0 || pinned(w) ||
               unknown_use_pending(w, Mode::writes)) {
      return false;
    }
    std::vector<directory::LastHeld> needed;
    directory_.last_held(slot, at, directory::Wanters::others, needed);
    return needed.empty();
  };
  const SlotId same_space = directory_.slot_in(piece.wanter, m.space);
  const SlotId host_side = directory_.slot_in(piece.wanter, host_space);
  policy::SaveChoices choices;
  choices.on_host = m.on_host();
  choices.wanter_is_clean = clean(same_space);
  choices.room_for_snapshot = m.on_host() || room_for_snapshot(device_of(m), piece.bytes, loss);
  const auto place = [&] {
    if (!choices.room_for_snapshot) choices.host_side_is_clean = clean(host_side);
    return policy::place_of_save(choices);
  };
  policy::SavePlace where = place();
  if (where == policy::SavePlace::snapshot_beside) {
    try {
      step.to = new_snapshot(m.space, piece.bytes, m.label)->slot;
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
    step.to = new_snapshot(host_space, piece.bytes, m.label)->slot;
  }
  step.bytes = piece.bytes;
  Memory& to = memory_of(step.to);
  if (to.on_host() != m.on_host() && !to.owns_allocation) {
    step.bytes = std::min(step.bytes, pages_->chunk_end(step.to_position) - step.to_position);
    Memory& host = m.on_host() ? m : to;
    const std::uint64_t position = m.on_host() ? step.from_position : step.to_position;
    if (const Obstacle o = directly_reached(host, {position, position + step.bytes})) return o;
    if (!pages_->locked(host, {position, position + step.bytes})) step.bytes = std::min(step.bytes, Staging::piece_bytes);
  }
  // The array's own content, or what has to give way: no copy is to blame.
  perform(step, loss == Loss::eviction || piece.wanter == m.datum ? plan::Purpose::write_back : plan::Purpose::save);
  return {};
}

/// A step that fails may have changed part of its destination already, which nobody needs: it holds nothing then (I9).
void Engine::perform(const Step& step, plan::Purpose purpose) {
  const Memory& to = memory_of(step.to);
  directory_.prepare_commit(step);  // nobody forgets what has moved
  plan::Step planned = copy_step(purpose, at(to, step.to_position), {}, step.bytes);
  if (step.from.valid()) {
    planned.from = at(memory_of(step.from), step.from_position);
  } else {
    planned.kind = plan::Step::Kind::fill;
    planned.fill = step.fill;
    planned.phase = step.value.offset;
  }
  try {
    execute(planned);
  } catch (...) {
    directory_.drop(step.to, {step.to_position, step.to_position + step.bytes});
    throw;
  }
  (void)pending_.take(to.datum, {step.to_position, step.to_position + step.bytes});
  directory_.commit(step);
}

std::uint64_t Engine::digest_of(Memory& m) {
  DeviceState& d = device_of(m);
  order_queue(d, d.within_queue, m, Mode::reads, Behind::all);
  std::vector<std::byte> copy;
  if (!permits(m.address, m.bytes, platform::Protection::read)) {
    copy.resize(m.bytes);
    platform_->read_behind(copy.data(), m.address, m.bytes);
  }
  return d.device->digest(d.queues->id(d.within_queue), copy.empty() ? m.address : copy.data(), m.bytes);
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
