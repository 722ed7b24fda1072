// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "gemm_chain.hpp"
#include "gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

namespace gemm_chain {
namespace {

std::unique_ptr<Gpu> make_gpu() {
  const char* const kind = std::getenv("SEMCACHE_DEVICE");
  return kind != nullptr && std::string_view(kind) == "emulated" ? make_emulated_gpu() : make_cuda_gpu();
}

/// A variant with a device, matrices there, and counted copies.
class ByHand : public Variant {
 public:
  double* allocate(std::size_t bytes) override {
    if (device_of_next_ < matrices) on_device_[device_of_next_++] = gpu_->allocate(bytes);
    return allocate_host(bytes);
  }
  void start(const double* left, const double* right, double* to) override {
    double* on_device[3];
    for (double*& m : on_device) m = gpu_->allocate(start_bytes);
    gpu_->to_device_plainly(on_device[0], left, start_bytes);
    gpu_->to_device_plainly(on_device[1], right, start_bytes);
    gpu_->gemm(start_n, start_n, on_device[0], on_device[1], on_device[2], 0);
    gpu_->to_host_plainly(to, on_device[2], start_bytes);
  }
  Moved moved() const override { return moved_; }
  std::string device() const override { return gpu_->name(); }

 protected:
  virtual double* allocate_host(std::size_t bytes) { return gpu_->allocate_host(bytes); }
  void send(Name m, const double* host, std::int64_t first, std::int64_t count, int lane = 0) {
    gpu_->to_device(on_device_[m] + first, host + first, counted(count, moved_.to_device, moved_.to_device_count), lane);
  }
  void fetch(Name m, double* host, std::int64_t first, std::int64_t count, int lane = 0) {
    gpu_->to_host(host + first, on_device_[m] + first, counted(count, moved_.to_host, moved_.to_host_count), lane);
  }
  void send_plainly(Name m, const double* host, std::int64_t count) {
    gpu_->to_device_plainly(on_device_[m], host, counted(count, moved_.to_device, moved_.to_device_count));
  }
  void fetch_plainly(Name m, double* host, std::int64_t count) {
    gpu_->to_host_plainly(host, on_device_[m], counted(count, moved_.to_host, moved_.to_host_count));
  }
  /// Of columns from `first` on.
  void gemm(std::int64_t n, Name left, Name right, Name to, std::int64_t first, std::int64_t columns, int lane = 0) {
    gpu_->gemm(n, columns, on_device_[left], on_device_[right] + first * n, on_device_[to] + first * n, lane);
  }
  std::unique_ptr<Gpu> gpu_ = make_gpu();

 private:
  static std::size_t counted(std::int64_t elements, std::uint64_t& bytes, std::uint64_t& transfers) {
    const std::size_t size = static_cast<std::size_t>(elements) * sizeof(double);
    bytes += size;
    transfers += 1;
    return size;
  }
  double* on_device_[matrices] = {};
  int device_of_next_ = 0;
  Moved moved_;
};

/// A and B there, E back.
class HandTuned : public ByHand {
 public:
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    send(a, host[a], 0, n * n);
    send(b, host[b], 0, n * n);
    gemm(n, a, b, c, 0, n);
    gemm(n, b, c, d, 0, n);
    gemm(n, c, d, e, 0, n);
    fetch(e, host[e], 0, n * n);
    gpu_->wait(0);
  }
};

/// The same on memory from malloc, by plain copies: what a program costs that locks no pages.
class Pageable : public ByHand {
 public:
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    send_plainly(a, host[a], n * n);
    send_plainly(b, host[b], n * n);
    gemm(n, a, b, c, 0, n);
    gemm(n, b, c, d, 0, n);
    gemm(n, c, d, e, 0, n);
    fetch_plainly(e, host[e], n * n);
  }

 protected:
  double* allocate_host(std::size_t bytes) override {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<double*>(memory);
  }
};

/// Of the first one in tiles of columns: products begin when the first columns of B are there, and E's columns leave while others are computed.
class Overlapped : public ByHand {
 public:
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    constexpr int in = 0, compute = 1, out = 2;
    constexpr std::int64_t tiles = 8;
    const std::int64_t width = (n + tiles - 1) / tiles;
    const auto for_each_tile = [&](const auto& visit) {
      for (std::int64_t first = 0; first < n; first += width) visit(first, std::min(width, n - first));
    };
    send(a, host[a], 0, n * n, in);
    for_each_tile([&](std::int64_t first, std::int64_t columns) {
      send(b, host[b], first * n, columns * n, in);
      gpu_->follow(compute, in);
      gemm(n, a, b, c, first, columns, compute);
    });
    for_each_tile([&](std::int64_t first, std::int64_t columns) { gemm(n, b, c, d, first, columns, compute); });
    for_each_tile([&](std::int64_t first, std::int64_t columns) {
      gemm(n, c, d, e, first, columns, compute);
      gpu_->follow(out, compute);
      fetch(e, host[e], first * n, columns * n, out);
    });
    gpu_->wait(out);
  }
};

/// Each call sends its inputs, and fetches its result.
class CopyEveryCall : public ByHand {
 public:
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    const auto call = [&](Name left, Name right, Name to) {
      send(left, host[left], 0, n * n);
      send(right, host[right], 0, n * n);
      gemm(n, left, right, to, 0, n);
      fetch(to, host[to], 0, n * n);
      gpu_->wait(0);
    };
    call(a, b, c);
    call(b, c, d);
    call(c, d, e);
  }
};

/// What a protocol of single pages moves: each page that a product needs and the device lacks, and each page of E when the host reads it. Who asks
/// for one page waits for it, as after a page fault.
class PageByPage : public ByHand {
 public:
  void chain(std::int64_t n, double* const (&host)[matrices]) override {
    const auto call = [&](Name left, Name right, Name to) {
      bring(left, host[left], n);
      bring(right, host[right], n);
      gemm(n, left, right, to, 0, n);
      is_on_device_[to] = true;
    };
    call(a, b, c);
    call(b, c, d);
    call(c, d, e);
  }
  void host_has_written(Name m) override { is_on_device_[m] = false; }
  void host_will_read(Name m, double* host, std::int64_t first, std::int64_t count) override {
    fetch(m, host, first, count);
    gpu_->wait(0);
  }

 private:
  void bring(Name m, const double* host, std::int64_t n) {
    if (std::exchange(is_on_device_[m], true)) return;
    for (std::int64_t first = 0; first < n * n; first += page_elements) {
      send(m, host, first, std::min(page_elements, n * n - first));
      gpu_->wait(0);
    }
  }
  bool is_on_device_[matrices] = {};
};

}  // namespace

std::unique_ptr<Variant> make_by_hand(const std::string& name) {
  if (name == "hand-tuned") return std::make_unique<HandTuned>();
  if (name == "hand-tuned-overlapped") return std::make_unique<Overlapped>();
  if (name == "hand-tuned-pageable") return std::make_unique<Pageable>();
  if (name == "page") return std::make_unique<PageByPage>();
  return std::make_unique<CopyEveryCall>();
}

}  // namespace gemm_chain
