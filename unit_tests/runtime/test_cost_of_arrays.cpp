// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/own_memory.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

// What an array costs beside its content: host memory, counted where it is asked for.
namespace {

std::atomic<std::uint64_t> asked_for{0};

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
  asked_for.fetch_add(bytes, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<std::size_t>(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  asked_for.fetch_add(bytes, std::memory_order_relaxed);
  return std::malloc(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace semcache::runtime {
namespace {

constexpr std::uint32_t zero = 0;

/// Bytes that were asked for: from malloc, and from the library's own memory.
std::uint64_t asked_in_all() { return asked_for.load() + base::memory_taken(); }

/// Bytes asked for, for each of `count` arrays that live at once.
template <class Allocate>
std::uint64_t cost_of_each(std::size_t count, Allocate&& allocate) {
  std::vector<void*> arrays(count);
  deallocate(allocate());  // what the first one needs once
  const std::uint64_t before = asked_in_all();
  for (void*& array : arrays) array = allocate();
  const std::uint64_t each = (asked_in_all() - before) / count;
  for (void* array : arrays) deallocate(array);
  return each;
}

void* make_mirror() {
  void* mirror = allocate_host("mirror", 4096);
  fill(mirror, 4096, &zero, sizeof zero, QueueId{});
  return mirror;
}

TEST(CostOfArrays, AMirrorCostsNoMoreWhereThereAreMany) {
  EXPECT_LT(cost_of_each(1000, &make_mirror), 2600u);
  EXPECT_LT(cost_of_each(20000, &make_mirror), 2600u);
  finalize();
}

TEST(CostOfArrays, ADeviceArrayCostsNoMoreWhereThereAreMany) {
  const auto make = [] { return allocate_device("array", 4096); };
  EXPECT_LT(cost_of_each(1000, make), 2600u);
  EXPECT_LT(cost_of_each(20000, make), 2600u);
  finalize();
}

/// Eight devices have 25 queues of the runtime's own, and here one of the program on each: an array has room for the uses of those.
TEST(CostOfArrays, AnArrayCostsLittleMoreWhereThereAreEightDevices) {
  const auto device_array = [] { return allocate_device("array", 4096); };
  const auto cost_with = [&](int devices) {
    use_devices(devices);
    for (int d = 0; d < devices; ++d) (void)queue_of(reinterpret_cast<void*>(std::uintptr_t(d)));
    const std::vector<std::uint64_t> bytes{cost_of_each(1000, device_array), cost_of_each(1000, &make_mirror)};
    finalize();
    return bytes;
  };
  const auto one = cost_with(1), eight = cost_with(8);
  use_devices(1);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_LT(static_cast<double>(eight[i]), 1.5 * static_cast<double>(one[i])) << one[i];
}

/// Mirrors that fill their pages, all stale: more of them than the kernel allows mappings.
TEST(CostOfArrays, MoreMirrorsThanTheKernelHasMappings) {
  constexpr std::size_t count = 40000, bytes = 8192;
  void* const array = allocate_device("array", bytes);
  const auto write = [&](double value) {
    const Capture capture{array, nullptr, 0, true, false};
    const Launch launch(queue_of(nullptr), "write", &capture, 1);
    *static_cast<double*>(array) = value;
  };
  write(1);
  std::vector<double*> mirrors(count);
  for (double*& mirror : mirrors) {
    mirror = static_cast<double*>(allocate_host("mirror", bytes));
    copy(mirror, array, bytes, queue_of(nullptr));
  }
  write(2);
  for (const double* mirror : mirrors) ASSERT_EQ(*mirror, 1);
  EXPECT_EQ(statistics().total.opened, 0u);
  for (double* mirror : mirrors) deallocate(mirror);
  deallocate(array);
  finalize();
}

TEST(CostOfArrays, WhatIsFreedIsUsedAgain) {
  EXPECT_LT(cost_of_each(10000, &make_mirror), 2650u);
  const std::uint64_t before = asked_in_all();
  for (int i = 0; i < 1000; ++i) deallocate(make_mirror());
  EXPECT_LT((asked_in_all() - before) / 1000, 500u);
  finalize();
}

}  // namespace
}  // namespace semcache::runtime
