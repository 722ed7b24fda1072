// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <algorithm>
#include <string>

namespace semcache::runtime {

std::vector<std::unique_ptr<device::Device>> make_devices(const Configuration& c, const FrameworkDevice* framework) {
  device::DeviceKind kind = device::DeviceKind::emulated;
  if (c.device == DeviceChoice::cuda || (c.device == DeviceChoice::automatic && device::cuda_device_count() > 0)) {
    kind = device::DeviceKind::cuda;
  }
  if (framework != nullptr && framework->kind_forced) {
    if (c.device != DeviceChoice::automatic && kind != framework->kind) {
      throw ConfigurationError(std::string("SEMCACHE_DEVICE=") + to_string(c.device) + ", but " + framework->framework +
                               " computes on the " + device::to_string(framework->kind) +
                               " device only. Unset SEMCACHE_DEVICE, or use a " +
                               (kind == device::DeviceKind::cuda ? "framework built with CUDA." : "host-only framework."));
    }
    kind = framework->kind;
  }
  const int count = kind == device::DeviceKind::cuda ? device::cuda_device_count() : max_devices;
  const int local_rank = std::max(c.local_rank, 0);
  int ordinal = framework != nullptr ? framework->ordinal : local_rank % std::max(count, 1);
  if (!c.device_ordinals.empty()) {
    if (framework != nullptr && framework->kind_forced && c.device_ordinals.front() != framework->ordinal) {
      throw ConfigurationError("SEMCACHE_DEVICES names device " + std::to_string(c.device_ordinals.front()) + ", but " +
                               framework->framework + " chose device " + std::to_string(framework->ordinal) +
                               ". Make them agree, or unset SEMCACHE_DEVICES.");
    }
    ordinal = c.device_ordinals.front();
  }
  if (c.device_count > 1) {
    throw ConfigurationError("SEMCACHE_DEVICES asks for " + std::to_string(c.device_count) +
                             " devices; this version follows one device per process. Name one (`1,` is device 1), or "
                             "start one process per device.");
  }
  std::vector<std::unique_ptr<device::Device>> devices;
  if (kind == device::DeviceKind::cuda) {
    if (framework != nullptr && ordinal == 0 && local_rank % std::max(count, 1) != 0 && c.device_ordinals.empty()) {
      base::raw_log("process %d of this node computes on CUDA device 0, because %s chose it, though %d are visible. If others "
                    "do so too, give each a device of its own (Kokkos: --kokkos-map-device-id-by=mpi_rank, before 3.7 "
                    "KOKKOS_NUM_DEVICES=%d)", local_rank, framework->framework, count, count);
    }
    if (count > 0 && ordinal >= count) {  // without a device, `make_cuda_device` reports the reason
      throw ConfigurationError("device " + std::to_string(ordinal) + " does not exist: " + std::to_string(count) +
                               " CUDA device(s) are visible (SEMCACHE_DEVICES, CUDA_VISIBLE_DEVICES).");
    }
    devices.push_back(device::make_cuda_device(ordinal));
  } else {
    devices.push_back(device::make_emulated_device(ordinal, c.device_memory_bytes));
  }
  return devices;
}

}  // namespace semcache::runtime
