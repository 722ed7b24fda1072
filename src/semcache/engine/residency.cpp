// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/residency.hpp>

#include <algorithm>
#include <string>

namespace semcache::engine {

void Residency::throw_out_of_memory(const DeviceState& d, const std::vector<Memory*>& set, std::uint64_t need) const {
  std::uint64_t bytes = 0;
  for (const Memory* m : set) bytes += m->bytes;
  std::string text = (set.size() == 1 ? std::string("1 array is") : std::to_string(set.size()) + " arrays are") +
                     " needed at once, " + std::to_string(bytes) + " bytes in all";
  if (need != bytes) text += " (" + std::to_string(need) + " in whole pages of the device)";
  const std::string budget =
      s_.budget_of(d) + " of " + std::to_string(d.memory->budget_bytes()) + " bytes (SEMCACHE_DEVICE_MEMORY)";
  text += need > d.memory->budget_bytes() ? ", which does not fit " + budget
                                : ", for which there is no room in " + budget + " beside arrays that are in use and cannot leave";
  text += ":\n";
  for (const Memory* m : set) text += "  " + std::to_string(m->bytes) + " bytes  '" + s_.name(*m) + "'\n";
  text += "Live arrays:\n" + arrays_.describe_live_buffers(set.front()->space.value - 1);
  if (here().unsubmitted != nullptr) {
    std::string held;
    for (const Memory& m : s_.pool) {
      if (!m.live || m.on_host() || m.space != set.front()->space || !State::is_resident(m)) continue;
      const std::uint64_t use = m.on(unknown_queue).last();
      if (s_.unknown_use_over(m, use)) continue;
      held += "  '" + std::string(s_.name(m)) + "'\n";
    }
    if (!held.empty()) {
      text += "Announced with semcache::access, or captured by launches outside of semcache::Exec, and kept until the next "
              "launch of semcache::Exec that needs their room:\n" + held;
    }
  }
  text += "Raise the budget, or let one kernel use less.";
  throw OutOfMemory(text, need, d.memory->budget_bytes());
}

Obstacle Residency::make_resident(DeviceState& d, const std::vector<Memory*>& set) {
  for (;;) {
    if (std::all_of(set.begin(), set.end(), [](const Memory* m) { return State::is_resident(*m); })) return {};
    if (d.memory->working()) return Obstacle::mapping(d.index);
    const auto [total, missing] = d.memory->need_of(set);
    if (total > d.memory->budget_bytes()) throw_out_of_memory(d, set, total);
    // Idle memory of messages is given back before any content is evicted.
    const std::uint64_t idle = d.index == s_.home().index ? buffers_.idle_device_bytes() : 0;
    if (idle > 0 && !d.memory->fits(idle + missing)) {
      d.memory->forget_refusal();
      return Obstacle::idle_buffers();
    }
    if (d.memory->fits(missing)) {
      d.memory->ask(set);
      return Obstacle::mapping(d.index);
    }
    const std::uint64_t before = d.memory->mapped_bytes();
    arrays_.collect_orphans();
    // The saved copies that were freed may have shared granules with the set, and these are missing now.
    if (d.memory->mapped_bytes() != before) continue;
    bool evicted = true;
    if (const Obstacle o = evict_one(d, set, evicted)) return o;
    if (evicted) continue;
    d.memory->rethrow_refusal();
    throw_out_of_memory(d, set, total);
  }
}

bool Residency::may_leave(const Memory& m, const std::vector<Memory*>& keep) const noexcept {
  if (m.bytes == 0 || m.freeing || m.asked || s_.pinned(m) || std::find(keep.begin(), keep.end(), &m) != keep.end()) return false;
  // A launch that is not submitted yet keeps the memory mapped that it will use.
  const std::uint64_t use = m.on(unknown_queue).last();
  return here().unsubmitted == nullptr || s_.unknown_use_over(m, use);
}

Obstacle Residency::evict_one(DeviceState& d, const std::vector<Memory*>& keep, bool& evicted) {
  const auto leaves = [&](const Memory& m) { return may_leave(m, keep); };
  Memory* const victim = d.memory->victim(std::cref(leaves));  // by reference, so that no memory is taken
  if (victim == nullptr) {
    evicted = false;
    // Memory that another thread is freeing leaves soon, so it is waited for. Memory that a launch pins leaves when the launch
    // ends, but the launch may wait for this thread.
    const bool leaving = d.memory->any_mapped([this](const Memory& m) { return m.freeing && !s_.pinned(m); });
    return leaving ? Obstacle::moment() : Obstacle();
  }
  d.memory->eviction_ended();
  const Obstacle o = evict(*victim);
  if (o) d.memory->eviction_begun(*victim);
  return o;
}

Obstacle Residency::evict(Memory& m) {
  if (const Obstacle o = hazards_.quiesce(m)) return o;
  if (const Obstacle o = transfers_.save_all(m, m.positions(), Transfers::Loss::eviction)) return o;
  if (const Obstacle o = hazards_.uses_of(m)) return o;
  s_.directory.drop(m.slot);
  m.write_check.reset();
  executor_.execute(step_of(plan::Step::Kind::evict, m));
  if (m.snapshot()) arrays_.destroy(m);
  return {};
}

}  // namespace semcache::engine
