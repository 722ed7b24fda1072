// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

#include <Kokkos_DualView.hpp>

// What goes wrong without a word when a space outside Kokkos forgets a specialisation. (Random numbers: test_algorithms.)
namespace kokkos_silent {
using namespace test;

/// Counts the destructors that ran, where they ran.
struct Witness {
  int* count;
  KOKKOS_FUNCTION Witness() : count(nullptr) {}
  KOKKOS_FUNCTION Witness(const Witness& other) : count(other.count) {}
  KOKKOS_FUNCTION ~Witness() {
    if (count) Kokkos::atomic_add(count, 1);
  }
};

/// Where the native space has more than one instance at all: Threads has one, OpenMP on one thread too.
void expect_different_instances(const std::vector<Exec>& parts) {
  ASSERT_EQ(parts.size(), 2u);
#ifdef KOKKOS_ENABLE_CUDA
  EXPECT_NE(parts[0], parts[1]);
  EXPECT_NE(parts[0].cuda_stream(), parts[1].cuda_stream());
#elif KOKKOS_VERSION >= 40200 && defined(KOKKOS_ENABLE_SERIAL)
  // Generic: not every native space has the member.
  const auto expect_different = [](const auto& one, const auto& other) {
    if constexpr (std::is_same<typename std::decay_t<decltype(one)>::native_type, Kokkos::Serial>::value) {
      EXPECT_NE(one.impl_internal_space_instance(), other.impl_internal_space_instance());
    }
  };
  expect_different(parts[0], parts[1]);
#endif
}

}  // namespace kokkos_silent
using namespace kokkos_silent;

// The kernel itself is unknown: its elements are not trivially copyable.
KOKKOS_TEST(KokkosSilent, DestructorsRunWhereTheElementsAre) {
  Kokkos::View<int, Device> count("count");
  {
    Kokkos::View<Witness*, Device> witnesses("witnesses", 4);
    Kokkos::parallel_for("arm", Range(0, 4), KOKKOS_LAMBDA(int i) { witnesses(i).count = count.data(); });
    Kokkos::fence();
    // The destructors write through a pointer that nobody notices.
    semcache::access(count, semcache::Access::read_write);
  }
  int destroyed = -1;
  Kokkos::deep_copy(destroyed, count);
  EXPECT_EQ(destroyed, 4);
}

KOKKOS_STOCK_TEST(KokkosSilent, PartitionsAreDifferentInstances) {
  expect_different_instances(two_instances());
}

#if SEMCACHE_KOKKOS_IMPL_PARTITION_SPACE
KOKKOS_STOCK_TEST(KokkosSilent, PartitionsMadeByGenericCodeAreDifferentInstances) {
  // A qualified call in a template finds what was declared before it, and explicit specialisations.
  expect_different_instances(Kokkos::Experimental::Impl::impl_partition_space(Exec(), std::vector<int>{1, 1}));
  expect_different_instances(Kokkos::Experimental::Impl::impl_partition_space(Exec(), std::vector<double>{0.5, 0.5}));
}
#endif

#ifdef KOKKOS_ENABLE_CUDA
KOKKOS_STOCK_TEST(KokkosSilent, PartitionsAreAsManyAsWeights) {
  EXPECT_EQ(Kokkos::Experimental::partition_space(Exec(), std::vector<double>{1, 2, 3}).size(), 3u);
}
#endif

KOKKOS_STOCK_TEST(KokkosSilent, DualViewNamesItsSidesByEverySpace) {
  // With the native space as device, modify<Device>() and sync<Device>() are no-ops: both sides have one type.
  Kokkos::DualView<double*, Left, Device> dv("dv", 10);
  dv.modify<Exec>();
  EXPECT_TRUE(dv.need_sync_host());
  dv.clear_sync_state();
  dv.modify<Space>();
  EXPECT_TRUE(dv.need_sync_host());
  dv.clear_sync_state();
  dv.modify<Device>();
  EXPECT_TRUE(dv.need_sync<HostMirrorSpace>());
  dv.clear_sync_state();
  dv.modify<HostMirrorSpace>();
  EXPECT_TRUE(dv.need_sync<Device>());
}

KOKKOS_STOCK_TEST(KokkosSilent, MDRangeTilesFitTheDevice) {
  // On a GPU the generic limits abort at run time.
  Kokkos::View<double****, Device> v("v", 5, 6, 7, 8);
  Kokkos::parallel_for(
      "md4", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<4>>({0, 0, 0, 0}, {5, 6, 7, 8}),
      KOKKOS_LAMBDA(int i, int j, int k, int l) { v(i, j, k, l) = 1; });
  double total = 0;
  Kokkos::parallel_reduce(
      "sum", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<4>>({0, 0, 0, 0}, {5, 6, 7, 8}),
      KOKKOS_LAMBDA(int i, int j, int k, int l, double& update) { update += v(i, j, k, l); }, total);
  EXPECT_EQ(total, 5 * 6 * 7 * 8.0);
}

KOKKOS_STOCK_TEST(KokkosSilent, CommunicationBuffersLandInTheCache) {
  // Tpetra allocates them in ExecutionSpace::memory_space.
  static_assert(std::is_same<Exec::memory_space, Space>::value, "");
  Kokkos::View<char*, Exec> buffer("buffer", 10);
  EXPECT_TRUE(semcache::is_tracked(buffer.data()));
}

KOKKOS_STOCK_TEST(KokkosSilent, NoLeftoverCapturesFromNativeLaunches) {
  Vector x("x", 4096), y("y", 10);
  auto h = Kokkos::create_mirror_view(x);
  Kokkos::parallel_for("native", Kokkos::RangePolicy<semcache::kokkos::NativeExec>(0, 10),
                       KOKKOS_LAMBDA(int i) { x(i) = 1; });
  Kokkos::fence();
  Kokkos::deep_copy(h, x);
  semcache::access(h, semcache::Access::read);
  const Since since;
  Kokkos::parallel_for("ours", Range(0, 10), KOKKOS_LAMBDA(int i) { y(i) = 1; });
  Kokkos::deep_copy(h, x);
  semcache::access(h, semcache::Access::read);
  EXPECT_EQ(since.d2h(), 0u);
}
