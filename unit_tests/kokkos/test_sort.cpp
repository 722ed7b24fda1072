// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_Sort.hpp>

// Sorting by the ways that Kokkos takes for the native space.
namespace kokkos_sort {
using namespace test;

constexpr int n = 500;
using Strided = Kokkos::View<double*, Kokkos::LayoutStride, Device>;

struct Greater {
  KOKKOS_FUNCTION bool operator()(double a, double b) const { return a > b; }
};

/// Orders places by what stands there: an array that only the comparator holds.
struct ByKey {
  ConstVector keys;
  KOKKOS_FUNCTION bool operator()(int a, int b) const { return keys(a) < keys(b); }
};

/// A permutation of 0 .. n-1.
KOKKOS_FUNCTION inline int shuffled(int i) { return i * 7919 % n; }

template <class View>
void shuffle(const View& v) {
  Kokkos::parallel_for(
      "shuffle", Range(0, n), KOKKOS_LAMBDA(int i) { v(i) = shuffled(i); });
}

/// Every second element of a longer array.
inline Strided every_second(const Vector& all) { return Strided(all.data(), Kokkos::LayoutStride(n, 2)); }

template <class View>
Vector contiguous(const View& v) {
  Vector copy("copy", n);
  Kokkos::parallel_for(
      "copy", Range(0, n), KOKKOS_LAMBDA(int i) { copy(i) = v(i); });
  return copy;
}

template <class View>
void expect_ascending(const View& v) {
  const auto h = on_host(contiguous(v));
  for (int i = 0; i < n; ++i) ASSERT_EQ(h(i), i);
}
template <class View>
void expect_descending(const View& v) {
  const auto h = on_host(contiguous(v));
  for (int i = 0; i < n; ++i) ASSERT_EQ(h(i), n - 1 - i);
}

/// What a sort moved over the link: nothing where it runs on the device.
template <class Body>
void expect_on_the_device(const Body& body) {
  const Since since;
  body();
  EXPECT_EQ(since.link(), 0u);
  EXPECT_EQ(since.launches(), 1u);
  EXPECT_EQ(since.native(), 0u);
}
}  // namespace kokkos_sort
using namespace kokkos_sort;

KOKKOS_STOCK_TEST(KokkosSort, OfAView) {
  const Vector x("x", n);
  shuffle(x);
  Kokkos::sort(x);
  expect_ascending(x);
}

#if SEMCACHE_KOKKOS_SORT_DISPATCH
KOKKOS_STOCK_TEST(KokkosSort, IsOneLaunchOnTheDevice) {
  const Vector x("x", n);
  shuffle(x);
  expect_on_the_device([&] { Kokkos::sort(Exec(), x); });
  expect_ascending(x);
  expect_on_the_device([&] { Kokkos::sort(Exec(), x, Greater()); });
  expect_descending(x);
  expect_on_the_device([&] { Kokkos::sort(x); });
  expect_ascending(x);
  expect_on_the_device([&] { Kokkos::sort(x, Greater()); });
  expect_descending(x);
}

KOKKOS_STOCK_TEST(KokkosSort, OfAStridedView) {
  const Vector all("all", 2 * n);
  const Strided x = every_second(all);
  shuffle(x);
  expect_on_the_device([&] { Kokkos::sort(Exec(), x); });
  expect_ascending(x);
  expect_on_the_device([&] { Kokkos::sort(Exec(), x, Greater()); });
  expect_descending(x);
  EXPECT_EQ(sum(all), n * (n - 1) / 2.0) << "the elements between are not the view's";
}

KOKKOS_STOCK_TEST(KokkosSort, SeesWhatTheHostWroteAndTheHostSeesIt) {
  const Vector x("x", n);
  const auto h = Kokkos::create_mirror_view(x);
  for (int i = 0; i < n; ++i) h(i) = shuffled(i);
  Kokkos::deep_copy(x, h);
  Kokkos::sort(x);
  Kokkos::deep_copy(h, x);
  for (int i = 0; i < n; ++i) ASSERT_EQ(h(i), i);
}

KOKKOS_STOCK_TEST(KokkosSort, TheComparatorsViewsAreCaptured) {
  const Vector keys("keys", n);
  const Kokkos::View<int*, Left, Device> places("places", n);
  const auto h = Kokkos::create_mirror_view(keys);
  for (int i = 0; i < n; ++i) h(i) = shuffled(i);
  Kokkos::parallel_for(
      "places", Range(0, n), KOKKOS_LAMBDA(int i) { places(i) = i; });
  for (int round = 0; round < 3; ++round) {  // a remembered comparator, too
    for (int i = 0; i < n; ++i) h(i) = round % 2 == 0 ? shuffled(i) : n - shuffled(i);
    Kokkos::deep_copy(keys, h);  // the comparator alone brings it to the device
    Kokkos::sort(Exec(), places, ByKey{keys});
    const auto p = on_host(places);
    for (int i = 1; i < n; ++i) ASSERT_LT(h(p(i - 1)), h(p(i))) << "round " << round;
  }
}
#endif

