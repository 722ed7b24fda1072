// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <algorithm>
#include <iterator>
#include <string>

namespace semcache::runtime {
namespace {

/// Returns "1 device", "2 devices", "2 CUDA devices".
std::string count_of(std::size_t n, const char* what = "device") { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

/// Returns the `n` devices that begin at `first` and go on modulo `visible`.
std::vector<int> run_of_devices(int first, int n, int visible) {
  std::vector<int> run{first};
  while (run.size() < static_cast<std::size_t>(n)) run.push_back((run.back() + 1) % visible);
  return run;
}

/// Moves the device to the front; the others keep their order. Returns false if it is not there.
bool move_to_front(std::vector<int>& devices, int device) {
  const auto found = std::find(devices.begin(), devices.end(), device);
  if (found == devices.end()) return false;
  std::rotate(devices.begin(), found, found + 1);
  return true;
}

/// @param usual  the devices that the process would have without the framework
std::string warning_of_shared_devices(int local_rank, const std::vector<int>& used, const std::vector<int>& usual,
                                      const FrameworkDevice& framework, int visible) {
  const std::string own = usual.size() > 1 ? "set CUDA_VISIBLE_DEVICES to them"
                                           : "Kokkos: --kokkos-map-device-id-by=mpi_rank, before 3.7 KOKKOS_NUM_DEVICES=" +
                                                 std::to_string(visible);
  return "process " + std::to_string(local_rank) + " of this node uses CUDA " + text_of_devices(used) + ", because " +
         framework.framework + " chose device " + std::to_string(framework.ordinal) + ", instead of " + text_of_devices(usual) +
         ". If other processes do so too, give each its own (" + own + ")";
}

void expect_a_budget_for_each(const Configuration& c, std::size_t devices) {
  if (c.device_budgets.empty() || c.device_budgets.size() == devices) return;
  throw ConfigurationError("SEMCACHE_DEVICE_MEMORY lists " + count_of(c.device_budgets.size(), "number") + ", but the process uses " +
                           count_of(devices) + " (" + c.devices_from + "). List one number for each, or give one number for all.");
}

/// @pre at least one CUDA device is visible
void expect_to_exist(const std::vector<int>& ordinals, int visible, const Configuration& c) {
  std::vector<int> missing;
  std::copy_if(ordinals.begin(), ordinals.end(), std::back_inserter(missing), [&](int o) { return o >= visible; });
  if (missing.empty()) return;
  throw ConfigurationError(text_of_devices(missing) + (missing.size() == 1 ? " does" : " do") + " not exist: " +
                           count_of(static_cast<std::size_t>(visible), "CUDA device") + (visible == 1 ? " is" : " are") +
                           " visible, numbered from 0 (" + c.devices_from + ", CUDA_VISIBLE_DEVICES).");
}

}  // namespace

std::string text_of_devices(const std::vector<int>& ordinals) {
  std::string text = ordinals.size() == 1 ? "device " : "devices ";
  for (std::size_t i = 0; i < ordinals.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ordinals[i]);
  return text;
}

ChosenDevices choose_devices(const Configuration& c, const FrameworkDevice* framework, device::DeviceKind kind, int visible) {
  const bool cuda = kind == device::DeviceKind::cuda;
  ChosenDevices chosen;
  if (!c.device_ordinals.empty()) {
    chosen.ordinals = c.device_ordinals;
    // A framework on the host computes on any emulated device, so a list without the one that it names stays as it is.
    if (framework != nullptr && framework->kind_forced && !move_to_front(chosen.ordinals, framework->ordinal) && cuda) {
      const std::string own = "device " + std::to_string(framework->ordinal);
      throw ConfigurationError(std::string(c.devices_from) + " names " + text_of_devices(chosen.ordinals) + ", but " +
                               framework->framework + " chose " + own + ", which must be one of them. Add " + own +
                               ", or give a number of devices instead of a list.");
    }
  } else {
    const int n = std::max(c.device_count, 1);
    if (cuda && visible > 0 && n > visible) {
      throw ConfigurationError(std::string(c.devices_from) + " asks for " + count_of(static_cast<std::size_t>(n)) + ", but " +
                               count_of(static_cast<std::size_t>(visible), "CUDA device") + (visible == 1 ? " is" : " are") +
                               " visible (CUDA_VISIBLE_DEVICES). Ask for fewer, or make more visible.");
    }
    const int modulus = visible > 0 ? visible : n;
    const int local_rank = std::max(c.local_rank, 0);
    const std::vector<int> usual = run_of_devices(static_cast<int>(std::int64_t{local_rank} * n % modulus), n, modulus);
    chosen.ordinals = usual;
    if (framework != nullptr && !move_to_front(chosen.ordinals, framework->ordinal)) {
      chosen.ordinals = run_of_devices(framework->ordinal, n, modulus);
      // A single device other than 0 has been chosen on purpose.
      if (cuda && local_rank > 0 && (n > 1 || framework->ordinal == 0)) {
        chosen.warning = warning_of_shared_devices(local_rank, chosen.ordinals, usual, *framework, visible);
      }
    }
  }
  if (cuda && visible > 0) expect_to_exist(chosen.ordinals, visible, c);
  expect_a_budget_for_each(c, chosen.ordinals.size());
  return chosen;
}

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
  const bool cuda = kind == device::DeviceKind::cuda;
  const ChosenDevices chosen = choose_devices(c, framework, kind, cuda ? device::cuda_device_count() : max_devices);
  if (!chosen.warning.empty()) base::raw_log("warning: %s", chosen.warning.c_str());
  if (cuda && c.emulated_machine) base::raw_log("warning: SEMCACHE_EMULATED_MACHINE has no effect, because the devices are GPUs");
  std::shared_ptr<device::EmulatedMachine> machine;
  if (!cuda && c.emulated_machine) machine = device::make_emulated_machine(*c.emulated_machine, chosen.ordinals);
  std::vector<std::unique_ptr<device::Device>> devices;
  for (const int ordinal : chosen.ordinals) {
    devices.push_back(cuda ? device::make_cuda_device(ordinal) : device::make_emulated_device(ordinal, c.budget_of(devices.size()), machine));
  }
  return devices;
}

}  // namespace semcache::runtime
