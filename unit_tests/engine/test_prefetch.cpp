// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <engine/program.hpp>

/// What the host will read is brought before it reads (`HostAccess::prefetch`).
namespace semcache::fakes {
namespace {

using engine::Memory;

char stream_a;
constexpr std::uint64_t size = 64 * 4096;

TEST(Prefetch, BringsBehindTheKernelAndDoesNotWaitForIt) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    bool ran = false;
    p.launch_parts(&stream_a, {{&d, d.all(), Access::overwrite}}, round, &ran);
    p.engine().host_access.prefetch(h, h.all());
    // The first transfer waits for the pages to be page-locked, and so may the kernel end.
    EXPECT_TRUE(!ran || round == 1) << round;
    EXPECT_EQ(p.counters().d2h.bytes, round * size) << "it has been submitted";
    const std::uint64_t faults = p.faults;
    p.expect_host(h, round);
    EXPECT_GT(p.faults, faults) << "the pages were closed until now";
    EXPECT_EQ(p.counters().d2h.bytes, round * size) << "and nothing moves again";
  }
  EXPECT_EQ(p.counters().device_waits, 0u);
}

TEST(Prefetch, OfAPartBringsThatAlone) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.kernel_write(&stream_a, d, d.all(), 1);
  const ByteRange part{5000, 9000};
  p.engine().host_access.prefetch(h, part);
  EXPECT_EQ(p.counters().d2h.bytes, part.size());
  p.engine().host_access.prefetch(h, part);
  EXPECT_EQ(p.counters().d2h.bytes, part.size()) << "it is there";
  p.expect_host(h, 1);
  EXPECT_EQ(p.counters().d2h.bytes, size);
}

TEST(Prefetch, OfWhatIsOverwrittenMeanwhileIsInVain) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.kernel_write(&stream_a, d, d.all(), 1);
  p.engine().host_access.prefetch(h, h.all());
  p.kernel_write(&stream_a, d, d.all(), 2);
  p.expect_host(h, 2);
  EXPECT_EQ(p.counters().d2h.bytes, 2 * size);
  // What the host has written is newest where it is.
  p.host_write(h, {0, 4096}, 3);
  p.engine().host_access.prefetch(h, h.all());
  EXPECT_EQ(p.counters().d2h.bytes, 2 * size);
  p.expect_host(h, {0, 4096}, 3);
  p.expect_device(d, {0, 4096}, 3);
}

/// Every later access goes through the list of transfers under way, so those that have ended must not stay in it until the host reads.
TEST(Prefetch, OfManyPartsForgetsWhatHasArrived) {
  Program::Options o = Program::defaults();
  o.device.eagerness = 60;
  Program p(o);
  constexpr std::uint64_t large = 256 * 4096;
  Memory& d = p.on_device(large);
  Memory& h = p.on_host(large, &d);
  p.kernel_write(&stream_a, d, d.all(), 1);
  p.expect_host(h, 1);  // from now on the pages are page-locked
  p.kernel_write(&stream_a, d, d.all(), 2);
  for (std::uint64_t at = 0; at < large; at += 4096) p.engine().host_access.prefetch(h, {at, at + 4096});
  EXPECT_LT(p.engine().state().flights.size(), 128u);
  p.expect_host(h, 2);
}

TEST(Prefetch, OfFreedMemoryIsAnErrorOfTheCaller) {
  Program p;
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size, &d);
  p.kernel_write(&stream_a, d, d.all(), 1);
  p.free(h);
  EXPECT_THROW(p.engine().host_access.prefetch(h, h.all()), UsageError);
}

/// Bytes that the host's processor is writing in a part of its own are left to that.
TEST(Prefetch, LeavesWhatTheHostIsWriting) {
  Program p;
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  Memory* const part = p.engine().lifetimes.allocate_host_part(h, ByteRange{0, 4096});
  const engine::Requirement writes{part, part->layout, Access::read_write};
  p.engine().host_uses.begin(&writes, 1);
  p.engine().host_access.prefetch(h, h.all());  // does not wait for the end of the use, which this thread has begun
  p.engine().host_uses.end(&writes, 1);
  p.expect_host(h, 1);
  p.engine().lifetimes.deallocate(part);
}

}  // namespace
}  // namespace semcache::fakes
