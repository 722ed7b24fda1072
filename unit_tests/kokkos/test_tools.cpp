// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <kokkos/support.hpp>

// A Kokkos Tools library that the user loads sees what it sees with a stock space; ours installs no callback.
namespace kokkos_tools {
using namespace test;
namespace Tools = Kokkos::Tools::Experimental;

int allocations, deallocations, kernels, copies;
std::string last_space;

struct Callbacks {
  Callbacks() {
    allocations = deallocations = kernels = copies = 0;
    Tools::set_allocate_data_callback([](const Kokkos::Tools::SpaceHandle space, const char*, const void*, const std::uint64_t) {
      ++allocations;
      last_space = space.name;
    });
    Tools::set_deallocate_data_callback(
        [](const Kokkos::Tools::SpaceHandle, const char*, const void*, const std::uint64_t) { ++deallocations; });
    Tools::set_begin_parallel_for_callback([](const char*, const std::uint32_t, std::uint64_t*) { ++kernels; });
    Tools::set_begin_deep_copy_callback([](Kokkos::Tools::SpaceHandle, const char*, const void*, Kokkos::Tools::SpaceHandle,
                                           const char*, const void*, std::uint64_t) { ++copies; });
  }
  ~Callbacks() { Tools::set_callbacks(Tools::EventSet{}); }
};

}  // namespace kokkos_tools
using namespace kokkos_tools;

KOKKOS_TEST(KokkosTools, SeeAllocationsKernelsAndCopies) {
  Callbacks callbacks;
  {
    Vector a(Kokkos::view_alloc("a", Kokkos::WithoutInitializing), 10);
    EXPECT_EQ(allocations, 1);
    EXPECT_EQ(last_space, "SemCache");
    auto h = Kokkos::create_mirror_view(a);
    EXPECT_EQ(allocations, 2);
    EXPECT_EQ(last_space, "SemCacheHostMirror");
    Kokkos::deep_copy(a, h);
    EXPECT_EQ(copies, 1);
    iota(a);
    EXPECT_EQ(kernels, 1);
  }
  EXPECT_EQ(deallocations, 2);
}

KOKKOS_TEST(KokkosTools, NoneIsLeftInstalled) {
  Vector a("a", 10);
  iota(a);
  const auto installed = Tools::get_callbacks();
  EXPECT_EQ(installed.begin_parallel_for, nullptr);
  EXPECT_EQ(installed.begin_deep_copy, nullptr);
  EXPECT_EQ(installed.allocate_data, nullptr);
}
