// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/engine.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

/// Device memory comes and goes behind stable addresses: what is mapped stays within the budget, the least recently
/// used array gives way, and the last holder is written back first (I4).
namespace semcache::engine {

void Engine::map_memory(Memory& m) {
  using Reach = DeviceMemory::Reach;
  device_of(m).memory->map(m, options_.device_faults                            ? Reach::closed
                              : options_.check && running_launches_ == 0 ? Reach::nowhere
                                                                         : Reach::open);
}

void Engine::unmap_memory(Memory& m) noexcept {
  m.flags.fetch_and(~Memory::revocable);  // first: no launch takes the short way to closed pages
  protect_guarded(m, platform::Protection::none);  // neighbours may keep the granules
  m.access = platform::Protection::none;
  device_of(m).memory->unmap(m);
  note_perhaps_unready(m);
}

void Engine::throw_out_of_memory(const DeviceState& d, const std::vector<Memory*>& set, std::uint64_t need) const {
  std::uint64_t bytes = 0;
  for (const Memory* m : set) bytes += m->bytes;
  std::string text = (set.size() == 1 ? std::string("1 array is") : std::to_string(set.size()) + " arrays are") +
                     " needed at once, " + std::to_string(bytes) + " bytes in all";
  if (need != bytes) text += " (" + std::to_string(need) + " in whole pages of the device)";
  const std::string budget =
      "the device's memory budget of " + std::to_string(d.memory->budget_bytes()) + " bytes (SEMCACHE_DEVICE_MEMORY)";
  text += need > d.memory->budget_bytes() ? ", which does not fit " + budget
                                : ", for which there is no room in " + budget + " beside arrays that are in use and cannot leave";
  text += ":\n";
  for (const Memory* m : set) text += "  " + std::to_string(m->bytes) + " bytes  '" + recorder_.name(m->label) + "'\n";
  text += "Live arrays:\n" + describe_live_buffers(set.front()->space.value - 1);
  if (here().unsubmitted != nullptr) {
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
  throw OutOfMemory(text, need, d.memory->budget_bytes());
}

Obstacle Engine::make_resident(DeviceState& d, const std::vector<Memory*>& set) {
  for (;;) {
    if (std::all_of(set.begin(), set.end(), [](const Memory* m) { return (m->flags.load() & Memory::resident) != 0; })) return {};
    const auto [total, missing] = d.memory->need_of(set);
    if (total > d.memory->budget_bytes()) throw_out_of_memory(d, set, total);
    // Messages' memory that nobody uses goes before anybody's content.
    if (idle_device_bytes_ > 0 && !d.memory->fits(idle_device_bytes_ + missing)) return Obstacle::idle_buffers(true);
    if (!d.memory->fits(missing)) {
      const std::uint64_t before = d.memory->mapped_bytes();
      collect_orphans();
      // What went may have shared granules with the set: they are missing now.
      if (d.memory->mapped_bytes() != before) continue;
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
  if (m.bytes == 0 || m.freeing || pinned(m) || std::find(keep.begin(), keep.end(), &m) != keep.end()) return false;
  // What a launch that is not submitted yet will use stays.
  const std::uint64_t use = m.on(unknown_queue).use.load();
  return here().unsubmitted == nullptr || use == 0 || d.queues->done(unknown_queue, use);
}

Obstacle Engine::evict_one(DeviceState& d, const std::vector<Memory*>& keep, bool& evicted) {
  Memory* const victim = d.memory->victim([&](const Memory& m) { return may_leave(d, m, keep); });
  if (victim == nullptr) {
    evicted = false;
    // What another thread is freeing goes soon; what a launch uses leaves when that ends, which may wait for us.
    const bool leaving = d.memory->any_mapped([this](const Memory& m) { return m.freeing && !pinned(m); });
    return leaving ? Obstacle::moment() : Obstacle();
  }
  d.memory->eviction_ended();
  const Obstacle o = evict(*victim);
  if (o) d.memory->eviction_begun(*victim);
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
  const std::uint64_t share = d.memory->budget_bytes() / 100 * options_.snapshot_share_percent;
  const std::uint64_t rounded = round_up(bytes + 512, d.device->granularity_bytes());
  return d.memory->snapshot_bytes + bytes <= share && d.memory->fits(rounded);
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
      if (!d.memory->fits(d.memory->missing_bytes(*m))) {
        throw OutOfMemory("no room for a saved copy", bytes, d.memory->budget_bytes());
      }
    }
    bind(*m, directory_.add_snapshot(space, bytes));
    m->since = Memory::never;
    if (!m->on_host()) {
      execute(step_of(plan::Step::Kind::map, *m));
      m->counted_snapshot = true;
      device_of(*m).memory->snapshot_bytes += bytes;
    }
  } catch (...) {
    destroy(*m);
    throw;
  }
  note_perhaps_unwanted(*m);
  return m;
}

}  // namespace semcache::engine
