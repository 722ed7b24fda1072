// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace kokkos_rules
