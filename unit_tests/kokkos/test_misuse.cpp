// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <cstring>
#include <thread>
#include <vector>

// Programs that hide what they use: right although unknown, and reported.
namespace kokkos_misuse {
using namespace test;

/// A device array whose content is a copy that has not been made yet, and the host array that it comes from.
struct Pending {
  Pending() : device("pending", 4096), host(Kokkos::create_mirror_view(device)) {
    for (int i = 0; i < 4096; ++i) host(i) = i;
    Kokkos::deep_copy(device, host);
  }
  Vector device;
  semcache::kokkos::host_mirror_t<Vector> host;
  [[nodiscard]] double back(int i) const {
    Kokkos::deep_copy(host, device);
    return host(i);
  }
};

/// Memory that is none of ours, and in which a kernel can follow a pointer.
#ifdef KOKKOS_ENABLE_CUDA
using Managed = Kokkos::CudaUVMSpace;
using Pinned = Kokkos::CudaHostPinnedSpace;
using Foreign = Kokkos::CudaSpace;
#else
using Managed = Kokkos::HostSpace;
using Pinned = Kokkos::HostSpace;
using Foreign = Kokkos::HostSpace;
#endif

using Unmanaged = Kokkos::View<double*, Left, Device, Kokkos::MemoryUnmanaged>;
struct Holder {
  Vector view;
};
using Holders = Kokkos::View<Holder*, Left, Device>;

void add_one_behind(Holder* pointer) {
  Kokkos::parallel_for("pointer", Range(0, 4096), KOKKOS_LAMBDA(int i) { pointer->view(i) += 1; });
}

template <class Outer>
void add_one_within(const Outer& outer) {
  Kokkos::parallel_for("nested", Range(0, 4096), KOKKOS_LAMBDA(int i) { outer(1)(i) += 1; });
}

/// What kernels reach through pointers in memory is looked through where kernels run on the host; a GPU's launch is unknown.
constexpr std::uint64_t unknown_behind_pointers = semcache::kokkos::native_is_device ? 1 : 0;

/// The struct lies where the host and kernels reach it. Returns how many of its launches are unknown.
template <class MemorySpace>
std::uint64_t follow_struct() {
  Pending x;
  constexpr std::size_t bytes = 4096;  // most of the block has no former content
  void* const memory = Kokkos::kokkos_malloc<MemorySpace>("holder", bytes);
  std::memset(memory, 0, bytes);
  auto* const holder = ::new (memory) Holder{x.device};
  const Since since;
  add_one_behind(holder);
  const std::uint64_t unknown = since.unknown();
  EXPECT_EQ(x.back(4095), 4096.0);
  Kokkos::fence();  // a processor may not touch managed memory under a kernel
  holder->~Holder();
  Kokkos::kokkos_free<MemorySpace>(memory);
  return unknown;
}

/// Behind the struct its block of the heap may hold what was there before, and that may lead anywhere: of several blocks, one at
/// least leads to the struct's View alone.
template <class MemorySpace>
void expect_struct_is_followed() {
  std::uint64_t unknown = follow_struct<MemorySpace>();
  std::vector<void*> taken;  // so that the next struct gets another block
  for (int k = 0; k < 20 && unknown != unknown_behind_pointers; ++k) {
    taken.push_back(Kokkos::kokkos_malloc<MemorySpace>("taken", 4096));
    unknown = follow_struct<MemorySpace>();
  }
  for (void* const block : taken) Kokkos::kokkos_free<MemorySpace>(block);
  if (!numbers_look_like_pointers) EXPECT_EQ(unknown, unknown_behind_pointers);
}

/// The elements on the device are bytes: nobody constructs or destroys them there.
Holders on_device(const Vector& view) {
  Holders holders(Kokkos::view_alloc("holders", Kokkos::WithoutInitializing), 1);
  auto filled = Kokkos::create_mirror(holders);
  filled(0).view = view;
  Kokkos::deep_copy(holders, filled);
  return holders;
}

/// An outer View that is filled by the host, in the same way.
template <class Inner, class OuterSpace>
void expect_nested_is_followed() {
  Pending x;
  Kokkos::View<Inner*, Left, OuterSpace> outer(Kokkos::view_alloc("outer", Kokkos::WithoutInitializing), 2);
  auto filled = Kokkos::create_mirror(outer);
  filled(0) = filled(1) = x.device;
  Kokkos::deep_copy(outer, filled);
  const Since since;
  add_one_within(outer);
  // What the host can read is looked through.
  constexpr bool is_read =
      !std::is_same<OuterSpace, Device>::value &&
      Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, typename OuterSpace::memory_space>::accessible;
  EXPECT_EQ(since.unknown(), is_read ? 0u : 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}

}  // namespace kokkos_misuse
using namespace kokkos_misuse;

KOKKOS_TEST(KokkosMisuse, StructOfViewsBehindAPointerInManagedMemory) { expect_struct_is_followed<Managed>(); }
KOKKOS_TEST(KokkosMisuse, StructOfViewsBehindAPointerInPinnedMemory) { expect_struct_is_followed<Pinned>(); }

KOKKOS_TEST(KokkosMisuse, StructOfViewsInADeviceView) {
  Pending x;
  const Holders holders = on_device(x.device);
  const Since since;
  Kokkos::parallel_for("struct", Range(0, 4096), KOKKOS_LAMBDA(int i) { holders(0).view(i) += 1; });
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}

// A kernel has captured the array as one of structs with views.
KOKKOS_TEST(KokkosMisuse, StructOfViewsBehindAPointerToADeviceView) {
  Pending x;
  const Holders holders = on_device(x.device);
  Kokkos::parallel_for("struct", Range(0, 4096), KOKKOS_LAMBDA(int i) { holders(0).view(i) = 6; });
  for (int i = 0; i < 4096; ++i) x.host(i) = i;
  Kokkos::deep_copy(x.device, x.host);
  const Since since;
  add_one_behind(holders.data());
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}

// Else a raw pointer into a device array is a use of that array and of nothing that it leads to.
KOKKOS_TEST(KokkosMisuse, StructOfViewsBehindAPointerToADeviceViewIsAnnounced) {
  Pending x;
  const Holders holders = on_device(x.device);
  semcache::access(x.device, semcache::Access::read_write);
  add_one_behind(holders.data());
  EXPECT_EQ(x.back(4095), 4096.0);
}

KOKKOS_TEST(KokkosMisuse, ViewOfViewsFilledByItsMirror) { expect_nested_is_followed<Vector, Device>(); }
KOKKOS_TEST(KokkosMisuse, ViewOfViewsInForeignMemory) { expect_nested_is_followed<Vector, Foreign>(); }
KOKKOS_TEST(KokkosMisuse, ViewOfViewsInManagedMemory) { expect_nested_is_followed<Vector, Managed>(); }
KOKKOS_TEST(KokkosMisuse, ViewOfViewsInPinnedMemory) { expect_nested_is_followed<Vector, Pinned>(); }
// Without a record in host memory, whose address would give them away.
KOKKOS_TEST(KokkosMisuse, ViewOfUnmanagedViewsFilledByItsMirror) { expect_nested_is_followed<Unmanaged, Device>(); }
KOKKOS_TEST(KokkosMisuse, ViewOfUnmanagedViewsInForeignMemory) { expect_nested_is_followed<Unmanaged, Foreign>(); }
KOKKOS_TEST(KokkosMisuse, ViewOfUnmanagedViewsInManagedMemory) { expect_nested_is_followed<Unmanaged, Managed>(); }
KOKKOS_TEST(KokkosMisuse, ViewOfUnmanagedViewsInPinnedMemory) { expect_nested_is_followed<Unmanaged, Pinned>(); }

KOKKOS_TEST(KokkosMisuse, ViewOfViews) {
  Pending x;
  Kokkos::View<Vector*, Left, Device> outer(Kokkos::view_alloc("outer", Kokkos::WithoutInitializing), 2);
  Vector inner = x.device;
  Kokkos::parallel_for(
      "place", Range(0, 1), KOKKOS_LAMBDA(int) {
        new (&outer(0)) Vector(inner);
        new (&outer(1)) Vector(inner);
      });
  for (int i = 0; i < 4096; ++i) x.host(i) = 7;
  Kokkos::deep_copy(x.device, x.host);
  const Since since;
  Kokkos::parallel_for("nested", Range(0, 4096), KOKKOS_LAMBDA(int i) { outer(1)(i) += 1; });
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 8.0);
  Kokkos::parallel_for(
      "end", Range(0, 2), KOKKOS_LAMBDA(int i) { outer(i).~Vector(); });
}

