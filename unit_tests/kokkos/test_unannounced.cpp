// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>
#include <kokkos/vendor_library.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

// Device memory that raw kernels, libraries, driver copies and lambdas on native spaces use by its address, and nobody says a
// word: they see what the host wrote, and what they write is seen.
namespace kokkos_unannounced {
using namespace test;

using semcache::Access;
using Mirror = semcache::kokkos::host_mirror_t<Vector>;
using NativeRange = Kokkos::RangePolicy<semcache::kokkos::NativeExec>;
constexpr int n = 1 << 16;
constexpr std::uint64_t all_bytes = n * sizeof(double);
constexpr double sum_of_indices = n * (n - 1.0) / 2;

std::uint64_t unannounced() { return semcache::statistics().total.unannounced; }

#ifdef KOKKOS_ENABLE_CUDA
constexpr bool on_gpu = true;
__global__ void add_kernel(double* data, int count, double x) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i] += x;
}
void raw_add(double* data, int count, double x) {
  add_kernel<<<(count + 255) / 256, 256>>>(data, count, x);
  cudaDeviceSynchronize();
}
__global__ void sum_kernel(const double* data, int count, double* result) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += data[i];
  *result = sum;
}
double raw_sum(const double* data, int count) {
  double* result = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&result), sizeof(double));
  sum_kernel<<<1, 1>>>(data, count, result);
  double sum = 0;
  cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost);
  cudaFree(result);
  return sum;
}
void raw_copy(double* to, const double* from, int count) {
  cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyDefault);
  cudaDeviceSynchronize();
}
#else
constexpr bool on_gpu = false;
void raw_add(double* data, int count, double x) {
  for (int i = 0; i < count; ++i) data[i] += x;
}
double raw_sum(const double* data, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += data[i];
  return sum;
}
void raw_copy(double* to, const double* from, int count) { std::memcpy(to, from, count * sizeof(double)); }
#endif

/// A device array whose content, first + i, is still in its mirror.
struct Pending {
  explicit Pending(double first = 0, int count = n, const std::string& label = "x") : device(label, count) {
    for (int i = 0; i < count; ++i) mirror(i) = first + i;
    Kokkos::deep_copy(device, mirror);
    Kokkos::fence();
  }
  Vector device;
  Mirror mirror = Kokkos::create_mirror_view(device);
};

void add_on_the_native_space(double* data, double x) {
  Kokkos::parallel_for("raw pointer", NativeRange(0, n), KOKKOS_LAMBDA(int i) { data[i] += x; });
  Kokkos::fence();
}

struct Hidden {
  double* data;
  double x;
  struct Deeper {
    int other;
    double* factor;
  } deeper;
  KOKKOS_FUNCTION void operator()(int i) const { data[i] += x * deeper.factor[i]; }
};

/// Too large to be an argument: Kokkos copies it to constant memory.
struct LargeClosure {
  double filler[300];
  double* data;
  KOKKOS_FUNCTION void operator()(int i) const { data[i] += filler[i % 300]; }
};

double native_sum(const ConstVector& v) {
  double result = 0;
  Kokkos::parallel_reduce("sum", NativeRange(0, n), KOKKOS_LAMBDA(int i, double& update) { update += v(i); }, result);
  return result;
}

}  // namespace kokkos_unannounced
using namespace kokkos_unannounced;

/// Where nobody notices (other trackers, other device trackers) there is nothing to test.
#define NOTICED_OR_SKIP()                                                              \
  if (semcache::statistics().device_tracker == "none" || semcache::statistics().device_tracker.empty()) \
  GTEST_SKIP() << "uses of device memory that nobody announced are not noticed here"

KOKKOS_TEST(KokkosUnannounced, ARawKernelSeesWhatTheHostWroteAndIsSeen) {
  const Pending x;
  NOTICED_OR_SKIP();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) x.mirror(i) = i + round;
    Kokkos::deep_copy(x.device, x.mirror);
    Kokkos::fence();
    raw_add(x.device.data(), n, 1);
    Kokkos::deep_copy(x.mirror, x.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), i + round + 1.0);
    EXPECT_EQ(sum(x.device), sum_of_indices + n * (round + 1.0));
    Kokkos::fence();
  }
}

KOKKOS_TEST(KokkosUnannounced, WhatACopyWantsIsSavedBeforeARawKernelWritesIt) {
  const Pending x(5);
  NOTICED_OR_SKIP();
  EXPECT_EQ(raw_sum(x.device.data(), n), 5.0 * n + sum_of_indices);
  iota(x.device, 100);
  Kokkos::deep_copy(x.mirror, x.device);  // pending
  Kokkos::fence();
  raw_add(x.device.data(), n, 1);
  for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), 100.0 + i);
  EXPECT_EQ(sum(x.device), 101.0 * n + sum_of_indices);
}

