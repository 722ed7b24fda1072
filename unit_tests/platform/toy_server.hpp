// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace semcache::platform::testing {

/// A runtime of a few lines: stale pages are filled with their page number and opened for reading, a write opens them
/// fully. Holds an arena and a tracker.
class ToyServer {
 public:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t pages = 64;

  explicit ToyServer(Pages of) : platform_(std::move(of.platform)), tracker_(std::move(of.tracker)) {
    base_ = platform_->reserve(reserved_);
    if (!platform_->make_usable(base_, reserved_, Protection::read_write)) std::abort();
    states_.assign(pages, Protection::read_write);
  }
  ~ToyServer() {
    tracker_->stop();
    platform_->release(base_, reserved_);
  }
  ToyServer(const ToyServer&) = delete;
  ToyServer& operator=(const ToyServer&) = delete;

  void start() {
    tracker_->start(base_, pages * page, [this](std::byte* address, FaultKind kind, const void*) { return serve(address, kind); });
  }
  void stop() { tracker_->stop(); }

  void set(std::uint64_t index, Protection protection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    states_[index] = protection;
    if (!platform_->protect(base_ + index * page, page, protection)) std::abort();
  }
  void make_stale(std::uint64_t index) { set(index, Protection::none); }

  [[nodiscard]] volatile std::uint64_t* word(std::uint64_t index, std::uint64_t at = 0) const {
    return reinterpret_cast<volatile std::uint64_t*>(base_ + index * page) + at;
  }
  [[nodiscard]] static std::uint64_t content(std::uint64_t index) { return 0xabcd0000 + index; }

  std::atomic<int> served{0};
  std::atomic<int> reads{0};
  std::atomic<int> writes{0};
  /// Called on the service thread before a fault is served.
  std::function<void(std::byte*)> before;

  Platform& platform() { return *platform_; }
  Tracker& tracker() { return *tracker_; }
  std::byte* base() { return base_; }

 private:
  FaultResult serve(std::byte* address, FaultKind kind) {
    if (before) before(address);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto index = static_cast<std::uint64_t>(address - base_) / page;
    Protection& state = states_[index];
    const Protection needed = kind == FaultKind::read ? Protection::read : Protection::read_write;
    if (state == Protection::read_write || (state == Protection::read && needed == Protection::read))
      return FaultResult::not_ours;  // permitted already
    std::byte* const start = base_ + index * page;
    if (state == Protection::none) {
      const std::vector<std::uint64_t> fetched(page / 8, content(index));
      platform_->write_behind(start, reinterpret_cast<const std::byte*>(fetched.data()), page);
    }
    // Counted first: once the page is open, nobody waits for us.
    ++served;
    ++(kind == FaultKind::read ? reads : writes);
    state = needed;
    if (!platform_->protect(start, page, needed)) std::abort();
    return FaultResult::served;
  }

  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Tracker> tracker_;
  std::byte* base_ = nullptr;
  std::uint64_t reserved_ = pages * page;
  std::mutex mutex_;
  std::vector<Protection> states_;
};

}  // namespace semcache::platform::testing
