// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <semcache/directory/directory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace semcache::directory {
namespace {

using Owners = std::vector<std::pair<std::uint32_t, std::int64_t>>;  // and displacements

Owners sorted(Owners owners) {
  std::sort(owners.begin(), owners.end());
  return owners;
}

Owners about(const Uses& uses, ByteRange offsets) {
  Owners found;
  EXPECT_TRUE(uses.all_of(offsets, [&](const Use& u) {
    found.emplace_back(u.owner, u.delta);
    return true;
  }));
  return sorted(std::move(found));
}

/// Owners of all sizes that lie anywhere beside a value, also in front of it.
TEST(Uses, ThoseThatMayHaveSomeBytesAreFoundAsByALookAtEach) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    fakes::Random random(seed);
    const std::size_t scanned = std::array{1, 4, 32}[seed % 3];
    const std::uint64_t most = scanned == 1 ? 6 : 16;  // an index is used for all questions, also about very many cells
    const std::uint64_t longest = std::uint64_t{1} << (1 + random.below(most)), reach = std::uint64_t{1} << (4 + random.below(most));
    Uses uses;
    for (std::uint32_t step = 0; step < 600; ++step) {
      if (!uses.empty() && random.chance(step < 300 ? 20 : 60)) {
        const std::size_t at = random.below(uses.size());
        const Use last = uses[uses.size() - 1];
        const bool is_last = at + 1 == uses.size();
        ASSERT_TRUE(uses.add_extents(at, -1));
        ASSERT_TRUE(is_last || uses[at].owner == last.owner);
      } else {
        const auto delta = static_cast<std::int64_t>(random.below(reach)) - static_cast<std::int64_t>(random.below(2 * reach));
        const Use use{step, 1, delta, 1 + random.below(longest)};
        EXPECT_EQ(uses.find(step, delta, use.size), uses.size());
        uses.make_room(scanned);
        uses.add(use);
        ASSERT_FALSE(uses.add_extents(uses.size() - 1, +1));
        ASSERT_FALSE(uses.add_extents(uses.size() - 1, -1));
      }
      ASSERT_TRUE(uses.is_right(scanned)) << "seed " << seed << ", step " << step;
      const std::uint64_t begin = random.below(2 * reach);
      const ByteRange offsets{begin, begin + 1 + random.below(random.chance(50) ? 4 : reach)};
      Owners each;
      for (const Use& u : uses) {
        if (u.may_have(offsets)) each.emplace_back(u.owner, u.delta);
        const std::size_t place = uses.find(u.owner, u.delta, u.size);
        ASSERT_LT(place, uses.size());
        ASSERT_EQ(uses[place].owner, u.owner);
      }
      ASSERT_EQ(about(uses, offsets), sorted(each)) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Uses, AnIndexThatLacksAUseIsNotRight) {
  Uses uses;
  for (std::uint32_t i = 0; i < 3; ++i) uses.add({i, 1, 0, 8});  // without room made for them, so there is no index
  EXPECT_FALSE(uses.is_right(2));
  EXPECT_TRUE(uses.is_right(3));
  uses.make_room(1);
  EXPECT_TRUE(uses.is_right(2));
}

/// Two directories, of which one has an index wherever a value has two uses, and the other one never has any. All happens to both, and
/// each answer is compared.
class Twins {
 public:
  Directory indexed{1}, plain{SIZE_MAX};
  struct Array {
    DatumId datum;
    std::uint64_t bytes;
    std::vector<SlotId> slots;
  };
  std::vector<Array> arrays;
  std::vector<SlotId> snapshots;

