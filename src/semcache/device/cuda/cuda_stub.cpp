// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/activities.hpp>
#include <semcache/device/device.hpp>

/// Replaces the CUDA device where it is not built.
namespace semcache::device {

std::unique_ptr<Device> make_cuda_device(int ordinal) {
  throw ConfigurationError("CUDA device " + std::to_string(ordinal) +
                           " was asked for, but SemCache was built without CUDA: configure with "
                           "SemCache_ENABLE_CUDA=ON, or set SEMCACHE_DEVICE=emulated");
}

int cuda_device_count() noexcept { return 0; }
std::string watch_cuda_driver(const DriverWatch&) { return "SemCache was built without CUDA"; }
void unwatch_cuda_driver() noexcept {}
std::string observe_cuda_activities(ActivityObserver&) { return "SemCache was built without CUDA"; }
void flush_cuda_activities() noexcept {}
void ignore_cuda_activities() noexcept {}
std::atomic<unsigned> graphs_being_recorded{0};

}  // namespace semcache::device
