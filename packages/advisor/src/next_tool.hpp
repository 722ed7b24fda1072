// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "tools_interface.hpp"

namespace semcache::advisor {

/// The callbacks of the tool behind the advisor in Kokkos' list of tools; null where it has none. Kokkos itself loads the first
/// library of the list alone and leaves the rest to it.
struct NextTool {
#define SEMCACHE_ADVISOR_MEMBER(name, parameters, arguments) void(*name) parameters = nullptr;
  SEMCACHE_ADVISOR_CALLBACKS(SEMCACHE_ADVISOR_MEMBER)
#undef SEMCACHE_ADVISOR_MEMBER
  bool loaded = false;
};

/// Returns the next tool, loaded at the first call from KOKKOS_TOOLS_LIBS or KOKKOS_PROFILE_LIBRARY. One that cannot be loaded is a
/// line on stderr.
[[nodiscard]] const NextTool& next_tool() noexcept;

}  // namespace semcache::advisor
