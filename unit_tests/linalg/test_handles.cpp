// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cublas.hpp"

#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>
#include <semcache/tasks/lanes.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

// The handles of cuBLAS, for which stand_in_cublas.cpp stands in. They end before the runtime, and calls of other threads may be under way then.
namespace semcache::linalg {
namespace {

CublasRoutine routine("cublasDgemv_v2");
std::atomic<bool> handles_have_ended{false}, called{false};

/// Runs behind the function that destroys the handles, and before the runtime keeps other threads' calls out.
void between() noexcept {
  handles_have_ended.store(true);
  while (!called.load()) std::this_thread::yield();
}

TEST(Handles, AreMadeAnewByCallsWhileTheRuntimeEnds) {
  const runtime::Stream stream = tasks::lane(0, 0);
  std::atomic<bool> begun{false};
  std::thread other([&] {
    EXPECT_NO_THROW(routine(stream));
    begun.store(true);
    while (!handles_have_ended.load()) std::this_thread::yield();
    EXPECT_NO_THROW(routine(stream)) << "a handle that has been destroyed is used";
    called.store(true);
  });
  while (!begun.load()) std::this_thread::yield();
  runtime::before_end(&between);
  finalize();
  other.join();
}

TEST(Handles, OfANewRuntimeAreNew) {
  for (int i = 0; i < 3; ++i) {
    const runtime::Stream stream = tasks::lane(0, 0);
    EXPECT_NO_THROW(routine(stream));
    EXPECT_NO_THROW(routine(stream));
    finalize();
  }
}

}  // namespace
}  // namespace semcache::linalg
