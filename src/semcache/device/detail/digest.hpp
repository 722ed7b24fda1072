// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>

/// The 64-bit content digest that all devices share.
///
/// It is a sum over 8-byte words of a mix of (word, position), so it can be computed in any order and in parallel and still
/// notices exchanged words. A last partial word is padded with zeros; the length enters at the end.
///
/// A compiler that needs a mark on functions for its device side defines SEMCACHE_DIGEST_FUNCTION before including this file.
#ifndef SEMCACHE_DIGEST_FUNCTION
#define SEMCACHE_DIGEST_FUNCTION
#endif

namespace semcache::device::detail {

/// Mixes the bits of a word. Bijective; every input bit reaches every output bit.
SEMCACHE_DIGEST_FUNCTION constexpr std::uint64_t digest_mix(std::uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

/// Returns the contribution of the word at position `index` to the sum.
SEMCACHE_DIGEST_FUNCTION constexpr std::uint64_t digest_term(std::uint64_t word, std::uint64_t index) noexcept {
  return digest_mix(digest_mix(word) + (index + 1) * 0x9e3779b97f4a7c15ULL);
}

SEMCACHE_DIGEST_FUNCTION constexpr std::uint64_t digest_finish(std::uint64_t sum, std::uint64_t bytes) noexcept {
  return digest_mix(sum + digest_mix(bytes ^ 0xa0761d6478bd642fULL));
}

}  // namespace semcache::device::detail
