// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "support.hpp"

#include <semcache/semcache.hpp>

#include <cmath>
#include <thread>
#include <vector>

// Calls on semcache::on(k), with operands on device k, stay there: nothing moves between devices, and the libraries' handles are that device's.
#if SEMCACHE_KERNELS_INSTANCES
namespace {
using namespace test;
using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, int>;

constexpr int n = 64;

template <class View>
View placed(std::uint32_t device, const std::string& label, int seed) {
  View v;
  if constexpr (View::rank == 1) v = View(Kokkos::view_alloc(semcache::Space(device), label), n);
  else v = View(Kokkos::view_alloc(semcache::Space(device), label), n, n);
  fill(v, seed);
  return v;
}
/// The elements, brought by a copy, so that no kernel of another device touches them.
template <class View>
Host copied(const View& v) {
  const auto mirror = Kokkos::create_mirror_view(v);
  Kokkos::deep_copy(mirror, v);
  const Host host("host", n, View::rank == 1 ? 1 : n);
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    for (std::size_t j = 0; j < host.extent(1); ++j) {
      if constexpr (View::rank == 1) host(i, j) = mirror(i);
      else host(i, j) = mirror(i, j);
    }
  }
  return host;
}
std::uint64_t between_devices() { return semcache::statistics().total.between_devices.bytes; }

/// A matrix with the entries i + 1 on the diagonal and 2 on its right.
Crs bidiagonal(std::uint32_t device) {
  const Kokkos::View<int*, Device> rows(Kokkos::view_alloc(semcache::Space(device), "rows"), n + 1);
  const Kokkos::View<int*, Device> columns(Kokkos::view_alloc(semcache::Space(device), "columns"), 2 * n - 1);
  const Vector values(Kokkos::view_alloc(semcache::Space(device), "values"), 2 * n - 1);
  const auto r = Kokkos::create_mirror_view(rows);
  const auto c = Kokkos::create_mirror_view(columns);
  const auto v = Kokkos::create_mirror_view(values);
  int count = 0;
  for (int i = 0; i < n; ++i) {
    r(i) = count;
    c(count) = i;
    v(count++) = i + 1;
    if (i + 1 < n) {
      c(count) = i + 1;
      v(count++) = 2;
    }
  }
  r(n) = count;
  Kokkos::deep_copy(rows, r);
  Kokkos::deep_copy(columns, c);
  Kokkos::deep_copy(values, v);
  return {"bidiagonal", n, n, count, values, rows, columns};
}
double expected_row(const Host& x, int i, std::size_t column) {
  return (i + 1) * x(i, column) + (i + 1 < n ? 2 * x(i + 1, column) : 0);
}

std::vector<std::uint32_t> all_devices() {
  const Vector first("first", 1);  // starts the runtime, which has no devices before
  EXPECT_GT(semcache::device_count(), 0);
  std::vector<std::uint32_t> devices;
  for (int k = 0; k < semcache::device_count(); ++k) devices.push_back(static_cast<std::uint32_t>(k));
  return devices;
}

void multiply_on(std::uint32_t device, int rounds) {
  const Matrix a = placed<Matrix>(device, "a", 1), b = placed<Matrix>(device, "b", 2), c = placed<Matrix>(device, "c", 3);
  for (int round = 0; round < rounds; ++round) KokkosBlas::gemm(semcache::on(device), "N", "N", 1.0, a, b, 0.0, c);
  const Host ha = copied(a), hb = copied(b), hc = copied(c);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < n; ++l) sum += ha(i, l) * hb(l, j);
      ASSERT_EQ(hc(i, j), sum) << "device " << device << " at " << i << ", " << j;
    }
  }
}

}  // namespace

KOKKOS_TEST(OnDevices, DenseProductsStay) {
  for (const std::uint32_t device : all_devices()) {
    if (device == 0) continue;  // the process's default instance, which uses all devices
    const std::uint64_t before = between_devices();
    multiply_on(device, 1);
    const RightMatrix r = placed<RightMatrix>(device, "right", 4);
    const Matrix a = placed<Matrix>(device, "a", 1), c = placed<Matrix>(device, "c", 3);
    const Vector x = placed<Vector>(device, "x", 5), y = placed<Vector>(device, "y", 6);
    const Host before_c = copied(c), before_y = copied(y);
    KokkosBlas::gemm(semcache::on(device), "N", "T", 2.0, a, r, 3.0, c);
    KokkosBlas::gemv(semcache::on(device), "T", 1.0, a, x, -1.0, y);
    const Host ha = copied(a), hr = copied(r), hc = copied(c), hx = copied(x), hy = copied(y);
    for (int i = 0; i < n; ++i) {
      double product = -before_y(i, 0);
      for (int l = 0; l < n; ++l) product += ha(l, i) * hx(l, 0);
      ASSERT_EQ(hy(i, 0), product) << "device " << device << " row " << i;
      double sum = 0;
      for (int l = 0; l < n; ++l) sum += ha(i, l) * hr(n - 1, l);
      ASSERT_EQ(hc(i, n - 1), 2 * sum + 3 * before_c(i, n - 1)) << "device " << device << " row " << i;
    }
    EXPECT_EQ(between_devices(), before) << "device " << device;
  }
}

