// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <engine/program.hpp>

#include <gtest/gtest.h>


/// The kernel refuses to relax pages, because its limit on mappings is used up: by the program, at any time.
namespace semcache::fakes {
namespace {

using engine::Memory;
using platform::Protection;

const std::uint64_t page = page_bytes();
const std::uint64_t size = 16 * page;
int stream;

/// Refuses to relax pages of [begin, begin + bytes), as the kernel does where these are part of a larger mapping.
void refuse_to_open(Program& p, const std::byte* begin, std::uint64_t bytes, bool& refuse) {
  p.platform().refuse_protect = [&p, begin, bytes, &refuse](const std::byte* at, std::uint64_t n, Protection to) {
    return refuse && at < begin + bytes && begin < at + n && p.platform().protection(at) < to;
  };
}

void make_stale(Program& p, Memory& h, std::uint64_t seed) {
  Memory& d = p.on_device(h.bytes);
  p.kernel_write(&stream, d, d.all(), seed);
  p.copy(h, d);
  ASSERT_EQ(Program::protection(p, h, 0), Protection::none);
}

TEST(RefusedProtection, TheNextMirrorAtTheFreedPlaceOfAStaleOneIsReadable) {
  Program p;
  Memory& h = p.on_host(size);
  make_stale(p, h, 1);
  const std::byte* const place = h.address;
  bool refuse = true;
  refuse_to_open(p, place, size, refuse);
  p.free(h);

  Memory& beside = p.on_host(size);
  EXPECT_NE(beside.address, place) << "its pages are closed";
  EXPECT_EQ(p.host_content(beside), std::vector<std::byte>(size)) << "new mirrors read as zero";
  make_stale(p, beside, 2);
  p.expect_host(beside, 2);

  refuse = false;
  Memory& again = p.on_host(size);
  EXPECT_EQ(again.address, place) << "it is used again when there is room";
  EXPECT_EQ(p.host_content(again), std::vector<std::byte>(size));
}

TEST(RefusedProtection, AFreedPlaceOfWhichOnlyAPartCouldBeOpened) {
  Program p;
  Memory& h = p.on_host(size);
  p.host_write(h, {0, size}, 1);
  make_stale(p, h, 2);
  p.expect_host(h, {0, page}, 2);  // read only in front
  const std::byte* const place = h.address;
  ASSERT_EQ(Program::protection(p, h, size - 1), Protection::none);
  bool refuse = true;
  refuse_to_open(p, place + size - page, page, refuse);
  p.free(h);

  Memory& beside = p.on_host(size);
  EXPECT_NE(beside.address, place);
  refuse = false;
  Memory& again = p.on_host(size);
  ASSERT_EQ(again.address, place);
  EXPECT_EQ(p.host_content(again), std::vector<std::byte>(size));
}

TEST(RefusedProtection, OfAddressesForANewMirrorIsAnErrorThatChangesNothing) {
  Program p;
  bool refuse = true;
  p.platform().refuse_protect = [&refuse](const std::byte*, std::uint64_t, Protection) { return refuse; };
  for (int i = 0; i < 2; ++i) {
    try {
      (void)p.engine().lifetimes.allocate_host("a mirror", size, nullptr);
      ADD_FAILURE() << "nothing was refused";
    } catch (const SystemError& e) {
      EXPECT_NE(std::string(e.what()).find("'a mirror'"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("vm.max_map_count"), std::string::npos) << e.what();
    }
    p.engine().audit();
  }
  refuse = false;
  EXPECT_EQ(p.host_content(p.on_host(size)), std::vector<std::byte>(size));
}

TEST(RefusedProtection, AtTheEndOfTheRuntimeIsTriedAgain) {
  Program p;
  Memory& first = p.on_host(size);
  Memory& second = p.on_host(size);
  make_stale(p, first, 1);
  make_stale(p, second, 2);
  // The first can be opened for writing when the second is open.
  p.platform().refuse_protect = [&](const std::byte* at, std::uint64_t, Protection to) {
    return to == Protection::read_write && at == first.address && Program::protection(p, second, 0) != to;
  };
  p.engine().host_access.settle_all();
  p.engine().host_access.open_everything();
  EXPECT_EQ(Program::protection(p, first, 0), Protection::read_write);
  EXPECT_EQ(Program::protection(p, second, size - 1), Protection::read_write);
}

TEST(RefusedProtectionDeathTest, AtTheEndOfTheRuntimeEndsWithAMessage) {
  Program p;
  Memory& h = p.on_host(size);
  make_stale(p, h, 1);
  p.engine().host_access.settle_all();
  EXPECT_DEATH(
      {
        p.platform().refuse_protect = [](const std::byte*, std::uint64_t, Protection to) { return to == Protection::read_write; };
        p.engine().host_access.open_everything();
      },
      "cannot open the pages of 'host array' at 0x.*vm.max_map_count");
}

}  // namespace
}  // namespace semcache::fakes
