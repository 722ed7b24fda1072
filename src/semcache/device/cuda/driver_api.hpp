// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/types.hpp>

#include <cuda.h>

#include <string>

/// The CUDA driver, bound at the first request, so that a program built with CUDA starts on machines without a driver.
///
/// Only the driver interface is used, never the runtime's, because the driver interface has no per-thread error state that a call
/// of ours could disturb. cuda.h renames functions to their current versions by macros; the table follows them.
#define SEMCACHE_CUDA_FUNCTIONS(X)                                                                                     \
  X(cuInit) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName)                \
  X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuMemGetInfo) X(cuDevicePrimaryCtxRetain)                              \
  X(cuDevicePrimaryCtxRelease) X(cuCtxGetCurrent) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxSynchronize)           \
  X(cuMemGetAllocationGranularity) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease)           \
  X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuMemRetainAllocationHandle)                                           \
  X(cuMemGetAllocationPropertiesFromHandle) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost)              \
  X(cuMemHostRegister) X(cuMemHostUnregister) X(cuPointerGetAttribute) X(cuStreamCreateWithPriority)                   \
  X(cuCtxGetStreamPriorityRange) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamWaitEvent)       \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) X(cuMemcpyHtoDAsync)       \
  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy2DAsync) X(cuMemsetD8Async) X(cuMemsetD32Async)                  \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuDeviceCanAccessPeer)             \
  X(cuStreamGetCtx) X(cuCtxGetDevice)

/// A driver may lack any of these; the pointer is nullptr then.
#if CUDA_VERSION >= 12040
#define SEMCACHE_CUDA_OPTIONAL_FUNCTIONS(X)                                                                            \
  X(cuKernelGetParamInfo) X(cuFuncGetParamInfo) X(cuStreamIsCapturing) X(cuThreadExchangeStreamCaptureMode)
#else
#define SEMCACHE_CUDA_OPTIONAL_FUNCTIONS(X) X(cuStreamIsCapturing) X(cuThreadExchangeStreamCaptureMode)
#endif

namespace semcache::device::cuda {

struct DriverApi {
#define SEMCACHE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  SEMCACHE_CUDA_FUNCTIONS(SEMCACHE_CUDA_MEMBER)
  SEMCACHE_CUDA_OPTIONAL_FUNCTIONS(SEMCACHE_CUDA_MEMBER)
#undef SEMCACHE_CUDA_MEMBER

  /// Empty when the driver was found, is recent enough and could be initialised; else the reason.
  std::string failure;
};

/// Returns the driver's functions; loads and initialises the driver on the first call. Check `failure`. Threads: any.
/// @throws std::bad_alloc
[[nodiscard]] const DriverApi& driver_api();

/// Returns the text "CUDA_ERROR_X (text) in <call>".
[[nodiscard]] std::string error_text(const DriverApi& api, CUresult result, const char* call);

/// Returns whether work for this stream is being recorded in a graph instead of being carried out.
[[nodiscard]] inline bool is_capturing(const DriverApi& api, CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return api.cuStreamIsCapturing != nullptr && api.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Permits the calling thread, for the object's lifetime, calls that could belong in a graph (asking whether an event is
/// complete, for instance). While a thread of the program records a graph, the driver otherwise refuses such calls to all
/// threads, and the recording fails.
class CaptureAllowed : base::Uncopied {
 public:
  CaptureAllowed() noexcept : api_(driver_api()) { exchange(); }
  ~CaptureAllowed() { exchange(); }

 private:
  void exchange() noexcept {
    if (api_.cuThreadExchangeStreamCaptureMode != nullptr) (void)api_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  const DriverApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace semcache::device::cuda
