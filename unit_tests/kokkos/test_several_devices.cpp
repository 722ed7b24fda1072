// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

// One process with several devices: SEMCACHE_DEVICES is 2 or more, SEMCACHE_PEER_ACCESS is `auto` or `off`.
namespace kokkos_several_devices {
using namespace test;

constexpr int n = 1 << 16;
constexpr std::uint64_t bytes = n * sizeof(double);

bool there_are_two() {
#ifdef KOKKOS_ENABLE_CUDA
  int visible = 0;
  if (semcache::kokkos::native_is_device) return cudaGetDeviceCount(&visible) == cudaSuccess && visible > 1 && SEMCACHE_KOKKOS_SEVERAL_GPUS;
#endif
  return true;
}
/// May a kernel use the memory of another device?
bool linked() {
  const char* const access = std::getenv("SEMCACHE_PEER_ACCESS");
  if (access != nullptr && std::string(access) == "off") return false;
#ifdef KOKKOS_ENABLE_CUDA
  int forth = 1, back = 1;
  if (semcache::kokkos::native_is_device) {
    const auto devices = semcache::statistics().devices;
    cudaDeviceCanAccessPeer(&forth, devices[0].ordinal, devices[1].ordinal);
    cudaDeviceCanAccessPeer(&back, devices[1].ordinal, devices[0].ordinal);
  }
  return forth != 0 && back != 0;
#else
  return true;
#endif
}

Vector vector_on(std::uint32_t device, const std::string& label, int size = n) {
  return Vector(Kokkos::view_alloc(Space(device), label), size);
}
template <class View>
std::uint32_t device_of(const View& view) {
  return semcache::runtime::device_of(view.data());
}
std::uint64_t mapped(std::uint32_t device) { return semcache::statistics().devices[device].mapped_bytes; }

/// Counters that passed since construction, of which these tests want to know more than others.
class Moved {
 public:
  Moved() : begin_(semcache::statistics().total) {}
  [[nodiscard]] std::uint64_t h2d() const { return now().h2d.bytes - begin_.h2d.bytes; }
  [[nodiscard]] std::uint64_t d2h() const { return now().d2h.bytes - begin_.d2h.bytes; }
  [[nodiscard]] std::uint64_t between() const { return now().between_devices.bytes - begin_.between_devices.bytes; }
  [[nodiscard]] std::uint64_t by_peers() const { return now().peer_launches - begin_.peer_launches; }
  [[nodiscard]] std::uint64_t launches() const { return now().launches - begin_.launches; }
  void expect(std::uint64_t h2d_bytes, std::uint64_t d2h_bytes, std::uint64_t between_bytes) const {
    EXPECT_EQ(h2d(), h2d_bytes);
    EXPECT_EQ(d2h(), d2h_bytes);
    EXPECT_EQ(between(), between_bytes);
    EXPECT_EQ(by_peers(), 0u);
  }
  /// These bytes went from device to device: over the link between them, or through the host.
  void expect_between(std::uint64_t expected) const {
    linked() ? expect(0, 0, expected) : expect(expected, expected, 0);
  }

 private:
  static semcache::Counters now() { return semcache::statistics().total; }
  semcache::Counters begin_;
};

/// v(i) = first + i * step.
void count_on(const Exec& exec, const Vector& v, double first, double step = 1) {
  Kokkos::parallel_for(
      "count", Kokkos::RangePolicy<Exec>(exec, 0, v.extent(0)), KOKKOS_LAMBDA(int i) { v(i) = first + i * step; });
}
void add_on(const Exec& exec, const Vector& to, const ConstVector& from) {
  Kokkos::parallel_for(
      "add", Kokkos::RangePolicy<Exec>(exec, 0, to.extent(0)), KOKKOS_LAMBDA(int i) { to(i) += from(i); });
}
double sum_on(const Exec& exec, const ConstVector& v) {
  double result = 0;
  Kokkos::parallel_reduce(
      "sum", Kokkos::RangePolicy<Exec>(exec, 0, v.extent(0)), KOKKOS_LAMBDA(int i, double& s) { s += v(i); }, result);
  return result;
}
constexpr double sum_of_count(double first, double step = 1, double count = n) {
  return count * first + step * count * (count - 1) / 2;
}

}  // namespace kokkos_several_devices
using namespace kokkos_several_devices;

