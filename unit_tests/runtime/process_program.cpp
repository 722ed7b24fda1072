// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program for test_process.cpp: its first argument says what kind of process it is.
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <dirent.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace semcache;
using Arguments = std::vector<std::string>;

/// A mirror of what a kernel set to `value`; its pages are closed.
unsigned char* stale_mirror(std::size_t bytes, int value) {
  void* const device = runtime::allocate_device("device", bytes);
  void* const mirror = runtime::allocate_host("mirror", bytes, device, base::Accesses::watched);
  const runtime::Capture capture{device, nullptr, 0, true, false};
  const runtime::Launch launch(runtime::queue_of(nullptr), "kernel", &capture, 1);
  std::memset(device, value, bytes);
  return static_cast<unsigned char*>(mirror);
}

void announce_where_needed(const volatile unsigned char* mirror, std::size_t bytes) {
  const void* const address = const_cast<const unsigned char*>(mirror);
  if (!runtime::notices_host_accesses(address)) access(address, bytes, Access::read);
}

int use(const Arguments&) {
  const volatile unsigned char* const mirror = stale_mirror(10000, 3);
  announce_where_needed(mirror, 10000);
  const bool right = mirror[0] == 3 && mirror[9999] == 3;
  std::printf("%s\n", right ? "used" : "wrong");
  finalize();
  return right ? 0 : 1;
}

std::vector<char*> pointers(Arguments& arguments) {
  std::vector<char*> out;
  for (std::string& a : arguments) out.push_back(a.data());
  out.push_back(nullptr);
  return out;
}

int become(Arguments arguments) {
  std::fflush(stdout);
  arguments.insert(arguments.begin(), "program");
  ::execv("/proc/self/exe", pointers(arguments).data());
  return 9;
}

int code_of(pid_t child) {
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 8;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

/// Uses SemCache, then becomes the program that the arguments say, in the same process.
int use_and_exec(const Arguments& arguments) {
  (void)stale_mirror(4096, 1);
  return become(arguments);
}

int use_fork_and_exec(const Arguments& arguments) {
  (void)stale_mirror(4096, 1);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) _exit(become(arguments));
  return code_of(child);
}

int use_vfork_and_exec(Arguments arguments) {
  (void)stale_mirror(4096, 1);
  std::fflush(stdout);
  arguments.insert(arguments.begin(), "program");
  const std::vector<char*> argv = pointers(arguments);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execv("/proc/self/exe", argv.data());
    _exit(9);
  }
  return code_of(child);
}

int use_and_spawn(Arguments arguments) {
  (void)stale_mirror(4096, 1);
  std::fflush(stdout);
  arguments.insert(arguments.begin(), "program");
  pid_t child = -1;
  if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(), ::environ) != 0) return 8;
  return code_of(child);
}

/// As left behind by something else: by a process with the same number, or by hand.
int with_marker(Arguments arguments) {
  static int nothing_of_ours = 5;
  std::string marker = arguments.at(0);
  const auto put = [&marker](const std::string& word, const std::string& value) {
    if (const auto at = marker.find(word); at != std::string::npos) marker.replace(at, word.size(), value);
  };
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<void*>(&nothing_of_ours));
  put("PID", std::to_string(::getpid()));
  put("MAPPED", address);
  ::setenv("_SEMCACHE_RUNTIME", marker.c_str(), 1);
  return use({});
}

std::string status_of_thread(const std::string& name, const std::string& field) {
  DIR* const tasks = ::opendir("/proc/self/task");
  std::string found;
  while (const dirent* const entry = ::readdir(tasks)) {
    const std::string folder = std::string("/proc/self/task/") + entry->d_name;
    std::string comm;
    std::getline(std::ifstream(folder + "/comm"), comm);
    if (comm != name) continue;
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind(field + ":", 0) == 0) found = line.substr(field.size() + 1);
    }
  }
  ::closedir(tasks);
  return found;
}

