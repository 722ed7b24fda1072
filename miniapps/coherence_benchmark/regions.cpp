// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "regions.hpp"

#include "measure.hpp"

#include <semcache/runtime/runtime.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace benchmark {
namespace {

namespace runtime = semcache::runtime;
using semcache::Access;

void expect(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "parts of arrays: %s\n", cudaGetErrorString(error));
  std::exit(1);
}
void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

/// A stream, an instance of the native space on it, and the runtime's name for it.
struct Stream {
  Stream() {
    expect(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking));
    exec.emplace(native);
  }
  ~Stream() {
    exec.reset();
    (void)cudaStreamDestroy(native);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void wait() const { expect(cudaStreamSynchronize(native)); }
  cudaStream_t native = nullptr;
  std::optional<Native> exec;
};

struct Work {
  double* a;
  int rounds;
  double add;
  KOKKOS_FUNCTION void operator()(long i) const {
    double y = 0;
    for (int r = 0; r < rounds; ++r) y = y * 0.5 + 1;
    a[i] += y < 100 ? add : 0;
  }
};
void work(const Native& exec, double* a, std::size_t elements, int rounds, double add) {
  Kokkos::parallel_for("work", Kokkos::RangePolicy<Native, Kokkos::IndexType<long>>(exec, 0, static_cast<long>(elements)), Work{a, rounds, add});
}

struct Read {
  const double* a;
  double* found;
  KOKKOS_FUNCTION void operator()(long i) const {
    if (a[i] == -1) *found = 1;
  }
};
void read(const Native& exec, const double* a, std::size_t elements, double* found) {
  Kokkos::parallel_for("read", Kokkos::RangePolicy<Native, Kokkos::IndexType<long>>(exec, 0, static_cast<long>(elements)), Read{a, found});
}

template <class View>
struct Differs {
  View v;
  double value;
  KOKKOS_FUNCTION void operator()(long i, long& wrong) const { wrong += v(i) != value ? 1 : 0; }
};

}  // namespace

nlohmann::json tiles(std::size_t n, int pairs) {
  constexpr std::size_t count = 32;
  const std::size_t tile = n * (n / 4) / count, elements = tile * count, bytes = elements * sizeof(double);
  std::printf("32 tiles of an array of %zu bytes\n", bytes);
  Dual array("tiles", elements);
  const auto host = array.view_host();
  double* const device = array.view_device().data();
  const Stream stream;
  const auto queue = runtime::lease_queue(stream.native);
  for (std::size_t i = 0; i < elements; ++i) host(i) = static_cast<double>(i % 1000);
  int rounds = 8;
  {  // a kernel on a tile takes as long as its transfer
    const NativeView probe("probe", tile);
    const PinnedView pinned("pinned", tile);
    const auto seconds = [&](const auto& body) {
      body();
      stream.wait();
      const auto start = Clock::now();
      body();
      stream.wait();
      return seconds_since(start);
    };
    const double transfer = seconds([&] { Kokkos::deep_copy(*stream.exec, probe, pinned); });
    while (rounds < 1 << 20 && seconds([&] { work(*stream.exec, probe.data(), tile, rounds, 0); }) < transfer) rounds += rounds / 4;
  }
  const auto use = [&](double* from, std::size_t many, const auto& body) {
    const runtime::LibraryUse part{from, many * sizeof(double), Access::read_write};
    const runtime::Launch launch(queue, &part, 1);
    body();
  };
  std::vector<double> whole_s, tiles_s, ratio;
  for (int k = -2; k < pairs; ++k) {
    double whole = 0, tiled = 0;
    for (const int turn : {0, 1}) {
      for (std::size_t i = 0; i < elements; i += 512) host(i) += 1;  // each page
      const auto start = Clock::now();
      if ((k & 1) == turn) {
        use(device, elements, [&] {
          for (std::size_t t = 0; t < count; ++t) work(*stream.exec, device + t * tile, tile, rounds, 1);
        });
        stream.wait();
        whole = seconds_since(start);
      } else {
        for (std::size_t t = 0; t < count; ++t) use(device + t * tile, tile, [&] { work(*stream.exec, device + t * tile, tile, rounds, 1); });
        stream.wait();
        tiled = seconds_since(start);
      }
      semcache::access(host, Access::read);
    }
    if (k < 0) continue;
    whole_s.push_back(whole);
    tiles_s.push_back(tiled);
    ratio.push_back(tiled / whole);
  }
  const double added = 2.0 * (pairs + 2);
  for (std::size_t i = 0; i < elements; i += 511) {
    expect(host(i) == static_cast<double>(i % 1000) + added * (i % 512 == 0 ? 2 : 1), "wrong content after launches on tiles");
  }
  runtime::retire_queue(queue);
  nlohmann::json j;
  j["whole_seconds"] = row("one launch that uses the whole array", "s", whole_s);
  j["tiles_seconds"] = row("a launch for each tile", "s", tiles_s);
  j["ratio"] = row("tiles / whole", "", ratio);
  return j;
}