/// A test that needs two devices.
#define DEVICES_TEST(NAME)                                                  \
  void KokkosSeveralDevices_##NAME##_body();                                \
  TEST(KokkosSeveralDevices, NAME) {                                        \
    if (!there_are_two()) GTEST_SKIP() << "one GPU, or a Kokkos that uses one"; \
    (void)semcache::on(1);                                                  \
    KokkosSeveralDevices_##NAME##_body();                                   \
  }                                                                         \
  void KokkosSeveralDevices_##NAME##_body()

namespace kokkos_several_devices {
class Devices : public semcache::policy::LaunchObserver {
 public:
  void observe(const semcache::policy::ObservedLaunch& launch) override { devices.push_back(launch.device); }
  std::vector<std::uint32_t> devices;
};
}  // namespace kokkos_several_devices

DEVICES_TEST(AnObserverIsToldWhereAKernelRuns) {
  const Vector x0 = vector_on(0, "x0"), x1 = vector_on(1, "x1");
  const auto observer = std::make_shared<Devices>();
  semcache::runtime::observe_launches(observer);
  count_on(semcache::on(1), x1, 1);
  count_on(Exec(), x0, 1);
  count_on(semcache::on(1), x1, 2);
  semcache::runtime::observe_launches(nullptr);
  EXPECT_EQ(observer->devices, (std::vector<std::uint32_t>{1, 0, 1}));
  EXPECT_EQ(sum_on(semcache::on(1), x1), sum_of_count(2));
}

DEVICES_TEST(ASpaceOfANumberAllocatesThere) {
  const std::uint64_t before0 = mapped(0), before1 = mapped(1);
  const Vector x = vector_on(1, "x");
  EXPECT_EQ(x.label(), "x");
  count_on(semcache::on(1), x, 1);
  EXPECT_GE(mapped(1), before1 + bytes);
  EXPECT_EQ(mapped(0), before0);
  EXPECT_EQ(device_of(x), 1u);
  EXPECT_EQ(device_of(Vector("nothing said", 10)), 0u);
  EXPECT_EQ(device_of(Vector(Kokkos::view_alloc(Space(), "no number"), 10)), 0u);
  EXPECT_EQ(device_of(Vector(Kokkos::view_alloc(semcache::on(0), Space(1), Kokkos::WithoutInitializing, "both"), 10)), 1u)
      << "the Space counts more";

  const semcache::DualView<double*, Device> dual(semcache::announced, Kokkos::view_alloc(Space(1), "announced"), 10);
  EXPECT_EQ(device_of(dual.view_device()), 1u);
  EXPECT_EQ(semcache::runtime::notices_host_accesses(dual.view_host().data()), std::getenv("SEMCACHE_CHECK") != nullptr);

  void* const by_hand = Space(1).allocate("by hand", 100);
  EXPECT_EQ(semcache::runtime::device_of(by_hand), 1u);
  Space(1).deallocate("by hand", by_hand, 100);
}

DEVICES_TEST(AnInstanceAmongThePropertiesAllocatesThere) {
  const std::uint32_t expected = SEMCACHE_KOKKOS_ALLOCATES_WITH_INSTANCE ? 1 : 0;
  EXPECT_EQ(device_of(Vector(Kokkos::view_alloc(semcache::on(1), "x"), 10)), expected);
  EXPECT_EQ(device_of(Vector(Kokkos::view_alloc(semcache::on(1), Kokkos::WithoutInitializing, "y"), 10)), expected);
  EXPECT_EQ(device_of(Vector(Kokkos::view_alloc(Exec(), "z"), 10)), 0u);
#if SEMCACHE_KOKKOS_ALLOCATES_WITH_INSTANCE
  const Kokkos::View<double*, Left, Kokkos::HostSpace> h("h", 10);
  EXPECT_EQ(device_of(Kokkos::create_mirror_view_and_copy(Kokkos::view_alloc(Space(1)), h)), 1u);
  EXPECT_EQ(device_of(Kokkos::create_mirror(Kokkos::view_alloc(Space(1)), h)), 1u);
#endif
}

