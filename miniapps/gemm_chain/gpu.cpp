// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "gpu.hpp"

#include "cuda_libraries.hpp"
#include "host_gemm.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace gemm_chain {
namespace {

class EmulatedGpu : public Gpu {
 public:
  std::string name() const override { return "emulated"; }
  double* allocate(std::size_t bytes) override {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<double*>(memory);
  }
  double* allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void to_device(double* to, const double* from, std::size_t bytes, int) override { std::memcpy(to, from, bytes); }
  void to_host(double* to, const double* from, std::size_t bytes, int) override { std::memcpy(to, from, bytes); }
  void to_device_plainly(double* to, const double* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void to_host_plainly(double* to, const double* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void gemm(std::int64_t n, std::int64_t columns, const double* left, const double* right, double* to, int) override {
    host_gemm(n, columns, left, right, to);
  }
  void follow(int, int) override {}
  void wait(int) override {}
};

using cuda::expect, cuda::find;

/// What CUDA's headers declare.
class CudaGpu : public Gpu {
 public:
  CudaGpu() {
    runtime_ = cuda::load_runtime();
    blas_ = cuda::load_blas();
    find(runtime_, malloc_, "cudaMalloc");
    find(runtime_, malloc_host_, "cudaMallocHost");
    find(runtime_, copy_, "cudaMemcpyAsync");
    find(runtime_, copy_plainly_, "cudaMemcpy");
    find(runtime_, create_stream_, "cudaStreamCreate");
    find(runtime_, wait_stream_, "cudaStreamSynchronize");
    find(runtime_, create_event_, "cudaEventCreate");
    find(runtime_, record_, "cudaEventRecord");
    find(runtime_, follow_, "cudaStreamWaitEvent");
    find(blas_, create_blas_, "cublasCreate_v2");
    find(blas_, set_stream_, "cublasSetStream_v2");
    find(blas_, gemm_, "cublasDgemm_v2");
    for (int i = 0; i < lanes; ++i) {
      expect(create_stream_(&streams_[i]), "cudaStreamCreate");
      expect(create_event_(&events_[i]), "cudaEventCreate");
    }
    expect(create_blas_(&handle_), "cublasCreate");
  }
  std::string name() const override { return "cuda"; }
  double* allocate(std::size_t bytes) override { return taken(malloc_, bytes, "cudaMalloc"); }
  double* allocate_host(std::size_t bytes) override { return taken(malloc_host_, bytes, "cudaMallocHost"); }
  void to_device(double* to, const double* from, std::size_t bytes, int lane) override {
    expect(copy_(to, from, bytes, 1, streams_[lane]), "cudaMemcpyAsync");
  }
  void to_host(double* to, const double* from, std::size_t bytes, int lane) override {
    expect(copy_(to, from, bytes, 2, streams_[lane]), "cudaMemcpyAsync");
  }
  // The lanes' streams are such that plain copies wait for them, and they for plain copies.
  void to_device_plainly(double* to, const double* from, std::size_t bytes) override { expect(copy_plainly_(to, from, bytes, 1), "cudaMemcpy"); }
  void to_host_plainly(double* to, const double* from, std::size_t bytes) override { expect(copy_plainly_(to, from, bytes, 2), "cudaMemcpy"); }
  void gemm(std::int64_t n, std::int64_t columns, const double* left, const double* right, double* to, int lane) override {
    const double one = 1, zero = 0;
    const int size = static_cast<int>(n), wide = static_cast<int>(columns);
    if (lane != lane_of_handle_) expect(set_stream_(handle_, streams_[lane]), "cublasSetStream");
    lane_of_handle_ = lane;
    expect(gemm_(handle_, 0, 0, size, wide, size, &one, left, size, right, size, &zero, to, size), "cublasDgemm");
  }
  void follow(int lane, int other) override {
    expect(record_(events_[other], streams_[other]), "cudaEventRecord");
    expect(follow_(streams_[lane], events_[other], 0), "cudaStreamWaitEvent");
  }
  void wait(int lane) override { expect(wait_stream_(streams_[lane]), "cudaStreamSynchronize"); }

 private:
  using Take = int (*)(void**, std::size_t);
  static double* taken(Take take, std::size_t bytes, const char* call) {
    void* memory = nullptr;
    expect(take(&memory, bytes), call);
    return static_cast<double*>(memory);
  }

  void* runtime_ = nullptr;
  void* blas_ = nullptr;
  Take malloc_ = nullptr, malloc_host_ = nullptr;
  int (*copy_)(void*, const void*, std::size_t, int, void*) = nullptr;
  int (*copy_plainly_)(void*, const void*, std::size_t, int) = nullptr;
  int (*create_stream_)(void**) = nullptr;
  int (*wait_stream_)(void*) = nullptr;
  int (*create_event_)(void**) = nullptr;
  int (*record_)(void*, void*) = nullptr;
  int (*follow_)(void*, void*, unsigned) = nullptr;
  int (*create_blas_)(void**) = nullptr;
  int (*set_stream_)(void*, void*) = nullptr;
  int (*gemm_)(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*, double*, int) = nullptr;
  void* streams_[lanes] = {};
  void* events_[lanes] = {};
  void* handle_ = nullptr;
  int lane_of_handle_ = -1;
};

}  // namespace

std::unique_ptr<Gpu> make_emulated_gpu() { return std::make_unique<EmulatedGpu>(); }
std::unique_ptr<Gpu> make_cuda_gpu() {
  try {
    return std::make_unique<CudaGpu>();
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(std::string(e.what()) + " Without a GPU set SEMCACHE_DEVICE=emulated");
  }
}

}  // namespace gemm_chain
