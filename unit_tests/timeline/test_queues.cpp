// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/fake_device.hpp>
#include <semcache/timeline/queues.hpp>

#include <gtest/gtest.h>

namespace semcache::fakes {
namespace {

using timeline::QueueIndex;
using timeline::Queues;

char key;

struct QueuesTest : testing::Test {
  QueuesTest() : device(options(), [](const std::string& text) { ADD_FAILURE() << text; }), queues({&device}) {
    a = queues.open(0);
    b = queues.open(0);
  }
  static FakeDevice::Options options() {
    FakeDevice::Options o;
    o.eagerness = 0;
    o.finds_races = false;
    return o;
  }
  /// A piece of work on `q`; its number.
  std::uint64_t work(QueueIndex q, int& done) {
    std::byte pattern{1};
    device.fill(queues.id(q), memory.data(), 1, &pattern, 1);
    (void)done;
    return queues.begin_position(q);
  }
  std::vector<std::byte> memory = std::vector<std::byte>(64);
  FakeDevice device;
  Queues queues;
  QueueIndex a = 0;
  QueueIndex b = 0;
  int unused = 0;
};

TEST_F(QueuesTest, OneEventServesAllWhoWaitForLess) {
  const std::uint64_t first = work(a, unused);
  const std::uint64_t second = work(a, unused);
  const auto event = queues.event_after(a, second);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(queues.event_after(a, first), event);
  EXPECT_EQ(queues.event_after(a, second), event);
}

TEST_F(QueuesTest, LaterWorkNeedsALaterEvent) {
  const auto event = queues.event_after(a, work(a, unused));
  const auto later = queues.event_after(a, work(a, unused));
  ASSERT_NE(later, nullptr);
  EXPECT_NE(later, event);
  later->synchronize();
  EXPECT_TRUE(event->complete());
}

TEST_F(QueuesTest, AnEventTellsOfWhatItsQueueHadWaitedFor) {
  const QueueIndex c = queues.open(0);
  const std::uint64_t first = work(a, unused);
  queues.order(b, a, first);
  const std::uint64_t second = work(b, unused);
  queues.order(c, b, second);
  const std::uint64_t third = work(c, unused);
  EXPECT_TRUE(queues.ordered(c, a, first)) << "through b";
  queues.event_after(c, third)->synchronize();
  EXPECT_TRUE(queues.done(a, first));
  EXPECT_TRUE(queues.done(b, second));
  EXPECT_TRUE(queues.done(c, third));
  EXPECT_EQ(queues.event_after(a, first), nullptr);
}

TEST_F(QueuesTest, AnEventTellsNothingOfLaterWaits) {
  const auto event = queues.event_after(b, work(b, unused));
  const std::uint64_t at = work(a, unused);
  queues.order(b, a, at);
  const std::uint64_t behind = work(b, unused);
  event->synchronize();
  EXPECT_FALSE(queues.done(a, at));
  EXPECT_FALSE(queues.done(b, behind));
}

TEST_F(QueuesTest, WorkThatIsDoneNeedsNoEvent) {
  const std::uint64_t at = work(a, unused);
  EXPECT_FALSE(queues.done(a, at));
  queues.event_after(a, at)->synchronize();
  EXPECT_TRUE(queues.done(a, at));
  EXPECT_EQ(queues.event_after(a, at), nullptr);
}

TEST_F(QueuesTest, OrderIsSubmittedOnce) {
  const std::uint64_t first = work(a, unused);
  const std::uint64_t second = work(a, unused);
  queues.order(b, a, second);
  const std::uint64_t before = device.operations();
  queues.order(b, a, second);
  queues.order(b, a, first);
  EXPECT_EQ(device.operations(), before);
  EXPECT_TRUE(queues.ordered(b, a, second));
  EXPECT_FALSE(queues.ordered(a, b, 1));
}

TEST_F(QueuesTest, OrderHoldsLaterWorkBack) {
  const std::uint64_t at = work(a, unused);
  queues.order(b, a, at);
  const std::uint64_t mine = work(b, unused);
  queues.event_after(b, mine)->synchronize();
  EXPECT_TRUE(queues.reached(a, at)) << "the work on b waited for that on a";
}

TEST_F(QueuesTest, AStreamIsAdoptedOnceAndItsPositionsOutliveIt) {
  const QueueIndex q = queues.adopt(0, &key, {});
  EXPECT_EQ(queues.adopt(0, &key, {}), q);
  const std::uint64_t at = work(q, unused);
  queues.retire(q);
  EXPECT_TRUE(queues.done(q, at));
  const QueueIndex again = queues.adopt(0, &key, {});
  EXPECT_EQ(again, q);
  EXPECT_GT(work(again, unused), at);
}

TEST_F(QueuesTest, TheEndOfAStreamTellsOfAllQueues) {
  const QueueIndex q = queues.adopt(0, &key, {});
  const std::uint64_t other = work(a, unused);
  queues.retire(q);
  EXPECT_TRUE(queues.done(a, other)) << "it waited for the device";
}

TEST_F(QueuesTest, LaunchesNeedEventsWhereTheStreamMayEndAtAnyTime) {
  const QueueIndex usual = queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  EXPECT_FALSE(queues.needs_events(a)) << "our own";
  EXPECT_FALSE(queues.needs_events(usual));
  EXPECT_TRUE(queues.needs_events(q));
}

TEST_F(QueuesTest, ALeasedStreamNeedsEventsOnlyWhereNobodyTellsOfOthers) {
  (void)queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  queues.lease(q);
  EXPECT_TRUE(queues.needs_events(q));
  queues.set_others_are_told(true);
  EXPECT_FALSE(queues.needs_events(q));
  char third = 0;
  EXPECT_TRUE(queues.needs_events(queues.adopt(0, &third, {}))) << "it may end at any time";
  queues.set_others_are_told(false);
  EXPECT_TRUE(queues.needs_events(q));
  queues.set_others_are_told(true);
  queues.retire(q);
  EXPECT_TRUE(queues.needs_events(queues.adopt(0, &other, {}))) << "a stream of the same name, which nobody has leased";
}

TEST_F(QueuesTest, WhatIsSubmittedBeforeOthersSubmitIsWaitedForAlone) {
  (void)queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  queues.lease(q);
  queues.set_others_are_told(true);
  EXPECT_FALSE(queues.any_unrecorded());
  const std::uint64_t mine = work(q, unused);
  EXPECT_TRUE(queues.any_unrecorded());
  queues.record_leased();
  EXPECT_FALSE(queues.any_unrecorded());
  const std::uint64_t recorded = device.operations();
  queues.record_leased();
  EXPECT_EQ(device.operations(), recorded) << "there is an event behind it";
  const std::uint64_t theirs = work(q, unused);
  queues.wait_for(q, mine)();
  EXPECT_TRUE(queues.done(q, mine));
  EXPECT_FALSE(queues.done(q, theirs)) << "it may wait for us";
}

TEST_F(QueuesTest, AFenceOfOneStreamSeparatesItsOwnWork) {
  (void)queues.adopt(0, &key, {});
  char streams[2] = {};
  QueueIndex q[2];
  for (int i = 0; i < 2; ++i) {
    q[i] = queues.adopt(0, &streams[i], {});
    queues.lease(q[i]);
  }
  queues.set_others_are_told(true);
  std::uint64_t mine[2];
  for (int i = 0; i < 2; ++i) mine[i] = work(q[i], unused);
  queues.record_leased(&streams[0]);
  std::uint64_t theirs = work(q[0], unused);
  queues.wait_for(q[0], mine[0])();
  EXPECT_FALSE(queues.done(q[0], theirs)) << "it comes behind the fence";
  theirs = work(q[1], unused);
  queues.wait_for(q[1], mine[1])();
  EXPECT_TRUE(queues.done(q[1], theirs)) << "nothing separates it";
  EXPECT_TRUE(queues.any_unrecorded());
  char unknown = 0;
  queues.record_leased(&unknown);
  EXPECT_FALSE(queues.any_unrecorded()) << "a stream that nobody knows may have waited for any";
}

TEST_F(QueuesTest, WhatALeasedStreamWaitsForComesBehindAnEventOfItsOwn) {
  (void)queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  queues.lease(q);
  queues.set_others_are_told(true);
  const std::uint64_t mine = work(q, unused);
  const std::uint64_t transfer = work(a, unused);
  queues.order(q, a, transfer);
  queues.wait_for(q, mine)();
  EXPECT_FALSE(queues.done(a, transfer)) << "another stream's work may wait for us";
}

TEST_F(QueuesTest, WorkThatIsKnownToBeDoneNeedsNoEvent) {
  (void)queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  queues.lease(q);
  queues.set_others_are_told(true);
  const std::uint64_t mine = work(q, unused);
  queues.note_done(queues.happened_with(q, mine));  // the program's own fence
  EXPECT_FALSE(queues.any_unrecorded());
}

TEST_F(QueuesTest, NothingIsLeftOutWhereLaunchesGoToTheNullStream) {
  (void)queues.adopt(0, nullptr, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  queues.lease(q);
  queues.set_others_are_told(true);
  EXPECT_TRUE(queues.needs_events(q)) << "our own launches make it wait for others' streams";
}

TEST_F(QueuesTest, AStreamThatWasNeverLeasedMayBeAnotherOneByNow) {
  (void)queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  EXPECT_FALSE(queues.outlives_a_stream(q)) << "it has no work";
  (void)work(q, unused);
  EXPECT_TRUE(queues.outlives_a_stream(q));
  queues.lease(q);
  EXPECT_FALSE(queues.outlives_a_stream(q));
}

TEST_F(QueuesTest, AStreamThatIsGivenUpHasAnEventBehindItsWorkWhateverFails) {
  (void)queues.adopt(0, &key, {});
  char other = 0;
  const QueueIndex q = queues.adopt(0, &other, {});
  queues.lease(q);
  queues.set_others_are_told(true);
  const std::uint64_t mine = work(q, unused);
  ASSERT_TRUE(queues.begin_retiring(q).has_value());
  EXPECT_NE(queues.adopt(0, &other, {}), q) << "the next stream of that name";
  EXPECT_FALSE(queues.begin_retiring(q).has_value()) << "once";
  const std::uint64_t recorded = device.operations();
  queues.wait_for(q, mine)();  // the wait for the device was refused, say
  EXPECT_TRUE(queues.done(q, mine));
  EXPECT_EQ(device.operations(), recorded) << "nothing more is submitted to it";
}

TEST_F(QueuesTest, ALeasedStreamIsKeptUntilItsLastLeaseEnds) {
  const QueueIndex q = queues.adopt(0, &key, {});
  queues.lease(q);
  queues.lease(q);
  queues.retire(q);
  EXPECT_TRUE(queues.live(q));
  EXPECT_EQ(queues.adopt(0, &key, {}), q);
  queues.retire(q);
  EXPECT_FALSE(queues.live(q));
}

/// The driver may give the next stream the handle of one that has ended.
TEST_F(QueuesTest, AStreamWhoseEndFailsIsNotTakenForTheNextOneOfItsName) {
  const QueueIndex first = queues.adopt(0, &key, {});
  device.fail_call(1, FakeDevice::call_synchronize);
  EXPECT_ANY_THROW(queues.retire(first));
  device.fail_call(0, 0);
  EXPECT_NE(queues.adopt(0, &key, {}), first);
}

TEST_F(QueuesTest, TooManyStreamsAreUnknown) {
  std::vector<char> keys(timeline::max_queues + 1);
  QueueIndex last = 1;
  for (char& k : keys) last = queues.adopt(0, &k, {});
  EXPECT_EQ(last, timeline::unknown_queue);
}

using timeline::Mode;
using timeline::PartialUse;
using timeline::Uses;

bool nothing_is_done(QueueIndex, std::uint64_t) { return false; }

TEST(Uses, OfPartsCountForTheQueueThatTheyAreOn) {
  Uses uses;
  uses.note(2, 5, Mode::reads);
  uses.note(PartialUse{ByteRange{0, 10}, 2, Mode::writes, 7}, nothing_is_done);
  uses.note(PartialUse{ByteRange{20, 30}, 3, Mode::reads, 4}, nothing_is_done);
  EXPECT_EQ(uses.last(2), 7u);
  EXPECT_EQ(uses.last_write(2), 7u);
  EXPECT_EQ(uses.last(3), 4u);
  EXPECT_EQ(uses.last_write(3), 0u);
  EXPECT_EQ(uses.on(2).last(), 5u) << "of the whole memory";
  uses.forget();
  EXPECT_TRUE(uses.parts().empty());
  EXPECT_EQ(uses.last(2), 0u);
}

TEST(Uses, OfThePartsOfOnePieceOfWorkAreOneWhereTheyTouch) {
  Uses uses;
  uses.note(PartialUse{ByteRange{0, 10}, 1, Mode::reads, 1}, nothing_is_done);
  uses.note(PartialUse{ByteRange{10, 20}, 1, Mode::reads, 1}, nothing_is_done);
  uses.note(PartialUse{ByteRange{0, 20}, 1, Mode::reads, 3}, nothing_is_done);
  ASSERT_EQ(uses.parts().size(), 1u);
  uses.note(PartialUse{ByteRange{20, 30}, 1, Mode::reads, 4}, nothing_is_done);
  ASSERT_EQ(uses.parts().size(), 2u) << "later work";
  EXPECT_EQ(uses.parts()[0].where, Region(ByteRange{0, 20}));
  EXPECT_EQ(uses.parts()[0].position, 3u);
  uses.note(PartialUse{ByteRange{0, 20}, 1, Mode::writes, 4}, nothing_is_done);
  uses.note(PartialUse{ByteRange{0, 20}, 2, Mode::reads, 1}, nothing_is_done);
  uses.note(PartialUse{ByteRange{30, 40}, 1, Mode::reads, 5}, nothing_is_done);
  EXPECT_EQ(uses.parts().size(), 5u);
}

TEST(Uses, OfTooManyPartsCountForTheWholeMemory) {
  Uses uses;
  const auto note = [&](std::uint64_t i, std::uint64_t done) {
    uses.note(PartialUse{ByteRange{100 * i, 100 * i + 1}, 1, Mode::writes, i}, [&](QueueIndex, std::uint64_t at) { return at <= done; });
  };
  std::uint64_t i = 1;
  for (; i <= Uses::most_parts; ++i) note(i, 0);
  EXPECT_EQ(uses.on(1).last(), 0u);
  note(i++, 0);
  EXPECT_EQ(uses.parts().size(), Uses::most_parts);
  EXPECT_EQ(uses.on(1).write.load(), 1u) << "the first one";
  note(i++, 20);
  EXPECT_EQ(uses.on(1).write.load(), 20u) << "all that are done";
  EXPECT_EQ(uses.parts().size(), Uses::most_parts - 18);
  EXPECT_EQ(uses.last(1), i - 1);
}

}  // namespace
}  // namespace semcache::fakes
