// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/host_uses.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace semcache::engine {

void HostUses::expect_usable(const Requirement* uses, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    const Memory& m = *uses[i].memory;
    SEMCACHE_EXPECTS(m.live && !m.snapshot() && !m.freeing && m.part && m.on_host(),
                     std::string("'") + s_.name(m) + "' is used on the host as a part, but is none, or has been freed");
    const base::Vector<SlotId>& slots = s_.directory.slots(m.datum);
    SEMCACHE_EXPECTS(std::any_of(slots.begin(), slots.end(), [&](SlotId slot) { return !s_.memory_of(slot).part; }),
                     std::string("a part of '") + s_.name(m) + "' is used on the host after the array has been freed. Destroy the parts of an "
                                                              "array before the array");
    for (std::size_t k = 0; k < i; ++k) {
      const Memory& other = *uses[k].memory;
      if (m.datum != other.datum || (!writes(uses[i].mode) && !writes(uses[k].mode))) continue;
      SEMCACHE_EXPECTS(!overlap(m.layout, other.layout),
                       std::string("bytes of '") + s_.name(m) + "' are used on the host in two parts, and written: nobody could tell which of the "
                                                                "two counts. Use them in one part, or one after the other");
    }
  }
}

void HostUses::begin(const Requirement* uses, std::size_t count) {
  Transaction t(transactions_);
  const device::Visit visit(*s_.home().device);
  expect_usable(uses, count);
  base::Vector<Kept> kept;
  for (std::size_t i = 0; i < count; ++i) kept.emplace_back(*uses[i].memory);
  // A use that is under way may last long, and wait for this one.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  const auto awaited = [](const Requirement& use) { return use.memory->awaited != 0; };
  transactions_.give_way(t, [&] { return std::any_of(uses, uses + count, awaited) && std::chrono::steady_clock::now() < end; });
  for (std::size_t i = 0; i < count; ++i) {
    if (kept[i].freed()) continue;
    shapes_.shape(*uses[i].memory, uses[i].memory->layout);
    shapes_.keep_maps_short(t, *uses[i].memory);
  }
  t.run([&]() -> Obstacle {
    for (const Kept& part : kept) s_.expect_not_freed(part);
    expect_usable(uses, count);
    base::make_room(s_.host_uses, count);
    return prepare(uses, count);
  });
  for (std::size_t i = 0; i < count; ++i) {
    s_.host_uses.push_back({uses[i].memory, writes(uses[i].mode)});
    uses[i].memory->pins.fetch_add(1);
  }
}

/// Nothing is noted while a use stands in the way: a part that is to be overwritten and is noted holds anything. Then the write of one part
/// is noted before the next part is looked at, so that two parts which hold the same value do not each count on the other to keep it (I4).
Obstacle HostUses::prepare(const Requirement* uses, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!needs_content(uses[i].mode)) continue;
    if (const Obstacle o = transfers_.make_fresh(*uses[i].memory, uses[i].range)) return o;
  }
  for (const bool note : {false, true}) {
    for (const bool overwrites : {false, true}) {
      for (std::size_t i = 0; i < count; ++i) {
        Memory& m = *uses[i].memory;
        if (needs_content(uses[i].mode) == overwrites) continue;
        const bool unnoted = writes(uses[i].mode) && !s_.directory.exclusive(m.slot, uses[i].range);  // by an earlier attempt
        if (unnoted) {
          if (const Obstacle o = preparation_.save_for_write(m, {uses[i].range})) return o;
        }
        if (const Obstacle o = hazards_.busy(m, uses[i].range, mode_of(writes(uses[i].mode)))) return o;
        if (!note || !unnoted) continue;
        transfers_.prepare_written(m, uses[i].range);
        transfers_.note_written(m, uses[i].range);  // I2
      }
    }
  }
  return {};
}

void HostUses::end(const Requirement* uses, std::size_t count) noexcept {
  {
    Transaction t(transactions_);
    for (std::size_t i = 0; i < count; ++i) {
      const auto is_this = [&](const HostPartInUse& use) { return use.memory == uses[i].memory && use.writes == writes(uses[i].mode); };
      s_.host_uses.erase(std::find_if(s_.host_uses.begin(), s_.host_uses.end(), is_this));
      uses[i].memory->pins.fetch_sub(1);
      ++s_.ended_host_uses;
    }
    if (s_.options.protocol == Protocol::write_through) write_through(t, uses, count);
  }
  lifetimes_.free_put_off();
}

void HostUses::write_through(Transaction& t, const Requirement* uses, std::size_t count) noexcept {
  base::Vector<Kept> kept;
  try {
    for (std::size_t i = 0; i < count; ++i) kept.emplace_back(*uses[i].memory);
    for (std::size_t i = 0; i < count; ++i) {
      if (!kept[i].freed() && writes(uses[i].mode)) launches_.write_through(t, *uses[i].memory);
    }
  } catch (const std::exception& e) {
    base::raw_log("behind a use on the host its result was not sent ahead: %s. Results stay right", e.what());
  }
}

}  // namespace semcache::engine
