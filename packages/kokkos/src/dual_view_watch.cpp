// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "dual_view_watch.hpp"

#include <semcache/kokkos/exec.hpp>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace semcache::kokkos::detail {
namespace {

namespace tools = Kokkos::Tools::Experimental;

bool watching = false;
decltype(tools::EventSet::allocate_data) next_tool = nullptr;

/// How much of a DualView this thread has seen.
struct Seen {
  bool flags = false;
  const void* device = nullptr;
  std::size_t bytes = 0;
};
thread_local Seen seen;

void note_flags(const Kokkos_Profiling_SpaceHandle space, const char* label, const void* data, const std::uint64_t bytes) {
  // A tool that was set behind this one calls it, and is called from here if SemCache has started since.
  thread_local bool is_inside = false;
  if (is_inside) return;
  is_inside = true;
  if (std::strcmp(label, "DualView::modified_flags") == 0) seen = {true, nullptr, 0};
  if (next_tool != nullptr) next_tool(space, label, data, bytes);
  is_inside = false;
}

// The first DualView of a program may be its first use of SemCache, and its flags come before its arrays. So this begins with the program.
[[maybe_unused]] const bool begun = (watch_dual_views(), true);

}  // namespace

void watch_dual_views() {
  const char* const check = ::secure_getenv("SEMCACHE_CHECK");
  if (check == nullptr || std::strcmp(check, "1") != 0) return;
  const auto now = tools::get_callbacks().allocate_data;
  watching = true;
  if (now == &note_flags) return;
  next_tool = now;
  tools::set_allocate_data_callback(&note_flags);
}

void note_allocation(Side side, const void* data, std::size_t bytes) {
  if (!watching) return;
  const Seen before = std::exchange(seen, {});
  if (side == Side::device) {
    if (before.flags) seen = {false, data, bytes};
  } else if (before.device != nullptr && before.bytes == bytes) {
    runtime::note_dual_view(before.device, data);
  }
}

}  // namespace semcache::kokkos::detail
