// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

/// Which statement of the program something happened for.
namespace semcache::trace::detail {

/// Addresses inside the calls that are under way, innermost first; or where another thread accessed host memory.
struct CallStack {
  static constexpr std::size_t most = 48;  ///< outer calls are left out
  std::array<std::uintptr_t, most> addresses{};
  std::size_t depth = 0;
  bool host_access = false;  ///< one address, or none where it is not known
};

[[nodiscard]] inline bool operator==(const CallStack& a, const CallStack& b) noexcept {
  return a.depth == b.depth && a.host_access == b.host_access && a.addresses == b.addresses;
}

struct HashOfCallStack {
  [[nodiscard]] std::size_t operator()(const CallStack& stack) const noexcept {
    std::size_t hash = stack.depth;
    for (std::size_t i = 0; i < stack.depth; ++i) hash = hash * 0x9e3779b97f4a7c15u + stack.addresses[i];
    return hash;
  }
};

/// Of this thread. A microsecond or some.
[[nodiscard]] CallStack current_stack() noexcept;

/// The innermost call in a function that is neither SemCache's nor Kokkos', the standard library's or an interface that
/// we stand in for (MPI): "solve.cpp:42 in solve", without debug information "program+0x4a1c in solve", without a symbol
/// "program+0x4a1c", which `addr2line -Cfipe program 0x4a1c` resolves. In a stripped program that holds the runtime
/// itself nothing tells whose a function is: all calls, "program+0x4a1c < program+0x5b00 < ...".
/// An access begins with "host access". Slow (symbol tables): for reports only.
[[nodiscard]] std::string describe(const CallStack& stack);

}  // namespace semcache::trace::detail
