// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The advisor is built without Kokkos, and declares Kokkos' callbacks itself. Here its declarations meet those of the Kokkos in use.
#include <gtest/gtest.h>
#include <impl/Kokkos_Profiling_C_Interface.h>
#include <tools_interface.hpp>

#include <cstddef>
#include <type_traits>

namespace {

/// Are two parameters passed in the same way, and do they mean as many bytes?
template <class A, class B>
constexpr bool passed_alike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    return true;
  } else if constexpr (std::is_class_v<A> && std::is_class_v<B>) {
    return sizeof(A) == sizeof(B) && alignof(A) == alignof(B) && std::is_trivially_copyable_v<A> && std::is_trivially_copyable_v<B>;
  } else {
    return std::is_same_v<A, B>;
  }
}
template <class... A, class... B>
constexpr bool called_alike(void (*)(A...), void (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return (passed_alike<A, B>() && ...);
  } else {
    return false;
  }
}

template <class Ours, class Kokkos>
constexpr bool match = called_alike(static_cast<Ours>(nullptr), static_cast<Kokkos>(nullptr));

// The member of Kokkos' table may have another name than the function that Kokkos looks up.
#define SEMCACHE_MATCH_AS(name, member) \
  EXPECT_TRUE((match<decltype(&kokkosp_##name), decltype(Kokkos_Profiling_EventSet::member)>)) << #name;
#define SEMCACHE_MATCH(name) SEMCACHE_MATCH_AS(name, name)

TEST(ToolsInterface, CallbacksAreThoseOfTheKokkosInUse) {
  SEMCACHE_MATCH_AS(init_library, init)
  SEMCACHE_MATCH_AS(finalize_library, finalize)
  SEMCACHE_MATCH(request_tool_settings)
  SEMCACHE_MATCH(provide_tool_programming_interface)
  SEMCACHE_MATCH(parse_args)
  SEMCACHE_MATCH(print_help)
  SEMCACHE_MATCH(begin_parallel_for)
  SEMCACHE_MATCH(end_parallel_for)
  SEMCACHE_MATCH(begin_parallel_reduce)
  SEMCACHE_MATCH(end_parallel_reduce)
  SEMCACHE_MATCH(begin_parallel_scan)
  SEMCACHE_MATCH(end_parallel_scan)
  SEMCACHE_MATCH_AS(push_profile_region, push_region)
  SEMCACHE_MATCH_AS(pop_profile_region, pop_region)
  SEMCACHE_MATCH(allocate_data)
  SEMCACHE_MATCH(deallocate_data)
  SEMCACHE_MATCH(create_profile_section)
  SEMCACHE_MATCH(start_profile_section)
  SEMCACHE_MATCH(stop_profile_section)
  SEMCACHE_MATCH(destroy_profile_section)
  SEMCACHE_MATCH(profile_event)
  SEMCACHE_MATCH(begin_deep_copy)
  SEMCACHE_MATCH(end_deep_copy)
  SEMCACHE_MATCH(begin_fence)
  SEMCACHE_MATCH(end_fence)
  SEMCACHE_MATCH_AS(dual_view_sync, sync_dual_view)
  SEMCACHE_MATCH_AS(dual_view_modify, modify_dual_view)
  SEMCACHE_MATCH(declare_metadata)
}

TEST(ToolsInterface, KokkosHasNoOtherCallbacksBeforeThoseOfTuning) {
#define SEMCACHE_ONE(name, parameters, arguments) +1
  constexpr std::size_t ours = 0 SEMCACHE_ADVISOR_CALLBACKS(SEMCACHE_ONE);
  EXPECT_EQ(offsetof(Kokkos_Profiling_EventSet, profiling_padding), ours * sizeof(void (*)()));
}

TEST(ToolsInterface, WhatIsPassedByAddressIsLaidOutAlike) {
  EXPECT_EQ(sizeof(SpaceHandle), sizeof(Kokkos_Profiling_SpaceHandle));
  EXPECT_EQ(sizeof(ToolSettings), sizeof(Kokkos_Tools_ToolSettings));
  EXPECT_EQ(offsetof(ToolSettings, requires_global_fencing), offsetof(Kokkos_Tools_ToolSettings, requires_global_fencing));
  EXPECT_EQ(sizeof(ToolProgrammingInterface), sizeof(Kokkos_Tools_ToolProgrammingInterface));
  EXPECT_EQ(offsetof(ToolProgrammingInterface, fence), offsetof(Kokkos_Tools_ToolProgrammingInterface, fence));
}

}  // namespace