KOKKOS_TEST(KokkosUnannounced, ARawKernelBetweenKernelsOfOurs) {
  const Pending x;
  NOTICED_OR_SKIP();
  for (int round = 0; round < 3; ++round) {
    raw_add(x.device.data(), n, 1);
    iota(x.device, round);
    Kokkos::fence();
    raw_add(x.device.data(), n, 1);
    EXPECT_EQ(sum(x.device), n * (round + 1.0) + sum_of_indices);
    Kokkos::deep_copy(x.mirror, x.device);
    Kokkos::fence();
    raw_add(x.device.data(), n, 1);
    ASSERT_EQ(x.mirror(n - 1), n - 1 + round + 1.0);
  }
}

KOKKOS_TEST(KokkosUnannounced, CopiesOfTheProgramsOwn) {
  const Pending x(3), y;
  NOTICED_OR_SKIP();
  std::vector<double> plain(n);
  raw_copy(plain.data(), x.device.data(), n);
  EXPECT_EQ(plain[n - 1], 3.0 + n - 1);
  for (double& v : plain) v += 1;
  raw_copy(x.device.data(), plain.data(), n);
  Kokkos::deep_copy(x.mirror, x.device);
  ASSERT_EQ(x.mirror(n - 1), 4.0 + n - 1);
  for (int i = 0; i < n; ++i) x.mirror(i) = -i;
  Kokkos::deep_copy(x.device, x.mirror);
  Kokkos::fence();
  raw_copy(y.device.data(), x.device.data(), n);
  EXPECT_EQ(sum(y.device), -sum_of_indices);
  Kokkos::deep_copy(y.mirror, y.device);
  ASSERT_EQ(y.mirror(n - 1), -(n - 1.0));
}

KOKKOS_TEST(KokkosUnannounced, CopiesBetweenMirrorsAndPlainMemory) {
  const Pending x(3);
  NOTICED_OR_SKIP();
  std::vector<double> plain(n, -1);
  iota(x.device, 50);
  Kokkos::deep_copy(x.mirror, x.device);  // no page of the mirror can be used
  Kokkos::fence();
  raw_copy(plain.data(), x.mirror.data(), n);
  EXPECT_EQ(plain[n - 1], 50.0 + n - 1);
  for (double& v : plain) v += 1;
  EXPECT_EQ(sum(x.device), 50.0 * n + sum_of_indices);
  raw_copy(x.mirror.data(), plain.data(), n);
  EXPECT_EQ(x.mirror(0), 51.0);
  EXPECT_EQ(sum(x.device), 50.0 * n + sum_of_indices) << "the device's array is another one";
  Kokkos::deep_copy(x.device, x.mirror);
  EXPECT_EQ(sum(x.device), 51.0 * n + sum_of_indices);
}

KOKKOS_TEST(KokkosUnannounced, ARawPointerInALambdaOnTheNativeSpace) {
  const Pending x(1), factor(2);
  NOTICED_OR_SKIP();
  add_on_the_native_space(x.device.data(), 1);
  Kokkos::deep_copy(x.mirror, x.device);
  ASSERT_EQ(x.mirror(n - 1), 2.0 + n - 1);

  for (int i = 0; i < n; ++i) x.mirror(i) = i;
  Kokkos::deep_copy(x.device, x.mirror);
  Kokkos::fence();
  Kokkos::parallel_for("struct", NativeRange(0, n), Hidden{x.device.data(), 2, {7, factor.device.data()}});
  Kokkos::fence();
  EXPECT_EQ(sum(x.device), sum_of_indices + 2 * (2.0 * n + sum_of_indices));

  for (int i = 0; i < n; ++i) x.mirror(i) = i;
  Kokkos::deep_copy(x.device, x.mirror);
  Kokkos::fence();
  LargeClosure large{};
  for (double& f : large.filler) f = 1;
  large.data = x.device.data();
  Kokkos::parallel_for("large", NativeRange(0, n), large);
  Kokkos::fence();
  Kokkos::deep_copy(x.mirror, x.device);
  ASSERT_EQ(x.mirror(n - 1), n);
}

