// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/platform/linux/maps.hpp>

#include <gtest/gtest.h>

#include <string>

/// Which memory may be adopted, by given texts of /proc/self/maps. They have lines that few machines can make, such as those of hugetlb.
namespace semcache::platform::testing {
namespace {

constexpr std::uintptr_t page = 0x1000, at = 0x700000000000;

const char* const heap = "555500000000-555500021000 rw-p 00000000 00:00 0                          [heap]\n";
const char* const behind = "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
                           "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

/// Returns the answer for four pages in a mapping of 16, whose line ends with `rest`.
std::string answer(const std::string& rest, bool is_data = false, bool grows = false) {
  const std::string maps = std::string(heap) + "700000000000-700000010000 " + rest + "\n" + behind;
  const auto asked = [](bool reply) {
    return [reply](std::uintptr_t first, std::uintptr_t last) {
      EXPECT_EQ(first, at + page);
      EXPECT_EQ(last, at + 5 * page);
      return reply;
    };
  };
  return detail::why_not_adoptable(maps, at + page, at + 5 * page, asked(is_data), asked(grows));
}

TEST(Maps, PrivateMemoryThatCanBeReadAndWrittenMayBeAdopted) {
  EXPECT_EQ(answer("rw-p 00000000 00:00 0 "), "");
  EXPECT_EQ(answer("rw-p 00000000 00:00 0"), "");
  EXPECT_EQ(answer("rw-p 00000000 00:00 0                          [heap]"), "");
  EXPECT_EQ(answer("rw-p 00000000 00:00 0                          [anon:a pool of the program's]"), "");
  EXPECT_EQ(answer("rw-p 00003000 08:01 131                        /opt/hugepages/program", true), "") << "static data";
}

TEST(Maps, HugePagesThatWereAskedForAreRefused) {
  for (const char* const name : {"/anon_hugepage (deleted)", "/dev/hugepages/a", "/dev/hugepages/a b (deleted)"}) {
    EXPECT_EQ(answer(std::string("rw-p 00000000 00:0f 4711                       ") + name),
              std::string("in huge pages that were asked for (hugetlb) at 0x700000001000 (") + name + ")");
  }
  // These are named otherwise, and are refused as well.
  EXPECT_EQ(answer("rw-s 00000000 00:0f 32769                      /SYSV00000000 (deleted)"),
            "in memory that may be shared with other processes at 0x700000001000 (/SYSV00000000 (deleted))");
  EXPECT_EQ(answer("rw-p 00000000 00:0f 4712                       /mnt/huge/a"), "in a mapped file at 0x700000001000 (/mnt/huge/a)");
  EXPECT_EQ(answer("rw-p 00000000 00:0f 4713                       /memfd:large (deleted)"),
            "in a mapped file at 0x700000001000 (/memfd:large (deleted))");
}

/// The text names the first thread's stack, and those of others in old kernels only. Otherwise another thread's stack looks like any other
/// memory, as docs/reference/adopted-memory.md says.
TEST(Maps, StacksThatTheTextNamesAreRefused) {
  for (const char* const name : {"[stack]", "[stack:4711]"}) {
    EXPECT_EQ(answer(std::string("rw-p 00000000 00:00 0                          ") + name), "on a stack");
  }
  EXPECT_EQ(answer("rw-p 00000000 00:00 0 "), "") << "another thread's";
}

TEST(Maps, MappingsThatGrowDownwardsAreRefused) {
  EXPECT_EQ(answer("rw-p 00000000 00:00 0 ", false, true), "in memory that grows downwards (MAP_GROWSDOWN), as a stack does at 0x700000001000");
  EXPECT_EQ(answer("r--p 00000000 00:00 0 ", false, true), "in memory that cannot be read and written at 0x700000001000");
}

TEST(Maps, OtherMemoryIsRefused) {
  const std::string where = " at 0x700000001000";
  EXPECT_EQ(answer("rw-s 00000000 00:01 12                         /dev/zero (deleted)"),
            "in memory that may be shared with other processes" + where + " (/dev/zero (deleted))");
  EXPECT_EQ(answer("rw-p 00000000 08:01 131                        /tmp/file"), "in a mapped file" + where + " (/tmp/file)");
  for (const char* const access : {"---p", "r--p", "-w-p", "r-xp"}) {
    EXPECT_EQ(answer(std::string(access) + " 00000000 00:00 0 "), "in memory that cannot be read and written" + where) << access;
  }
  EXPECT_EQ(answer("rwxp 00000000 00:00 0 "), "in memory that may be executed" + where);
}

TEST(Maps, EachMappingOfARangeCounts) {
  const auto none = [](std::uintptr_t, std::uintptr_t) { return false; };
  const auto lines = [](const std::string& second, const std::string& begin = "700000002000") {
    return std::string(heap) + "700000000000-700000002000 rw-p 00000000 00:00 0 \n" + begin + "-700000010000 " + second + "\n" + behind;
  };
  const auto asked = [&](const std::string& maps) { return detail::why_not_adoptable(maps, at + page, at + 5 * page, none, none); };
  EXPECT_EQ(asked(lines("rw-p 00000000 00:00 0 ")), "");
  EXPECT_EQ(asked(lines("r--p 00000000 00:00 0 ")), "in memory that cannot be read and written at 0x700000002000");
  EXPECT_EQ(asked(lines("rw-p 00000000 00:0f 4711                       /anon_hugepage (deleted)")),
            "in huge pages that were asked for (hugetlb) at 0x700000002000 (/anon_hugepage (deleted))");
  EXPECT_EQ(asked(lines("rw-p 00000000 00:00 0 ", "700000003000")), "where nothing is mapped, at 0x700000002000");
  EXPECT_EQ(detail::why_not_adoptable(lines("---p 00000000 00:00 0 "), at, at + 2 * page, none, none), "") << "what lies behind does not count";
  EXPECT_EQ(detail::why_not_adoptable("", at, at + page, none, none), "where nothing is mapped, at 0x700000000000");
  EXPECT_EQ(detail::why_not_adoptable("no line of maps\n", at, at + page, none, none), "where nothing is mapped, at 0x700000000000");
}

}  // namespace
}  // namespace semcache::platform::testing
