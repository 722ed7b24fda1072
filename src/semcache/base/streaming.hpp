// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstddef>
#include <cstdint>

namespace semcache::base {

/// Copies bytes as memcpy does, but leaves none of the destination in the processor's caches, where the processor can do so (x86-64: by non-temporal
/// stores): for bytes that only a device will read, which gets them sooner then (docs/measurements/2026-11-30-ordinary-copies-and-two-ranks.md).
/// When the function returns, the bytes are visible to all threads and devices. Alignment: any. Threads: any.
/// @pre the ranges do not overlap
void copy_past_caches(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept;

}  // namespace semcache::base