#if SEMCACHE_KOKKOS_SORT_BY_KEY
namespace kokkos_sort {
template <class Keys, class Values>
void expect_sorted_by_key(const Keys& keys, const Values& values) {
  namespace KE = Kokkos::Experimental;
  shuffle(keys);
  Kokkos::parallel_for(
      "values", Range(0, n), KOKKOS_LAMBDA(int i) { values(i) = n - 1 - keys(i); });
  expect_on_the_device([&] { KE::sort_by_key(Exec(), keys, values); });
  expect_ascending(keys);
  expect_descending(values);
  expect_on_the_device([&] { KE::sort_by_key(Exec(), keys, values, Greater()); });
  expect_descending(keys);
  expect_ascending(values);
}
}  // namespace kokkos_sort

KOKKOS_STOCK_TEST(KokkosSort, ByKey) { expect_sorted_by_key(Vector("keys", n), Vector("values", n)); }
KOKKOS_STOCK_TEST(KokkosSort, ByStridedKeysAndValues) {
  const Vector keys("keys", 2 * n), values("values", 2 * n);
  expect_sorted_by_key(every_second(keys), Vector("values", n));
  expect_sorted_by_key(Vector("keys", n), every_second(values));
  expect_sorted_by_key(every_second(keys), every_second(values));
}
#endif

#if SEMCACHE_KOKKOS_SORT_DISPATCH && !defined(KOKKOS_ENABLE_CUDA)
// Elements that hold Views, whose content an order may ask for.
namespace kokkos_sort {

struct Row {
  Vector values;
  int number = -1;
  KOKKOS_FUNCTION bool operator<(const Row& other) const { return values(0) < other.values(0); }
};
struct Descending {
  KOKKOS_FUNCTION bool operator()(const Row& a, const Row& b) const { return b.values(0) < a.values(0); }
};
constexpr int rows = 20;

/// Rows whose values the host writes before each sort.
struct Rows {
  Rows() {
    semcache::access(device, semcache::Access::read_write);
    for (int r = 0; r < rows; ++r) {
      hosts.push_back(Kokkos::create_mirror_view(values.emplace_back("values", 3)));
      new (device.data() + r) Row{values[r], r};
    }
  }
  void give_values(int factor) const {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < 3; ++i) hosts[r](i) = r * factor % rows;
      Kokkos::deep_copy(values[r], hosts[r]);
    }
  }
  /// Every row still has its values, and their content rises or falls.
  void expect_sorted(bool rises) const {
    semcache::access(device, semcache::Access::read);
    for (int k = 0; k < rows; ++k) {
      const Row& row = device.data()[k];
      EXPECT_EQ(row.values.data(), values[row.number].data());
      EXPECT_EQ(hosts[row.number](0), rises ? k : rows - 1 - k);
    }
  }
  std::vector<Vector> values;
  std::vector<semcache::kokkos::host_mirror_t<Vector>> hosts;
  Kokkos::View<Row*, Device> device{"rows", rows};
};

}  // namespace kokkos_sort

KOKKOS_TEST(KokkosSort, OfElementsThatHoldViews) {
  const Rows rows;
  for (const int factor : {7, 3, 11}) {
    rows.give_values(factor);
    Kokkos::sort(Exec(), rows.device);
    rows.expect_sorted(true);
    rows.give_values(factor * factor);
    Kokkos::sort(Exec(), rows.device, Descending());
    rows.expect_sorted(false);
  }
}

#if SEMCACHE_KOKKOS_SORT_BY_KEY
KOKKOS_TEST(KokkosSort, ByKeyOfElementsThatHoldViews) {
  namespace KE = Kokkos::Experimental;
  const Rows rows;
  const Kokkos::View<int*, Left, Device> numbers("numbers", kokkos_sort::rows);
  const auto fill = [&] {
    Kokkos::parallel_for("numbers", Range(0, kokkos_sort::rows), KOKKOS_LAMBDA(int i) { numbers(i) = i; });
  };
  for (const int factor : {7, 3, 11}) {
    rows.give_values(factor);
    fill();
    KE::sort_by_key(Exec(), rows.device, numbers);
    rows.expect_sorted(true);
    semcache::access(rows.device, semcache::Access::read);
    const auto h = on_host(numbers);
    // The values: the numbers went with their rows, and back again.
    for (int k = 1; k < kokkos_sort::rows; ++k) EXPECT_NE(h(k), h(k - 1));
    fill();
    KE::sort_by_key(Exec(), numbers, rows.device, Greater());
    EXPECT_EQ(on_host(numbers)(0), kokkos_sort::rows - 1);
    rows.give_values(factor);
    KE::sort_by_key(Exec(), rows.device, numbers, Descending());
    rows.expect_sorted(false);
  }
}
#endif
#endif
