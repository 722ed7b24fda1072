// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "simulation.hpp"

namespace semcache::directory {
namespace {

TEST(Directory, SecondReadCopiesNothing) {
  Simulation x;
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  x.read(0, 1, {0, 100});
  EXPECT_EQ(x.moved, 100u);
  x.read(0, 1, {10, 90});
  EXPECT_EQ(x.moved, 100u);
}

bool touched(Directory& d, SlotId slot) {
  bool found = false;
  for (const auto& t : d.take_touched()) found = found || t.slot == slot;
  return found;
}

/// Whoever holds the only copy of a value may change it in place, unless somebody watches it: he has to be told of that.
TEST(Directory, WatchingAValueTellsItsHolders) {
  Simulation x;
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  const SlotId slot = x.data[0].slots[0];
  (void)x.directory.take_touched();
  const auto extents = x.directory.wanted(x.data[0].id).extents({0, 100});

  x.directory.watch(extents);
  EXPECT_FALSE(x.directory.exclusive(slot, {0, 100}));
  EXPECT_TRUE(touched(x.directory, slot));
  x.directory.unwatch(extents);
  EXPECT_TRUE(x.directory.exclusive(slot, {0, 100}));
  EXPECT_TRUE(touched(x.directory, slot));
}

/// Pages of the other bytes of the same value stay open.
TEST(Directory, OfAValueTheWatchedBytesAloneAreShared) {
  Simulation x;
  x.add(100, 1);
  x.write(0, 0, {0, 100});
  const SlotId slot = x.data[0].slots[0];
  const auto watched = x.directory.wanted(x.data[0].id).extents({20, 30});
  x.directory.watch(watched);
  base::Vector<Region> shared;
  x.directory.shared(slot, {10, 90}, x.directory.wanted(x.data[0].id).at(10), shared);
  EXPECT_EQ(shared, (base::Vector<Region>{{20, 30}}));
  EXPECT_TRUE(x.directory.exclusive(slot, {30, 100}));
  x.directory.unwatch(watched);
}

/// A part has no memory for other bytes, so what happens to these does not concern it. Otherwise each task would look at all tiles.
TEST(Directory, APartIsToldOfItsOwnBytesAlone) {
  Simulation x;
  x.add(100, 1);
  const DatumId datum = x.data[0].id;
  const SlotId whole = x.data[0].slots[0], part = x.directory.add_part(datum, device_space(0), {20, 40});
  (void)x.directory.take_touched();

  x.write(0, 0, {40, 60});
  EXPECT_TRUE(x.directory.touched(part).empty());
  EXPECT_EQ(x.directory.touched(whole), (ByteRange{40, 60}));
  x.write(0, 0, {30, 50});
  EXPECT_EQ(x.directory.touched(part), (ByteRange{30, 40}));
  EXPECT_TRUE(touched(x.directory, part));
  EXPECT_TRUE(x.directory.touched(part).empty());
  x.directory.remove_slot(part);
}

TEST(Directory, WhatIsStaleOrSharedIsFound) {
  Simulation x;
  x.add(100, 2);
  const SlotId first = x.data[0].slots[0], second = x.data[0].slots[1];
  EXPECT_EQ(x.directory.find_stale(first, {0, 100}), Directory::nowhere);  // never written
  EXPECT_EQ(x.directory.find_shared(first, {0, 100}), 0u);
  x.write(0, 0, {0, 100});
  EXPECT_EQ(x.directory.find_stale(second, {10, 100}), 10u);
  EXPECT_EQ(x.directory.find_shared(first, {10, 100}), Directory::nowhere);
  x.write(0, 1, {40, 60});
  EXPECT_EQ(x.directory.find_stale(first, {0, 100}), 40u);
  EXPECT_EQ(x.directory.find_stale(first, {50, 100}), 50u);
  EXPECT_EQ(x.directory.find_stale(first, {60, 100}), Directory::nowhere);
  EXPECT_EQ(x.directory.find_shared(first, {0, 100}), 40u);
  x.read(0, 0, {40, 60});
  EXPECT_EQ(x.directory.find_stale(first, {0, 100}), Directory::nowhere);
  EXPECT_EQ(x.directory.find_shared(first, {0, 100}), 40u);
}

TEST(Directory, TheLastHolderIsToldThatTheOthersAreGone) {
  Simulation x;
  x.add(100, 2);
  const SlotId first = x.data[0].slots[0], second = x.data[0].slots[1];
  x.write(0, 0, {0, 100});
  x.read(0, 1, {0, 100});
  (void)x.directory.take_touched();

  x.directory.drop(second);
  EXPECT_TRUE(x.directory.exclusive(first, {0, 100}));
  EXPECT_TRUE(touched(x.directory, first));
  x.read(0, 1, {0, 100});
  EXPECT_FALSE(x.directory.exclusive(first, {0, 100}));
  EXPECT_TRUE(touched(x.directory, first));
}

TEST(Directory, WhatIsDefinedIsWhatSomebodyGaveAContent) {
  Simulation x;
  x.add(100, 1);
  EXPECT_FALSE(x.directory.defined(x.data[0].id, {0, 100}));
  x.write(0, 0, {40, 60});
  EXPECT_TRUE(x.directory.defined(x.data[0].id, {0, 100}));
  EXPECT_FALSE(x.directory.defined(x.data[0].id, {0, 40}));
  EXPECT_FALSE(x.directory.defined(x.data[0].id, {60, 100}));
}

TEST(Directory, ARedundantCopyIsUnchanged) {
  Simulation x;
  x.add(100, 1);
  x.add(100, 1);
  x.write(0, 0, {0, 100});
  EXPECT_EQ(x.directory.link(x.data[1].id, {0, 100}, x.data[0].id, {0, 100}), LinkResult::linked);
  EXPECT_EQ(x.directory.link(x.data[1].id, {0, 100}, x.data[0].id, {0, 100}), LinkResult::unchanged);
  EXPECT_EQ(x.directory.link(x.data[0].id, {0, 100}, x.data[1].id, {0, 100}), LinkResult::unchanged);
  EXPECT_EQ(x.directory.link(x.data[1].id, {0, 99}, x.data[0].id, {1, 100}), LinkResult::linked) << "the same value, displaced";
}

TEST(Directory, AnExclusiveWriteChangesNothing) {
  Simulation x;
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  const ValueRef before = x.directory.wanted(x.data[0].id).at(0);
  (void)x.directory.take_touched();
  x.directory.write(x.data[0].slots[0], {20, 30});
  EXPECT_EQ(x.directory.wanted(x.data[0].id).at(0), before);
  EXPECT_TRUE(x.directory.take_touched().empty());
}

TEST(Directory, NeighbouringWritesStayOneExtent) {
  Simulation x;
  x.add(100, 2);
  for (std::uint64_t i = 0; i < 10; ++i) x.write(0, 0, {10 * i, 10 * i + 10});
  EXPECT_EQ(x.directory.wanted(x.data[0].id).extent_count(), 1u);
}

TEST(Directory, AFillIsHeldByNobodyAndLostByNobody) {
  Simulation x;
  x.add(100, 2);
  x.fill(0, {0, 100}, 4);
  base::Vector<LastHeld> last;
  x.directory.last_held(x.data[0].slots[0], {0, 100}, Wanters::others, last);
  EXPECT_TRUE(last.empty());
  x.read(0, 1, {3, 50});
  EXPECT_EQ(x.moved, 0u);
}

TEST(Directory, WhatIsOverwrittenTogetherHoldsNothingForTheRest) {
  Directory d;
  const DatumId x = d.add_datum(100), y = d.add_datum(10);
  const SlotId slot = d.add_slot(x, host_space);
  d.write(slot, {0, 100});
  EXPECT_EQ(d.link(x, {50, 60}, x, {0, 10}), LinkResult::linked);
  const Step step = d.next_fetch(slot, {0, 100}, Topology());
  EXPECT_EQ(step.where, Region(50, 60));
  d.commit(step);  // the slot holds the value twice
  EXPECT_EQ(d.link(y, {0, 10}, x, {0, 10}), LinkResult::linked);
  const base::Vector<Region> both{{0, 10}, {50, 60}};

  for (const Region& range : both) {
    base::Vector<LastHeld> alone, together;
    d.last_held(slot, range, Wanters::itself_too, alone);
    EXPECT_TRUE(alone.empty()) << range.begin;
    d.last_held(slot, range, Wanters::itself_too, together, both);
    ASSERT_EQ(together.size(), 1u) << range.begin;
    EXPECT_EQ(together[0].where, range);
  }
}

TEST(Directory, AZeroFillIsHeldByMemoryThatNobodyHasWritten) {
  Directory d;
  const DatumId x = d.add_datum(100);
  const SlotId host = d.add_slot(x, host_space, Content::zeros), device = d.add_slot(x, SpaceId{1});
  Fill zero, one;
  zero.pattern_bytes = one.pattern_bytes = 4;
  one.pattern[2] = 1;

  d.fill(x, {0, 100}, one);
  EXPECT_FALSE(d.fresh(host, {0, 100})) << "these are no zeros";
  d.fill(x, {0, 100}, zero);
  EXPECT_TRUE(d.fresh(host, {0, 100}));
  EXPECT_FALSE(d.fresh(device, {0, 100})) << "of this memory nobody knows";
  EXPECT_FALSE(d.exclusive(host, {0, 100}));

  d.write(host, {40, 60});
  d.fill(x, {0, 100}, zero);
  base::Vector<Region> stale;
  d.stale(host, {0, 100}, stale);
  ASSERT_EQ(stale.size(), 1u) << "all of it was held by number, which the second fill replaced";
  EXPECT_EQ(stale.front(), (ByteRange{0, 100}));
  EXPECT_EQ(d.audit(), "");
}

TEST(Directory, OnlyTheBytesThatNobodyHasWrittenHoldAZeroFill) {
  Directory d;
  const DatumId x = d.add_datum(100);
  const SlotId host = d.add_slot(x, host_space, Content::zeros);
  Fill zero;
  zero.pattern_bytes = 8;
  d.write(host, {40, 60});
  d.drop(host, {80, 90});
  d.fill(x, {10, 100}, zero);
  base::Vector<Region> stale;
  d.stale(host, {0, 100}, stale);
  EXPECT_EQ(stale, (base::Vector<Region>{{40, 60}, {80, 90}}));
  EXPECT_EQ(d.audit(), "");
}

TEST(Directory, AWatchedValueIsNotChangedInPlace) {
  Simulation x;
  x.add(100, 1);
  x.write(0, 0, {0, 100});
  const auto numbers = x.directory.wanted(x.data[0].id).extents({0, 100});
  x.directory.watch(numbers);
  EXPECT_FALSE(x.directory.exclusive(x.data[0].slots[0], {0, 100}));
  x.directory.write(x.data[0].slots[0], {0, 100});
  EXPECT_NE(x.directory.wanted(x.data[0].id).at(0), numbers[0].ref);
  x.directory.unwatch(numbers);
  EXPECT_TRUE(x.directory.exclusive(x.data[0].slots[0], {0, 100}));
}

TEST(Directory, RestoreLeavesWhatWasWantedLater) {
  Simulation x;
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  x.read(0, 1, {0, 100});
  const auto numbers = x.directory.wanted(x.data[0].id).extents({0, 100});
  x.directory.watch(numbers);
  x.directory.write(x.data[0].slots[1], {0, 100});
  x.directory.write(x.data[0].slots[0], {0, 10});
  const ValueRef later = x.directory.wanted(x.data[0].id).at(0);

  x.directory.restore(x.data[0].slots[1], numbers);
  x.directory.unwatch(numbers);

  EXPECT_EQ(x.directory.wanted(x.data[0].id).at(0), later);
  EXPECT_TRUE(x.directory.fresh(x.data[0].slots[0], {0, 100})) << "its old number is wanted again";
  EXPECT_EQ(x.directory.audit(), "");
}

/// Whoever copies for the host has the least from the host's memory, also into memory of a device.
TEST(Directory, TheCheapestHolderIsTheSourceForAnyTopology) {
  constexpr Topology from_host{1, 1, 0};
  Directory d;
  const SpaceId device{1};
  const DatumId a = d.add_datum(100), b = d.add_datum(100), mirror = d.add_datum(100);
  const SlotId a_device = d.add_slot(a, device), b_device = d.add_slot(b, device), host = d.add_slot(mirror, host_space);
  d.write(a_device, {0, 100});
  for (const auto& [to, slot] : {std::pair{mirror, host}, {b, b_device}}) {
    EXPECT_EQ(d.link(to, {0, 100}, a, {0, 100}), LinkResult::linked);
    const Step step = d.next_fetch(slot, {0, 100}, from_host);
    EXPECT_EQ(step.from, slot == host ? a_device : host);
    d.commit(step);
  }
  EXPECT_EQ(d.audit(), "");
}

/// A transfer may name the device that it comes from, where several are equally near. A nearer one is taken all the same.
TEST(Directory, OfHoldersAtTheSameCostOneMayBeNamed) {
  Directory d;
  const DatumId a = d.add_datum(100);
  const SlotId host = d.add_slot(a, host_space);
  const SlotId slots[] = {d.add_slot(a, SpaceId{1}), d.add_slot(a, SpaceId{2}), d.add_slot(a, SpaceId{3}), d.add_slot(a, SpaceId{4})};
  d.write(host, {0, 100});
  for (const SlotId slot : {slots[0], slots[1], slots[2]}) d.commit(d.next_fetch(slot, {0, 100}, Topology()));
  for (const std::size_t k : {0u, 1u, 2u}) {
    EXPECT_EQ(d.next_fetch(slots[3], {0, 100}, Topology(), d.space(slots[k])).from, slots[k]);
  }
  EXPECT_NE(d.next_fetch(slots[3], {0, 100}, Topology(), host_space).from, host) << "it is farther";
  EXPECT_NE(d.next_fetch(slots[3], {0, 100}, Topology(), SpaceId{4}).from, slots[3]) << "it does not hold the value";
  EXPECT_EQ(d.audit(), "");
}

TEST(Directory, TheCheapestHolderIsTheSource) {
  Simulation x;
  x.add(100, 2);
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  x.read(0, 1, {0, 100});
  x.link(1, 0, 0, 0, 100);
  EXPECT_EQ(x.directory.next_fetch(x.data[1].slots[1], {0, 100}, Topology()).from, x.data[0].slots[1]);
  EXPECT_EQ(x.directory.next_fetch(x.data[1].slots[0], {0, 100}, Topology()).from, x.data[0].slots[0]);
  const Topology far_within{10, 2, 1};
  EXPECT_EQ(x.directory.next_fetch(x.data[1].slots[1], {0, 100}, far_within).from, x.data[0].slots[0]) << "another machine's";
}

TEST(Topology, PrefersTheSameSpaceThenDevicesThenTheLink) {
  const Topology t;
  EXPECT_LT(t.copy_cost(device_space(0), device_space(0)), t.copy_cost(device_space(1), device_space(0)));
  EXPECT_LT(t.copy_cost(device_space(1), device_space(0)), t.copy_cost(host_space, device_space(0)));
  EXPECT_EQ(t.copy_cost(host_space, device_space(0)), t.copy_cost(device_space(0), host_space));
}

/// A tile whose source was overwritten in part comes from the source and from the saved copy, in steps that do not grow with its columns.
TEST(Directory, ATileIsFetchedInFewSteps) {
  for (const std::uint64_t columns : {10u, 1000u}) {
    for (const bool rows : {true, false}) {
      Directory d;
      const DatumId a = d.add_datum(1000 * columns), b = d.add_datum(1000 * columns);
      ASSERT_TRUE(d.shape(a, 1000, 1));
      ASSERT_TRUE(d.shape(b, 1000, 1));
      const SlotId from = d.add_slot(a, SpaceId{1}), to = d.add_slot(b, SpaceId{1});
      d.write(from, ByteRange{0, 1000 * columns});
      const Region tile(0, 100, columns, 1000), overwritten(0, rows ? 50 : 100, rows ? columns : columns / 2, 1000);
      ASSERT_EQ(d.link(b, tile, a, tile), LinkResult::linked);

      base::Vector<LastHeld> last;
      d.last_held(from, overwritten, Wanters::itself_too, last);
      ASSERT_EQ(last.size(), 1u);
      EXPECT_EQ(last[0].where, overwritten);
      const Region saved(0, overwritten.width, overwritten.columns, 1000);
      const SlotId snapshot = d.add_snapshot(SpaceId{1}, saved);
      d.commit({snapshot, saved, from, 0, last[0].value, {}});
      d.write(from, overwritten);

      std::size_t steps = 0;
      for (; steps < 10; ++steps) {
        const Step step = d.next_fetch(to, tile, Topology());
        if (step.where.empty()) break;
        ASSERT_TRUE(step.from.valid());
        d.commit(step);
      }
      EXPECT_LE(steps, 4u) << columns << " columns";
      EXPECT_TRUE(d.fresh(to, tile));
      EXPECT_EQ(d.audit(), "");
    }
  }
}

/// What a datum without columns wants of columns is saved as columns.
TEST(Directory, ColumnsAreSavedTogetherForAWanterWithoutColumns) {
  Directory d;
  const DatumId a = d.add_datum(1000 * 500), b = d.add_datum(1000 * 500);
  ASSERT_TRUE(d.shape(a, 1000, 1));
  const SlotId from = d.add_slot(a, SpaceId{1});
  d.write(from, ByteRange{0, 1000 * 500});
  const Region tile(0, 100, 500, 1000);
  ASSERT_EQ(d.link(b, tile, a, tile), LinkResult::linked);
  base::Vector<LastHeld> last;
  d.last_held(from, tile, Wanters::itself_too, last);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].where, tile);
}

}  // namespace
}  // namespace semcache::directory