DEVICES_TEST(EveryPatternRunsOnTheDeviceOfItsInstance) {
  const Exec exec = semcache::on(1);
  const Vector x = vector_on(1, "x");
  const Matrix m(Kokkos::view_alloc(Space(1), "m"), 64, 32);
  const Kokkos::View<double, Left, Device> result(Kokkos::view_alloc(Space(1), "result"));
  const Moved moved;

  count_on(exec, x, 0);
  Kokkos::parallel_for(
      "matrix", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {64, 32}),
      KOKKOS_LAMBDA(int i, int j) { m(i, j) = x(i) + 100 * j; });
  Kokkos::parallel_reduce(
      "to a view", Kokkos::RangePolicy<Exec>(exec, 0, 32), KOKKOS_LAMBDA(int j, double& s) { s += m(1, j); }, result);
  EXPECT_EQ(sum_on(exec, x), sum_of_count(0));

  using Scratch = Kokkos::View<double*, Exec::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  const Team team = Team(exec, 32, 1).set_scratch_size(0, Kokkos::PerTeam(Scratch::shmem_size(64)));
  Kokkos::parallel_for(
      "scratch", Team(team), KOKKOS_LAMBDA(const Member& member) {
        Scratch column(member.team_scratch(0), 64);
        const int j = member.league_rank();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, 64), [&](int i) { column(i) = m(i, j); });
        member.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, 64), [&](int i) { m(i, j) = 2 * column(63 - i); });
      });
  double total = 0;
  Kokkos::parallel_scan(
      "scan", Kokkos::RangePolicy<Exec>(exec, 0, 100),
      KOKKOS_LAMBDA(int i, double& update, bool final) {
        update += 1;
        if (final) x(i) = update;
      },
      total);
  EXPECT_EQ(total, 100.0);
  const std::uint64_t scanned = semcache::kokkos::native_is_device ? sizeof(double) : 0;
  exec.fence();
  moved.expect(0, scanned, 0);
  EXPECT_EQ(moved.launches(), 6u);

  EXPECT_EQ(on_host(result)(), 32.0 + 100.0 * 31 * 16);
  EXPECT_EQ(on_host(m)(1, 3), 2 * (62.0 + 300.0));
  EXPECT_EQ(on_host(x)(99), 100.0);
}

DEVICES_TEST(CopiesMoveEachByteOnce) {
  const Vector x0("x0", n), x1 = vector_on(1, "x1"), y1 = vector_on(1, "y1");
  auto h = Kokkos::create_mirror_view(x0);
  for (int i = 0; i < n; ++i) h(i) = i;
  {
    const Moved moved;
    Kokkos::deep_copy(x0, h);
    Kokkos::deep_copy(x1, x0);
    EXPECT_EQ(sum_on(semcache::on(1), x1), sum_of_count(0));
    moved.expect(bytes, 0, 0);  // from the host, to where it is read
  }
  count_on(Exec(), x0, 5);
  {
    const Moved moved;
    Kokkos::deep_copy(x1, x0);
    moved.expect(0, 0, 0);  // nothing yet
    add_on(semcache::on(1), y1, x1);
    moved.expect_between(bytes);
    Kokkos::deep_copy(semcache::on(1), x0, y1);
    EXPECT_EQ(sum_on(Exec(), x0), sum_of_count(5));
    linked() ? moved.expect(0, 0, 2 * bytes) : moved.expect(2 * bytes, 2 * bytes, 0);
  }
  {
    const auto from_the_host = Kokkos::create_mirror_view(x1);
    count_on(semcache::on(1), x1, 7);
    const Moved moved;
    Kokkos::deep_copy(from_the_host, x1);
    double total = 0;
    for (int i = 0; i < n; ++i) total += from_the_host(i);
    EXPECT_EQ(total, sum_of_count(7));
    moved.expect(0, bytes, 0);
  }
}

