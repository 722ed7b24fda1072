// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_Sort.hpp>

#include <array>
#include <new>

// Elements that hold Views: what their constructors, destructors and copies do to other arrays.
namespace kokkos_elements {
using namespace test;

constexpr int n = 8;
using Flags = Kokkos::View<int*, Device>;
using FlagsOf = Kokkos::View<int*, Device, Kokkos::MemoryUnmanaged>;

/// Has a flag elsewhere, which is up while it lives.
struct Flagged {
  FlagsOf flags;
  int index = -1;
  KOKKOS_FUNCTION Flagged() {}
  KOKKOS_FUNCTION Flagged(const FlagsOf& f, int i) : flags(f), index(i) { flags(index) += 1; }
  KOKKOS_FUNCTION Flagged(const Flagged& other) : flags(other.flags), index(other.index) { raise(1); }
  KOKKOS_FUNCTION Flagged& operator=(const Flagged& other) {
    if (this == &other) return *this;
    raise(-1);
    flags = other.flags;
    index = other.index;
    raise(1);
    return *this;
  }
  KOKKOS_FUNCTION ~Flagged() { raise(-1); }
  KOKKOS_FUNCTION void raise(int by) const {
    if (index >= 0) flags(index) += by;
  }
};

/// Flags whose content is on the other side, whenever elements begin or end.
struct Watched {
  Flags device{"flags", n};
  semcache::kokkos::host_mirror_t<Flags> host = Kokkos::create_mirror_view(device);
  /// Adds on the host, where it is wanted from then on.
  void add_on_host(int by) const {
    Kokkos::deep_copy(host, device);
    for (int i = 0; i < n; ++i) host(i) += by;
    Kokkos::deep_copy(device, host);
  }
  void expect(int value) const {
    Kokkos::deep_copy(host, device);
    for (int i = 0; i < n; ++i) EXPECT_EQ(host(i), value) << i;
  }
};

void begin_elements(const Kokkos::View<Flagged*, Device>& elements, const Watched& flags) {
  const FlagsOf of(flags.device.data(), n);
  Kokkos::parallel_for("begin", Range(0, n), KOKKOS_LAMBDA(int i) { new (&elements(i)) Flagged(of, i); });
  Kokkos::fence();
}

/// Views of their own, which end with the elements.
struct Owner {
  Vector values;
};

}  // namespace kokkos_elements
using namespace kokkos_elements;

KOKKOS_TEST(KokkosElements, TheirDestructorsFindWhatTheirViewsHold) {
  const Watched flags;
  {
    Kokkos::View<Flagged*, Device> elements("elements", n);
    begin_elements(elements, flags);
    flags.expect(1);
    flags.add_on_host(10);
  }
  flags.expect(10);
}

KOKKOS_TEST(KokkosElements, TheirCopiesInKernelsToo) {
  const Watched flags;
  {
    Kokkos::View<Flagged*, Device> elements("elements", n), copies("copies", n);
    begin_elements(elements, flags);
    flags.add_on_host(10);
    Kokkos::parallel_for("copy", Range(0, n), KOKKOS_LAMBDA(int i) { copies(i) = elements(i); });
    Kokkos::fence();
    flags.expect(12);
    flags.add_on_host(10);
  }
  flags.expect(20);
}

/// Whoever makes a view of such elements moves no other array: there is nothing in them yet.
KOKKOS_TEST(KokkosElements, TheirConstructorsNeedNothingElse) {
  const Watched flags;
  flags.add_on_host(1);
  Kokkos::fence();
  const Since since;
  auto* elements = new Kokkos::View<Flagged*, Device>("elements", n);
  EXPECT_EQ(since.unknown(), 0u) << unknown_names();
  EXPECT_EQ(since.h2d(), 0u);
  delete elements;
  EXPECT_EQ(since.unknown(), 1u) << "any element may hold any view now";
}

