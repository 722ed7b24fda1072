// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <ucontext.h>

namespace semcache::platform::detail {

/// Reads the access from a handler's third argument, whose stack pointer is the faulting thread's. Async-signal-safe. The word
/// that the stack pointer leads to is no object of ours, so AddressSanitizer may have poisoned it and must not check the read.
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
