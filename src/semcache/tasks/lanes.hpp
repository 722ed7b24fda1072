// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <cstdint>

namespace semcache::tasks {

/// The streams of a device on which tasks are carried out side by side. A process with more than eight devices has half as many, and lanes beyond
/// these are the same ones again.
inline constexpr std::uint32_t lanes_of_device = 4;

/// A further lane, for short tasks that others wait for: its kernels come before those of other lanes that have not begun. A process with more than
/// eight devices has none, and uses the first lane for it.
inline constexpr std::uint32_t short_lane = lanes_of_device;

/// Returns a lane of a device, made at its first use. It lasts until the runtime ends.
/// @throws UsageError, DeviceError  as `runtime::new_stream`. Threads: any.
[[nodiscard]] SEMCACHE_API runtime::Stream lane(std::uint32_t device, std::uint32_t lane);

/// Notes that a task has been submitted to a lane, for `wait`.
void note_submitted() noexcept;

/// Waits until all tasks are done that any thread has submitted so far. Costs two loads where there are none. @throws DeviceError. Threads: any.
SEMCACHE_API void wait();

}  // namespace semcache::tasks