KOKKOS_TEST(KokkosElements, TheirDestructorsWhereTheViewIsResized) {
  const Watched flags;
  {
    Kokkos::View<Flagged**, Device> elements("elements", n, 1);
    const FlagsOf of(flags.device.data(), n);
    Kokkos::parallel_for("begin", Range(0, n), KOKKOS_LAMBDA(int i) { new (&elements(i, 0)) Flagged(of, i); });
    Kokkos::fence();
    flags.add_on_host(10);
    Kokkos::resize(elements, n, 3);  // element by element
    flags.expect(11);
    flags.add_on_host(10);
  }
  flags.expect(20);
}

#ifndef KOKKOS_ENABLE_CUDA
/// The last owner of an array may be an element: it is freed in the middle of a launch that uses all arrays.
KOKKOS_TEST(KokkosElements, ThatOwnTheirViewsFreeThem) {
  const Watched flags;
  const auto before = semcache::statistics().live_device_bytes;
  {
    Kokkos::View<Owner*, Device> owners("owners", n);
    Kokkos::parallel_for("own", Range(0, n), KOKKOS_LAMBDA(int i) { new (&owners(i)) Owner; });
    Kokkos::fence();
    std::vector<Vector> arrays;
    for (int i = 0; i < n; ++i) arrays.emplace_back("owned", 100);
    semcache::access(owners, semcache::Access::read_write);
    for (int i = 0; i < n; ++i) owners.data()[i].values = arrays[i];
    arrays.clear();
    flags.add_on_host(1);
  }
  EXPECT_EQ(semcache::statistics().live_device_bytes, before);
  flags.expect(1);
}

/// A View of Views, as one writes it.
KOKKOS_TEST(KokkosElements, ViewsOfViews) {
  const auto before = semcache::statistics().live_device_bytes;
  {
    const Vector a("a", n), b("b", n);
    const auto host = Kokkos::create_mirror_view(a);
    Kokkos::View<Vector*, Device> views("views", 2);
    semcache::access(views, semcache::Access::read_write);
    views.data()[0] = a;
    views.data()[1] = b;
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < n; ++i) host(i) = 10 * round;
      Kokkos::deep_copy(a, host);
      Kokkos::parallel_for("add", Range(0, n), KOKKOS_LAMBDA(int i) { views(1)(i) += views(0)(i); });
      Kokkos::deep_copy(host, b);
      EXPECT_EQ(host(n - 1), 5 * round * (round + 1));
    }
  }
  EXPECT_EQ(semcache::statistics().live_device_bytes, before);
}
#endif

#ifndef KOKKOS_ENABLE_CUDA
// What no type tells, because there is no handle: bare pointers to elements, and elements that are bytes to the compiler.
namespace kokkos_elements {

/// Copied as bytes, but leads to an array.
struct Cell {
  double* values;
};

/// Kokkos has Views of its own for Kokkos::Array itself.
struct Listed {
  Kokkos::Array<double*, 2> list;
};

struct ThroughAPointer {
  Vector* views;
  void operator()(int i) const { views[1](i) += 1; }
};
struct ThroughBytes {
  Kokkos::View<char*, Device, Kokkos::MemoryUnmanaged> bytes;
  void operator()(int i) const { reinterpret_cast<Vector*>(bytes.data())[1](i) += 1; }
};
template <class Elements>
struct ThroughElements {
  Elements elements;
  void operator()(int i) const { values(elements(0))[i] += 1; }
  static double* values(const Cell& cell) { return cell.values; }
  static double* values(const std::array<double*, 2>& list) { return list[1]; }
  static double* values(const Listed& list) { return list.list[1]; }
};

/// `make` makes a functor that adds 1 to x; the content that it must find is the host's.
template <class Make>
void expect_found(const Make& make) {
  const Vector x("x", n);
  const auto host = Kokkos::create_mirror_view(x);
  iota(x);
  const auto functor = make(x);
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < n; ++i) host(i) = 100 * round;
    Kokkos::deep_copy(x, host);
    Kokkos::parallel_for("add", Range(0, n), functor);
    Kokkos::deep_copy(host, x);
    ASSERT_EQ(host(n - 1), 100 * round + 1) << "round " << round;
  }
}
template <class Element>
void expect_found_in(const Element& (*fill)(Element&, const Vector&)) {
  Kokkos::View<Element*, Device> elements;
  expect_found([&](const Vector& x) {
    elements = Kokkos::View<Element*, Device>("elements", 1);
    semcache::access(elements, semcache::Access::read_write);
    fill(elements.data()[0], x);
    return ThroughElements<Kokkos::View<Element*, Device>>{elements};
  });
}

}  // namespace kokkos_elements
template <>
struct semcache::kokkos::HoldsHandles<Cell> : std::true_type {};
template <>
struct semcache::kokkos::HoldsHandles<Listed> : semcache::kokkos::HoldsHandles<decltype(Listed::list)> {};