nlohmann::json adopted(std::size_t bytes, int pairs) {
  std::printf("adopted memory and a mirror, %zu bytes\n", bytes);
  const std::size_t elements = bytes / sizeof(double);
  const DeviceView device[] = {DeviceView("beside the mirror", elements), DeviceView("beside adopted memory", elements)};
  const auto mirror = Kokkos::create_mirror_view(device[0]);
  auto* const mine = static_cast<double*>(std::aligned_alloc(4096, bytes));
  expect(mine != nullptr, "no host memory");
  (void)madvise(mine, bytes, MADV_HUGEPAGE);
  std::memset(mine, 0, bytes);
  auto start = Clock::now();
  runtime::adopt(mine, bytes, "mine");
  const double adopt_seconds = seconds_since(start);
  double* const host[] = {mirror.data(), mine};
  const Stream stream;
  const auto queue = runtime::lease_queue(stream.native);
  std::vector<double> sweep_ratio, announced_ratio;
  double value = 0;
  for (int k = -2; k < pairs; ++k) {
    for (const bool announced : {false, true}) {
      double seconds[2];
      for (const int turn : {0, 1}) {
        const int which = turn ^ (k & 1);
        Kokkos::deep_copy(device[which], ++value);
        Kokkos::parallel_for("add_one", Kokkos::RangePolicy<semcache::Exec, Kokkos::IndexType<long>>(0, static_cast<long>(elements)), AddOne<DeviceView>{device[which]});
        Kokkos::fence();
        runtime::copy(host[which], device[which].data(), bytes, queue);
        start = Clock::now();
        double got = 0;
        if (announced) {
          semcache::access(host[which], bytes, Access::read);
        } else {
          for (std::size_t i = 0; i < elements; ++i) got += host[which][i];
        }
        seconds[which] = seconds_since(start);
        expect((announced || got == (value + 1) * static_cast<double>(elements)) && host[which][elements - 1] == value + 1, "stale host memory");
      }
      if (k >= 0) (announced ? announced_ratio : sweep_ratio).push_back(seconds[1] / seconds[0]);
    }
  }
  start = Clock::now();
  runtime::release(mine);
  const double release_seconds = seconds_since(start);
  std::free(mine);
  runtime::retire_queue(queue);
  nlohmann::json j;
  j["sweep_ratio"] = row("sweep, adopted / mirror", "", sweep_ratio);
  j["announced_ratio"] = row("announced read, adopted / mirror", "", announced_ratio);
  j["adopt_seconds"] = row("adopt", "s", {adopt_seconds});
  j["release_seconds"] = row("release", "s", {release_seconds});
  return j;
}

nlohmann::json ordinary(std::size_t largest, int pairs) {
  using HostView = Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  nlohmann::json sizes;
  for (std::size_t bytes = std::size_t{1} << 16; bytes <= largest; bytes *= bytes < std::size_t{1} << 28 ? 16 : 4) {
    std::printf("copies of ordinary memory, %zu bytes\n", bytes);
    const std::size_t elements = bytes / sizeof(double);
    const DeviceView ours("ours", elements);
    const NativeView native("native", elements);
    std::vector<double> memory(elements, 0);
    const HostView host(memory.data(), elements);
    double value = 0;
    const auto times = [&](const auto& view, const auto& space, bool to_host) {
      using Space = std::decay_t<decltype(space)>;
      ++value;
      if (to_host) {
        Kokkos::deep_copy(view, value);
      } else {
        std::fill(memory.begin(), memory.end(), value);
      }
      Kokkos::fence();
      const auto start = Clock::now();
      if (to_host) {
        Kokkos::deep_copy(host, view);
      } else {
        Kokkos::deep_copy(view, host);
      }
      space.fence();
      const double seconds = seconds_since(start);
      if (to_host) {
        expect(memory.front() == value && memory[elements / 2] == value && memory.back() == value, "a copy to ordinary memory is stale");
      } else {
        long wrong = 0;
        Kokkos::parallel_reduce("count wrong", Kokkos::RangePolicy<Space, Kokkos::IndexType<long>>(0, static_cast<long>(elements)),
                                Differs<std::decay_t<decltype(view)>>{view, value}, wrong);
        expect(wrong == 0, "a copy from ordinary memory is stale");
      }
      return seconds;
    };
    const int rounds = bytes < std::size_t{1} << 22 ? 10 * pairs : pairs;  // short ones are many
    nlohmann::json j{{"bytes", bytes}};
    for (const bool to_host : {false, true}) {
      std::vector<double> ours_s, native_s, ratio;
      for (int k = -2; k < rounds; ++k) {
        double seconds[2];
        for (const int turn : {0, 1}) {
          const int which = turn ^ (k & 1);
          seconds[which] = which == 0 ? times(ours, semcache::Exec(), to_host) : times(native, Native(), to_host);
        }
        if (k < 0) continue;
        ours_s.push_back(seconds[0]);
        native_s.push_back(seconds[1]);
        ratio.push_back(seconds[0] / seconds[1]);
      }
      const std::string way = to_host ? "to_host" : "to_device";
      j[way + "_seconds"] = row((way + ", semcache").c_str(), "s", ours_s);
      j[way + "_native_seconds"] = row((way + ", native").c_str(), "s", native_s);
      j[way + "_ratio"] = row((way + ", semcache / native").c_str(), "", ratio);
    }
    sizes.push_back(j);
  }
  return sizes;
}

