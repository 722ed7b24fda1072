// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <fakes/random.hpp>
#include <platform/tracker_test.hpp>

#include <algorithm>
#include <thread>
#include <vector>

namespace semcache::platform::testing {

const Tested tested{"userfaultfd", &make_userfaultfd_pages, false};

namespace {

using Userfaultfd = TrackerTest;
using UserfaultfdDeathTest = TrackerTest;

// --- the platform ----------------------------------------------------------------------------------------------------

class UserfaultfdPages : public Userfaultfd {
 protected:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t huge = std::uint64_t{2} << 20;

  void SetUp() override {
    Userfaultfd::SetUp();
    if (IsSkipped()) return;
    platform_ = make_userfaultfd_pages(20).platform;
    bytes_ = 4 * huge;
    base_ = platform_->reserve(bytes_);
    ASSERT_TRUE(platform_->make_usable(base_, bytes_, Protection::read_write));
  }
  void TearDown() override {
    if (platform_ != nullptr) platform_->release(base_, bytes_);
    Userfaultfd::TearDown();
  }
  [[nodiscard]] static std::byte content(std::uint64_t i) { return static_cast<std::byte>(i / page * 7 + i); }
  void write_all() {
    for (std::uint64_t i = 0; i < bytes_; ++i) base_[i] = content(i);
  }
  [[nodiscard]] std::vector<std::byte> behind(std::uint64_t begin, std::uint64_t size) {
    std::vector<std::byte> out(size);
    platform_->read_behind(out.data(), base_ + begin, size);
    return out;
  }
  [[nodiscard]] bool keeps_content() {
    const std::vector<std::byte> seen = behind(0, bytes_);
    for (std::uint64_t i = 0; i < bytes_; ++i) {
      if (seen[i] != content(i)) return false;
    }
    return true;
  }
  /// In memory at the program's addresses.
  [[nodiscard]] std::uint64_t resident(std::uint64_t begin, std::uint64_t size) const {
    std::vector<unsigned char> in_memory(size / page);
    EXPECT_EQ(::mincore(base_ + begin, size, in_memory.data()), 0);
    std::uint64_t n = 0;
    for (const unsigned char c : in_memory) n += c & 1U;
    return n;
  }

