// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/base/streaming.hpp>

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace semcache::base {

void copy_past_caches(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr std::uint64_t line = 64;
  // Such stores are made in whole cache lines; what lies in front of the first is copied as usual.
  const std::uint64_t head = std::min<std::uint64_t>(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
  std::memcpy(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= line; to += line, from += line, bytes -= line) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    auto* const target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1), c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();  // such stores may become visible later than those that follow them
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace semcache::base
