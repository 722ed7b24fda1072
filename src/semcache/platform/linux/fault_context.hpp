// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// What a signal's context contains about an access. There is one function per processor; the generic one finds nothing.
namespace semcache::platform::detail {

struct FaultContext {
  FaultKind kind = FaultKind::unknown;
  std::uintptr_t instruction = 0;     ///< address of the instruction that made the access; 0: unknown
  std::uintptr_t return_address = 0;  ///< meaningful only if the instruction is in a leaf function, which returns to this address
};

#if defined(__x86_64__)

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

#elif defined(__aarch64__)

/// Reads the access from a handler's third argument. Async-signal-safe. The syndrome register, which distinguishes reads from
/// writes, lies in a chain of records behind the general registers.
inline FaultContext read_fault_context(const void* context) noexcept {
  const auto* const c = static_cast<const ucontext_t*>(context);
  FaultContext found;
  found.instruction = static_cast<std::uintptr_t>(c->uc_mcontext.pc);
  found.return_address = static_cast<std::uintptr_t>(c->uc_mcontext.regs[30]);

  struct Record {
    std::uint32_t magic;
    std::uint32_t size;
  };
  constexpr std::uint32_t syndrome_magic = 0x45535201;
  const auto* const records = reinterpret_cast<const unsigned char*>(c->uc_mcontext.__reserved);
  std::size_t at = 0;
  while (at + sizeof(Record) + sizeof(std::uint64_t) <= sizeof c->uc_mcontext.__reserved) {
    Record record;
    std::memcpy(&record, records + at, sizeof record);
    if (record.magic == 0 || record.size < sizeof record) break;
    if (record.magic == syndrome_magic) {
      std::uint64_t syndrome = 0;
      std::memcpy(&syndrome, records + at + sizeof record, sizeof syndrome);
      const std::uint64_t exception_class = syndrome >> 26 & 0x3f;
      const bool data_abort = exception_class == 0x24 || exception_class == 0x25;
      if (data_abort) found.kind = (syndrome >> 6 & 1) != 0 ? FaultKind::write : FaultKind::read;
      break;
    }
    at += record.size;
  }
  return found;
}

#else

inline FaultContext read_fault_context(const void*) noexcept { return {}; }

#endif

}  // namespace semcache::platform::detail
