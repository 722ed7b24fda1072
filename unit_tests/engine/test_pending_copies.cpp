// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <semcache/engine/pending_copies.hpp>

#include <gtest/gtest.h>

#include <random>

/// Which bytes of deferred copies were needed by nobody: exact, in every way in which they may be.
namespace semcache::fakes {
namespace {

using engine::Memory;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
char stream;

Traffic dropped(const Program& p) { return p.counters().dropped; }

/// A device array with content, and one to copy it to.
struct Pair : Program {
  explicit Pair(const Machine::Options& options = Program::defaults()) : Program(options) {
    kernel_write(&stream, from, from.all(), 1);
  }
  Memory& from = on_device(size);
  Memory& to = on_device(size);
};

TEST(DroppedCopies, ReadByAKernelAreNone) {
  Pair p;
  p.engine().copies.fill(p.to, 0, size, {{}, 8});  // replaced unread: that was no copy
  p.copy(p.to, p.from);
  p.device_content(&stream, p.to);
  p.kernel_write(&stream, p.to, p.to.all(), 2);
  p.free(p.to);

  EXPECT_EQ(dropped(p), (Traffic{0, 0}));
}

TEST(DroppedCopies, ReplacedByAnother) {
  Pair p;
  Memory& other = p.on_device(size);
  p.kernel_write(&stream, other, other.all(), 2);
  p.copy(p.to, p.from);
  p.copy(p.to, p.from);  // the same content: neither moved nor dropped
  EXPECT_EQ(dropped(p), (Traffic{0, 0}));

  p.engine().copies.copy(p.to.address + page, other.address, 3 * page);

  EXPECT_EQ(dropped(p), (Traffic{3 * page, 1}));
  p.free(p.to);
  EXPECT_EQ(dropped(p), (Traffic{3 * page + size, 2}));
}

TEST(DroppedCopies, Freed) {
  Pair p;
  p.copy(p.to, p.from);

  p.free(p.to);

  EXPECT_EQ(dropped(p), (Traffic{size, 1}));
}

TEST(DroppedCopies, Filled) {
  Pair p;
  p.copy(p.to, p.from);

  p.engine().copies.fill(p.to, page, 2 * page, {{}, 8});

  EXPECT_EQ(dropped(p), (Traffic{2 * page, 1}));
}

TEST(DroppedCopies, FilledByWhoeverHasTheDevicesAddress) {
  Pair p;
  p.copy(p.to, p.from);

  p.engine().copies.filled(p.to, page, 2 * page, {{}, 8});

  EXPECT_EQ(dropped(p), (Traffic{2 * page, 1}));
}

TEST(DroppedCopies, OverwrittenByTheHost) {
  Pair p;
  Memory& h = p.on_host(size);
  p.copy(h, p.from);
  p.host_write(h, {0, 1}, 3);  // fetches the rest of its page, and the pages that are read ahead
  const std::uint64_t fetched = p.counters().d2h.bytes;
  EXPECT_EQ(dropped(p), (Traffic{0, 0}));

  p.engine().access(h, h.all(), Access::overwrite);

  EXPECT_GT(fetched, 0u);
  EXPECT_EQ(dropped(p), (Traffic{size - fetched, 1}));
}

TEST(DroppedCopies, OverwrittenByWhoeverHasTheDevicesAddress) {
  Pair p;
  p.copy(p.to, p.from);

  p.engine().access(p.to, p.to.all(), Access::overwrite);

  EXPECT_EQ(dropped(p), (Traffic{size, 1}));
}

TEST(DroppedCopies, OverwrittenByCopiesOfOrdinaryMemory) {
  Pair p;
  const std::vector<std::byte> ordinary(page);
  p.copy(p.to, p.from);

  p.engine().copies.copy(p.to.address + page, ordinary.data(), page);

  EXPECT_EQ(dropped(p), (Traffic{page, 1}));
}

TEST(DroppedCopies, CopiedAgainWhereTheyDiffer) {
  Pair p;
  p.copy(p.to, p.from);
  Memory& h = p.on_host(size);
  p.copy(h, p.from);
  p.engine().access(h, {3 * page, 4 * page}, Access::overwrite);
  EXPECT_EQ(dropped(p), (Traffic{page, 1})) << "of the mirror";

  p.copy(p.to, h);

  EXPECT_EQ(dropped(p), (Traffic{2 * page, 2}));
  p.free(p.to);
  EXPECT_EQ(dropped(p), (Traffic{2 * page + size, 3}));
}

TEST(DroppedCopies, AreNotWhatWasSent) {
  Pair p;
  p.copy(p.to, p.from);
  engine::TransitBuffer* const buffer = p.engine().buffers.take(page, base::Side::host);
  const ByteRange piece{0, page};
  p.engine().foreign_io.read_out(p.to, 0, &piece, 1, *buffer, buffer->address);
  p.engine().foreign_io.settle_buffer(*buffer);
  p.engine().buffers.give(buffer);

  p.free(p.to);

  EXPECT_EQ(dropped(p), (Traffic{size - page, 1}));
}

TEST(DroppedCopies, OverwrittenByACopyAtTheCall) {
  Pair p;
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 3);
  p.engine().host_access.expose(h);  // open: copied at the call
  EXPECT_EQ(p.counters().opened, 1u);
  EXPECT_EQ(p.counters().exposed, 1u);
  p.copy(p.to, p.from);

