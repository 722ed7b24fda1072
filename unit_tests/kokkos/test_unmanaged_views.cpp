// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <type_traits>

// Unmanaged views look at memory that others own; beside each stands what the stock device does.
namespace kokkos_unmanaged {
using namespace test;

using StockDevice = Kokkos::DefaultHostExecutionSpace::device_type;
using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
using Atomic = Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::Atomic>;
using Random = Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::RandomAccess>;

template <class View>
using mirror_device = typename semcache::kokkos::host_mirror_t<View>::device_type;
using MirrorDevice = mirror_device<Vector>;

/// May a view be made of another one, and is it the same array then?
template <class To, class From>
constexpr bool converts = std::is_constructible<To, const From&>::value;

template <class To, class From>
void expect_same_array() {
  static_assert(converts<To, From>);
  double element = 0;
  const From from(&element, 1);
  To to(from);
  EXPECT_EQ(to.data(), &element);
  EXPECT_EQ(to.extent(0), 1u);
  to = To();
  to = from;
  EXPECT_EQ(to.data(), &element);
}

template <class D>
using Managed = Kokkos::View<double*, Left, D>;
template <class D, class Traits>
using Other = Kokkos::View<double*, Left, D, Traits>;
template <class D, class Traits>
using OtherConst = Kokkos::View<const double*, Left, D, Traits>;

/// All ways from one kind of view to another within a device, as a sum of bits that two devices must agree on.
template <class D>
constexpr unsigned conversions() {
  return (converts<Managed<D>, Other<D, Unmanaged>> << 0) | (converts<Managed<D>, Other<D, Atomic>> << 1) |
         (converts<Other<D, Unmanaged>, Managed<D>> << 2) | (converts<Other<D, Unmanaged>, Other<D, Atomic>> << 3) |
         (converts<Other<D, Atomic>, Managed<D>> << 4) | (converts<Other<D, Atomic>, Other<D, Unmanaged>> << 5) |
         (converts<OtherConst<D, Random>, Managed<D>> << 6) |
         (converts<OtherConst<D, Random>, Other<D, Unmanaged>> << 7) |
         (converts<Other<D, Unmanaged>, OtherConst<D, Unmanaged>> << 8) |
         (converts<Other<D, Unmanaged>, Kokkos::View<float*, Left, D, Unmanaged>> << 9);
}
static_assert(conversions<Device>() == conversions<StockDevice>());
static_assert(conversions<MirrorDevice>() == conversions<StockDevice>());

static_assert(std::is_same<Other<Device, Unmanaged>::pointer_type, double*>::value, "data() is a pointer");
static_assert(std::is_same<Other<Device, Atomic>::pointer_type, double*>::value, "data() is a pointer");
}  // namespace kokkos_unmanaged
using namespace kokkos_unmanaged;

KOKKOS_TEST(KokkosUnmanaged, OwnsNothing) {
  Vector a("a", 10);
  const Managed<StockDevice> stock("a", 10);
  const Other<Device, Unmanaged> unmanaged = a;
  const Other<Device, Atomic> atomic = a;
  const OtherConst<Device, Random> random = a;
  const auto part = Kokkos::subview(unmanaged, Kokkos::make_pair(2, 5));
  EXPECT_EQ(a.use_count(), 1);
  const Other<StockDevice, Unmanaged> stock_unmanaged = stock;
  EXPECT_EQ(unmanaged.use_count(), stock_unmanaged.use_count());
  EXPECT_EQ(unmanaged.label(), stock_unmanaged.label());
  EXPECT_EQ(part.data(), a.data() + 2);
  const void* const address = a.data();
  EXPECT_TRUE(semcache::is_tracked(address));
  a = Vector();
  EXPECT_FALSE(semcache::is_tracked(address)) << "an unmanaged view keeps the array";
  EXPECT_EQ(static_cast<const void*>(atomic.data()), address);
  EXPECT_EQ(static_cast<const void*>(random.data()), address);
}

KOKKOS_TEST(KokkosUnmanaged, AMirrorIsNotOwnedEither) {
  const Vector a("a", 10);
  auto mirror = Kokkos::create_mirror_view(a);
  const Other<MirrorDevice, Unmanaged> unmanaged = mirror;
  const Other<MirrorDevice, Atomic> atomic = mirror;
  EXPECT_EQ(mirror.use_count(), 1);
  EXPECT_EQ(unmanaged.data(), mirror.data());
  EXPECT_EQ(atomic.data(), mirror.data());
}

KOKKOS_TEST(KokkosUnmanaged, ConvertsBetweenSpaces) {
  using Host = Kokkos::HostSpace;
  expect_same_array<Other<Host, Unmanaged>, Other<MirrorDevice, Unmanaged>>();
  expect_same_array<Other<Host, Unmanaged>, Managed<MirrorDevice>>();
  expect_same_array<Managed<Host>, Other<MirrorDevice, Unmanaged>>();
  expect_same_array<Other<Host, Atomic>, Other<MirrorDevice, Atomic>>();
#if SEMCACHE_KOKKOS_MDSPAN_VIEW  // the other implementation finds that out within the constructor
  static_assert(!converts<Other<MirrorDevice, Unmanaged>, Other<Host, Unmanaged>>);
  static_assert(!converts<Other<Device, Unmanaged>, Other<Host, Unmanaged>>);
  static_assert(!converts<Other<Host, Unmanaged>, Other<Device, Unmanaged>>);
#endif
  using Anonymous = Kokkos::Device<Exec, Kokkos::AnonymousSpace>;
  expect_same_array<Other<Anonymous, Unmanaged>, Other<Device, Unmanaged>>();
  expect_same_array<Other<Device, Unmanaged>, Other<Anonymous, Unmanaged>>();
  expect_same_array<Other<Anonymous, Unmanaged>, Managed<Device>>();
}

KOKKOS_STOCK_TEST(KokkosUnmanaged, KernelsCaptureThemAsArrays) {
  Vector a("a", 10);
  const Kokkos::View<double**, Left, Device, Unmanaged> rows(a.data(), 5, 2);
  const auto column = Kokkos::subview(rows, Kokkos::ALL, 1);
  const Other<Device, Atomic> atomic = a;
  const Kokkos::View<double, Device, Unmanaged> one(a.data() + 9);
  const auto mirror = Kokkos::create_mirror_view(a);
  for (int i = 0; i < 10; ++i) mirror(i) = i;
  Kokkos::deep_copy(a, mirror);
  Kokkos::parallel_for(
      "column", Range(0, 4), KOKKOS_LAMBDA(int i) { column(i) += 10; });
  Kokkos::parallel_for(
      "atomic", Range(0, 10), KOKKOS_LAMBDA(int) { atomic(0) += 1; });
  Kokkos::parallel_for(
      "one", Range(0, 1), KOKKOS_LAMBDA(int) { one() = -1; });
  Kokkos::deep_copy(mirror, a);
  EXPECT_EQ(mirror(0), 10);
  EXPECT_EQ(mirror(4), 4);
  EXPECT_EQ(mirror(5), 15);
  EXPECT_EQ(mirror(9), -1);
}