nlohmann::json beyond(std::size_t part_bytes, int pairs) {
  const std::uint64_t budget = semcache::statistics().device_budget_bytes;
  const std::size_t part = part_bytes / sizeof(double), parts = budget / 2 * 3 / part_bytes, elements = parts * part;
  std::printf("sweeps in %zu parts over %zu bytes, 1.5 times the budget\n", parts, elements * sizeof(double));
  const DeviceView array("beyond", elements);
  const auto host = Kokkos::create_mirror_view(array);
  double* const device = array.data();
  for (std::size_t i = 0; i < elements; ++i) host(i) = 1;
  Kokkos::deep_copy(array, host);
  const Stream streams[3];
  std::vector<NativeView> buffers;
  for (int i = 0; i < 3; ++i) buffers.emplace_back("buffer", part);
  const PinnedView pinned("pinned", elements);
  const NativeView found("found", 1);
  for (std::size_t i = 0; i < elements; ++i) pinned(i) = 1;
  const auto queue = runtime::lease_queue(streams[0].native);

  /// The parts one after the other, each by `body(part, first element)`.
  const auto seconds = [&](const auto& body) {
    const auto start = Clock::now();
    for (std::size_t p = 0; p < parts; ++p) body(p, p * part);
    for (const Stream& s : streams) s.wait();
    return seconds_since(start);
  };
  const auto by_hand = [&](bool updates) {
    return seconds([&](std::size_t p, std::size_t at) {
      const std::size_t which = p % 3;
      const Native& exec = *streams[which].exec;
      const auto here = Kokkos::subview(pinned, std::pair(at, at + part));
      Kokkos::deep_copy(exec, buffers[which], here);
      if (!updates) return read(exec, buffers[which].data(), part, found.data());
      work(exec, buffers[which].data(), part, 1, 1);
      Kokkos::deep_copy(exec, here, buffers[which]);
    });
  };
  const auto announced = [&](bool updates) {
    return seconds([&](std::size_t, std::size_t at) {
      semcache::access(device + at, part_bytes, updates ? Access::read_write : Access::read);
      if (updates) work(*streams[0].exec, device + at, part, 1, 1);
      else read(*streams[0].exec, device + at, part, found.data());
    });
  };
  const auto known = [&](bool updates) {
    return seconds([&](std::size_t, std::size_t at) {
      const runtime::LibraryUse use{device + at, part_bytes, updates ? Access::read_write : Access::read};
      const runtime::Launch launch(queue, &use, 1);
      if (updates) work(*streams[0].exec, device + at, part, 1, 1);
      else read(*streams[0].exec, device + at, part, found.data());
    });
  };
  const auto copy_alone = [&] {
    return seconds([&](std::size_t p, std::size_t at) {
      Kokkos::deep_copy(*streams[0].exec, buffers[p % 3], Kokkos::subview(pinned, std::pair(at, at + part)));
    });
  };
  nlohmann::json j;
  std::vector<double> link_s, announced_fraction, known_fraction, hand_fraction;
  for (int k = -1; k < pairs; ++k) {
    const double link = copy_alone();
    const auto before = semcache::statistics().total;
    const double a = announced(false);
    const double l = known(false);
    const auto after = semcache::statistics().total;
    const double h = by_hand(false);
    if (k < 0) continue;
    expect(after.h2d.bytes - before.h2d.bytes == 2 * elements * sizeof(double), "each byte must cross once in a sweep");
    link_s.push_back(link);
    announced_fraction.push_back(link / a);
    known_fraction.push_back(link / l);
    hand_fraction.push_back(link / h);
  }
  j["link_seconds"] = row("copies alone", "s", link_s);
  j["announced_fraction"] = row("announced reads, fraction of the link", "", announced_fraction);
  j["known_fraction"] = row("reads by known launches, fraction of the link", "", known_fraction);
  j["by_hand_fraction"] = row("reads by hand, fraction of the link", "", hand_fraction);
  std::vector<double> hand_s, announced_ratio, known_ratio;
  int rounds = 0;
  for (int k = -1; k < pairs; ++k) {
    const double h = by_hand(true);
    const double a = announced(true);
    const double l = known(true);
    rounds += 2;
    if (k < 0) continue;
    hand_s.push_back(h);
    announced_ratio.push_back(a / h);
    known_ratio.push_back(l / h);
  }
  Kokkos::deep_copy(host, array);
  for (std::size_t i = 0; i < elements; i += 511) expect(host(i) == 1.0 + rounds, "wrong content after sweeps beyond the budget");
  runtime::retire_queue(queue);
  j["update_by_hand_seconds"] = row("updates by hand", "s", hand_s);
  j["update_announced_ratio"] = row("announced updates / by hand", "", announced_ratio);
  j["update_known_ratio"] = row("updates by known launches / by hand", "", known_ratio);
  return j;
}

}  // namespace benchmark
#endif
