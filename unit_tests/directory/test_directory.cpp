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

TEST(Directory, ARedundantCopyIsUnchanged) {
  Simulation x;
  x.add(100, 1);
  x.add(100, 1);
  x.write(0, 0, {0, 100});
  EXPECT_EQ(x.directory.link(x.data[1].id, 0, x.data[0].id, 0, 100), LinkResult::linked);
  EXPECT_EQ(x.directory.link(x.data[1].id, 0, x.data[0].id, 0, 100), LinkResult::unchanged);
  EXPECT_EQ(x.directory.link(x.data[0].id, 0, x.data[1].id, 0, 100), LinkResult::unchanged);
  EXPECT_EQ(x.directory.link(x.data[1].id, 0, x.data[0].id, 1, 99), LinkResult::linked) << "the same value, displaced";
}

TEST(Directory, AnExclusiveWriteChangesNothing) {
  Simulation x;
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  const ValueRef before = x.directory.wanted_at(x.data[0].id, 0);
  (void)x.directory.take_touched();
  x.directory.write(x.data[0].slots[0], {20, 30});
  EXPECT_EQ(x.directory.wanted_at(x.data[0].id, 0), before);
  EXPECT_TRUE(x.directory.take_touched().empty());
}

TEST(Directory, NeighbouringWritesStayOneExtent) {
  Simulation x;
  x.add(100, 2);
  for (std::uint64_t i = 0; i < 10; ++i) x.write(0, 0, {10 * i, 10 * i + 10});
  EXPECT_EQ(x.directory.extent_count(x.data[0].id), 1u);
}

TEST(Directory, AFillIsHeldByNobodyAndLostByNobody) {
  Simulation x;
  x.add(100, 2);
  x.fill(0, {0, 100}, 4);
  std::vector<LastHeld> last;
  x.directory.last_held(x.data[0].slots[0], {0, 100}, false, last);
  EXPECT_TRUE(last.empty());
  x.read(0, 1, {3, 50});
  EXPECT_EQ(x.moved, 0u);
}

TEST(Directory, AWatchedValueIsNotChangedInPlace) {
  Simulation x;
  x.add(100, 1);
  x.write(0, 0, {0, 100});
  const auto numbers = x.directory.wanted_extents(x.data[0].id, {0, 100});
  x.directory.watch(numbers);
  EXPECT_FALSE(x.directory.exclusive(x.data[0].slots[0], {0, 100}));
  x.directory.write(x.data[0].slots[0], {0, 100});
  EXPECT_NE(x.directory.wanted_at(x.data[0].id, 0), numbers[0].ref);
  x.directory.unwatch(numbers);
  EXPECT_TRUE(x.directory.exclusive(x.data[0].slots[0], {0, 100}));
}

TEST(Directory, RestoreLeavesWhatWasWantedLater) {
  Simulation x;
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  x.read(0, 1, {0, 100});
  const auto numbers = x.directory.wanted_extents(x.data[0].id, {0, 100});
  x.directory.watch(numbers);
  x.directory.write(x.data[0].slots[1], {0, 100});
  x.directory.write(x.data[0].slots[0], {0, 10});
  const ValueRef later = x.directory.wanted_at(x.data[0].id, 0);

  x.directory.restore(x.data[0].slots[1], {0, 100}, numbers);
  x.directory.unwatch(numbers);

  EXPECT_EQ(x.directory.wanted_at(x.data[0].id, 0), later);
  EXPECT_TRUE(x.directory.fresh(x.data[0].slots[0], {0, 100})) << "its old number is wanted again";
  EXPECT_EQ(x.directory.audit(), "");
}

TEST(Directory, TheCheapestHolderIsTheSource) {
  Simulation x;
  x.add(100, 2);
  x.add(100, 2);
  x.write(0, 0, {0, 100});
  x.read(0, 1, {0, 100});
  x.link(1, 0, 0, 0, 100);
  EXPECT_EQ(x.directory.next_fetch(x.data[1].slots[1], {0, 100}, &policy::copy_cost).from, x.data[0].slots[1]);
  EXPECT_EQ(x.directory.next_fetch(x.data[1].slots[0], {0, 100}, &policy::copy_cost).from, x.data[0].slots[0]);
}

}  // namespace
}  // namespace semcache::directory
