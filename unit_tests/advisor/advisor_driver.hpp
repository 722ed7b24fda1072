// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>

inline constexpr std::size_t fake_device_bytes = std::size_t{64} << 20;

extern "C" {
/// Addresses of the device's memory, which the host cannot access.
unsigned char* fake_device_memory();
unsigned char* fake_device_content(const unsigned char* address);
int fake_device_waits();
int fake_device_contexts();  ///< that were pushed and not popped
}
