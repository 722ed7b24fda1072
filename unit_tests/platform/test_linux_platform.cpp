// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <platform/emulator.hpp>
#include <semcache/platform/linux/maps.hpp>
#include <semcache/platform/platform.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

namespace semcache::platform::testing {
namespace {

using Mapped = Platform::Mapped;
const char constant_text[] = "constant";
int global_variable = 1;

struct LinuxPlatform : ::testing::Test {
  void SetUp() override {
    base = platform->reserve(bytes);
    ASSERT_TRUE(platform->make_usable(base, bytes, Protection::read_write));
  }
  void TearDown() override { platform->release(base, bytes); }

  [[nodiscard]] bool has(std::uint64_t offset, bool readable, bool writable) const {
    detail::Mapping m;
    return detail::find_mapping(reinterpret_cast<std::uintptr_t>(base + offset), m) && m.readable == readable &&
           m.writable == writable;
  }

  /// "VmFlags: ..." of the mapping that contains `address`.
  [[nodiscard]] static std::string flags_of(const std::byte* address) {
    std::ifstream file("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
      unsigned long long begin = 0;
      unsigned long long end = 0;
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) inside = begin <= at && at < end;
      if (inside && line.rfind("VmFlags:", 0) == 0) return line;
    }
    ADD_FAILURE() << "no mapping";
    return {};
  }

  std::unique_ptr<Platform> platform = make_linux_platform();
  std::uint64_t bytes = std::uint64_t{32} << 20;
  std::uint64_t page = platform->page_bytes();
  std::byte* base = nullptr;
};

TEST_F(LinuxPlatform, ReservesAddressesThatNobodyCanAccessAndNothingIsChargedFor) {
  std::uint64_t size = std::uint64_t{1} << 30;
  std::byte* const reserved = platform->reserve(size);
  detail::Mapping m;
  ASSERT_TRUE(detail::find_mapping(reinterpret_cast<std::uintptr_t>(reserved + size / 2), m));
  EXPECT_FALSE(m.readable || m.writable);
  EXPECT_EQ(flags_of(reserved + size / 2).find(" ac"), std::string::npos) << "accountable";
  // Memory that can only be read is charged to nobody, whatever vm.overcommit_memory is.
  ASSERT_TRUE(platform->make_usable(reserved, size, Protection::read));
  EXPECT_EQ(reserved[size - 1], std::byte{0});
  EXPECT_EQ(flags_of(reserved + size / 2).find(" ac"), std::string::npos);
  platform->release(reserved, size);
}

TEST_F(LinuxPlatform, ReservesAlignedAddressesThatAreZeroOnceTheyAreUsable) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % (2U << 20), 0U);
  EXPECT_EQ(bytes, 32U << 20);
  EXPECT_EQ(base[bytes - 1], std::byte{0});
  base[bytes - 1] = std::byte{1};
  EXPECT_TRUE(has(0, true, true));
}

TEST_F(LinuxPlatform, ReserveHalvesWhatCannotBeHad) {
  if (in_qemu_user()) GTEST_SKIP() << "qemu-user keeps a record of each page";
  std::uint64_t huge = std::uint64_t{1} << 62;

  std::byte* const got = platform->reserve(huge);

  EXPECT_LT(huge, std::uint64_t{1} << 62);
  EXPECT_GE(huge, 2U << 20);
  platform->release(got, huge);
}

TEST_F(LinuxPlatform, ProtectsExactlyTheRange) {
  ASSERT_TRUE(platform->protect(base + page, 2 * page, Protection::none));
  ASSERT_TRUE(platform->protect(base + 2 * page, page, Protection::read));

  EXPECT_TRUE(has(0, true, true));
  EXPECT_TRUE(has(page, false, false));
  EXPECT_TRUE(has(2 * page, true, false));
  EXPECT_TRUE(has(3 * page, true, true));
  ASSERT_TRUE(platform->protect(base, 4 * page, Protection::read_write));
  EXPECT_TRUE(has(page, true, true));
}

TEST_F(LinuxPlatform, ReachesBehindEveryProtectionWithoutOpening) {
  const std::vector<std::byte> content(3 * page + 5, std::byte{0x5a});
  for (const auto protection : {Protection::none, Protection::read, Protection::read_write}) {
    std::vector<std::byte> got(content.size());
    ASSERT_TRUE(platform->protect(base, 8 * page, protection));

    platform->write_behind(base + 7, content.data(), content.size());
    platform->read_behind(got.data(), base + 7, got.size());

    EXPECT_EQ(got, content);
    EXPECT_TRUE(has(0, protection != Protection::none, protection == Protection::read_write));
    platform->discard(base, 8 * page);
  }
}

