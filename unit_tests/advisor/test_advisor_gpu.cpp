// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// The advisor on a GPU's memory of all kinds, by its callbacks. Needs CUDA's runtime and no Kokkos.
#include "tool.hpp"

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace semcache::test {
namespace {

using Bytes = std::vector<unsigned char>;

void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}
#define CUDA_CHECK(call) check(call, #call)

class AdvisorGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(error);
  }
};

Bytes counted(std::size_t n) {
  Bytes b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<unsigned char>(7 * i + i / 251);
  return b;
}

void upload(Session& s, unsigned char* to, const Bytes& from, const char* space) {
  s.begin(to, from.data(), from.size(), space, "Host");
  CUDA_CHECK(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyDefault));
  s.end();
}

/// Copies twice, changes the last byte of the destination, and copies again.
Json three_uploads(unsigned char* to, std::size_t n, const char* space) {
  const Bytes from = counted(n);
  Session s;
  CUDA_CHECK(cudaMemset(to, 0, n));
  upload(s, to, from, space);
  upload(s, to, from, space);
  CUDA_CHECK(cudaMemset(to + n - 1, from[n - 1] ^ 1, 1));
  upload(s, to, from, space);
  return s.report();
}

void expect_one_redundant(const Json& r, std::size_t n) {
  EXPECT_EQ(sum_of(r, "redundant", "count"), 1u);
  EXPECT_EQ(sum_of(r, "redundant", "bytes"), n);
  EXPECT_EQ(r["advisor"]["not_examined"]["count"], 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(AdvisorGpu, OrdinaryDeviceMemory) {
  constexpr std::size_t n = (100 << 20) + 5;
  unsigned char* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, n));
  const Json r = three_uploads(p, n, "Cuda");
  expect_one_redundant(r, n);
  std::printf("reading both sides of 3 x %zu bytes took %.3f s\n", n, r["advisor"]["advisor_seconds"].get<double>());
  CUDA_CHECK(cudaFree(p));
}

TEST_F(AdvisorGpu, MemoryOfAPool) {
  int pools = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
  if (pools == 0) GTEST_SKIP() << "no memory pools on this device";
  constexpr std::size_t n = 100'003;
  unsigned char* p = nullptr;
  CUDA_CHECK(cudaMallocAsync(&p, n, nullptr));
  expect_one_redundant(three_uploads(p, n, "Cuda"), n);
  CUDA_CHECK(cudaFreeAsync(p, nullptr));
}

TEST_F(AdvisorGpu, ManagedMemory) {
  constexpr std::size_t n = 100'003;
  unsigned char* p = nullptr;
  CUDA_CHECK(cudaMallocManaged(&p, n));
  expect_one_redundant(three_uploads(p, n, "CudaUVM"), n);
  CUDA_CHECK(cudaFree(p));
}

TEST_F(AdvisorGpu, PageLockedMemory) {
  constexpr std::size_t n = 100'003;
  unsigned char* p = nullptr;
  CUDA_CHECK(cudaMallocHost(&p, n));
  expect_one_redundant(three_uploads(p, n, "CudaHostPinned"), n);
  CUDA_CHECK(cudaFreeHost(p));
}

TEST_F(AdvisorGpu, AThreadWithoutAContext) {
  constexpr std::size_t n = 100'003;
  unsigned char* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, n));
  const Bytes from = counted(n);
  CUDA_CHECK(cudaMemcpy(p, from.data(), n, cudaMemcpyDefault));
  Session s;
  std::thread([&] {
    s.begin(p, from.data(), n, "Cuda", "Host");
    s.end();
  }).join();
  expect_one_redundant(s.report(), n);
  CUDA_CHECK(cudaFree(p));
}

TEST_F(AdvisorGpu, BeyondTheEndOfAnAllocationIsNotExamined) {
  constexpr std::size_t n = 1 << 20, beyond = std::size_t{1} << 30;
  unsigned char* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, n));
  Bytes host(beyond);
  Session s;
  s.begin(p, host.data(), beyond, "Cuda", "Host");
  s.end();

  EXPECT_EQ(s.report()["advisor"]["not_examined"]["count"], 1);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  CUDA_CHECK(cudaFree(p));
}

/// Work that is under way on another stream when a copy begins, or that carries out an asynchronous copy, is awaited.
TEST_F(AdvisorGpu, WaitsForWorkUnderWay) {
  constexpr std::size_t n = 100'003;
  unsigned char* p = nullptr;
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaMalloc(&p, n));
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaMemset(p, 1, n));
  CUDA_CHECK(cudaDeviceSynchronize());
  const Bytes three(n, 3);
  const auto late = [&] {
    CUDA_CHECK(cudaLaunchHostFunc(stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }, nullptr));
    CUDA_CHECK(cudaMemsetAsync(p, 3, n, stream));
  };
  Session s;
  late();
  s.begin(p, three.data(), n, "Cuda", "Host");  // redundant, once the work has ended
  s.end();
  s.begin(p, three.data(), n, "Cuda", "Host");  // takes as long as the work within it
  late();
  s.end();

  const Json r = s.report();
  EXPECT_EQ(sum_of(r, "redundant", "count"), 2u);
  EXPECT_GT(r["advisor"]["copies"]["seconds"].get<double>(), 0.25);
  CUDA_CHECK(cudaStreamDestroy(stream));
  CUDA_CHECK(cudaFree(p));
}

}  // namespace
}  // namespace semcache::test
