// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <semcache/memory/host_memory.hpp>

#include <gtest/gtest.h>

/// Between a mirror that fills its pages and the next one lies a page that is no array's. It is protected as the mirror's last page,
/// so that neighbours with the same protection are one mapping of the kernel's, of which a process has 65,530.
namespace semcache::fakes {
namespace {

using engine::Memory;
using platform::FaultKind;
using platform::FaultResult;
using platform::Protection;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 2 * page;
char stream;

struct Gap : Program {
  explicit Gap(std::uint64_t bytes = size) : Program(defaults()), device(on_device(bytes)), mirror(on_host(bytes)) {}
  void make_stale(std::uint64_t seed) {
    kernel_write(&stream, device, device.all(), seed);
    copy(mirror, device);
  }
  [[nodiscard]] Protection last() { return protection(*this, mirror, size - 1); }
  [[nodiscard]] Protection gap() { return protection(*this, mirror, size); }
  Memory& device;
  Memory& mirror;
};

TEST(Gaps, FollowTheLastPage) {
  Gap p;
  p.make_stale(1);
  EXPECT_EQ(p.last(), Protection::none);
  EXPECT_EQ(p.gap(), Protection::none);
  p.expect_host(p.mirror, {0, 1}, 1);
  p.expect_host(p.mirror, {size - 1, size}, 1);
  EXPECT_EQ(p.last(), Protection::read);
  EXPECT_EQ(p.gap(), Protection::read);
  p.host_write(p.mirror, p.mirror.all(), 2);
  EXPECT_EQ(p.last(), Protection::read_write);
  EXPECT_EQ(p.gap(), Protection::read_write);
  p.make_stale(3);
  EXPECT_EQ(p.gap(), Protection::none);
  p.expect_host(p.mirror, 3);
}

TEST(Gaps, MayBeReadAndNotWrittenWhereTheMirrorIsStale) {
  Gap p;
  p.make_stale(1);
  EXPECT_EQ(p.engine().host_access.serve(p.mirror.address + size, FaultKind::write), FaultResult::not_ours);
  EXPECT_EQ(p.engine().host_access.serve(p.mirror.address + size + 8, FaultKind::read), FaultResult::served);
  EXPECT_EQ(p.gap(), Protection::read);
  EXPECT_EQ(p.last(), Protection::none) << "still stale";
  EXPECT_EQ(p.engine().host_access.serve(p.mirror.address + size, FaultKind::unknown), FaultResult::not_ours) << "a write";
  p.expect_host(p.mirror, 1);
  EXPECT_EQ(p.engine().host_access.serve(p.mirror.address + size + page, FaultKind::read), FaultResult::not_ours) << "nobody's";
}

/// The next array may have the page: it is full of zeros, and its first write is noticed. Pages of large mirrors are emptied without the lock.
TEST(Gaps, AreGivenBackAsTheyWere) {
  for (const std::uint64_t bytes : {size, memory::HostMemory::least_full}) {
    Gap p(bytes);
    p.host_write(p.mirror, p.mirror.all(), 2);
    std::byte* const there = p.mirror.address;
    there[bytes] = std::byte{42};  // a program's mistake, which nobody notices
    p.free(p.mirror);
    Memory& next = p.on_host(bytes + page - 128);
    ASSERT_EQ(next.address, there);
    EXPECT_EQ(p.protection(p, next, bytes), Protection::read);
    EXPECT_EQ(next.address[bytes], std::byte{0});
  }
}

TEST(Gaps, ManyStaleMirrorsAreOneMapping) {
  Gap p;
  std::vector<Memory*> mirrors;
  for (int i = 0; i < 16; ++i) mirrors.push_back(&p.on_host(size));
  p.kernel_write(&stream, p.device, p.device.all(), 1);
  for (Memory* m : mirrors) p.copy(*m, p.device);
  for (std::size_t i = 1; i < mirrors.size(); ++i) {
    ASSERT_EQ(mirrors[i]->address, mirrors[i - 1]->address + 3 * page);
    for (std::uint64_t at = 0; at < 3 * page; at += page) {
      EXPECT_EQ(p.platform().protection(mirrors[i - 1]->address + at), Protection::none) << i << ", " << at / page;
    }
  }
}

}  // namespace
}  // namespace semcache::fakes
