// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// What a signal's context contains about an access. There is one function per processor; the generic one finds nothing.
namespace semcache::platform::detail {

struct FaultContext {
  FaultKind kind = FaultKind::unknown;
  int thread = 0;                     ///< the kernel's number of the thread that made the access
  std::uintptr_t instruction = 0;     ///< address of the instruction that made the access; 0: unknown
  std::uintptr_t return_address = 0;  ///< meaningful only if the instruction is in a leaf function, which returns to this address
};

/// Returns the return address of a leaf function from the stack of its thread, which has faulted; 0 on processors that keep it in a
/// register. The word is no object of ours, so sanitizers, which may have poisoned it, must not check the read. Async-signal-safe.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) inline std::uintptr_t return_address_at(
    [[maybe_unused]] std::uintptr_t stack) noexcept {
#if defined(__x86_64__)
  if (stack != 0 && stack % sizeof stack == 0) return *reinterpret_cast<const std::uintptr_t*>(stack);
#endif
  return 0;
}

#if defined(__x86_64__)

/// Reads the access from a handler's third argument, whose stack pointer is the faulting thread's. Async-signal-safe.
inline FaultContext read_fault_context(const void* context) noexcept {
  const auto* const c = static_cast<const ucontext_t*>(context);
  constexpr greg_t write_bit = 2;
  FaultContext found;
  found.kind = (c->uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? FaultKind::write : FaultKind::read;
  found.instruction = static_cast<std::uintptr_t>(c->uc_mcontext.gregs[REG_RIP]);
  found.return_address = return_address_at(static_cast<std::uintptr_t>(c->uc_mcontext.gregs[REG_RSP]));
  return found;
}

#elif defined(__aarch64__)

/// Reads the access from a handler's third argument. Async-signal-safe. The syndrome register, which distinguishes reads from
/// writes, lies in a chain of records behind the general registers.
inline FaultContext read_fault_context(const void* context) noexcept {
  const auto* const c = static_cast<const ucontext_t*>(context);
  FaultContext found;
  found.instruction = static_cast<std::uintptr_t>(c->uc_mcontext.pc);
  found.return_address = static_cast<std::uintptr_t>(c->uc_mcontext.regs[30]);

  const auto* const records = reinterpret_cast<const unsigned char*>(c->uc_mcontext.__reserved);
  esr_context record;
  for (std::size_t at = 0; at + sizeof record <= sizeof c->uc_mcontext.__reserved; at += record.head.size) {
    std::memcpy(&record, records + at, sizeof record);
    if (record.head.magic == 0 || record.head.size < sizeof record.head) break;
    if (record.head.magic != ESR_MAGIC) continue;
    const std::uint64_t exception_class = record.esr >> 26 & 0x3f;
    const bool data_abort = exception_class == 0x24 || exception_class == 0x25;
    if (data_abort) found.kind = (record.esr >> 6 & 1) != 0 ? FaultKind::write : FaultKind::read;
    break;
  }
  return found;
}

#else

inline FaultContext read_fault_context(const void*) noexcept { return {}; }

#endif

}  // namespace semcache::platform::detail
