// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <cstdint>

/// What is known of a process's addresses without asking for memory.
namespace semcache::base {

/// Numbers from here on are no addresses of a program's data, because kernels place nothing there unasked.
#if defined(__aarch64__)
inline constexpr std::uint64_t end_of_addresses = std::uint64_t{1} << 48;
#elif defined(__x86_64__)
inline constexpr std::uint64_t end_of_addresses = std::uint64_t{1} << 47;
#else
inline constexpr std::uint64_t end_of_addresses = std::uint64_t{1} << 52;
#endif

[[nodiscard]] inline std::uintptr_t number(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }
[[nodiscard]] inline void* pointer(std::uintptr_t n) noexcept { return reinterpret_cast<void*>(n); }

/// Returns the number with which a file of /proc begins; 0 where it cannot be read. @param format  as of scanf
[[nodiscard]] std::uint64_t first_number(const char* file, const char* format) noexcept;

/// Returns how many more bytes of addresses the process's limit on virtual memory (ulimit -v) permits; UINT64_MAX if there is no
/// limit.
[[nodiscard]] SEMCACHE_API std::uint64_t addresses_left() noexcept;

/// Returns how often objects (libraries) have been loaded into the process and unloaded. Takes a lock of the dynamic linker.
[[nodiscard]] SEMCACHE_API std::uint64_t loads_of_objects() noexcept;

}  // namespace semcache::base
