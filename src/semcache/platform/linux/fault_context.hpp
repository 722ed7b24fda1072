// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/platform/platform.hpp>

#include <cstdint>

/// What a signal context tells about an access. One file per processor; the generic one knows nothing.
namespace semcache::platform::detail {

struct FaultContext {
  FaultKind kind = FaultKind::unknown;
  std::uintptr_t instruction = 0;     ///< 0: unknown
  std::uintptr_t return_address = 0;  ///< where a leaf function returns to; meaningful for leaf functions only
};

}  // namespace semcache::platform::detail

#if defined(__x86_64__)
#include <semcache/platform/linux/fault_context_x86_64.hpp>
#elif defined(__aarch64__)
#include <semcache/platform/linux/fault_context_aarch64.hpp>
#else
#include <semcache/platform/linux/fault_context_generic.hpp>
#endif
