// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/activities.hpp>

namespace semcache::device {

void ActivitySwitch::turn_off() noexcept {
  const std::lock_guard lock(mutex_);
  if (now_.load() == Activities::told && set_(Activities::left_out)) now_.store(Activities::left_out);
}

void ActivitySwitch::turn_on() noexcept {
  const std::lock_guard lock(mutex_);
  if (now_.load() == Activities::left_out && set_(Activities::told)) now_.store(Activities::told);
}

void ActivitySwitch::need() noexcept {
  needs_.fetch_add(1, std::memory_order_relaxed);
  if (now_.load() == Activities::told || InCallback::here()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && now_.load() == Activities::left_out && set_(Activities::told)) now_.store(Activities::told);
}

void ActivitySwitch::reset() noexcept {
  const std::lock_guard lock(mutex_);
  now_.store(Activities::told);
}

ActivitySwitch& cuda_activity_switch() noexcept {
  static ActivitySwitch& all = *new ActivitySwitch(&set_cuda_activities);  // never destroyed: copies are made until the process ends
  return all;
}

}  // namespace semcache::device