KOKKOS_TEST(KokkosUnannounced, AVendorsLibrary) {
  const VendorLibrary vendor;
  if (!vendor.missing().empty()) GTEST_SKIP() << vendor.missing();
  const Pending x(1), y(2);
  NOTICED_OR_SKIP();
  for (int round = 1; round <= 3; ++round) {
    vendor.axpy(n, 2, x.device.data(), y.device.data());
    ASSERT_EQ(vendor.wait(), 0);
    Kokkos::deep_copy(y.mirror, y.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(y.mirror(i), 2.0 + i + 2.0 * round * (1 + i)) << round;
    y.mirror(0) = 2 + 2.0 * round;  // the value it has
    Kokkos::deep_copy(y.device, y.mirror);
    Kokkos::fence();
  }
  constexpr int size = 200;
  vendor.multiply(size, x.device.data(), x.device.data() + 1, y.device.data());
  ASSERT_EQ(vendor.wait(), 0);
  double expected = 0;
  for (int k = 0; k < size; ++k) expected += (1.0 + k * size) * (2.0 + k);
  Kokkos::deep_copy(y.mirror, y.device);
  EXPECT_EQ(y.mirror(0), expected);
}

KOKKOS_TEST(KokkosUnannounced, WhatWasAnnouncedIsBelieved) {
  const Pending x(1);
  NOTICED_OR_SKIP();
  semcache::access(x.device, Access::read);
  const std::uint64_t noticed = unannounced();
  const Since since;
  EXPECT_EQ(raw_sum(x.device.data(), n), n + sum_of_indices);
  EXPECT_EQ(raw_sum(x.device.data(), n), n + sum_of_indices);
  Kokkos::deep_copy(x.mirror, x.device);
  EXPECT_EQ(x.mirror(n - 1), n);
  EXPECT_EQ(since.link(), 0u) << "it was only read";
  EXPECT_EQ(unannounced(), noticed);

  semcache::access(x.device, Access::read_write);
  raw_add(x.device.data(), n, 1);
  raw_add(x.device.data(), n, 1);
  EXPECT_EQ(unannounced(), noticed);
  Kokkos::deep_copy(x.mirror, x.device);
  for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), i + 3.0);
  EXPECT_EQ(since.d2h(), all_bytes);
}

KOKKOS_TEST(KokkosUnannounced, AnAnnouncementHoldsUntilTheArrayIsUsedByUs) {
  const Pending x(1);
  NOTICED_OR_SKIP();
  semcache::access(x.device, Access::read);
  EXPECT_EQ(raw_sum(x.device.data(), n), n + sum_of_indices);
  Kokkos::deep_copy(x.mirror, x.device);
  const std::uint64_t noticed = unannounced();
  raw_add(x.device.data(), n, 1);  // not what was announced
  EXPECT_EQ(unannounced(), noticed + 1);
  EXPECT_EQ(x.mirror(n - 1), n) << "the copy was made before";
  Kokkos::deep_copy(x.mirror, x.device);
  EXPECT_EQ(x.mirror(n - 1), n + 1.0);
}

KOKKOS_TEST(KokkosUnannounced, AViewCapturedAsConstOnTheNativeSpaceIsOnlyRead) {
  const Pending x(1);
  NOTICED_OR_SKIP();
  const std::uint64_t noticed = unannounced();
  const Since since;
  EXPECT_EQ(native_sum(x.device), n + sum_of_indices);
  EXPECT_EQ(native_sum(x.device), n + sum_of_indices);
  EXPECT_EQ(x.mirror(n - 1), n);
  Kokkos::deep_copy(x.mirror, x.device);
  EXPECT_EQ(x.mirror(n - 1), n);
  EXPECT_EQ(since.h2d(), all_bytes);
  EXPECT_EQ(since.d2h(), on_gpu ? 0u : since.d2h());
  EXPECT_EQ(unannounced(), noticed);
}

KOKKOS_TEST(KokkosUnannounced, ProgramsThatNameTheSpaceCauseNone) {
  NOTICED_OR_SKIP();
  const std::uint64_t noticed = unannounced();
  const Pending x(1), y(2);
  Kokkos::deep_copy(y.device, x.device);
  Kokkos::deep_copy(x.device, 3.0);
  iota(y.device, 4);
  Vector grown("grown", 10);
  Kokkos::resize(grown, 1000);
  EXPECT_EQ(sum(x.device), 3.0 * n);
  EXPECT_EQ(on_host(y.device)(0), 4.0);
  double one = 0;
  Kokkos::deep_copy(one, Kokkos::subview(y.device, 5));
  EXPECT_EQ(one, 9.0);
  EXPECT_EQ(unannounced(), noticed);
}