DEVICES_TEST(AKernelReachesAnotherDevicesArrayOrIsRefused) {
  const Vector x0("x0", n), x1 = vector_on(1, "x1");
  count_on(Exec(), x0, 1);
  count_on(semcache::on(1), x1, 2);
  const Moved moved;
  if (linked()) {
    add_on(semcache::on(1), x1, x0);
    EXPECT_EQ(moved.by_peers(), 1u);
    EXPECT_EQ(sum_on(Exec(), x1), sum_of_count(3, 2));
    EXPECT_EQ(moved.by_peers(), 2u);
    EXPECT_EQ(moved.between() + moved.d2h() + moved.h2d(), 0u);
  } else {
    EXPECT_THROW(add_on(semcache::on(1), x1, x0), semcache::UsageError);
    try {
      add_on(semcache::on(1), x1, x0);
    } catch (const semcache::UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("'x0' on device 0"), std::string::npos) << e.what();
    }
    EXPECT_EQ(moved.launches(), 0u);
    moved.expect(0, 0, 0);
    EXPECT_EQ(sum_on(semcache::on(1), x1), sum_of_count(2));
  }
}

DEVICES_TEST(FillsWithoutAnInstanceNeedNoPeer) {
  const Vector x = vector_on(1, "x");
  const Matrix m(Kokkos::view_alloc(Space(1), "m"), 64, 32);
  const Moved moved;
  Kokkos::deep_copy(x, 3.0);
  const auto row = Kokkos::subview(m, 5, Kokkos::ALL);
  Kokkos::deep_copy(row, 4.0);                                                  // strided: a kernel
  Kokkos::deep_copy(Kokkos::subview(m, Kokkos::pair<int, int>(8, 12), Kokkos::ALL), 6.0);  // likewise, two-dimensional
  EXPECT_EQ(sum_on(semcache::on(1), x), 3.0 * n);
  Kokkos::deep_copy(semcache::on(1), x, 0.0);
  EXPECT_EQ(sum_on(semcache::on(1), x), 0.0);
  moved.expect(0, 0, 0);
  const auto h = on_host(m);
  EXPECT_EQ(h(5, 31), 4.0);
  EXPECT_EQ(h(8, 0) + h(11, 31), 12.0);
  EXPECT_EQ(h(12, 31) + h(4, 0), 0.0);
  EXPECT_EQ(moved.by_peers(), 0u);
}

DEVICES_TEST(CopiesOfPartsNeedNoPeer) {
  const Matrix m0("m0", 64, 32), m1(Kokkos::view_alloc(Space(1), "m1"), 64, 32), m2(Kokkos::view_alloc(Space(1), "m2"), 64, 32);
  const auto part = [](const Matrix& m) { return Kokkos::subview(m, Kokkos::pair<int, int>(8, 40), Kokkos::ALL); };
  constexpr std::uint64_t part_bytes = 32 * 32 * sizeof(double);
  auto h = Kokkos::create_mirror_view(m0);
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 32; ++j) h(i, j) = i + 100 * j;
  }
  Kokkos::deep_copy(m0, h);
  Kokkos::parallel_for(
      "use", Kokkos::RangePolicy<Exec>(0, 1), KOKKOS_LAMBDA(int) { m0(0, 0) += 1; });

  const Moved moved;
  Kokkos::deep_copy(part(m1), part(m0));  // between devices
  Kokkos::deep_copy(part(m2), part(m1));  // on device 1
  Kokkos::parallel_for(
      "use", Kokkos::RangePolicy<Exec>(semcache::on(1), 0, 1), KOKKOS_LAMBDA(int) { m2(0, 0) += 1; });
  moved.expect_between(part_bytes);

  const auto all = on_host(m2);
  EXPECT_EQ(all(8, 0), 8.0);
  EXPECT_EQ(all(39, 31), 39.0 + 3100);
  EXPECT_EQ(all(7, 1) + all(40, 31), 0.0);

  auto row = Kokkos::subview(m1, 9, Kokkos::ALL);  // a row to the host, and from it, by packing on the device
  const Kokkos::View<double*, Kokkos::HostSpace> row_host("row", 32);
  Kokkos::deep_copy(row_host, row);
  EXPECT_EQ(row_host(31), 9.0 + 3100);
  row_host(31) = -1;
  Kokkos::deep_copy(row, row_host);
  EXPECT_EQ(on_host(m1)(9, 31), -1.0);
  EXPECT_EQ(moved.by_peers(), 0u);
}

