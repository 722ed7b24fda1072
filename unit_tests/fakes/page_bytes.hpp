// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdint>
#include <cstdlib>

namespace semcache::fakes {

/// Returns SEMCACHE_FAKE_PAGE_BYTES, or 4096 if it is not set. Other processors have pages of 16 and 64 KiB.
inline std::uint64_t page_bytes() {
  const char* const text = std::getenv("SEMCACHE_FAKE_PAGE_BYTES");
  return text == nullptr ? 4096 : std::strtoull(text, nullptr, 10);
}

}  // namespace semcache::fakes