KOKKOS_TEST(KokkosUnannounced, SeveralThreadsNeverHang) {
  NOTICED_OR_SKIP();
  if (host_is_threads) GTEST_SKIP() << "Kokkos' Threads takes kernels from the main thread only";
  constexpr int threads = 4, rounds = 50;
  std::vector<Pending> arrays;
  for (int t = 0; t < threads; ++t) arrays.emplace_back(t);
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const Pending& x = arrays[t];
      for (int round = 1; round <= rounds; ++round) {
        raw_add(x.device.data(), n, 1);
        Kokkos::deep_copy(x.mirror, x.device);
        if (x.mirror(n - 1) != t + n - 1 + round) ++wrong;
        x.mirror(0) = t + round;
        Kokkos::deep_copy(x.device, x.mirror);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

#ifdef KOKKOS_ENABLE_CUDA

KOKKOS_TEST(KokkosUnannounced, AVendorsLibraryOnTensorCores) {
  // Recent GPUs' kernels get descriptors of their arrays rather than pointers.
  const VendorLibrary vendor;
  if (!vendor.missing().empty()) GTEST_SKIP() << vendor.missing();
  using Halves = Kokkos::View<std::uint16_t*, Left, Device>;
  constexpr std::uint16_t one = 0x3c00, two = 0x4000;
  for (const int size : {64, 512, 1024}) {
    const std::uint16_t results[] = {size == 64 ? std::uint16_t(0x5400) : size == 512 ? std::uint16_t(0x6000) : std::uint16_t(0x6400),
                                     size == 64 ? std::uint16_t(0x5800) : size == 512 ? std::uint16_t(0x6400) : std::uint16_t(0x6800)};
    Halves a("a", size * size), b("b", size * size), c("c", size * size);
    const auto a_host = Kokkos::create_mirror_view(a), b_host = Kokkos::create_mirror_view(b), c_host = Kokkos::create_mirror_view(c);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < size * size; ++i) {
        a_host(i) = one;
        b_host(i) = round == 0 ? one : two;
        c_host(i) = 7;
      }
      Kokkos::deep_copy(a, a_host);
      Kokkos::deep_copy(b, b_host);
      Kokkos::deep_copy(c, c_host);
      Kokkos::fence();
      vendor.multiply_half(size, a.data(), b.data(), c.data());
      ASSERT_EQ(vendor.wait(), cudaSuccess);
      Kokkos::deep_copy(c_host, c);
      for (int i = 0; i < size * size; ++i) ASSERT_EQ(c_host(i), results[round]) << size << " " << round << " " << i;
    }
  }
}

KOKKOS_TEST(KokkosUnannounced, FillsAndStridedCopies) {
  const Pending x(1), y(2);
  ASSERT_EQ(cudaMemset(x.device.data() + n / 2, 0, all_bytes / 2), cudaSuccess);
  Kokkos::deep_copy(x.mirror, x.device);
  EXPECT_EQ(x.mirror(n / 2 - 1), n / 2.0);
  EXPECT_EQ(x.mirror(n / 2), 0.0);

  std::vector<double> plain(n, -1);
  constexpr int row = 256;
  ASSERT_EQ(cudaMemcpy2D(y.device.data() + 1, 2 * row * sizeof(double), plain.data(), row * sizeof(double),
                         row * sizeof(double), n / row / 4, cudaMemcpyDefault), cudaSuccess);
  Kokkos::deep_copy(y.mirror, y.device);
  EXPECT_EQ(y.mirror(0), 2.0);
  EXPECT_EQ(y.mirror(1), -1.0);
  EXPECT_EQ(y.mirror(row + 1), 2.0 + row + 1);
  EXPECT_EQ(y.mirror(2 * row + 1), -1.0);
}

KOKKOS_TEST(KokkosUnannounced, AsynchronousCopiesOnAStreamOfTheProgram) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  double* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), all_bytes), cudaSuccess);
  const Pending x(1);
  cudaMemcpyAsync(pinned, x.device.data(), all_bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(pinned[n - 1], n);
  for (int i = 0; i < n; ++i) pinned[i] = -i;
  cudaMemcpyAsync(x.device.data(), pinned, all_bytes, cudaMemcpyHostToDevice, stream);
  Kokkos::deep_copy(x.mirror, x.device);  // waits for a stream that nobody knows
  EXPECT_EQ(x.mirror(n - 1), -(n - 1.0));
  cudaFreeHost(pinned);
  cudaStreamDestroy(stream);
}

KOKKOS_TEST(KokkosUnannounced, ARawKernelFollowsAPointerIntoAMirror) {
  const Pending x(1), y(2);
  iota(x.device, 10);
  Kokkos::deep_copy(x.mirror, x.device);  // no page of the mirror can be used
  Kokkos::fence();
  add_kernel<<<n / 256, 256>>>(x.mirror.data(), n, 1);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), 11.0 + i);
  Kokkos::deep_copy(x.device, x.mirror);
  EXPECT_EQ(sum(x.device), 11.0 * n + sum_of_indices);
}

namespace kokkos_unannounced {
constexpr int refused_by_cuda = 3;
void give_the_hosts_side_to_the_gpu() {
  semcache::DualView<double*, Device> d("two-sided", n);
  for (int i = 0; i < n; ++i) d.view_host()(i) = i;
  add_kernel<<<n / 256, 256>>>(d.view_host().data(), n, 1);
  const cudaError_t error = cudaDeviceSynchronize();
  std::_Exit(error == cudaSuccess ? 0 : refused_by_cuda);
}
void capture_both_sides(const semcache::DualView<double*, Device>& d) {
  Kokkos::parallel_for("both sides", NativeRange(0, n), KOKKOS_LAMBDA(int i) { d.view_device()(i) += 1; });
  Kokkos::fence();
}
}  // namespace kokkos_unannounced

