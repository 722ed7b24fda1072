// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

namespace semcache::fakes {

/// A random generator that is small, fast and the same on every machine (splitmix64), so that a seed printed by a failing test
/// reproduces the failure anywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Returns a number in [0, n). @pre n > 0
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  /// Returns true in `percent` of a hundred cases.
  bool chance(unsigned percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace semcache::fakes
