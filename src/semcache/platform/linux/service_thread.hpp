// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <pthread.h>

namespace semcache::platform::detail {

/// Starts a thread of ours, which blocks all signals but those that report its own errors, and may run wherever the process's cpuset
/// permits: its creator may be bound to a processor that it keeps busy, while others wait for what this thread serves.
/// @throws SystemError
[[nodiscard]] pthread_t start_service_thread(void* (*run)(void*), void* argument);
/// The first that it does.
void begin_service_thread(const char* name) noexcept;

}  // namespace semcache::platform::detail