DEVICES_TEST(ResizeKeepsTheDevice) {
  Vector x = vector_on(1, "x");
  Matrix m(Kokkos::view_alloc(Space(1), "m"), 8, 8);
  count_on(semcache::on(1), x, 1);
  Kokkos::deep_copy(m, 2.0);
  const Moved moved;
  Kokkos::resize(x, 2 * n);
  EXPECT_EQ(device_of(x), 1u);
  EXPECT_EQ(sum_on(semcache::on(1), x), sum_of_count(1));
  Kokkos::resize(x, std::size_t{n});
  Kokkos::resize(Kokkos::WithoutInitializing, x, n / 2);
  EXPECT_EQ(device_of(x), 1u);
  EXPECT_EQ(sum_on(semcache::on(1), x), sum_of_count(1, 1, n / 2));
  Kokkos::resize(m, 16, 4);
  EXPECT_EQ(device_of(m), 1u);
  Kokkos::resize(m, Left(16, 16));
  EXPECT_EQ(device_of(m), 1u);
  Kokkos::realloc(x, n);
  EXPECT_EQ(device_of(x), 1u);
  EXPECT_EQ(sum_on(semcache::on(1), x), 0.0);
  Kokkos::realloc(m, Left(4, 4));
  EXPECT_EQ(device_of(m), 1u);
  moved.expect(0, 0, 0);

  Vector none;
  Kokkos::resize(none, 10);
  EXPECT_EQ(device_of(none), 0u);
#if SEMCACHE_KOKKOS_ALLOCATES_WITH_INSTANCE
  Vector y("y", n);
  count_on(Exec(), y, 1);
  if (linked()) {
    Kokkos::resize(Kokkos::view_alloc(semcache::on(1)), y, 2 * n);  // by a kernel that reads the old array
    EXPECT_EQ(sum_on(semcache::on(1), y), sum_of_count(1));
  } else {
    EXPECT_THROW(Kokkos::resize(Kokkos::view_alloc(semcache::on(1)), y, 2 * n), semcache::UsageError);
    EXPECT_EQ(sum_on(Exec(), y), sum_of_count(1)) << "nothing changed";
    Kokkos::realloc(Kokkos::view_alloc(semcache::on(1)), y, 2 * n);
  }
  EXPECT_EQ(device_of(y), 1u);
  Kokkos::realloc(Kokkos::view_alloc(Exec(), Kokkos::WithoutInitializing), y, n);
  EXPECT_EQ(device_of(y), 0u) << "the instance counts more";
#endif
}

/// An element that Kokkos constructs and destroys by kernels.
struct Element {
  KOKKOS_FUNCTION Element() : value(7) {}
  KOKKOS_FUNCTION ~Element() { value = 0; }
  KOKKOS_FUNCTION Element(const Element& other) : value(other.value) {}
  KOKKOS_FUNCTION Element& operator=(const Element& other) {
    value = other.value;
    return *this;
  }
  int value;
};

DEVICES_TEST(ElementsBeginAndEndWhereTheyAre) {
  const Moved moved;
  {
    const Kokkos::View<Element*, Left, Device> elements(Kokkos::view_alloc(Space(1), "elements"), 100);
    int total = 0;
    Kokkos::parallel_reduce(
        "elements", Kokkos::RangePolicy<Exec>(semcache::on(1), 0, 100),
        KOKKOS_LAMBDA(int i, int& t) { t += elements(i).value; }, total);
    EXPECT_EQ(total, 700);
  }
  EXPECT_EQ(moved.launches(), 3u);
  EXPECT_EQ(moved.by_peers(), 0u);
}

DEVICES_TEST(ADualViewHasItsDevice) {
  using Dual = semcache::DualView<double*, Left, Device>;
  Dual d(Kokkos::view_alloc(Space(1), "d"), n);
  EXPECT_EQ(device_of(d.view_device()), 1u);
  for (int i = 0; i < n; ++i) d.view_host()(i) = i;
  const Moved moved;
  const Vector x = d.view_device();
  Kokkos::parallel_for(
      "dual", Kokkos::RangePolicy<Exec>(semcache::on(1), 0, n), KOKKOS_LAMBDA(int i) { x(i) += 1; });
  moved.expect(bytes, 0, 0);
  double total = 0;
  for (int i = 0; i < n; ++i) total += d.view_host()(i);
  EXPECT_EQ(total, sum_of_count(1));
  moved.expect(bytes, bytes, 0);
  d.resize(2 * n);
  EXPECT_EQ(device_of(d.view_device()), 1u);
  EXPECT_EQ(d.view_host()(n - 1), 1.0 * n);
}

