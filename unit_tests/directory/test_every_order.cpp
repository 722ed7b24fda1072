// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "orders.hpp"

#include <fakes/random.hpp>

namespace semcache::directory {
namespace {

TEST(Directory, EveryOrderOfFourEventsKeepsEveryValue) { check_every_order(4); }

TEST(Directory, LongRandomOrdersKeepEveryValueAndTellWhomTheyTouched) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    fakes::Random random(seed);
    Simulation x;
    for (int i = 0; i < 4; ++i) x.add(8 + random.below(9), 1 + static_cast<std::uint32_t>(random.below(2)));
    const auto range = [&](std::size_t d) {
      const std::uint64_t size = x.data[d].bytes.size();
      const std::uint64_t begin = random.below(size);
      return ByteRange{begin, begin + 1 + random.below(size - begin)};
    };
    (void)x.directory.take_touched();
    for (int step = 0; step < 60; ++step) {
      const auto before = x.states();
      const std::size_t d = random.below(x.data.size());
      const std::size_t f = random.below(x.data.size());
      if (!x.data[d].live || !x.data[f].live) continue;
      const std::size_t s = random.below(x.data[d].slots.size());
      switch (random.below(7)) {
        case 0: x.write(d, s, range(d)); break;
        case 1:
        case 2: x.read(d, s, range(d)); break;
        case 3: {
          const ByteRange from = range(f);
          const std::uint64_t n = std::min<std::uint64_t>(from.size(), x.data[d].bytes.size());
          x.link(d, random.below(x.data[d].bytes.size() - n + 1), f, from.begin, n);
          break;
        }
        case 4: x.fill(d, range(d), 1u << random.below(3)); break;
        case 5: x.drop(d, s, range(d)); break;
        default:
          if (random.chance(15)) {
            x.remove(d);
            x.add(8 + random.below(9), 2);
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
