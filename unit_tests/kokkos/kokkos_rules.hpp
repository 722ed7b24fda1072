// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

/// Programs that are right with Kokkos::DualView, for DualViews whose host accesses nobody notices: the host writes first,
/// and says so behind it. @param make  (label, size) to a semcache::DualView<double*, semcache::Device>
namespace kokkos_rules {

template <class View>
struct Sum {
  View v;
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += v(i); }
};
template <class View>
double device_sum(const View& v) {
  double sum = 0;
  Kokkos::parallel_reduce(Kokkos::RangePolicy<semcache::Exec>(0, v.extent(0)), Sum<View>{v}, sum);
  return sum;
}
template <class View>
struct Set {
  View v;
  double x;
  KOKKOS_FUNCTION void operator()(int i) const { v(i) = x; }
};
template <class View>
void device_writes(const View& v, double x) {
  Kokkos::parallel_for(Kokkos::RangePolicy<semcache::Exec>(0, v.extent(0)), Set<View>{v, x});
}
template <class View>
double host_sum(const View& h) {
  semcache::access(h, semcache::Access::read);
  double sum = 0;
  for (std::size_t i = 0; i < h.extent(0); ++i) sum += h(i);
  return sum;
}
template <class View>
void host_writes(const View& h, double x) {
  std::fill_n(h.data(), h.span(), x);
}

