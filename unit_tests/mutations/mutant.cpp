// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "mutant.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/prctl.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace semcache_mutants {
namespace {

constexpr int most = 1 << 16;
unsigned char nowhere[most];

/// With MUTANTS_REACHED, the name of a file: a line for each test, with its name, its milliseconds and the numbers of the mutants that
/// it comes to.
class Reached : public testing::EmptyTestEventListener {
 public:
  explicit Reached(const char* file) : file_(std::fopen(file, "w")) {}

 private:
  void OnTestStart(const testing::TestInfo&) override {
    std::memset(reached, 0, most);
    began_ = std::chrono::steady_clock::now();
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began_;
    std::fprintf(file_, "%s.%s %.3f", test.test_suite_name(), test.name(), took.count());
    for (int i = 0; i < most; ++i) {
      if (reached[i] != 0) std::fprintf(file_, " %d", i);
    }
    std::fprintf(file_, "\n");
    std::fflush(file_);
  }

  std::FILE* const file_;
  std::chrono::steady_clock::time_point began_;
};

bool begin() {
  if (const char* const file = std::getenv("MUTANTS_REACHED")) {
    void* const shared = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) reached = static_cast<unsigned char*>(shared);
    testing::UnitTest::GetInstance()->listeners().Append(new Reached(file));
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a mutant that hangs does not outlive who started it
  if (const char* const numbers = std::getenv("MUTANT")) (void)std::sscanf(numbers, "%d,%d", &chosen[0], &chosen[1]);
  return true;
}

}  // namespace

int chosen[2];
unsigned char* reached = nowhere;
[[maybe_unused]] const bool begun = begin();

}  // namespace semcache_mutants
