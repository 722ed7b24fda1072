// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "simulation.hpp"

#include <fakes/random.hpp>

#include <functional>

namespace semcache::directory {
namespace {

constexpr ByteRange front{0, 4};
constexpr ByteRange back{4, 8};
constexpr ByteRange both{0, 8};

/// Everything that can happen to two arrays with two slots and two extents each.
const std::vector<std::function<void(Simulation&)>>& events() {
  static const std::vector<std::function<void(Simulation&)>> all = [] {
    std::vector<std::function<void(Simulation&)>> e;
    for (std::size_t d = 0; d < 2; ++d) {
      for (std::size_t s = 0; s < 2; ++s) {
        e.push_back([=](Simulation& x) { x.write(d, s, front); });
        e.push_back([=](Simulation& x) { x.read(d, s, both); });
      }
      e.push_back([=](Simulation& x) { x.write(d, 0, both); });
      e.push_back([=](Simulation& x) { x.link(d, 0, 1 - d, 0, 8); });
      e.push_back([=](Simulation& x) { x.link(d, 4, 1 - d, 0, 4); });
      e.push_back([=](Simulation& x) { x.fill(d, back, 2); });
      e.push_back([=](Simulation& x) { x.drop(d, 0, both); });
    }
    e.push_back([](Simulation& x) { x.link(0, 4, 0, 0, 4); });
    e.push_back([](Simulation& x) { x.remove(1); });
    return e;
  }();
  return all;
}

TEST(Directory, EveryOrderOfFourEventsKeepsEveryValue) {
  // Then every byte of every array is read from every slot: nothing may be lost, whatever came before.
  const std::size_t n = events().size();
  const std::size_t remove = n - 1;
  std::size_t sequences = 0;
  for (std::size_t code = 0; code < n * n * n * n; ++code) {
    std::size_t order[4] = {code % n, code / n % n, code / n / n % n, code / n / n / n};
    Simulation x;
    x.add(8, 2);
    x.add(8, 2);
    bool removed = false;
    bool possible = true;
    for (const std::size_t e : order) {
      if (removed && e != remove) {
        // After the second array has gone only events of the first are possible.
        const bool first_only = e < 4 || e == 4 || e == 7 || e == 8 || e == n - 2;
        if (!first_only) possible = false;
      }
      if (removed && e == remove) possible = false;
      if (!possible) break;
      events()[e](x);
      removed = removed || e == remove;
      x.collect();
    }
    if (!possible) continue;
    ++sequences;
    x.audit();
    for (std::size_t d = 0; d < 2; ++d) {
      if (!x.data[d].live) continue;
      x.read(d, 1, both);
      x.read(d, 0, both);
    }
    x.audit();
    if (testing::Test::HasFatalFailure()) {
      FAIL() << "events " << order[0] << " " << order[1] << " " << order[2] << " " << order[3];
    }
  }
  EXPECT_GT(sequences, 50000u);
}

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
