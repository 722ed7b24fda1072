// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.h>

#include <gtest/gtest.h>

#include <string>

namespace {

// SEMCACHE_DEVICE=cuda, but the library was built without: what helps is another build or another device, not another number.
TEST(NoCuda, TheErrorSaysThatTheBuildHasNone) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    void* result = nullptr;
    EXPECT_EQ(semcache_allocate_device("array", 8, &result), SEMCACHE_ERROR_CONFIGURATION);
    const std::string said = semcache_last_error();
    EXPECT_NE(said.find("built without CUDA"), std::string::npos) << said;
    EXPECT_NE(said.find("SEMCACHE_DEVICE=emulated"), std::string::npos) << said;
    EXPECT_EQ(said.find("does not exist"), std::string::npos) << said;
  }
}

}  // namespace
