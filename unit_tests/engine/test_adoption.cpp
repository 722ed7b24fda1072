// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "program.hpp"

#include <fakes/lent_block.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

/// Adopted memory on a device that works asynchronously, and whose driver must not see protected pages.
namespace semcache::fakes {
namespace {

const std::uint64_t page = fakes::page_bytes();
using engine::Memory;
using platform::Protection;

std::vector<std::byte> mixed(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) out[i] = Machine::mix(seed, i);
  return out;
}

class Adoption : public ::testing::TestWithParam<bool> {
 protected:
  static Program::Options options() { return GetParam() ? Program::emulated() : Program::defaults(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Adoption, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Emulated" : "Gpu"; });

TEST_P(Adoption, PagesAreProtectedAsThoseOfMirrorsAndEdgesAreNot) {
  Program p(options());
  LentBlock a(p, 4 * page, page - 1);
  ASSERT_NE(a.body(), nullptr);
  EXPECT_EQ(a.body()->bytes, 3 * page);
  EXPECT_EQ(p.platform().protection(a.body()->address), Protection::read_write);
  a.write({0, a.bytes()}, 1);
  EXPECT_EQ(p.faults, 0u) << "nobody else has its content";
  Memory& d = p.on_device(a.bytes());
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  EXPECT_EQ(p.platform().protection(a.body()->address), Protection::read);
  EXPECT_EQ(p.platform().protection(a.address()), Protection::read_write);
  EXPECT_EQ(p.platform().protection(a.address() + a.bytes() - 1), Protection::read_write);
  EXPECT_EQ(p.counters().h2d.bytes, page);
  a.write({0, a.bytes()}, 2);
  EXPECT_GT(p.faults, 0u);
  p.expect_device(d, 1);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.expect_device(d, 2);
  p.kernel_write(nullptr, d, d.all(), 3);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  EXPECT_EQ(p.platform().protection(a.body()->address), Protection::none);
  EXPECT_EQ(p.platform().protection(a.address()), Protection::read_write);
  EXPECT_EQ(a.content(), mixed(a.bytes(), 3));
  p.engine().audit();
}

/// A use on the host of a part of the body, by the thread that copies: the edges stay as they are, too.
TEST_P(Adoption, ACopyOverBordersThatAUseRefusesChangesNothing) {
  struct InUse : engine::Surroundings {
    bool in_launch() const noexcept override { return on; }
    bool in_launch_of(const Memory& m) const noexcept override { return on && m.on_host(); }
    bool on = false;
  } own;
  Program::Options o = options();
  o.engine.surroundings = &own;
  Program p(o);
  LentBlock a(p, 4 * page, page - 1);
  a.write({0, a.bytes()}, 1);
  Memory& d = p.on_device(a.bytes());
  p.kernel_write(nullptr, d, d.all(), 2);
  Memory* const part = p.engine().lifetimes.allocate_host_part(*a.body(), ByteRange{page, 2 * page});
  const engine::Requirement use{part, part->layout, Access::read};
  p.engine().host_uses.begin(&use, 1);
  own.on = true;
  EXPECT_THROW(p.engine().copies.copy(a.address(), d.address, a.bytes()), UsageError);
  own.on = false;
  p.engine().host_uses.end(&use, 1);
  p.engine().lifetimes.deallocate(part);
  EXPECT_EQ(a.content(), mixed(a.bytes(), 1));
}

/// Two ranges meet within a page. While the device's bytes arrive up to the border, another thread writes right behind it.
TEST_P(Adoption, ANeighbourOnTheSamePageIsWrittenMeanwhile) {
  Program p(options());
  LentBlock a(p, 4 * page - 1000, 100);
  std::byte* const border = a.address() + a.bytes();
  const std::uint64_t bytes = page + 1500;
  const std::vector<std::byte> mark(border, border + bytes);
  p.engine().adoption.adopt(border, bytes, "neighbour");
  Memory& d = p.on_device(a.bytes());
  Memory& of_neighbour = p.on_device(bytes);
  std::uint8_t written = 0;
  const std::function<void()> other_thread = [&] {
    *border = std::byte{++written};
    p.device().meanwhile = other_thread;  // at the next wait, too
  };
  for (std::uint8_t round = 1; round <= 5; ++round) {
    p.kernel_write(nullptr, d, d.all(), round);
    other_thread();
    const std::uint8_t before = written;
    p.engine().copies.copy(a.address(), d.address, a.bytes());
    p.device().meanwhile = nullptr;
    EXPECT_TRUE(GetParam() || written > before) << "the copies of the edges wait for a GPU";
    EXPECT_EQ(*border, std::byte{written}) << "another thread's byte was overwritten";
    EXPECT_EQ(a.content(), mixed(a.bytes(), round));
    p.engine().copies.copy(of_neighbour.address, border, bytes);
    EXPECT_EQ(p.device_content(nullptr, of_neighbour)[0], std::byte{written});
  }
  p.engine().adoption.release(border);
  std::copy(mark.begin(), mark.end(), border);
}

TEST_P(Adoption, AReleaseBringsAndSavesWhatIsPending) {
  Program p(options());
  Memory& from = p.on_device(4 * page);
  Memory& to = p.on_device(4 * page);
  Memory& mirror = p.on_host(4 * page);
  LentBlock a(p, 4 * page, 100);
  p.kernel_write(nullptr, from, from.all(), 1);
  p.engine().copies.copy(a.address(), from.address, a.bytes());
  p.engine().copies.copy(to.address, a.address(), a.bytes());
  p.engine().copies.copy(mirror.address, a.address(), a.bytes());
  p.kernel_write(nullptr, from, from.all(), 2);
  a.release();
  std::memset(a.address(), 0, a.bytes());
  p.expect_device(to, 1);
  p.expect_host(mirror, 1);
  p.expect_device(from, 2);
  std::memset(a.address(), 7, a.bytes());
  p.engine().adoption.adopt(a.address(), a.bytes(), "again");
  p.engine().copies.copy(to.address, a.address(), a.bytes());
  std::vector<std::byte> sevens(a.bytes(), std::byte{7});
  EXPECT_EQ(p.device_content(nullptr, to), sevens);
}

TEST_P(Adoption, OnlyTheHostHasItsContentAndOthersWantIt) {
  Program p(options());
  Memory& to = p.on_device(4 * page);
  LentBlock a(p, 4 * page, 0);
  a.write({0, a.bytes()}, 1);
  p.engine().copies.copy(to.address, a.address(), a.bytes());
  EXPECT_EQ(p.counters().h2d.bytes, 0u);
  a.release();
  std::memset(a.address(), 0, a.bytes());
  p.expect_device(to, 1);
}

TEST_P(Adoption, AReleaseThatFailsChangesNothing) {
  Program p(options());
  Memory& d = p.on_device(4 * page);
  LentBlock a(p, 4 * page, 10);
  p.kernel_write(nullptr, d, d.all(), 1);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  p.device().fail_call(1, FakeDevice::call_platform | FakeDevice::call_copy);
  try {
    a.release();
    GTEST_SKIP() << "the device makes no call that fails";
  } catch (const Error&) {
  }
  p.device().fail_call(0, 0);
  EXPECT_TRUE(a.adopted());
  p.engine().audit();
  EXPECT_EQ(a.content(), mixed(a.bytes(), 1));
  p.kernel_write(nullptr, d, d.all(), 2);
  EXPECT_EQ(a.content(), mixed(a.bytes(), 1));
}

TEST_P(Adoption, TwoThreadsReleaseIt) {
  Program p(options());
  Memory& d = p.on_device(4 * page);
  LentBlock a(p, 4 * page, 10);
  p.kernel_write(nullptr, d, d.all(), 1);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  int refused = 0;
  p.when_unlocked([&] {
    try {
      p.engine().adoption.release(a.address());
    } catch (const UsageError&) {
      ++refused;
    }
  });
  a.release();
  p.when_unlocked(nullptr);
  EXPECT_LE(refused, 1);
  EXPECT_FALSE(a.adopted());
  EXPECT_EQ(a.content(), mixed(a.bytes(), 1));
}

/// Whenever the release gives up the lock, another thread frees an array that shares content with the range.
TEST_P(Adoption, OthersAreFreedWhileItIsReleased) {
  for (int which = 0; which < 3; ++which) {
    Program p(options());
    Memory* arrays[] = {&p.on_device(4 * page), &p.on_device(4 * page), &p.on_host(4 * page)};
    Memory &from = *arrays[0], &to = *arrays[1], &mirror = *arrays[2];
    LentBlock a(p, 4 * page, 100);
    p.kernel_write(nullptr, from, from.all(), 1);
    p.engine().copies.copy(a.address(), from.address, a.bytes());
    p.engine().copies.copy(to.address, a.address(), a.bytes());
    p.engine().copies.copy(mirror.address, a.address(), a.bytes());
    bool freed = false;
    p.when_unlocked([&] {
      p.free(*arrays[which]);
      freed = true;
    });
    a.release();
    p.when_unlocked(nullptr);
    p.engine().audit();
    EXPECT_EQ(std::memcmp(a.address(), mixed(a.bytes(), 1).data(), a.bytes()), 0);
    std::memset(a.address(), 0, a.bytes());
    if (which != 1 || !freed) p.expect_device(to, 1);
    if (which != 2 || !freed) p.expect_host(mirror, 1);
  }
}

/// It is released by another thread while a copy from it, or to it, has given up the lock: an error of the program, and no crash.
TEST_P(Adoption, IsReleasedDuringACopy) {
  for (const bool out : {false, true}) {
    Program p(options());
    Memory& d = p.on_device(4 * page);
    LentBlock a(p, 4 * page, 100);
    a.write({0, a.bytes()}, 1);
    p.engine().copies.copy(d.address, a.address(), a.bytes());
    p.kernel_write(nullptr, d, d.all(), 2);
    p.when_unlocked([&] { a.release(); });
    try {
      if (out) p.engine().copies.copy(d.address, a.address(), a.bytes());
      else p.engine().copies.copy(a.address(), d.address, a.bytes());
    } catch (const UsageError&) {
    }
    p.when_unlocked(nullptr);
    p.engine().audit();
    if (a.adopted()) a.release();
    p.engine().audit();
    (void)p.device_content(nullptr, d);
  }
}

TEST_P(Adoption, FillsSettlesAndOpens) {
  Program p(options());
  LentBlock a(p, 6 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  const std::vector<std::byte> before = a.content();
  directory::Fill zeros;
  zeros.pattern_bytes = 1;
  p.engine().copies.fill(*a.body(), page, 2 * page, zeros);
  std::vector<std::byte> expected = before;
  std::fill_n(expected.begin() + static_cast<long>(a.front() + page), 2 * page, std::byte{0});
  EXPECT_EQ(a.content(), expected);
  p.kernel_write(nullptr, d, d.all(), 5);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  p.engine().host_access.settle_all();
  EXPECT_EQ(p.platform().protection(a.body()->address), Protection::read);
  p.engine().host_access.settle_and_open();
  EXPECT_EQ(p.platform().protection(a.body()->address), Protection::read_write);
  EXPECT_EQ(std::memcmp(a.address(), mixed(a.bytes(), 5).data(), a.bytes()), 0);
  p.faults = 0;
  a.write({0, a.bytes()}, 6);
  EXPECT_EQ(p.faults, 0u);
  p.expect_device(d, 5);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.expect_device(d, 6);
}

bool any_locked(Program& p, const LentBlock& a) { return p.engine().state().pages->any_locked(*a.body(), a.body()->all()); }

/// A kernel writes the device array, and the block gets what it wrote.
void bring_there_and_back(Program& p, LentBlock& a, Memory& d, std::uint64_t seed) {
  p.kernel_write(nullptr, d, d.all(), seed);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  EXPECT_EQ(a.content(), mixed(a.bytes(), seed));
}

/// The driver reaches its pages directly, under another address than the program's, until it is released or opened for a child.
TEST_P(Adoption, IsPageLockedAsMirrorsAre) {
  if (GetParam()) GTEST_SKIP() << "an emulated device locks no pages";
  Program::Options o = options();
  o.engine.device_memory_bytes = 256 * page;
  Program p(o);
  LentBlock a(p, 65 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  const auto locked = [&] { return any_locked(p, a); };
  const auto go_there_and_back = [&](std::uint64_t seed) { bring_there_and_back(p, a, d, seed); };
  go_there_and_back(1);
  EXPECT_TRUE(locked());
  p.engine().host_access.settle_and_open();
  EXPECT_FALSE(locked());
  go_there_and_back(2);
  EXPECT_TRUE(locked());
  EXPECT_EQ(p.platform().protection(a.address()), Protection::read_write);
  a.release();  // the device complains about pages that stay locked
}

/// While a child of the program lives, say. The program says when that is over.
TEST_P(Adoption, IsPageLockedOnlyWhenItMayBe) {
  if (GetParam()) GTEST_SKIP() << "an emulated device locks no pages";
  struct Asked : engine::Surroundings {
    bool may = false;
    int times = 0;
    bool may_lock_pages() noexcept override { return ++times, may; }
  } asked;
  Program::Options o = options();
  o.engine.device_memory_bytes = 256 * page;
  o.engine.surroundings = &asked;
  Program p(o);
  LentBlock a(p, 65 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  const auto locked = [&] { return any_locked(p, a); };
  const auto go_there_and_back = [&](std::uint64_t seed) { bring_there_and_back(p, a, d, seed); };
  go_there_and_back(1);
  EXPECT_FALSE(locked());
  EXPECT_GT(asked.times, 0);
  asked.may = true;
  go_there_and_back(2);
  EXPECT_TRUE(locked());
  const int times = asked.times;
  asked.may = false;
  go_there_and_back(3);
  EXPECT_TRUE(locked());  // what is locked stays so
  EXPECT_EQ(asked.times, times);
  a.release();
}

/// Near the kernel's limit on mappings it becomes open, as mirrors do, and copies happen at the call.
TEST_P(Adoption, BecomesOpenNearTheLimitOnMappings) {
  Program::Options o = options();
  Program p(o);
  LentBlock a(p, 6 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  p.platform().set_mapping_limit(0);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  a.write({0, a.bytes()}, 1);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  EXPECT_TRUE(a.body()->open);
  a.write({0, a.bytes()}, 2);
  p.expect_device(d, 1);
  p.kernel_write(nullptr, d, d.all(), 3);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  EXPECT_EQ(a.content(), mixed(a.bytes(), 3));
}

/// Where accesses are not noticed, the program announces them.
TEST_P(Adoption, IsAnnouncedWithoutATracker) {
  Program::Options o = options();
  o.engine.notices = false;
  Program p(o);
  LentBlock a(p, 6 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  p.engine().access(*a.body(), a.body()->all(), Access::write);
  a.write({0, a.bytes()}, 1);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.expect_device(d, 1);
  p.kernel_write(nullptr, d, d.all(), 3);
  p.engine().copies.copy(a.address(), d.address, a.bytes());
  p.engine().access(*a.body(), a.body()->all(), Access::read);
  EXPECT_EQ(std::memcmp(a.address(), mixed(a.bytes(), 3).data(), a.bytes()), 0);
}

/// The tracker cannot watch it: it stays ordinary memory.
TEST_P(Adoption, IsOpenWhereTheTrackerCannotWatchIt) {
  struct Surroundings : engine::Surroundings {
    bool watch(const std::byte*, std::uint64_t) override { return false; }
  } surroundings;
  Program::Options o = options();
  o.engine.surroundings = &surroundings;
  Program p(o);
  LentBlock a(p, 6 * page, page / 2);
  EXPECT_EQ(a.body(), nullptr);
  EXPECT_EQ(p.counters().opened, 1u);
  Memory& d = p.on_device(a.bytes());
  a.write({0, a.bytes()}, 1);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  a.write({0, a.bytes()}, 2);
  p.expect_device(d, 1);
  EXPECT_EQ(p.engine().adoption.end_of_open(a.address() + 5), a.address() + a.bytes());
  EXPECT_EQ(p.engine().adoption.end_of_open(a.address() + a.bytes()), nullptr);
}

/// Notes which pages the tracker watches.
struct Watches : engine::Surroundings {
  bool watch(const std::byte* pages, std::uint64_t bytes) override {
    watched[pages] = bytes;
    return true;
  }
  void unwatch(const std::byte* pages, std::uint64_t bytes) noexcept override {
    EXPECT_EQ(watched[pages], bytes);
    watched.erase(pages);
  }
  std::map<const std::byte*, std::uint64_t> watched;
};

TEST_P(Adoption, ItsPagesAreWatchedAsLongAsItIsAdopted) {
  Watches watches;
  Program::Options o = options();
  o.engine.surroundings = &watches;
  Program p(o);
  LentBlock a(p, 6 * page, page / 2), b(p, 4 * page, 0);
  const std::map<const std::byte*, std::uint64_t> both{{a.body()->address, a.body()->bytes}, {b.body()->address, b.body()->bytes}};
  EXPECT_EQ(watches.watched, both);
  a.release();
  EXPECT_EQ(watches.watched.size(), 1u);
  EXPECT_THROW(p.engine().adoption.adopt(b.address() + page, page, "within"), UsageError);
  EXPECT_EQ(watches.watched.size(), 1u) << "the refused range lies in one that is adopted";
  p.engine().host_access.open_everything();
  p.engine().adoption.end();
  EXPECT_TRUE(watches.watched.empty());
  EXPECT_FALSE(b.adopted());
}

TEST_P(Adoption, IsUnmappedBeforeItsRelease) {
  Program p(options());
  LentBlock a(p, 6 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  a.write({0, a.bytes()}, 1);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.expect_device(d, 1);  // others have what they want
  p.platform().lent_is_mapped = false;
  a.release();
  EXPECT_FALSE(a.adopted());
  p.platform().lent_is_mapped = true;
  p.platform().open_lent();
  p.engine().audit();
  p.expect_device(d, 1);
}

TEST_P(Adoption, StaysWhileThereIsAPartOfIt) {
  Program p(options());
  LentBlock a(p, 6 * page, 0);
  a.write({0, a.bytes()}, 1);
  Memory* const part = p.engine().lifetimes.allocate_part(0, *a.body(), Region(page, 2 * page));
  EXPECT_THROW(a.release(), UsageError);
  EXPECT_TRUE(a.adopted());
  p.engine().lifetimes.deallocate(part);
  a.release();
  EXPECT_EQ(a.content(), mixed(a.bytes(), 1));
}

TEST_P(Adoption, IsRefusedOfPageLockedMemory) {
  Program p(options());
  LentBlock a(p, 6 * page, 0);
  a.release();
  for (const std::uint64_t at : {std::uint64_t{0}, 6 * page - 1}) {
    p.device().page_locked = a.address() + at;
    EXPECT_THROW(a.adopt_again(), UsageError);
    EXPECT_FALSE(a.adopted());
  }
  p.device().page_locked = nullptr;
  a.adopt_again();
  EXPECT_TRUE(a.adopted());
}

using AdoptionDeathTest = Adoption;
INSTANTIATE_TEST_SUITE_P(Devices, AdoptionDeathTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Emulated" : "Gpu"; });

TEST_P(AdoptionDeathTest, IsUnmappedWhileOthersWantItsContent) {
  Program p(options());
  LentBlock a(p, 6 * page, page / 2);
  Memory& d = p.on_device(a.bytes());
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.platform().lent_is_mapped = false;
  EXPECT_DEATH(a.release(), "'adopted' at 0x.* was unmapped while it was adopted, and other arrays want");
  p.platform().lent_is_mapped = true;
}

/// Two launches, one after the other, with the same content: exactly the missing pages cross.
TEST_P(Adoption, CountsWhatMoves) {
  Program p(options());
  LentBlock a(p, 64 * page, page - 1);  // 63 whole pages
  Memory& d = p.on_device(a.bytes());
  a.write({0, a.bytes()}, 1);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.expect_device(d, 1);
  EXPECT_EQ(p.counters().h2d.bytes, a.bytes());
  EXPECT_EQ(p.counters().deferred.bytes, 63 * page);
  a.write({a.front() + 10 * page, a.front() + 11 * page}, 2);
  p.engine().copies.copy(d.address, a.address(), a.bytes());
  p.expect_device(d, {0, a.front() + 10 * page}, 1);
  p.expect_device(d, {a.front() + 10 * page, a.front() + 11 * page}, 2);
  EXPECT_LE(p.counters().h2d.bytes, a.bytes() + page + 5 * page) << "the page that was written, what was opened beside it, and the edges";
  EXPECT_EQ(p.counters().host_faults, 1u);
}

}  // namespace
}  // namespace semcache::fakes
