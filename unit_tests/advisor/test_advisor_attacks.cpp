// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Hostile surroundings: the program's result and the report survive them.
#include "tool.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace semcache::test {
namespace {

using Bytes = std::vector<unsigned char>;

/// Calls `body` while stderr goes to a file. @return what was written there
template <class Body>
std::string stderr_of(const Body& body) {
  ::testing::internal::CaptureStderr();
  body();
  return ::testing::internal::GetCapturedStderr();
}

TEST(AdvisorAttack, MemoryThatCannotBeReadEndsNothing) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const p = static_cast<unsigned char*>(::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Bytes b(3 * page);
  ASSERT_EQ(::mprotect(p + page, page, PROT_NONE), 0);
  ASSERT_EQ(::munmap(p + 2 * page, page), 0);
  Session s;
  s.begin(b.data(), p, 2 * page);  // protected
  s.end();
  s.begin(b.data(), p + 2 * page, page);  // freed, as a view that outlives its memory
  s.end();
  s.begin(b.data(), p, page);
  s.end();

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["not_examined"]["count"], 2);
  EXPECT_EQ(r["advisor"]["copies"]["count"], 3);
  ::munmap(p, 2 * page);
}

TEST(AdvisorAttack, NothingNullAndOntoItself) {
  Bytes a(10), b(10);
  Session s;
  s.begin(a.data(), b.data(), 0);
  s.end();
  s.begin(nullptr, b.data(), 10);
  s.end();
  s.begin(a.data(), nullptr, 10);
  s.end();
  s.begin(nullptr, nullptr, 0);
  s.end();
  s.begin(a.data(), a.data(), 10);
  s.end();
  s.end();  // an end without a begin
  s.allocate("empty", nullptr, 0);
  s.deallocate("empty", nullptr, 0);
  s.deallocate("never allocated", a.data(), 10);

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["empty_copies"], 5);
  EXPECT_EQ(r["advisor"]["copies"]["count"], 0);
}

TEST(AdvisorAttack, ADeepCopyThatThrowsIsForgotten) {
  Bytes a(10), b(10);
  Session s;
  s.begin(a.data(), b.data(), 10);  // its end is never announced
  s.copy(a.data(), b.data(), 10);
  s.kernel();

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["copies"]["count"], 1);
  EXPECT_EQ(r["advisor"]["launches"], 1);
}

TEST(AdvisorAttack, AHundredThousandViewsAndLabels) {
  constexpr std::size_t views = 100'000, bytes = 64;
  Bytes memory(2 * views * bytes + 4096);
  unsigned char* const mirrors = memory.data() + views * bytes + 4096;  // allocations of Kokkos have headers, so they are never adjacent
  Session s;
  for (std::size_t i = 0; i < views; ++i) {
    s.allocate(("view " + std::to_string(i)).c_str(), memory.data() + i * bytes, bytes);
    s.kernel(("kernel " + std::to_string(i)).c_str());
  }
  Tool& t = Tool::loaded();
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < views; ++i) {
      const std::string label = "view " + std::to_string(i);
      t.begin_copy(space("Host"), label.c_str(), memory.data() + i * bytes, space("Host"), "mirror", mirrors + i * bytes, bytes);
      t.end_copy();
    }
  }
  for (std::size_t i = 0; i < views; ++i) s.deallocate("", memory.data() + i * bytes, bytes);

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["copies"]["count"], 2 * views);
  EXPECT_EQ(sum_of(r, "fresh", "count"), views);
  EXPECT_EQ(sum_of(r, "redundant", "count"), views);
  EXPECT_LE(r["labels"].size(), 16385u);
  EXPECT_GT(r["advisor"]["histories_dropped"], 0);
}

TEST(AdvisorAttack, ThreadsCopyAtTheSameTime) {
  constexpr int threads = 4, rounds = 300;
  constexpr std::size_t bytes = 5000;
  Session s;
  std::vector<std::thread> all;
  for (int k = 0; k < threads; ++k) {
    all.emplace_back([&s, k] {
      Bytes a(bytes, static_cast<unsigned char>(k)), b(bytes, 255);
      for (int i = 0; i < rounds; ++i) {
        s.allocate("b", b.data(), bytes);
        s.copy(b.data(), a.data(), bytes);
        s.kernel();
        s.copy(b.data(), a.data(), bytes);
        b[7] ^= 1;
        s.deallocate("b", b.data(), bytes);
      }
    });
  }
  for (std::thread& t : all) t.join();

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["copies"]["count"], 2 * threads * rounds);
  EXPECT_EQ(sum_of(r, "redundant", "count"), threads * rounds);
  EXPECT_EQ(r["advisor"]["launches"], threads * rounds);
}