  std::unique_ptr<Platform> platform_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

TEST_F(UserfaultfdPages, EveryProtectionKeepsTheContent) {
  write_all();
  for (const std::uint64_t size : {page, 5 * page, huge, 3 * huge}) {
    for (const Protection p : {Protection::none, Protection::read, Protection::none, Protection::read_write,
                               Protection::read, Protection::read_write, Protection::none, Protection::read_write}) {
      ASSERT_TRUE(platform_->protect(base_ + page, size, p));
      ASSERT_TRUE(keeps_content()) << size;
    }
  }
}

TEST_F(UserfaultfdPages, ClosedPagesAreNotAtTheProgramsAddress) {
  write_all();
  ASSERT_TRUE(platform_->protect(base_, bytes_, Protection::none));
  EXPECT_EQ(resident(0, bytes_), 0u);
  ASSERT_TRUE(platform_->protect(base_, 3 * page, Protection::read));
  EXPECT_EQ(resident(0, bytes_), 3u);
  EXPECT_EQ(base_[2 * page], content(2 * page));
}

TEST_F(UserfaultfdPages, PagesThatNobodyWroteTakeNoMemory) {
  for (const Protection p : {Protection::read, Protection::none, Protection::read, Protection::read_write}) {
    ASSERT_TRUE(platform_->protect(base_, bytes_, p));
    EXPECT_EQ(behind(page + 5, 3 * page), std::vector<std::byte>(3 * page));
    EXPECT_EQ(resident(huge, huge), 0u);
  }
  EXPECT_EQ(base_[5], std::byte{0});
  base_[5] = std::byte{1};
}

TEST_F(UserfaultfdPages, MappingsThatTheKernelKeepsApartAreOneRange) {
  platform_->advise_huge(base_ + huge, huge);
  write_all();
  for (const Protection p : {Protection::read, Protection::none, Protection::read, Protection::none,
                             Protection::read_write, Protection::read}) {
    ASSERT_TRUE(platform_->protect(base_ + page, 3 * huge, p));
    ASSERT_TRUE(keeps_content());
  }
}

TEST_F(UserfaultfdPages, MemoryOutsideTheArenaIsReadAndWrittenToo) {
  std::vector<std::byte> elsewhere(3 * page, std::byte{1});
  const std::vector<std::byte> written(page, std::byte{2});
  platform_->write_behind(elsewhere.data() + 100, written.data(), page);
  std::vector<std::byte> seen(2 * page);
  platform_->read_behind(seen.data(), elsewhere.data() + 100, 2 * page);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{2}), static_cast<std::ptrdiff_t>(page));
  EXPECT_EQ(seen[page - 1], std::byte{2});
  EXPECT_EQ(seen[page], std::byte{1});
}

TEST_F(UserfaultfdPages, APageLockIsRefusedAndChangesNothing) {
  write_all();
  ASSERT_TRUE(platform_->protect(base_, huge, Protection::none));
  EXPECT_EQ(platform_->lock_pages(base_, huge, [](std::byte*) { return true; }), nullptr);
  EXPECT_TRUE(keeps_content());
}

/// Any order of operations against an array that is simply written.
TEST_F(UserfaultfdPages, AnyOrderOfOperations) {
  fakes::Random random(20261121);
  std::vector<std::byte> model(bytes_);
  std::vector<Protection> states(bytes_ / page, Protection::read_write);
  const auto some_range = [&](std::uint64_t unit) {
    const std::uint64_t units = bytes_ / unit;
    const std::uint64_t most = random.chance(20) ? units : std::min<std::uint64_t>(units, 20 * page / unit);
    const std::uint64_t size = 1 + random.below(most);
    const std::uint64_t begin = random.below(units - size + 1);
    return ByteRange{begin * unit, (begin + size) * unit};
  };
  for (int step = 0; step < 3000; ++step) {
    switch (random.below(6)) {
      case 0:
      case 1: {
        const ByteRange r = some_range(page);
        const auto p = static_cast<Protection>(random.below(3));
        ASSERT_TRUE(platform_->protect(base_ + r.begin, r.size(), p));
        std::fill(states.begin() + static_cast<std::ptrdiff_t>(r.begin / page),
                  states.begin() + static_cast<std::ptrdiff_t>(r.end / page), p);
        break;
      }
      case 2: {
        const ByteRange r = some_range(1);
        std::vector<std::byte> bytes(r.size());
        for (std::byte& b : bytes) b = static_cast<std::byte>(random.next());
        platform_->write_behind(base_ + r.begin, bytes.data(), r.size());
        std::copy(bytes.begin(), bytes.end(), model.begin() + static_cast<std::ptrdiff_t>(r.begin));
        break;
      }
      case 3: {
        const ByteRange r = some_range(page);
        platform_->discard(base_ + r.begin, r.size());
        std::fill(model.begin() + static_cast<std::ptrdiff_t>(r.begin), model.begin() + static_cast<std::ptrdiff_t>(r.end),
                  std::byte{0});
        break;
      }
      case 4: {
        const ByteRange r = some_range(1);
        const std::vector<std::byte> seen = behind(r.begin, r.size());
        ASSERT_TRUE(std::equal(seen.begin(), seen.end(), model.begin() + static_cast<std::ptrdiff_t>(r.begin))) << step;
        break;
      }
      default: {  // the program's own access
        const std::uint64_t at = random.below(bytes_);
        if (states[at / page] != Protection::read_write) break;
        ASSERT_EQ(base_[at], model[at]) << step;
        base_[at] = model[at] = static_cast<std::byte>(random.next());
      }
    }
  }
  EXPECT_EQ(behind(0, bytes_), model);
}

TEST_F(UserfaultfdPages, TheKernelsLimitOnMappingsIsFalseAndChangesNothing) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer itself ends where no mapping is left";
  const std::uint64_t limit = 2 * platform_->mapping_limit();
  if (limit > 200'000) GTEST_SKIP() << "vm.max_map_count is " << limit << ": too many mappings to make in a test";
  for (const Protection to : {Protection::none, Protection::read}) {
    const auto other = make_userfaultfd_pages(20).platform;
    std::uint64_t wide = (limit + 64) * 2 * page;
    const std::uint64_t asked = wide;
    std::byte* const many = other->reserve(wide);
    ASSERT_GE(wide, asked);
    ASSERT_TRUE(other->make_usable(many, wide, Protection::read_write));
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i + 8 < wide / page; i += 2) {
      many[i * page] = std::byte{3};
      if (!other->protect(many + i * page, page, to)) {
        refused = i;
        break;
      }
    }
    ASSERT_GT(refused, limit / 2);
    EXPECT_EQ(many[refused * page], std::byte{3});
    many[refused * page] = std::byte{4};  // still open
    EXPECT_FALSE(other->protect(many + (refused + 4) * page, 3 * page, to));
    std::byte seen{};
    other->read_behind(&seen, many + (refused - 2) * page, 1);
    EXPECT_EQ(seen, std::byte{3});
    other->release(many, wide);
  }
}

