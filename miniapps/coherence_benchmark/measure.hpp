// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kokkos.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

/// What the parts of the benchmark share: arrays, the clock, and rows of figures.
namespace benchmark {

using Clock = std::chrono::steady_clock;
using DeviceView = Kokkos::View<double*, semcache::Device>;
using Dual = semcache::DualView<double*, semcache::Device>;
#if defined(KOKKOS_ENABLE_CUDA)
inline constexpr bool on_gpu = true;
using NativeSpace = Kokkos::CudaSpace;
using PinnedSpace = Kokkos::CudaHostPinnedSpace;
#else
inline constexpr bool on_gpu = false;
using NativeSpace = Kokkos::HostSpace;
using PinnedSpace = Kokkos::HostSpace;
#endif
using Native = Kokkos::DefaultExecutionSpace;
using NativeView = Kokkos::View<double*, Kokkos::Device<Native, NativeSpace>>;
using PinnedView = Kokkos::View<double*, PinnedSpace>;

inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Quartiles {
  double low, median, high;
};
inline Quartiles quartiles(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 4], v[v.size() / 2], v[v.size() * 3 / 4]};
}

/// Prints a figure and returns it: median, quartiles, unit, number of runs.
inline nlohmann::json row(const char* name, const char* unit, const std::vector<double>& values) {
  const Quartiles q = quartiles(values);
  std::printf("  %-46s %12.6g  [%.6g, %.6g] %s\n", name, q.median, q.low, q.high, unit);
  return {{"median", q.median}, {"low", q.low}, {"high", q.high}, {"unit", unit}, {"runs", values.size()}};
}

template <class View>
struct AddOne {
  View v;
  KOKKOS_FUNCTION void operator()(long i) const { v(i) += 1.0; }
};

}  // namespace benchmark