  template <class Event>
  auto both(const Event& event) {
    const auto one = event(indexed);
    EXPECT_EQ(one, event(plain));
    return one;
  }
  void add(std::uint64_t bytes, std::uint32_t spaces) {
    Array a{both([&](Directory& d) { return d.add_datum(bytes); }), bytes, {}};
    for (std::uint32_t s = 0; s < spaces; ++s) {
      a.slots.push_back(both([&](Directory& d) { return d.add_slot(a.datum, SpaceId{s}); }));
    }
    arrays.push_back(a);
  }
  void remove(std::size_t i) {
    for (const SlotId s : arrays[i].slots) {
      for (Directory* const d : {&indexed, &plain}) d->detach(s);
      snapshots.push_back(s);
    }
    for (Directory* const d : {&indexed, &plain}) d->remove_datum(arrays[i].datum);
    arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void save(SlotId slot, const Region& range, Wanters wanters) {
    base::Vector<LastHeld> last;
    const auto lost = both([&](Directory& d) {
      last.clear();
      d.last_held(slot, range, wanters, last);
      std::vector<bool> bytes(d.size(slot));
      for (const LastHeld& l : last) {
        EXPECT_EQ(d.wanted(l.wanter).at(l.wanter_position), l.value);
        for (std::uint64_t i = l.where.begin; i < l.where.end(); ++i) {
          EXPECT_FALSE(bytes[i]) << "a byte is saved twice";
          bytes[i] = true;
        }
      }
      return bytes;
    });
    for (const LastHeld& l : last) {
      const ByteRange saved{0, l.where.size()};
      snapshots.push_back(both([&](Directory& d) { return d.add_snapshot(d.space(slot), saved); }));
      for (Directory* const d : {&indexed, &plain}) d->commit({snapshots.back(), saved, slot, l.where.begin, l.value, {}});
    }
  }
  void write(SlotId slot, const Region& range) {
    save(slot, range, Wanters::itself_too);
    for (Directory* const d : {&indexed, &plain}) d->write(slot, range);
  }
  void drop(SlotId slot, const Region& range) {
    save(slot, range, Wanters::others);
    for (Directory* const d : {&indexed, &plain}) d->drop(slot, range);
  }
  void fetch(SlotId slot, const Region& range) {
    for (;;) {
      Step step;
      both([&](Directory& d) {
        step = d.next_fetch(slot, range, Topology());
        const unsigned cost = step.from.valid() ? Topology().copy_cost(d.space(step.from), d.space(slot)) : 0;
        return std::tuple(step.where.begin, step.where.end(), step.from.valid(), cost);
      });
      if (step.where.empty() || testing::Test::HasFailure()) return;
      ASSERT_TRUE(step.from.valid());
      save(slot, step.where, Wanters::others);
      for (Directory* const d : {&indexed, &plain}) d->commit(step);
    }
  }
  /// Saved copies that nobody needs go. Whoever is touched is touched in both, and all that is shared is shared in both.
  void compare() {
    for (std::size_t i = 0; i < snapshots.size();) {
      if (both([&](Directory& d) { return d.needed(snapshots[i]); })) {
        ++i;
        continue;
      }
      for (Directory* const d : {&indexed, &plain}) d->remove_slot(snapshots[i]);
      snapshots.erase(snapshots.begin() + static_cast<std::ptrdiff_t>(i));
    }
    both([](Directory& d) {
      std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> touched;
      for (const auto& t : d.take_touched()) touched[t.slot.value] = {t.range.begin, t.range.end};
      return touched;
    });
  }
  void compare(SlotId slot, const Region& range) {
    both([&](Directory& d) { return std::pair(d.find_stale(slot, range), d.find_shared(slot, range)); });
    both([&](Directory& d) {
      std::vector<bool> bytes(d.size(slot));
      base::Vector<Region> pieces;
      d.all_of(slot, range, [&](const Region& part, ValueRef wanted, ValueRef held) {
        if (held == wanted && held.is_number()) d.shared(slot, part, held, pieces);
        return true;
      });
      for (const Region& p : pieces) std::fill(bytes.begin() + p.begin, bytes.begin() + p.end(), true);
      return bytes;
    });
  }
};

/// Pieces of a large array are copied to small ones and back, as `many_arrays --part parts` does.
TEST(Directory, AnIndexOfUsesChangesNoAnswer) {
  constexpr std::uint64_t large = 2048, piece = 16;
  for (std::uint64_t seed = 1; seed <= 240; ++seed) {
    fakes::Random random(seed);
    Twins x;
    x.add(large, 2);
    x.write(x.arrays[0].slots[1], ByteRange{0, large});
    for (int step = 0; step < 400; ++step) {
      if (x.arrays.size() < 120 && random.chance(step < 150 ? 80 : 15)) {
        x.add(random.chance(90) ? piece : 1 + random.below(large), 1 + static_cast<std::uint32_t>(random.below(2)));
        const std::uint64_t n = x.arrays.back().bytes, at = random.chance(50) ? random.below(large / n) * n : random.below(large - n + 1);
        x.both([&](Directory& d) { return d.link(x.arrays.back().datum, ByteRange{0, n}, x.arrays[0].datum, ByteRange{at, at + n}); });
      }
      const std::size_t a = random.chance(15) ? 0 : random.below(x.arrays.size()), from = random.below(x.arrays.size());
      const Twins::Array& array = x.arrays[a];
      const SlotId slot = array.slots[random.below(array.slots.size())];
      const std::uint64_t begin = random.chance(70) ? 0 : random.below(array.bytes);
      const ByteRange range{begin, random.chance(50) ? array.bytes : begin + 1 + random.below(array.bytes - begin)};
      switch (random.below(8)) {
        case 0: x.write(slot, range); break;
        case 1:
        case 2:
        case 3: x.fetch(slot, range); break;
        case 4: x.drop(slot, range); break;
        case 5: {
          const std::uint64_t n = std::min(range.size(), x.arrays[from].bytes), at = random.below(x.arrays[from].bytes - n + 1);
          x.both([&](Directory& d) { return d.link(array.datum, ByteRange{begin, begin + n}, x.arrays[from].datum, ByteRange{at, at + n}); });
          break;
        }
        case 6:
          if (a > 0) {
            x.remove(a);
            x.compare();
            continue;
          }
          break;
        default:
          for (Directory* const d : {&x.indexed, &x.plain}) d->changing(slot) ? d->mark_unchanging(slot) : d->mark_changing(slot);
      }
      x.compare(slot, range);
      x.compare();
      if (step % 20 == 0) {
        ASSERT_EQ(x.indexed.audit(), "");
      }
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace semcache::directory
