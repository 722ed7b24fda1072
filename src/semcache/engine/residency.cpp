// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/residency.hpp>

#include <algorithm>
#include <string>

namespace semcache::engine {

void Residency::throw_out_of_memory(const DeviceState& d, const Blocks& set, std::uint64_t need) const {
  std::uint64_t bytes = 0;
  std::vector<std::pair<const Memory*, std::uint64_t>> arrays;  // and how many bytes of each
  for (const ArrayBlock& block : set) {
    if (arrays.empty() || arrays.back().first != block.memory) arrays.emplace_back(block.memory, 0);
    arrays.back().second += block.memory->blocks.range(block.index).size();
    bytes += block.memory->blocks.range(block.index).size();
  }
  std::string text = (arrays.size() == 1 ? std::string("1 array is") : std::to_string(arrays.size()) + " arrays are") +
                     " needed at once, " + std::to_string(bytes) + " bytes in all";
  if (need != bytes) text += " (" + std::to_string(need) + " in whole pages of the device)";
  const std::string budget =
      s_.budget_of(d) + " of " + std::to_string(d.memory->budget_bytes()) + " bytes (SEMCACHE_DEVICE_MEMORY)";
  text += need > d.memory->budget_bytes() ? ", which does not fit " + budget
                                : ", for which there is no room in " + budget + " beside arrays that are in use and cannot leave";
  text += ":\n";
  for (const auto& [m, part] : arrays) {
    text += "  " + std::to_string(part) + " bytes  " + (part < m->bytes ? "of " + std::to_string(m->bytes) + " of " : "") + "'" + s_.name(*m) + "'\n";
  }
  text += "Live arrays:\n" + arrays_.describe_live_buffers(d.index);
  if (here().unsubmitted != nullptr) {
    std::string held;
    for (const Memory& m : s_.pool) {
      if (!m.live || m.space != device_space(d.index) || !m.blocks.any_mapped()) continue;
      const std::uint64_t use = m.on(unknown_queue).last();
      if (s_.unknown_use_over(m, use)) continue;
      held += "  '" + std::string(s_.name(m)) + "'\n";
    }
    if (!held.empty()) {
      text += "Announced with semcache::access, or captured by launches outside of semcache::Exec, and kept until the next "
              "launch of semcache::Exec that needs their room:\n" + held;
    }
  }
  text += "Raise the budget, or let one kernel use less. (Of an array that is used in parts, only these parts are needed.)";
  throw OutOfMemory(text, need, d.memory->budget_bytes());
}

Obstacle Residency::make_resident(DeviceState& d, const Blocks& set, const Blocks& keep) {
  for (;;) {
    if (std::all_of(set.begin(), set.end(), [](const ArrayBlock& b) { return b.memory->blocks[b.index].mapped; })) return {};
    if (d.memory->working()) return Obstacle::mapping(d.index);
    const auto [total, missing] = d.memory->need_of(set);
    if (total > d.memory->budget_bytes()) throw_out_of_memory(d, set, total);
    // Idle memory of messages is given back before any content is evicted.
    const std::uint64_t idle = buffers_.idle_bytes(device_space(d.index));
    if (idle > 0 && !d.memory->fits(idle + missing)) {
      d.memory->forget_refusal();
      return Obstacle::idle_buffers(d.index);
    }
    if (d.memory->fits(missing)) {
      here().for_room.reset();
      d.memory->ask(set);
      return Obstacle::mapping(d.index);
    }
    const std::uint64_t before = d.memory->mapped_bytes();
    arrays_.collect_orphans();
    // The saved copies that were freed may have shared granules with the set, and these are missing now.
    if (d.memory->mapped_bytes() != before) continue;
    bool evicted = true;
    if (const Obstacle o = evict_one(d, keep, evicted)) return o;
    if (evicted) continue;
    d.memory->rethrow_refusal();
    throw_out_of_memory(d, set, total);
  }
}

bool Residency::may_leave(const ArrayBlock& block, const Blocks& keep, bool& pinned) const noexcept {
  const Memory& m = *block.memory;
  if (m.bytes == 0 || m.blocks[block.index].asked || std::binary_search(keep.begin(), keep.end(), block)) return false;
  if (s_.pinned(m)) {
    pinned = true;
    return false;
  }
  if (m.freeing) return false;
  // A launch that is not submitted yet keeps the memory mapped that it will use. Uses of guarded memory are noticed anyhow, so an array that
  // cannot be mapped as a whole gives way to its next part.
  if (here().unsubmitted == nullptr || (s_.guarded(m) && m.bytes > s_.device_of(m).memory->budget_bytes())) return true;
  const std::uint64_t use = m.on(unknown_queue).last();
  if (s_.unknown_use_over(m, use)) return true;
  if (use <= here().submitted && here().submitted_to == s_.serial && m.announced_use.by.load() == &here()) return true;
  // Of an array that is announced in parts, other blocks may leave.
  if (!m.announced_use.in_part.load() || m.announced_use.at.load() != m.recently.load()) return false;
  const ByteRange where = m.blocks.range(block.index);
  return std::none_of(m.in_part->announced.begin(), m.in_part->announced.end(), [&](const auto& part) { return may_overlap(part.where, where); });
}

Obstacle Residency::evict_one(DeviceState& d, const Blocks& keep, bool& evicted) {
  bool pinned = false;
  const auto leaves = [&](const ArrayBlock& block) { return may_leave(block, keep, pinned); };
  const auto described = [this](const Memory& spare) { return describe(spare); };
  const ArrayBlock victim = d.memory->victim(std::cref(leaves), std::cref(described));  // by reference, so that no memory is taken
  if (victim.memory == nullptr) {
    evicted = false;
    // Memory that another thread is freeing leaves soon, so it is waited for. Memory that a launch pins leaves when the launch
    // ends, but the launch may wait for this thread.
    const bool leaving = d.memory->any_mapped([this](const Memory& m) { return m.freeing && !s_.pinned(m); });
    if (leaving || (pinned && pins_end(d))) return Obstacle::moment();
    return {};
  }
  here().for_room.reset();
  d.memory->eviction_ended();
  const Obstacle o = evict(victim);
  if (o) d.memory->eviction_begun(victim);
  return o;
}

bool Residency::pins_end(const DeviceState& d) {
  Thread& thread = here();
  // Pins end without the lock, so those that were in the way may have ended since.
  if (!d.memory->any_mapped([this](const Memory& m) { return s_.pinned(m); })) return true;
  const bool perhaps_for_this = s_.surroundings.in_launch() || thread.in_driver_call != nullptr || thread.served_address != nullptr;
  if (perhaps_for_this && s_.copies_that_pin == 0) return false;
  if (!thread.for_room) thread.for_room.emplace(s_.options.patience);
  if (!thread.for_room->over()) return true;
  thread.for_room.reset();
  return false;
}

/// Is there no other memory with all of the array's content?
bool Residency::is_only_here(const Memory& m) const {
  const auto& slots = s_.directory.slots(m.datum);
  return std::none_of(slots.begin(), slots.end(), [&](SlotId slot) { return slot != m.slot && s_.directory.fresh(slot, m.positions()); });
}

policy::SpareMemory Residency::describe(const Memory& m) const {
  return {!is_only_here(m), m.bytes, m.seconds_to_make, policy::seconds_of_copy(s_.topology, m.space, host_space, m.bytes)};
}

Obstacle Residency::evict(const ArrayBlock& block) {
  Memory& m = *block.memory;
  const bool whole = m.blocks.count() == 1;
  const Region where = whole ? m.positions() : Region(m.blocks.range(block.index));
  if (const Obstacle o = hazards_.quiesce(m)) return o;
  if (m.spare && policy::leaves_as(describe(m)) == policy::LeavesAs::made_again) s_.directory.forget(m.datum);
  if (const Obstacle o = transfers_.save_all(m, where, Transfers::Loss::eviction)) return o;
  if (const Obstacle o = hazards_.conflicts_with(m, m.blocks.range(block.index), Mode::writes)) return o;
  if (whole) {
    s_.directory.drop(m.slot);
  } else {
    s_.directory.drop(m.slot, where);
  }
  m.write_check.reset();
  if (m.counted_snapshot) {
    m.snapshot_bytes -= m.blocks.range(block.index).size();
    s_.device_of(m).memory->snapshot_bytes -= m.blocks.range(block.index).size();
  }
  executor_.execute(step_of(plan::Step::Kind::evict, block));
  if (m.snapshot() && !m.blocks.any_mapped()) arrays_.destroy(m);
  return {};
}

Obstacle Residency::evict_stale(Memory& m) {
  for (std::size_t i = 0; i < m.blocks.count(); ++i) {
    if (!m.blocks[i].mapped || s_.directory.fresh(m.slot, m.blocks.range(i))) continue;
    if (m.blocks[i].asked) return Obstacle::mapping(State::device_index(m));
    if (const Obstacle o = evict({&m, i})) return o;
  }
  return {};
}

}  // namespace semcache::engine
