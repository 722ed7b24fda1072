// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <semcache/directory/extent_map.hpp>

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

namespace semcache::directory {
namespace {

using ExtentMap = BasicExtentMap<ValueRef>;

ExtentMap::Extent extent(ByteRange r, ValueRef ref) { return {r.begin, r.end, ref}; }

/// What assign() told of appearing and vanishing extents, summed up.
struct Book {
  std::map<std::tuple<std::uint64_t, std::uint64_t, ValueId, std::uint64_t>, int> extents;
  void operator()(const ExtentMap::Extent& e, int change) {
    auto& n = extents[{e.begin, e.end, e.ref.id, e.ref.offset}];
    n += change;
    EXPECT_GE(n, 0) << "an extent vanished that never appeared";
    EXPECT_LE(n, 2);
    if (n == 0) extents.erase({e.begin, e.end, e.ref.id, e.ref.offset});
  }
};

TEST(ExtentMap, AgreesWithOneReferencePerByte) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    fakes::Random random(seed);
    const std::uint64_t size = 1 + random.below(60);
    ExtentMap map(size, {no_value, 0});
    std::vector<ValueRef> bytes(size, ValueRef{no_value, 0});
    Book book;
    book(extent({0, size}, {no_value, 0}), +1);
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t begin = random.below(size);
      const ByteRange range{begin, begin + 1 + random.below(size - begin)};
      const ValueId id = random.chance(20) ? undefined_value : random.chance(20) ? no_value : 1 + random.below(3);
      const ValueRef ref{id, id == undefined_value || id == no_value ? 0 : random.chance(60) ? range.begin : random.below(9)};

      map.assign(range, ref, [&](const ExtentMap::Extent& e, int change) { book(e, change); });

      for (std::uint64_t i = range.begin; i < range.end; ++i) bytes[i] = ref.advanced(i - range.begin);
      std::uint64_t reached = 0;
      std::size_t count = 0;
      map.for_each({0, size}, [&](ByteRange piece, ValueRef r) {
        ASSERT_EQ(piece.begin, reached) << "seed " << seed;
        reached = piece.end;
        ++count;
        for (std::uint64_t i = piece.begin; i < piece.end; ++i) ASSERT_EQ(r.advanced(i - piece.begin), bytes[i]) << "seed " << seed;
        if (piece.begin > 0) {
          ASSERT_NE(bytes[piece.begin - 1].advanced(1), r) << "not maximal, seed " << seed;
        }
        ASSERT_EQ((book.extents[{piece.begin, piece.end, r.id, r.offset}]), 1) << "seed " << seed;
      });
      ASSERT_EQ(reached, size);
      ASSERT_EQ(count, map.extent_count());
      ASSERT_EQ(count, book.extents.size());
      const std::uint64_t probe = random.below(size);
      ASSERT_EQ(map.at(probe), bytes[probe]);
    }
  }
}

TEST(ExtentMap, AppearancesAreToldFirst) {
  ExtentMap map(100, {1, 0});
  int order = 0;
  int first_vanished = 0;
  int last_appeared = 0;
  map.assign({40, 60}, {2, 0}, [&](const ExtentMap::Extent&, int change) {
    ++order;
    if (change > 0) last_appeared = order;
    if (change < 0 && first_vanished == 0) first_vanished = order;
  });
  EXPECT_LT(last_appeared, first_vanished) << "else a value would be forgotten on the way";
}

/// A property of bytes.
struct Mark {
  bool set = false;
  [[nodiscard]] Mark advanced(std::uint64_t) const { return *this; }
  friend bool operator==(Mark a, Mark b) { return a.set == b.set; }
};

TEST(ExtentMap, ExtendsARangeAsFarAsATestHolds) {
  BasicExtentMap<Mark> map(100, {});
  const auto mark = [&](ByteRange range) { map.assign(range, {true}, [](const auto&, int) {}); };
  const auto extended = [&](ByteRange range) { return map.extended(range, [](Mark m) { return m.set; }); };
  EXPECT_EQ(extended({40, 50}), (ByteRange{40, 50}));
  mark({20, 40});
  mark({50, 60});
  EXPECT_EQ(extended({40, 50}), (ByteRange{20, 60}));
  EXPECT_EQ(extended({42, 50}), (ByteRange{42, 60}));  // what lies in front is not marked
  EXPECT_EQ(extended({30, 35}), (ByteRange{20, 40}));
  mark({0, 20});
  mark({60, 100});
  EXPECT_EQ(extended({40, 50}), (ByteRange{0, 100}));
  EXPECT_EQ(extended({0, 100}), (ByteRange{0, 100}));
}

TEST(ExtentMap, VisitsClippedPiecesInOrder) {
  ExtentMap map(100, {1, 0});
  map.assign({50, 100}, {2, 7}, [](const ExtentMap::Extent&, int) {});
  std::vector<std::pair<ByteRange, ValueRef>> seen;
  map.for_each({40, 1000}, [&](ByteRange r, ValueRef ref) { seen.push_back({r, ref}); });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].first, (ByteRange{40, 50}));
  EXPECT_EQ(seen[0].second, (ValueRef{1, 40}));
  EXPECT_EQ(seen[1].first, (ByteRange{50, 100}));
  EXPECT_EQ(seen[1].second, (ValueRef{2, 7}));
}

TEST(ExtentMap, OfNothing) {
  ExtentMap map(0, {1, 0});
  EXPECT_EQ(map.size(), 0u);
  map.for_each({0, 10}, [](ByteRange, ValueRef) { FAIL(); });
}

}  // namespace
}  // namespace semcache::directory
