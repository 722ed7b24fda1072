// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

namespace semcache::linalg {

/// Adds numbers in an order that only their count decides, as the kernel `sum` of gpu_kernels.cuh does: 128 sums of every 128th number, and then the
/// second half of these is added to the first, until one is left.
template <class T>
[[nodiscard]] T sum_of(const T* numbers, std::uint64_t count) noexcept {
  constexpr std::uint64_t lanes = 128;
  T sums[lanes] = {};
  std::uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::uint64_t k = 0; k < lanes; ++k) sums[k] += numbers[i + k];
  }
  for (std::uint64_t k = 0; i + k < count; ++k) sums[k] += numbers[i + k];
  for (std::uint64_t half = lanes / 2; half > 0; half /= 2) {
    for (std::uint64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return sums[0];
}

}  // namespace semcache::linalg
