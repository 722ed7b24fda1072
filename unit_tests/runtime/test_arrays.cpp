// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace semcache::runtime {
namespace {

constexpr std::size_t bytes = 8192;

TEST(Arrays, ASideIsADeviceArrayOrItsHostArray) {
  void* const device = allocate_device("device", bytes);
  void* const other = allocate_device("other", bytes);
  void* const host = allocate_host("host", bytes, device);
  int foreign = 0;
  EXPECT_TRUE(are_sides_of_one_array(device, host));
  EXPECT_FALSE(are_sides_of_one_array(other, host));
  EXPECT_FALSE(are_sides_of_one_array(host, device));
  EXPECT_FALSE(are_sides_of_one_array(device, device));
  EXPECT_FALSE(are_sides_of_one_array(host, host));
  EXPECT_FALSE(are_sides_of_one_array(&foreign, host));
  EXPECT_TRUE(notices_host_accesses(host));
  EXPECT_FALSE(notices_host_accesses(device));
  EXPECT_FALSE(notices_host_accesses(&foreign));
  for (void* const address : {host, device, other}) deallocate(address);
  EXPECT_FALSE(are_sides_of_one_array(device, host));
  EXPECT_FALSE(notices_host_accesses(host));
}

/// The content of a freed array that another array wants stays at the address, where no array is any more.
TEST(Arrays, ASavedCopyIsNoSideAndNoticesNothing) {
  void* const device = allocate_device("device", bytes);
  void* const host = allocate_host("host", bytes);
  void* const wants_device = allocate_host("wants device", bytes);
  void* const wants_host = allocate_device("wants host", bytes);
  {
    const LibraryUse use{device, bytes, Access::overwrite};
    const Launch launch(queue_of(nullptr), &use, 1);
    std::memset(device, 1, bytes);
  }
  std::memset(host, 2, bytes);
  copy(wants_device, device, bytes, {});
  copy(wants_host, host, bytes, {});
  deallocate(device);
  deallocate(host);
  EXPECT_EQ(statistics().snapshot_bytes, bytes) << "of saved copies in place, those on the device are counted";
  EXPECT_FALSE(are_sides_of_one_array(device, host));
  EXPECT_FALSE(notices_host_accesses(host));
  EXPECT_FALSE(notices_host_accesses(device));
  EXPECT_EQ(*static_cast<char*>(wants_device), 1);
  deallocate(wants_device);
  deallocate(wants_host);
}

TEST(Arrays, WhatIsMissingCanBeAsked) {
  void* const device = allocate_device("device", bytes);
  auto* const host = static_cast<std::byte*>(allocate_host("host", bytes, device));
  std::memset(host, 1, bytes);
  const Counters before = statistics().total;
  EXPECT_EQ(missing_bytes(device, bytes).from_host, bytes);
  EXPECT_EQ(missing_bytes(static_cast<std::byte*>(device) + 100, 50).from_host, 50u);
  EXPECT_EQ(missing_bytes(host, bytes).from_host, 0u);
  EXPECT_EQ(missing_bytes(device, 0).from_host, 0u);
  EXPECT_EQ(missing_bytes(device, bytes).from_devices, (std::vector<std::uint64_t>{0}));
  EXPECT_THROW((void)missing_bytes(device, bytes + 1), UsageError);
  int foreign = 0;
  EXPECT_THROW((void)missing_bytes(&foreign, sizeof foreign), UsageError);
  EXPECT_EQ(statistics().total.h2d.bytes, before.h2d.bytes) << "nothing moves";
  access(device, bytes, Access::read_write);
  EXPECT_EQ(missing_bytes(device, bytes).from_host, 0u);
  EXPECT_EQ(missing_bytes(host, bytes).from_devices, (std::vector<std::uint64_t>{bytes}));
  deallocate(host);
  deallocate(device);
}

/// Computes the sum of an array's bytes, as a library's routine on the device would.
std::uint64_t sum_of(const void* array, bool& computed) {
  const DerivedValue::Input input{array, bytes};
  DerivedValue sum("sum of bytes", nullptr, 0, &input, 1, sizeof(std::uint64_t), 0);
  computed = !sum.is_computed();
  if (computed) {
    const LibraryUse uses[] = {{array, bytes, Access::read}, {sum.data(), sizeof(std::uint64_t), Access::overwrite}};
    {
      const Launch launch(queue_of(nullptr), uses, 2);
      std::uint64_t total = 0;
      for (std::size_t i = 0; i < bytes; ++i) total += static_cast<const unsigned char*>(array)[i];
      std::memcpy(sum.data(), &total, sizeof total);
    }
    sum.note_computed();
  }
  const LibraryUse use{sum.data(), sizeof(std::uint64_t), Access::read};
  const Launch launch(queue_of(nullptr), &use, 1);
  std::uint64_t total = 0;
  std::memcpy(&total, sum.data(), sizeof total);
  return total;
}

TEST(DerivedValues, AreComputedOnceForEachContent) {
  void* const device = allocate_device("device", bytes);
  auto* const host = static_cast<char*>(allocate_host("host", bytes, device));
  std::memset(host, 1, bytes);
  bool computed = false;
  EXPECT_EQ(sum_of(device, computed), bytes);
  EXPECT_TRUE(computed);
  EXPECT_EQ(sum_of(device, computed), bytes);
  EXPECT_FALSE(computed);
  EXPECT_EQ(statistics().derived_bytes, sizeof(std::uint64_t));
  host[17] = 3;  // noticed by its page fault
  EXPECT_EQ(sum_of(device, computed), bytes + 2);
  EXPECT_TRUE(computed);
  deallocate(host);
  EXPECT_EQ(sum_of(device, computed), bytes + 2);
  deallocate(device);
  EXPECT_EQ(statistics().derived_bytes, 0u) << "they leave with their input";
}

TEST(DerivedValues, RefuseWhatCannotBe) {
  void* const device = allocate_device("device", bytes);
  const auto derive = [&](const DerivedValue::Input& input, std::size_t size, std::uint32_t on) {
    const DerivedValue value("nothing", nullptr, 0, &input, 1, size, on);
  };
  int foreign = 0;
  EXPECT_THROW(derive({device, bytes}, 0, 0), UsageError);
  EXPECT_THROW(derive({device, bytes}, 8, 7), UsageError);
  EXPECT_THROW(derive({&foreign, sizeof foreign}, 8, 0), UsageError);
  EXPECT_THROW(derive({device, bytes + 1}, 8, 0), UsageError);
  EXPECT_THROW(derive({device, 100, 3, 50}, 8, 0), UsageError);
  EXPECT_THROW(derive({device, 100, 3}, 8, 0), UsageError);
  EXPECT_THROW(DerivedValue(nullptr, nullptr, 0, nullptr, 0, 8, 0), UsageError);
  EXPECT_THROW(DerivedValue("nothing", nullptr, 1, nullptr, 0, 8, 0), UsageError);
  EXPECT_NO_THROW(derive({device, 100, 3, 200}, 8, 0));
  deallocate(device);
  EXPECT_EQ(statistics().derived_bytes, 0u);
}

TEST(DerivedValues, DependOnWhichInputsHaveBytes) {
  void* const device = allocate_device("device", bytes);
  fill(device, bytes, "x", 1, {});
  const auto find = [&](std::size_t first, std::size_t second, bool compute) {
    const DerivedValue::Input inputs[] = {{device, first}, {device, second}};
    DerivedValue value("two inputs", nullptr, 0, inputs, 2, 8, 0);
    const bool found = value.is_computed();
    if (compute) {
      const LibraryUse uses[] = {{device, bytes, Access::read}, {value.data(), 8, Access::overwrite}};
      {
        const Launch launch(queue_of(nullptr), uses, 2);
        std::memset(value.data(), 1, 8);
      }
      value.note_computed();
    }
    return found;
  };
  EXPECT_FALSE(find(bytes, 0, true));
  EXPECT_TRUE(find(bytes, 0, false));
  EXPECT_FALSE(find(0, bytes, false));
  deallocate(device);
}

/// Where the parameters end and the inputs begin belongs to what a value depends on.
TEST(DerivedValues, DependOnHowManyParametersAndInputsThereAre) {
  void* const device = allocate_device("device", bytes);
  fill(device, bytes, "x", 1, {});
  const unsigned char parameters[] = {7, 1};
  const DerivedValue::Input inputs[] = {{device, 0}, {device, bytes}};
  {
    DerivedValue value("either", parameters, 1, inputs, 2, 8, 0);
    {
      const LibraryUse use{value.data(), 8, Access::overwrite};
      const Launch launch(queue_of(nullptr), &use, 1);
      std::memset(value.data(), 1, 8);
    }
    value.note_computed();
  }
  EXPECT_TRUE(DerivedValue("either", parameters, 1, inputs, 2, 8, 0).is_computed());
  EXPECT_FALSE(DerivedValue("either", parameters, 2, inputs + 1, 1, 8, 0).is_computed());
  deallocate(device);
}

}  // namespace
}  // namespace semcache::runtime