template <class Make>
void expect_copies_at_the_call(Make&& make) {
  constexpr int n = 1000;
  const Kokkos::View<double*, Kokkos::LayoutLeft, semcache::Device> x("x", n);
  {
    auto d = make("into the host side", n);
    Kokkos::deep_copy(x, 6.0);
    Kokkos::deep_copy(d.view_host(), x);
    d.modify_host();
    d.sync_device();
    EXPECT_EQ(device_sum(d.view_device()), 6.0 * n);
  }
  {
    auto d = make("from the host side", n);
    host_writes(d.view_host(), 1);
    d.modify_host();
    Kokkos::deep_copy(x, d.view_host());
    host_writes(d.view_host(), 2);
    d.modify_host();
    EXPECT_EQ(device_sum(x), n);
  }
  {
    auto d = make("from the device side", n);
    host_writes(d.view_host(), 3);
    d.modify_host();
    d.sync_device();
    Kokkos::deep_copy(x, d.view_device());
    host_writes(d.view_host(), 4);
    d.modify_host();
    EXPECT_EQ(device_sum(x), 3.0 * n);
  }
  {
    auto d = make("pipelined", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    d.sync_device();
    host_writes(d.view_host(), 7);  // the next input
    EXPECT_EQ(device_sum(d.view_device()), 5.0 * n);
    d.modify_host();
    d.sync_device();
    EXPECT_EQ(device_sum(d.view_device()), 7.0 * n);
  }
}

/// What was copied on from an array's value stays what it was, although the host side that has the value, too, is written
/// without a word.
template <class Make>
void expect_nobody_relies_on_the_host_side(Make&& make) {
  constexpr int n = 1000;
  using View = Kokkos::View<double*, Kokkos::LayoutLeft, semcache::Device>;
  const View x("x", n), y("y", n);
  const auto m = Kokkos::create_mirror(x);
  {
    auto d = make("copied into", n);
    device_writes(x, 5);
    Kokkos::deep_copy(m, x);
    Kokkos::deep_copy(d.view_host(), x);
    device_writes(x, 7);
    host_writes(d.view_host(), 9);
    EXPECT_EQ(host_sum(m), 5.0 * n);
  }
  {
    auto d = make("copied on", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    Kokkos::deep_copy(x, d.view_host());
    Kokkos::deep_copy(m, x);
    host_writes(d.view_host(), 9);
    EXPECT_EQ(host_sum(m), 5.0 * n);
  }
  {
    auto d = make("copied on and overwritten", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    Kokkos::deep_copy(x, d.view_host());
    Kokkos::deep_copy(y, x);
    device_writes(x, 1);
    host_writes(d.view_host(), 9);
    d.modify_host();
    EXPECT_EQ(device_sum(y), 5.0 * n);
  }
  {
    auto d = make("synchronised", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    d.sync_device();
    Kokkos::deep_copy(m, d.view_device());
    host_writes(d.view_host(), 9);
    EXPECT_EQ(host_sum(m), 5.0 * n);
    EXPECT_EQ(device_sum(d.view_device()), 5.0 * n);
  }
  {
    auto d = make("passed on by a mirror", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    Kokkos::deep_copy(m, d.view_host());
    host_writes(d.view_host(), 9);
    Kokkos::deep_copy(x, m);
    EXPECT_EQ(device_sum(x), 5.0 * n);
  }
}

/// One announcement, many contents: a copy takes the bytes that are there.
template <class Make>
void expect_copies_of_what_the_host_holds(Make&& make) {
  constexpr int n = 1000;
  const Kokkos::View<double*, Kokkos::LayoutLeft, semcache::Device> x("x", n), y("y", n);
  auto d = make("host", n);
  d.modify_host();
  for (int round = 1; round <= 4; ++round) {
    host_writes(d.view_host(), round);
    Kokkos::deep_copy(x, d.view_host());
    EXPECT_EQ(device_sum(x), double(round) * n);
    if (round % 2 == 0) device_writes(x, -1);
    host_writes(d.view_host(), -round);
    Kokkos::deep_copy(y, d.view_host());
    EXPECT_EQ(device_sum(y), -double(round) * n);
  }
}

/// Kokkos' modify_host says no more than who is newer: programs call it before, between and behind their writes.
template <class Make>
void expect_writes_until_sync(Make&& make) {
  constexpr int n = 1000;
  {
    auto d = make("modified before it is written", n);
    d.modify_host();
    device_sum(d.view_device());
    host_writes(d.view_host(), 5);
    d.sync_device();
    EXPECT_EQ(device_sum(d.view_device()), 5.0 * n);
  }
  {
    auto d = make("modified as a part", n);
    host_writes(d.view_host(), 5);
    Kokkos::subview(d, std::make_pair(0, n / 2)).modify_host();
    d.sync_device();
    EXPECT_EQ(device_sum(d.view_device()), 5.0 * n);
  }
  {
    auto d = make("newer on the host", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    device_writes(d.view_device(), 1);  // without a word
    d.sync_host();                      // nothing to do
    EXPECT_EQ(d.view_host()(7), 5.0);
  }
  {
    auto from = make("from", n);
    auto to = make("to", n);
    from.modify_host();
    device_sum(from.view_device());
    host_writes(from.view_host(), 6);
    Kokkos::deep_copy(to, from);
    to.sync_host();
    EXPECT_EQ(host_sum(to.view_host()), 6.0 * n);
    to.sync_device();
    EXPECT_EQ(device_sum(to.view_device()), 6.0 * n);
  }
}

template <class Make>
void expect_both_sides_after_resize(Make&& make) {
  constexpr int n = 1000;
  {
    auto d = make("written by the host", n);
    host_writes(d.view_host(), 5);
    d.modify_host();
    device_sum(d.view_device());
    d.view_host()(7) = 6;  // since modify_host
    d.resize(2 * n);
    d.view_host()(n) = 5;
    d.modify_host();
    d.sync_device();
    EXPECT_EQ(device_sum(d.view_device()), 5.0 * (n + 1) + 1);
  }
  {
    auto d = make("written by the device", n);
    device_writes(d.view_device(), 5);
    d.modify_device();
    d.resize(2 * n);
    if (d.need_sync_host()) d.sync_host();
    EXPECT_EQ(d.view_host()(n - 1), 5.0);
    EXPECT_EQ(d.view_host()(n), 0.0);
  }
}

template <class Make>
void expect_kokkos_rules(Make&& make) {
  expect_copies_at_the_call(make);
  expect_nobody_relies_on_the_host_side(make);
  expect_copies_of_what_the_host_holds(make);
  expect_writes_until_sync(make);
  expect_both_sides_after_resize(make);
}

}  // namespace kokkos_rules
