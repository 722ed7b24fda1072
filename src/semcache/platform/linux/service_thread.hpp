// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::platform::detail {

/// The first that a thread of ours does: it takes a name, and may run wherever the process's cpuset permits. Its creator may be
/// bound to a processor that it keeps busy, while others wait for what this thread serves.
void begin_service_thread(const char* name) noexcept;

}  // namespace semcache::platform::detail
