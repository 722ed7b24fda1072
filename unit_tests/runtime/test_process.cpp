// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

/// The runtime in processes of all kinds: each test starts some.
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

const std::string program = SEMCACHE_PROCESS_PROGRAM;
const std::string loader = SEMCACHE_LOADER;

struct Ended {
  int code;
  std::string text;
  [[nodiscard]] bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};
std::ostream& operator<<(std::ostream& out, const Ended& e) { return out << "exit code " << e.code << "\n" << e.text; }

Ended run(const std::string& command, const std::string& variables = {}) {
  std::FILE* const pipe = ::popen((variables + " timeout 60 " + command + " 2>&1").c_str(), "r");
  Ended ended{-1, {}};
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) ended.text += buffer;
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

/// The rest of the first line that begins with `field`.
std::string field(const Ended& ended, const std::string& name) {
  const std::size_t at = ended.text.find(name);
  if (at == std::string::npos) return "no " + name;
  const std::size_t begin = at + name.size();
  return ended.text.substr(begin, ended.text.find('\n', begin) - begin);
}

std::uint64_t setting(const char* name) {
  std::uint64_t value = 0;
  std::ifstream(std::string("/proc/sys/vm/") + name) >> value;
  return value;
}

bool has_userfaultfd() { return run(program + " use", "SEMCACHE_TRACKER=userfaultfd").code == 0; }

void expect_used(const Ended& ended) {
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_TRUE(ended.says("used\n")) << ended;
}

// --- one runtime per process -----------------------------------------------------------------------------------------

TEST(OneRuntime, AfterExecIsTheNewProgramsOwn) {
  expect_used(run(program + " exec use"));
  expect_used(run(program + " exec exec exec use"));
}

TEST(OneRuntime, AfterExecAtTheSameAddresses) {
  const Ended plain = run("setarch -R true");
  if (plain.code != 0) GTEST_SKIP() << "setarch cannot switch off address randomisation here: " << plain.text;
  expect_used(run("setarch -R " + program + " exec use"));
}

TEST(OneRuntime, OfAChildThatExecsIsItsOwn) {
  for (const char* how : {"fork", "vfork", "spawn"}) {
    SCOPED_TRACE(how);
    expect_used(run(program + " " + how + " use"));
    expect_used(run(program + " " + how + " exec use"));
  }
}

TEST(OneRuntime, IsNotTakenFromAMarkerThatSomethingElseLeft) {
  for (const char* marker : {"", "x", "PID", "PID:", "PID:1000:", "PID:0x10:file", "PID:ffffffffffffff00:file", "PID:MAPPED:file",
                             "1:MAPPED:file", "-1:zz:file", "99999999999999999999:1:file", "PID:MAPPED"}) {
    SCOPED_TRACE(marker);
    expect_used(run(program + " marker '" + marker + "'"));
  }
}

TEST(OneRuntime, ASecondCopyInTheProcessIsRefusedByBothNames) {
  const Ended ended = run(loader + " " SEMCACHE_PLUGIN_STATIC " " SEMCACHE_PLUGIN_STATIC_TOO);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_TRUE(ended.says("refused: this process holds two copies")) << ended;
  EXPECT_TRUE(ended.says(SEMCACHE_PLUGIN_STATIC) && ended.says(SEMCACHE_PLUGIN_STATIC_TOO)) << ended;
}

TEST(OneRuntime, OfASharedLibraryServesAllPlugins) {
  const Ended ended = run(loader + " " SEMCACHE_PLUGIN_SHARED " " SEMCACHE_PLUGIN_SHARED_TOO);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_TRUE(ended.says("two\n")) << ended;
}

// --- loaded into a running program -----------------------------------------------------------------------------------

TEST(Plugin, ThreadsThatAreOlderThanItAreServedAndItStaysWhenItIsClosed) {
  for (const char* plugin : {SEMCACHE_PLUGIN_STATIC, SEMCACHE_PLUGIN_SHARED}) {
    for (const char* tracker : {"mprotect", "userfaultfd"}) {
      if (tracker == std::string("userfaultfd") && !has_userfaultfd()) continue;
      const Ended ended = run(loader + " " + plugin, std::string("SEMCACHE_TRACKER=") + tracker);
      EXPECT_EQ(ended.code, 0) << plugin << " " << tracker << " " << ended;
      EXPECT_TRUE(ended.says("loaded\n")) << ended;
    }
  }
}

// --- limits ----------------------------------------------------------------------------------------------------------

TEST(Limits, AMirrorThatIsFreedAtTheLimitOnMappingsLeavesNoClosedPagesToTheNext) {
  if (sanitized) GTEST_SKIP() << "sanitizers themselves end where no mapping is left";
  if (setting("max_map_count") > 200'000) {
    GTEST_SKIP() << "vm.max_map_count is " << setting("max_map_count") << ": too many mappings to make in a test";
  }
  const Ended ended = run(program + " mappings");
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(field(ended, "reads "), "0");
  EXPECT_EQ(field(ended, "neighbours "), "10");
}

