// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

namespace kokkos_views {
using namespace test;

// --- types ------------------------------------------------------------------------------------------------------------
template <class View>
using Mirror = semcache::kokkos::host_mirror_t<View>;
static_assert(std::is_same<Mirror<Vector>::memory_space, HostMirrorSpace>::value, "mirror of a device's view");
static_assert(std::is_same<Mirror<Kokkos::View<double*, Space>>::memory_space, HostMirrorSpace>::value,
              "mirror of a memory space's view");
static_assert(std::is_same<Mirror<Kokkos::View<double*, Exec>>::memory_space, HostMirrorSpace>::value,
              "mirror of an execution space's view");
static_assert(std::is_same<semcache::DualView<double*, Exec>::t_host::memory_space, HostMirrorSpace>::value,
              "a DualView of an execution space");
static_assert(std::is_same<Mirror<Mirror<Vector>>::memory_space, HostMirrorSpace>::value, "mirror of a mirror");
static_assert(std::is_same<Exec::memory_space, Space>::value, "the native space's memory space goes silently wrong");
static_assert(!Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space>::accessible, "host code may not touch device memory");
static_assert(!Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, Space>::accessible, "nor host kernels");
static_assert(Kokkos::SpaceAccessibility<Exec, Space>::accessible, "kernels may");
static_assert(!Kokkos::SpaceAccessibility<Exec, HostMirrorSpace>::accessible, "kernels may not touch mirrors");
static_assert(Kokkos::SpaceAccessibility<Kokkos::HostSpace, HostMirrorSpace>::accessible, "host code may");
static_assert(Kokkos::SpaceAccessibility<Kokkos::HostSpace, HostMirrorSpace>::assignable, "as CudaHostPinnedSpace");
static_assert(Kokkos::is_execution_space<Exec>::value && Kokkos::is_memory_space<Space>::value &&
                  Kokkos::is_memory_space<HostMirrorSpace>::value,
              "Kokkos' concepts");

struct NonTrivial {
  double value;
  KOKKOS_FUNCTION NonTrivial() : value(3) {}
  KOKKOS_FUNCTION NonTrivial(const NonTrivial& other) : value(other.value) {}
  KOKKOS_FUNCTION ~NonTrivial() {}
};

struct Wide {
  double values[16];
};

}  // namespace kokkos_views
using namespace kokkos_views;

KOKKOS_STOCK_TEST(KokkosView, KeepsItsLabelAndSoDoesItsMirror) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  EXPECT_EQ(a.label(), "a");
  EXPECT_EQ(h.label(), "a_mirror");
}

/// As programs have it that name Kokkos::DefaultExecutionSpace.
KOKKOS_TEST(KokkosView, NamedByTheExecutionSpaceAloneIsCoherentToo) {
  const Kokkos::View<double*, Exec> a("a", 1000);
  const auto h = Kokkos::create_mirror_view(a);
  const Since since;
  h(7) = 5;
  Kokkos::deep_copy(a, h);
  Kokkos::deep_copy(a, h);  // redundant
  EXPECT_EQ(since.h2d(), 0u) << "nothing has needed it yet";
  Kokkos::parallel_for("add", Range(0, 1000), KOKKOS_LAMBDA(int i) { a(i) += 1; });
  Kokkos::deep_copy(h, a);
  EXPECT_EQ(h(7), 6.0);
  EXPECT_LE(since.h2d(), 8000u);
}

KOKKOS_STOCK_TEST(KokkosView, StartsAtAMultipleOf512Bytes) {
  for (const int n : {1, 3, 63, 64, 1000}) {
    Vector a("a", n), b("b", n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 512, 0u) << n;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 512, 0u) << n;
  }
}

KOKKOS_STOCK_TEST(KokkosView, MirrorIsMemoryOfItsOwn) {
  Vector a("a", 1000);
  auto h = Kokkos::create_mirror_view(a);
  static_assert(std::is_same<decltype(h)::memory_space, HostMirrorSpace>::value, "");
  EXPECT_TRUE(h.data() + 1000 <= a.data() || a.data() + 1000 <= h.data());
  EXPECT_TRUE(semcache::is_tracked(a.data()));
  EXPECT_TRUE(semcache::is_tracked(h.data()));
}

