// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

/// Ends of the process that name the array: what cannot be served is never served silently (I8). The same for all
/// trackers. Async-signal-safe.
namespace semcache::platform::detail {

/// Who touched a page that cannot be opened for it: the thread that serves faults, the driver's code, a forked child.
enum class By : std::uint8_t { service, driver, child };
[[noreturn]] void die_of_touch(By who, const void* address) noexcept;
/// By another one, inside the runtime. @param context  a handler's third argument, where there is one
[[noreturn]] void die_in_runtime(const void* address, const void* context) noexcept;
[[noreturn]] void die_impatient(const void* address, unsigned patience_s) noexcept;
/// Somebody has left the signal stack at its end.
[[noreturn]] void die_of_overrun(const void* address, const void* context) noexcept;

/// A line, once per process: the access waits, and whatever it waits for is under way.
void mention_long_work(const void* address, unsigned patience_s) noexcept;

/// A line about an access to a device's memory, where `address` is in it. On devices that the host reaches it is closed
/// under SEMCACHE_CHECK and where nothing is stored.
void mention_device_memory(const void* address) noexcept;

}  // namespace semcache::platform::detail
