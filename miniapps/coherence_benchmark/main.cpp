// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Measures what coherence itself costs: host sweeps of stale arrays compared with hand-made pinned copies, announced reads
/// compared with the link (both also compared with managed memory), half of the rows of a matrix compared with a 2-D copy, checks that
/// find nothing to do, and the launch hook. The members of a pair are interleaved in one run.
#include <semcache/kokkos.hpp>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using DeviceView = Kokkos::View<double*, semcache::Device>;
using Dual = semcache::DualView<double*, semcache::Device>;
#if defined(KOKKOS_ENABLE_CUDA)
constexpr bool on_gpu = true;
using NativeSpace = Kokkos::CudaSpace;
using PinnedSpace = Kokkos::CudaHostPinnedSpace;
#else
constexpr bool on_gpu = false;
using NativeSpace = Kokkos::HostSpace;
using PinnedSpace = Kokkos::HostSpace;
#endif
using Native = Kokkos::DefaultExecutionSpace;
using NativeView = Kokkos::View<double*, Kokkos::Device<Native, NativeSpace>>;
using PinnedView = Kokkos::View<double*, PinnedSpace>;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Quartiles {
  double low, median, high;
};
Quartiles quartiles(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 4], v[v.size() / 2], v[v.size() * 3 / 4]};
}

nlohmann::json row(const char* name, const char* unit, const std::vector<double>& values) {
  const Quartiles q = quartiles(values);
  std::printf("  %-46s %12.6g  [%.6g, %.6g] %s\n", name, q.median, q.low, q.high, unit);
  return {{"median", q.median}, {"low", q.low}, {"high", q.high}, {"unit", unit}, {"runs", values.size()}};
}

template <class View>
struct AddOne {
  View v;
  KOKKOS_FUNCTION void operator()(long i) const { v(i) += 1.0; }
};

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

int main(int argc, char** argv) {
  CLI::App app{"What coherence costs: host sweeps, announced reads, checks, launches. Ratios are medians of interleaved pairs."};
  std::size_t bytes = on_gpu ? std::size_t{1} << 30 : std::size_t{1} << 26;
  int pairs = 11;
  std::size_t matrix = 16384;
  std::string json_file;
  app.add_option("--matrix", matrix, "rows and columns of the matrix of which halves are copied; 0: none (on a GPU)")->capture_default_str();
  app.add_option("--bytes", bytes, "size of the swept array")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--pairs", pairs, "interleaved pairs per figure")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--json", json_file, "write the figures to this file");
  CLI11_PARSE(app, argc, argv);
  Kokkos::initialize(argc, argv);
  nlohmann::json report{{"schema_version", 1}};
  {
    std::printf("device: %s\n", on_gpu ? "GPU" : "emulated (counts are exact; times say nothing about a GPU)");
    report["sweep"] = sweeps(bytes / sizeof(double), pairs);
#if defined(KOKKOS_ENABLE_CUDA)
    if (matrix > 0) report["halves"] = halves(matrix, pairs);
#endif
    const semcache::Statistics s = semcache::statistics();
    report["checks"] = checks(pairs);
    report["launches"] = launches(pairs);
    report["host_faults"] = s.total.host_faults;
  }
  {
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
  return 0;
}
