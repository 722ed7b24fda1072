// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/state.hpp>

#include <algorithm>
#include <string>

namespace semcache::engine {

State::State(std::vector<std::unique_ptr<device::Device>> given_devices, std::unique_ptr<platform::Platform> given_platform,
             trace::Recorder& given_recorder, const Options& given_options)
    : owned_devices(std::move(given_devices)),
      options(given_options),
      platform(std::move(given_platform)),
      recorder(given_recorder),
      surroundings(options.surroundings != nullptr ? *options.surroundings : nothing_known),
      page_bytes(platform->page_bytes()),
      mappings(*platform),
      host(std::make_unique<HostMemory>(*platform, mappings, options.host_address_bytes,
                                        options.notices ? platform::Protection::read : platform::Protection::read_write)) {
  std::vector<device::Device*> all;
  for (const auto& device : owned_devices) all.push_back(device.get());
  for (device::Device* const device : all) {
    std::vector<device::Device*> others = all;
    others.erase(std::find(others.begin(), others.end(), device));
    const bool off = options.peer_access == PeerAccess::off;
    if (!others.empty()) device->share_with(others, off ? device::Device::PeerUse::refused : device::Device::PeerUse::permitted);
  }
  device_addresses = std::make_unique<memory::DeviceAddresses>(*all.front(), all);
  queues = std::make_unique<Queues>(all);
  for (device::Device* const device : all) {
    auto d = std::make_unique<DeviceState>();
    d->index = static_cast<std::uint32_t>(devices.size());
    d->device = device;
    d->memory = std::make_unique<DeviceMemory>(*device, d->index, *device_addresses, options.budget_of(d->index));
    d->staging = std::make_unique<Staging>(*device, page_bytes);
    d->to_device_queue = queues->open(d->index);
    d->to_host_queue = queues->open(d->index);
    d->within_queue = queues->open(d->index);
    if (!device->kernels_run_in_caller()) {
      d->checks = device->open_queue();
      d->pageable_copies = device->open_queue();
    }
    d->everything.space = device_space(d->index);
    d->everything.stands_for_all = true;
    d->everything.since = 0;
    for (std::uint32_t other = 0; other < all.size(); ++other) {
      if (all[other] == device) continue;
      const bool linked = options.peer_access == PeerAccess::where_possible && device->reaches(*all[other]) && all[other]->reaches(*device);
      if (!linked) topology.separate(d->index, other);
    }
    devices.push_back(std::move(d));
  }
  const bool all_linked = std::all_of(topology.apart.begin(), topology.apart.end(), [](std::uint32_t apart) { return apart == 0; });
  for (auto& d : devices) {
    d->everything.uses.extend(queues->count());
    d->represented_by = all_linked ? &home().everything : &d->everything;
  }
  virtual_time = home().device->virtual_times().has_value();
  if (!home().device->kernels_run_in_caller()) saved_on_host = std::make_unique<Staging>(*home().device, page_bytes);
  pages = std::make_unique<HostPages>(pages::PagesContext{*platform, mappings, *home().device, directory, flights, recorder,
                                                          options.observer, options.notices, options.registration_bytes});
  // SEMCACHE_CHECK has its own rules for device memory, and a GPU's memory has no pages that could be protected here.
  options.device_faults =
      options.device_faults && options.notices && !options.check && home().device->kernels_run_in_caller();
}

void State::expect_not_freed(const Kept& array) const {
  SEMCACHE_EXPECTS(!array.freed(), std::string("'") + recorder.name(array.label) +
                                      "' was freed by another thread while this call used it. Free an array after its last use");
}

Memory* State::find_device(const void* p) const noexcept {
  return device_addresses->covers(p) ? devices[device_addresses->device_at(p)]->memory->find(p) : nullptr;
}

Memory* State::find(const void* p) const noexcept {
  if (host->covers(p)) return host->find(p);
  if (in_device_arena(p)) return find_device(p);
  return adopted.find(p);
}

SpaceId State::foreign_space_at(const void* p) const noexcept {
  if (in_device_arena(p)) return host_space;
  const auto knows = [p](const auto& d) { return d->device->is_foreign_device_pointer(p); };
  const auto owner = std::find_if(devices.begin(), devices.end(), knows);
  return owner == devices.end() ? host_space : device_space((*owner)->index);
}

std::uint32_t State::device_of_stream(void* native) const {
  if (native == nullptr || devices.size() == 1) return 0;
  if (home().device->kernels_run_in_caller()) {
    const auto index = reinterpret_cast<std::uintptr_t>(native);
    return index < devices.size() ? static_cast<std::uint32_t>(index) : 0;
  }
  // cudaStreamLegacy and cudaStreamPerThread name a stream of any device. An Exec has them on the first one only.
  if (reinterpret_cast<std::uintptr_t>(native) <= 2) return 0;
  const std::optional<std::uint32_t> owner = owner_of_stream(native);
  SEMCACHE_EXPECTS(owner, "the stream " + base::text_of(native) + " belongs to a device that this process does not use. Add "
                          "its device to SEMCACHE_DEVICES (or semcache::use_devices), or use a stream of another device");
  return *owner;
}

std::optional<std::uint32_t> State::owner_of_stream(void* native) const noexcept {
  const auto owns = [native](const auto& d) { return d->device->owns_stream(native); };
  const auto owner = std::find_if(devices.begin(), devices.end(), owns);
  return owner == devices.end() ? std::nullopt : std::optional<std::uint32_t>((*owner)->index);
}

bool State::in_any_arena(const void* p) const noexcept {
  return host->covers(p) || in_device_arena(p) || adopted.find(p) != nullptr;
}

bool State::in_device_arena(const void* p) const noexcept { return device_addresses->covers(p); }

bool State::overlaps(const std::byte* first, const std::byte* last) const noexcept {
  const auto reaches = [&](const std::byte* base, std::uint64_t bytes) { return first < base + bytes && last >= base; };
  return reaches(host->base(), host->bytes()) || reaches(device_addresses->base(), device_addresses->bytes()) ||
         adopted.overlaps(first, last);
}

}  // namespace semcache::engine
