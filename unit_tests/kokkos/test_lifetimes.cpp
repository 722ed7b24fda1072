// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/last_device.hpp>

#include <cstdlib>

// The runtime's own life: it starts at the first use, may be ended at any time, and starts again. Each test begins and
// ends without a runtime.
namespace kokkos_lifetimes {
using namespace test;

using Mirror = semcache::kokkos::host_mirror_t<Vector>;
constexpr int n = 10000;

/// What the first allocation throws under a value of a variable.
std::string error_of(const char* variable, const char* value) {
  ::setenv(variable, value, 1);
  std::string text;
  try {
    const Vector refused("refused", 10);
  } catch (const semcache::ConfigurationError& e) {
    text = e.what();
  }
  ::unsetenv(variable);
  return text;
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
}

void expect_a_working_runtime() {
  const Vector device = on_last_device("device", n);
  Mirror host = Kokkos::create_mirror_view(device);
  for (int i = 0; i < n; ++i) host(i) = i;
  Kokkos::deep_copy(device, host);
  EXPECT_EQ(sum(device), n * (n - 1.0) / 2);
  iota(device, 1);
  Kokkos::deep_copy(host, device);
  EXPECT_EQ(host(n - 1), n);
  EXPECT_GE(semcache::statistics().total.launches, 2u);
}

}  // namespace kokkos_lifetimes
using namespace kokkos_lifetimes;

KOKKOS_TEST(KokkosLifetimes, NonsenseInAnyVariableIsRefusedByNameAndTheNextTryWorks) {
  const char* const variables[][2] = {
      {"SEMCACHE_DEVICE", "gpu"},
      {"SEMCACHE_DEVICES", "0,0"},
      {"SEMCACHE_DEVICE_MEMORY", "1.5 gigabytes"},
      {"SEMCACHE_PROTOCOL", "write"},
      {"SEMCACHE_TRACKER", "userfault"},
      {"SEMCACHE_CHECK", "yes"},
      {"SEMCACHE_CHECK_WRITES", "-1"},
      {"SEMCACHE_REPORT", "report.%q"},
      {"SEMCACHE_SNAPSHOT_SHARE", "101"},
      {"SEMCACHE_FAULT_TIMEOUT", "never"},
  };
  for (const auto& [variable, value] : variables) {
    const std::string text = error_of(variable, value);
    expect_in(text, variable);
    expect_in(text, value);
    expect_in(text, "Accepted: ");
  }
  EXPECT_EQ(semcache::statistics().total.launches, 0u) << "nothing has started";

  expect_a_working_runtime();
  semcache::finalize();
}

KOKKOS_TEST(KokkosLifetimes, ADeviceThatKokkosDidNotChooseIsRefusedByBothNames) {
  const char* const other = semcache::kokkos::native_is_device ? "emulated" : "cuda";
  const std::string kind = error_of("SEMCACHE_DEVICE", other);
  expect_in(kind, std::string("SEMCACHE_DEVICE=") + other);
  expect_in(kind, "Kokkos");
  if (semcache::kokkos::native_is_device) {  // on the host Kokkos computes on any emulated device
    const std::string ordinal = error_of("SEMCACHE_DEVICES", "63,");
    expect_in(ordinal, "device 63");
    expect_in(ordinal, "Kokkos");
    const std::string several = error_of("SEMCACHE_DEVICES", "62,63");
    expect_in(several, "SEMCACHE_DEVICES names devices 62, 63");
    expect_in(several, "Kokkos");
  }

  expect_a_working_runtime();
  semcache::finalize();
}

KOKKOS_TEST(KokkosLifetimes, StartedAndEndedSeveralTimes) {
  for (int life = 0; life < 3; ++life) {
    expect_a_working_runtime();
    semcache::finalize();
    EXPECT_EQ(semcache::statistics().total.launches, 0u);
    semcache::finalize();
  }
}

KOKKOS_TEST(KokkosLifetimes, AMirrorThatOutlivesARuntimeIsOrdinaryMemory) {
  // Leaked: test_exit.cpp destroys such views. Static, so that a leak checker sees that this is on purpose.
  static auto& old_device = *new Vector(on_last_device("old device", n));
  static auto& old_host = *new Mirror(Kokkos::create_mirror_view(old_device));
  iota(old_device, 5);
  Kokkos::deep_copy(old_host, old_device);  // pending
  semcache::finalize();

  EXPECT_FALSE(semcache::is_tracked(old_host.data()));
  EXPECT_EQ(old_host(n - 1), 5.0 + n - 1);
  Vector device = on_last_device("device", n);
  Mirror host = Kokkos::create_mirror_view(device);
  Kokkos::deep_copy(device, old_host);
  old_host(0) = -1;
  EXPECT_EQ(sum(device), n * 5 + n * (n - 1.0) / 2);
  iota(device);
  Kokkos::deep_copy(old_host, device);
  Kokkos::deep_copy(host, device);
  EXPECT_EQ(old_host(n - 1), n - 1.0);
  EXPECT_EQ(host(n - 1), n - 1.0);
  host = Mirror();
  device = Vector();
  semcache::finalize();
}