KOKKOS_STOCK_TEST(KokkosView, MirrorStartsAtAPage) {
  for (const int n : {1, 3, 511, 512, 1000}) {
    Vector a("a", n);
    auto h = Kokkos::create_mirror_view(a);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(h.data()) % 4096, 0u) << n;
  }
}

KOKKOS_STOCK_TEST(KokkosView, IsZeroAfterDefaultInitialisation) {
  Vector a("a", 100);
  auto h = Kokkos::create_mirror_view(a);

  for (int i = 0; i < 100; ++i) EXPECT_EQ(h(i), 0.0);
  auto copy = on_host(a);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(copy(i), 0.0);
}

KOKKOS_STOCK_TEST(KokkosView, DefaultInitialisationMovesNothing) {
  const Since since;
  {
    Vector a("a", 10000);
    auto h = Kokkos::create_mirror_view(a);
  }
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(since.faults(), 0u);
  EXPECT_EQ(since.launches(), 0u);
}

KOKKOS_STOCK_TEST(KokkosView, ComplexIsZeroToo) {
  Kokkos::View<Kokkos::complex<double>*, Left, Device> a("a", 10);
  auto h = on_host(a);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(h(i), Kokkos::complex<double>());
}

KOKKOS_STOCK_TEST(KokkosView, MemoryIsReturned) {
  const auto before = semcache::statistics();
  {
    Vector a("a", 1000);
    auto h = Kokkos::create_mirror_view(a);
    EXPECT_EQ(semcache::statistics().live_device_bytes, before.live_device_bytes + 8000);
    EXPECT_EQ(semcache::statistics().live_host_bytes, before.live_host_bytes + 8000);
  }
  EXPECT_EQ(semcache::statistics().live_device_bytes, before.live_device_bytes);
  EXPECT_EQ(semcache::statistics().live_host_bytes, before.live_host_bytes);
}

KOKKOS_STOCK_TEST(KokkosView, OfSizeZero) {
  Vector a("empty", 0);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(a, h);
  Kokkos::deep_copy(h, a);
  Kokkos::deep_copy(a, 1.0);
  Kokkos::parallel_for("none", Range(0, 0), KOKKOS_LAMBDA(int i) { a(i) = 1; });
  EXPECT_EQ(a.label(), "empty");
  Kokkos::resize(a, 3);
  EXPECT_EQ(sum(a), 0.0);
}

KOKKOS_STOCK_TEST(KokkosView, OfRankZero) {
  Kokkos::View<double, Device> z("z");
  Kokkos::deep_copy(z, 4.0);
  double value = 0;
  Kokkos::deep_copy(value, z);
  EXPECT_EQ(value, 4.0);
}

// Elements that are not trivially copyable may hold views: such launches are unknown.
KOKKOS_TEST(KokkosView, OfNonTrivialElements) {
  Kokkos::View<NonTrivial*, Device> n("n", 4);
  double result = 0;
  Kokkos::parallel_reduce(
      "sum", Range(0, 4), KOKKOS_LAMBDA(int i, double& update) { update += n(i).value; }, result);
  EXPECT_EQ(result, 12.0);
}

