// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <fakes/fake_device.hpp>
#include <semcache/runtime/lifetime.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A runtime whose devices are fakes, so that a test can make their calls fail. One file of a test includes this, and the test is linked with
/// --wrap=_ZN8semcache7runtime12make_devicesERKNS0_13ConfigurationEPKNS0_15FrameworkDeviceE.
namespace semcache::fakes {

constexpr std::uint32_t devices_of_runtime = 3;
/// Of the devices of the next runtime. What emulated ones copy is copied by the caller, so there these calls cannot fail.
inline device::DeviceKind kind_of_devices = device::DeviceKind::cuda;
/// The devices of the runtime that runs.
inline FakeWorld* world = nullptr;

inline std::vector<std::unique_ptr<device::Device>> make_fake_devices() {
  FakeWorld::Options o;
  o.kind = kind_of_devices;
  o.asynchronous = false;    // so that the body of a task finds its operands there
  o.registers_host = false;  // the host's pages are protected for all, so transfers go through staging memory
  o.memory_bytes = std::uint64_t{4} << 20;
  auto home = std::make_unique<FakeDevice>(o, [](const std::string& text) { ADD_FAILURE() << text; });
  world = home.get();
  std::vector<std::unique_ptr<device::Device>> all;
  all.push_back(std::move(home));
  FakeDevice& first = static_cast<FakeDevice&>(*all.front());
  while (all.size() < devices_of_runtime) all.push_back(std::make_unique<FakePeer>(first));
  return all;
}

}  // namespace semcache::fakes

/// Called instead of `runtime::make_devices`.
std::vector<std::unique_ptr<semcache::device::Device>> wrapped_make_devices(const semcache::runtime::Configuration&,
                                                                                const semcache::runtime::FrameworkDevice*)
    asm("__wrap__ZN8semcache7runtime12make_devicesERKNS0_13ConfigurationEPKNS0_15FrameworkDeviceE");
std::vector<std::unique_ptr<semcache::device::Device>> wrapped_make_devices(const semcache::runtime::Configuration&,
                                                                                const semcache::runtime::FrameworkDevice*) {
  return semcache::fakes::make_fake_devices();
}
