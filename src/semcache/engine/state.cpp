// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/engine/state.hpp>

#include <string>

namespace semcache::engine {

State::State(std::vector<std::unique_ptr<device::Device>> given_devices, std::unique_ptr<platform::Platform> given_platform,
             trace::Recorder& given_recorder, const Options& given_options)
    : platform(std::move(given_platform)),
      recorder(given_recorder),
      options(given_options),
      surroundings(options.surroundings != nullptr ? *options.surroundings : nothing_known),
      page_bytes(platform->page_bytes()),
      mappings(*platform),
      host(std::make_unique<HostMemory>(*platform, mappings, options.host_address_bytes,
                                        options.notices ? platform::Protection::read : platform::Protection::read_write)) {
  for (auto& device : given_devices) {
    auto d = std::make_unique<DeviceState>();
    d->index = static_cast<std::uint32_t>(devices.size());
    d->device = std::move(device);
    d->memory = std::make_unique<DeviceMemory>(*d->device, d->index, options.budget_of(d->index));
    d->staging = std::make_unique<Staging>(*d->device, page_bytes);
    d->queues = std::make_unique<Queues>(*d->device);
    d->to_device_queue = d->queues->open();
    d->to_host_queue = d->queues->open();
    d->within_queue = d->queues->open();
    d->everything.space = device_space(d->index);
    d->everything.stands_for_all = true;
    d->everything.since = 0;
    devices.push_back(std::move(d));
  }
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
  for (const auto& d : devices) {
    if (d->memory->covers(p)) return d->memory->find(p);
  }
  return nullptr;
}

Memory* State::find(const void* p) const noexcept {
  if (host->covers(p)) return host->find(p);
  return find_device(p);
}

bool State::in_any_arena(const void* p) const noexcept {
  return host->covers(p) || in_device_arena(p);
}

bool State::in_device_arena(const void* p) const noexcept {
  return std::any_of(devices.begin(), devices.end(), [p](const auto& d) { return d->memory->covers(p); });
}

bool State::overlaps(const std::byte* first, const std::byte* last) const noexcept {
  const auto reaches = [&](const std::byte* base, std::uint64_t bytes) { return first < base + bytes && last >= base; };
  return reaches(host->base(), host->bytes()) ||
         std::any_of(devices.begin(), devices.end(), [&](const auto& d) { return reaches(d->memory->base(), d->memory->bytes()); });
}

}  // namespace semcache::engine
