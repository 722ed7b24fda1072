// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Measures what coherence itself costs: host sweeps of stale arrays compared with hand-made pinned copies, announced reads
/// compared with the link (both also compared with managed memory), half of the rows of a matrix compared with a 2-D copy, checks that
/// find nothing to do, the launch hook, launches by several threads, arrays that move between two devices, compared with the
/// driver's copies, tiles, adopted memory, copies of ordinary memory, and an array larger than the device's memory. The members of a pair are interleaved in one run.
#include "measure.hpp"
#include "regions.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace benchmark;

template <class Space, class View>
void add_one(const View& v) {
  Kokkos::parallel_for("add_one", Kokkos::RangePolicy<Space, Kokkos::IndexType<long>>(0, static_cast<long>(v.extent(0))),
                       AddOne<View>{v});
}

/// Not inlined, so that all arrays are summed by the same code: compilers may optimise inlined copies of the loop differently.
[[gnu::noinline]] double sum(const double* p, std::size_t n) {
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) s += p[i];
  return s;
}
template <class View>
double sum(const View& v) {
  return sum(v.data(), v.extent(0));
}

#if defined(KOKKOS_ENABLE_CUDA)
/// An array in managed memory whose content is on the GPU at the beginning of every round.
class Managed {
 public:
  explicit Managed(std::size_t elements) : view_("managed", elements) {}

  /// Returns the seconds that the host takes to sum up the whole array, while the driver moves pages as they fault.
  [[nodiscard]] double sweep() {
    bring_to_the_gpu();
    const auto start = Clock::now();
    const double got = sum(view_);
    const double seconds = seconds_since(start);
    check(got);
    return seconds;
  }

  /// Returns the seconds until faults have brought the whole array to the host. One element of each page is read.
  [[nodiscard]] double touch() {
    bring_to_the_gpu();
    constexpr std::size_t page = 4096 / sizeof(double);
    const volatile double* const p = view_.data();  // volatile, so that the compiler keeps the reads
    const auto start = Clock::now();
    for (std::size_t i = 0; i < view_.extent(0); i += page) (void)p[i];
    const double seconds = seconds_since(start);
    check(sum(view_));
    return seconds;
  }

  /// Returns the seconds until the host has the whole array when the program asks for it with a prefetch.
  [[nodiscard]] double prefetch() {
    bring_to_the_gpu();
    const std::size_t bytes = view_.extent(0) * sizeof(double);
    const auto start = Clock::now();
#if CUDART_VERSION >= 13000
    const cudaMemLocation host{cudaMemLocationTypeHost, 0};
    cudaError_t error = cudaMemPrefetchAsync(view_.data(), bytes, host, 0, nullptr);
#else
    cudaError_t error = cudaMemPrefetchAsync(view_.data(), bytes, cudaCpuDeviceId, nullptr);
#endif
    if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
    const double seconds = seconds_since(start);
    if (error != cudaSuccess) {
      std::fprintf(stderr, "managed memory cannot be brought to the host: %s\n", cudaGetErrorString(error));
      std::exit(1);
    }
    check(sum(view_));
    return seconds;
  }

 private:
  void bring_to_the_gpu() {
    add_one<Native>(view_);
    Kokkos::fence();
    expected_ += static_cast<double>(view_.extent(0));
  }
  void check(double got) const {
    if (got == expected_) return;
    std::fprintf(stderr, "wrong sum of managed memory: %.17g\n", got);
    std::exit(1);
  }

  Kokkos::View<double*, Kokkos::CudaUVMSpace> view_;
  double expected_ = 0;
};
#endif

