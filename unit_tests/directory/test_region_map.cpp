// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <semcache/directory/region_map.hpp>

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

namespace semcache::directory {
namespace {

/// How many extents of each displacement `assign` has told of.
struct Book {
  std::map<std::pair<ValueId, std::int64_t>, int> extents;
  void operator()(const RegionMap::Extent& e, int change) {
    auto& n = extents[{e.ref.id, e.displacement()}];
    n += change;
    EXPECT_GE(n, 0) << "an extent vanished that never appeared";
    if (n == 0) extents.erase({e.ref.id, e.displacement()});
  }
};

/// A region of an array of `size` bytes, often one that fits a matrix of that pitch.
Region any_region(fakes::Random& random, std::uint64_t size, std::uint64_t pitch) {
  const std::uint64_t begin = random.below(size);
  if (random.chance(40) || size - begin < 2) return Region(ByteRange{begin, begin + 1 + random.below(size - begin)});
  const std::uint64_t distance = random.chance(80) && pitch != one_column ? pitch : 1 + random.below(size - begin);
  const std::uint64_t width = 1 + random.below(std::min(distance, size - begin));
  return Region(begin, width, 1 + random.below((size - begin - width) / distance + 1), distance);
}

class RegionMaps : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RegionMaps, AgreeWithOneReferencePerByte) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    fakes::Random random(seed);
    const std::uint64_t pitch = GetParam();
    const std::uint64_t size = 1 + random.below(80);
    RegionMap map(size, {no_value, 0});
    Book book;
    if (pitch != one_column) {
      auto shaped = map.shaped(pitch, 1000);
      ASSERT_TRUE(shaped);
      map = *shaped;
    }
    map.for_each_extent([&](const RegionMap::Extent& e) { book(e, +1); });
    std::vector<ValueRef> bytes(size, ValueRef{no_value, 0});
    for (int step = 0; step < 60; ++step) {
      const Region region = any_region(random, size, pitch);
      const ValueId id = random.chance(20) ? undefined_value : random.chance(20) ? no_value : 1 + random.below(3);
      const ValueRef ref{id, id == undefined_value || id == no_value ? 0 : random.chance(60) ? region.begin : random.below(9)};

      base::Vector<Region> parts;
      for_each_in_shape(region, pitch, [&](const Region& part) { parts.push_back(part); });
      const std::uint64_t room = (map.make_room(parts), map.memory_bytes());
      for (const Region& part : parts) {
        ASSERT_TRUE(map.takes(part));
        map.assign(part, ref.advanced(part.begin - region.begin), [&](const RegionMap::Extent& e, int change) { book(e, change); });
      }

      ASSERT_EQ(map.memory_bytes(), room) << "room was made before, seed " << seed << ", step " << step;
      for (std::uint64_t c = 0; c < region.columns; ++c) {
        for (std::uint64_t i = region.column(c).begin; i < region.column(c).end; ++i) bytes[i] = ref.advanced(i - region.begin);
      }
      std::vector<int> visits(size, 0);
      const Region probe = random.chance(50) ? Region(ByteRange{0, size}) : any_region(random, size, pitch);
      map.for_each(probe, [&](const Region& piece, ValueRef r) {
        for (std::uint64_t c = 0; c < piece.columns; ++c) {
          for (std::uint64_t i = piece.column(c).begin; i < piece.column(c).end; ++i) {
            ASSERT_LT(i, size);
            ++visits[i];
            ASSERT_EQ(r.advanced(i - piece.begin), bytes[i]) << "byte " << i << ", seed " << seed << ", step " << step;
          }
        }
      });
      for (std::uint64_t c = 0; c < probe.columns; ++c) {
        for (std::uint64_t i = probe.column(c).begin; i < probe.column(c).end; ++i) --visits[i];
      }
      for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(visits[i], 0) << "byte " << i << ", seed " << seed << ", step " << step;
      // The same bytes, put together in another way, have the same extents.
      Book stored;
      map.for_each_extent([&](const RegionMap::Extent& e) { stored(e, +1); });
      ASSERT_EQ(stored.extents, book.extents) << "seed " << seed << ", step " << step;
      RegionMap again = *RegionMap(size, {no_value, 0}).shaped(pitch, 1000);
      for (std::uint64_t i = 0; i < size; ++i) {
        again.make_room(Region(ByteRange{i, i + 1}));
        again.assign(Region(ByteRange{i, i + 1}), bytes[i], [](const auto&, int) {});
      }
      if (pitch == one_column || size % pitch == 0) {
        ASSERT_EQ(again.extent_count(), map.extent_count()) << "not maximal, seed " << seed << ", step " << step;
      }
      const std::uint64_t at = random.below(size);
      ASSERT_EQ(map.at(at), bytes[at]);
      // Another shape is the same map.
      const std::uint64_t other_pitch = random.chance(30) ? one_column : 1 + random.below(size + 3);
      const auto other = map.shaped(other_pitch, 10000);
      std::uint64_t cut = 0;
      map.for_each(Region(ByteRange{0, size}), [&](const Region& piece, ValueRef) {
        if (!piece.is_range() && piece.pitch != other_pitch) cut += piece.columns;
      });
      ASSERT_EQ(other.has_value(), cut <= 64);
      for (std::uint64_t i = 0; other && i < size; ++i) ASSERT_EQ(other->at(i), bytes[i]) << "seed " << seed << ", step " << step;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Pitches, RegionMaps, testing::Values(one_column, 1, 2, 3, 7, 10, 64, 200));

const auto ignore = [](const RegionMap::Extent&, int) {};

RegionMap matrix(std::uint64_t rows, std::uint64_t columns) {
  return *RegionMap(rows * columns, {1, 0}).shaped(rows, 64);
}

TEST(RegionMap, HalfOfTheRowsIsOneExtent) {
  RegionMap map = matrix(1000, 500);
  EXPECT_EQ(map.extent_count(), 1u);
  map.make_room(Region(0, 500, 500, 1000));
  map.assign(Region(0, 500, 500, 1000), {2, 0}, ignore);
  EXPECT_EQ(map.extent_count(), 2u);
  EXPECT_EQ(map.extents(Region(0, 500, 500, 1000)).size(), 1u);
  map.assign(Region(500, 500, 500, 1000), {2, 500}, ignore);
  EXPECT_EQ(map.extent_count(), 1u);
  EXPECT_NE(map.uniform(), nullptr);
}

TEST(RegionMap, ATilingCostsAnExtentForEachTile) {
  RegionMap map = matrix(1200, 600);
  ValueId value = 2;
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (std::uint64_t j = 0; j < 3; ++j) {
      const Region tile(j * 200 * 1200 + i * 300, 300, 200, 1200);
      map.make_room(tile);
      map.assign(tile, {value++, 0}, ignore);
    }
  }
  EXPECT_EQ(map.extent_count(), 12u);
}

