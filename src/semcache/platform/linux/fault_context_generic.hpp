// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::platform::detail {

inline FaultContext read_fault_context(const void*) noexcept { return {}; }

}  // namespace semcache::platform::detail