KOKKOS_STOCK_TEST(KokkosView, MirrorOfNonTrivialElementsIsConstructedOnTheHost) {
  Kokkos::View<NonTrivial*, HostMirrorSpace> n("n", 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(n(i).value, 3.0);
}

KOKKOS_STOCK_TEST(KokkosView, MirrorMayBeAssignedToHostSpace) {
  Vector a("a", 10);
  auto h = Kokkos::create_mirror_view(a);
  h(3) = 3;
  Kokkos::View<double*, Left, Kokkos::HostSpace> plain = h;
  EXPECT_EQ(plain.data(), h.data());
  EXPECT_EQ(plain(3), 3.0);
}

KOKKOS_STOCK_TEST(KokkosView, ResizeChangesTheExtent) {
  Vector a("a", 100);
  Kokkos::resize(a, 200);
  EXPECT_EQ(a.extent(0), 200u);
}

KOKKOS_STOCK_TEST(KokkosView, ResizeKeepsTheLabel) {
  Vector a("a", 100);
  Kokkos::resize(a, 200);
  EXPECT_EQ(a.label(), "a");
}

KOKKOS_STOCK_TEST(KokkosView, ResizeKeepsTheContent) {
  Vector a("a", 100);
  iota(a);
  Kokkos::resize(a, 200);
  auto h = on_host(a);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(h(i), i);
}

KOKKOS_STOCK_TEST(KokkosView, ResizeAddsZeros) {
  Vector a("a", 100);
  iota(a);
  Kokkos::resize(a, 200);
  auto h = on_host(a);
  for (int i = 100; i < 200; ++i) ASSERT_EQ(h(i), 0.0);
}

KOKKOS_STOCK_TEST(KokkosView, ReallocChangesTheExtent) {
  Vector a("a", 100);
  Kokkos::realloc(a, 10);
  EXPECT_EQ(a.extent(0), 10u);
}

KOKKOS_STOCK_TEST(KokkosView, ReallocForgetsTheContent) {
  Vector a("a", 100);
  iota(a);
  Kokkos::realloc(a, 10);
  EXPECT_EQ(sum(a), 0.0);
}

KOKKOS_STOCK_TEST(KokkosView, ResizeOfMirror) {
  Vector a("a", 10);
  auto h = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 10; ++i) h(i) = i;
  Kokkos::resize(h, 20);
  EXPECT_EQ(h(9), 9.0);
  EXPECT_EQ(h(19), 0.0);
}

KOKKOS_STOCK_TEST(KokkosView, MallocStartsAtAMultipleOf512Bytes) {
  void* p = Kokkos::kokkos_malloc<Space>("odd", 1001);
  void* q = Kokkos::kokkos_malloc<Space>("next", 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 512, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(q) % 512, 0u);
  Kokkos::kokkos_free<Space>(q);
  Kokkos::kokkos_free<Space>(p);
}

KOKKOS_STOCK_TEST(KokkosView, MallocReallocFree) {
  void* p = Kokkos::kokkos_malloc<Space>("raw", 1000);
  EXPECT_TRUE(semcache::is_tracked(p));
  {
    Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged> v(static_cast<double*>(p), 125);
    Kokkos::deep_copy(v, 2.5);
  }
  p = Kokkos::kokkos_realloc<Space>(p, 5000);
  Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged> v(static_cast<double*>(p), 125);
  EXPECT_EQ(on_host(v)(124), 2.5);
  Kokkos::kokkos_free<Space>(p);
  EXPECT_FALSE(semcache::is_tracked(p));
}

KOKKOS_STOCK_TEST(KokkosView, AllocateWithoutRecord) {
  void* p = Space().allocate("raw", 128);
  EXPECT_TRUE(semcache::is_tracked(static_cast<char*>(p) + 127));
  Space().deallocate("raw", p, 128);
  void* q = HostMirrorSpace().allocate(128);
  static_cast<char*>(q)[127] = 1;
  HostMirrorSpace().deallocate(q, 128);
}

KOKKOS_STOCK_TEST(KokkosView, WithoutInitializingThenFilled) {
  Vector w(Kokkos::view_alloc(Kokkos::WithoutInitializing, "w"), 5);
  Kokkos::deep_copy(w, 1.5);
  EXPECT_EQ(sum(w), 7.5);
}

KOKKOS_STOCK_TEST(KokkosView, MirrorViewAndCopyInHostSpace) {
  Vector w("w", 5);
  iota(w, 1.5);
  auto plain = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), w);
  static_assert(std::is_same<decltype(plain)::memory_space, Kokkos::HostSpace>::value, "");
  EXPECT_EQ(plain(4), 5.5);
}