nlohmann::json sweeps(std::size_t elements, int pairs) {
  std::printf("host sweep of a stale array, %zu bytes\n", elements * sizeof(double));
  Dual ours("ours", elements);
  NativeView device("device", elements);
  PinnedView pinned("pinned", elements);
#if defined(KOKKOS_ENABLE_CUDA)
  Managed managed(elements);
  std::vector<double> managed_ratio, managed_touch_fraction, managed_prefetch_fraction;
#endif
  std::vector<double> sweep_ratio, sweep_s, hand_s, announced_fraction, copy_s;
  double expected = 0;
  for (int k = -2; k < pairs; ++k) {  // the first two rounds warm up pages, page-locking and clocks
    add_one<semcache::Exec>(ours.view_device());
    add_one<Native>(device);
    Kokkos::fence();
    expected += static_cast<double>(elements);

    auto start = Clock::now();
    const double got = sum(ours.view_host());
    const double ours_seconds = seconds_since(start);

    start = Clock::now();
    Kokkos::deep_copy(pinned, device);
    const double copy_seconds = seconds_since(start);
    const double hand = sum(pinned);
    const double hand_seconds = seconds_since(start);

    add_one<semcache::Exec>(ours.view_device());
    add_one<Native>(device);
    Kokkos::fence();
    expected += static_cast<double>(elements);
    start = Clock::now();
    semcache::access(ours.view_host(), semcache::Access::read);
    const double announced_seconds = seconds_since(start);

#if defined(KOKKOS_ENABLE_CUDA)
    const double managed_sweep = managed.sweep();
    const double managed_touch = managed.touch();
    const double managed_prefetch = managed.prefetch();
    if (k >= 0) {
      managed_ratio.push_back(managed_sweep / hand_seconds);
      managed_touch_fraction.push_back(copy_seconds / managed_touch);
      managed_prefetch_fraction.push_back(copy_seconds / managed_prefetch);
    }
#endif
    if (got != expected - static_cast<double>(elements) || hand != got) {
      std::fprintf(stderr, "wrong sum: %.17g, by hand %.17g\n", got, hand);
      std::exit(1);
    }
    if (k < 0) continue;
    sweep_s.push_back(ours_seconds);
    hand_s.push_back(hand_seconds);
    sweep_ratio.push_back(ours_seconds / hand_seconds);
    copy_s.push_back(copy_seconds);
    announced_fraction.push_back(copy_seconds / announced_seconds);
  }
  nlohmann::json j;
  j["sweep_seconds"] = row("semcache sweep", "s", sweep_s);
  j["hand_seconds"] = row("pinned copy + sweep", "s", hand_s);
  j["sweep_ratio"] = row("semcache / hand-made", "", sweep_ratio);
#if defined(KOKKOS_ENABLE_CUDA)
  j["managed_ratio"] = row("managed / hand-made", "", managed_ratio);
#endif
  j["copy_seconds"] = row("pinned copy alone", "s", copy_s);
  j["announced_fraction"] = row("announced read, fraction of the pinned rate", "", announced_fraction);
#if defined(KOKKOS_ENABLE_CUDA)
  j["managed_touch_fraction"] = row("managed, faults, fraction of the pinned rate", "", managed_touch_fraction);
  j["managed_prefetch_fraction"] = row("managed, prefetch, fraction of the pinned rate", "", managed_prefetch_fraction);
#endif
  return j;
}

#if defined(KOKKOS_ENABLE_CUDA)
struct ChangeColumn {
  Kokkos::View<double**, Kokkos::LayoutLeft, semcache::Device> m;
  KOKKOS_FUNCTION void operator()(long j) const { m(j % 7, j) += 1; }
};

/// Half of the rows of a column-major matrix, to the device and back: a strided deep_copy and the announced use of its destination, over
/// cudaMemcpy2DAsync with page-locked memory.
nlohmann::json halves(std::size_t n, int pairs) {
  std::printf("half of the rows of a matrix of %zu x %zu\n", n, n);
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, semcache::Device>;
  Matrix ours("ours", n, n);
  const auto mirror = Kokkos::create_mirror_view(ours);
  Kokkos::View<double**, Kokkos::LayoutLeft, NativeSpace> device("device", n, n);
  Kokkos::View<double**, Kokkos::LayoutLeft, PinnedSpace> pinned(Kokkos::view_alloc("pinned", Kokkos::WithoutInitializing), n, n);
  const std::pair<std::size_t, std::size_t> upper(0, n / 2);
  const auto there = Kokkos::subview(ours, upper, Kokkos::ALL);
  const auto here = Kokkos::subview(mirror, upper, Kokkos::ALL);
  const std::size_t pitch = n * sizeof(double), width = pitch / 2;
  cudaStream_t stream;
  if (cudaStreamCreate(&stream) != cudaSuccess) std::abort();
  const auto by_hand = [&](void* to, const void* from) {
    const auto start = Clock::now();
    if (cudaMemcpy2DAsync(to, pitch, from, pitch, width, n, cudaMemcpyDefault, stream) != cudaSuccess) std::abort();
    if (cudaStreamSynchronize(stream) != cudaSuccess) std::abort();
    return seconds_since(start);
  };
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) mirror(i, j) = pinned(i, j) = static_cast<double>(i + j);
  }
  std::vector<double> to_device, to_host, by_hand_s;
  for (int k = -2; k < pairs; ++k) {
    semcache::access(mirror, semcache::Access::write);
    const auto before = semcache::statistics().total;
    auto start = Clock::now();
    Kokkos::deep_copy(there, here);
    semcache::access(ours, semcache::Access::read);
    const double ours_there = seconds_since(start);
    const double hand_there = by_hand(device.data(), pinned.data());

    Kokkos::parallel_for("change", Kokkos::RangePolicy<semcache::Exec>(0, n), ChangeColumn{ours});
    Kokkos::fence();
    start = Clock::now();
    Kokkos::deep_copy(here, there);
    semcache::access(mirror, semcache::Access::read);
    const double ours_here = seconds_since(start);
    const double hand_here = by_hand(pinned.data(), device.data());
    const auto after = semcache::statistics().total;
    if (k < 0) continue;
    if (after.h2d.bytes - before.h2d.bytes != width * n || after.d2h.bytes - before.d2h.bytes != width * n) {
      std::fprintf(stderr, "half of the matrix is %zu bytes, but %llu crossed to the device and %llu back\n", width * n,
                   static_cast<unsigned long long>(after.h2d.bytes - before.h2d.bytes),
                   static_cast<unsigned long long>(after.d2h.bytes - before.d2h.bytes));
      std::exit(1);
    }
    to_device.push_back(hand_there / ours_there);
    to_host.push_back(hand_here / ours_here);
    by_hand_s.push_back(hand_there);
  }
  (void)cudaStreamDestroy(stream);
  nlohmann::json j;
  j["by_hand_seconds"] = row("cudaMemcpy2DAsync to the device", "s", by_hand_s);
  j["to_device_fraction"] = row("deep_copy to the device, fraction of its rate", "", to_device);
  j["to_host_fraction"] = row("deep_copy to the host, fraction of its rate", "", to_host);
  return j;
}
#endif

