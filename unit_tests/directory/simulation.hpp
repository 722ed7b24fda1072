// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/directory/directory.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace semcache::directory {

/// Carries the directory's plans out on real bytes, as simply as can be: no queue, no page, no flight.
/// `datum[i]` says what every byte must be; 0 is "never written".
struct Simulation {
  /// @param scanned  so many uses of a value are looked at without an index
  explicit Simulation(std::size_t scanned = 32) : directory(scanned) {}
  struct Datum {
    DatumId id;
    std::vector<SlotId> slots;
    std::vector<std::uint8_t> bytes;
    bool live = true;
  };
  Directory directory;
  std::vector<Datum> data;
  std::map<std::uint32_t, std::vector<std::uint8_t>> memory;  // by slot
  std::vector<SlotId> snapshots;
  std::uint8_t next_byte = 1;
  std::uint64_t moved = 0;

  /// Calls `visit(position)` for each byte of the region.
  template <class Visit>
  static void for_each_byte(const Region& r, Visit&& visit) {
    for (std::uint64_t c = 0; c < r.columns && !r.empty(); ++c) {
      for (std::uint64_t i = r.column(c).begin; i < r.column(c).end; ++i) visit(i);
    }
  }

  void add(std::uint64_t bytes, std::uint32_t slots, std::uint64_t pitch = one_column) {
    Datum d;
    d.id = directory.add_datum(bytes);
    if (pitch != one_column) {
      ASSERT_TRUE(directory.shape(d.id, pitch, 1));
    }
    d.bytes.assign(bytes, 0);
    for (std::uint32_t s = 0; s < slots; ++s) {
      d.slots.push_back(directory.add_slot(d.id, SpaceId{s}));
      memory[d.slots.back().value].assign(bytes, 0xee);
    }
    data.push_back(d);
  }
  void carry_out(const Step& step) {
    ASSERT_TRUE(step.from.valid() || step.fill.pattern_bytes != 0) << "I4: lost";
    auto& to = memory[step.to.value];
    const std::vector<std::uint8_t> from = memory[step.from.valid() ? step.from.value : step.to.value];
    for_each_byte(step.where, [&](std::uint64_t i) {
      const std::uint64_t ahead = i - step.where.begin;
      if (step.from.valid()) {
        ASSERT_LT(step.from_position + ahead, from.size());
        ASSERT_TRUE(step.from != step.to || to[step.from_position + ahead] == from[step.from_position + ahead]) << "it overlaps itself";
      }
      to[i] = step.from.valid() ? from[step.from_position + ahead] : step.fill.pattern[(step.value.offset + ahead) % step.fill.pattern_bytes];
    });
    if (step.from.valid()) moved += step.where.size();
    directory.commit(step);
  }
  void save(SlotId slot, const Region& range, Wanters wanters) {
    base::Vector<LastHeld> last;
    directory.last_held(slot, range, wanters, last);
    for (const LastHeld& l : last) {
      for_each_byte(l.where, [&](std::uint64_t i) {
        bool inside = false;
        for_each_byte(range, [&](std::uint64_t k) { inside = inside || k == i; });
        ASSERT_TRUE(inside) << "what is not lost is not saved";
      });
      const Region saved(0, l.where.width, l.where.columns, l.where.pitch);
      const SlotId snapshot = directory.add_snapshot(directory.space(slot), saved);
      memory[snapshot.value].assign(saved.end(), 0xee);
      snapshots.push_back(snapshot);
      Step step;
      step.to = snapshot;
      step.where = saved;
      step.from = slot;
      step.from_position = l.where.begin;
      step.value = l.value;
      carry_out(step);
    }
  }
  void collect() {
    for (std::size_t i = 0; i < snapshots.size();) {
      if (directory.needed(snapshots[i])) {
        ++i;
        continue;
      }
      directory.remove_slot(snapshots[i]);
      snapshots.erase(snapshots.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  void fetch(SlotId slot, const Region& range) {
    for (int steps = 0; steps < 1000; ++steps) {
      const Step step = directory.next_fetch(slot, range, Topology());
      if (step.where.empty()) return;
      ASSERT_TRUE(range.hull().contains(step.where.hull()));
      save(slot, step.where, Wanters::others);
      carry_out(step);
      if (testing::Test::HasFatalFailure()) return;
    }
    FAIL() << "a fetch that never ends";
  }
  void read(std::size_t d, std::size_t s, const Region& range) {
    fetch(data[d].slots[s], range);
    ASSERT_TRUE(directory.fresh(data[d].slots[s], range));
    check(d, s, range);
  }
  void check(std::size_t d, std::size_t s, const Region& range) {
    for_each_byte(range, [&](std::uint64_t i) {
      if (data[d].bytes[i] != 0) {
        ASSERT_EQ(memory[data[d].slots[s].value][i], data[d].bytes[i]) << "I1: datum " << d << " slot " << s << " byte " << i;
      }
    });
  }
  void write(std::size_t d, std::size_t s, const Region& range) {
    const SlotId slot = data[d].slots[s];
    save(slot, range, Wanters::itself_too);
    for_each_in_shape(range, directory.pitch(slot), [&](const Region& part) { directory.write(slot, part); });
    for_each_byte(range, [&](std::uint64_t i) { memory[slot.value][i] = data[d].bytes[i] = take_byte(); });
    ASSERT_TRUE(directory.exclusive(slot, range)) << "I2";
  }
  void fill(std::size_t d, const Region& range, std::uint32_t pattern_bytes) {
    Fill f;
    f.pattern_bytes = pattern_bytes;
    for (std::uint32_t i = 0; i < pattern_bytes; ++i) f.pattern[i] = take_byte();
    const std::uint64_t pitch = directory.pitch(data[d].id);
    for_each_in_shape(range, pitch % pattern_bytes == 0 ? pitch : 0, [&](const Region& part) { directory.fill(data[d].id, part, f); });
    for (std::uint64_t c = 0; c < range.columns; ++c) {
      for (std::uint64_t i = 0; i < range.width; ++i) data[d].bytes[range.column(c).begin + i] = f.pattern[i % pattern_bytes];
    }
  }
  void link(std::size_t to, std::uint64_t to_at, std::size_t from, std::uint64_t from_at, std::uint64_t bytes) {
    link(to, ByteRange{to_at, to_at + bytes}, from, ByteRange{from_at, from_at + bytes});
  }
  /// @pre as many columns, of as many bytes
  void link(std::size_t to, const Region& there, std::size_t from, const Region& what) {
    directory.link(data[to].id, there, data[from].id, what);
    const std::vector<std::uint8_t> content = data[from].bytes;
    for (std::uint64_t c = 0; c < what.columns; ++c) {
      for (std::uint64_t i = 0; i < what.width; ++i) data[to].bytes[there.column(c).begin + i] = content[what.column(c).begin + i];
    }
  }
  void drop(std::size_t d, std::size_t s, const Region& range) {
    const SlotId slot = data[d].slots[s];
    save(slot, range, Wanters::others);
    for_each_in_shape(range, directory.pitch(slot), [&](const Region& part) { directory.drop(slot, part); });
    for_each_byte(range, [&](std::uint64_t i) { memory[slot.value][i] = 0xee; });
  }
  /// The whole datum goes; slots that somebody still needs live on as snapshots.
  void remove(std::size_t d) {
    for (const SlotId s : data[d].slots) directory.detach(s);
    directory.remove_datum(data[d].id);
    for (const SlotId s : data[d].slots) {
      base::Vector<LastHeld> last;
      directory.last_held(s, ByteRange{0, directory.size(s)}, Wanters::others, last);
      if (last.empty()) {
        directory.remove_slot(s);
      } else {
        snapshots.push_back(s);
      }
    }
    data[d].live = false;
  }
  /// Freshness and touching: whoever was told nothing has not changed.
  void audit() {
    const std::string wrong = directory.audit();
    ASSERT_EQ(wrong, "");
    for (std::size_t d = 0; d < data.size(); ++d) {
      if (!data[d].live) continue;
      for (std::size_t s = 0; s < data[d].slots.size(); ++s) {
        // What the directory calls fresh must be right, byte by byte.
        for (std::uint64_t i = 0; i < data[d].bytes.size(); ++i) {
          if (directory.fresh(data[d].slots[s], ByteRange{i, i + 1})) check(d, s, ByteRange{i, i + 1});
        }
      }
    }
  }
  /// Freshness and exclusiveness of every byte of every live slot.
  [[nodiscard]] std::map<std::pair<std::uint32_t, std::uint64_t>, int> states() const {
    std::map<std::pair<std::uint32_t, std::uint64_t>, int> out;
    for (const Datum& d : data) {
      if (!d.live) continue;
      for (const SlotId s : d.slots) {
        for (std::uint64_t i = 0; i < d.bytes.size(); ++i) {
          const Region byte = ByteRange{i, i + 1};
          out[{s.value, i}] = (directory.fresh(s, byte) ? 1 : 0) + (directory.exclusive(s, byte) ? 2 : 0);
        }
      }
    }
    return out;
  }
  std::uint8_t take_byte() {
    if (++next_byte == 0) next_byte = 1;
    return next_byte == 0xee ? ++next_byte : next_byte;
  }
};

}  // namespace semcache::directory