KOKKOS_TEST(KokkosUnannounced, ARawKernelThatFollowsTheHostsSideIsNamed) {
  int reaches_pageable_memory = 0;
  cudaDeviceGetAttribute(&reaches_pageable_memory, cudaDevAttrPageableMemoryAccess, Exec().cuda_device());
  if (reaches_pageable_memory != 0) GTEST_SKIP() << "this GPU reaches all memory of the host";
  EXPECT_EXIT(give_the_hosts_side_to_the_gpu(), testing::ExitedWithCode(refused_by_cuda), "'two-sided");
}

KOKKOS_TEST(KokkosUnannounced, ADualViewInANativeClosureIsNoRawPointer) {
  semcache::DualView<double*, Device> d("both", n);
  for (int i = 0; i < n; ++i) d.view_host()(i) = i;
  testing::internal::CaptureStderr();
  capture_both_sides(d);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(d.view_host()(n - 1), n);
}

namespace kokkos_unannounced {
__global__ void add_to_inner(const Vector* outer, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) outer[0](i) += 1;
}
}  // namespace kokkos_unannounced

KOKKOS_TEST(KokkosUnannounced, AViewOfViewsLeadsRawKernelsToItsViews) {
  const Pending x;
  const Kokkos::View<Vector*, semcache::Device> outer(Kokkos::view_alloc("outer", Kokkos::WithoutInitializing), 1);
  const Vector inner = x.device;
  Kokkos::parallel_for("place", NativeRange(0, 1), KOKKOS_LAMBDA(int) { new (&outer(0)) Vector(inner); });
  Kokkos::fence();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) x.mirror(i) = i + round;
    Kokkos::deep_copy(x.device, x.mirror);
    if (round == 1) {
      Kokkos::parallel_for("nested", NativeRange(0, n), KOKKOS_LAMBDA(int i) { outer(0)(i) += 1; });
    } else {
      add_to_inner<<<1, 256>>>(outer.data(), n);
    }
    Kokkos::deep_copy(x.mirror, x.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), i + round + 1.0);
  }
}

KOKKOS_TEST(KokkosUnannounced, AMirrorIsReadWhileAGraphIsRecorded) {
  const Pending x(1);
  iota(x.device, 7);
  Kokkos::deep_copy(x.mirror, x.device);
  Kokkos::fence();
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(x.mirror(n - 1), n + 6.0);
  std::thread([&] { EXPECT_EQ(x.mirror(n - 2), n + 5.0); }).join();
  add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, 1);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Without a fence of Kokkos' own: the driver refuses to wait for the device while a graph is recorded.
KOKKOS_TEST(KokkosUnannounced, AnotherThreadLaunchesWhileAGraphIsRecorded) {
  const Pending x(1);
  const Exec exec;
  for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    cudaStream_t stream;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
    std::thread([&] {
      for (int i = 0; i < n; ++i) x.mirror(i) = i;
      Kokkos::deep_copy(exec, x.device, x.mirror);
      const Vector device = x.device;
      Kokkos::parallel_for("beside", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { device(i) += 1; });
      Kokkos::deep_copy(exec, x.mirror, x.device);
      for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), i + 1.0);
    }).join();
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
}

KOKKOS_TEST(KokkosUnannounced, AGraphRecordsLaunchesOfTheNativeSpaceOnly) {
  const Pending x(1);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const Exec exec{semcache::kokkos::NativeExec(stream)};
  const semcache::kokkos::NativeExec native(stream);
  const Vector device = x.device;
  const auto add = KOKKOS_LAMBDA(int i) { device(i) += 1; };
  const auto add_natively = KOKKOS_LAMBDA(int i) { device(i) += 1; };
  Kokkos::parallel_for("ours", Kokkos::RangePolicy<Exec>(exec, 0, n), add);
  exec.fence();
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int time = 0; time < 2; ++time) {
    try {
      Kokkos::parallel_for("ours", Kokkos::RangePolicy<Exec>(exec, 0, n), add);
      FAIL() << "nobody would know when it runs";
    } catch (const semcache::UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("native space"), std::string::npos) << e.what();
    }
    EXPECT_THROW(Kokkos::deep_copy(exec, x.device, 0.0), semcache::UsageError);
    EXPECT_THROW(Kokkos::deep_copy(exec, x.device, x.mirror), semcache::UsageError);
    cudaStream_t other;
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    cudaGraph_t none = nullptr;
    EXPECT_NE(cudaStreamEndCapture(other, &none), cudaSuccess) << "it does not record";
    EXPECT_NE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess) << "it does already";
    (void)cudaGetLastError();
    cudaStreamDestroy(other);
  }
  Kokkos::parallel_for("theirs", Kokkos::RangePolicy<semcache::kokkos::NativeExec>(native, 0, n), add_natively);
  cudaGraph_t graph;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t replay;
  ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) x.mirror(i) = i + round;
    Kokkos::deep_copy(x.device, x.mirror);
    ASSERT_EQ(cudaGraphLaunch(replay, stream), cudaSuccess);
    Kokkos::deep_copy(x.mirror, x.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), i + round + 1.0);
    Kokkos::parallel_for("ours", Kokkos::RangePolicy<Exec>(exec, 0, n), add);
    Kokkos::deep_copy(x.mirror, x.device);
    ASSERT_EQ(x.mirror(n - 1), n + round + 1.0);
  }
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
}

