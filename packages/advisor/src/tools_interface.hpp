// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

/// Kokkos' tools interface. Kokkos (3.4 to 5) looks these functions up by name, with C linkage, in the first library of its list.
extern "C" {

/// The name of a memory space, such as "Host" or "Cuda".
struct SpaceHandle {
  char name[64];
};

/// What a tool may ask of Kokkos. Later versions take their settings from the padding.
struct ToolSettings {
  bool requires_global_fencing;  ///< Kokkos waits for the device at the begin and end of every kernel
  bool padding[255];
};

/// What Kokkos does for a tool.
struct ToolProgrammingInterface {
  void (*fence)(std::uint32_t device);
  void (*padding[31])();
};

}  // extern "C"

/// All callbacks but those of tuning: X(name, parameters, arguments).
#define SEMCACHE_ADVISOR_CALLBACKS(X)                                                                                             \
  X(init_library, (int sequence, std::uint64_t version, std::uint32_t devices, void* infos), (sequence, version, devices, infos)) \
  X(finalize_library, (), ())                                                                                                     \
  X(request_tool_settings, (std::uint32_t number, ToolSettings* settings), (number, settings))                                    \
  X(provide_tool_programming_interface, (std::uint32_t number, ToolProgrammingInterface actions), (number, actions))              \
  X(parse_args, (int count, char** arguments), (count, arguments))                                                                \
  X(print_help, (char* program), (program))                                                                                       \
  X(begin_parallel_for, (const char* name, std::uint32_t device, std::uint64_t* kernel), (name, device, kernel))                  \
  X(end_parallel_for, (std::uint64_t kernel), (kernel))                                                                           \
  X(begin_parallel_reduce, (const char* name, std::uint32_t device, std::uint64_t* kernel), (name, device, kernel))               \
  X(end_parallel_reduce, (std::uint64_t kernel), (kernel))                                                                        \
  X(begin_parallel_scan, (const char* name, std::uint32_t device, std::uint64_t* kernel), (name, device, kernel))                 \
  X(end_parallel_scan, (std::uint64_t kernel), (kernel))                                                                          \
  X(push_profile_region, (const char* name), (name))                                                                              \
  X(pop_profile_region, (), ())                                                                                                   \
  X(allocate_data, (SpaceHandle space, const char* label, const void* address, std::uint64_t bytes), (space, label, address, bytes))   \
  X(deallocate_data, (SpaceHandle space, const char* label, const void* address, std::uint64_t bytes), (space, label, address, bytes)) \
  X(create_profile_section, (const char* name, std::uint32_t* section), (name, section))                                          \
  X(start_profile_section, (std::uint32_t section), (section))                                                                    \
  X(stop_profile_section, (std::uint32_t section), (section))                                                                     \
  X(destroy_profile_section, (std::uint32_t section), (section))                                                                  \
  X(profile_event, (const char* name), (name))                                                                                    \
  X(begin_deep_copy,                                                                                                              \
    (SpaceHandle to_space, const char* to_label, const void* to, SpaceHandle from_space, const char* from_label, const void* from, \
     std::uint64_t bytes),                                                                                                        \
    (to_space, to_label, to, from_space, from_label, from, bytes))                                                                \
  X(end_deep_copy, (), ())                                                                                                        \
  X(begin_fence, (const char* name, std::uint32_t device, std::uint64_t* fence), (name, device, fence))                           \
  X(end_fence, (std::uint64_t fence), (fence))                                                                                    \
  X(dual_view_sync, (const char* label, const void* address, bool is_device), (label, address, is_device))                        \
  X(dual_view_modify, (const char* label, const void* address, bool is_device), (label, address, is_device))                      \
  X(declare_metadata, (const char* key, const char* value), (key, value))

#define SEMCACHE_ADVISOR_DECLARE(name, parameters, arguments) extern "C" __attribute__((visibility("default"))) void kokkosp_##name parameters;
SEMCACHE_ADVISOR_CALLBACKS(SEMCACHE_ADVISOR_DECLARE)
#undef SEMCACHE_ADVISOR_DECLARE
