// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <Kokkos_Core.hpp>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace minife {

/// @throws std::runtime_error naming the call and CUDA's explanation, unless `code` is cudaSuccess
inline void check_cuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

/// A stream that does not wait for the default stream. Its priority is the highest, so that small kernels and copies on it
/// overtake the big kernels of other streams.
class CudaStream {
 public:
  CudaStream() {
    int least = 0;
    int greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
  }
  ~CudaStream() { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream that other streams can wait for.
class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  /// Makes work that is submitted to `later` from now on wait for all work that was submitted to `earlier` so far.
  void order(cudaStream_t earlier, cudaStream_t later) {
    check_cuda(cudaEventRecord(event_, earlier), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(later, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace minife
