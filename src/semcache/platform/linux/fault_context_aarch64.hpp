// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <ucontext.h>

#include <cstring>

namespace semcache::platform::detail {

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

}  // namespace semcache::platform::detail