TEST(RegionMap, AByteRangeIsThreeExtentsAtMost) {
  RegionMap map = matrix(100, 50);
  map.make_room(Region(ByteRange{250, 1730}));
  map.assign(Region(ByteRange{250, 1730}), {2, 0}, ignore);
  EXPECT_EQ(map.extents(Region(ByteRange{250, 1730})).size(), 3u);
  EXPECT_EQ(map.extent_count(), 7u);  // in front, the columns at both ends (two each), between them, behind
}

TEST(RegionMap, OfAnotherPitchIsRefusedBeyondABound) {
  RegionMap map = matrix(1000, 500);
  map.make_room(Region(0, 500, 500, 1000));
  map.assign(Region(0, 500, 500, 1000), {2, 0}, ignore);
  EXPECT_FALSE(map.shaped(999, 64));
  EXPECT_FALSE(map.shaped(one_column, 64));
  map.assign(Region(500, 500, 500, 1000), {2, 500}, ignore);
  EXPECT_TRUE(map.shaped(999, 64));
}

TEST(RegionMap, OfNothing) {
  RegionMap map(0, {1, 0});
  EXPECT_EQ(map.size(), 0u);
  map.for_each(Region(ByteRange{0, 10}), [](const Region&, ValueRef) { FAIL(); });
}

/// One bit for each byte.
std::uint64_t bits(const Region& r) {
  std::uint64_t set = 0;
  for (std::uint64_t c = 0; c < r.columns && !r.empty(); ++c) {
    for (std::uint64_t i = r.column(c).begin; i < r.column(c).end; ++i) {
      EXPECT_EQ(set >> i & 1, 0u);
      set |= std::uint64_t{1} << i;
    }
  }
  return set;
}

TEST(Region, DifferencesAreThoseOfTheirBytes) {
  fakes::Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t pitch = 1 + random.below(12);
    const Region a = any_region(random, 60, pitch);
    const Region b = any_region(random, 60, random.chance(70) ? pitch : 1 + random.below(12));
    std::uint64_t rest = 0;
    for_each_difference(a, b, [&](const Region& piece) {
      ASSERT_EQ(rest & bits(piece), 0u);
      rest |= bits(piece);
    });
    const bool overlap = (bits(a) & bits(b)) != 0;
    if (overlap) {
      ASSERT_TRUE(may_overlap(a, b));
    }
    if (!overlap && (a.is_range() || b.is_range() || a.pitch == b.pitch)) {
      ASSERT_FALSE(may_overlap(a, b));
    }
    ASSERT_EQ(rest, bits(a) & ~bits(b)) << a.begin << " " << a.width << " " << a.columns << " " << a.pitch << " without " << b.begin << " "
                                        << b.width << " " << b.columns << " " << b.pitch;
    const std::int64_t distance = static_cast<std::int64_t>(random.below(60)) - 30;
    std::uint64_t inside = 0;
    for_each_inside(a, distance, 40, [&](const Region& piece) { inside |= bits(piece); });
    ASSERT_EQ(inside, (distance < 0 ? bits(a) >> -distance : bits(a) << distance) & ((std::uint64_t{1} << 40) - 1));
  }
}

TEST(Region, PiecesThatAreARegionTogetherBecomeOne) {
  std::vector<Region> pieces;
  append(pieces, Region(ByteRange{0, 10}));
  append(pieces, Region(ByteRange{10, 12}));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0], Region(ByteRange{0, 12}));
  append(pieces, Region(ByteRange{20, 32}));
  EXPECT_EQ(pieces.size(), 2u) << "two ranges stay two ranges";
  append(pieces, Region(100, 12, 2, 50));
  append(pieces, Region(200, 12, 3, 50));
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[2], Region(100, 12, 5, 50));
  append(pieces, Region(ByteRange{350, 362}));
  EXPECT_EQ(pieces[2], Region(100, 12, 6, 50));
}

}  // namespace
}  // namespace semcache::directory
