// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

/// Arrays for tests of packages/linalg.
namespace semcache::test {

/// Runs `program` with a runtime of its own on so many devices, and returns the statistics before the runtime ends. What the links carried must be
/// what all arrays moved. LINALG_TEST_DEVICES=2 limits the devices, for tests of results on a machine with two GPUs.
inline Statistics on_devices(int devices, const std::function<void()>& program) {
  const char* const most = std::getenv("LINALG_TEST_DEVICES");
  use_devices(most == nullptr ? devices : std::min(devices, std::max(1, std::atoi(most))));
  program();
  Statistics s = statistics();
  finalize();
  Counters sum;
  for (const LinkStatistics& l : s.links) {
    (l.from == LinkStatistics::host ? sum.h2d : l.to == LinkStatistics::host ? sum.d2h : sum.between_devices) += l.traffic;
  }
  EXPECT_EQ(sum.h2d, s.total.h2d);
  EXPECT_EQ(sum.d2h, s.total.d2h);
  EXPECT_EQ(sum.between_devices, s.total.between_devices);
  return s;
}

/// Where an array of a test is.
enum class Where { host, home, last_device };

/// An array that SemCache keeps coherent.
template <class T>
class Array {
 public:
  Array(std::size_t count, Where where) : count_(count) {
    data_ = static_cast<T*>(where == Where::host ? runtime::allocate_host("operand", count * sizeof(T))
                                                 : runtime::allocate_device("operand", count * sizeof(T),
                                                                            where == Where::home ? 0 : device_count_of_runtime() - 1));
    on_host_ = where == Where::host;
  }
  ~Array() { runtime::deallocate(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  void set(const std::vector<T>& content) {
    if (on_host_) {
      std::copy(content.begin(), content.end(), data_);
    } else {
      runtime::copy(data_, content.data(), count_ * sizeof(T), runtime::queue_of(nullptr));
    }
  }
  [[nodiscard]] std::vector<T> get() const {
    std::vector<T> content(count_);
    if (on_host_) {
      std::copy(data_, data_ + count_, content.begin());
    } else {
      runtime::copy(content.data(), data_, count_ * sizeof(T), runtime::queue_of(nullptr));
    }
    return content;
  }

 private:
  static std::uint32_t device_count_of_runtime() {
    (void)runtime::device_ordinal(0);
    return static_cast<std::uint32_t>(device_count());
  }
  T* data_;
  std::size_t count_;
  bool on_host_;
};

template <class T>
struct RandomNumbers {
  std::mt19937_64 engine;
  T operator()() { return static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(engine)); }
};
template <class R>
struct RandomNumbers<std::complex<R>> {
  std::mt19937_64 engine;
  std::complex<R> operator()() {
    std::uniform_real_distribution<double> d(-1, 1);
    const R re = static_cast<R>(d(engine));
    return {re, static_cast<R>(d(engine))};
  }
};

}  // namespace semcache::test