DEVICES_TEST(PartitionsAndCopiesStayOnTheDevice) {
  const Vector x = vector_on(1, "x");
  const Moved moved;
  int k = 0;
  for (const Exec& part : Kokkos::Experimental::partition_space(semcache::on(1), 1, 1)) {
    count_on(part, x, ++k);
    part.fence();
  }
  for (const Exec& part : Kokkos::Experimental::partition_space(semcache::on(1), std::vector<int>{1, 1})) {
    count_on(part, x, ++k);
    part.fence();
  }
  const Exec copy = semcache::on(1);
  Exec assigned;
  assigned = copy;
  add_on(assigned, x, x);
  Team policy;
  policy = Team(Team(assigned, 1, 1).set_chunk_size(1));
  const Exec again = policy.space();
  EXPECT_EQ(sum_on(again, x), 2 * sum_of_count(4));
  moved.expect(0, 0, 0);
#if KOKKOS_VERSION >= 40000
  EXPECT_TRUE(semcache::on(1) == copy);
  EXPECT_TRUE(semcache::on(0) == Exec());
  EXPECT_TRUE(semcache::on(1) != semcache::on(0));
#endif
}

DEVICES_TEST(ADeviceThatDoesNotExistIsRefused) {
  for (const auto& use : {+[] { (void)semcache::on(99); }, +[] { (void)vector_on(99, "x"); }}) {
    EXPECT_THROW(use(), semcache::UsageError);
    try {
      use();
    } catch (const semcache::UsageError& e) {
      const std::string text = e.what();
      const std::string count = std::to_string(semcache::device_count());
      for (const std::string& part : {std::string("device 99"), "uses " + count + " devices", std::string("SEMCACHE_DEVICES")}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
      }
    }
  }
}

DEVICES_TEST(ViewsMayEndWhileCopiesArePending) {
  semcache::kokkos::host_mirror_t<Vector> h;
  Vector y("y", n);
  {
    const Vector x = vector_on(1, "x");
    h = Kokkos::create_mirror_view(x);
    count_on(semcache::on(1), x, 3);
    Kokkos::deep_copy(h, x);
    Kokkos::deep_copy(y, x);
  }
  EXPECT_EQ(sum_on(Exec(), y), sum_of_count(3));
  EXPECT_EQ(h(n - 1), 3.0 + n - 1);
}