nlohmann::json checks(int pairs) {
  std::printf("checks that find nothing to do, 1,000 live arrays\n");
  std::vector<Dual> arrays;
  for (int i = 0; i < 1000; ++i) {
    arrays.emplace_back("array", 512);
    arrays.back().view_host()(0) = i;
    add_one<semcache::Exec>(arrays.back().view_device());
  }
  for (auto& a : arrays) semcache::access(a.view_host(), semcache::Access::read);
  nlohmann::json j;
  std::vector<double> access_ns;
  constexpr int repeats = 100000;
  for (int k = 0; k < pairs; ++k) {
    const auto start = Clock::now();
    for (int r = 0; r < repeats; ++r) {
      const Dual& a = arrays[static_cast<std::size_t>(r) % arrays.size()];
      semcache::access(a.view_host().data(), 8, semcache::Access::read);
    }
    access_ns.push_back(seconds_since(start) / repeats * 1e9);
  }
  j["access_ns"] = row("semcache::access, fresh host range", "ns", access_ns);

#if defined(KOKKOS_ENABLE_CUDA)
  const auto queue = semcache::runtime::queue_of(semcache::Exec().cuda_stream());
#else
  const auto queue = semcache::runtime::queue_of(nullptr);
#endif
  for (const std::size_t count : {0, 1, 4, 8, 16}) {
    std::vector<semcache::runtime::Capture> captures;
    for (std::size_t c = 0; c < count; ++c) {
      captures.push_back({arrays[c * 50].view_device().data(), nullptr, 0, c % 2 == 1, false});
    }
    std::vector<double> ns;
    for (int k = 0; k < pairs; ++k) {
      const auto start = Clock::now();
      for (int r = 0; r < repeats; ++r) {
        const semcache::runtime::Launch launch(queue, "nothing", captures.data(), captures.size());
      }
      ns.push_back(seconds_since(start) / repeats * 1e9);
    }
    const std::string name = "launch hook, " + std::to_string(count) + " captured views";
    j["hook_" + std::to_string(count) + "_ns"] = row(name.c_str(), "ns", ns);
  }
  return j;
}

struct Touch3 {
  DeviceView a;
  Kokkos::View<const double*, semcache::Device> b, c;
  KOKKOS_FUNCTION void operator()(int i) const { a(i) = b(i) + c(i); }
};
struct TouchRaw {
  double* a;
  const double* b;
  const double* c;
  KOKKOS_FUNCTION void operator()(int i) const { a[i] = b[i] + c[i]; }
};

nlohmann::json launches(int pairs) {
  std::printf("launch of a small kernel, three captured views\n");
  DeviceView a("a", 256), b("b", 256), c("c", 256);
  NativeView na("na", 256), nb("nb", 256), nc("nc", 256);
  std::vector<double> ours_ns, native_ns, difference;
  constexpr int repeats = 2000;
  for (int k = -2; k < pairs; ++k) {
    Kokkos::fence();
    auto start = Clock::now();
    for (int r = 0; r < repeats; ++r)
      Kokkos::parallel_for("ours", Kokkos::RangePolicy<semcache::Exec>(0, 256), Touch3{a, b, c});
    const double ours = seconds_since(start) / repeats * 1e9;
    Kokkos::fence();
    start = Clock::now();
    for (int r = 0; r < repeats; ++r)
      Kokkos::parallel_for("native", Kokkos::RangePolicy<Native>(0, 256), TouchRaw{na.data(), nb.data(), nc.data()});
    const double native = seconds_since(start) / repeats * 1e9;
    if (k < 0) continue;
    ours_ns.push_back(ours);
    native_ns.push_back(native);
    difference.push_back(ours - native);
  }
  nlohmann::json j;
  j["ours_ns"] = row("parallel_for on semcache::Exec", "ns", ours_ns);
  j["native_ns"] = row("parallel_for on the native space", "ns", native_ns);
  j["difference_ns"] = row("difference", "ns", difference);
  return j;
}