KOKKOS_TEST(OnDevices, TriangularSystemsStay) {
  for (const std::uint32_t device : all_devices()) {
    if (device == 0) continue;
    const std::uint64_t before = between_devices();
    const Matrix a(Kokkos::view_alloc(semcache::Space(device), "a"), n, n), b = placed<Matrix>(device, "b", 2);
    const auto mirror = Kokkos::create_mirror_view(a);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) mirror(i, j) = i == j ? 2 : i == j + 1 ? 1 : 0;
    }
    Kokkos::deep_copy(a, mirror);
    const Host expected = copied(b);
    KokkosBlas::trmm(semcache::on(device), "L", "L", "N", "N", 1.0, a, b);
    KokkosBlas::trsm(semcache::on(device), "L", "L", "N", "N", 1.0, a, b);
    expect_equal(copied(b), expected, "device " + std::to_string(device));
    EXPECT_EQ(between_devices(), before);
  }
}

KOKKOS_TEST(OnDevices, VectorsStay) {
  for (const std::uint32_t device : all_devices()) {
    if (device == 0) continue;
    const std::uint64_t before = between_devices();
    const Vector x = placed<Vector>(device, "x", 1), y = placed<Vector>(device, "y", 2);
    const Host hx = copied(x), hy = copied(y);
    const auto exec = semcache::on(device);
    double dot = 0, square = 0;
    for (int i = 0; i < n; ++i) {
      const double sum = 2 * hx(i, 0) + 3 * hy(i, 0);
      dot += hx(i, 0) * 4 * sum;
      square += 16 * sum * sum;
    }
    KokkosBlas::axpby(exec, 2.0, x, 3.0, y);
    KokkosBlas::scal(exec, y, 4.0, y);
    EXPECT_EQ(KokkosBlas::dot(exec, x, y), dot) << "device " << device;
    EXPECT_NEAR(KokkosBlas::nrm2(exec, y), std::sqrt(square), 1e-12 * std::sqrt(square)) << "device " << device;
    EXPECT_EQ(devices_of(y), 1);
    EXPECT_EQ(between_devices(), before);
  }
}

KOKKOS_TEST(OnDevices, SparseProductsWithOneHandle) {
  KokkosSparse::SPMVHandle<Exec, Crs, Vector, Vector> handle;
  for (int round = 0; round < 2; ++round) {
    for (const std::uint32_t device : all_devices()) {
      const Crs a = bidiagonal(device);
      const Vector x = placed<Vector>(device, "x", 1), y = placed<Vector>(device, "y", 2);
      const std::uint64_t before = between_devices();
      for (int repeat = 0; repeat < 3; ++repeat) KokkosSparse::spmv(semcache::on(device), &handle, "N", 1.0, a, x, 0.0, y);
      const Host hx = copied(x), hy = copied(y);
      for (int i = 0; i < n; ++i) ASSERT_EQ(hy(i, 0), expected_row(hx, i, 0)) << "device " << device << " row " << i;
      if (device != 0) EXPECT_EQ(between_devices(), before) << "device " << device;
    }
  }
}

KOKKOS_TEST(OnDevices, MultivectorsStay) {
  for (const std::uint32_t device : all_devices()) {
    if (device == 0) continue;
    const Crs a = bidiagonal(device);
    const Matrix x = placed<Matrix>(device, "x", 1), y = placed<Matrix>(device, "y", 2);
    const std::uint64_t before = between_devices();
    KokkosSparse::spmv(semcache::on(device), "N", 1.0, a, x, 0.0, y);
    KokkosBlas::axpby(semcache::on(device), 1.0, x, 1.0, y);
    const Host hx = copied(x), hy = copied(y);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) ASSERT_EQ(hy(i, j), expected_row(hx, i, j) + hx(i, j)) << "device " << device << " at " << i << ", " << j;
    }
    EXPECT_EQ(between_devices(), before) << "device " << device;
  }
}

// Kokkos-Kernels has one handle, so calls of two threads on two devices come one after the other.
KOKKOS_TEST(OnDevices, ThreadsOnDevicesOfTheirOwn) {
  std::vector<std::thread> threads;
  for (const std::uint32_t device : all_devices()) threads.emplace_back([device] { multiply_on(device, 200); });
  for (std::thread& t : threads) t.join();
}
#endif
