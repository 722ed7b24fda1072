// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "cuda_support.hpp"

#include <semcache/base/error.hpp>

#include <algorithm>
#include <stdexcept>

namespace linalg_miniapps {

void expect(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
}
void expect(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasGetStatusName(status) + " (" + cublasGetStatusString(status) + ")");
}
void expect_launched(const char* kernel) { expect(cudaGetLastError(), kernel); }

std::vector<std::int64_t> cut(std::int64_t total, int parts, std::int64_t grain) {
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < parts; ++i) at.push_back(std::min(total, (total * i / parts + grain - 1) / grain * grain));
  at.push_back(total);
  return at;
}

int expect_devices(const std::string& who, int devices, int most) {
  const int wanted = std::max(1, devices);
  if (wanted > most) {
    throw semcache::ConfigurationError(who + " runs on " + std::to_string(most) + " device at most, and --devices is " + std::to_string(devices) +
                                       ": leave --devices out");
  }
  int present = 0;
  const cudaError_t status = cudaGetDeviceCount(&present);
  if (status != cudaSuccess) {
    throw semcache::ConfigurationError(who + " needs a GPU, and cudaGetDeviceCount says " + cudaGetErrorName(status) + " (" +
                                       cudaGetErrorString(status) + "). Install NVIDIA's driver on a machine with a GPU");
  }
  if (present < wanted) {
    throw semcache::ConfigurationError(who + ": " + std::to_string(wanted) + " GPUs are asked for, and there are " + std::to_string(present) +
                                       ": lower --devices");
  }
  return wanted;
}

Facts facts_of(int devices, std::optional<semcache::Counters> moved) {
  cudaDeviceProp properties{};
  LINALG_EXPECT(cudaGetDeviceProperties(&properties, 0));
  return {devices, "cuda", properties.name, std::move(moved)};
}

bool connect(int devices) {
  bool all = true;
  for (int d = 0; d < devices; ++d) {
    LINALG_EXPECT(cudaSetDevice(d));
    for (int other = 0; other < devices; ++other) {
      if (other == d) continue;
      int reaches = 0;
      LINALG_EXPECT(cudaDeviceCanAccessPeer(&reaches, d, other));
      if (reaches == 0) {
        all = false;
        continue;
      }
      const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();  // the error would otherwise be that of the next launch
      } else {
        expect(status, "cudaDeviceEnablePeerAccess");
      }
    }
  }
  return all;
}

void* allocate_page_locked(std::size_t bytes) {
  void* data = nullptr;
  LINALG_EXPECT(cudaHostAlloc(&data, bytes, cudaHostAllocPortable));
  return data;
}
void free_page_locked(void* data) noexcept { (void)cudaFreeHost(data); }

Stream::Stream(int device) {
  LINALG_EXPECT(cudaSetDevice(device));
  LINALG_EXPECT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}
Stream::~Stream() {
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Event::Event(int device) {
  LINALG_EXPECT(cudaSetDevice(device));
  LINALG_EXPECT(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}
Event::~Event() {
  if (event_ != nullptr) (void)cudaEventDestroy(event_);
}

Blas::Blas(int device, cudaStream_t stream) {
  LINALG_EXPECT(cudaSetDevice(device));
  LINALG_EXPECT(cublasCreate(&handle_));
  const cublasStatus_t status = cublasSetStream(handle_, stream);
  if (status != CUBLAS_STATUS_SUCCESS) (void)cublasDestroy(handle_);
  expect(status, "cublasSetStream");
}
Blas::~Blas() {
  if (handle_ != nullptr) (void)cublasDestroy(handle_);
}

void Copies::to_device(double* device, const double* host, std::int64_t host_leading, std::int64_t rows, std::int64_t columns, const Stream& stream) {
  if (rows == 0 || columns == 0) return;
  if (rows == host_leading) {
    to_device(device, host, rows * columns, stream);
    return;
  }
  const auto width = static_cast<std::size_t>(rows) * sizeof(double);
  const auto host_pitch = static_cast<std::size_t>(host_leading) * sizeof(double), count = static_cast<std::size_t>(columns);
  LINALG_EXPECT(cudaMemcpy2DAsync(device, width, host, host_pitch, width, count, cudaMemcpyHostToDevice, stream));
  note(moved_.h2d, width * count);
}

}  // namespace linalg_miniapps
