// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace semcache::runtime {
namespace {

using device::DeviceKind;
using Devices = std::vector<int>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The text of the error of this type; empty if there is none.
template <class Error>
std::string error_from(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

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

TEST(DeviceChoice, AMachineForEmulatedDevicesIsReportedAsNotUsedOnAGpu) {
  Configuration c;
  c.emulated_machine.emplace();
  const auto said = [&](DeviceChoice choice) {
    c.device = choice;
    ::testing::internal::CaptureStderr();
    try {
      (void)make_devices(c, nullptr);
    } catch (const Error&) {  // there is no GPU
    }
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_TRUE(contains(said(DeviceChoice::cuda), "warning: SEMCACHE_EMULATED_MACHINE has no effect, because the devices are GPUs"));
  EXPECT_EQ(said(DeviceChoice::emulated), "");
}

/// What is asked for, and by whom.
struct Asked {
  int count = 0;
  Devices list = {};
  std::optional<int> framework = {};  ///< the device that Kokkos has chosen
  int local_rank = -1;
  int visible = 4;
  DeviceKind kind = DeviceKind::cuda;
  bool forced = true;
  std::vector<std::uint64_t> budgets = {};
  const char* from = "SEMCACHE_DEVICES";
};
std::ostream& operator<<(std::ostream& out, const Asked& a) {
  out << a.count << " of " << a.visible << ", process " << a.local_rank << ", list";
  for (const int o : a.list) out << " " << o;
  return out << ", Kokkos " << a.framework.value_or(-1);
}

ChosenDevices choose(const Asked& asked) {
  Configuration c;
  c.device_count = asked.list.empty() ? asked.count : static_cast<int>(asked.list.size());
  c.device_ordinals = asked.list;
  c.local_rank = asked.local_rank;
  c.device_budgets = asked.budgets;
  c.devices_from = asked.from;
  const FrameworkDevice kokkos{asked.forced, asked.kind, asked.framework.value_or(0), "Kokkos"};
  return choose_devices(c, asked.framework ? &kokkos : nullptr, asked.kind, asked.visible);
}

TEST(DeviceChoice, ANumberOfDevicesIsTakenByTheRankOnTheNode) {
  const std::pair<Asked, Devices> table[] = {
      {{}, {0}},
      {{0, {}, {}, 0}, {0}},
      {{0, {}, {}, 3}, {3}},
      {{1, {}, {}, 6}, {2}},
      {{2}, {0, 1}},
      {{2, {}, {}, 1}, {2, 3}},
      {{2, {}, {}, 2}, {0, 1}},
      {{3, {}, {}, 1}, {3, 0, 1}},
      {{4, {}, {}, 1}, {0, 1, 2, 3}},
      {{2, {}, {}, INT32_MAX}, {2, 3}},
      {{64, {}, {}, INT32_MAX, 64, DeviceKind::emulated}, choose({64, {}, {}, 0, 64, DeviceKind::emulated}).ordinals},
      {{2, {}, {}, 1, max_devices, DeviceKind::emulated}, {2, 3}},
      {{2, {}, {}, 32, max_devices, DeviceKind::emulated}, {0, 1}},
  };
  for (const auto& [asked, devices] : table) {
    EXPECT_EQ(choose(asked).ordinals, devices) << asked;
    EXPECT_EQ(choose(asked).warning, "") << asked;
  }
}

TEST(DeviceChoice, TheFrameworksDeviceIsHomeAmongANumberOfDevices) {
  const std::pair<Asked, Devices> table[] = {
      {{0, {}, 2}, {2}},
      {{2, {}, 0}, {0, 1}},
      {{2, {}, 1}, {1, 0}},
      {{2, {}, 3, 1}, {3, 2}},
      {{4, {}, 2}, {2, 0, 1, 3}},
      {{2, {}, 3}, {3, 0}},
      {{3, {}, 3}, {3, 0, 1}},
      {{2, {}, 1, 1}, {1, 2}},
      {{2, {}, 0, 1, max_devices, DeviceKind::emulated}, {0, 1}},
      {{1, {}, 0, 1, max_devices, DeviceKind::emulated}, {0}},
      {{2, {}, 1, 0, 4, DeviceKind::cuda, false}, {1, 0}},
  };
  for (const auto& [asked, devices] : table) EXPECT_EQ(choose(asked).ordinals, devices) << asked;
}

TEST(DeviceChoice, AListIsExactlyTheseDevicesWithTheFrameworksFirst) {
  const std::pair<Asked, Devices> table[] = {
      {{0, {1}}, {1}},
      {{0, {0, 2}}, {0, 2}},
      {{0, {3, 0, 1}}, {3, 0, 1}},
      {{0, {3, 0, 1}, {}, 2}, {3, 0, 1}},
      {{0, {3, 0, 1}, 3}, {3, 0, 1}},
      {{0, {3, 0, 1}, 0}, {0, 3, 1}},
      {{0, {3, 0, 1}, 1}, {1, 3, 0}},
      {{0, {3, 0}, 1, 0, 4, DeviceKind::cuda, false}, {3, 0}},
      {{0, {100, 7}, {}, 0, max_devices, DeviceKind::emulated}, {100, 7}},
      // Kokkos on the host computes on any emulated device.
      {{0, {1, 3}, 0, 1, max_devices, DeviceKind::emulated}, {1, 3}},
      {{0, {3, 0}, 0, 0, max_devices, DeviceKind::emulated}, {0, 3}},
  };
  for (const auto& [asked, devices] : table) {
    EXPECT_EQ(choose(asked).ordinals, devices) << asked;
    EXPECT_EQ(choose(asked).warning, "") << asked;
  }
}

TEST(DeviceChoice, ErrorsNameWhatDoesNotFitAndTheRemedy) {
  const std::string code = "semcache::use_devices";
  const std::pair<Asked, std::string> table[] = {
      {{5}, "SEMCACHE_DEVICES asks for 5 devices, but 4 CUDA devices are visible (CUDA_VISIBLE_DEVICES). Ask for fewer, or make more "
            "visible."},
      {{2, {}, 0, 0, 1}, "SEMCACHE_DEVICES asks for 2 devices, but 1 CUDA device is visible (CUDA_VISIBLE_DEVICES). Ask for fewer, or make "
                         "more visible."},
      {{0, {0, 4}}, "device 4 does not exist: 4 CUDA devices are visible, numbered from 0 (SEMCACHE_DEVICES, CUDA_VISIBLE_DEVICES)."},
      {{0, {7, 0, 4}}, "devices 7, 4 do not exist: 4 CUDA devices are visible, numbered from 0 (SEMCACHE_DEVICES, CUDA_VISIBLE_DEVICES)."},
      {{0, {1}, {}, 0, 1}, "device 1 does not exist: 1 CUDA device is visible, numbered from 0 (SEMCACHE_DEVICES, CUDA_VISIBLE_DEVICES)."},
      {{2, {}, 5}, "device 5 does not exist: 4 CUDA devices are visible, numbered from 0 (SEMCACHE_DEVICES, CUDA_VISIBLE_DEVICES)."},
      {{0, {1, 2}, 0}, "SEMCACHE_DEVICES names devices 1, 2, but Kokkos chose device 0, which must be one of them. Add device 0, or give a "
                       "number of devices instead of a list."},
      {{0, {3}, 0}, "SEMCACHE_DEVICES names device 3, but Kokkos chose device 0, which must be one of them. Add device 0, or give a number of "
                    "devices instead of a list."},
      {{2, {}, {}, 0, 4, DeviceKind::cuda, true, {1, 2, 3}},
       "SEMCACHE_DEVICE_MEMORY lists 3 numbers, but the process uses 2 devices (SEMCACHE_DEVICES). List one number for each, or give one "
       "number for all."},
      {{0, {}, {}, 0, 4, DeviceKind::emulated, true, {1, 2}},
       "SEMCACHE_DEVICE_MEMORY lists 2 numbers, but the process uses 1 device (SEMCACHE_DEVICES). List one number for each, or give one "
       "number for all."},
  };
  for (const auto& [asked, text] : table) {
    EXPECT_EQ(error_from<ConfigurationError>([&, a = asked] { (void)choose(a); }), text) << asked;
    Asked by_code = asked;
    by_code.from = code.c_str();
    const std::string said = error_from<ConfigurationError>([&] { (void)choose(by_code); });
    EXPECT_TRUE(contains(said, code)) << said;
    EXPECT_FALSE(contains(said, "SEMCACHE_DEVICES")) << said;
  }
  EXPECT_EQ(choose({2, {}, {}, 0, 4, DeviceKind::cuda, true, {1, 2}}).ordinals, (Devices{0, 1})) << "as many budgets as devices";
}

/// Making the first device tells the reason then.
TEST(DeviceChoice, WithoutAnyDeviceTheChoiceIsNoError) {
  EXPECT_EQ(choose({2, {}, {}, 1, 0}).ordinals, (Devices{0, 1}));
  EXPECT_EQ(choose({0, {}, {}, 3, 0}).ordinals, (Devices{0}));
  EXPECT_EQ(choose({0, {5, 6}, {}, 0, 0}).ordinals, (Devices{5, 6}));
  EXPECT_EQ(choose({2, {}, 7, 0, 0}).ordinals.front(), 7);
}

TEST(DeviceChoice, AProcessThatMayShareItsDevicesGetsALine) {
  EXPECT_EQ(choose({0, {}, 0, 1}).warning,
            "process 1 of this node uses CUDA device 0, because Kokkos chose device 0, instead of device 1. If other processes do so too, "
            "give each its own (Kokkos: --kokkos-map-device-id-by=mpi_rank, before 3.7 KOKKOS_NUM_DEVICES=4)");
  EXPECT_EQ(choose({2, {}, 1, 1}).warning,
            "process 1 of this node uses CUDA devices 1, 2, because Kokkos chose device 1, instead of devices 2, 3. If other processes do "
            "so too, give each its own (set CUDA_VISIBLE_DEVICES to them)");
  const Asked silent[] = {
      {0, {}, 1, 1}, {0, {}, 0, 4}, {0, {}, 3, 1},  {0, {}, 0, -1},
      {2, {}, 3, 0},     // the first process of the node, as a process without a launcher
      {2, {}, 2, 1}, {2, {}, 3, 1}, {4, {}, 1, 1},
      {0, {0, 1}, 0, 1},  // a list
      {2, {}, 0, 1, max_devices, DeviceKind::emulated},
  };
  for (const Asked& asked : silent) EXPECT_EQ(choose(asked).warning, "") << asked;
}

TEST(DeviceChoice, EachEmulatedDeviceHasTheMemoryThatIsSaidForIt) {
  Configuration c;
  c.device = DeviceChoice::emulated;
  c.device_count = 2;
  c.device_ordinals = {2, 0};
  c.device_budgets = {1 << 20, 1 << 24};
  const FrameworkDevice kokkos{true, DeviceKind::emulated, 0, "Kokkos"};

  const auto devices = make_devices(c, &kokkos);

  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0]->ordinal(), 0) << "home";
  EXPECT_EQ(devices[0]->total_memory_bytes(), 1u << 20);
  EXPECT_EQ(devices[1]->ordinal(), 2);
  EXPECT_EQ(devices[1]->total_memory_bytes(), 1u << 24);

  c.device_budgets.clear();
  c.device_memory_bytes = 1 << 22;
  for (const auto& device : make_devices(c, nullptr)) EXPECT_EQ(device->total_memory_bytes(), 1u << 22);
}

/// Devices by code, in a process that runs on emulated devices. The environment is as before after each test.
class UseDevices : public testing::Test {
 protected:
  ~UseDevices() override {
    finalize();
    ::unsetenv("SEMCACHE_DEVICES");
    ::unsetenv("SEMCACHE_DEVICE_MEMORY");
    use_devices(1);
  }
  static void start_runtime() { deallocate(allocate_device("first use", 8)); }
};

TEST_F(UseDevices, BeforeTheFirstUseTakesThePlaceOfTheVariable) {
  ::setenv("SEMCACHE_DEVICES", "2", 1);
  use_devices(3);
  EXPECT_EQ(device_count(), 0) << "nothing has started";
  testing::internal::CaptureStderr();

  start_runtime();

  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "SEMCACHE_DEVICES has no effect, because the program has called semcache::use_devices")) << said;
  EXPECT_EQ(device_count(), 3);
  EXPECT_EQ(statistics().device_count, 3);
  finalize();
  EXPECT_EQ(device_count(), 0);

  use_devices({5, 1});
  start_runtime();
  EXPECT_EQ(device_count(), 2);
  EXPECT_EQ(statistics().device_ordinal, 5);
  finalize();
  ::setenv("SEMCACHE_DEVICES", "5,1", 1);
  testing::internal::CaptureStderr();
  start_runtime();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "both ask for the same";
  EXPECT_EQ(device_count(), 2) << "it holds for later starts";
}

