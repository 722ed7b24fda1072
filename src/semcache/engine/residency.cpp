// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

/// Device memory comes and goes behind stable addresses: what is mapped stays within the budget, the least recently
/// used array gives way, and the last holder is written back first (I4).
namespace semcache::engine {

ByteRange Engine::granules(const DeviceState& d, const Memory& m) const noexcept {
  if (m.bytes == 0) return {};
  const std::uint64_t unit = d.device->granularity_bytes();
  const auto at = static_cast<std::uint64_t>(m.address - d.base);
  return {round_down(at, unit), round_up(at + m.bytes, unit)};
}

std::uint64_t Engine::missing_bytes(const DeviceState& d, ByteRange range) const {
  std::uint64_t missing = range.size();
  auto it = d.segments.upper_bound(range.begin);
  if (it != d.segments.begin()) --it;
  for (; it != d.segments.end() && it->first < range.end; ++it) {
    missing -= intersect({it->second.begin, it->second.end}, range).size();
  }
  return missing;
}

void Engine::map_memory(DeviceState& d, Memory& m) {
  const ByteRange range = granules(d, m);
  // What it shares with neighbours is mapped apart: the rest can be given back while they stay.
  const std::uint64_t unit = d.device->granularity_bytes();
  const auto begin_of_memory = static_cast<std::uint64_t>(m.address - d.base);
  const ByteRange alone{round_up(begin_of_memory, unit), round_down(begin_of_memory + m.bytes, unit)};
  const auto map = [&](std::uint64_t begin, std::uint64_t end) {
    const auto segment = d.segments.emplace(begin, Segment{begin, end, 0}).first;
    try {
      if (options_.device_faults) {
        d.device->map_closed(d.base + begin, end - begin);
      } else {
        d.device->map(d.base + begin, end - begin);
      }
    } catch (...) {
      d.segments.erase(segment);
      throw;
    }
    if (options_.check && running_launches_ == 0) d.device->set_accessible(d.base + begin, end - begin, false);
    d.mapped_bytes += end - begin;
  };
  try {
    for (std::uint64_t at = range.begin; at < range.end;) {
      auto next = d.segments.upper_bound(at);
      if (next != d.segments.begin() && std::prev(next)->second.end > at) {
        at = std::prev(next)->second.end;
        continue;
      }
      const std::uint64_t end = at < alone.begin ? alone.begin : at < alone.end ? alone.end : range.end;
      const std::uint64_t stop = next == d.segments.end() ? end : std::min(end, next->first);
      map(at, stop);
      at = stop;
    }
  } catch (...) {
    for (auto it = d.segments.lower_bound(range.begin); it != d.segments.end() && it->first < range.end;) {
      const Segment& s = it->second;
      if (s.residents > 0) {
        ++it;
        continue;
      }
      d.device->unmap(d.base + s.begin, s.end - s.begin);
      d.mapped_bytes -= s.end - s.begin;
      it = d.segments.erase(it);
    }
    throw;
  }
  auto it = d.segments.upper_bound(range.begin);
  if (it != d.segments.begin()) --it;
  for (; it != d.segments.end() && it->first < range.end; ++it) {
    if (it->second.end > range.begin) ++it->second.residents;
  }
  m.flags.fetch_or(Memory::resident);
  if ((m.listed_by_age & d.bit()) != 0) return;
  m.listed_by_age |= d.bit();
  d.by_age.push_back({m.recently.load(), &m});
  std::push_heap(d.by_age.begin(), d.by_age.end());
}

void Engine::unmap_memory(DeviceState& d, Memory& m) noexcept {
  m.flags.fetch_and(~(Memory::resident | Memory::revocable));
  protect_guarded(m, platform::Protection::none);  // neighbours may keep the granules
  m.access = platform::Protection::none;
  const ByteRange range = granules(d, m);
  auto it = d.segments.upper_bound(range.begin);
  if (it != d.segments.begin()) --it;
  while (it != d.segments.end() && it->first < range.end) {
    Segment& s = it->second;
    if (s.end <= range.begin || --s.residents > 0) {
      ++it;
      continue;
    }
    d.device->unmap(d.base + s.begin, s.end - s.begin);
    d.mapped_bytes -= s.end - s.begin;
    it = d.segments.erase(it);
  }
}

void Engine::throw_out_of_memory(const DeviceState& d, const std::vector<Memory*>& set, std::uint64_t need) const {
  std::uint64_t bytes = 0;
  for (const Memory* m : set) bytes += m->bytes;
  std::string text = (set.size() == 1 ? std::string("1 array is") : std::to_string(set.size()) + " arrays are") +
                     " needed at once, " + std::to_string(bytes) + " bytes in all";
  if (need != bytes) text += " (" + std::to_string(need) + " in whole pages of the device)";
  const std::string budget =
      "the device's memory budget of " + std::to_string(d.budget_bytes) + " bytes (SEMCACHE_DEVICE_MEMORY)";
  text += need > d.budget_bytes ? ", which does not fit " + budget
                                : ", for which there is no room in " + budget + " beside arrays that are in use and cannot leave";
  text += ":\n";
  for (const Memory* m : set) text += "  " + std::to_string(m->bytes) + " bytes  '" + recorder_.name(m->label) + "'\n";
  text += "Live arrays:\n" + describe_live_buffers(set.front()->space.value - 1);
  if (UnsubmittedLaunch::current != nullptr) {
    std::string held;
    for (const Memory& m : pool_) {
      if (!m.live || m.on_host() || m.space != set.front()->space || (m.flags.load() & Memory::resident) == 0) continue;
      const std::uint64_t use = m.on(unknown_queue).use.load();
      if (use == 0 || d.queues->done(unknown_queue, use)) continue;
      held += "  '" + std::string(recorder_.name(m.label)) + "'\n";
    }
    if (!held.empty()) {
      text += "Announced with semcache::access, or captured by launches outside of semcache::Exec, and kept until the next "
              "launch of semcache::Exec that needs their room:\n" + held;
    }
  }
  text += "Raise the budget, or let one kernel use less.";
  throw OutOfMemory(text, need, d.budget_bytes);
}

Obstacle Engine::make_resident(Memory& m) {
  return m.on_host() || (m.flags.load() & Memory::resident) != 0 ? Obstacle() : make_resident(device_of(m), {&m});
}

Obstacle Engine::make_resident(DeviceState& d, const std::vector<Memory*>& set) {
  for (;;) {
    // Shared granules are counted once: the set's own, and what is missing of them.
    std::map<std::uint64_t, std::uint64_t> own;
    std::uint64_t missing = 0;
    bool all = true;
    for (const Memory* m : set) {
      all = all && (m->flags.load() & Memory::resident) != 0;
      const ByteRange range = granules(d, *m);
      if (!range.empty()) own[range.begin] = std::max(own[range.begin], range.end);
    }
    if (all) return {};
    std::uint64_t total = 0;
    std::uint64_t reached = 0;
    for (const auto& [begin, end] : own) {
      const ByteRange part{std::max(begin, reached), end};
      total += part.size();
      reached = std::max(reached, end);
    }
    for (auto part = own.begin(); part != own.end();) {  // of neighbours that share a granule, counted once
      ByteRange run{part->first, part->second};
      for (++part; part != own.end() && part->first <= run.end; ++part) run.end = std::max(run.end, part->second);
      missing += missing_bytes(d, run);
    }
    if (total > d.budget_bytes) throw_out_of_memory(d, set, total);
    // Messages' memory that nobody uses goes before anybody's content.
    if (d.mapped_bytes + idle_device_bytes_ + missing > d.budget_bytes && idle_device_bytes_ > 0) return Obstacle::idle_buffers(true);
    if (d.mapped_bytes + missing > d.budget_bytes) {
      const std::uint64_t before = d.mapped_bytes;
      collect_orphans();
      // What went may have shared granules with the set: they are missing now.
      if (d.mapped_bytes != before) continue;
      bool evicted = true;
      if (const Obstacle o = evict_one(d, set, evicted)) return o;
      if (!evicted) throw_out_of_memory(d, set, total);
      continue;
    }
    try {
      for (Memory* m : set) {
        if ((m->flags.load() & Memory::resident) == 0) execute(step_of(plan::Step::Kind::map, *m));
      }
      return {};
    } catch (const OutOfMemory&) {
      // Less is free than the budget assumed: somebody else uses the device too.
      if (idle_device_bytes_ > 0) return Obstacle::idle_buffers(true);
      bool evicted = true;
      if (const Obstacle o = evict_one(d, set, evicted)) return o;
      if (!evicted) throw;
    }
  }
}

bool Engine::may_leave(const DeviceState& d, const Memory& m, const std::vector<Memory*>& keep) const noexcept {
  if (m.bytes == 0 || m.freeing || m.pins.load() != 0 || std::find(keep.begin(), keep.end(), &m) != keep.end()) return false;
  // What a launch that is not submitted yet will use stays.
  const std::uint64_t use = m.on(unknown_queue).use.load();
  return UnsubmittedLaunch::current == nullptr || use == 0 || d.queues->done(unknown_queue, use);
}

Memory* Engine::longest_unused(DeviceState& d, const std::vector<Memory*>& keep) noexcept {
  auto& heap = d.by_age;
  const auto at = [&](std::size_t i) { return heap.begin() + static_cast<std::ptrdiff_t>(i); };
  Memory* found = nullptr;
  std::size_t end = heap.size();  // behind it lies what may not leave
  while (found == nullptr && end > 0) {
    std::pop_heap(heap.begin(), at(end));
    DeviceState::Resident& oldest = heap[--end];
    Memory& m = *oldest.memory;
    if (!m.live || m.on_host() || &device_of(m) != &d || (m.flags.load() & Memory::resident) == 0) {
      m.listed_by_age &= ~d.bit();
      oldest = heap.back();
      heap.pop_back();
    } else if (const std::uint64_t used = m.recently.load(); used != oldest.used) {
      oldest.used = used;
      std::push_heap(heap.begin(), at(++end));
    } else if (may_leave(d, m, keep)) {
      found = &m;
    }
  }
  while (end < heap.size()) std::push_heap(heap.begin(), at(++end));
  return found;
}

Obstacle Engine::evict_one(DeviceState& d, const std::vector<Memory*>& keep, bool& evicted) {
  // What was written back of it on the way was a use, too: without this each attempt would begin with another array.
  const bool begun = d.victim != nullptr && d.victim->recently.load() == d.victim_used &&
                     (d.victim->flags.load() & Memory::resident) != 0 && may_leave(d, *d.victim, keep);
  Memory* const victim = begun ? d.victim : longest_unused(d, keep);
  if (victim == nullptr) {
    evicted = false;
    // What another thread is freeing goes soon; what a launch uses leaves when that ends, which may wait for us.
    const bool leaving = std::any_of(d.by_age.begin(), d.by_age.end(), [](const DeviceState::Resident& r) {
      return r.memory->freeing && r.memory->pins.load() == 0;
    });
    return leaving ? Obstacle::moment() : Obstacle();
  }
  const Obstacle o = evict(*victim);
  d.victim = o ? victim : nullptr;
  d.victim_used = victim->recently.load();
  return o;
}

Obstacle Engine::evict(Memory& m) {
  if (const Obstacle o = quiesce(m)) return o;
  if (const Obstacle o = save_all(m, m.all(), Loss::eviction)) return o;
  if (const Obstacle o = uses_of(m)) return o;
  directory_.drop(m.slot);
  m.write_check.reset();
  execute(step_of(plan::Step::Kind::evict, m));
  if (m.snapshot()) destroy(m);
  return {};
}

bool Engine::room_for_snapshot(DeviceState& d, std::uint64_t bytes, Loss loss) const {
  if (loss == Loss::eviction) return false;
  const std::uint64_t share = d.budget_bytes / 100 * options_.snapshot_share_percent;
  const std::uint64_t rounded = round_up(bytes + 512, d.device->granularity_bytes());
  return d.snapshot_bytes + bytes <= share && d.mapped_bytes + rounded <= d.budget_bytes;
}

Memory* Engine::new_snapshot(SpaceId space, std::uint64_t bytes, trace::LabelId label) {
  Memory* m = new_memory(space, recorder_.name(label), bytes);
  try {
    if (m->on_host()) {
      m->address = static_cast<std::byte*>(std::aligned_alloc(page_bytes_, round_up(bytes, page_bytes_)));
      if (m->address == nullptr) {
        throw OutOfMemory("no host memory to save a copy of '" + std::string(recorder_.name(label)) + "' (" + std::to_string(bytes) +
                              " bytes). Free some, or remove copies that nobody reads", bytes, 0);
      }
      m->owns_allocation = true;
      host_snapshot_bytes_ += bytes;
    } else {
      place_on_device(*m);
      DeviceState& d = device_of(*m);
      // Where it lies decides how many granules it needs.
      if (d.mapped_bytes + missing_bytes(d, granules(d, *m)) > d.budget_bytes) {
        throw OutOfMemory("no room for a saved copy", bytes, d.budget_bytes);
      }
    }
    bind(*m, directory_.add_snapshot(space, bytes));
    if (!m->on_host()) {
      execute(step_of(plan::Step::Kind::map, *m));
      m->counted_snapshot = true;
      device_of(*m).snapshot_bytes += bytes;
    }
  } catch (...) {
    destroy(*m);
    throw;
  }
  note_perhaps_unwanted(*m);
  return m;
}

}  // namespace semcache::engine
