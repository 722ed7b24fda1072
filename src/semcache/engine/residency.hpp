// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/own_memory.hpp>
#include <semcache/engine/buffers.hpp>
#include <semcache/engine/transfers.hpp>

#include <algorithm>

namespace semcache::engine {

/// Maps and evicts device memory behind stable addresses, block by block. What is mapped stays within the budget. Where there is no
/// room, the block that was used longest ago is evicted, and what only it holds is written back first (I4).
///
/// Threads: with the engine's lock.
class Residency : Parts {
 public:
  explicit Residency(const Parts& parts) noexcept : Parts(parts) {}

  /// Maps everything that is needed in device memory, for one device after the other.
  /// @param for_each_need  `for_each_need(visit)` calls `visit(memory, region)` for all that is needed at the same time
  /// @return no obstacle when all of it is mapped; otherwise the first obstacle
  /// @throws OutOfMemory  it does not fit the budget, or no block can be evicted for it
  template <class ForEachNeed>
  Obstacle make_resident(const ForEachNeed& for_each_need) {
    DeviceSet missing = 0;
    for_each_need([&](const Memory& m, const Region& where) {
      if (!State::is_resident(m, where)) missing |= DeviceSet{1} << State::device_index(m);
    });
    for (std::uint32_t device = 0; missing >> device != 0; ++device) {
      if ((missing >> device & 1) == 0) continue;
      const Blocks set = blocks_of(device, for_each_need);
      if (const Obstacle o = make_resident(*s_.devices[device], set, set)) return o;
    }
    return {};
  }
  /// Maps parts of one array, which are the first of everything that will be needed at the same time.
  template <class ForEachPart, class ForEachNeed>
  Obstacle make_first_resident(const Memory& memory, const ForEachPart& for_each_part, const ForEachNeed& for_each_need) {
    bool resident = true;
    for_each_part([&](const Memory& m, const Region& where) { resident = resident && State::is_resident(m, where); });
    if (resident) return {};
    const std::uint32_t device = State::device_index(memory);
    return make_resident(*s_.devices[device], blocks_of(device, for_each_part), blocks_of(device, for_each_need));
  }
  /// Does everything fit the devices' budgets that is needed at the same time?
  template <class ForEachNeed>
  [[nodiscard]] bool fits(const ForEachNeed& for_each_need) const {
    return std::all_of(s_.devices.begin(), s_.devices.end(), [&](const auto& d) {
      return d->memory->need_of(blocks_of(d->index, for_each_need)).total <= d->memory->budget_bytes();
    });
  }
  /// Can all of an array's memory be mapped at once?
  [[nodiscard]] bool fits_as_a_whole(Memory& memory) const {
    return memory.blocks.count() == 1 || fits([&](const auto& visit) { visit(memory, memory.all()); });
  }
  Obstacle make_resident(Memory& memory, const Region& where) {
    return make_resident([&](const auto& visit) { visit(memory, where); });
  }
  /// Evicts a block. @pre device memory that is mapped, and not pinned by the caller
  /// @return no obstacle when the block's last held values are saved and its memory is given back; otherwise the first obstacle
  Obstacle evict(const ArrayBlock& block);
  /// Evicts the blocks that hold stale content. So a kernel that uses more of the array than it should meets no memory, and ends with an
  /// error.
  /// @return no obstacle when everything is fresh that is mapped; otherwise the first obstacle
  Obstacle evict_stale(Memory& memory);

 private:
  using Blocks = base::Vector<ArrayBlock>;
  /// Returns the blocks of one device that are needed, sorted, each once.
  template <class ForEachNeed>
  [[nodiscard]] static Blocks blocks_of(std::uint32_t device, const ForEachNeed& for_each_need) {
    Blocks set;
    for_each_need([&](Memory& m, const Region& where) {
      if (m.space == device_space(device)) m.blocks.for_each(where, [&](std::size_t i) { set.push_back({&m, i}); });
    });
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    return set;
  }
  /// @param keep  blocks that are not evicted for them
  Obstacle make_resident(DeviceState& d, const Blocks& set, const Blocks& keep);
  /// Evicts the block that was used longest ago.
  /// @param keep  blocks that are not evicted, sorted
  /// @param evicted  is set to false if no block can be evicted
  Obstacle evict_one(DeviceState& d, const Blocks& keep, bool& evicted);
  /// Is it worth waiting for the pins that kept memory from being evicted? A launch of another thread ends its pins when it has been
  /// submitted, but it may wait for this thread. So the answer is no after a while. Where this thread is in a launch of its own, in a call of the
  /// driver, or serves a page fault, it is no at once, unless there are copies to ordinary memory, which wait for nobody.
  [[nodiscard]] bool pins_end(const DeviceState& d);
  /// May the block be evicted now?
  /// @param pinned  is set to true if it may not because it is pinned
  [[nodiscard]] bool may_leave(const ArrayBlock& block, const Blocks& keep, bool& pinned) const noexcept;
  [[nodiscard]] bool is_only_here(const Memory& memory) const;
  [[nodiscard]] policy::SpareMemory describe(const Memory& spare) const;
  [[noreturn]] void throw_out_of_memory(const DeviceState& d, const Blocks& set, std::uint64_t need) const;
};

}  // namespace semcache::engine
