// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/timeline/uses.hpp>

#include <gtest/gtest.h>

namespace semcache::timeline {
namespace {

TEST(Uses, RoomGrowsByPiecesAndWhatThereIsStaysInPlace) {
  Uses uses;
  for (QueueIndex q = 0; q < near_queues; ++q) uses.note(q, 100 + q, q % 2 == 0 ? Mode::reads : Mode::writes);
  const Use* const near = &uses.on(first_program_queue);
  const Use* far = nullptr;
  for (QueueIndex q = near_queues; q < max_queues; ++q) {
    if (Uses::begins_piece(q)) uses.extend(q + 1);  // as for a new queue of that number
    uses.note(q, 100 + q, q % 2 == 0 ? Mode::reads : Mode::writes);
    if (q == near_queues) far = &uses.on(q);
  }
  uses.extend(max_queues);
  EXPECT_EQ(&uses.on(first_program_queue), near);
  EXPECT_EQ(&uses.on(near_queues), far);
  for (QueueIndex q = 0; q < max_queues; ++q) {
    EXPECT_EQ(uses.on(q).read.load(), q % 2 == 0 ? 100 + q : 0) << q;
    EXPECT_EQ(uses.on(q).write.load(), q % 2 == 0 ? 0 : 100 + q) << q;
  }
  uses.forget();
  for (QueueIndex q = 0; q < max_queues; ++q) EXPECT_EQ(uses.on(q).last(), 0u) << q;
}

/// A process with one device has none but the near queues, and its arrays take no more memory than those need.
TEST(Uses, FewQueuesTakeNoFarMemory) {
  static_assert(sizeof(Uses) <= near_queues * sizeof(Use) + 2 * sizeof(void*));
  for (QueueIndex q = 0; q < near_queues; ++q) EXPECT_FALSE(Uses::begins_piece(q)) << q;
  EXPECT_TRUE(Uses::begins_piece(near_queues));
  EXPECT_FALSE(Uses::begins_piece(near_queues + 1));
}

}  // namespace
}  // namespace semcache::timeline