TEST_F(UseDevices, AListInBracesIsAList) {
  use_devices({3});
  start_runtime();
  EXPECT_EQ(device_count(), 1);
  EXPECT_EQ(statistics().device_ordinal, 3);
}

TEST_F(UseDevices, WhileTheRuntimeRunsIsAnErrorThatNamesItsDevices) {
  use_devices({2, 0});
  start_runtime();

  for (const auto& call : {std::function<void()>([] { use_devices(1); }), std::function<void()>([] { use_devices({1}); })}) {
    EXPECT_EQ(error_from<UsageError>(call),
              "semcache::use_devices: SemCache runs already, on emulated devices 2, 0. Call it before the first use of SemCache, or after "
              "semcache::finalize.");
  }
  EXPECT_EQ(device_count(), 2);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(contains(error_from<UsageError>([] { use_devices(1); }), "was forked") && device_count() == 0 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a forked child is told so";
  finalize();
  start_runtime();
  EXPECT_EQ(device_count(), 2) << "the refused calls changed nothing";
}

TEST_F(UseDevices, NumbersThatCannotBeUsedAreRefusedByName) {
  use_devices({2, 0});
  for (const int count : {0, -1, 65}) {
    EXPECT_EQ(error_from<ConfigurationError>([&] { use_devices(count); }),
              "semcache::use_devices: " + std::to_string(count) + " is no number of devices. Accepted: a number of devices from 1 to 16, or "
              "a list of distinct devices.");
  }
  const std::pair<Devices, std::string> lists[] = {
      {{}, "the list is empty"}, {{0, -3}, "-3 is not"}, {{1, 0, 1}, "device 1 appears twice"}, {{1024}, "1024 is not"}};
  for (const auto& [list, text] : lists) {
    const std::string said = error_from<ConfigurationError>([&, l = list] { use_devices(l); });
    EXPECT_TRUE(contains(said, text) && contains(said, "semcache::use_devices") && contains(said, "Accepted: ")) << said;
  }
  EXPECT_TRUE(contains(error_from<ConfigurationError>([] { use_devices({}); }), "the list is empty"));
  start_runtime();
  EXPECT_EQ(device_count(), 2) << "the refused calls changed nothing";
}

TEST_F(UseDevices, BudgetsAreCountedAgainstThem) {
  ::setenv("SEMCACHE_DEVICE_MEMORY", "1M,2M", 1);
  const std::string said = error_from<ConfigurationError>([] { start_runtime(); });
  EXPECT_TRUE(contains(said, "lists 2 numbers, but the process uses 1 device")) << said;
  EXPECT_EQ(device_count(), 0);

  use_devices(2);
  start_runtime();
  EXPECT_EQ(statistics().device_budget_bytes, 3u << 20);
}

}  // namespace
}  // namespace semcache::runtime