  p.copy(p.to, h);

  EXPECT_EQ(p.counters().h2d.bytes, size);
  EXPECT_EQ(dropped(p), (Traffic{size, 1}));
}

TEST(DroppedCopies, AreNotWhatASideOfTheSameDatumHolds) {
  Pair p;
  Memory& side = p.on_host(size, &p.to);
  p.kernel_write(&stream, p.to, p.to.all(), 2);  // that side is stale, and nothing is pending for it

  p.copy(side, p.from);
  EXPECT_EQ(dropped(p), (Traffic{0, 0}));
  p.host_content(side);  // one of the sides has it: it was needed
  p.free(p.to);
  p.free(side);

  EXPECT_EQ(dropped(p), (Traffic{0, 0}));
}

TEST(DroppedCopies, AreNotWhatWasEvicted) {
  Machine::Options small = Program::defaults();
  small.engine.device_memory_bytes = 2 * size;
  Pair p(small);
  p.copy(p.to, p.from);
  p.device_content(&stream, p.to);
  for (const std::uint64_t seed : {3, 4}) {  // take the place of both
    Memory& other = p.on_device(size);
    p.kernel_write(&stream, other, other.all(), seed);
  }
  EXPECT_GE(p.counters().evictions, 2u);

  p.free(p.to);

  EXPECT_EQ(dropped(p), (Traffic{0, 0}));
}

TEST(PendingCopies, AreThoseOfAFlatArray) {
  constexpr std::uint64_t bytes = 97;
  std::mt19937 random(7);
  directory::Directory directory;
  engine::PendingCopies pending(directory);
  std::vector<bool> flat(bytes);
  const DatumId datum = directory.add_datum(bytes), other = directory.add_datum(bytes);
  for (int move = 0; move < 20000; ++move) {
    const std::uint64_t a = random() % (bytes + 1), b = random() % (bytes + 1);
    Region region = ByteRange{std::min(a, b), std::max(a, b)};
    if (region.empty()) continue;
    if (move % 1000 == 0) directory.shape(datum, random() % 3 == 0 ? one_column : 1 + random() % 20, 100);
    const std::uint64_t pitch = random() % 2 == 0 ? directory.pitch(datum) : 2 + random() % 20;
    if (pitch < region.width && random() % 2 == 0) region = Region(region.begin, 1 + random() % (pitch - 1), region.width / pitch, pitch);
    const bool adds = random() % 2 == 0;
    std::uint64_t expected = 0;
    for (std::uint64_t c = 0; c < region.columns; ++c) {
      for (std::uint64_t i = region.column(c).begin; i < region.column(c).end; ++i) {
        expected += flat[i];
        flat[i] = adds;
      }
    }
    if (adds) {
      pending.add(datum, region);
    } else {
      ASSERT_EQ(pending.take(datum, region), expected) << "move " << move;
      ASSERT_EQ(pending.take(other, region), 0u);
    }
  }
}

}  // namespace
}  // namespace semcache::fakes
