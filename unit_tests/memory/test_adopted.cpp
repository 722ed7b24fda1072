// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <semcache/base/addresses.hpp>
#include <semcache/memory/adopted.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

namespace semcache::memory {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t granule = LookupTable::granule_bytes;
constexpr std::uint64_t region = std::uint64_t{1} << 30;

std::byte* at(std::uint64_t address) { return static_cast<std::byte*>(base::pointer(address)); }

struct Body : Memory {
  Body(std::uint64_t begin, std::uint64_t end, std::uint32_t front = 0, std::uint32_t behind = 0) {
    address = at(begin);
    bytes = end - begin;
    edge_before = front;
    edge_behind = behind;
  }
  [[nodiscard]] std::uint64_t begin() const { return base::number(address); }
  [[nodiscard]] std::uint64_t end() const { return begin() + bytes; }
};

TEST(AdoptedMemory, FindsNothingAtFirst) {
  const AdoptedMemory adopted(page);
  EXPECT_FALSE(adopted.any());
  EXPECT_EQ(adopted.find(at(region)), nullptr);
  EXPECT_EQ(adopted.find(at(UINT64_MAX)), nullptr);
  EXPECT_EQ(adopted.next(at(0), at(UINT64_MAX)), nullptr);
  EXPECT_EQ(adopted.find_near(at(0)), nullptr);
}

TEST(AdoptedMemory, EdgesAreNearAndDoNotCountAsBody) {
  AdoptedMemory adopted(page);
  Body first(region + page, region + 3 * page, 100, 200), second(region + 4 * page, region + 5 * page, page - 200, 0);
  adopted.enter(first);
  adopted.enter(second);
  EXPECT_EQ(adopted.find(at(region + page - 1)), nullptr);
  EXPECT_EQ(adopted.find_near(at(region + page - 100)), &first);
  EXPECT_EQ(adopted.find_near(at(region + page - 101)), nullptr);
  EXPECT_EQ(adopted.find_near(at(region + 3 * page + 199)), &first);
  EXPECT_EQ(adopted.find_near(at(region + 3 * page + 200)), &second) << "both have an edge on one page";
  EXPECT_EQ(adopted.find_near(at(region + 5 * page)), nullptr);
  EXPECT_TRUE(adopted.overlaps(at(region), at(region + page - 100)));
  EXPECT_FALSE(adopted.overlaps(at(region), at(region + page - 101)));
  EXPECT_TRUE(adopted.overlaps(at(region), at(2 * region)));
  EXPECT_FALSE(adopted.overlaps(at(region + 5 * page), at(2 * region)));
  adopted.forget(first);
  EXPECT_EQ(adopted.find_near(at(region + 3 * page + 100)), nullptr);
  EXPECT_EQ(adopted.find_near(at(region + 3 * page + 200)), &second);
  adopted.forget(second);
  EXPECT_FALSE(adopted.any());
}

TEST(AdoptedMemory, RangesByAddress) {
  AdoptedMemory adopted(page);
  adopted.ranges[at(1000)] = {500, "a", nullptr, false};
  adopted.ranges[at(2000)] = {1, "b", nullptr, false};
  EXPECT_EQ(adopted.overlapping(at(0), 1000), adopted.ranges.end());
  EXPECT_EQ(adopted.overlapping(at(0), 1001)->second.label, "a");
  EXPECT_EQ(adopted.overlapping(at(1499), 1)->second.label, "a");
  EXPECT_EQ(adopted.overlapping(at(1500), 500), adopted.ranges.end());
  EXPECT_EQ(adopted.overlapping(at(1500), 501)->second.label, "b");
  EXPECT_EQ(adopted.overlapping(at(2001), 5000), adopted.ranges.end());
  EXPECT_EQ(adopted.pages_of(at(1), page), ByteRange{});
  EXPECT_EQ(adopted.pages_of(at(1), 2 * page), (ByteRange{page, 2 * page}));
  EXPECT_EQ(adopted.pages_of(at(page), page), (ByteRange{page, 2 * page}));
}

/// Ranges of all sizes around borders of granules and regions, against a list.
TEST(AdoptedMemory, AgreesWithAList) {
  fakes::Random random(17);
  AdoptedMemory adopted(page);
  std::list<Body> bodies;
  const std::uint64_t first = 5 * region - 3 * granule, last = 5 * region + 3 * granule;
  const auto place = [&] { return first + random.below((last - first) / page) * page; };
  const auto by_address = [](const Body& a, const Body& b) { return a.begin() < b.begin(); };
  for (int move = 0; move < 20000; ++move) {
    if (random.chance(45)) {
      const std::uint64_t begin = place(), end = std::min(last, begin + (1 + random.below(random.chance(70) ? 8 : 1200)) * page);
      const bool free = std::none_of(bodies.begin(), bodies.end(), [&](const Body& b) { return b.begin() < end && begin < b.end(); });
      if (free) {
        bodies.emplace_back(begin, end);
        adopted.enter(bodies.back());
        bodies.sort(by_address);
      }
    } else if (!bodies.empty() && random.chance(60)) {
      const auto leaving = std::next(bodies.begin(), static_cast<std::ptrdiff_t>(random.below(bodies.size())));
      adopted.forget(*leaving);
      bodies.erase(leaving);
    }
    const std::uint64_t p = place() + random.below(page), end = p + random.below(2 * granule);
    const auto next = std::find_if(bodies.begin(), bodies.end(), [&](const Body& b) { return b.end() > p; });
    const Memory* const here = next != bodies.end() && next->begin() <= p ? &*next : nullptr;
    ASSERT_EQ(adopted.find(at(p)), here);
    const Memory* const ahead = next != bodies.end() && (next->begin() < end && end > p) ? &*next : nullptr;
    ASSERT_EQ(adopted.next(at(p), at(end)), ahead) << "from " << p << " to " << end;
    ASSERT_EQ(adopted.any(), !bodies.empty());
  }
  for (const Body& b : bodies) adopted.forget(b);
}

}  // namespace
}  // namespace semcache::memory
