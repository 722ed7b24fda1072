// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors

/// Another tool of Kokkos: counts what it hears, and frees memory within a callback, of which Kokkos then tells all tools.
#include "../../packages/advisor/src/tools_interface.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {
int begun = 0, ended = 0, kernels = 0;
std::string names;
}  // namespace

void kokkosp_begin_parallel_for(const char* name, std::uint32_t, std::uint64_t*) {
  if (std::strncmp(name, "Kokkos::", 8) == 0) return;
  ++kernels;
  names += std::string(" ") + name;
}

void kokkosp_begin_deep_copy(SpaceHandle to_space, const char* to_label, const void* to, SpaceHandle, const char*, const void*, std::uint64_t) {
  ++begun;
  const auto heard = reinterpret_cast<decltype(&kokkosp_deallocate_data)>(::dlsym(RTLD_DEFAULT, "kokkosp_deallocate_data"));
  if (heard != nullptr) heard(to_space, to_label, to, 1);
}

void kokkosp_end_deep_copy() { ++ended; }

void kokkosp_finalize_library() {
  std::fprintf(stderr, "other tool: %d kernels%s, %d copies begun, %d ended\n", kernels, names.c_str(), begun, ended);
}