TEST(Limits, OfAddressesMostIsLeftToTheProgram) {
  if (sanitized) GTEST_SKIP() << "sanitizers need more addresses than a limit leaves";
  constexpr std::uint64_t limit = std::uint64_t{4} << 30;
  for (const char* tracker : {"mprotect", "explicit", "userfaultfd"}) {
    if (tracker == std::string("userfaultfd") && !has_userfaultfd()) continue;
    SCOPED_TRACE(tracker);
    const Ended ended = run(program + " addresses " + std::to_string(limit), std::string("SEMCACHE_TRACKER=") + tracker);
    EXPECT_EQ(ended.code, 0) << ended;
    EXPECT_LE(std::stoull(field(ended, "takes ")), (limit >> 20) / 3 * 2) << ended;
    EXPECT_TRUE(ended.says("'large'") && ended.says("SEMCACHE_HOST_ADDRESSES") && ended.says("ulimit -v")) << ended;
  }
}

TEST(Limits, AddressesThatAreAskedForAreHadOrRefusedByName) {
  if (sanitized) GTEST_SKIP() << "sanitizers need more addresses than a limit leaves";
  const std::string command = program + " addresses " + std::to_string(std::uint64_t{4} << 30);
  const Ended had = run(command, "SEMCACHE_HOST_ADDRESSES=3G");
  EXPECT_EQ(had.code, 0) << had;
  EXPECT_TRUE(had.says("all the addresses for host arrays, 3221225472 bytes")) << had;
  const Ended refused = run(command, "SEMCACHE_HOST_ADDRESSES=5G");
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_TRUE(refused.says("SEMCACHE_HOST_ADDRESSES=5368709120") && refused.says("ulimit -v")) << refused;
}

TEST(Limits, WhatIsReservedIsChargedToNobody) {
  if (sanitized) GTEST_SKIP() << "sanitizers reserve addresses in their own way";
  for (const char* tracker : {"mprotect", "explicit", "userfaultfd"}) {
    if (tracker == std::string("userfaultfd") && !has_userfaultfd()) continue;
    SCOPED_TRACE(tracker);
    const Ended ended = run(program + " reserves", std::string("SEMCACHE_TRACKER=") + tracker);
    EXPECT_EQ(ended.code, 0) << ended;
    EXPECT_TRUE(ended.says(" GiB VmFlags:")) << ended;
    // Writable: charged where vm.overcommit_memory is 2. Accountable: charged.
    EXPECT_FALSE(ended.says(" wr ") || ended.says(" ac ")) << ended;
  }
}

TEST(Limits, WhereMemoryIsNotOvercommittedItWorks) {
  if (setting("overcommit_memory") != 2) GTEST_SKIP() << "vm.overcommit_memory is " << setting("overcommit_memory") << ", not 2";
  for (const char* tracker : {"mprotect", "explicit", "userfaultfd"}) {
    if (tracker == std::string("userfaultfd") && !has_userfaultfd()) continue;
    expect_used(run(program + " use", std::string("SEMCACHE_TRACKER=") + tracker));
  }
}

// --- where it runs, and for whom -------------------------------------------------------------------------------------

TEST(ServiceThread, RunsWhereTheProcessMayNotWhereItsCreatorIsBound) {
  for (const char* tracker : {"mprotect", "userfaultfd"}) {
    const bool userfaultfd = tracker == std::string("userfaultfd");
    if (userfaultfd && !has_userfaultfd()) continue;
    SCOPED_TRACE(tracker);
    const Ended ended =
        run(program + " bound semcache-fault" + (userfaultfd ? " semcache-care" : ""), std::string("SEMCACHE_TRACKER=") + tracker);
    ASSERT_EQ(ended.code, 0) << ended;
    if (field(ended, "may:") == field(ended, "creator:")) GTEST_SKIP() << "this process may run on one processor only";
    EXPECT_EQ(field(ended, "semcache-fault:"), field(ended, "may:"));
    if (userfaultfd) {
      EXPECT_EQ(field(ended, "semcache-care:"), field(ended, "may:"));
    }
  }
}

bool privileges_are_fixed() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NoNewPrivs:", 0) == 0) return line.find('1') != std::string::npos;
  }
  return false;
}

TEST(SetUserId, AProgramWithForeignRightsObeysNoVariables) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a set-user-id program and run it as somebody else";
  char name[] = "/tmp/semcache-set-user-id-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const fs::path folder = name;
  ::chmod(name, 0777);
  const fs::path copy = folder / "program", report = folder / "report.txt";
  fs::copy_file(program, copy);
  const std::string variables = "SEMCACHE_REPORT=" + report.string();

  const std::string as_somebody = "setpriv --reuid=65534 --regid=65534 --clear-groups " + copy.string() + " use";
  ::chmod(copy.c_str(), 0755);
  const Ended own = run(as_somebody, variables);
  const bool wrote = fs::exists(report);
  fs::remove(report);

  const bool made = ::chmod(copy.c_str(), 04755) == 0;
  const Ended ended = run(as_somebody, variables + " SEMCACHE_TRACKER=nonsense");
  struct stat now {};
  const bool kept = ::stat(copy.c_str(), &now) == 0 && (now.st_mode & S_ISUID) != 0;
  EXPECT_FALSE(fs::exists(report));
  fs::remove_all(folder);
  if (own.code == 127 || ended.says("cannot open shared object")) GTEST_SKIP() << "set-user-id programs do not start here: " << own << ended;
  expect_used(own);
  EXPECT_TRUE(wrote) << "without foreign rights";
  if (!made || !kept) GTEST_SKIP() << "this file system has no set-user-id programs";
  if (privileges_are_fixed()) GTEST_SKIP() << "this container gives no foreign rights (no_new_privs)";
  expect_used(ended);
}

}  // namespace
