// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

// Uses by code that is no kernel of Kokkos: system calls, raw kernels, library calls, raw pointers; announced and not.
namespace kokkos_foreign_uses {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;
constexpr std::size_t page = 4096;
constexpr int per_page = page / sizeof(double);
constexpr int n = 16 * per_page;
constexpr ssize_t all_bytes = n * sizeof(double);

/// A mirror all of whose pages are stale: element i is first + i.
struct Stale {
  explicit Stale(double first = 0) {
    iota(device, first);
    Kokkos::deep_copy(host, device);
  }
  Vector device{"stale", n};
  Mirror host = Kokkos::create_mirror_view(device);
};

/// A file without a name.
class File {
 public:
  File() : file_(std::tmpfile()) {
    if (file_ == nullptr) ADD_FAILURE() << "tmpfile: " << std::strerror(errno);
  }
  ~File() { std::fclose(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return ::fileno(file_); }
  [[nodiscard]] std::vector<double> content() const {
    std::vector<double> values(2 * n);
    const ssize_t bytes = ::pread(descriptor(), values.data(), values.size() * sizeof(double), 0);
    values.resize(static_cast<std::size_t>(bytes < 0 ? 0 : bytes) / sizeof(double));
    return values;
  }

 private:
  std::FILE* file_;
};

#ifdef KOKKOS_ENABLE_CUDA
__global__ void add_kernel(double* data, int count, double x) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i] += x;
}
/// A kernel that nobody notices, on a stream that nobody knows.
void raw_add(double* data, int count, double x) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  add_kernel<<<(count + 255) / 256, 256, 0, stream>>>(data, count, x);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}
void library_copy(double* to, const double* from, int count) {
  cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyDefault);
}
#else
void raw_add(double* data, int count, double x) {
  for (int i = 0; i < count; ++i) data[i] += x;
}
void library_copy(double* to, const double* from, int count) { std::memcpy(to, from, count * sizeof(double)); }
#endif

void add_through_pointer(const ConstVector& view, double* raw, int count) {
  Kokkos::parallel_for("raw pointer to a mirror", Range(0, count), KOKKOS_LAMBDA(int i) { raw[i] += view(i); });
  Kokkos::fence();
}

}  // namespace kokkos_foreign_uses
using namespace kokkos_foreign_uses;

// --- system calls ----------------------------------------------------------------------------------------------------

KOKKOS_TEST(KokkosForeignUses, WriteOfAMirrorIsRightAfterAccessAndEfaultWithout) {
  const Stale x(100);
  const File file;

  EXPECT_EQ(::write(file.descriptor(), x.host.data(), all_bytes), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(file.content().size(), 0u);

  semcache::access(x.host, semcache::Access::read);
  EXPECT_EQ(::write(file.descriptor(), x.host.data(), all_bytes), all_bytes);
  const std::vector<double> written = file.content();
  ASSERT_EQ(written.size(), static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) ASSERT_EQ(written[i], 100.0 + i);
}

KOKKOS_TEST(KokkosForeignUses, WriteOfAPartlyFreshMirrorNeverWritesWrongBytes) {
  const Stale x(200);
  const File file;
  semcache::access(x.host.data(), page, semcache::Access::read);  // one page and no more

  const ssize_t bytes = ::write(file.descriptor(), x.host.data(), all_bytes);

  EXPECT_TRUE(bytes == static_cast<ssize_t>(page) || (bytes == -1 && errno == EFAULT)) << bytes;
  const std::vector<double> written = file.content();
  EXPECT_LE(written.size(), static_cast<std::size_t>(per_page));
  for (std::size_t i = 0; i < written.size(); ++i) ASSERT_EQ(written[i], 200.0 + static_cast<double>(i));
}

KOKKOS_TEST(KokkosForeignUses, ReadIntoAMirrorIsRightAfterAccessAndEfaultWithout) {
  const File file;
  std::vector<double> content(n);
  for (int i = 0; i < n; ++i) content[i] = 300 + i;
  ASSERT_EQ(::pwrite(file.descriptor(), content.data(), all_bytes, 0), all_bytes);

  for (const bool fresh : {false, true}) {  // a page without access, and one that may only be read
    const Stale x;
    if (fresh) semcache::access(x.host, semcache::Access::read);
    EXPECT_EQ(::pread(file.descriptor(), x.host.data(), all_bytes, 0), -1) << fresh;
    EXPECT_EQ(errno, EFAULT) << fresh;
    EXPECT_EQ(x.host(n - 1), n - 1.0) << fresh;

    semcache::access(x.host, semcache::Access::overwrite);
    EXPECT_EQ(::pread(file.descriptor(), x.host.data(), all_bytes, 0), all_bytes);
    EXPECT_EQ(sum(x.device), n * (n - 1.0) / 2) << "the device's array is another one";
    Kokkos::deep_copy(x.device, x.host);
    EXPECT_EQ(sum(x.device), n * (300 + (n - 1) / 2.0));
  }
}

// --- raw kernels and libraries ---------------------------------------------------------------------------------------

KOKKOS_TEST(KokkosForeignUses, AnAnnouncedRawKernelSeesAndIsSeen) {
  Vector device("device", n);
  Mirror host = Kokkos::create_mirror_view(device);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n; ++i) host(i) = i + round;
    Kokkos::deep_copy(device, host);  // pending

    semcache::access(device, semcache::Access::read_write);
    raw_add(device.data(), n, 1);

    Kokkos::deep_copy(host, device);
    ASSERT_EQ(host(n - 1), n + round);
    EXPECT_EQ(sum(device), n * (n - 1.0) / 2 + n * (round + 1.0));
  }
}

