// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "orders.hpp"

#include <fakes/random.hpp>

namespace semcache::directory {
namespace {

TEST(Directory, EveryOrderOfFourEventsKeepsEveryValue) { check_every_order(4); }
TEST(Directory, EveryOrderOfThreeEventsInThreeSpacesKeepsEveryValue) { check_every_order(3, 3); }
TEST(Directory, EveryOrderOfFourEventsWithAnIndexOfTheUsesKeepsEveryValue) { check_every_order(4, 2, of_vectors, Evictions::also_of_halves, 1); }
TEST(Directory, EveryOrderOfThreeEventsOfMatricesWithAnIndexOfTheUsesKeepsEveryValue) { check_every_order(3, 2, of_matrices, Evictions::also_of_halves, 1); }

/// Arrays of 8 to 16 bytes; the second half of the seeds gives some of them shapes, which change now and then. Every other seed has an index
/// of all uses.
TEST(Directory, LongRandomOrdersKeepEveryValueAndTellWhomTheyTouched) {
  for (std::uint64_t seed = 1; seed <= 1200; ++seed) {
    fakes::Random random(seed);
    Simulation x(seed % 2 == 0 ? 1 : 32);
    const bool shapes = seed > 400;
    const auto any_pitch = [&]() -> std::uint64_t { return shapes && random.chance(80) ? 1 + random.below(6) : one_column; };
    for (int i = 0; i < 4; ++i) x.add(8 + random.below(9), 1 + static_cast<std::uint32_t>(random.below(2)), any_pitch());
    const auto range = [&](std::size_t d) {
      const std::uint64_t size = x.data[d].bytes.size();
      const std::uint64_t begin = random.below(size);
      return ByteRange{begin, begin + 1 + random.below(size - begin)};
    };
    const auto region = [&](std::size_t d) -> Region {
      const ByteRange hull = range(d);
      const std::uint64_t pitch = random.chance(80) ? x.directory.pitch(x.data[d].id) : 1 + random.below(6);
      if (!shapes || pitch >= hull.size() || random.chance(40)) return hull;
      const std::uint64_t width = 1 + random.below(pitch);
      return {hull.begin, width, (hull.size() - width) / pitch + 1, pitch};
    };
    (void)x.directory.take_touched();
    for (int step = 0; step < 60; ++step) {
      const auto before = x.states();
      const std::size_t d = random.below(x.data.size());
      const std::size_t f = random.below(x.data.size());
      if (!x.data[d].live || !x.data[f].live) continue;
      const std::size_t s = random.below(x.data[d].slots.size());
      switch (random.below(shapes ? 8 : 7)) {
        case 0: x.write(d, s, region(d)); break;
        case 1:
        case 2: x.read(d, s, region(d)); break;
        case 3: {
          const Region from = region(f);
          const std::uint64_t size = x.data[d].bytes.size();
          if (from.is_range()) {
            const std::uint64_t n = std::min<std::uint64_t>(from.size(), size);
            x.link(d, random.below(size - n + 1), f, from.begin, n);
            break;
          }
          const std::uint64_t pitch = random.chance(70) ? from.pitch : from.width + random.below(3);
          const Region to(0, from.width, from.columns, pitch);
          if (to.end() > size || to.columns != from.columns) break;
          x.link(d, to.moved(static_cast<std::int64_t>(random.below(size - to.end() + 1))), f, from);
          break;
        }
        case 4: x.fill(d, region(d), 1u << random.below(3)); break;
        case 5: x.drop(d, s, region(d)); break;
        case 7: x.directory.shape(x.data[d].id, any_pitch(), random.chance(50) ? 4 : 100); break;
        default:
          if (random.chance(15)) {
            x.remove(d);
            x.add(8 + random.below(9), 2, any_pitch());
          }
      }
      x.collect();
      x.audit();
      // The engine looks at those only that are touched: whoever changed must be among them.
      std::map<std::pair<std::uint32_t, std::uint64_t>, bool> told;
      for (const auto& t : x.directory.take_touched()) {
        for (std::uint64_t i = t.range.begin; i < t.range.end; ++i) told[{t.slot.value, i}] = true;
      }
      for (const auto& [at, state] : x.states()) {
        const auto was = before.find(at);
        if (was != before.end() && was->second != state) {
          ASSERT_TRUE(told[at]) << "slot " << at.first << " byte " << at.second << " changed from " << was->second << " to "
                                << state << " and nobody was told; seed " << seed << ", step " << step;
        }
      }
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace semcache::directory