// An event of ours on the stream would become part of the graph, and so would what waits for it.
KOKKOS_TEST(KokkosUnannounced, WhatAnotherStreamNeedsOfARecordingOneWaits) {
  const Pending x;
  const Exec exec;
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const Exec other{semcache::kokkos::NativeExec(stream)};
    const Vector device = x.device;
    Kokkos::parallel_for("first", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { device(i) += 1; });
    exec.fence();
    const auto add = KOKKOS_LAMBDA(int i) { device(i) += 2; };
    ASSERT_EQ(cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    for (int i = 0; i < n; ++i) x.mirror(i) = 10 + i;
    bool refused = false;
    try {
      Kokkos::deep_copy(other, x.device, x.mirror);
      Kokkos::parallel_for("second", Kokkos::RangePolicy<Exec>(other, 0, n), add);
    } catch (const semcache::DeviceError& e) {
      refused = true;
      EXPECT_NE(std::string(e.what()).find("graph"), std::string::npos) << e.what();
    }
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(exec.cuda_stream(), &graph), cudaSuccess);
    std::size_t nodes = 1;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 0u);
    cudaGraphDestroy(graph);
    if (refused) Kokkos::parallel_for("second", Kokkos::RangePolicy<Exec>(other, 0, n), add);
    Kokkos::deep_copy(x.mirror, x.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), 12.0 + i) << refused;
  }
  cudaStreamDestroy(stream);
}

namespace kokkos_unannounced {
__global__ void wait_for(const volatile int* flag) {
  while (*flag == 0) {
  }
}
void wait_for_on_host(void* flag) {
  while (*static_cast<volatile int*>(flag) == 0) std::this_thread::yield();
}

/// Something that the host does, for which kernels wait by the flag. A test in which it never happens ends after ten seconds.
class Awaited {
 public:
  Awaited() {
    EXPECT_EQ(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped), cudaSuccess);
    *flag = 0;
    releaser_ = std::thread([this] {
      for (int i = 0; i < 1000 && !happened_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      had_to_be_released_ = !happened_;
      *static_cast<volatile int*>(flag) = 1;
    });
  }
  ~Awaited() {
    (void)happens();
    cudaDeviceSynchronize();
    cudaFreeHost(flag);
  }
  /// It happens now. @return whether that comes too late
  bool happens() {
    happened_ = true;
    if (releaser_.joinable()) releaser_.join();
    return had_to_be_released_;
  }
  int* flag = nullptr;