DEVICES_TEST(EachThreadDrivesADeviceOfItsOwn) {
  const bool one_thread = host_is_threads && !semcache::kokkos::native_is_device;  // it takes kernels from the main thread only
  const std::uint32_t devices = static_cast<std::uint32_t>(semcache::device_count());
  const Moved moved;
  const auto drive = [](std::uint32_t device) {
    const Exec exec = semcache::on(device);
    const Vector x = vector_on(device, "x"), y = vector_on(device, "y");
    auto h = Kokkos::create_mirror_view(y);
    for (int round = 0; round < 20; ++round) {
      count_on(exec, x, device + round);
      add_on(exec, y, x);
      Kokkos::deep_copy(exec, h, y);
      EXPECT_EQ(h(1) - h(0), 1.0 + round);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t device = 0; device < devices; ++device) {
    if (one_thread) {
      drive(device);
    } else {
      threads.emplace_back(drive, device);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(moved.between(), 0u);
  EXPECT_EQ(moved.by_peers(), 0u);
  EXPECT_EQ(moved.launches(), devices * 40u);
}

#ifndef KOKKOS_ENABLE_CUDA  // kernels and the host both construct the inner Views
/// The kernel finds its arrays through Views in memory, on whichever device they lie.
DEVICES_TEST(ViewsOfViewsWithArraysOnSeveralDevices) {
  for (const std::uint32_t device : {0u, 1u}) {
    // Without peer access a kernel reaches the arrays of its own device alone.
    const Vector a = vector_on(linked() ? 1 - device : device, "a"), b = vector_on(device, "b");
    const auto host = Kokkos::create_mirror_view(a);
    const Kokkos::View<Vector*, Device> views(Kokkos::view_alloc(Space(device), "views"), 2);
    semcache::access(views, semcache::Access::read_write);
    views.data()[0] = a;
    views.data()[1] = b;
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < n; ++i) host(i) = 10 * round;
      Kokkos::deep_copy(a, host);
      Kokkos::parallel_for(
          "add", Kokkos::RangePolicy<Exec>(semcache::on(device), 0, n), KOKKOS_LAMBDA(int i) { views(1)(i) += views(0)(i)++; });
      EXPECT_EQ(sum_on(semcache::on(device), b), 5.0 * round * (round + 1) * n);
      Kokkos::deep_copy(host, a);
      EXPECT_EQ(host(n - 1), 10 * round + 1);
    }
    semcache::access(views, semcache::Access::read_write);
    views.data()[0] = views.data()[1] = Vector();
  }
}
#endif

#ifdef KOKKOS_ENABLE_CUDA
namespace kokkos_several_devices {
__global__ void meet(volatile int* mine, const volatile int* theirs, double* data, int count) {
  *mine = 1;
  __threadfence_system();
  while (*theirs == 0) {
  }
  for (int i = 0; i < count; ++i) data[i] += 1;
}

/// One thread launches two kernels that wait for each other, as a library for collective communication does.
void launch_a_group(bool on_default_streams) {
  volatile int* flags = nullptr;
  ASSERT_EQ(cudaHostAlloc(&flags, 2 * sizeof(int), cudaHostAllocPortable | cudaHostAllocMapped), cudaSuccess);
  std::atomic<bool> over{false};
  std::atomic<bool> had_to_be_released{false};
  std::thread releaser([&] {  // a test that fails ends, too
    for (int i = 0; i < 1500 && !over; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    had_to_be_released = !over;
    flags[0] = flags[1] = 1;
  });
  cudaStream_t streams[2] = {nullptr, nullptr};
  Vector arrays[2] = {vector_on(0, "first", 1000), vector_on(1, "second", 1000)};
  auto mirror = Kokkos::create_mirror_view(arrays[1]);
  for (int round = 1; round <= 3 && !had_to_be_released; ++round) {
    for (std::uint32_t d = 0; d < 2; ++d) {
      EXPECT_EQ(cudaSetDevice(semcache::runtime::device_ordinal(d)), cudaSuccess);
      if (!on_default_streams && streams[d] == nullptr) EXPECT_EQ(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking), cudaSuccess);
      // The first round loads the kernel, for which the driver may wait.
      flags[0] = flags[1] = round == 1 ? 1 : 0;
      if (round == 1) meet<<<1, 1, 0, streams[d]>>>(const_cast<int*>(&flags[d]), const_cast<int*>(&flags[1 - d]), arrays[d].data(), 1000);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    if (round == 1) continue;
    for (int i = 0; i < 1000; ++i) mirror(i) = 10 * round + i;
    Kokkos::deep_copy(arrays[1], mirror);
    for (std::uint32_t d = 0; d < 2; ++d) {
      EXPECT_EQ(cudaSetDevice(semcache::runtime::device_ordinal(d)), cudaSuccess);
      meet<<<1, 1, 0, streams[d]>>>(const_cast<int*>(&flags[d]), const_cast<int*>(&flags[1 - d]), arrays[d].data(), 1000);
    }
    Kokkos::deep_copy(mirror, arrays[1]);
    EXPECT_EQ(mirror(999), 10.0 * round + 1000);
  }
  over = true;
  releaser.join();
  EXPECT_FALSE(had_to_be_released) << "the second launch has waited for the first kernel";
  EXPECT_EQ(cudaSetDevice(semcache::runtime::device_ordinal(0)), cudaSuccess);
  for (const cudaStream_t stream : streams) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
  cudaFreeHost(const_cast<int*>(flags));
}
}  // namespace kokkos_several_devices

DEVICES_TEST(KernelsThatWaitForEachOtherAreLaunchedByOneThread) {
  if (!semcache::kokkos::native_is_device) return;
  launch_a_group(false);
  launch_a_group(true);
}
#endif
