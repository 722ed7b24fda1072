// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

/// The statement of the program for which something was counted.
namespace semcache::trace::detail {

/// Addresses inside the calls that are under way, innermost first; or the instruction with which another thread accessed host
/// memory.
struct CallStack {
  static constexpr std::size_t most = 48;  ///< outer calls are left out
  std::array<std::uintptr_t, most> addresses{};
  std::size_t depth = 0;
  bool host_access = false;  ///< an access: it has one address, or none if the instruction is not known
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

/// Returns the calls under way of this thread. Costs some microseconds.
[[nodiscard]] CallStack current_stack() noexcept;

/// Returns the innermost call in a function of the program, which is a function that belongs neither to SemCache, Kokkos or the
/// standard library, nor to an interface that SemCache replaces (MPI). It reads "solve.cpp:42 in solve", without debug
/// information "program+0x4a1c in solve", without a symbol "program+0x4a1c", which `addr2line -Cfipe program 0x4a1c` resolves. In
/// a stripped program that holds the runtime itself, functions cannot be told apart, so the result lists all calls:
/// "program+0x4a1c < program+0x5b00 < ...". For an access the text begins with "host access".
/// Slow (symbol tables): for reports only.
[[nodiscard]] std::string describe(const CallStack& stack);

}  // namespace semcache::trace::detail