KOKKOS_TEST(KokkosForeignUses, AnAnnouncedLibraryCopyOfDeviceArraysIsRight) {
  Vector from("from", n), to("to", n);
  iota(from, 5);
  Mirror host = Kokkos::create_mirror_view(to);
  for (int i = 0; i < n; ++i) host(i) = -1;
  Kokkos::deep_copy(to, host);

  semcache::access(from, semcache::Access::read);
  semcache::access(to, semcache::Access::overwrite);
  Kokkos::fence();  // access orders transfers; kernels are the program's
  library_copy(to.data(), from.data(), n);

  Kokkos::deep_copy(host, to);
  EXPECT_EQ(host(n - 1), 5.0 + n - 1);
  EXPECT_EQ(sum(to), n * 5 + n * (n - 1.0) / 2);
}

KOKKOS_TEST(KokkosForeignUses, AnAnnouncedLibraryCopyOfMirrorsIsRight) {
  const Stale x(7);
  std::vector<double> plain(n);

  semcache::access(x.host, semcache::Access::read);
  library_copy(plain.data(), x.host.data(), n);
  EXPECT_EQ(plain[n - 1], 7.0 + n - 1);

  for (double& v : plain) v += 1;
  semcache::access(x.host, semcache::Access::overwrite);
  library_copy(x.host.data(), plain.data(), n);
  Kokkos::deep_copy(x.device, x.host);
  EXPECT_EQ(sum(x.device), n * 8 + n * (n - 1.0) / 2);
}

#ifdef KOKKOS_ENABLE_CUDA
/// A mirror that transfers have page-locked, and device memory that is none of ours.
struct PageLocked {
  explicit PageLocked(int count) : device("locked", count), mirror(Kokkos::create_mirror_view(device)) {
    for (int i = 0; i < count; ++i) mirror(i) = i;
    Kokkos::deep_copy(device, mirror);
    semcache::access(device, semcache::Access::read);
    cudaMalloc(reinterpret_cast<void**>(&foreign), count * sizeof(double));
    cudaMemset(foreign, 0, count * sizeof(double));
  }
  ~PageLocked() { cudaFree(foreign); }
  PageLocked(const PageLocked&) = delete;
  PageLocked& operator=(const PageLocked&) = delete;
  Vector device;
  Mirror mirror;
  double* foreign = nullptr;
};
constexpr int copy_sizes[] = {512, 1 << 12, 1 << 18, 1 << 21};  // the driver has several ways

KOKKOS_TEST(KokkosForeignUses, AnUnannouncedCopyFromAFreshMirrorIsRight) {
  for (const int count : copy_sizes) {
    const PageLocked x(count);
    ASSERT_EQ(cudaMemcpy(x.foreign, x.mirror.data(), count * sizeof(double), cudaMemcpyHostToDevice), cudaSuccess);
    double last = 0;
    cudaMemcpy(&last, x.foreign + count - 1, sizeof last, cudaMemcpyDeviceToHost);
    EXPECT_EQ(last, count - 1.0);
  }
}

/// As where the driver's calls tell nobody: only the pages do. (Where they do tell: test_unannounced.cpp.)
void without_device_tracker() {
  semcache::finalize();
  ::setenv("SEMCACHE_DEVICE_TRACKER", "off", 1);
}