// --- served faults ---------------------------------------------------------------------------------------------------

TEST_F(Userfaultfd, ReadOnlyPagesThatNobodyWroteReadAsZeroWithoutTheServer) {
  Server server;
  server.start();
  for (std::uint64_t p = 0; p < 8; ++p) server.set(p, Protection::read);
  for (std::uint64_t p = 0; p < 8; ++p) EXPECT_EQ(*server.word(p, p), 0U);
  EXPECT_EQ(server.served, 0);

  *server.word(3) = 1;  // read before
  server.set(9, Protection::read);
  *server.word(9) = 2;  // never touched before
  EXPECT_EQ(server.writes, 2);
  EXPECT_EQ(*server.word(3), 1U);
  EXPECT_EQ(*server.word(9), 2U);
}

TEST_F(Userfaultfd, SystemCallsAreServed) {
  Server server;
  server.start();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);

  server.make_stale(0);
  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(0)), 8), 8);
  server.make_stale(1);
  EXPECT_EQ(::read(ends[0], const_cast<std::uint64_t*>(server.word(1, 1)), 8), 8);
  EXPECT_EQ(*server.word(1, 1), Server::content(0));
  EXPECT_EQ(*server.word(1), Server::content(1));

  server.set(2, Protection::read);
  EXPECT_EQ(::write(ends[1], const_cast<std::uint64_t*>(server.word(1)), 8), 8);
  EXPECT_EQ(::read(ends[0], const_cast<std::uint64_t*>(server.word(2)), 8), 8);
  EXPECT_EQ(*server.word(2), Server::content(1));

  EXPECT_EQ(server.served, 3);
  EXPECT_EQ(server.writes, 2);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Userfaultfd, ASignalMayInterruptAWaitingThread) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "ThreadSanitizer puts signals off until a call that it knows";
  static std::atomic<int> signals{0};
  struct sigaction action {};
  action.sa_handler = [](int) { ++signals; };
  struct sigaction before {};
  ::sigaction(SIGUSR1, &action, &before);
  Server server;
  const pthread_t reader = ::pthread_self();
  server.before = [&](std::byte*) {
    if (signals.load() > 0) return;
    ::pthread_kill(reader, SIGUSR1);
    while (signals.load() == 0) std::this_thread::yield();  // the handler runs in the middle of the access
  };
  server.start();
  server.make_stale(0);
  EXPECT_EQ(*server.word(0), Server::content(0));
  EXPECT_EQ(signals, 1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(Userfaultfd, TheRuntimeMayReadWhatIsReadable) {
  Server server;
  server.start();
  server.set(1, Protection::read);  // absent: the kernel asks all the same
  const RuntimeScope scope;
  EXPECT_EQ(*server.word(1), 0U);
}

TEST_F(Userfaultfd, TheOtherSideOfACopyMayFault) {
  Server server;
  server.start();
  const auto at = [&](std::uint64_t index) { return server.base() + index * Server::page; };
  for (std::uint64_t p = 0; p < 8; ++p) server.set(p, Protection::read);
  server.make_stale(8);
  server.platform().write_behind(at(8), at(0), Server::page);  // absent: only a service thread makes it present
  server.platform().write_behind(at(1), at(2), Server::page);
  server.platform().write_behind(at(9), at(3), Server::page);
  server.platform().read_behind(at(10), at(4), Server::page);
  server.platform().read_behind(at(5), at(9), Server::page);
  EXPECT_EQ(server.writes, 1);
}

TEST_F(UserfaultfdDeathTest, ASystemCallThatIsNotServedEndsWithAMessage) {
  EXPECT_EXIT(
      {
        Server server(1);
        server.before = [](std::byte*) { ::pause(); };
        server.start();
        server.make_stale(0);
        // Into the file of the message itself, whose lock it holds.
        if (::write(2, const_cast<std::uint64_t*>(server.word(0)), 8) < 0) ::pause();
      },
      ::testing::KilledBySignal(SIGABRT), "'toy array'.*not served for 1 s");
}

}  // namespace
}  // namespace semcache::platform::testing