#ifndef KOKKOS_ENABLE_CUDA  // a GPU cannot follow pointers to a stack
KOKKOS_TEST(KokkosMisuse, StructOfViewsOnTheStack) {
  Pending x;
  Holder holder{x.device};
  const Since since;
  add_one_behind(&holder);
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}

KOKKOS_TEST(KokkosMisuse, CaptureByReference) {
  Pending x;
  const Since since;
  Kokkos::parallel_for("reference", Range(0, 4096), [&](int i) { x.device(i) += 1; });
  EXPECT_EQ(since.unknown(), 1u);
  EXPECT_EQ(x.back(4095), 4096.0);
}
#endif

KOKKOS_TEST(KokkosMisuse, RawPointerInALambda) {
  Pending x;
  double* raw = x.device.data();
  Kokkos::parallel_for("raw", Range(0, 4096), KOKKOS_LAMBDA(int i) { raw[i] += 1; });
  Kokkos::fence();
  EXPECT_EQ(x.back(4095), 4096.0);
}

// Of memory that is not ours there is nothing to announce; of ours that was freed there is something to say.
KOKKOS_TEST(KokkosMisuse, AnnouncingAnArrayThatWasFreed) {
  using UnmanagedMirror = Kokkos::View<double*, Left, HostMirrorSpace, Kokkos::MemoryUnmanaged>;
  double* device = nullptr;
  double* host = nullptr;
  {
    const Pending x;
    device = x.device.data();
    host = x.host.data();
  }
  const Unmanaged freed(device, 4096);
  const UnmanagedMirror freed_mirror(host, 4096);
  for (const semcache::Access mode : {semcache::Access::read, semcache::Access::overwrite}) {
    EXPECT_THROW(semcache::access(freed, mode), semcache::UsageError);
    EXPECT_THROW(semcache::access(freed_mirror, mode), semcache::UsageError);
  }
  EXPECT_THROW(semcache::settle(freed), semcache::UsageError);
  EXPECT_THROW(semcache::settle(freed_mirror), semcache::UsageError);
  std::vector<double> plain(10);
  const Kokkos::View<double*, Kokkos::HostSpace> elsewhere("elsewhere", 10);
  EXPECT_NO_THROW(semcache::settle(Unmanaged(plain.data(), 10)));
  EXPECT_NO_THROW(semcache::settle(elsewhere));
  EXPECT_NO_THROW(semcache::access(elsewhere, semcache::Access::write));
  EXPECT_NO_THROW(semcache::settle(Vector()));
}