/// The host has filled it; no kernel has captured it as a View of Views.
KOKKOS_TEST(KokkosElements, ViewsOfViewsByBarePointersAndAsBytes) {
  Kokkos::View<Vector*, Device> views("views", 2);
  const auto fill = [&](const Vector& x) {
    semcache::access(views, semcache::Access::read_write);
    views.data()[1] = x;
  };
  expect_found([&](const Vector& x) { return fill(x), ThroughAPointer{views.data()}; });
  views = Kokkos::View<Vector*, Device>("views", 2);
  expect_found([&](const Vector& x) {
    fill(x);
    return ThroughBytes{decltype(ThroughBytes::bytes)(reinterpret_cast<char*>(views.data()), 2 * sizeof(Vector))};
  });
  // An array of which one knows that it holds numbers, until a View says otherwise.
  const Kokkos::View<char*, Device> bytes("bytes", 2 * sizeof(Vector));
  Kokkos::parallel_for("bytes", Range(0, n), KOKKOS_LAMBDA(int i) { bytes(i) = 0; });
  Kokkos::deep_copy(bytes, char{0});
  const Kokkos::View<Vector*, Device, Kokkos::MemoryUnmanaged> in_bytes(reinterpret_cast<Vector*>(bytes.data()), 2);
  expect_found([&](const Vector& x) {
    semcache::access(bytes, semcache::Access::read_write);
    new (in_bytes.data() + 1) Vector(x);
    return ThroughBytes{bytes};
  });
  semcache::access(bytes, semcache::Access::read_write);
  in_bytes.data()[1] = Vector();
}

KOKKOS_TEST(KokkosElements, PointersInArraysAndInStructsThatSaySo) {
  expect_found_in<std::array<double*, 2>>([](auto& list, const Vector& x) -> const auto& { return list[1] = x.data(), list; });
  expect_found_in<Listed>([](Listed& listed, const Vector& x) -> const Listed& { return listed.list[1] = x.data(), listed; });
  expect_found_in<Cell>([](Cell& cell, const Vector& x) -> const Cell& { return cell.values = x.data(), cell; });
}

/// Kernels on the native space are noticed by the handle alone.
KOKKOS_TEST(KokkosElements, ViewsOfViewsOnTheNativeSpace) {
  const Kokkos::View<Vector*, Device> views("views", 1);
  const Vector x("x", n);
  const auto host = Kokkos::create_mirror_view(x);
  iota(x);
  semcache::access(views, semcache::Access::read_write);
  views.data()[0] = x;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < n; ++i) host(i) = 100 * round;
    Kokkos::deep_copy(x, host);
    Kokkos::parallel_for("add", Kokkos::RangePolicy<semcache::kokkos::NativeExec>(0, n),
                         KOKKOS_LAMBDA(int i) { views.data()[0].data()[i] += 1; });
    Kokkos::fence();
    Kokkos::deep_copy(host, x);
    ASSERT_EQ(host(n - 1), 100 * round + 1) << "round " << round;
  }
}

/// Pairs of numbers are no more than numbers.
KOKKOS_STOCK_TEST(KokkosElements, PairsOfNumbersLeadNowhere) {
  Kokkos::View<Kokkos::pair<int, double>*, Device> pairs("pairs", n);
  Kokkos::parallel_for("pairs", Range(0, n), KOKKOS_LAMBDA(int i) { pairs(i).first = i; });
  EXPECT_EQ(on_host(pairs)(n - 1).first, n - 1);
}
#endif
