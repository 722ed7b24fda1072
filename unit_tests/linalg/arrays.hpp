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
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
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

/// Memory from malloc that begins `shift` bytes behind a page, in pages of its own. What lies around it must stay as it is.
class Block {
 public:
  Block(std::size_t bytes, std::size_t shift) : bytes_(bytes), all_bytes_((shift + bytes + 2 * page) / page * page), all_(std::aligned_alloc(page, all_bytes_)), data_(all() + shift) {
    std::fill_n(all(), all_bytes_, around);
  }
  ~Block() {
    EXPECT_TRUE(std::all_of(all(), data_, &is_around) && std::all_of(data_ + bytes_, all() + all_bytes_, &is_around));
    std::free(all_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }
  static constexpr std::size_t page = 4096;

 private:
  static constexpr unsigned char around = 0xa5;
  static bool is_around(unsigned char c) noexcept { return c == around; }
  [[nodiscard]] unsigned char* all() const noexcept { return static_cast<unsigned char*>(all_); }
  std::size_t bytes_, all_bytes_;
  void* all_;
  unsigned char* data_;
};

/// Where an array of a test is. `adopted`: in memory that is adopted, and neither begins nor ends with a page.
enum class Where { host, home, last_device, adopted };

/// An array that SemCache keeps coherent.
template <class T>
class Array {
 public:
  Array(std::size_t count, Where where) : count_(count) {
    on_host_ = where == Where::host || where == Where::adopted;
    if (where == Where::adopted) {
      static std::size_t arrays = 0;
      const std::size_t bytes = std::max<std::size_t>(1, count * sizeof(T));
      block_ = std::make_unique<Block>(bytes, ++arrays * 1048 % Block::page);
      data_ = static_cast<T*>(block_->data());
      runtime::adopt(data_, bytes, "operand");
      return;
    }
    data_ = static_cast<T*>(where == Where::host ? runtime::allocate_host("operand", count * sizeof(T))
                                                 : runtime::allocate_device("operand", count * sizeof(T),
                                                                            where == Where::home ? 0 : device_count_of_runtime() - 1));
  }
  ~Array() {
    if (block_ == nullptr) {
      runtime::deallocate(data_);
    } else {
      runtime::release(data_);
    }
  }
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
  std::unique_ptr<Block> block_;  ///< of adopted memory
};

/// Sets a variable of the environment as long as it lives.
struct Setting {
  Setting(const char* variable, const char* value) : name(variable) { ::setenv(variable, value, 1); }
  ~Setting() { ::unsetenv(name); }
  const char* name;
};

/// The process's addresses, in KiB.
inline long kib_of_addresses() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmSize:", 0) == 0) return std::stol(line.substr(7));
  }
  return 0;
}

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