 private:
  std::atomic<bool> happened_{false}, had_to_be_released_{false};
  std::thread releaser_;
};

/// What waits for the host behind a launch of ours, on the same stream.
enum class Waiter { kernel, callback, other_stream, null_stream, our_launch_behind_a_fence, our_launch_behind_a_fence_of_all };

void read_before(Waiter waiter) {
  Awaited read;
  int* const flag = read.flag;
  cudaStream_t stream, other;
  const unsigned flags = waiter == Waiter::null_stream ? cudaStreamDefault : cudaStreamNonBlocking;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithFlags(&other, flags), cudaSuccess);
  void* ordinary = nullptr;
  EXPECT_EQ(cudaMalloc(&ordinary, 64), cudaSuccess);
  {
    const Pending x;
    const Exec exec{semcache::kokkos::NativeExec(stream)};
    if (waiter == Waiter::null_stream) wait_for<<<1, 1, 0, other>>>(flag);
    const Vector device = x.device;
    Kokkos::parallel_for("written", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { device(i) = 3.0 * i; });
    Kokkos::deep_copy(exec, x.mirror, x.device);
    switch (waiter) {
      case Waiter::kernel:
        wait_for<<<1, 1, 0, stream>>>(flag);
        break;
      case Waiter::callback:
        EXPECT_EQ(cudaLaunchHostFunc(stream, &wait_for_on_host, flag), cudaSuccess);
        break;
      case Waiter::other_stream: {
        cudaEvent_t event;
        EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
        wait_for<<<1, 1, 0, other>>>(flag);
        EXPECT_EQ(cudaEventRecord(event, other), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
        cudaEventDestroy(event);
        break;
      }
      case Waiter::null_stream:
        EXPECT_EQ(cudaMemsetAsync(ordinary, 0, 64, nullptr), cudaSuccess);
        break;
      case Waiter::our_launch_behind_a_fence:
      case Waiter::our_launch_behind_a_fence_of_all: {
        if (waiter == Waiter::our_launch_behind_a_fence) {
          exec.fence();
        } else {
          Kokkos::fence();
        }
        const volatile int* const seen = flag;
        Kokkos::parallel_for("waits", Kokkos::RangePolicy<Exec>(exec, 0, 1), KOKKOS_LAMBDA(int) {
          while (*seen == 0) {
          }
        });
      }
    }
    EXPECT_EQ(x.mirror(n - 1), 3.0 * (n - 1));
    EXPECT_FALSE(read.happens()) << "the read has waited for what waits for the host";
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  cudaStreamDestroy(stream);
  cudaStreamDestroy(other);
  cudaFree(ordinary);
}
}  // namespace kokkos_unannounced

KOKKOS_TEST(KokkosUnannounced, AReadOfWhatALaunchWroteWaitsForNoForeignKernelBehindIt) { read_before(Waiter::kernel); }
KOKKOS_TEST(KokkosUnannounced, AReadOfWhatALaunchWroteWaitsForNoCallbackBehindIt) { read_before(Waiter::callback); }
KOKKOS_TEST(KokkosUnannounced, AReadOfWhatALaunchWroteWaitsForNoOtherStreamBehindIt) { read_before(Waiter::other_stream); }
KOKKOS_TEST(KokkosUnannounced, AReadOfWhatWasLaunchedBeforeAFenceWaitsForNothingBehindIt) {
  read_before(Waiter::our_launch_behind_a_fence);
  read_before(Waiter::our_launch_behind_a_fence_of_all);
}
KOKKOS_TEST(KokkosUnannounced, AReadOfWhatALaunchWroteWaitsForNothingThatTheNullStreamWaitsFor) { read_before(Waiter::null_stream); }

namespace kokkos_unannounced {
/// The host reads what a raw kernel on a stream has written, while another kernel waits for that read.
void read_raw_before(bool on_its_stream) {
  Awaited read;
  int* const flag = read.flag;
  cudaStream_t stream, other;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  {
    const Pending x(1);
    const auto waits = semcache::statistics().total.device_waits;
    if (!on_its_stream) wait_for<<<1, 1, 0, other>>>(flag);
    add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, 2);
    if (on_its_stream) wait_for<<<1, 1, 0, stream>>>(flag);
    Kokkos::deep_copy(Exec(), x.mirror, x.device);
    EXPECT_EQ(x.mirror(n - 1), n + 2.0);
    EXPECT_FALSE(read.happens()) << "the read has waited for a kernel that it does not need";
    EXPECT_EQ(semcache::statistics().total.device_waits, waits);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  cudaStreamDestroy(stream);
  cudaStreamDestroy(other);
}
}  // namespace kokkos_unannounced

KOKKOS_TEST(KokkosUnannounced, AReadOfWhatARawKernelWroteWaitsForNoKernelBehindIt) { read_raw_before(true); }
KOKKOS_TEST(KokkosUnannounced, AReadOfWhatARawKernelWroteWaitsForNoOtherStream) { read_raw_before(false); }

/// Each stream is destroyed while its kernel may still run. Many of the next ones have the same handle.
KOKKOS_TEST(KokkosUnannounced, StreamsThatAreDestroyedWithWorkOnThem) {
  const Pending x;
  for (int round = 1; round <= 200; ++round) {
    for (int i = 0; i < n; ++i) x.mirror(i) = round + i;
    Kokkos::deep_copy(x.device, x.mirror);
    cudaStream_t stream;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, 0.5);
    if (round % 3 == 0) add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, 0.25);
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    if (round % 2 == 0) continue;
    Kokkos::deep_copy(x.mirror, x.device);
    for (int i = 0; i < n; ++i) ASSERT_EQ(x.mirror(i), round + i + (round % 3 == 0 ? 0.75 : 0.5)) << "round " << round;
  }
}

