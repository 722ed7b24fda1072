// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "digest.hpp"
#include "spaces.hpp"

#include <optional>

/// Reads the program's memory. Nothing here faults, whatever the addresses: what cannot be read is reported as not readable.
namespace semcache::advisor {

/// Returns why this system lets no memory be read, or an empty text. To be asked once, at the beginning.
[[nodiscard]] const char* why_no_host_memory() noexcept;

/// Waits until the GPU that a range is on has carried out all work; does nothing for host memory. Threads: any.
void wait_for_device(Memory memory, const void* address) noexcept;

/// Returns the digest of the bytes, or nothing if they cannot all be read.
/// Threads: any, but a device's bytes are read by one thread at a time. @pre wait_for_device, for a device's bytes
[[nodiscard]] std::optional<Digest> digest_of(Memory memory, const void* address, std::uint64_t bytes) noexcept;

}  // namespace semcache::advisor
