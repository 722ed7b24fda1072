// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <ucontext.h>

namespace semcache::platform::detail {

/// Async-signal-safe. `context` is the third argument of a handler; its stack pointer is the faulting thread's. Where it
/// points is no object of ours: AddressSanitizer may have poisoned it.
__attribute__((no_sanitize("address"))) inline FaultContext read_fault_context(const void* context) noexcept {
  const auto* const c = static_cast<const ucontext_t*>(context);
  constexpr greg_t write_bit = 2;
  FaultContext found;
  found.kind = (c->uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? FaultKind::write : FaultKind::read;
  found.instruction = static_cast<std::uintptr_t>(c->uc_mcontext.gregs[REG_RIP]);
  const auto stack = static_cast<std::uintptr_t>(c->uc_mcontext.gregs[REG_RSP]);
  if (stack != 0 && stack % sizeof(std::uintptr_t) == 0) {
    found.return_address = *reinterpret_cast<const std::uintptr_t*>(stack);
  }
  return found;
}

}  // namespace semcache::platform::detail