TEST(AdvisorAttack, AnotherThreadReportsMeanwhile) {
  for (int round = 0; round < 20; ++round) {
    Bytes a(100'000), b(100'000);
    Session s;
    std::thread copies([&] {
      for (int i = 0; i < 50; ++i) s.copy(b.data(), a.data(), a.size());
    });
    const Json r = s.report();
    copies.join();
    EXPECT_LE(r["advisor"]["copies"]["count"], 50);
  }
}

TEST(AdvisorAttack, AFolderThatCannotBeWrittenIsOneLine) {
  for (const char* target : {"/no/such/folder/report.json", "/proc/report.json", "/dev/full"}) {
    std::string line;
    {
      Session s;
      s.report();
      ::setenv("SEMCACHE_ADVISOR_REPORT", target, 1);
      Tool::loaded().init(0, 1, 0, nullptr);
      line = stderr_of([] { Tool::loaded().finalize(); });
    }
    EXPECT_EQ(line.rfind("semcache: the advisor's report could not be written: ", 0), 0u) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    EXPECT_NE(line.find(target), std::string::npos) << line;
  }
}

TEST(AdvisorAttack, BadOptionsAreNamedAndHaveNoEffect) {
  Session s;
  s.report();
  for (const char* bad : {"on", "folder/", "report-%q.json", "report%"}) {
    ::setenv("SEMCACHE_ADVISOR_REPORT", bad, 1);
    const std::string line = stderr_of([] {
      Tool::loaded().init(0, 1, 0, nullptr);
      Tool::loaded().finalize();
    });
    EXPECT_NE(line.find(std::string("SEMCACHE_ADVISOR_REPORT=\"") + bad + "\" has no effect: "), std::string::npos) << line;
  }
  for (const char* bad : {"-1", "many", "1X", "K", "99999999999T"}) {
    ::setenv("SEMCACHE_ADVISOR_LARGEST", bad, 1);
    const std::string line = stderr_of([] { Tool::loaded().init(0, 1, 0, nullptr); });
    EXPECT_NE(line.find(std::string("SEMCACHE_ADVISOR_LARGEST=\"") + bad + "\" has no effect: "), std::string::npos) << line;
  }
  ::unsetenv("SEMCACHE_ADVISOR_LARGEST");
}

TEST(AdvisorAttack, LongerCopiesThanAskedForAreCountedOnly) {
  Bytes a(2049), b(2049);
  ::setenv("SEMCACHE_ADVISOR_LARGEST", "2K", 1);
  Session s;
  ::unsetenv("SEMCACHE_ADVISOR_LARGEST");
  s.copy(a.data(), b.data(), 2049);
  s.copy(a.data(), b.data(), 2048);

  const Json r = s.report();
  EXPECT_EQ(r["advisor"]["not_examined"]["bytes"], 2049);
  EXPECT_EQ(sum_of(r, "redundant", "bytes"), 2048u);
}

TEST(AdvisorAttack, LabelsThatAreNoText) {
  Bytes a(10), b(10);
  Session s;
  const std::string label = std::string("\xff\xfe\n\"") + std::string(5000, 'x');
  for (int twice = 0; twice < 2; ++twice) {
    Tool::loaded().begin_copy(space("Host"), label.c_str(), a.data(), space("Host"), "\x1b[31m", b.data(), 10);
    Tool::loaded().end_copy();
  }

  const Json r = s.report();
  EXPECT_EQ(sum_of(r, "redundant", "count"), 2u);
}

/// Runs `body` in a child, which ends by exit(0) behind it.
template <class Body>
int exit_of_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(AdvisorAttack, AForkedChildReportsNothingAndHarmsNothing) {
  Bytes a(100), b(100);
  Session s;
  s.copy(a.data(), b.data(), 100);
  EXPECT_EQ(exit_of_child([&] { s.copy(a.data(), b.data(), 100); }), 0);
  EXPECT_EQ(content_of(s.file()), "");
  s.copy(a.data(), b.data(), 100);

  EXPECT_EQ(s.report()["advisor"]["copies"]["count"], 2);
}

TEST(AdvisorAttack, AProgramThatExitsWithoutFinalizeLeavesAReport) {
  const std::string file = fresh_name(".json");
  const int status = exit_of_child([&] {
    ::setenv("SEMCACHE_ADVISOR_REPORT", file.c_str(), 1);
    Tool::loaded().init(0, 1, 0, nullptr);
    Bytes a(100), b(100);
    Tool::loaded().begin_copy(space("Host"), "a", a.data(), space("Host"), "b", b.data(), 100);
    Tool::loaded().end_copy();
  });

  EXPECT_EQ(status, 0);
  const Json r = take_report(file);
  EXPECT_EQ(r["advisor"]["finalized"], false);
  EXPECT_EQ(r["advisor"]["copies"]["count"], 1);
}

}  // namespace
}  // namespace semcache::test
