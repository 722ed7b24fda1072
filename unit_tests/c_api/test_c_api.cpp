// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/semcache.h>

#include <gtest/gtest.h>

#include <string>

extern "C" int c_api_program(void);

namespace {

TEST(CInterface, AProgramInC89WorksTwice) {
  EXPECT_EQ(c_api_program(), 0);
  EXPECT_EQ(c_api_program(), 0);  // the runtime was ended and starts again
}

TEST(CInterface, TheVersionIsTheProjects) {
  const std::string version = std::to_string(SEMCACHE_VERSION_MAJOR) + "." + std::to_string(SEMCACHE_VERSION_MINOR) + "." +
                              std::to_string(SEMCACHE_VERSION_PATCH);

  EXPECT_EQ(version, SEMCACHE_TEST_PROJECT_VERSION);
  EXPECT_EQ(semcache_version(), 10000 * SEMCACHE_VERSION_MAJOR + 100 * SEMCACHE_VERSION_MINOR + SEMCACHE_VERSION_PATCH);
}

}  // namespace
