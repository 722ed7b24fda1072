// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

/// Messages that name the array, and mostly end the process, because an access that cannot be served must not pass silently (I8).
/// All trackers share them. Async-signal-safe.
namespace semcache::platform::detail {

/// The origin of an access to a page that cannot be opened for it: the thread that serves faults, the driver's code, or a forked
/// child.
enum class By : std::uint8_t { service, driver, child };
[[noreturn]] void die_of_touch(By who, const void* address) noexcept;
/// Ends the process because another thread made the access inside the runtime.
/// @param context  the handler's third argument, or nullptr
[[noreturn]] void die_in_runtime(const void* address, const void* context) noexcept;
[[noreturn]] void die_impatient(const void* address, unsigned patience_s) noexcept;
/// Ends the process because a signal handler used more than its signal stack.
[[noreturn]] void die_of_overrun(const void* address, const void* context) noexcept;

/// Writes a line, once per process: the access waits, and work that it waits for is under way.
void mention_long_work(const void* address, unsigned patience_s) noexcept;

/// Writes a line about an access to a device's memory, if `address` lies in it. On devices that the host reaches, this memory is
/// closed to the host under SEMCACHE_CHECK, and where no array is stored.
void mention_device_memory(const void* address) noexcept;

}  // namespace semcache::platform::detail
