// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

/// The arithmetic of sizes in annotations (docs/reference/semcache-gen.md). What does not fit 64 bits becomes the greatest or the least number, and
/// so does a quotient by zero: neither fits the 32 bits of a device's routine, and the library's function computes.
namespace semcache::blas {

__extension__ using WideInteger = __int128;

constexpr std::int64_t limited(WideInteger n) noexcept {
  return n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : static_cast<std::int64_t>(n);
}
constexpr std::int64_t sum_of(std::int64_t a, std::int64_t b) noexcept { return limited(WideInteger{a} + b); }
constexpr std::int64_t difference_of(std::int64_t a, std::int64_t b) noexcept { return limited(WideInteger{a} - b); }
constexpr std::int64_t product_of(std::int64_t a, std::int64_t b) noexcept { return limited(WideInteger{a} * b); }
constexpr std::int64_t quotient_of(std::int64_t a, std::int64_t b) noexcept { return b == 0 ? INT64_MAX : limited(WideInteger{a} / b); }
constexpr std::int64_t remainder_of(std::int64_t a, std::int64_t b) noexcept { return b == 0 ? INT64_MAX : limited(WideInteger{a} % b); }

}  // namespace semcache::blas