TEST_F(LinuxPlatform, BehindAnUnmappedAddressIsASystemError) {
  std::byte one{};
  auto* const nowhere = reinterpret_cast<std::byte*>(page);

  EXPECT_THROW(platform->write_behind(nowhere, &one, 1), SystemError);
  EXPECT_THROW(platform->read_behind(&one, nowhere, 1), SystemError);
}

TEST_F(LinuxPlatform, BehindReachesTheChildsOwnMemoryAfterFork) {
  const std::byte parents{1};
  const std::byte childs{2};
  platform->write_behind(base, &parents, 1);  // opens the parent's file

  const pid_t child = ::fork();
  if (child == 0) {
    platform->write_behind(base, &childs, 1);
    _exit(base[0] == childs ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(base[0], parents);
}

TEST_F(LinuxPlatform, BehindFromManyThreadsAtOnce) {
  ASSERT_TRUE(platform->protect(base, 8 * page, Protection::none));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([this, t] {
      const std::vector<std::byte> content(page, std::byte(t + 1));
      platform->write_behind(base + t * page, content.data(), page);
    });
  for (auto& thread : threads) thread.join();

  ASSERT_TRUE(platform->protect(base, 8 * page, Protection::read));
  for (unsigned t = 0; t < 4; ++t) EXPECT_EQ(base[t * page + page - 1], std::byte(t + 1));
}

TEST_F(LinuxPlatform, DiscardedPagesReadAsZeroWhateverTheirProtection) {
  std::memset(base, 1, 2 * page);
  ASSERT_TRUE(platform->protect(base, page, Protection::none));

  platform->discard(base, 2 * page);

  ASSERT_TRUE(platform->protect(base, page, Protection::read_write));
  EXPECT_EQ(base[0], std::byte{0});
  EXPECT_EQ(base[page], std::byte{0});
}

TEST_F(LinuxPlatform, DiscardClearsLockedPagesToo) {
  std::memset(base, 1, page);
  if (::mlock(base, page) != 0) GTEST_SKIP() << "no memory may be locked here";

  platform->discard(base, page);

  EXPECT_EQ(base[0], std::byte{0});
  EXPECT_EQ(base[page - 1], std::byte{0});
  ::munlock(base, page);
}

TEST_F(LinuxPlatform, AdviceOnHugePagesKeepsContent) {
  base[0] = std::byte{3};
  platform->advise_huge(base, bytes);
  EXPECT_EQ(base[0], std::byte{3});
}

TEST_F(LinuxPlatform, MappingLimitIsHalfOfTheKernels) {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::uint64_t limit = 65530;
  file >> limit;
  EXPECT_EQ(platform->mapping_limit(), limit / 2);
}

TEST_F(LinuxPlatform, ClassifiesPointers) {
  if (in_qemu_user()) GTEST_SKIP() << "qemu-user's mincore knows nothing of what is mapped";
  int on_stack = 0;
  const auto on_heap = std::make_unique<int>(0);
  ASSERT_TRUE(platform->protect(base, page, Protection::none));

  EXPECT_EQ(platform->classify(nullptr), Mapped::no);
  EXPECT_EQ(platform->classify(reinterpret_cast<void*>(3)), Mapped::no);
  EXPECT_EQ(platform->classify(reinterpret_cast<void*>(0x3ff0000000000000)), Mapped::no);  // 1.0 as a word
  EXPECT_EQ(platform->classify(&on_stack), Mapped::yes);
  EXPECT_EQ(platform->classify(on_heap.get()), Mapped::yes);
  EXPECT_EQ(platform->classify(&global_variable), Mapped::yes);
  EXPECT_EQ(platform->classify(base), Mapped::yes);
  EXPECT_EQ(platform->classify(constant_text), Mapped::constant);
  EXPECT_EQ(platform->classify(reinterpret_cast<const void*>(&make_linux_platform)), Mapped::constant);
  EXPECT_EQ(platform->classify(reinterpret_cast<const void*>(&::sysconf)), Mapped::no_handles);
}

TEST_F(LinuxPlatform, ClassifyKeepsErrno) {
  errno = 77;
  (void)platform->classify(reinterpret_cast<void*>(0x10000));
  EXPECT_EQ(errno, 77);
}

TEST(ExplicitTracker, NoticesNothing) {
  const auto tracker = make_explicit_tracker();
  std::byte arena[8];
  tracker->start(arena, sizeof arena, [](std::byte*, FaultKind, const void*) { return FaultResult::not_ours; });

  EXPECT_FALSE(tracker->notices());
  EXPECT_STREQ(tracker->name(), "explicit");
  tracker->stop();
  tracker->stop();
}

}  // namespace
}  // namespace semcache::platform::testing
