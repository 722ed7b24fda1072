// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

/// The kernels of packages/linalg, compiled for the host. One thread of the host stands for each thread of a thread block, and the blocks run
/// one after the other, so a sanitizer sees a barrier that is missing.
namespace semcache::linalg::on_host {

struct Index {
  unsigned x;
};
inline thread_local Index threadIdx, blockIdx;

/// Where the threads of the block wait for each other.
class Barrier {
 public:
  /// Returns how many of the threads passed true.
  int wait(unsigned threads, bool own) {
    std::unique_lock<std::mutex> lock(mutex_);
    count_ += own ? 1 : 0;
    const unsigned turn = turn_;
    if (++arrived_ == threads) {
      result_ = count_;
      count_ = 0;
      arrived_ = 0;
      ++turn_;
      all_here_.notify_all();
    } else {
      all_here_.wait(lock, [&] { return turn_ != turn; });
    }
    return result_;  // the next turn cannot end before this thread has arrived
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  unsigned arrived_ = 0, turn_ = 0;
  int count_ = 0, result_ = 0;
};
inline Barrier barrier;

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __syncthreads() (void)barrier.wait(threads, false)
#define __syncthreads_or(condition) (barrier.wait(threads, condition) > 0)
#define __syncthreads_count(condition) barrier.wait(threads, condition)
using std::fma;
#include "../../packages/linalg/src/gpu_kernels.cuh"
#undef __global__
#undef __device__
#undef __forceinline__
#undef __shared__
#undef __align__
#undef __launch_bounds__
#undef __syncthreads
#undef __syncthreads_or
#undef __syncthreads_count

/// Runs a kernel, passed as a function without parameters, by `blocks` thread blocks.
template <class Kernel>
void launch(std::size_t blocks, const Kernel& kernel) {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < static_cast<unsigned>(threads); ++t) {
    all.emplace_back([&, t] {
      threadIdx = {t};
      for (std::size_t b = 0; b < blocks; ++b) {
        blockIdx = {static_cast<unsigned>(b)};
        kernel();
        (void)barrier.wait(threads, false);  // shared memory is the next block's now
      }
    });
  }
  for (std::thread& one : all) one.join();
}

}  // namespace semcache::linalg::on_host
