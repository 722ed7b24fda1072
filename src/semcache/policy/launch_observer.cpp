// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/policy/launch_observer.hpp>

#include <limits>

namespace semcache::policy {

std::uint64_t ViewShape::span() const noexcept {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;  // position of the last element
  for (std::int32_t d = 0; d < rank; ++d) {
    if (extents[d] == 0) return 0;
    std::uint64_t way;
    if (__builtin_mul_overflow(extents[d] - 1, strides[d], &way) || __builtin_add_overflow(last, way, &last)) last = largest;
  }
  return last == largest ? largest : last + 1;
}

}  // namespace semcache::policy