/// An instance on a stream that raw kernels have used before, and use beside it.
KOKKOS_TEST(KokkosUnannounced, RawKernelsAndOursShareAStream) {
  const Pending x;
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const Vector device = x.device;
  const auto waits = semcache::statistics().total.device_waits;
  for (int round = 1; round <= 20; ++round) {
    add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, 1);
    {
      const Exec exec{semcache::kokkos::NativeExec(stream)};
      Kokkos::parallel_for("ours", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { device(i) *= 2; });
      add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, -2);
      exec.fence();
    }
    Kokkos::deep_copy(x.mirror, x.device);
    ASSERT_EQ(x.mirror(7), 7.0 * (1 << round)) << "round " << round;
  }
  EXPECT_EQ(semcache::statistics().total.device_waits, waits);
  cudaStreamDestroy(stream);
}

KOKKOS_TEST(KokkosUnannounced, AGraphUsesItsArraysAtEachLaunch) {
  const Pending x(1);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  add_kernel<<<n / 256, 256, 0, stream>>>(x.device.data(), n, 1);
  cudaGraph_t graph;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) x.mirror(i) = round;
    Kokkos::deep_copy(x.device, x.mirror);
    Kokkos::fence();
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    Kokkos::deep_copy(x.mirror, x.device);
    ASSERT_EQ(x.mirror(n - 1), round + 1.0);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

namespace kokkos_unannounced {
__global__ void add_to_each(double** lists, int count, double x) {
  double* const data = lists[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) data[i] += x;
}
}  // namespace kokkos_unannounced

KOKKOS_TEST(KokkosUnannounced, AListOfArraysOnTheDevice) {
  const Pending x(1), y(2);
  double* const list[] = {x.device.data(), y.device.data()};
  double** on_device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&on_device), sizeof list), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(on_device, list, sizeof list, cudaMemcpyHostToDevice), cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) x.mirror(i) = y.mirror(i) = round;
    Kokkos::deep_copy(x.device, x.mirror);
    Kokkos::deep_copy(y.device, y.mirror);
    add_to_each<<<2, 256>>>(on_device, n, 1);
    Kokkos::deep_copy(x.mirror, x.device);
    Kokkos::deep_copy(y.mirror, y.device);
    ASSERT_EQ(x.mirror(n - 1), round + 1.0);
    ASSERT_EQ(y.mirror(0), round + 1.0);
  }
  cudaFree(on_device);
}

KOKKOS_TEST(KokkosUnannounced, AnExplicitNodeOfAGraph) {
  const Pending x(1);
  double* data = x.device.data();
  int count = n;
  double one = 1;
  void* arguments[] = {&data, &count, &one};
  cudaKernelNodeParams parameters = {};
  parameters.func = reinterpret_cast<void*>(&add_kernel);
  parameters.gridDim = dim3(n / 256);
  parameters.blockDim = dim3(256);
  parameters.kernelParams = arguments;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), cudaSuccess);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  Kokkos::deep_copy(x.mirror, x.device);
  EXPECT_EQ(x.mirror(n - 1), n + 1.0);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

namespace kokkos_unannounced {
/// In a process of its own: somebody else has CUPTI's callbacks.
void run_beside_a_profiler(const char* device_tracker) {
  semcache::finalize();
  ::setenv("SEMCACHE_DEVICE_TRACKER", device_tracker, 1);
  void* cupti = ::dlopen(("libcupti.so." + std::to_string(CUDART_VERSION / 1000)).c_str(), RTLD_NOW);
  if (cupti == nullptr) {
    std::fputs("no CUPTI to take\n", stderr);
    std::_Exit(77);
  }
  const auto subscribe = reinterpret_cast<int (*)(void**, void (*)(void*, int, unsigned, const void*), void*)>(
      ::dlsym(cupti, "cuptiSubscribe"));
  void* subscriber = nullptr;
  if (subscribe(&subscriber, [](void*, int, unsigned, const void*) {}, nullptr) != 0) std::_Exit(78);
  try {
    const Pending x(1);
    std::_Exit(x.mirror(n - 1) == n && sum(x.device) == n + sum_of_indices ? 0 : 1);
  } catch (const semcache::ConfigurationError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::_Exit(2);
  }
}
bool has_cupti() {
  return ::dlopen(("libcupti.so." + std::to_string(CUDART_VERSION / 1000)).c_str(), RTLD_NOW) != nullptr;
}
}  // namespace kokkos_unannounced

KOKKOS_TEST(KokkosUnannounced, BesideAProfilerProgramsGoOnWithAWord) {
  if (!has_cupti()) GTEST_SKIP() << "libcupti is not where the loader looks";
  EXPECT_EXIT(run_beside_a_profiler("auto"), testing::ExitedWithCode(0), "not noticed: a profiler");
  EXPECT_EXIT(run_beside_a_profiler("on"), testing::ExitedWithCode(2), "SEMCACHE_DEVICE_TRACKER=on: a profiler");
  EXPECT_EXIT(run_beside_a_profiler("off"), testing::ExitedWithCode(0), "^$");
}
#endif
