// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

#include <cstdint>

/// What a signal's context contains about an access. There is one file per processor; the generic one finds nothing.
namespace semcache::platform::detail {

struct FaultContext {
  FaultKind kind = FaultKind::unknown;
  std::uintptr_t instruction = 0;     ///< address of the instruction that made the access; 0: unknown
  std::uintptr_t return_address = 0;  ///< meaningful only if the instruction is in a leaf function, which returns to this address
};

}  // namespace semcache::platform::detail

#if defined(__x86_64__)
#include <semcache/platform/linux/fault_context_x86_64.hpp>
#elif defined(__aarch64__)
#include <semcache/platform/linux/fault_context_aarch64.hpp>
#else
#include <semcache/platform/linux/fault_context_generic.hpp>
#endif
