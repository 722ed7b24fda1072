// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <gtest/gtest.h>

/// Device memory that the host reaches is protected by its state, so that uses that nobody announced are noticed.
namespace semcache::fakes {
namespace {

using engine::Memory;
using platform::Protection;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 3 * page + 100;
char stream;

Protection of(Program& p, const Memory& m) { return Program::protection(p, m, 0); }

TEST(DeviceFaults, PagesFollowTheState) {
  Program p(Program::guarded());
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  EXPECT_EQ(of(p, d), Protection::none) << "no memory yet";
  p.kernel_write(&stream, d, d.all(), 1);
  EXPECT_EQ(of(p, d), Protection::read_write);
  p.copy(h, d);
  EXPECT_EQ(of(p, d), Protection::read) << "the mirror wants it";
  p.expect_host(h, 1);
  p.kernel_write(&stream, d, d.all(), 2);
  EXPECT_EQ(of(p, d), Protection::read_write);
  p.host_write(h, {0, 1}, 3);
  p.copy(d, h);
  EXPECT_EQ(of(p, d), Protection::none);
  EXPECT_EQ(Program::protection(p, d, size - 1), Protection::none) << "as a whole";
  p.expect_device(d, {0, 1}, 3, &stream);
  EXPECT_EQ(of(p, d), Protection::read);
  EXPECT_EQ(p.counters().unannounced, 0u);
}

/// Also those that had to be made valid first, with and without an array behind them.
TEST(DeviceFaults, AllPagesAreOpenAtTheEnd) {
  for (const bool more : {false, true}) {
    Program p(Program::guarded());
    Memory& stale = p.on_device(size);
    Memory& source = p.on_device(size);
    p.kernel_write(&stream, stale, stale.all(), 1);
    p.kernel_write(&stream, source, source.all(), 2);
    p.copy(stale, source);
    if (more) p.host_write(p.on_host(size), {0, size}, 3);
    p.ends();
    p.engine().host_access.open_everything();
    EXPECT_EQ(of(p, stale), Protection::read_write) << more;
    EXPECT_EQ(of(p, source), Protection::read_write) << more;
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(stale.address[i], Machine::mix(2, i)) << i;
  }
}

TEST(DeviceFaults, UsesOfThePagesAreRightAndCounted) {
  Program p(Program::guarded());
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  p.host_write(h, h.all(), 1);
  p.copy(d, h);

  std::vector<std::byte> seen(size);
  p.host_read(d, d.all(), seen.data());
  Program::expect(seen, d.all(), 1, "the device's pages");
  EXPECT_EQ(p.counters().unannounced, 1u);
  EXPECT_EQ(p.counters().h2d.bytes, size);
  p.host_write(d, d.all(), 2);
  EXPECT_EQ(p.counters().unannounced, 2u);
  p.expect_host(h, 1);
  p.copy(h, d);
  p.host_write(d, d.all(), 3);
  p.expect_host(h, 2);
  p.expect_device(d, 3);
  EXPECT_EQ(p.counters().unannounced, 3u);
  EXPECT_EQ(p.counters().device_waits, 0u) << "nobody waits for what the program does itself";
}

TEST(DeviceFaults, AKernelFindsItsPagesOpenToItsEnd) {
  Program p(Program::guarded());
  Memory& d = p.on_device(size);
  Memory& h = p.on_host(size);
  const engine::QueueIndex queue = p.queue(&stream);
  const engine::Operand operand{&d, true};
  p.engine().launches.begin_launch(queue, &operand, 1);
  p.copy(h, d);  // another thread's
  EXPECT_EQ(of(p, d), Protection::read_write);
  p.engine().launches.end_launch(queue, &operand, 1);
  EXPECT_EQ(of(p, d), Protection::read) << "closed behind it";
}

TEST(DeviceFaults, LaunchesThatNeedNothingChangeNoProtection) {
  Program p(Program::guarded());
  Memory& read = p.on_device(size);
  Memory& written = p.on_device(size);
  const auto launch = [&] { p.launch(&stream, {{&read, false}, {&written, true}}, [] {}); };
  p.kernel_write(&stream, read, read.all(), 1);
  launch();
  const std::uint64_t before = p.platform().protect_calls;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(written.flags.load() & Memory::revocable, Memory::revocable);
    launch();
  }
  EXPECT_EQ(p.platform().protect_calls, before);
}

TEST(DeviceFaults, SmallArraysHavePagesOfTheirOwn) {
  Program p(Program::guarded());
  const Memory* before = nullptr;
  for (const std::uint64_t bytes : std::vector<std::uint64_t>{1, 100, page - 128, page, page + 904, 8}) {
    const Memory& m = p.on_device(bytes);
    EXPECT_EQ(static_cast<std::uint64_t>(m.address - p.engine().state().home().memory->base()) % page, 0u);
    if (before != nullptr) {
      EXPECT_GE(m.address - before->address, static_cast<std::ptrdiff_t>(before->bytes + 128)) << "room for a header";
    }
    before = &m;
  }
}

/// Each protection of an array may be a mapping more.
TEST(DeviceFaults, TheLimitOnMappingsIsMetByDeviceMemoryAlone) {
  Program::Options o = Program::guarded();
  o.platform.mapping_limit = 50;
  Program p(o);
  for (int i = 0; i < 30 && p.engine().state().guarded_arena_bytes() > 0; ++i) {
    Memory& d = p.on_device(page);  // all fit
    p.kernel_write(&stream, d, d.all(), 1);
    EXPECT_EQ(of(p, d), Protection::read_write);
  }
  EXPECT_EQ(p.engine().state().guarded_arena_bytes(), 0u);
}

TEST(DeviceFaults, NearTheLimitOnMappingsAllIsOpen) {
  Program::Options o = Program::guarded();
  o.platform.mapping_limit = 20;
  Program p(o);
  Memory& first = p.on_device(size);
  p.fill(first, 7);
  std::vector<std::byte> seen(size);
  p.host_read(first, first.all(), seen.data());
  EXPECT_EQ(of(p, first), Protection::read);
  for (int k = 0; k < 20; ++k) {
    Memory& d = p.on_device(size);
    Memory& h = p.on_host(size);
    p.kernel_write(&stream, d, d.all(), k);
    p.copy(h, d);
    p.expect_host(h, k);
    p.expect_device(d, k);
  }
  EXPECT_EQ(of(p, first), Protection::read_write);
  Memory& last = p.on_device(size);
  p.kernel_write(&stream, last, last.all(), 1);
  EXPECT_EQ(p.engine().host_access.serve(last.address, platform::FaultKind::read), platform::FaultResult::not_ours);
}

}  // namespace
}  // namespace semcache::fakes
