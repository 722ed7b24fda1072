// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/buffers.hpp>
#include <semcache/engine/transfers.hpp>

namespace semcache::engine {

/// Maps and evicts device memory behind stable addresses. What is mapped stays within the budget. Where there is no room, the
/// array that was used longest ago is evicted, and what only it holds is written back first (I4).
///
/// Threads: with the engine's lock.
class Residency : Parts {
 public:
  explicit Residency(const Parts& parts) noexcept : Parts(parts) {}

  /// Maps all arrays of a set that are in device memory, those of one device at once.
  /// @param array_at  returns the array for each index below `count`; nullptr: there is none
  /// @return no obstacle when all of them are mapped; otherwise the first obstacle
  /// @throws OutOfMemory  they do not fit the budget, or no array can be evicted for them
  template <class ArrayAt>
  Obstacle make_resident(std::size_t count, const ArrayAt& array_at) {
    bool resident = true;
    for (std::size_t i = 0; i < count; ++i) {
      const Memory* const m = array_at(i);
      resident = resident && (m == nullptr || State::is_resident(*m));
    }
    if (resident) return {};
    for (auto& d : s_.devices) {
      std::vector<Memory*> set;
      for (std::size_t i = 0; i < count; ++i) {
        Memory* const m = array_at(i);
        if (m != nullptr && m->space == device_space(d->index)) set.push_back(m);
      }
      if (const Obstacle o = make_resident(*d, set)) return o;
    }
    return {};
  }
  Obstacle make_resident(Memory& memory) {
    return make_resident(1, [&](std::size_t) { return &memory; });
  }

 private:
  Obstacle make_resident(DeviceState& d, const std::vector<Memory*>& set);
  /// Evicts the array that was used longest ago.
  /// @param keep  arrays that are not evicted
  /// @param evicted  is set to false if no array can be evicted
  Obstacle evict_one(DeviceState& d, const std::vector<Memory*>& keep, bool& evicted);
  /// May the array be evicted now?
  [[nodiscard]] bool may_leave(const Memory& memory, const std::vector<Memory*>& keep) const noexcept;
  /// @return no obstacle when the array's last held values are saved and its memory is given back; otherwise the first obstacle
  Obstacle evict(Memory& memory);
  [[noreturn]] void throw_out_of_memory(const DeviceState& d, const std::vector<Memory*>& set, std::uint64_t need) const;
};

}  // namespace semcache::engine
