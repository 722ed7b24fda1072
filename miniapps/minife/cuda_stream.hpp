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

/// A stream that does not wait for the default one, urgent enough that small kernels and copies on it overtake the big
/// kernels of others.
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

/// A point in a stream for others to wait for.
class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  /// Work submitted to `later` from now on waits for what `earlier` has been given so far.
  void order(cudaStream_t earlier, cudaStream_t later) {
    check_cuda(cudaEventRecord(event_, earlier), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(later, event_, 0), "cudaStreamWaitEvent");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace minife