/// The first user of SemCache is bound to one processor. Prints where it and the threads of ours may run.
int bound_to_one_processor(const Arguments& threads) {
  cpu_set_t one;
  if (::sched_getaffinity(0, sizeof one, &one) != 0) return 8;
  std::printf("may:%s\n", status_of_thread("process-program", "Cpus_allowed").c_str());
  int first = 0;
  while (!CPU_ISSET(first, &one)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) return 8;
  (void)stale_mirror(4096, 1);
  for (const std::string& name : threads) {
    std::string mask;
    for (int tries = 0; tries < 1000 && mask.empty(); ++tries) {  // until it has begun
      ::usleep(10000);
      mask = status_of_thread(name, "Cpus_allowed");
    }
    std::printf("%s:%s\n", name.c_str(), mask.c_str());
  }
  std::printf("creator:%s\n", status_of_thread("process-program", "Cpus_allowed").c_str());
  return 0;
}

/// The program itself uses up the kernel's limit on mappings, and a stale mirror is freed then.
int frees_at_the_limit_on_mappings(const Arguments&) {
  constexpr std::size_t n = 65536 - 128;
  unsigned char* mirrors[3];
  for (unsigned char*& m : mirrors) m = stale_mirror(n, 5);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<void*> maps;
  maps.reserve(300000);
  for (long k = 0; k < 300000; ++k) {
    void* const p = ::mmap(nullptr, page, k % 2 != 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) break;
    maps.push_back(p);
  }
  runtime::deallocate(mirrors[1]);
  auto* const next = static_cast<volatile unsigned char*>(runtime::allocate_host("next", n, nullptr, base::Accesses::watched));
  for (void* const p : maps) ::munmap(p, page);
  std::printf("reads %d\n", next[0] + next[n - 1]);
  std::printf("neighbours %d\n", static_cast<volatile unsigned char*>(mirrors[0])[n - 1] + static_cast<volatile unsigned char*>(mirrors[2])[0]);
  return 0;
}

std::uint64_t addresses_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Prints what one small array takes of `limit` more addresses, in MiB, and what a large one is refused with.
int under_a_limit_on_addresses(const Arguments& arguments) {
  const std::uint64_t before = addresses_in_use();
  const rlimit limit{before + std::stoull(arguments.at(0)), before + std::stoull(arguments.at(0))};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) return 8;
  volatile unsigned char* const mirror = stale_mirror(4096, 3);
  announce_where_needed(mirror, 4096);
  std::printf("takes %llu\n", static_cast<unsigned long long>((addresses_in_use() - before) >> 20));
  if (mirror[4095] != 3) return 1;
  try {
    (void)runtime::allocate_host("large", std::uint64_t{1} << 40, nullptr, base::Accesses::watched);
  } catch (const OutOfMemory& e) {
    std::printf("%s\n", e.what());
  }
  return 0;
}

/// Prints the flags of the mappings above 1 GiB, and how much of them can be written.
int reserves(const Arguments&) {
  (void)stale_mirror(4096, 3);
  std::ifstream file("/proc/self/smaps");
  unsigned long long size = 0;
  for (std::string line; std::getline(file, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) size = end - begin;
    if (size > std::uint64_t{1} << 30 && line.rfind("VmFlags:", 0) == 0) std::printf("%llu GiB %s\n", size >> 30, line.c_str());
  }
  return 0;
}

int run(const std::string& what, const Arguments& arguments) {
  if (what == "use") return use(arguments);
  if (what == "exec") return use_and_exec(arguments);
  if (what == "fork") return use_fork_and_exec(arguments);
  if (what == "vfork") return use_vfork_and_exec(arguments);
  if (what == "spawn") return use_and_spawn(arguments);
  if (what == "marker") return with_marker(arguments);
  if (what == "bound") return bound_to_one_processor(arguments);
  if (what == "mappings") return frees_at_the_limit_on_mappings(arguments);
  if (what == "addresses") return under_a_limit_on_addresses(arguments);
  if (what == "reserves") return reserves(arguments);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  ::pthread_setname_np(::pthread_self(), "process-program");
  try {
    return argc > 1 ? run(argv[1], Arguments(argv + 2, argv + argc)) : 2;
  } catch (const std::exception& e) {
    std::printf("error: %s\n", e.what());
    return 1;
  }
}
