// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <gtest/gtest.h>

#include <string>

namespace semcache::runtime {
namespace {

/// The text of the error that the choice causes; empty if devices are made.
std::string error_of(DeviceChoice variable, device::DeviceKind framework) {
  Configuration c;
  c.device = variable;
  try {
    const FrameworkDevice forced{true, framework, 0, "Kokkos"};
    (void)make_devices(c, &forced);
  } catch (const ConfigurationError& e) {
    return e.what();
  }
  return {};
}

TEST(DeviceChoice, AVariableThatContradictsTheFrameworkIsNamedWithTheRemedy) {
  EXPECT_EQ(error_of(DeviceChoice::emulated, device::DeviceKind::cuda),
            "SEMCACHE_DEVICE=emulated, but Kokkos computes on the cuda device only. Unset SEMCACHE_DEVICE, or use a host-only framework.");
  EXPECT_EQ(error_of(DeviceChoice::cuda, device::DeviceKind::emulated),
            "SEMCACHE_DEVICE=cuda, but Kokkos computes on the emulated device only. Unset SEMCACHE_DEVICE, or use a framework built "
            "with CUDA.");
  EXPECT_EQ(error_of(DeviceChoice::emulated, device::DeviceKind::emulated), "");
}

}  // namespace
}  // namespace semcache::runtime