KOKKOS_TEST(KokkosForeignUses, AnUnannouncedCopyFromAStaleMirrorEndsWithItsLabel) {
  for (const int count : copy_sizes) {
    EXPECT_DEATH(
        {
          without_device_tracker();
          const PageLocked x(count);
          iota(x.device, 5);
          Kokkos::deep_copy(x.mirror, x.device);
          Kokkos::fence();
          cudaMemcpy(x.foreign, x.mirror.data(), count * sizeof(double), cudaMemcpyHostToDevice);
        },
        "'locked_mirror'")
        << count;
  }
}

KOKKOS_TEST(KokkosForeignUses, AnUnannouncedCopyIntoASharedMirrorEndsWithItsLabel) {
  // The device's copy would be taken for the mirror's content.
  for (const int count : copy_sizes) {
    EXPECT_DEATH(
        {
          without_device_tracker();
          const PageLocked x(count);
          cudaMemcpy(x.mirror.data(), x.foreign, count * sizeof(double), cudaMemcpyDeviceToHost);
        },
        "'locked_mirror'")
        << count;
  }
}
#endif

KOKKOS_TEST(KokkosForeignUses, ARawPointerToAMirrorInALambdaIsRight) {
  Stale x(10);
  Vector other("other", n);
  iota(other, 1, 0);
  // Once written and transferred by the host: a GPU reaches page-locked mirrors only.
  for (int i = 0; i < n; ++i) x.host(i) = i;
  Kokkos::deep_copy(x.device, x.host);
  iota(x.device, 20);
  Kokkos::deep_copy(x.host, x.device);
  Kokkos::fence();

  add_through_pointer(other, x.host.data(), n);

  for (int i = 0; i < n; ++i) ASSERT_EQ(x.host(i), 21.0 + i);
  Kokkos::deep_copy(x.device, x.host);
  EXPECT_EQ(sum(x.device), n * 21 + n * (n - 1.0) / 2);
}

#ifndef KOKKOS_ENABLE_CUDA  // a GPU's kernel does not wait for its own pages
KOKKOS_TEST(KokkosForeignUses, ARawPointerToAMirrorOfAnArrayInUseEndsWithItsLabel) {
  // The mirror's content lies in an array that the kernel itself holds: nobody can fetch it before the kernel ends.
  EXPECT_DEATH(
      {
        ::setenv("SEMCACHE_FAULT_TIMEOUT", "1", 1);
        semcache::finalize();
        const Stale x;
        add_through_pointer(x.device, x.host.data(), n);
      },
      "'stale_mirror'.*semcache::access");
}
#endif

// --- threads like those of other libraries ---------------------------------------------------------------------------

struct OnASmallStack {
  const Mirror* host;
  int first_wrong;
  int errno_after;
};
extern "C" void* read_on_a_small_stack(void* argument) {
  auto& job = *static_cast<OnASmallStack*>(argument);
  errno = 77;
  for (int i = n - 1; i >= 0; i -= per_page / 2) {
    if ((*job.host)(i) != 40.0 + i && job.first_wrong < 0) job.first_wrong = i;
  }
  for (int i = 0; i < n; i += per_page) (*job.host)(i) = -1;
  job.errno_after = errno;
  return nullptr;
}

KOKKOS_TEST(KokkosForeignUses, FaultsOnAStackOf64KibibytesKeepErrno) {
  const Stale x(40);
  OnASmallStack job{&x.host, -1, 0};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 64u << 10), 0);
  pthread_t thread;

  ASSERT_EQ(pthread_create(&thread, &attributes, &read_on_a_small_stack, &job), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);

  EXPECT_EQ(job.first_wrong, -1);
  EXPECT_EQ(job.errno_after, 77);
  Kokkos::deep_copy(x.device, x.host);
  EXPECT_EQ(sum(x.device), n * 40 + n * (n - 1.0) / 2 - [] {
    double overwritten = 0;
    for (int i = 0; i < n; i += per_page) overwritten += 41.0 + i;
    return overwritten;
  }());
}

#ifdef KOKKOS_ENABLE_CUDA
KOKKOS_TEST(KokkosForeignUses, FaultsLeaveAThreadsCurrentDeviceAlone) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  if (devices < 2) std::puts("one GPU: the thread has no current device instead of another one");
  const Stale x(50);
  double seen = 0;
  int device_after = -1;
  std::thread thread([&] {
    if (devices > 1) cudaSetDevice(1 - Exec().cuda_device());
    seen = x.host(n - 1);
    x.host(0) = -1;
    semcache::access(x.device, semcache::Access::read);
    if (devices > 1) cudaGetDevice(&device_after);
  });
  thread.join();

  EXPECT_EQ(seen, 50.0 + n - 1);
  if (devices > 1) {
    EXPECT_EQ(device_after, 1 - Exec().cuda_device());
  }
}
#endif