// --- between two devices -------------------------------------------------------------------------------------------------

template <class View>
struct Look {  ///< a kernel that does nothing, so that what it costs is the move of its view
  View v;
  KOKKOS_FUNCTION void operator()(int) const {
    if (v.data() == nullptr) Kokkos::abort("no array");
  }
};
struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};

template <class E>
void nothing(const E& exec) {
  Kokkos::parallel_for("nothing", Kokkos::RangePolicy<E>(exec, 0, 1), Nothing{});
}
template <class View>
void look(const semcache::Exec& exec, const View& v) {
  Kokkos::parallel_for("look", Kokkos::RangePolicy<semcache::Exec>(exec, 0, 1), Look<typename View::const_type>{v});
}

/// Two arrays of the driver, on devices 0 and 1, and copies between them by the driver's calls. (On emulated devices: memcpy.)
class ByHand {
 public:
  explicit ByHand(std::size_t bytes) : bytes_(bytes) {
    for (const std::uint32_t d : {0u, 1u}) {
#if defined(KOKKOS_ENABLE_CUDA)
      expect(cudaSetDevice(semcache::runtime::device_ordinal(d)));
      (void)cudaDeviceEnablePeerAccess(semcache::runtime::device_ordinal(1 - d), 0);
      (void)cudaGetLastError();  // enabled already, or there is none: then the driver copies through the host
      expect(cudaMalloc(&arrays_[d], bytes));
      expect(cudaMemset(arrays_[d], 0, bytes));
      expect(cudaDeviceSynchronize());
#else
      arrays_[d] = std::calloc(1, bytes);
      if (arrays_[d] == nullptr) std::abort();
#endif
    }
    go_home();
  }
  ~ByHand() {
    for (void* const array : arrays_) {
#if defined(KOKKOS_ENABLE_CUDA)
      (void)cudaFree(array);
#else
      std::free(array);
#endif
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  /// Copies all bytes to device `to`, behind which a kernel runs there. @return seconds until the kernel's end
  [[nodiscard]] double copy(std::uint32_t to) {
    return timed(to, [&]([[maybe_unused]] const semcache::Exec& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
      expect(cudaMemcpyPeerAsync(arrays_[to], semcache::runtime::device_ordinal(to), arrays_[1 - to],
                                 semcache::runtime::device_ordinal(1 - to), bytes_, exec.cuda_stream()));
#else
      std::memcpy(arrays_[to], arrays_[1 - to], bytes_);
#endif
    });
  }
  /// Copies the first half of each of `n` columns. @return seconds until a kernel's end, as above
  [[nodiscard]] double copy_halves(std::uint32_t to, std::size_t n) {
    const std::size_t pitch = bytes_ / n;
    return timed(to, [&]([[maybe_unused]] const semcache::Exec& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
      expect(cudaMemcpy2DAsync(arrays_[to], pitch, arrays_[1 - to], pitch, pitch / 2, n, cudaMemcpyDefault, exec.cuda_stream()));
#else
      for (std::size_t j = 0; j < n; ++j) {
        std::memcpy(static_cast<char*>(arrays_[to]) + j * pitch, static_cast<char*>(arrays_[1 - to]) + j * pitch, pitch / 2);
      }
#endif
    });
  }

 private:
  template <class Submit>
  static double timed(std::uint32_t to, const Submit& submit) {
    const semcache::Exec exec = semcache::on(to);
    const auto start = Clock::now();
    submit(exec);
    nothing(exec.native());
    exec.fence();
    return seconds_since(start);
  }
#if defined(KOKKOS_ENABLE_CUDA)
  static void expect(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "copy by hand: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
  static void go_home() { expect(cudaSetDevice(semcache::runtime::device_ordinal(0))); }
#else
  static void go_home() {}
#endif

  std::size_t bytes_;
  void* arrays_[2] = {};
};

/// Two matrices, on devices 0 and 1, whose elements are a number of their writer plus their index. (A vector is one column.)
struct MovedMatrix {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, semcache::Device>;
  struct Set {
    Matrix m;
    double first;
    KOKKOS_FUNCTION void operator()(long k) const {
      m.data()[k] = first + static_cast<double>(k);
    }
  };
  struct CountWrong {
    Kokkos::View<const double**, Kokkos::LayoutLeft, semcache::Device> m;
    long moved, rows;
    double first, other;
    KOKKOS_FUNCTION void operator()(long k, long& wrong) const {
      if (m.data()[k] != (k % rows < moved ? first : other) + static_cast<double>(k)) ++wrong;
    }
  };
  using Elements = Kokkos::RangePolicy<semcache::Exec, Kokkos::IndexType<long>>;

  std::size_t rows, columns, moved_rows;
  Matrix on[2];
  double written[2] = {0, 0};
  double seed = 0;

  MovedMatrix(std::size_t r, std::size_t c, std::size_t moved)
      : rows(r),
        columns(c),
        moved_rows(moved),
        on{Matrix(Kokkos::view_alloc(semcache::Space(0), "on 0"), r, c), Matrix(Kokkos::view_alloc(semcache::Space(1), "on 1"), r, c)} {
    for (const std::uint32_t d : {0u, 1u}) write(d);
  }
  [[nodiscard]] long elements() const { return static_cast<long>(rows * columns); }
  [[nodiscard]] std::size_t bytes() const { return moved_rows * columns * sizeof(double); }

  void write(std::uint32_t device) {
    written[device] = ++seed;
    Kokkos::parallel_for("set", Elements(semcache::on(device), 0, elements()), Set{on[device], seed});
    semcache::on(device).fence();
  }
  /// @return seconds until the end of a kernel of device `to` that uses what has moved there
  [[nodiscard]] double move(std::uint32_t to) {
    const semcache::Exec exec = semcache::on(to);
    const auto start = Clock::now();
    if (moved_rows == rows) {
      Kokkos::deep_copy(exec, on[to], on[1 - to]);
    } else {
      const std::pair<std::size_t, std::size_t> upper(0, moved_rows);
      Kokkos::deep_copy(exec, Kokkos::subview(on[to], upper, Kokkos::ALL), Kokkos::subview(on[1 - to], upper, Kokkos::ALL));
    }
    look(exec, on[to]);
    exec.fence();
    return seconds_since(start);
  }
  void check(std::uint32_t to) const {
    long wrong = 0;
    Kokkos::parallel_reduce("count wrong", Elements(semcache::on(to), 0, elements()),
                            CountWrong{on[to], static_cast<long>(moved_rows), static_cast<long>(rows), written[1 - to], written[to]},
                            wrong);
    if (wrong == 0) return;
    std::fprintf(stderr, "%ld of %ld elements are wrong on device %u\n", wrong, elements(), to);
    std::exit(1);
  }
};

/// Times moves to device 1 and back, in turn with copies by hand. `by_hand(to)` returns the seconds of such a copy.
template <class Hand>
nlohmann::json moves(MovedMatrix& ours, int pairs, const Hand& by_hand) {
  std::vector<double> ratios[2], seconds[2], hand_seconds[2];
  const auto before = semcache::statistics().total;
  constexpr int warm_up = 2;
  for (int k = -warm_up; k < pairs; ++k) {
    for (const std::uint32_t to : {1u, 0u}) {
      ours.write(1 - to);
      double mine = 0, theirs = 0;
      if (k % 2 != 0) theirs = by_hand(to);
      mine = ours.move(to);
      if (k % 2 == 0) theirs = by_hand(to);
      ours.check(to);
      if (k < 0) continue;
      seconds[to].push_back(mine);
      hand_seconds[to].push_back(theirs);
      ratios[to].push_back(theirs / mine);
    }
  }
  const auto after = semcache::statistics().total;
  const std::uint64_t expected = 2ull * static_cast<unsigned>(pairs + warm_up) * ours.bytes();
  const std::uint64_t linked = after.between_devices.bytes - before.between_devices.bytes, up = after.h2d.bytes - before.h2d.bytes;
  if (linked + up != expected) {  // `up`: no peer access
    std::fprintf(stderr, "%llu bytes should have moved, but %llu crossed from device to device and %llu from the host\n",
                 static_cast<unsigned long long>(expected), static_cast<unsigned long long>(linked), static_cast<unsigned long long>(up));
    std::exit(1);
  }
  const auto rate = [&](std::vector<double> v) {
    for (double& s : v) s = static_cast<double>(ours.bytes()) / s * 1e-9;
    return v;
  };
  nlohmann::json j{{"bytes", ours.bytes()}, {"through_host", up != 0}};
  for (const std::uint32_t to : {1u, 0u}) {
    const std::string way = to == 1 ? "there" : "back";
    j[way + "_rate"] = row((way + ", rate").c_str(), "GB/s", rate(seconds[to]));
    j[way + "_by_hand_rate"] = row((way + ", by hand").c_str(), "GB/s", rate(hand_seconds[to]));
    j[way + "_fraction"] = row((way + ", fraction of the rate by hand").c_str(), "", ratios[to]);
  }
  return j;
}

nlohmann::json peers(std::size_t largest, std::size_t matrix, int pairs) {
  nlohmann::json j;
  for (std::size_t bytes = std::size_t{1} << 20; bytes <= std::min(largest, std::size_t{1} << 30); bytes *= 4) {
    std::printf("a view on device 0, copied to one on device 1 that a kernel uses, and back, %zu bytes (by hand: cudaMemcpyPeerAsync)\n",
                bytes);
    MovedMatrix ours(bytes / sizeof(double), 1, bytes / sizeof(double));
    ByHand hand(bytes);
    j["vectors"].push_back(moves(ours, pairs, [&](std::uint32_t to) { return hand.copy(to); }));
  }
  if (matrix < 2) return j;
  std::printf("the same, half of the rows of a matrix of %zu x %zu (by hand: cudaMemcpy2DAsync)\n", matrix, matrix);
  MovedMatrix ours(matrix, matrix, matrix / 2);
  ByHand hand(matrix * matrix * sizeof(double));
  j["halves"] = moves(ours, pairs, [&](std::uint32_t to) { return hand.copy_halves(to, matrix); });
  return j;
}

#if defined(KOKKOS_ENABLE_CUDA)
/// The kernel of `rates`, as programs write one.
template <class E, class To, class From>
void add(const E& exec, int n, const To& to, const From& from) {
  Kokkos::parallel_for("add", Kokkos::RangePolicy<E>(exec, 0, n), KOKKOS_LAMBDA(int i) { to[i] += from[i]; });
}

/// The launches of `threads` threads, each with a stream and two arrays of its own, thread i on device i modulo the number of devices:
/// the rate on semcache::Exec over that of the same program on the native space, and over that of kernels on the native space which
/// capture bare pointers. And what a thread loses more than on the native space by a read: every 20 launches it copies the array to a
/// mirror, fences, and reads one element.
nlohmann::json rates(int threads, int pairs) {
  // The rounds are short and many, because the rate of launches drifts by a tenth within a second, but not within a round.
  constexpr int launches_each = 300, n = 1000, between_fences = 100, between_reads = 20;
  const int rounds = 20 * pairs;
  using ConstView = Kokkos::View<const double*, semcache::Device>;
  using ConstNativeView = NativeView::const_type;
  struct Worker {
    DeviceView to;
    ConstView from;
    semcache::kokkos::host_mirror_t<DeviceView> mirror;
    NativeView native_to;
    ConstNativeView native_from;
    semcache::kokkos::host_mirror_t<NativeView> native_mirror;
  };
  std::vector<Worker> workers(static_cast<std::size_t>(threads));
  std::vector<cudaStream_t> streams;
  std::vector<semcache::Exec> ours;
  std::vector<Native> native;
  const auto expect = [](cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "launches by threads: %s\n", cudaGetErrorString(error));
    std::exit(1);
  };
  const auto devices = static_cast<std::uint32_t>(semcache::device_count());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Worker& w = workers[i];
    const auto device = static_cast<std::uint32_t>(i) % devices;
    expect(cudaSetDevice(semcache::runtime::device_ordinal(device)));
    const auto new_stream = [&] {
      expect(cudaStreamCreateWithFlags(&streams.emplace_back(), cudaStreamNonBlocking));
      return streams.back();
    };
    ours.emplace_back(new_stream());
    native.emplace_back(new_stream());
    w.to = DeviceView(Kokkos::view_alloc(semcache::Space(device), "to"), n);
    w.from = DeviceView(Kokkos::view_alloc(semcache::Space(device), "from"), n);
    w.mirror = Kokkos::create_mirror_view(w.to);
    w.native_to = NativeView(Kokkos::view_alloc(native.back(), "native to"), n);
    w.native_from = NativeView(Kokkos::view_alloc(native.back(), "native from"), n);
    w.native_mirror = Kokkos::create_mirror_view(w.native_to);
  }
  enum Kind { pointers, views, semcache_views, kinds };
  /// @param read  is called every `between_reads` launches
  const auto launch = [&](const auto& exec, const auto& to, const auto& from, const auto& read) {
    for (int k = 1; k <= launches_each; ++k) {
      add(exec, n, to, from);
      if (k % between_reads == 0) read();
      if (k % between_fences == 0) exec.fence();
    }
    exec.fence();
  };
  const auto read_by = [](const auto& exec, const auto& mirror, const auto& view) {
    Kokkos::deep_copy(exec, mirror, view);
    exec.fence();
    volatile double element = mirror(3);
    (void)element;
  };
  const auto work = [&](std::size_t i, int kind, bool reads) {
    const Worker& w = workers[i];
    if (kind == semcache_views) {
      launch(ours[i], w.to, w.from, [&] {
        if (reads) read_by(ours[i], w.mirror, w.to);
      });
      return;
    }
    const auto read = [&] {
      if (reads) read_by(native[i], w.native_mirror, w.native_to);
    };
    if (kind == views) {
      launch(native[i], w.native_to, w.native_from, read);
    } else {
      launch(native[i], w.native_to.data(), w.native_from.data(), read);
    }
  };
  for (std::size_t i = 0; i < workers.size(); ++i) {  // Kokkos prepares a kernel at its first launch, for one thread at a time
    for (int kind = 0; kind < kinds; ++kind) work(i, kind, false);
  }
  expect(cudaSetDevice(semcache::runtime::device_ordinal(0)));
  // The same threads do all rounds, because a thread on another core is up to a quarter faster or slower.
  std::atomic<int> arrived{0}, turns{0};
  const auto meet = [&] {
    const int turn = turns;
    if (++arrived == threads) {
      arrived = 0;
      ++turns;
    } else {
      while (turns == turn) {
      }
    }
  };
  std::vector<double> fraction, fraction_of_pointers, us[kinds], loss_us;
  const auto run = [&](std::size_t i) {
    for (int k = -2; k < rounds; ++k) {
      double s[kinds][2] = {};  // [][without or with reads]
      for (const bool reads : {false, true}) {
        for (int turn = 0; turn < kinds; ++turn) {
          const int kind = (k & 1) == 0 ? (turn + k / 2 + 1) % kinds : (kinds - turn + k / 2) % kinds;  // both orders of each two
          meet();
          const auto start = Clock::now();
          work(i, kind, reads);
          meet();
          s[kind][reads] = seconds_since(start);
        }
      }
      if (i != 0 || k < 0) continue;
      fraction.push_back(s[views][0] / s[semcache_views][0]);
      fraction_of_pointers.push_back(s[pointers][0] / s[semcache_views][0]);
      for (int kind = 0; kind < kinds; ++kind) us[kind].push_back(s[kind][0] / launches_each * 1e6);
      const double ours_more = s[semcache_views][1] - s[semcache_views][0], native_more = s[views][1] - s[views][0];
      loss_us.push_back((ours_more - native_more) / (launches_each / between_reads) * 1e6);
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t i = 0; i < workers.size(); ++i) pool.emplace_back(run, i);
  for (std::thread& t : pool) t.join();
  workers.clear();
  ours.clear();
  native.clear();
  for (const cudaStream_t s : streams) (void)cudaStreamDestroy(s);
  nlohmann::json j;
  std::printf("launches by %d thread(s), %d each, %d rounds\n", threads, launches_each, rounds);
  j["ours_us"] = row("a launch of a thread on semcache::Exec", "us", us[semcache_views]);
  j["native_us"] = row("on the native space", "us", us[views]);
  j["pointers_us"] = row("on the native space, with bare pointers", "us", us[pointers]);
  j["fraction"] = row("rate, fraction of the native one", "", fraction);
  j["fraction_of_pointers"] = row("rate, fraction of that with bare pointers", "", fraction_of_pointers);
  j["loss_us"] = row("what a read takes more than natively", "us", loss_us);
  return j;
}
#endif

/// Returns the resident memory of this process, as the kernel counts it.
std::uint64_t resident_host_bytes() {
  unsigned long long all = 0, resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu %llu", &all, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{
      "What coherence costs: host sweeps, announced reads, checks, launches, arrays that move between devices. Ratios are medians of\n"
      "interleaved pairs."};
  std::size_t bytes = on_gpu ? std::size_t{1} << 30 : std::size_t{1} << 26;
  int pairs = 11;
  std::size_t matrix = on_gpu ? 16384 : 1024;
  std::string json_file;
  int devices = 0;
  int exit_code = 0;
  std::vector<std::string> only;
  std::vector<int> threads_of_rates{1, 2, 4, 8};
  app.add_option("--matrix", matrix, "rows and columns of the matrix of which halves are copied (to the host and back: on a GPU); 0: none")
      ->capture_default_str();
  app.add_option("--bytes", bytes, "size of the swept array, and of the largest one that moves between devices (at most 1 GiB)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--devices", devices, "devices that the process uses; as SEMCACHE_DEVICES says, otherwise one, if missing")
      ->check(CLI::Range(1, 16));
  app.add_option("--only", only,
                 "the parts to be measured, all but beyond if missing; peers needs two devices, halves, rates, tiles, adopted, ordinary\n"
                 "and beyond a GPU. beyond: an array 1.5 times as large as the device's memory (SEMCACHE_DEVICE_MEMORY; four times --bytes if missing)")
      ->check(CLI::IsMember({"sweep", "halves", "checks", "launches", "rates", "peers", "memory", "tiles", "adopted", "ordinary", "beyond"}));
  app.add_option("--threads", threads_of_rates, "the numbers of threads whose launches `rates` measures")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--pairs", pairs, "interleaved pairs per figure")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--json", json_file, "write the figures to this file");
  CLI11_PARSE(app, argc, argv);
  const auto measured = [&](const char* part) { return only.empty() || std::count(only.begin(), only.end(), part) != 0; };
  const bool beyond_budget = std::count(only.begin(), only.end(), "beyond") != 0;
  if (beyond_budget) setenv("SEMCACHE_DEVICE_MEMORY", std::to_string(4 * bytes).c_str(), 0);
  Kokkos::initialize(argc, argv);
  if (devices != 0) semcache::use_devices(devices);
  nlohmann::json report{{"schema_version", 1}};
  {
    std::printf("device: %s\n", on_gpu ? "GPU" : "emulated (counts are exact; times say nothing about a GPU)");
    // An array with content and a queue on each further device, for the whole time, so that all of them are in use.
    std::vector<DeviceView> elsewhere;
    {
      const DeviceView starts_the_runtime("start", 1);
    }
    for (std::uint32_t d = 1; d < static_cast<std::uint32_t>(semcache::device_count()); ++d) {
      elsewhere.emplace_back(Kokkos::view_alloc(semcache::Space(d), "elsewhere"), 256);
      Kokkos::parallel_for("add_one", Kokkos::RangePolicy<semcache::Exec, Kokkos::IndexType<long>>(semcache::on(d), 0, 256),
                           AddOne<DeviceView>{elsewhere.back()});
      semcache::on(d).fence();
    }
    std::printf("devices in use: %d\n", semcache::device_count());
    report["devices"] = semcache::device_count();
    if (measured("sweep")) report["sweep"] = sweeps(bytes / sizeof(double), pairs);
#if defined(KOKKOS_ENABLE_CUDA)
    if (measured("halves") && matrix > 0) report["halves"] = halves(matrix, pairs);
#endif
    report["host_faults"] = semcache::statistics().total.host_faults;
    if (measured("checks")) report["checks"] = checks(pairs);
    if (measured("launches")) report["launches"] = launches(pairs);
#if defined(KOKKOS_ENABLE_CUDA)
    if (measured("tiles") && matrix > 0) report["tiles"] = tiles(matrix, pairs);
    if (measured("adopted")) report["adopted"] = adopted(bytes, pairs);
    if (measured("ordinary")) report["ordinary"] = ordinary(bytes, pairs);
    if (beyond_budget) report["beyond"] = beyond(bytes / 4, pairs);
    if (measured("rates")) {
      for (const int threads : threads_of_rates) report["rates"][std::to_string(threads)] = rates(threads, pairs);
    }
#endif
    if (measured("peers")) {
      if (semcache::device_count() > 1) {
        report["peers"] = peers(bytes, matrix, pairs);
      } else if (!only.empty()) {
        std::fputs("peers: this process uses one device. Use --devices 2\n", stderr);
        exit_code = 1;
      }
    }
  }
  if (measured("memory")) {
    const std::size_t payload = std::max<std::size_t>(bytes, 1 << 20);
    const std::uint64_t before = resident_host_bytes();
    DeviceView v("payload", payload / sizeof(double));
    const auto unused = Kokkos::create_mirror_view(v);
    add_one<semcache::Exec>(v);
    Kokkos::fence();
    if (on_gpu) {  // otherwise the device's memory is host memory, too
      const std::uint64_t grown = std::max(resident_host_bytes(), before) - before;
      std::printf("host memory for its mirror, which nobody uses: %.3f MiB\n", static_cast<double>(grown) / (1 << 20));
      report["host_memory_of_unused_mirror_bytes"] = grown;
    }
    const semcache::Statistics s = semcache::statistics();
    const double overhead =
        static_cast<double>(s.mapped_device_bytes) / static_cast<double>(s.live_device_bytes) - 1.0;
    std::printf("device memory beyond the payload of %llu bytes: %.3f %%\n",
                static_cast<unsigned long long>(s.live_device_bytes), overhead * 100);
    report["device_memory_overhead"] = overhead;
  }
  Kokkos::finalize();
  if (!json_file.empty()) {
    std::ofstream file(json_file);
    file << report.dump(2) << "\n";
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", json_file.c_str());
      return 1;
    }
  }
  return exit_code;
} catch (const semcache::Error& e) {  // devices that do not exist, or a budget that is too small
  std::fprintf(stderr, "coherence_benchmark: %s\n", e.what());
  return 1;
}
