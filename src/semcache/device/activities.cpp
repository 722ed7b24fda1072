// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/activities.hpp>

#include <chrono>

namespace semcache::device {
namespace {

std::uint64_t steady_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

void ActivitySwitch::turn_off() noexcept {
  const std::lock_guard lock(mutex_);
  if (now_.load() == Activities::left_out) return;
  now_.store(Activities::left_out);
  if (needed_.load() != 0 || !set_(Activities::left_out)) return now_.store(Activities::told);
  off_since_ns_ = steady_ns();
}

void ActivitySwitch::turn_on() noexcept {
  const std::lock_guard lock(mutex_);
  try_to_turn_on();
}

void ActivitySwitch::need() noexcept {
  needs_.fetch_add(1, std::memory_order_relaxed);
  needed_.fetch_add(1);
  if (now_.load() == Activities::told || InCallback::here()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) try_to_turn_on();
}

void ActivitySwitch::try_to_turn_on() noexcept {
  if (now_.load() == Activities::told || !set_(Activities::told)) return;
  now_.store(Activities::told);
  off_ns_ += steady_ns() - off_since_ns_;
}

std::uint64_t ActivitySwitch::off_ns() noexcept {
  const std::lock_guard lock(mutex_);
  return off_ns_ + (now_.load() == Activities::left_out ? steady_ns() - off_since_ns_ : 0);
}

void ActivitySwitch::reset() noexcept {
  const std::lock_guard lock(mutex_);
  now_.store(Activities::told);
  off_ns_ = 0;
}

ActivitySwitch& cuda_activity_switch() noexcept {
  static ActivitySwitch& all = *new ActivitySwitch(&set_cuda_activities);  // never destroyed: copies are made until the process ends
  return all;
}

}  // namespace semcache::device
