// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/memory/staging.hpp>

#include <iterator>
#include <new>

namespace semcache::memory {

std::byte* Staging::take(std::uint64_t bytes) {
  const auto it = free_.lower_bound(bytes);
  std::byte* buffer = nullptr;
  if (it != free_.end() && it->first <= 4 * round_up(bytes, page_bytes_)) {
    buffer = it->second;
    free_.erase(it);
  } else {
    buffer = device_.allocate_staging(bytes);
  }
  in_use_ += bytes;
  return buffer;
}

void Staging::give(std::byte* buffer, std::uint64_t bytes) noexcept {
  constexpr std::size_t kept = 32;
  in_use_ -= bytes;
  try {
    free_.emplace(bytes, buffer);
  } catch (const std::bad_alloc&) {
    device_.deallocate_staging(buffer);
  }
  while (free_.size() > kept) {
    const auto largest = std::prev(free_.end());
    device_.deallocate_staging(largest->second);
    free_.erase(largest);
  }
}

}  // namespace semcache::memory