KOKKOS_TEST(KokkosMisuse, FreeingAViewWithAPendingCopy) {
  Vector target("target", 4096);
  {
    Vector source("source", 4096);
    iota(source);
    Kokkos::deep_copy(target, source);
  }
  EXPECT_EQ(sum(target), 4096 * 4095 / 2.0);
  auto h = Kokkos::create_mirror_view(target);
  {
    Vector source("source", 4096);
    iota(source, 1, 0);
    Kokkos::deep_copy(h, source);
  }
  EXPECT_EQ(h(4095), 1.0);
  {
    auto from = Kokkos::create_mirror_view(target);
    for (int i = 0; i < 4096; ++i) from(i) = 2;
    Kokkos::deep_copy(target, from);
  }
  EXPECT_EQ(sum(target), 8192.0);
}

KOKKOS_TEST(KokkosMisuse, FreeingTheTargetOfAPendingCopy) {
  Vector source("source", 4096);
  iota(source);
  for (int round = 0; round < 10; ++round) {
    Vector target("target", 4096);
    Kokkos::deep_copy(target, source);
  }
  EXPECT_EQ(sum(source), 4096 * 4095 / 2.0);
}

KOKKOS_TEST(KokkosMisuse, OverwritingASourceBehindACopy) {
  Vector a("a", 4096);
  auto h = Kokkos::create_mirror_view(a);
  for (int round = 0; round < 10; ++round) {
    iota(a, round, 0);
    Kokkos::deep_copy(h, a);
    iota(a, -1, 0);  // before anybody read h
    ASSERT_EQ(h(4095), round);
    ASSERT_EQ(sum(a), -4096.0);
  }
}

KOKKOS_TEST(KokkosMisuse, LeakedView) {
  // Kokkos::finalize and the end of the process must pass. Static, so that a leak checker sees that this is on purpose.
  static auto* const leaked = new Vector("leaked", 1000);
  static auto* const mirror = new semcache::kokkos::host_mirror_t<Vector>(Kokkos::create_mirror_view(*leaked));
  iota(*leaked);
  Kokkos::deep_copy(*mirror, *leaked);
  EXPECT_EQ((*mirror)(999), 999.0);
}

KOKKOS_TEST(KokkosMisuse, HostThreadsOnOneMirror) {
  Vector a("a", 1 << 16);
  iota(a);
  auto h = Kokkos::create_mirror_view(a);
  Kokkos::deep_copy(h, a);
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1 << 16; ++i) sums[t] += h(i);
    });
  for (auto& thread : threads) thread.join();
  for (double s : sums) EXPECT_EQ(s, 65536.0 * 65535 / 2);
}
