// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "variant.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// What the variants in CUDA share. Every error of CUDA or cuBLAS becomes a std::runtime_error whose text has the call and the error.
namespace linalg_miniapps {

void expect(cudaError_t status, const char* call);
void expect(cublasStatus_t status, const char* call);
void expect_launched(const char* kernel);
#define LINALG_EXPECT(call) ::linalg_miniapps::expect((call), #call)

/// Numbers from 0 to `total` that cut it into about equal parts. Cuts lie at multiples of `grain`, so parts of a small total may be empty.
[[nodiscard]] std::vector<std::int64_t> cut(std::int64_t total, int parts, std::int64_t grain);

/// Returns how many GPUs to use: `devices`, or 1 for 0.
/// @throws semcache::ConfigurationError  the machine has fewer, or more than `most` are asked for
[[nodiscard]] int expect_devices(const std::string& who, int devices, int most);
[[nodiscard]] Facts facts_of(int devices, std::optional<semcache::Counters> moved);
/// Lets the first `devices` GPUs reach each other's memory where they can. Returns whether all can.
bool connect(int devices);

/// Memory of a device.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(int device, std::int64_t count) : count_(count) {
    LINALG_EXPECT(cudaSetDevice(device));
    // The kernels of packages/linalg read whole units of 16 bytes.
    LINALG_EXPECT(cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<std::size_t>(count) * sizeof(T) + 32));
  }
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t size() const noexcept { return count_; }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

/// Page-locked memory of the host, which every GPU may use.
void* allocate_page_locked(std::size_t bytes);
void free_page_locked(void* data) noexcept;
template <class T>
class PageLocked {
 public:
  PageLocked() = default;
  explicit PageLocked(std::int64_t count) : data_(static_cast<T*>(allocate_page_locked(static_cast<std::size_t>(count) * sizeof(T) + 1))) {}
  ~PageLocked() { free_page_locked(data_); }
  PageLocked(PageLocked&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PageLocked& operator=(PageLocked&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  [[nodiscard]] T* data() const noexcept { return data_; }

 private:
  T* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  operator cudaStream_t() const noexcept { return stream_; }
  void wait() const { LINALG_EXPECT(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(int device);
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  /// The device of the stream is the current one.
  void record(const Stream& stream) const { LINALG_EXPECT(cudaEventRecord(event_, stream)); }
  void hold_back(const Stream& stream) const { LINALG_EXPECT(cudaStreamWaitEvent(stream, event_, 0)); }
  void wait() const { LINALG_EXPECT(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A handle of cuBLAS whose work goes to a stream.
class Blas {
 public:
  Blas(int device, cudaStream_t stream);
  ~Blas();
  Blas(Blas&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Blas& operator=(Blas&&) = delete;
  operator cublasHandle_t() const noexcept { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

/// Copies that are counted.
class Copies {
 public:
  template <class T>
  void to_device(T* device, const T* host, std::int64_t count, const Stream& stream) {
    copy(device, host, bytes<T>(count), cudaMemcpyHostToDevice, stream, moved_.h2d);
  }
  template <class T>
  void to_host(T* host, const T* device, std::int64_t count, const Stream& stream) {
    copy(host, device, bytes<T>(count), cudaMemcpyDeviceToHost, stream, moved_.d2h);
  }
  /// A rectangle of a column-major matrix. The device's has `rows` as leading dimension.
  void to_device(double* device, const double* host, std::int64_t host_leading, std::int64_t rows, std::int64_t columns, const Stream& stream);
  template <class T>
  void between(T* to, int to_device, const T* from, int from_device, std::int64_t count, const Stream& stream) {
    if (count == 0) return;
    LINALG_EXPECT(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes<T>(count), stream));
    note(moved_.between_devices, bytes<T>(count));
    note(moved_.d2d, bytes<T>(count));
  }
  [[nodiscard]] const semcache::Counters& moved() const noexcept { return moved_; }

 private:
  template <class T>
  static std::size_t bytes(std::int64_t count) noexcept { return static_cast<std::size_t>(count) * sizeof(T); }
  static void note(semcache::Traffic& traffic, std::size_t bytes) noexcept {
    traffic.bytes += bytes;
    traffic.count += 1;
  }
  static void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, const Stream& stream, semcache::Traffic& traffic) {
    if (bytes == 0) return;
    LINALG_EXPECT(cudaMemcpyAsync(to, from, bytes, kind, stream));
    note(traffic, bytes);
  }

  semcache::Counters moved_;
};

}  // namespace linalg_miniapps