KOKKOS_STOCK_TEST(KokkosView, MirrorViewAndCopyInTheMirrorSpace) {
  Vector w("w", 5);
  iota(w, 1.5);
  auto mirror = Kokkos::create_mirror_view_and_copy(HostMirrorSpace(), w);
  static_assert(std::is_same<decltype(mirror)::memory_space, HostMirrorSpace>::value, "");
  EXPECT_EQ(mirror(4), 5.5);
}

KOKKOS_STOCK_TEST(KokkosView, MirrorViewAndCopyToTheDevice) {
  Kokkos::View<double*, Left, Kokkos::HostSpace> plain("plain", 5);
  for (int i = 0; i < 5; ++i) plain(i) = 1.5 + i;
  auto device = Kokkos::create_mirror_view_and_copy(Space(), plain);
  static_assert(std::is_same<decltype(device)::memory_space, Space>::value, "");
  double last = 0;
  Kokkos::deep_copy(last, Kokkos::subview(device, 4));
  EXPECT_EQ(last, 5.5);
}

KOKKOS_STOCK_TEST(KokkosView, OfElementsAsWideAsAnAllocationHeader) {
  static_assert(sizeof(Wide) == 128, "the width that Kokkos copies headers with");
  Kokkos::View<Wide, Left, Device> a("a"), b("b");
  Kokkos::View<Wide, Left, Kokkos::HostSpace> h("h");
  for (int i = 0; i < 16; ++i) h().values[i] = i;
  Kokkos::deep_copy(a, h);
  Kokkos::deep_copy(b, a);
  Kokkos::View<Wide, Left, Kokkos::HostSpace> back("back");
  Kokkos::deep_copy(back, b);
  EXPECT_EQ(back().values[15], 15.0);
  EXPECT_EQ(a.label(), "a");
  EXPECT_EQ(b.label(), "b");
}

KOKKOS_STOCK_TEST(KokkosView, AnnouncedUseOfViewsWithGaps) {
  const Matrix a("a", 8, 100);
  const auto h = Kokkos::create_mirror_view(a);
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 100; ++c) h(r, c) = r * 100 + c;
  }
  Kokkos::deep_copy(a, h);
  for (const auto mode : {semcache::Access::read, semcache::Access::write, semcache::Access::overwrite}) {
    EXPECT_NO_THROW(semcache::access(Kokkos::subview(h, 7, Kokkos::ALL()), mode));
    EXPECT_NO_THROW(semcache::access(Kokkos::subview(h, std::make_pair(5, 8), std::make_pair(90, 100)), mode));
    EXPECT_NO_THROW(semcache::access(Kokkos::subview(a, 3, Kokkos::ALL()), mode));
    EXPECT_NO_THROW(semcache::settle(Kokkos::subview(h, 2, Kokkos::ALL())));
  }
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 100; ++c) ASSERT_EQ(h(r, c), r * 100 + c);
  }
}

KOKKOS_STOCK_TEST(KokkosView, AMirrorThatWillBeReadIsPrefetched) {
  Vector a("a", 5000);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(h, a);
  semcache::prefetch(h);
  EXPECT_EQ(h(0), 0.0);
  EXPECT_EQ(h(4999), 4999.0);
  semcache::prefetch(Kokkos::subview(h, std::make_pair(10, 20)));
  h(10) = -1;
  semcache::prefetch(h);
  EXPECT_EQ(h(10), -1.0);

  Kokkos::View<double*, Kokkos::HostSpace> plain("plain", 3);
  EXPECT_NO_THROW(semcache::prefetch(plain));
  EXPECT_THROW(semcache::prefetch(a), semcache::UsageError);
}

KOKKOS_STOCK_TEST(KokkosView, AnnouncedUse) {
  Vector a("a", 100);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(h, a);

  semcache::access(h, semcache::Access::read);
  semcache::settle(h);
  semcache::access(a, semcache::Access::read_write);

  EXPECT_EQ(h(99), 99.0);
  Kokkos::View<double*, Kokkos::HostSpace> plain("plain", 3);
  EXPECT_NO_THROW(semcache::access(plain, semcache::Access::write));
  EXPECT_THROW(semcache::access(plain.data(), 24, semcache::Access::write), semcache::UsageError);
}
