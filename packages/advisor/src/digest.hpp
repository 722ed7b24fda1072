// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/detail/digest.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace semcache::advisor {

/// 128 bits that stand for a content: those of equal contents are equal. Those of different ones are equal with a chance of about
/// 2^-128, unless somebody chose the contents for it.
struct Digest {
  std::uint64_t first = 0, second = 0;
  friend bool operator==(const Digest& a, const Digest& b) noexcept { return a.first == b.first && a.second == b.second; }
};

/// Takes a content in pieces. `first` is the digest that SemCache's devices compute; `second` mixes the same words with other
/// positions.
class DigestSum {
 public:
  /// Adds the bytes behind those that were added before. @pre all earlier pieces had a multiple of 8 bytes
  void add(const unsigned char* p, std::size_t bytes) noexcept {
    using namespace device::detail;
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;  // as in digest_term
    std::uint64_t first = 0, second = 0, at = bytes_ / 8 * step;
    const auto take = [&](std::uint64_t word) {
      const std::uint64_t mixed = digest_mix(word);
      at += step;
      first += digest_mix(mixed + at);
      second += digest_mix(mixed ^ (at * 3));
    };
    std::uint64_t word = 0;
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
      std::memcpy(&word, p + i, 8);
      take(word);
    }
    if (bytes % 8 != 0) {
      word = 0;
      std::memcpy(&word, p + bytes / 8 * 8, bytes % 8);
      take(word);
    }
    sum_.first += first;
    sum_.second += second;
    bytes_ += bytes;
  }
  [[nodiscard]] Digest digest() const noexcept {
    return {device::detail::digest_finish(sum_.first, bytes_), device::detail::digest_finish(sum_.second, ~bytes_)};
  }

 private:
  Digest sum_;
  std::uint64_t bytes_ = 0;
};

}  // namespace semcache::advisor
